"""What a model's rows and each of its columns follow from, through everything upstream.

A `Flow` is a digest of the rows and one of each column. Where two flows have equal digests of the
rows and of some columns, the two tables have, in these columns, the same rows as often. So what a
change reaches is what has another digest after it, whatever models are in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.fingerprint import data_parts, loading_parts, statement_parts
from vde_dagster.core.model.history import EVERY_COLUMN
from vde_dagster.core.model.kinds import IncrementalByUniqueKey, ScdType2ByColumn
from vde_dagster.core.model.model import Model, Query, SeedRows
from vde_dagster.core.model.row_identity import identifying_columns
from vde_dagster.core.model.seed_rows import seed_lines
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import CanonicalQuery
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.meaning.parts import EVERY, ROWS, Meaning, MeaningPart, Read, digest_of
from vde_dagster.core.sql.table_names import defined_tables

Flows = Mapping[ModelName, "Flow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Digests of a model's rows and of its columns, by their names in lower case.

    ``unknown`` is the digest of a column that is not among them, where not all are known.
    ``nondeterministic`` are the columns (`ROWS` for which rows there are) of a view or embedded
    query that may say something else each time they are read.
    """

    rows: bytes
    columns: Mapping[str, bytes] = field(default_factory=dict)
    unknown: bytes
    nondeterministic: frozenset[str] = frozenset()

    @property
    def every(self) -> bytes:
        """All columns together, with their names and order."""
        named = [piece for name, each in self.columns.items() for piece in (name.encode(), each)]
        return digest_of("every", self.unknown, *named)

    def read(self, column: str) -> bytes:
        """What a read of the rows, of all columns, or of one column finds."""
        if column == ROWS:
            return self.rows
        if column == EVERY:
            return self.every
        return self.columns.get(column, self.unknown)

    def may_vary(self, column: str) -> bool:
        """Whether a read may find something else each time."""
        return column in self.nondeterministic or (
            column == EVERY and bool(self.nondeterministic - {ROWS})
        )


def unchanged_flow(node: Node, upstream: Flows) -> Flow:
    """The flow of a model that is the same in two graphs, with all that is upstream of it."""
    name = str(node.name).encode()
    columns = {
        column.name.lower(): digest_of("same column", name, column.name.lower().encode())
        for column in node.columns
    }
    return Flow(
        rows=digest_of("same rows", name),
        columns=columns,
        unknown=digest_of("same rest", name),
        nondeterministic=_nondeterministic(node, upstream),
    )


def flow_of(node: Node, upstream: Flows) -> Flow:
    """The flow of a model, from those of its parents."""
    if node.model.kind.is_source:
        return _source_flow(node)
    if isinstance(node.model.body, SeedRows):
        return _seed_flow(node, node.model.body.text)
    if node.canonical is None or node.model.reads_itself:
        return _opaque_flow(node, upstream)
    return _query_flow(node, node.canonical.meaning, upstream)


def reads_of(node: Node) -> frozenset[Read]:
    """All that a model's rows and columns follow from in its parents."""
    whole = node.model.parents if node.canonical is None else _defined(node)
    every = frozenset(Read(parent, what) for parent in whole for what in (ROWS, EVERY))
    if node.canonical is None:
        return every
    return every.union(*(part.reads for part in node.canonical.meaning.parts()))


def _defined(node: Node) -> frozenset[ModelName]:
    """What is read by functions that a model's pre-statements define."""
    body = node.model.body
    return defined_tables(body.before) if isinstance(body, Query) else frozenset()


def _source_flow(node: Node) -> Flow:
    """A table that others write: its rows are its own, whatever is declared of it."""
    name = str(node.name).encode()
    columns = {
        column.name.lower(): digest_of("source column", name, _typed(column))
        for column in node.columns
    }
    return Flow(
        rows=digest_of("source", name),
        columns=columns,
        unknown=digest_of("source column", name),
    )


def _seed_flow(node: Node, text: str) -> Flow:
    """A CSV file, in no order of its lines: each column is the list of its cells."""
    header, lines = seed_lines(text)
    name = str(node.name).encode()
    places = {title.strip().lower(): at for at, title in enumerate(header)}
    columns: dict[str, bytes] = {}
    for column in node.columns:
        at = places.get(column.name.lower(), len(header))
        cells = (row[at].encode() if at < len(row) else b"" for row in lines)
        columns[column.name.lower()] = digest_of("seed column", name, _typed(column), *cells)
    rows = digest_of("seed", name, str(len(lines)).encode(), *_loading(node.model))
    return Flow(rows=rows, columns=columns, unknown=rows)


def _opaque_flow(node: Node, upstream: Flows) -> Flow:
    """A model whose body is not analysed, such as one in Python, or one that reads itself.

    In the latter each row may follow from all columns of the rows before.
    """
    parents = sorted(str(each) for each in node.model.parents)
    read = [upstream[ModelName.parse(each)] for each in parents]
    inputs = [piece for flow in read for piece in (flow.rows, flow.every)]
    own = (part.encode() for part in row_parts(node.model, node.canonical))
    rows = digest_of("opaque", *own, *inputs)
    columns = {
        column.name.lower(): digest_of("opaque column", rows, _typed(column))
        for column in node.columns
    }
    return Flow(rows=rows, columns=columns, unknown=digest_of("opaque column", rows))


def row_parts(model: Model, query: CanonicalQuery | None = None) -> list[str]:
    """The parts of the data hash of a model, with its query or without, but for its storage."""
    storage = ("storage=", "stamp=")
    return [part for part in data_parts(model, query) if not part.startswith(storage)]


