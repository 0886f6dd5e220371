"""Fingerprints of models (seed 000, *Fingerprinting*): what is hashed, and how.

The parts stand in two lists, one for data and one for metadata. A part is a canonical value, never
source text. Adding a part, or changing what one means, changes ``SCHEME``, so that an old
fingerprint is never mistaken for a new one.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, repeat
from typing import Final

from sqlglot import exp

from vde_dagster.core.model.kinds import (
    IncrementalByPartition,
    IncrementalByTimeRange,
)
from vde_dagster.core.model.model import (
    SESSION,
    SIGNALS_FOLDER,
    AuthorsText,
    Model,
    PythonFunction,
    Query,
    SeedRows,
    UpdatesOn,
)
from vde_dagster.core.model.seed_rows import seed_lines
from vde_dagster.core.names import TableName
from vde_dagster.core.sql.canonical import CanonicalQuery
from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.sql.data_names import (
    has_nameless_columns,
    keep_data_names,
    normalized_names,
    takes_all_names,
    words_of,
)
from vde_dagster.core.sql.macros import macros_in
from vde_dagster.core.sql.table_names import definition_of
from vde_dagster.core.time.intervals import format_instant

SCHEME: Final = "vde/4"
DIGEST_BYTES: Final = 16


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """Four hashes of 128 bits, as 32 hexadecimal digits each.

    ``parent_data`` and ``parent_metadata`` follow from everything upstream, not only from the
    direct parents.
    """

    data: str
    parent_data: str
    metadata: str
    parent_metadata: str

    @cached_property
    def digest(self) -> str:
        """One hash that identifies the model snapshot."""
        return hash_parts(SCHEME, self.data, self.parent_data, self.metadata, self.parent_metadata)

    @cached_property
    def data_version(self) -> str:
        """The version of a snapshot that keeps no older one: what its rows follow from."""
        return hash_parts(SCHEME, self.data, self.parent_data)

    @property
    def version_apart(self) -> str:
        """A version of this snapshot alone, for where that of its data has other rows."""
        return hash_parts(self.data_version, self.digest)


def hash_parts(*parts: str) -> str:
    """A 128-bit hash of texts, each with its length, so that no two lists run together."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def fingerprint(
    model: Model, canonical: CanonicalQuery | None, parents: Iterable[Fingerprint]
) -> Fingerprint:
    """The fingerprint of a model, given those of its direct parents in any order."""
    known = list(parents)
    return Fingerprint(
        data=hash_parts(*data_parts(model, canonical)),
        parent_data=hash_parts(*sorted(each.data + each.parent_data for each in known)),
        metadata=hash_parts(*metadata_parts(model, canonical)),
        parent_metadata=hash_parts(*sorted(each.metadata + each.parent_metadata for each in known)),
    )


def view_version(
    data_hash: str, reads: Sequence[TableName], *, embedded: Iterable[str] = ()
) -> str:
    """The version of a VIEW: it is made anew whenever what it reads has another name (rule R1).

    ``embedded`` are the data hashes of the EMBEDDED models whose queries stand in its own.
    """
    return hash_parts(SCHEME, data_hash, *sorted(embedded), *sorted(str(each) for each in reads))


def data_parts(model: Model, canonical: CanonicalQuery | None) -> tuple[str, ...]:
    """What the rows of a model, or their storage, follow from: ``name=value`` each."""
    return (
        f"scheme={SCHEME}",
        f"name={model.name}",
        *(f"{part}={value}" for part, value in loading_parts(model).items()),
        f"storage={_storage_part(model)}",
        f"stamp={model.stamp}",
        *(f"column={column.name.lower()} {column.type}" for column in model.columns),
        *(f"statement={each}" for each in statement_parts(model)),
        f"body={_body_part(model, canonical)}",
    )


