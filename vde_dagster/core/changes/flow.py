"""What a model's rows and each of its columns follow from, through everything above it.

A `Flow` is a digest of the rows and one of each column. Where two flows have equal digests of the
rows and of some columns, the two tables have, in these columns, the same rows as often. So what a
change reaches is what has another digest after it, whatever lies between.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp, parse_one

from vde_dagster.core.fingerprint import data_parts, loading_parts, statement_parts
from vde_dagster.core.graph import Graph, Node
from vde_dagster.core.kind import (
    EVERY_COLUMN,
    External,
    IncrementalByPartition,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    ScdType2ByColumn,
    ScdType2ByTime,
)
from vde_dagster.core.meaning.parts import EVERY, ROWS, Meaning, Part, Read, digest_of
from vde_dagster.core.model import Model, SeedRows
from vde_dagster.core.names import ModelName

Flows = Mapping[ModelName, "Flow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Digests of a model's rows and of its columns, by their names in lower case.

    ``unknown`` is the digest of a column that is not among them, where not all are known.
    """

    rows: bytes
    columns: Mapping[str, bytes] = field(default_factory=dict)
    unknown: bytes

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


def unchanged_flow(node: Node) -> Flow:
    """The flow of a model that is the same in two graphs, with all that is above it."""
    name = str(node.name).encode()
    columns = {
        column.name.lower(): digest_of("same column", name, column.name.lower().encode())
        for column in node.columns
    }
    return Flow(
        rows=digest_of("same rows", name), columns=columns, unknown=digest_of("same rest", name)
    )


def flow_of(node: Node, above: Flows) -> Flow:
    """The flow of a model, from those of its parents."""
    if isinstance(node.model.kind, External):
        return _source_flow(node)
    if isinstance(node.model.body, SeedRows):
        return _seed_flow(node, node.model.body.text)
    if node.canonical is None:
        return _opaque_flow(node, above)
    return _query_flow(node, node.canonical.meaning, above)


def reads_of(node: Node) -> frozenset[Read]:
    """All that a model's rows and columns follow from in its parents."""
    if node.canonical is not None:
        return frozenset().union(*(part.reads for part in node.canonical.meaning.parts()))
    every = (Read(parent, what) for parent in node.model.parents for what in (ROWS, EVERY))
    return frozenset(every)


def _source_flow(node: Node) -> Flow:
    """A table that others write: its rows are its own, whatever is declared of it."""
    name = str(node.name).encode()
    columns = {
        column.name.lower(): digest_of("source column", name, _typed(column.name, column.type))
        for column in node.columns
    }
    return Flow(
        rows=digest_of("source", name),
        columns=columns,
        unknown=digest_of("source column", name),
    )


def _seed_flow(node: Node, text: str) -> Flow:
    """A CSV file, row by row: each column is the list of its cells."""
    header, *lines = [row for row in csv.reader(io.StringIO(text)) if row] or [[]]
    name = str(node.name).encode()
    types = {column.name.lower(): column.type for column in node.columns}
    columns: dict[str, bytes] = {}
    for at, title in enumerate(header):
        column = title.strip().lower()
        cells = (row[at].encode() if at < len(row) else b"" for row in lines)
        typed = _typed(column, types.get(column, ""))
        columns[column] = digest_of("seed column", name, typed, *cells)
    rows = digest_of("seed", name, str(len(lines)).encode(), *_loading(node.model))
    return Flow(rows=rows, columns=columns, unknown=rows)


def _opaque_flow(node: Node, above: Flows) -> Flow:
    """A model whose body is not looked into, such as one in Python."""
    parents = sorted(str(each) for each in node.model.parents)
    read = [above[ModelName.parse(each)] for each in parents]
    inputs = [piece for flow in read for piece in (flow.rows, flow.every)]
    own = (part.encode() for part in row_parts(node.model))
    rows = digest_of("opaque", *own, *inputs)
    columns = {
        column.name.lower(): digest_of("opaque column", rows, _typed(column.name, column.type))
        for column in node.columns
    }
    return Flow(rows=rows, columns=columns, unknown=digest_of("opaque column", rows))


