"""Python models: the decorator, and the header that it puts on a function.

Reading a model runs its module once, with the modules of the project that it imports, and nothing
is put on the import path. The fingerprint hashes the module and what it imports.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final, TypeVar

from sqlglot.errors import SqlglotError

from vde_dagster.core.errors import Place
from vde_dagster.core.model.late_data import LateDataMode
from vde_dagster.core.model.model import AuthorsText, Model, ModelSource, PythonFunction
from vde_dagster.core.model.module_texts import importable
from vde_dagster.core.sql.table_names import defined_tables
from vde_dagster.project.audit_calls import model_with_calls
from vde_dagster.project.model_checks import check_named_columns
from vde_dagster.project.modules import NAMED, ModuleFailed, parse_module, run_module
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.model_properties import Properties, read_properties
from vde_dagster.project.properties.values import written_value
from vde_dagster.project.python_functions import read_pre_and_post, used_variables, why_no_model
from vde_dagster.project.python_imports import Imported, imported_code, module_text
from vde_dagster.project.settings import Settings

F = TypeVar("F", bound=Callable[..., object])
HEADER: Final = "__vde_model__"
_IMPORTS: Final = "imports"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The decorator's arguments: the properties of a MODEL block, by name.

    ``inner`` is the header that the function had before, if it has the decorator twice.
    """

    properties: Mapping[str, object]
    inner: Header | None = None