def _query_flow(node: Node, meaning: Meaning, upstream: Flows) -> Flow:
    resolver = _Resolver(upstream)
    types = {column.name.lower(): _typed(column) for column in node.columns}
    columns: dict[str, bytes] = {}
    rest: list[bytes] = []
    for name, part in meaning.columns:
        digest = digest_of("query column", types.get(name, b""), resolver.digest(part))
        if name == EVERY:
            rest.append(digest)
        else:
            columns[name] = digest
    rows = _rows_digest(node, meaning, columns, rest, resolver)
    defined = [upstream[name] for name in sorted(_defined(node)) if name in upstream]
    if defined:  # what its functions read may decide on rows and on every value
        inputs = (piece for flow in defined for piece in (flow.rows, flow.every))
        rows = digest_of("defined", rows, *inputs)
    added = [name for name in types if name not in columns]
    if not rest:  # those that the kind adds, such as valid_from
        columns |= {name: digest_of("kind column", rows, name.encode()) for name in added}
    flow = Flow(rows=rows, columns=columns, unknown=digest_of("rest", rows, *rest))
    return _salted(flow, node, meaning, upstream)


def _rows_digest(
    node: Node,
    meaning: Meaning,
    columns: Mapping[str, bytes],
    rest: Iterable[bytes],
    resolver: _Resolver,
) -> bytes:
    """The rows of a model's query, and what its kind makes of them."""
    base = digest_of("query rows", *_loading(node.model), resolver.digest(meaning.rows.part))
    unknown = digest_of("rest", base, *rest)
    keys = (columns.get(key, unknown) for key in row_columns(node.model, columns))
    ordered = node.model.kind.is_inlined and meaning.order is not None
    order = [resolver.digest(meaning.order)] if ordered and meaning.order is not None else []
    return digest_of("rows", base, *keys, *order)


def _varying(meaning: Meaning, upstream: Flows) -> frozenset[str]:
    """The columns, and `ROWS`, that may say something else the next time the query is run."""
    parts = [(ROWS, meaning.rows.part), *meaning.columns]
    return frozenset(
        name
        for name, part in parts
        if part.nondeterministic
        or any(
            upstream[read.model].may_vary(read.column)
            for read in part.reads
            if read.model in upstream
        )
    )


def _nondeterministic(node: Node, upstream: Flows) -> frozenset[str]:
    if node.canonical is None or not node.model.kind.is_inlined:
        return frozenset()
    return _varying(node.canonical.meaning, upstream)


def _salted(flow: Flow, node: Node, meaning: Meaning, upstream: Flows) -> Flow:
    """What may say something else next time is another thing whenever the model is rebuilt."""
    varying = _varying(meaning, upstream)
    if not varying:
        return flow
    salt = digest_of("made", flow.rows, flow.every, node.fingerprint.data.encode())
    return Flow(
        rows=digest_of("chance", flow.rows, salt) if ROWS in varying else flow.rows,
        columns={
            name: digest_of("chance", each, salt) if name in varying else each
            for name, each in flow.columns.items()
        },
        unknown=digest_of("chance", flow.unknown, salt) if EVERY in varying else flow.unknown,
        nondeterministic=varying if node.model.kind.is_inlined else frozenset(),
    )


@dataclass(slots=True)
class _Resolver:
    """Puts parts on what their reads find; many columns share theirs."""

    upstream: Flows
    known: dict[frozenset[Read], bytes] = field(default_factory=dict)

    def digest(self, part: MeaningPart) -> bytes:
        """A part with what its reads find."""
        if part.reads not in self.known:
            self.known[part.reads] = digest_of("reads", *self._found(part.reads))
        return digest_of("part", part.digest, self.known[part.reads])

    def _found(self, reads: Iterable[Read]) -> Iterator[bytes]:
        for read in sorted(reads):
            yield str(read.model).encode()
            yield read.column.encode()
            yield self.upstream[read.model].read(read.column)


def _loading(model: Model) -> list[bytes]:
    parts = [f"{name}={value}" for name, value in loading_parts(model).items()]
    return [part.encode() for part in (*parts, *statement_parts(model))]


def _typed(column: Column) -> bytes:
    return f"{column.name.lower()} {_type(column.type)}".encode()


@lru_cache(maxsize=1024)
def _type(written: str) -> str:
    """A type in one way of writing it."""
    try:
        return exp.DataType.build(written, dialect="spark", udt=True).sql("spark").lower()
    except SQL_ERRORS:
        return written.lower()


def row_columns(model: Model, names: Iterable[str]) -> list[str]:
    """The columns by whose values a kind decides which rows its table has (seed 001)."""
    identifying = identifying_columns(model)
    match model.kind:
        case IncrementalByUniqueKey(when_matched=clauses, merge_filter=condition):
            merges = bool(clauses) or condition is not None
            return [each.lower() for each in names] if merges else identifying
        case ScdType2ByColumn(columns=compared):
            every = names if EVERY_COLUMN in compared else (*identifying, *compared)
            return [each.lower() for each in every]
        case _:
            return identifying


def changed_models(before: Graph, after: Graph) -> set[ModelName]:
    """The models whose fingerprints differ, or that only one of two graphs has."""
    names = {*before.nodes, *after.nodes}
    return {
        name
        for name in names
        if name not in before
        or name not in after
        or before[name].fingerprint != after[name].fingerprint
    }
