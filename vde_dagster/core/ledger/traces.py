"""What rows follow from, as hashes: tokens of what is read, and keys of results (rule R2).

A *token* identifies the content of an input range. A *key* is one hash of a model's own data hash,
its query with all that is inlined in it, and the tokens of all that it reads. Two evaluations with
equal keys make the same rows, so the later one need not be done: "unchanged input data into an
unchanged deterministic operation produces unchanged output data" (seed 002).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import accumulate, groupby
from typing import Final, Protocol

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import query_over_tables
from vde_dagster.core.ledger.dsha import RowSum, dsha
from vde_dagster.core.ledger.entries import LedgerEntry, Trace
from vde_dagster.core.model.fingerprint import hash_parts
from vde_dagster.core.model.model import PythonFunction, Query
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import macros_in
from vde_dagster.core.sql.meaning.functions import (
    is_execution_time,
    is_nondeterministic,
    is_unknown,
)
from vde_dagster.core.sql.reads import alone
from vde_dagster.core.sql.reads.bounds import Axis
from vde_dagster.core.sql.reads.descriptions import described
from vde_dagster.core.sql.reads.input_ranges import (
    WHOLE,
    InputRange,
    Reads,
    TimeAxis,
    WholeTable,
    covers,
    time_column_of,
)
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.time.schedule import batches

SCHEME: Final = "trace/1"
"""Part of every key. Changing it invalidates all traces, which costs time and nothing else."""


class Tokens(Protocol):
    """The tokens of one input."""

    def of(self, read: InputRange) -> str:
        """The token of a range."""
        ...


class LedgerTokens:
    """The tokens of a version: the D-SHA of the rows that it holds in a range.

    Entries that lie in a range in part count as a whole. Where rows were hashed in several ways, or
    under several schemas, the D-SHAs of each are combined. A range costs as many steps as a
    search in the entries, and not as many as there are entries in it.

    Args:
        entries: The ledger of the version, sorted by interval.
        times: Where these are all that there is; no other range may be asked for.
    """

    def __init__(self, entries: Sequence[LedgerEntry], times: InputRange = WHOLE) -> None:
        self._entries, self._times = entries, times

    @cached_property
    def _groups(self) -> list[_Group]:
        ordered = sorted(self._entries, key=lambda each: (_alike(each), each.interval))
        return [_Group.of(list(each)) for _, each in groupby(ordered, key=_alike)]

    def of(self, read: InputRange) -> str:
        """The token of a range, or of the whole table."""
        if not covers(self._times, read):
            raise RuntimeError(f"the token of {read} was asked for, and {self._times} was read")
        found = [each.digest(read) for each in self._groups]
        known = [each for each in found if each]
        return known[0] if len(known) == 1 else hash_parts(*known)


def _alike(entry: LedgerEntry) -> tuple[str, ...]:
    """What sums have to have in common to be added up."""
    return (entry.algorithm, *(f"{each.name} {each.type}".lower() for each in entry.columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Entries whose sums add up. ``sums`` has the sum of the first n of them at n."""

    starts: Sequence[datetime]
    ends: Sequence[datetime]
    sums: Sequence[RowSum]
    columns: tuple[Column, ...]
    algorithm: str

    @classmethod
    def of(cls, entries: Sequence[LedgerEntry]) -> _Group:
        return cls(
            starts=[each.interval.start for each in entries],
            ends=[each.interval.end for each in entries],
            sums=[RowSum(), *accumulate(each.rows for each in entries)],
            columns=entries[-1].columns,
            algorithm=entries[-1].algorithm,
        )

    def digest(self, read: InputRange) -> str:
        """The D-SHA of the rows in a range; empty where no entry lies in it."""
        if isinstance(read, WholeTable):
            return dsha(self.sums[-1], self.columns, algorithm=self.algorithm)
        rows, entries = RowSum(), 0
        for each in read:
            first = bisect_right(self.ends, each.start)
            after = bisect_left(self.starts, each.end)
            rows += self.sums[after] - self.sums[first]
            entries += after - first
        return dsha(rows, self.columns, algorithm=self.algorithm) if entries else ""