def model(
    name: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    kind: str | Mapping[str, object] = "FULL",
    depends_on: Sequence[str] | Mapping[str, Mapping[str, str] | None] = (),
    cron: str | None = None,
    cron_tz: str | None = None,
    interval_unit: str | None = None,
    start: str | date | None = None,
    end: str | date | None = None,
    owner: str | None = None,
    description: str | None = None,
    column_descriptions: Mapping[str, str] | None = None,
    tags: Sequence[str] = (),
    grain: str | Sequence[str] = (),
    grains: Sequence[str | Sequence[str]] = (),
    references: Sequence[str | Sequence[str]] = (),
    dialect: str | None = None,
    partitioned_by: str | Sequence[str] = (),
    clustered_by: str | Sequence[str] = (),
    table_format: str | None = None,
    storage_format: str | None = None,
    physical_properties: Mapping[str, str | int | float | bool] | None = None,
    audits: Sequence[str | tuple[str, Mapping[str, object]]] = (),
    signals: Sequence[str | tuple[str, Mapping[str, object]]] = (),
    freshness: str | None = None,
    updates_on: str | None = None,
    retries: int | None = None,
    concurrency: int | None = None,
    on_destructive_change: str | None = None,
    on_additive_change: str | None = None,
    allow_partials: bool | None = None,
    enabled: bool | None = None,
    stamp: str | None = None,
    late_data: Mapping[str, object] | None = None,
    deterministic: bool | None = None,
    pre_statements: str | Sequence[str] = (),
    post_statements: str | Sequence[str] = (),
    **others: object,
) -> Callable[[F], F]:
    """Declare that a function returns a model's rows, as a Spark (or pandas) data frame.

    The arguments are the properties of a MODEL block (models.md); SQL in them is a text.

    Args:
        name: The model's name, ``schema.name``; required, as ``columns`` is. If one is missing,
            it is reported with all other problems of the project.
        columns: Every column that it returns with its Spark type, in order.
        kind: A kind's keyword, or a mapping with ``name`` and the kind's options.
        depends_on: The models and sources that the function may read; as a mapping, each perhaps
            with its window, such as ``{"staging.events": {"before": "30 days"}}``.
        cron: When it is due; the project's default if None.
        cron_tz: The zone of ``cron``.
        interval_unit: The grain of its intervals, if that is finer than the cron's.
        start: Its first day, as ISO-8601; the project's default if None.
        end: Its last day.
        owner: Who is responsible for it.
        description: A text about it.
        column_descriptions: Texts about its columns.
        tags: Free words to select by.
        grain: The columns that identify a row.
        grains: Several such keys.
        references: Columns by which other models are joined.
        dialect: The dialect of the SQL in the other arguments; the project's default if None.
        partitioned_by: Columns and transforms such as ``days(ts)``.
        clustered_by: Columns by which rows are sorted in files.
        table_format: ``iceberg``.
        storage_format: Iceberg's file format.
        physical_properties: Properties of the table.
        audits: Audits by name, with arguments as ``(name, {argument: value})``. Texts are texts
            but for columns and conditions; ``{"sql": "..."}`` is SQL (docs/reference/audits.md).
        signals: Signals in the same form; texts are texts.
        freshness: How old its rows have to be before it is recomputed by itself because something
            upstream changed, such as ``"4 hours"``.
        updates_on: ``any`` or ``all``: which of its parents have to change before that.
        retries: How often it is evaluated again by itself after it failed, 0 to 10.
        concurrency: How many models may be evaluated while it is, itself among them.
        on_destructive_change: What is done if a kept table would lose a column: ``allow``,
            ``warn`` or ``error``, which is the default.
        on_additive_change: The same for new columns and wider types; ``allow`` by default.
        allow_partials: False; an interval is evaluated once it has ended. A VIEW has none.
        enabled: Whether the model is part of the project.
        stamp: A text whose change makes a new version.
        late_data: The late-data policy (docs/reference/models.md) as a mapping.
        deterministic: Whether the function promises equal rows for equal inputs and the same
            interval, so that its rows can be reused.
        pre_statements: SQL that runs before the function, in ``dialect``; with macros.
        post_statements: SQL that runs after the rows are written.
        others: Unknown properties; they are reported with file, line and similar names.

    Raises:
        TypeError: It was written without parentheses.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError("write @model('schema.name', ...), with parentheses")
    given = {**locals()}
    given |= given.pop("others")
    properties = {key: value for key, value in given.items() if value is not None and value != ()}

    def attach(function: F) -> F:
        inner = inspect.getattr_static(function, HEADER, None)
        setattr(function, HEADER, Header(properties=properties, inner=inner))
        return function

    return attach


def read_python_model(settings: Settings, problems: Problems) -> Model | None:
    """The one model that a module declares; None (and problems) if it cannot be read."""
    source = settings.source
    imported = _imported(source, problems)
    found = _declared(source, imported.modules, problems) if imported is not None else None
    if found is None or imported is None:
        return None
    function, header, place, places = found
    written = _written(header, place, places, problems)
    properties = read_properties(
        [each for each in written if not _is_for_sql(*each, problems)],
        default_name=None,
        settings=settings,
        place=place,
        problems=problems,
    )
    if not header.properties.get("columns"):
        where = places.get("columns", place)
        problems.add(
            where, "a Python model has to declare its columns", "Name each column with its type."
        )
    if "kind" in properties.places:
        _check_kind(properties, problems)
    used = used_variables(source, function, imported.modules, settings.variables, problems)
    before, after = read_pre_and_post(properties, settings, problems)
    imports = _digests_of(source, imported)
    problems.unsupported += imported.problems
    body = PythonFunction(
        source=source.text,
        function=function,
        variables=used,
        before=before.expressions,
        after=after.expressions,
        text=AuthorsText(catalog=settings.defaults.catalog, before=before.texts, after=after.texts),
        deterministic=properties.deterministic,
        imports=imports,
        modules=imported.modules,
    )
    variables = {*used, *before.used_variables, *after.used_variables}
    files = {*before.used_files, *after.used_files, *imported.modules}
    parents = {*properties.depends_on, *defined_tables(before.expressions)}
    model = model_with_calls(
        properties, settings, None, body, parents, used=(variables, files), problems=problems
    )
    assert model is not None, "it has a body"
    kept = {**model.source.defaults, _IMPORTS: json.dumps(imports)}
    return replace(model, source=replace(model.source, defaults=kept))


def modules_of(source: ModelSource, folder: Path) -> dict[str, str]:
    """The modules of a project that a model's code imports: their texts by path.

    Args:
        source: The model's.
        folder: The project's.
    """
    try:
        parse_module(source.text, source.path)
        found = imported_code(source.text, source.path, lambda path: module_text(folder, path))
    except (ModuleFailed, RecursionError):  # reported when the model is read
        return {}
    return dict(found.modules)


def _imported(source: ModelSource, problems: Problems) -> Imported | None:
    """What a model's code imports; None (and a problem) if it is not Python."""
    try:
        parse_module(source.text, source.path)
    except ModuleFailed as error:
        problems.found.append(error.problem)
        return None
    return imported_code(source.text, source.path, source.attachments.get)


def _digests_of(source: ModelSource, imported: Imported) -> dict[str, str]:
    """Digests of what a model's code imports, now or when the model was stored."""
    stored = source.defaults.get(_IMPORTS)
    if stored is None:
        return dict(imported.digests)
    return {str(name): str(value) for name, value in json.loads(stored).items()}