def row_parts(model: Model) -> list[str]:
    """The parts of the data hash of a model without a query, but for its storage."""
    storage = ("storage=", "stamp=")
    return [part for part in data_parts(model, None) if not part.startswith(storage)]


def _query_flow(node: Node, meaning: Meaning, above: Flows) -> Flow:
    loading = _loading(node.model)
    declared = {column.name.lower(): column.type for column in node.model.columns}
    found: dict[str, tuple[Part, bytes]] = {}
    for name, part in meaning.columns:
        typed = _typed(name, declared.get(name, ""))
        found[name] = (part, digest_of("query column", typed, _resolved(part, above)))
    columns = {name: digest for name, (_, digest) in found.items() if name != EVERY}
    base = digest_of("query rows", *loading, _resolved(meaning.rows.part, above))
    keys = row_columns(node.model, list(columns))
    rows = digest_of("rows", base, *(columns.get(key, base) for key in keys))
    flow = Flow(
        rows=rows,
        columns=columns,
        unknown=found[EVERY][1] if EVERY in found else digest_of("no column", rows),
    )
    added = [each.name.lower() for each in node.columns if each.name.lower() not in columns]
    if EVERY not in found and added:  # those that the kind adds, such as valid_from
        kept = {name: digest_of("kind column", rows, name.encode()) for name in added}
        flow = replace(flow, columns={**columns, **kept})
    return _salted(flow, node, {name: part for name, (part, _) in found.items()})


def _salted(flow: Flow, node: Node, parts: Mapping[str, Part]) -> Flow:
    """What may say something else next time is another thing whenever the model is made anew."""
    volatile = {name for name, part in parts.items() if part.volatile}
    assert node.canonical is not None, f"{node.name} has no query"
    rows = node.canonical.meaning.rows.part.volatile
    if not volatile and not rows:
        return flow
    salt = digest_of("made", flow.rows, flow.every, node.fingerprint.data.encode())
    return Flow(
        rows=digest_of("chance", flow.rows, salt) if rows else flow.rows,
        columns={
            name: digest_of("chance", each, salt) if name in volatile else each
            for name, each in flow.columns.items()
        },
        unknown=digest_of("chance", flow.unknown, salt) if EVERY in volatile else flow.unknown,
    )


def _resolved(part: Part, above: Flows) -> bytes:
    """A part with what its reads find."""
    found = [
        piece
        for read in sorted(part.reads)
        for piece in (
            str(read.model).encode(),
            read.column.encode(),
            above[read.model].read(read.column),
        )
    ]
    return digest_of("part", part.digest, *found)


def _loading(model: Model) -> list[bytes]:
    parts = [f"{name}={value}" for name, value in loading_parts(model).items()]
    return [part.encode() for part in (*parts, *statement_parts(model))]


def _typed(name: str, type_: str) -> bytes:
    return f"{name.lower()} {type_.lower()}".encode()


def row_columns(model: Model, names: Iterable[str]) -> list[str]:
    """The columns by whose values a kind decides which rows its table has (seed 001)."""
    found: list[str] = []
    match model.kind:
        case IncrementalByTimeRange(time_column=column):
            found = [column]
        case IncrementalByUniqueKey(unique_key=keys, when_matched=clauses, merge_filter=condition):
            merges = bool(clauses) or condition is not None
            found = list(names) if merges else _columns_in(keys)
        case IncrementalByPartition():
            found = [each.column for each in model.storage.partitioned_by]
        case ScdType2ByTime(unique_key=keys, updated_at_name=updated):
            found = [*_columns_in(keys), updated]
        case ScdType2ByColumn(unique_key=keys, columns=compared, updated_at_name=updated):
            named = [*compared, *([updated] if updated is not None else [])]
            found = list(names) if EVERY_COLUMN in compared else [*_columns_in(keys), *named]
        case _:
            pass
    return [each.lower() for each in found]


def _columns_in(expressions: Iterable[str]) -> list[str]:
    return [
        column.name
        for each in expressions
        for column in parse_one(each, dialect="spark").find_all(exp.Column)
    ]


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
