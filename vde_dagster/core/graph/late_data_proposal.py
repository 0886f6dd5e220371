"""A `late_data` property for a model that has none, from its query and its sources' metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.lineage import column_lineage
from vde_dagster.core.graph.render_model import query_over_tables, tables_read
from vde_dagster.core.graph.session_reads import bounding_axis, time_axes
from vde_dagster.core.model.kinds import (
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    ScdType2,
)
from vde_dagster.core.model.late_data import LANDING_COLUMN, LateDataMode
from vde_dagster.core.model.named_columns import added_columns, key_columns
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.row_local import why_not_once, why_not_row_local
from vde_dagster.core.time.formats import axis_type

_TIMES: Final = ("date", "timestamp", "timestamp_ntz")
_INSTANTS: Final = ("timestamp", "timestamp_ntz")
_WHOLE: Final = ("int", "bigint")
_OF_CHANGE: Final = re.compile("chang|updat|modif|commit", re.IGNORECASE)
_COUNTER: Final = re.compile(
    "(^|_)(seq|sequence|version|revision|lsn|scn|offset|position)($|_)|^id$|"
    "^(change|event|log|message|record|row|transaction|tx)_id$",
    re.IGNORECASE,
)
"""The names of numbers that grow with each change in most feeds."""
_GROWING: Final = re.compile(f"{_COUNTER.pattern}|_id$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMetadata:
    """A source as its table describes it: its columns, and those that it is partitioned by."""

    name: ModelName
    columns: tuple[Column, ...]
    partition_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedSource:
    """A source to track; ``tracked_by`` is empty where it need not be given.

    ``why`` says, for people, why it is that column.
    """

    name: ModelName
    tracked_by: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A `late_data` property: its mode, with the reason for people, and its sources.

    ``left_out`` are tables that the model reads and that are not tracked, with the reasons.
    """

    mode: LateDataMode
    why: str
    sources: tuple[ProposedSource, ...]
    left_out: tuple[tuple[ModelName, str], ...] = ()

    @property
    def text(self) -> str:
        """The property as it is written in a MODEL block."""
        sources = ",\n".join(f"    {_written(each)}" for each in self.sources)
        return f"late_data (\n  mode {self.mode.value},\n  sources (\n{sources}\n  )\n)"


def proposed(graph: Graph, name: ModelName, known: Sequence[SourceMetadata]) -> Proposal:
    """What late_data could be for a model.

    Args:
        graph: The models.
        name: One without late_data.
        known: The tables of the sources that it reads, as far as they exist.

    Raises:
        Refused: The model cannot have it, has it already, or reads nothing that can be tracked.
    """
    node = graph[name]
    _check(node)
    tables = tuple(tables_read(graph, node))
    why_stateful = _why_stateful(graph, node, tables)
    if node.time_axis is None:
        _refuse_unless_once(graph, node, why_stateful)
    if not why_stateful:
        return Proposal(
            mode=LateDataMode.STATELESS,
            why="each row follows from one row of its only source",
            sources=tuple(ProposedSource(name=each) for each in tables),
        )
    metadata = {each.name: each for each in known}
    tracked, left_out = [], []
    for each in tables:
        found = _tracked(graph, node, each, metadata.get(each))
        if isinstance(found, ProposedSource):
            tracked.append(found)
        else:
            left_out.append((each, found))
    if not tracked:
        reasons = "; ".join(f"{each}: {why}" for each, why in left_out)
        raise Refused(f"{name} has no input that a session can track: {reasons or 'no table'}.")
    return Proposal(
        mode=LateDataMode.STATEFUL,
        why=why_stateful,
        sources=tuple(tracked),
        left_out=tuple(left_out),
    )


def _check(node: Node) -> None:
    if node.model.late_data is not None:
        raise Refused(
            f"{node.name} already has late_data.",
            advice=f"`vde late explain {node.name}` shows what its next session would do.",
        )
    kind = node.model.kind
    if isinstance(kind, IncrementalByUniqueKey | ScdType2) and kind.order is None:
        raise Refused(
            f"{node.name} cannot have late_data without sequence_by: a late row would replace a "
            "newer one of its key.",
            advice=_order_proposed(node, kind),
        )
    has_sessions = isinstance(kind, IncrementalByTimeRange | IncrementalUnmanaged)
    if not has_sessions and kind.order is None:
        raise Refused(
            f"{node.name} cannot have late_data: that is for models of kind "
            "INCREMENTAL_BY_TIME_RANGE or INCREMENTAL_UNMANAGED, and for keyed ones and histories "
            "with sequence_by."
        )
    if node.canonical is None:
        raise Refused(
            f"{node.name} is a Python model: a function does not show which columns its "
            "reads are bounded by.",
            advice="Name the sources and their columns yourself (reference/late-data in the docs).",
        )