@dataclass(frozen=True, slots=True)
class OneToken:
    """The token of an input that has the same one for every range."""

    token: str

    def of(self, read: InputRange) -> str:
        """The token."""
        return self.token


def source_token(
    uuid: str, columns: Iterable[Column], rows_of: int | None, *, marks: Sequence[str] = ()
) -> str:
    """The token of a table that others write.

    Args:
        uuid: The table's: another table of the same name has another one.
        columns: Its columns.
        rows_of: The Iceberg snapshot that gave it the rows that are read, which compaction does not
            change; None for a table that has none.
        marks: What is to be known besides of columns that were others at that snapshot, although
            these had their names (`EarlierSchemas.marks`).
    """
    schema = (f"{each.name} {each.type}".lower() for each in columns)
    others = ("columns", *marks) if marks else ()
    return hash_parts("source", uuid, "" if rows_of is None else str(rows_of), *schema, *others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What the rows of a model follow from, apart from the inputs.

    ``is_timed`` says whether they follow from the interval that is evaluated, too: by time macros,
    or since a function sees it.
    """

    base: str
    is_timed: bool

    def key(self, interval: Interval, inputs: Mapping[ModelName, str], *, target: str = "") -> str:
        """The key of an interval's rows.

        Args:
            interval: What is evaluated.
            inputs: The token of each input's range.
            target: The D-SHA of what the table held before, where the result follows from it.
        """
        times = [interval.start.isoformat(), interval.end.isoformat()] if self.is_timed else []
        read = [text for name in sorted(inputs) for text in (str(name), inputs[name])]
        return hash_parts(SCHEME, self.base, target, "times", *times, "inputs", *read)


def recipe(graph: Graph, name: ModelName, *, algorithm: str = "") -> Recipe:
    """The recipe of a model that has rows.

    Args:
        graph: The models.
        name: One whose rows are the same whenever its inputs are; see `why_nondeterministic`.
        algorithm: What its rows shall be hashed with, where that decides about all of them.
    """
    node = graph[name]
    columns = [f"{each.name} {each.type}".lower() for each in node.columns]
    query = query_over_tables(graph, name)
    text = "" if query is None else query.sql(dialect="spark")
    is_timed = isinstance(node.model.body, PythonFunction) or (
        query is not None and any(True for _ in macros_in(query))
    )
    base = hash_parts(node.fingerprint.data, text, algorithm, *columns)
    return Recipe(base=base, is_timed=is_timed)


def traces(
    recipe: Recipe, reads: Reads, tokens: Mapping[ModelName, Tokens], intervals: Iterable[Interval]
) -> dict[Interval, Trace]:
    """The trace that each interval's rows have once they are computed from these inputs.

    What a unit of a time range reads is what it would read alone: its rows are the same however
    many units are evaluated together (seed 001, *INCREMENTAL_BY_TIME_RANGE*, idempotent by time
    range). Where that is not certain, `why_nondeterministic` says so.

    Args:
        recipe: The model's.
        reads: What it reads of each input.
        tokens: The tokens of every input.
        intervals: The intervals that are recorded, each by itself.
    """
    found: dict[Interval, Trace] = {}
    for interval in intervals:
        ranges = reads.at(interval)
        inputs = {name: tokens[name].of(ranges[name]) for name in ranges}
        found[interval] = Trace(key=recipe.key(interval, inputs), inputs=inputs)
    return found


def why_nondeterministic(graph: Graph, name: ModelName) -> str:
    """Why a model's rows may differ for equal inputs, for people; empty where they cannot.

    Upstream VIEW and EMBEDDED models count, too, since their queries are inlined in the model's.
    """
    body = graph[name].model.body
    if isinstance(body, Query | PythonFunction) and (body.before or body.after):
        return "it has pre- or post-statements, whose effects are not analysed"
    if isinstance(body, PythonFunction):
        return "" if body.deterministic else "its function is not declared deterministic"
    for node in _inlined(graph, name):
        why = _why_nondeterministic(node)
        if why:
            return why if node.name == name else f"in {node.name}, which it reads, {why}"
    return why_together(graph, graph[name])


def why_together(graph: Graph, node: Node) -> str:
    """Why a unit's rows may follow from what else is evaluated with it; empty where they cannot.

    With a ``batch_size`` of one no unit is evaluated with another one (see `batches`), nor of a
    model with stateful sessions (`evaluated_parts`). An ``independent`` model's author says that
    it does not matter.
    """
    if node.model.kind.batch_size == 1 or node.model.stateful is not None:
        return ""
    return _why_together(graph, node)


def evaluated_parts(
    graph: Graph, node: Node, intervals: Sequence[Interval]
) -> tuple[Interval, ...]:
    """The ranges that are evaluated one by one: batches, or single units.

    Late rows must not decide which units a stateful session evaluates together, so each is
    evaluated by itself where that could make a difference.
    """
    is_function = isinstance(node.model.body, PythonFunction) and not node.model.kind.independent
    if node.model.stateful is None or not (is_function or _why_together(graph, node)):
        return tuple(batches(node.model, intervals))
    return tuple(cell for each in intervals for cell in node.model.unit.cells(each))


def _why_together(graph: Graph, node: Node) -> str:
    kind, unit, own = node.model.kind, node.model.unit, node.time_axis
    if node.model.reads_itself:
        return "it reads its own rows of the one before"
    if own is None or kind.independent:
        return ""
    query = query_over_tables(graph, node.name)
    if query is None:
        return ""

    def axis(table: ModelName, column: str) -> Axis | None:
        types = {each.name.lower(): each.type for each in graph[table].columns}
        form = own.format if column == own.column.lower() else ""
        written = TimeAxis(column=column, unit=unit, type=types.get(column, "unknown"), format=form)
        found = time_column_of(written)
        return None if found is None else found.axis

    why = alone.why_together(query, own.column, axis=axis, unit=unit)
    if not why:
        return ""
    one = unit.value.replace("_", " ")
    return f"the rows of one {one} may depend on what else is evaluated with it: {why}. {_HELPS}"


_HELPS: Final = (
    "`batch_size 1` in its kind computes each one separately; `independent true` there declares "
    "that they do not depend on others"
)


def _inlined(graph: Graph, name: ModelName) -> Iterable[Node]:
    """A model, and the views and embedded queries that are inlined in it."""
    found: dict[ModelName, Node] = {}
    waiting = [name]
    while waiting:
        node = graph[waiting.pop()]
        if node.name == name or node.model.kind.is_inlined:
            found[node.name] = node
            waiting += [each for each in node.model.parents if each not in found]
    return found.values()


def _why_nondeterministic(node: Node) -> str:
    if node.canonical is None:
        return ""
    nodes = list(node.canonical.expression.walk())
    unknown = next(filter(is_unknown, nodes), None)
    if unknown is not None:
        return f"{described(unknown)} is an unknown function"
    if any(map(is_execution_time, nodes)):
        return "the query depends on when it is run"
    if any(part.nondeterministic for part in node.canonical.meaning.parts()):
        nondeterministic = next(filter(is_nondeterministic, nodes), None)
        what = (
            "a LIMIT without ORDER BY" if nondeterministic is None else described(nondeterministic)
        )
        return f"{what} may return another result the next time"
    if any(map(_is_loose_limit, nodes)):
        return "a LIMIT without ORDER BY may return other rows the next time"
    return ""


def _is_loose_limit(node: exp.Expr) -> bool:
    """Whether a limit takes rows in no order; also one in a query that is not looked into."""
    around = node.parent
    limits = isinstance(node, exp.Limit | exp.Offset | exp.Fetch)
    return limits and around is not None and around.args.get("order") is None
