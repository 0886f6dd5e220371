"""Python of a SQLMesh project as Python that imports vde_dagster.

The author's functions stay as they are. What goes is the import of SQLMesh, the decorator of a
model, and types of SQLMesh in signatures; a function with our decorator calls the author's.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pprint import pformat
from typing import Final

from vde_dagster.project.importing.draft import Group, Remark

_OWN: Final = {"model": "", "signal": "signal", "macro": "macro"}
"""Decorators of SQLMesh, and what vde_dagster calls them; that of a model is written for it."""
_DATES: Final = {
    "to_date": "return to_datetime(value).date()",
    "to_ds": 'return to_datetime(value).strftime("%Y-%m-%d")',
    "to_timestamp": "return int(to_datetime(value).timestamp() * 1000)",
    "to_datetime": "found = Timestamp(value)\n"
    "    return (found.tz_localize(UTC) if found.tzinfo is None else found).to_pydatetime()",
}
"""Functions of `sqlmesh.utils.date` that are written into a file that uses them."""
_CONTEXT: Final = {
    "fetchdf": "Read `context.table('name')`, a Spark data frame, or "
    "`context.spark.sql(query)` over a temporary view of it; `.toPandas()` "
    "converts it to pandas",
    "fetch_pyspark_df": "Read `context.table('name')`, a Spark data frame",
    "resolve_table": "`context.table('name')` is the data frame itself, not the name of a "
    "table: name it with `createOrReplaceTempView`",
    "table": "`context.table('name')` is the data frame itself, not the name of a table: "
    "name it with `createOrReplaceTempView`",
    "engine_adapter": "Use `context.spark`, whose dialect is spark",
    "blueprint_var": "Write the value",
    "snapshot": "There is no counterpart",
    "gateway": "There is one engine, `context.spark`",
}
"""What functions ask SQLMesh's context for, and what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonModel:
    """The header of a Python model, in our words; ``entrypoint`` is the author's function."""

    name: str
    kind: str
    options: Mapping[str, str]
    properties: Mapping[str, str]
    columns: Mapping[str, str]
    depends_on: Sequence[str]
    audits: Sequence[tuple[str, Mapping[str, str]]]
    signals: Sequence[tuple[str, Mapping[str, str]]]
    entrypoint: str


def imported_files(paths: set[str], sources: Mapping[str, str]) -> list[str]:
    """The files of a project that some of its files import, directly or not, without these."""
    found: dict[str, None] = {}
    waiting = sorted(paths)
    while waiting:
        for module in _modules(ast.parse(sources[waiting.pop()])):
            base = module.replace(".", "/")
            for path in (f"{base}.py", f"{base}/__init__.py"):
                if path in sources and path not in found and path not in paths:
                    found[path] = None
                    waiting.append(path)
    return list(found)


def beside_models(path: str) -> str:
    """Where a helper lies here: a file in models/ without a model has a name with ``_``."""
    folder, _, name = path.rpartition("/")
    is_module = path.startswith("models/") and not name.startswith("_")
    return f"{folder}/_{name}" if is_module else path


def with_moved_imports(text: str, moved: Mapping[str, str]) -> str:
    """A file whose imports of moved files name their new places.

    Args:
        text: Its text.
        moved: New paths by old ones.
    """
    for old, new in moved.items():
        module, renamed = (path.removesuffix(".py").replace("/", ".") for path in (old, new))
        text = re.sub(rf"\b{re.escape(module)}\b", renamed, text)
    return text


def python_text(
    source: str, path: str, model: PythonModel | None
) -> tuple[str, tuple[Remark, ...]]:
    """A file of a SQLMesh project as one of ours, and what is left to do in it.

    Args:
        source: The file's text.
        path: Where it was.
        model: The model that it has; None of helpers and signals.
    """
    editing = _Editing(source)
    foreign = {
        alias.asname or alias.name: (alias.name, node)
        for node in editing.tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) and _is_sqlmesh(node)
        for alias in node.names
    }
    for node in {id(node): node for _, node in foreign.values()}.values():
        editing.cut(node)
    before = _names(editing.tree)
    gone: list[ast.AST] = []
    for function in ast.walk(editing.tree):
        if isinstance(function, ast.FunctionDef):
            gone += editing.signature(function, set(foreign), model.entrypoint if model else "")
    kept = _names(editing.tree, without=gone)
    editing.unused_imports(before - kept)
    added = sorted(_OWN[name] for name, _ in foreign.values() if name in kept and _OWN.get(name))
    dates = [name for name, _ in foreign.values() if name in _DATES and name in kept]
    own = {*_OWN, *_DATES}
    missing = {name for name, (what, _) in foreign.items() if what not in own and name in kept}
    remarks = [
        *_foreign_names(editing.tree, gone, missing, path),
        *(_context_calls(editing.tree, path) if "context" in before or model else ()),
    ]
    parts = _Parts(imports=added, dates=dates, model=model, tree=editing.tree)
    return parts.joined(editing.text()), tuple(remarks)


