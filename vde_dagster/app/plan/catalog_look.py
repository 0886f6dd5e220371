"""One look at the catalog: whether the tables and views that the state knows are as recorded.

It lists each namespace once, however many models there are, and reads the newest metadata of
tables, each file once in a process.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter

from vde_dagster.app.inputs.input_look import input_look
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.publish.foreign_writes import advice_on, damages
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.version_behind import UNCOVERED, Planned
from vde_dagster.app.view_names import has_view
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.damage import Damage, FilesGone, described
from vde_dagster.core.ledger.entries import EntryStatus
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.staleness import Stale
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName, ViewNaming, environment_view, model_of
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import LostTable, Plan
from vde_dagster.core.planning.restatement import Restatement, read_again, why_never_again
from vde_dagster.core.planning.workload import left_out_by
from vde_dagster.core.time.intervals import Interval, subtract
from vde_dagster.ports.state import Environment

Holdings = Mapping[VersionKey, Holding]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogLook:
    """The tables and views in the state that another program dropped or changed.

    ``physical_views`` are physical views, which are created again like missing ones. The tables of
    the versions ``table_keys`` are missing with their rows. ``views`` are models whose view the
    environment lacks, or shows something else. ``damaged`` are tables that are there, and not as
    recorded.
    """

    physical_views: frozenset[VersionKey] = frozenset()
    table_keys: Mapping[ModelName, VersionKey]
    views: tuple[ModelName, ...] = ()
    damaged: Mapping[VersionKey, Damage] = field(default_factory=dict)

    @property
    def lost(self) -> frozenset[ModelName]:
        """The models whose table or physical view is missing, or not as recorded."""
        keys = (*self.table_keys.values(), *self.physical_views, *self.damaged)
        return frozenset(key.model for key in keys)

    def left(self, loaded: Holdings) -> Holdings:
        """What is loaded, without the physical views that are missing: these are rebuilt."""
        if not self.physical_views:
            return loaded
        return {key: each for key, each in loaded.items() if key not in self.physical_views}


def lost_for(services: Services, environment: str, look: CatalogLook) -> tuple[LostTable, ...]:
    """What is missing: tables, and physical views that no plan of the environment creates again.

    Tables that are there and not as recorded follow. What another environment owns is said to be
    its (rule R9).
    """
    if not look.lost:
        return ()
    keys = [*look.table_keys.values(), *look.physical_views, *look.damaged]
    owners = services.state.owners(keys)
    owned = {key: owner for key, owner in owners.items() if not may_write(environment, owner)}

    def lost(key: VersionKey) -> LostTable:
        return LostTable(name=key.model, table=str(key.table), owner=owned.get(key, ""))

    tables = map(lost, look.table_keys.values())
    views = (
        replace(lost(key), is_view=True) for key in sorted(look.physical_views) if key in owned
    )
    damaged = (
        replace(
            lost(key),
            damage=described(key, damage),
            lacks_files=isinstance(damage, FilesGone),
            advice=advice_on(services, key, damage, environment=environment),
        )
        for key, damage in sorted(look.damaged.items(), key=itemgetter(0))
    )
    return (*tables, *views, *damaged)


def look_at_versions(
    services: Services,
    graph: Graph,
    snapshots: Mapping[ModelName, ModelSnapshot],
    loaded: Holdings | None = None,
) -> CatalogLook:
    """The dropped tables and physical views of versions that are loaded; no environment's views.

    ``loaded`` is what is loaded of these versions, and maybe of others, if it was just read.
    """
    if loaded is None:
        loaded = services.state.holdings(each.key for each in snapshots.values())
    return look_at_catalog(services, graph, snapshots, loaded, shown=None, naming=None)


def look_at_catalog(
    services: Services,
    graph: Graph,
    snapshots: Mapping[ModelName, ModelSnapshot],
    loaded: Holdings,
    *,
    shown: Environment | None,
    naming: ViewNaming | None,
) -> CatalogLook:
    """What has been dropped or changed of a plan's versions, and of an environment's views.

    Args:
        services: The ports.
        graph: The plan's models.
        snapshots: Their versions.
        loaded: The loaded intervals of these.
        shown: The environment as it is; None for a new one.
        naming: How its views are named; None if a promotion replaces all of them in any case.
    """
    filled = {
        name: key
        for name, each in snapshots.items()
        if (key := each.key) in loaded and not graph[name].model.kind.is_source
    }
    there = services.catalog.present([key.table for key in filled.values()])
    gone = {name: key for name, key in filled.items() if key.table not in there}
    is_view = {name: graph[name].model.kind.is_view for name in gone}
    stored = [
        each.key
        for name, each in snapshots.items()
        if name not in gone and graph[name].model.kind.stores_rows
    ]
    heads = services.state.heads(stored)
    damaged = damages(services, {key: heads.get(key) for key in stored})
    sound = set(filled.values()) - {*gone.values(), *damaged}
    return CatalogLook(
        physical_views=frozenset(key for name, key in gone.items() if is_view[name]),
        table_keys={
            name: key
            for name, key in gone.items()
            if not is_view[name] and graph[name].model.kind.stores_rows
        },
        views=replaced_views(services, shown, sound, naming=naming) if shown and naming else (),
        damaged=damaged,
    )


def replaced_views(
    services: Services, shown: Environment, sound: Collection[VersionKey], *, naming: ViewNaming
) -> tuple[ModelName, ...]:
    """The models whose view an environment lacks, or whose view shows something else.

    Where the environment is promoted meanwhile, its views are not news: a plan that was made
    before is refused.

    Args:
        services: The ports.
        shown: The environment.
        sound: The versions that are loaded, and whose table is as recorded.
        naming: How its views are named.
    """
    views = {
        environment_view(name, shown.name, naming): name
        for name, each in shown.snapshots.items()
        if each.key in sound and name not in shown.hidden and has_view(each)
    }
    there = services.catalog.views(views) if views else {}
    found = [
        name
        for view, name in views.items()
        if view not in there or there[view].target != shown.snapshots[name].key.table
    ]
    moved = bool(found) and services.state.revision(shown.name) != shown.revision
    return () if moved else tuple(sorted(found))


def taken_names(services: Services, plan: Plan) -> Iterator[str]:
    """Why views of a promotion could not be created, for people; nothing where they can.

    Another program may have taken the name of a view that the environment had.
    """
    if plan.promotes:
        yield from taken_views(services, plan.environment, plan.graph, hidden=plan.hidden)


def taken_views(
    services: Services, environment: str, graph: Graph, *, hidden: Collection[ModelName]
) -> Iterator[str]:
    """Why views of models that are not ``hidden`` could not be created, for people."""
    wanted = {
        environment_view(node.name, environment, services.naming): node.name
        for node in graph
        if node.model.kind.is_physical and node.name not in hidden
    }
    taken = services.catalog.taken(wanted)
    if taken:
        yield (
            f"{', '.join(sorted(map(str, taken)))} already exists in the catalog, so no view of "
            f"{environment} can be created there. Rename the model, or rename or drop the "
            "existing object."
        )
    for name, view in services.catalog.views(wanted).items():
        if (other := model_of(view.target)) not in (None, wanted[name]):
            yield (
                f"{name}, where {environment} would show {wanted[name]}, shows {other} in "
                "another environment, whose views are named by another "
                "environment_suffix_target. Plan that environment first, or rename the model."
            )


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
    """What a plan does about what is missing; it reads nothing more if nothing is.

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
        writes=planned.holdings.writes,
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
        return "--start and --end may exclude some of its rows, so plan without them"
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