def _argument_lines(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> dict[str, int]:
    """The line of each argument of the decorator, if it is written at the function."""
    lines: dict[str, int] = {}
    for call in node.decorator_list:
        if isinstance(call, ast.Call):
            lines |= {each.arg: each.lineno for each in call.keywords if each.arg is not None}
            if call.args:
                lines["name"] = call.args[0].lineno
    return lines


def _written(
    header: Header, place: Place, places: Mapping[str, Place], problems: Problems
) -> list[tuple[str, Value]]:
    """The header's arguments as values of a MODEL block."""
    written: list[tuple[str, Value]] = []
    for key, value in header.properties.items():
        where = places.get(key, place)
        if key == "kind" and isinstance(value, Mapping) and not isinstance(value.get("name"), str):
            advice = 'Name the kind, as in {"name": "FULL"}.'
            problems.add(where, "the mapping of the argument 'kind' has no \"name\"", advice)
            continue
        try:
            form = _without_none(key, value)
            written.append((key, written_value(key, form, path=where.path, line=where.line)))
        except (TypeError, ValueError, SqlglotError) as error:
            message = f"the argument {key!r} cannot be used: {error}"
            problems.add(where, message, "Give texts, numbers, lists or mappings.")
    return written


def _without_none(key: str, value: object) -> object:
    """A kind or a policy without the options that are None; a kind as a name with options."""
    if key not in ("kind", "late_data") or not isinstance(value, Mapping):
        return value
    options = {option: each for option, each in value.items() if each is not None}
    if key == "late_data":
        return options
    return (options.pop("name"), options)


def _is_for_sql(key: str, value: Value, problems: Problems) -> bool:
    """Whether a kind is for SQL models alone, which is a problem."""
    written = value.rest() if key == "kind" else None
    keyword = written.unquoted().name.upper() if written is not None else ""
    if keyword not in _SQL_KINDS or written is None:
        return False
    message = f"a Python model cannot be of kind {keyword}"
    problems.add(written.place, message, "Use a kind that stores rows, or write it in SQL.")
    return True


_SQL_KINDS: Final = ("EMBEDDED", "MANAGED", "SEED", "VIEW")


def _check_kind(properties: Properties, problems: Problems) -> None:
    columns = {column.name for column in properties.model.columns}
    if columns:
        check_named_columns(properties, columns, properties.places["kind"], problems)
    if properties.model.late_data is None:
        return
    if properties.model.late_data.mode is LateDataMode.STATELESS:
        problems.add(
            properties.places["late_data"],
            "stateless late_data appends rows one by one, and how a Python function uses "
            "them is not known",
            "Write the model in SQL, or remove late_data.",
        )


def _declared(
    source: ModelSource, modules: Mapping[str, str], problems: Problems
) -> tuple[str, Header, Place, dict[str, Place]] | None:
    """The one object of a module with the decorator; a problem if it is not a suitable function.

    Returns:
        Its name, its header, and the places of the header and of its arguments.
    """
    try:
        tree = parse_module(source.text, source.path)
        with importable(modules):
            module = run_module(tree, source.path)
    except ModuleFailed as error:
        problems.found.append(error.problem)
        return None
    found = [
        (name, value, header)
        for name, value in module.namespace.items()
        if isinstance(header := inspect.getattr_static(value, HEADER, None), Header)
    ]
    if len(found) != 1:
        problems.add(
            Place(path=source.path),
            f"{len(found)} functions of this module have the @model decorator",
            "Give each model a file of its own."
            if found
            else "Move a module that models import out of models/, for example to helpers.py "
            "in the project's folder. A file whose name starts with _ is not read as a "
            "model either.",
        )
        return None
    name, value, header = found[0]
    place = Place(path=source.path, line=module.lines.get(name, 1))
    if header.inner is not None:
        message = f"{name} has the @model decorator more than once"
        problems.add(place, message, "Put each model's function into a file of its own.")
        return None
    why = why_no_model(value, name)
    if why is not None:
        problems.add(place, *why)
    nodes = [each for each in tree.body if isinstance(each, NAMED) and each.name == name]
    lines = _argument_lines(nodes[-1]) if nodes else {}
    return name, header, place, {key: replace(place, line=at) for key, at in lines.items()}