@dataclass
class _Editing:
    """A text from which nodes are cut by their places."""

    source: str

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.source)
        self.lines = self.source.splitlines(keepends=True)
        self.cuts: list[tuple[int, int]] = []

    def place(self, line: int, column: int) -> int:
        """A place in the text: lines count from 1, columns in bytes."""
        before = sum(map(len, self.lines[: line - 1]))
        row = self.lines[line - 1].encode()[:column]
        return before + len(row.decode())

    def cut(self, node: ast.stmt | ast.expr, *, whole_lines: bool = True) -> None:
        """Leave a node out, with its lines."""
        start = self.place(node.lineno, 0 if whole_lines else node.col_offset)
        end = self.place(node.end_lineno or node.lineno, node.end_col_offset or 0)
        if whole_lines:
            end = self.source.find("\n", end) + 1 or len(self.source)
        self.cuts.append((start, end))

    def signature(
        self, function: ast.FunctionDef, foreign: set[str], entrypoint: str
    ) -> Iterator[ast.AST]:
        """Leave out a model's decorator, and types of SQLMesh."""
        for decorator in function.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if function.name == entrypoint and _last_name(called) == "model":
                self.cuts.append(
                    (
                        self.place(decorator.lineno, 0),
                        self.source.find("\n", self.place(decorator.end_lineno or 0, 0)) + 1,
                    )
                )
                yield decorator
        arguments = function.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.annotation is not None and _names(argument.annotation) & foreign:
                start = self.place(argument.lineno, argument.col_offset) + len(argument.arg)
                annotation = argument.annotation
                end = self.place(annotation.end_lineno or 0, annotation.end_col_offset or 0)
                self.cuts.append((start, end))
                yield annotation
        if function.returns is not None and _names(function.returns) & foreign:
            start = self.place(function.returns.lineno, function.returns.col_offset)
            start = self.source.rindex("->", 0, start)
            end = self.place(function.returns.end_lineno or 0, function.returns.end_col_offset or 0)
            self.cuts.append((len(self.source[:start].rstrip()), end))
            yield function.returns

    def unused_imports(self, unused: set[str]) -> None:
        """Leave out imports that only what was left out needed."""
        for node in self.tree.body:
            if not isinstance(node, ast.Import | ast.ImportFrom) or _is_sqlmesh(node):
                continue
            bound = {_bound(alias) for alias in node.names}
            if bound and bound <= unused:
                self.cut(node)

    def text(self) -> str:
        """The text without what was cut."""
        parts, place = [], 0
        for start, end in sorted(set(self.cuts)):
            parts.append(self.source[place : max(start, place)])
            place = max(place, end)
        return "".join([*parts, self.source[place:]])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What a file gains: imports, functions of dates, and the model."""

    imports: Sequence[str]
    dates: Sequence[str]
    model: PythonModel | None
    tree: ast.Module

    def joined(self, text: str) -> str:
        """The text with them, the imports behind the author's."""
        names = [*self.imports, *(["model"] if self.model else [])]
        lines = ["from datetime import UTC", "from pandas import Timestamp"] if self.dates else []
        lines += [f"from vde_dagster import {', '.join(names)}"] if names else []
        head, body = _behind_imports(text)
        start = "\n".join([*([head.rstrip("\n")] if head.strip() else []), *lines])
        functions = dict.fromkeys([*self.dates, "to_datetime"] if self.dates else [])
        parts = [
            start,
            body.strip("\n"),
            *(
                f'def {name}(value):\n    """As SQLMesh has it."""\n    {_DATES[name]}'
                for name in functions
            ),
            *([_model_function(self.model, self.tree)] if self.model else []),
        ]
        return "\n\n\n".join(each for each in parts if each) + "\n"


def _behind_imports(text: str) -> tuple[str, str]:
    """A file up to the last import at its top, and the rest of it."""
    last = 0
    for node in ast.parse(text).body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text and not isinstance(node, ast.Import | ast.ImportFrom):
            break
        last = node.end_lineno or 0
    lines = text.splitlines(keepends=True)
    return "".join(lines[:last]), "".join(lines[last:])