def loading_parts(model: Model) -> dict[str, str]:
    """What decides, beside a model's body, which rows its table has: values by their names."""
    windows = [f"{name} {each}" for name, each in sorted(model.windows.items())]
    return {
        "kind": _kind_part(model),
        "partitions": _replaced_part(model),
        "unit": model.unit.value if _is_incremental(model) else "",
        "late_data": _late_data_part(model),
        "range": _range_part(model),
        "windows": " ".join(windows),
        "session": _session_part(model),
    }


def metadata_parts(model: Model, canonical: CanonicalQuery | None) -> tuple[str, ...]:
    """What people read about a model, when it is due and how it is loaded: it changes no row."""
    columns = canonical.columns if canonical is not None else ()
    described = ((column.name, column.description) for column in (*model.columns, *columns))
    return (
        f"scheme={SCHEME}",
        f"owner={model.owner}",
        f"description={model.description}",
        f"cron={model.cron} {model.cron_tz}",
        f"unit={model.unit.value if not _is_incremental(model) else ''}",
        f"start={format_instant(model.start)}",
        f"end={format_instant(model.end) if model.end is not None else ''}",
        f"loading={_loading_part(model)}",
        *(f"tag={tag}" for tag in sorted(model.tags)),
        *(f"grain={', '.join(grain)}" for grain in model.grains),
        *(f"reference={', '.join(each)}" for each in model.references),
        *(f"audit={each}" for each in model.audits),
        *(f"audit_query={each}" for each in _audit_queries(model)),
        *(f"signal={each}" for each in model.signals),
        *(f"signal_code={each}" for each in _signal_code(model)),
        *_promise_parts(model),
        *_update_parts(model),
        *(f"comment={name.lower()} {text}" for name, text in described if text),
        *(f"comment={name} {text}" for name, text in sorted(model.column_descriptions.items())),
        *(f"hint={hint}" for hint in _hints(canonical)),
        *(f"sql_comment={comment}" for comment in _sql_comments(model)),
    )


_LOADING: Final = (
    "lookback",
    "batch_size",
    "forward_only",
    "disable_restatement",
)
"""Options of a kind that decide when and in which pieces rows are made, and not which."""
_NO_ROWS: Final = ("path", "partition_by_time_column", "independent")
"""What is no part of a kind here: it stands in the storage's part, or is a promise."""


def _kind_part(model: Model) -> str:
    options = (
        f"{option.name}={_option(getattr(model.kind, option.name))}"
        for option in fields(model.kind)
        # A seed's content counts, not the place of its file.
        if option.compare and option.name not in (*_NO_ROWS, *_LOADING)
    )
    return " ".join([model.kind.keyword, *options])


def _option(value: object) -> str:
    match value:
        case exp.Expr():
            return canonical_form(value)
        case tuple():
            return f"[{', '.join(map(_option, value))}]"
        case _:
            return repr(value)


def _loading_part(model: Model) -> str:
    policy = model.late_data
    late = (
        (
            policy.catchup_threshold,
            policy.load_type.value,
            policy.on_source_rewrite.value,
            *sorted(f"{each.name} {each.offset} {each.idle_after}" for each in policy.tracked),
        )
        if policy is not None
        else ()
    )
    given = {option.name: getattr(model.kind, option.name) for option in fields(model.kind)}
    options = (f"{name}={given.get(name)}" for name in _LOADING)
    return " ".join([*options, *map(str, late)])


def _storage_part(model: Model) -> str:
    storage = model.storage
    parts = (
        _partition_part(model),
        storage.clustered_by,
        storage.storage_format,
        storage.properties,
    )
    return repr(parts) if any(parts) else ""


def _partition_part(model: Model) -> list[str]:
    """How a table is partitioned; the time column is a part by default (seed 001, *Partitioning*).

    Naming just the time column says what is so anyway.
    """
    kind, fields = model.kind, model.storage.partitioned_by
    if not isinstance(kind, IncrementalByTimeRange):
        return [str(each) for each in fields]
    given = ["time" if str(each) == kind.time_column else str(each) for each in fields]
    covered = any(each.column == kind.time_column for each in fields)
    return ["time", *given] if kind.partition_by_time_column and not covered else given


