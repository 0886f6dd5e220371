"""Who fills the versions that an environment may not write (rule R9), and with which command.

The owner of a version need not show it: a plan stores its versions before it computes, and where an
audit refuses the rows, nothing is promoted. Then runs of the owner do not compute it, since a run
computes what its environment shows, and only another plan does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import StaleLooks, stale_looks
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import by_session, stale_in
from vde_dagster.app.staleness.other_tables import other_tables, units_lacking
from vde_dagster.app.staleness.version_behind import FORBIDDEN, Planned, late_behind, listed
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Staleness
from vde_dagster.core.planning.restatement import reached, units_reading
from vde_dagster.core.time.intervals import Interval, format_instant, merge, subtract

HAS_MORE: Final = "has more of"
_REASON: Final = 160  # how much of a reason is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """The environment that fills a version that others may not write.

    ``shows`` says whether it shows the version, so that its runs compute its due intervals. ``why``
    is what became of the last try there, of a version that it does not show; empty for none.
    """

    environment: str
    shows: bool = True
    why: str = ""

    @property
    def words(self) -> tuple[str, str]:
        """The words of the command of `vde` that fills the version."""
        return "run" if self.shows else "plan", self.environment

    @property
    def command(self) -> str:
        """The command that fills the version, in a text."""
        does, environment = self.words
        return f"`vde run {environment}`" if does == "run" else f"`vde plan {environment}`"

    @property
    def computes(self) -> str:
        """The command, and whose version it is, in a text."""
        shown = "" if self.shows else " and does not show it"
        return f"{self.command} computes this version, which that environment owns{shown}"


def fillers(
    services: Services,
    environment: str,
    keys: Iterable[VersionKey],
    owners: Mapping[VersionKey, str] | None = None,
) -> dict[VersionKey, Filler]:
    """Who fills those of these versions that an environment may not write; others are absent.

    Args:
        services: The ports.
        environment: The environment that shows the versions, or is about to.
        keys: The versions.
        owners: Who owns them, if that was just read.
    """
    asked = set(keys)
    owned = services.state.owners(asked) if owners is None else owners
    theirs = {
        key: owned[key] for key in asked & owned.keys() if not may_write(environment, owned[key])
    }
    shown = {owner: services.state.environment(owner) for owner in sorted({*theirs.values()})}
    unshown = [
        key for key, owner in theirs.items() if not ((own := shown[owner]) and own.shows(key))
    ]
    failed = services.state.failed(unshown) if unshown else {}
    found = {key: Filler(environment=owner) for key, owner in theirs.items()}
    for key in unshown:
        why = _became(failed[key]) if key in failed else ""
        found[key] = Filler(environment=theirs[key], shows=False, why=why)
    return found


def _became(work: UnitOfWork) -> str:
    """What became of a unit of work that was given up."""
    ended = (work.finished_at or work.started_at).replace(second=0, microsecond=0)
    names = dict.fromkeys(each.name for each in work.audits if each.stops)
    if work.refused_branch and names:
        audits = f"the audit{'s' if len(names) > 1 else ''} {', '.join(names)}"
        return f"its rows failed {audits} there at {format_instant(ended)}"
    first = next(iter(work.reason.strip().splitlines()), "no reason is recorded")
    return f"it failed there at {format_instant(ended)}: {_shortened(first)}"


def _shortened(reason: str) -> str:
    """The beginning of a reason, which never ends within a command."""
    shown = reason[:_REASON]
    if shown.count("`") % 2:
        shown = shown[: shown.rindex("`")]
    return shown.rstrip(" .:") + " ..." * (len(shown) < len(reason.rstrip(" .:")))


def stale_elsewhere(services: Services, planned: Planned) -> Iterator[tuple[ModelName, Staleness]]:
    """Staleness of versions that stay, and that a plan leaves to their owners.

    It is stale if it is for its owner, whose runs compute it from the tables that the owner shows:
    this environment may show it with others. Only of what its owner does not show that is unknown.
    """
    keys = {
        name: each.key
        for name, each in planned.snapshots.items()
        if planned.stays(name) and name not in planned.holdings.writes
    }
    found = fillers(services, planned.environment, keys.values()) if keys else {}
    theirs = {name: found[key] for name, key in keys.items() if key in found}
    if not theirs:
        return
    shown_by = {name: each.environment if each.shows else "" for name, each in theirs.items()}
    owners = sorted({*shown_by.values()} - {""})
    bindings = {name: bind_environment(services, name) for name in owners}
    for owner in ("", *bindings):
        binding = bindings.get(owner) or planned.binding
        names = [name for name, each in shown_by.items() if each == owner]
        yield from _as_seen(services, planned, binding, theirs, names)


def _as_seen(
    services: Services,
    planned: Planned,
    binding: Binding,
    theirs: Mapping[ModelName, Filler],
    names: Collection[ModelName],
) -> Iterator[tuple[ModelName, Staleness]]:
    """Staleness of some versions, by the tables that an environment shows.

    What they read there may be stale, too, and nothing that the plan's environment shows: it
    follows from that.
    """
    if not names or planned.own is None:
        return
    graph = binding.graph
    holdings = services.state.holdings(each.key for each in binding.snapshots.values())
    looks = stale_looks(services, graph, binding.snapshots, holdings)
    near = {node.name for node in graph.upstream(names)}
    held = {name: looks.loaded.get(binding.key(name), NOTHING).recorded for name in near}
    stale = _stale(services, binding, looks, near)
    states = InputStates(services=services, graph=planned.graph, snapshots=planned.snapshots)
    shown = {each.key for each in planned.snapshots.values()}
    others: dict[ModelName, Staleness] = {}
    for node in graph:
        name, recorded = node.name, held.get(node.name, ())
        if not recorded or not node.model.kind.follows_upstream:
            continue
        lacking = _lacking(planned, states, binding, node, held)
        reading = _together(_reading(graph, node, others, recorded), lacking)
        found = _together(stale.get(name), reading)
        if found is not None and node.model.kind.disable_restatement:
            found = replace(found, intervals=(), kept=found.times, why_kept=FORBIDDEN)
        if found is not None and name in names:
            why = _why_kept(found, theirs[name])
            yield name, replace(found, intervals=(), kept=found.times, why_kept=why)
        if found is not None and binding.key(name) not in shown:
            others[name] = _spread(node, found, recorded)


def _lacking(
    planned: Planned,
    states: InputStates,
    binding: Binding,
    node: Node,
    held: Mapping[ModelName, tuple[Interval, ...]],
) -> Staleness | None:
    """What an owner's version lacks of the tables that the plan's environment has in their place.

    ``held`` is what the owner's versions hold.
    """
    if node.name not in planned.graph:
        return None
    theirs = binding.graph, binding.snapshots
    other = other_tables(node.name, theirs, (planned.graph, planned.snapshots))
    more = units_lacking(binding.graph, held, node, other, (planned, states))
    if not more:
        return None
    more_than = f"{planned.environment} {HAS_MORE} {listed(other.before)} than"
    why = (
        f"{more_than} {binding.environment}, which computes downstream models once it has caught up"
    )
    return Staleness(reason=f"{more_than} {binding.environment}", kept=more, why_kept=why)


def _together(own: Staleness | None, reading: Staleness | None) -> Staleness | None:
    """Staleness of its own, and through its inputs."""
    if own is None or reading is None:
        return own or reading
    intervals = merge((*own.intervals, *reading.intervals))
    kept = subtract(merge((*own.kept, *reading.kept)), intervals)
    why = "; ".join(dict.fromkeys(filter(None, (own.why_kept, reading.why_kept))))
    return replace(own, intervals=intervals, kept=kept, why_kept=why if kept else "")


def _spread(node: Node, found: Staleness, recorded: tuple[Interval, ...]) -> Staleness:
    """The times of a table that may have other rows once its stale intervals are computed."""
    whole = not node.model.kind.is_partitioned
    intervals, kept = (
        recorded if whole and times else reached(node, times, recorded)
        for times in (found.intervals, found.kept)
    )
    return replace(found, intervals=intervals, kept=kept)


def _reading(
    graph: Graph,
    node: Node,
    others: Mapping[ModelName, Staleness],
    recorded: tuple[Interval, ...],
) -> Staleness | None:
    """What a version reads of stale ones, where others are shown that may have what these lack.

    So it is behind also where they are left as they are, and nothing computes it again.
    """
    computed = {name: each.intervals for name, each in others.items() if each.intervals}
    left = {name: each.kept for name, each in others.items() if each.kept}
    again, behind = (units_reading(graph, node, each, recorded) for each in (computed, left))
    if not (again or behind):
        return None
    read = reads_of(graph, node.name).demands.keys()
    first = listed((computed if again else left).keys() & read)
    does = "is computed again first" if again else "has to be loaded first"
    why = "; ".join(dict.fromkeys(others[name].why_kept for name in sorted(left.keys() & read)))
    return Staleness(
        reason=f"it reads {first}, which {does}",
        intervals=again,
        kept=subtract(behind, again),
        why_kept=why if behind else "",
    )


def _why_kept(found: Staleness, filler: Filler) -> str:
    """Which environment computes stale intervals, or why none does."""
    if not found.intervals:
        return found.why_kept
    beyond = f". That leaves {found.why_kept}" if found.why_kept else ""
    return f"{filler.computes}{beyond}"


def _stale(
    services: Services,
    binding: Binding,
    looks: StaleLooks,
    names: Collection[ModelName],
) -> dict[ModelName, Staleness]:
    """Stale intervals of an environment's versions, and what its runs leave of them."""
    graph = binding.graph
    computed = [name for name in names if graph[name].model.stateless is None]
    found: dict[ModelName, Staleness] = {}
    for name, look, _ in looks.found(computed):
        if look.stale:
            stale = stale_in(binding.environment, graph[name], look)
            found[name] = by_session(services, binding, name, stale)
    for name in sorted(set(names) - set(computed)):
        recorded = looks.loaded.get(binding.key(name), NOTHING).recorded
        late = late_behind(services, binding, looks.states, graph[name], recorded)
        if late is not None:
            found[name] = replace(late, session=False)
    return found