def _model_function(model: PythonModel, tree: ast.Module) -> str:
    """The function with our decorator, which calls the author's with SQLMesh's arguments."""
    author = next(
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == model.entrypoint
    )
    takes = [*author.args.posonlyargs, *author.args.args]
    named = {each.arg for each in (*takes, *author.args.kwonlyargs)}
    given = {
        "start": "context.start",
        "end": "context.end - timedelta(microseconds=1)",
        "execution_time": "context.execution_time",
    }
    values = [f"{key}={value}" for key, value in given.items() if key in named]
    if any(each.arg == "context" for each in takes):
        values.insert(0, "context")
    call = f"{model.entrypoint}({', '.join(values)})"
    inner: list[str] = ["from datetime import timedelta"] if "end" in named else []
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(author)):
        inner.append("from pandas import DataFrame, concat")
        call = f"concat([DataFrame(), *{call}], ignore_index=True)"
    name = f"{model.name.rpartition('.')[2]}_rows"
    text = '    """The rows of the interval; `end` is its last microsecond, as in SQLMesh."""\n'
    body = "".join(f"    {each}\n" for each in [*inner, *([""] if inner else []), f"return {call}"])
    body = body.replace("    \n", "\n")
    return f"{_decorator(model)}def {name}(context):\n{text}{body}".rstrip("\n")


def _decorator(model: PythonModel) -> str:
    kind = {"name": model.kind, **{key: _value(value) for key, value in model.options.items()}}
    arguments: dict[str, object] = {"kind": kind if len(kind) > 1 else model.kind}
    for key, value in model.properties.items():
        arguments[key] = _texts(value) if key == "column_descriptions" else _value(value)
    if model.depends_on:
        arguments["depends_on"] = list(model.depends_on)
    arguments["columns"] = dict(model.columns)
    for key, calls in (("audits", model.audits), ("signals", model.signals)):
        if calls:
            arguments[key] = [
                (name, {one: {"sql": text} for one, text in given.items()}) if given else name
                for name, given in calls
            ]
    lines = [
        f'    "{model.name}",',
        *(f"    {key}={_shown(key, value)}," for key, value in arguments.items()),
    ]
    return "\n".join(["@model(", *lines, ")", ""])


def _shown(key: str, value: object) -> str:
    text = pformat(value, width=84 - len(key), sort_dicts=False)
    return text.replace("\n", "\n" + " " * (len(key) + 5))


def _value(text: str) -> object:
    """The value of a header's text as Python has it."""
    if text in ("true", "false"):
        return text == "true"
    if text.isdigit():
        return int(text)
    if text.startswith("(") and text.endswith(")"):
        return [_value(each) for each in _items(text[1:-1])]
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _texts(text: str) -> dict[str, object]:
    """The pairs of ``(a = 'text')``."""
    pairs = (each.partition(" = ") for each in _items(text[1:-1]))
    return {key.strip("'"): _value(value) for key, _, value in pairs}


def _items(text: str) -> list[str]:
    """The items of a list, split at commas outside of brackets and texts."""
    items, depth, quote, current = [], 0, False, ""
    for letter in text:
        quote ^= letter == "'"
        depth += (letter in "([") - (letter in ")]") if not quote else 0
        if letter == "," and depth == 0 and not quote:
            items.append(current.strip())
            current = ""
        else:
            current += letter
    return [*items, current.strip()] if current.strip() else items


def _is_sqlmesh(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and (node.module or "").split(".")[0] == "sqlmesh"
    return any(alias.name.split(".")[0] == "sqlmesh" for alias in node.names)


def _modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.split(".")[0]


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _names(tree: ast.AST, without: Sequence[ast.AST] = ()) -> set[str]:
    """The names that code uses, those in types that are texts among them."""
    skipped = {id(node) for each in without for node in ast.walk(each)}
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and id(node) not in skipped and not hasattr(builtins, node.id)
    }


def _foreign_names(
    tree: ast.AST, gone: Sequence[ast.AST], missing: set[str], path: str
) -> Iterator[Remark]:
    skipped = {id(node) for each in gone for node in ast.walk(each)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in missing and id(node) not in skipped:
            yield Remark(
                group=Group.EDIT,
                path=path,
                line=node.lineno,
                message=f"`{node.id}` was imported from sqlmesh and does not exist here",
                advice="Write code that does the same.",
            )


def _context_calls(tree: ast.AST, path: str) -> Iterator[Remark]:
    """Each thing that is asked of SQLMesh's context and that ours has not, once, with its lines."""
    lines: dict[str, list[int]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="context"), attr=attr) if attr in _CONTEXT:
                lines.setdefault(attr, []).append(node.lineno)
    for attr, found in lines.items():
        rest = f" (also in {', '.join(map(str, sorted(found)[1:]))})" if len(found) > 1 else ""
        yield Remark(
            group=Group.EDIT,
            path=path,
            line=min(found),
            message=f"`context.{attr}` of SQLMesh does not exist here{rest}",
            advice=f"{_CONTEXT[attr]}.",
        )