def _replaced_part(model: Model) -> str:
    """What tells the partitions apart that new rows replace as a whole: it is a key."""
    if not isinstance(model.kind, IncrementalByPartition):
        return ""
    return ", ".join(sorted(map(str, model.storage.partitioned_by)))


def _is_incremental(model: Model) -> bool:
    """Whether a model is evaluated in pieces of its interval unit."""
    return model.kind.is_by_interval


def _range_part(model: Model) -> str:
    """What the time macros stand for where rows follow from it.

    A piece of a time range, or what is appended for it, has its rows whenever the model starts. The
    other kinds merge each piece into what the ones before it left, or are evaluated as a whole, up
    to the model's end.
    """
    if not model.kind.range_shapes_rows:
        return ""
    body = model.body
    if not isinstance(body, PythonFunction | Query):
        return ""
    query = (body.expression,) if isinstance(body, Query) else ()
    written = (*body.before, *query, *body.after)
    timed = isinstance(body, PythonFunction) or any(any(macros_in(each)) for each in written)
    if not timed:
        return ""
    ends = model.end is not None and not _is_incremental(model)
    end = format_instant(model.end) if ends and model.end is not None else ""
    return f"{format_instant(model.start)} {model.unit.value} {end}"


def _session_part(model: Model) -> str:
    """The settings of Spark's session that results may follow from, where they are no defaults."""
    computed = isinstance(model.body, Query | PythonFunction)
    return model.source.defaults.get(SESSION, "") if computed else ""


def _late_data_part(model: Model) -> str:
    policy = model.late_data
    if policy is None:
        return ""
    tracked = sorted(f"{each.name} {each.tracked_by}" for each in policy.tracked)
    return f"{policy.mode.value} {tracked}"


def _body_part(model: Model, canonical: CanonicalQuery | None) -> str:
    match model.body:
        case Query():
            assert canonical is not None, f"{model.name} has a query but no canonical form"
            return canonical.meaning.digest
        case PythonFunction() as body:
            imports = json.dumps(body.imports, sort_keys=True)
            form = f"{body.function} {python_form(body.source)} {_variables_part(body.variables)}"
            return f"{form} {imports}"
        case SeedRows(text=text):
            return _seed_part(text)
        case None:
            return ""


def statement_parts(model: Model) -> list[str]:
    """The statements in front of a query or function and behind it; they may do anything.

    The case of names counts where they define something, since whoever reads that may see it.
    """
    body = model.body
    if not (isinstance(body, Query | PythonFunction) and (body.before or body.after)):
        return []  # without a look at the text of a query, which may be kept packed
    text = body.text or AuthorsText(catalog="")
    places = (("before", body.before, text.before), ("after", body.after, text.after))
    return [
        f"{place} {canonical_form(_named_alike(each, body.dialect))}{_names_given(each, written)}"
        for place, statements, texts in places
        for each, written in zip(statements, chain(texts, repeat("")))  # noqa: B905 - those have no end
    ]


def _names_given(statement: exp.Expr, text: str) -> str:
    """The words of a statement in Spark's dialect where Spark calls columns by what they say."""
    seen = definition_of(statement) is not None or takes_all_names(statement)
    return f" {words_of(text)}" if seen and has_nameless_columns(statement) else ""


def _named_alike(statement: exp.Expr, dialect: str) -> exp.Expr:
    """A copy of a statement in which the case of names that are no data does not count."""
    if definition_of(statement) is None and not takes_all_names(statement):
        return normalized_names(statement, dialect)
    named = statement.copy()
    keep_data_names(named)
    return named


def _seed_part(text: str) -> str:
    """The rows of a seed in no order."""
    return hashlib.sha256(json.dumps(seed_lines(text)).encode()).hexdigest()


def _variables_part(variables: Mapping[str, object]) -> str:
    return json.dumps(variables, sort_keys=True) if variables else ""


def reads_docstrings(source: str) -> bool:
    """Whether code may follow from the docstrings of its own module or of another."""
    return any(each in source for each in _READS_DOCSTRINGS)