def _order_proposed(node: Node, kind: IncrementalByUniqueKey | ScdType2) -> str:
    """The columns that may order the changes of a key: a time, a number that grows, or both.

    Their types and names say that, and no more: whether it is so, a person has to confirm.
    """
    others = {*key_columns(kind), *added_columns(kind)}
    own = [each for each in node.columns if each.name.lower() not in others]
    times = [each.name for each in own if axis_type(each.type) in _INSTANTS]
    numbers = [each.name for each in own if each.type in _WHOLE]
    by = _best(times, _OF_CHANGE)
    if by or not kind.keeps_history:  # the rows of a history begin at a time
        by += _best([each for each in numbers if _GROWING.search(each)], _COUNTER)
    if not by:
        what = "a time and any other column" if kind.keeps_history else "a column"
        return f"Add `sequence_by` to its kind, with {what} that grows with each change of a key."
    written = by[0] if len(by) == 1 else f"({', '.join(by)})"
    return (
        f"Add `sequence_by {written}` to its kind, once you have confirmed that it orders the "
        "changes of a key: it is proposed by names and types alone."
    )


def _best(names: Sequence[str], sought: re.Pattern[str]) -> list[str]:
    """The first name with a word that is sought, else the first one, if there is any."""
    return sorted(names, key=lambda name: sought.search(name) is None)[:1]


def _refuse_unless_once(graph: Graph, node: Node, why_stateful: str) -> None:
    """Refuse a model without intervals of which a session cannot take each new row once."""
    query = query_over_tables(graph, node.name)
    why = why_stateful or (why_not_once(query) if query is not None else "")
    if why:
        raise Refused(
            f"{node.name} cannot have late_data: {why}, and rows of {node.model.kind.keyword} "
            "can only be processed one by one",
            advice="Use INCREMENTAL_BY_TIME_RANGE, whose intervals can be overwritten.",
        )


def _why_stateful(graph: Graph, node: Node, tables: Sequence[ModelName]) -> str:
    """Why rows cannot be added one by one, for people; empty if they can."""
    if len(tables) != 1:
        return f"it reads {len(tables)} tables"
    if not graph[tables[0]].model.kind.is_source:
        return f"it reads {tables[0]}, a model of the project"
    query = query_over_tables(graph, node.name)
    assert query is not None, "it is a SQL model"
    found = why_not_row_local(query, tables[0])
    return f"its query has {found}" if found else ""


def _tracked(
    graph: Graph, node: Node, name: ModelName, known: SourceMetadata | None
) -> ProposedSource | str:
    """How a table is tracked, or why it is not, for people."""
    source = graph[name]
    if not source.model.kind.is_source:
        if source.time_axis is None:
            return "it has no intervals, so a change affects all of it"
        return ProposedSource(name=name, why=f"{source.time_axis.column} is its time column")
    columns = known.columns if known is not None else source.columns
    times = [each.name.lower() for each in columns if axis_type(each.type) in _TIMES]
    for column, why in _candidates(graph, node, name, known):
        if column in times:
            return ProposedSource(name=name, tracked_by=column, why=why)
    if len(times) == 1:
        return ProposedSource(name=name, tracked_by=times[0], why="its only time")
    if times:
        return f"it has the times {', '.join(times)}; write `tracked_by` with one of them"
    return "it has no date or timestamp column" if columns else "it does not exist yet"


def _candidates(
    graph: Graph, node: Node, name: ModelName, known: SourceMetadata | None
) -> Iterator[tuple[str, str]]:
    """Columns that a source may be tracked by, the best first, each with the reason."""
    bounded = _bounded_column(graph, node, name)
    if bounded:
        yield bounded, "the query bounds it"
    for column in _behind_time_column(graph, node, name):
        yield column, "the model's time column is derived from it"
    for column in known.partition_columns if known is not None else ():
        yield column.lower(), "the table is partitioned by it"
    yield LANDING_COLUMN, "it is the time of landing"


def _bounded_column(graph: Graph, node: Node, name: ModelName) -> str:
    """The time column by which a query bounds what it reads of a source; empty if it does not."""
    query = query_over_tables(graph, node.name)
    if query is None:
        return ""
    possible = time_axes(graph[name], node.model.unit)
    axis = bounding_axis(graph, node, query, name, possible)
    return axis.column.lower() if axis is not None else ""


def _behind_time_column(graph: Graph, node: Node, name: ModelName) -> Iterator[str]:
    query = query_over_tables(graph, node.name)
    if query is None or node.time_axis is None:
        return
    behind = column_lineage(query).get(node.time_axis.column.lower(), ())
    yield from (column.lower() for source, column in behind if source == name)


def _written(source: ProposedSource) -> str:
    if not source.tracked_by or source.tracked_by == LANDING_COLUMN:
        return str(source.name)
    return f"{source.name} (tracked_by {source.tracked_by})"
