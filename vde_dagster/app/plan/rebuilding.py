"""Which tables that somebody dropped a plan computes again, and why it does not compute others.

What was recorded of such a table is restated as a whole, with all that reads it: the recorded rows
are compared with the new ones as in every restatement, so that a source that lost rows empties
nothing silently (rule R8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from vde_dagster.app.inputs.input_look import input_look
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.version_behind import UNCOVERED, Planned
from vde_dagster.core.ledger.entries import EntryStatus
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.staleness import Stale
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import LostTable
from vde_dagster.core.planning.restatement import Restatement, read_again, why_never_again
from vde_dagster.core.planning.workload import left_out_by
from vde_dagster.core.time.intervals import Interval, subtract


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilding:
    """What a plan does about dropped tables.

    ``restated`` is what it computes again of ``tables``, and of what reads them. ``lost`` is what
    it cannot make again, with the reason.
    """

    restated: Restatement = field(default_factory=lambda: Restatement(ranges={}))
    tables: tuple[LostTable, ...] = ()
    lost: tuple[LostTable, ...] = ()


def rebuilding(
    services: Services,
    planned: Planned,
    gone: Iterable[LostTable],
    options: PlanOptions,
    asked: Mapping[ModelName, tuple[Interval, ...]],
) -> Rebuilding:
    """What a plan does about what is gone; it reads nothing more if nothing is.

    A table that only lacks files is sound again once all of it is restated, as was ``asked``.
    """
    every = tuple(each for each in gone if not _is_restated(planned, each, asked))
    if not every:
        return Rebuilding()
    known = {each: _why_not(services, planned, each, options) for each in every}
    again = {each for each in every if not (each.owner or each.damage or known[each])}
    tables = tuple(each for each in every if each in again)
    lost = tuple(replace(each, why=why) for each, why in known.items() if each not in again)
    loaded = planned.loaded
    restated = read_again(
        planned.graph,
        {e.name: loaded.get(planned.snapshots[e.name].key, NOTHING).written for e in tables},
        planned.holdings.recorded,
        whole=lambda model: model.kind.restates_whole,
        writes=planned.holdings.writes,
        changed={},
    )
    return Rebuilding(restated=restated, tables=tables, lost=lost)


def _is_restated(
    planned: Planned, gone: LostTable, asked: Mapping[ModelName, tuple[Interval, ...]]
) -> bool:
    """Whether all of a table that lacks files is computed again anyway."""
    written = planned.loaded.get(planned.snapshots[gone.name].key, NOTHING).written
    return gone.lacks_files and not subtract(written, asked.get(gone.name, ()))


def _why_not(services: Services, planned: Planned, gone: LostTable, options: PlanOptions) -> str:
    """Why the rows of a table cannot be computed again by this plan, for people."""
    if gone.damage:
        return ""
    never = why_never_again(planned.graph[gone.name].model)
    if never or gone.owner:
        return never
    if gone.name in planned.holdings.paused:
        pause = services.state.pauses(planned.environment).get(gone.name)
        return f"it is paused, so resume it: `{pause.resume}`" if pause is not None else ""
    left_out = left_out_by(options)
    if left_out:
        return f"{left_out}, so plan without it"
    if options.bounds(planned.environment) is not None:
        return "--start and --end may leave some of its rows out, so plan without them"
    return UNCOVERED if _is_uncovered(services, planned, gone.name) else ""


def _is_uncovered(services: Services, planned: Planned, name: ModelName) -> bool:
    """Whether a source has lost, at its beginning, rows that the table was computed from."""
    node = planned.graph[name]
    states = InputStates(services=services, graph=planned.graph, snapshots=planned.snapshots)
    entries = planned.entries(name)
    look = input_look(planned.graph, states, node, entries).by_times()
    inputs = tuple(look.bounds)
    if not inputs:
        return False
    states.expect(look.reads, entries)
    return any(
        look.is_beyond(Stale(entry=each, inputs=inputs))
        for each in entries
        if each.status is not EntryStatus.EMPTY
    )
