"""What the table of a model gained since a version read it, if it lost no row; from metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import StaleLook
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import query_over_tables, tables_read
from vde_dagster.core.graph.session_reads import input_axis
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.staleness import FreshAt
from vde_dagster.core.ledger.traces import why_nondeterministic
from vde_dagster.core.model.kinds import IncrementalByUniqueKey
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import InputRange, WholeTable, affected
from vde_dagster.core.sql.row_local import why_not_once, why_not_row_local
from vde_dagster.core.time.intervals import Interval, meets, merge
from vde_dagster.ports.catalog import RowChange

_DECLARE: Final = "with `sequence_by`, rows only added upstream are merged instead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gained:
    """What of some stale ``entries`` reads rows that one table gained, and no row is missing.

    ``intervals`` are merged. ``rows`` is how many rows the table gained, at most: not all of them
    need be read. ``lost`` are the stale entries of which rows may be missing, with why; only a
    history that is never restated has some, and keeps them.
    """

    table: ModelName
    entries: tuple[Interval, ...]
    intervals: tuple[Interval, ...]
    rows: int
    lost: Mapping[Interval, str]


def why_not_merged(graph: Graph, node: Node) -> str:
    """Why rows that are added to what a model reads cannot simply be merged if they are changes.

    Empty if they can: each row is made of one row of one other model, and comes out the same
    whenever and with whatever it is evaluated. Then more rows there are more changes here, and the
    same change may come twice.
    """
    query, tables = query_over_tables(graph, node.name), sorted(tables_read(graph, node))
    if tables and tables[0] not in node.model.parents:
        return "it reads a view, whose query is not analysed"
    if query is None or len(tables) != 1:
        return "its rows do not come from a single model"
    if graph[tables[0]].model.kind.is_source:
        return f"{tables[0]} is a source, whose new rows sessions merge (`late_data`)"
    local = why_not_row_local(query, tables[0])
    if local is not None:
        return f"its query has {local}"
    return why_not_once(query) or why_nondeterministic(graph, node.name)


def gained(look: StaleLook) -> Gained | str:
    """What the stale entries of a version can merge; or why it is rebuilt instead, for people."""
    inputs = look.inputs
    node, states = inputs.node, inputs.states
    why = why_not_merged(inputs.graph, node)
    if node.model.kind.order is None:
        return _DECLARE if isinstance(node.model.kind, IncrementalByUniqueKey) and not why else ""
    if why:
        return why
    snapshot, state = states.snapshots[node.name], states.services.state
    key = snapshot.key
    if snapshot.drifted or snapshot.is_adopted or state.drifted([key]) or state.adopted([key]):
        return "it may have rows of an earlier definition"
    (name,) = tables_read(inputs.graph, node)
    seen = _SeenWhenFresh(states, key, look.fresh)
    parts: dict[Interval, tuple[Interval, ...]] = {}
    added: dict[int, int] = {}
    lost: dict[Interval, str] = {}
    for entry in (each.entry for each in look.stale):
        interval = entry.interval
        changes = _changes(look, name, interval, _newer(states, entry, name, seen))
        if isinstance(changes, str):
            lost[interval] = changes
            continue
        parts[interval] = _reading(look, name, changes, interval)
        added |= {each.iceberg_snapshot_id: each.added or 0 for each in changes}
    if lost and not (parts and node.model.kind.disable_restatement):
        return "; ".join(dict.fromkeys(lost.values()))
    return Gained(
        table=name,
        entries=tuple(parts),
        intervals=merge(time for each in parts.values() for time in each),
        rows=sum(added.values()),
        lost=lost,
    )


@dataclass(slots=True)
class _SeenWhenFresh:
    """What a version had seen of its inputs when none of its entries was stale."""

    states: InputStates
    key: VersionKey
    fresh: FreshAt | None
    _later: frozenset[Interval] | None = None

    def head(self, entry: LedgerEntry, name: ModelName) -> int | None:
        """The Iceberg snapshot of a table of which an entry had all rows; None if unknown."""
        if self.fresh is None:
            return None
        if self._later is None:
            later = self.states.services.state.changed_since(self.key, self.fresh.number)
            self._later = frozenset(each.interval for each in later)
        return None if entry.interval in self._later else self.fresh.heads.get(name)


def _newer(
    states: InputStates, entry: LedgerEntry, name: ModelName, seen: _SeenWhenFresh
) -> int | None:
    """How many Iceberg snapshots of a table came since an entry had all of its rows, or more.

    That is since it read them, or since nothing was stale; None if neither is known any more.
    """
    newer, work = states.line(name).newer, states.work(entry, ())
    read = None if work is None else work.intent.inputs.get(name)
    found = (newer.get(each) for each in (read, seen.head(entry, name)) if each is not None)
    return min((each for each in found if each is not None), default=None)


def _changes(
    look: StaleLook, name: ModelName, interval: Interval, newer: int | None
) -> Sequence[RowChange] | str:
    """What the newest changes added to what an interval reads; or why that is not all they did."""
    if newer is None:
        why = "the Iceberg snapshot that it read has expired, or belongs to another version"
        return f"later changes of {name} are unknown: {why}"
    inputs, read = look.inputs, look.inputs.reads.at(interval)[name]
    axis = None if isinstance(read, WholeTable) else input_axis(inputs.graph[name])
    column = inputs.bounds[name].column if name in inputs.bounds else axis.column if axis else ""
    changes = inputs.states.newest_changes(name, column, newer)
    met = [each for each in changes if each is None or _meets(each, read)]
    added = [each for each in met if each is not None and each.added is not None]
    return added if len(added) == len(met) else f"rows of {name} were replaced or deleted"


def _meets(change: RowChange, read: InputRange) -> bool:
    """Whether a change may concern a range."""
    if change.times is None or isinstance(read, WholeTable):
        return change.times != ()
    return any(meets(change.times, each) for each in read)


def _reading(
    look: StaleLook, name: ModelName, changes: Sequence[RowChange], within: Interval
) -> tuple[Interval, ...]:
    """The parts of an interval that read what was added to a table."""
    if any(each.times is None for each in changes):
        return (within,)
    times = [time for each in changes for time in each.times or ()]
    unit = look.inputs.node.model.unit
    return affected(look.inputs.reads, name, times, unit=unit, within=within) or (within,)