def python_form(source: str, *, docstrings: bool = False) -> str:
    """A Python module without formatting, comments, and docstrings that nothing in it reads.

    Args:
        source: The module's text.
        docstrings: Whether they count, since other modules may read them.
    """
    tree = ast.parse(source)
    if not (docstrings or reads_docstrings(source)):
        _drop_docstrings(tree)
    _drop_header(tree)
    parts: list[str] = []
    _write_node(tree, parts)
    return "".join(parts)


_READS_DOCSTRINGS: Final = ("__doc__", "getdoc")


def _drop_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]


def _write_node(value: object, parts: list[str]) -> None:
    """The tree as a text that does not depend on Python's version, as that of ``ast.dump`` does."""
    match value:
        case ast.AST():
            parts.append(f"({type(value).__name__}")
            for key, child in ast.iter_fields(value):
                spelling = isinstance(value, ast.Constant) and key == "kind"  # u"..."
                if child is None and not (isinstance(value, ast.Constant) and key == "value"):
                    continue
                if child == [] or spelling or key == "type_comment":
                    continue
                parts.append(f" {key}=")
                _write_node(child, parts)
            parts.append(")")
        case list():
            parts.append("[")
            for item in value:
                _write_node(item, parts)
            parts.append("]")
        case _:
            text = repr(value)
            parts.append(f"{len(text)}:{text};")


def _drop_header(tree: ast.Module) -> None:
    """Take the model's header out: its properties are parts of their own."""
    names = frozenset(_names_of_header(tree))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            others = [each for each in node.decorator_list if _called(each) not in names]
            node.decorator_list = others


def _names_of_header(tree: ast.Module) -> Iterator[str]:
    """What a module calls the decorator of models."""
    package = "vde_dagster"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == package and not node.level:
            yield from (each.asname or each.name for each in node.names if each.name == "model")
        elif isinstance(node, ast.Import):
            imported = (each for each in node.names if each.name == package)
            yield from (f"{each.asname or each.name}.model" for each in imported)


def _called(decorator: ast.expr) -> str:
    """The name of a decorator as it is written."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _signal_code(model: Model) -> list[str]:
    """The predicates that hold intervals back: an environment asks those that it was planned with.

    They decide when rows are made, and not which.
    """
    files = sorted(model.source.attachments.items())
    return [python_form(text) for path, text in files if path.startswith(SIGNALS_FOLDER)]


def _audit_queries(model: Model) -> list[str]:
    """The audits of the project's own: an environment asks those that it was planned with."""
    return [f"{each.blocking} {canonical_form(each.query)}" for each in model.own_audits]


def _promise_parts(model: Model) -> list[str]:
    """What an author says of what need not be computed again; no row follows from that."""
    body, kind = model.body, model.kind
    is_independent = kind.independent
    return [
        *(["deterministic"] if isinstance(body, PythonFunction) and body.deterministic else []),
        *(["independent"] if is_independent else []),
    ]


def _update_parts(model: Model) -> list[str]:
    """How often changes upstream reach a model; nothing of what the defaults are."""
    parts = (
        [f"updates_on={model.updates_on.value}"] if model.updates_on is not UpdatesOn.ANY else []
    )
    if model.freshness is not None:
        parts.append(f"freshness={model.freshness.total_seconds():.0f}")
    return parts


def _hints(canonical: CanonicalQuery | None) -> list[str]:
    """How a query asks to be run; what it returns stays the same."""
    if canonical is None:
        return []
    return [canonical_form(hint) for hint in canonical.expression.find_all(exp.Hint)]


def _sql_comments(model: Model) -> list[str]:
    if not isinstance(model.body, Query | PythonFunction):
        return []
    query = (model.body.expression,) if isinstance(model.body, Query) else ()
    statements = (*model.body.before, *query, *model.body.after)
    return [
        comment.strip()
        for statement in statements
        for node in statement.walk()
        for comment in node.comments or []
    ]
