"""The views of an environment: which version each one shows, and with which columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import former_views, shown_naming
from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.ledger.stored_types import is_nested
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import (
    ModelName,
    ViewNaming,
    environment_view,
)
from vde_dagster.ports.catalog import SwapOvertaken, ViewDefinition
from vde_dagster.ports.state import Environment, Lease
from vde_dagster.project.model_files import read_model


def show(
    services: Services,
    environment: str,
    names: Collection[ModelName],
    lease: Lease | None = None,
) -> None:
    """Create the views of those of these models that the environment shows and that are loaded."""

    def chosen(shown: Environment) -> list[ViewDefinition]:
        if shown.promoting:
            return []
        graph = stored_graph(shown.snapshots, services.models)
        return views_of(services, shown, names, shown_naming(services, shown), graph=graph)

    show_chosen(services, environment, chosen, lease)


def show_first(
    services: Services, environment: str, key: VersionKey, columns: tuple[Column, ...]
) -> None:
    """Create the view of a version that an environment was promoted to before it was loaded.

    Called between publishing and recording a version's first rows, so that a crash leaves either a
    view or an open unit of work that creates it.
    """

    def chosen(shown: Environment) -> list[ViewDefinition]:
        if key.model in shown.hidden or not shown.shows(key):
            return []
        name = environment_view(key.model, environment, shown_naming(services, shown))
        visible = _visible(read_model(shown.snapshots[key.model].source))
        return [ViewDefinition(name=name, target=key.table, columns=columns, visible=visible)]

    show_chosen(services, environment, chosen)


def show_chosen(
    services: Services,
    name: str,
    choose: Callable[[Environment], Sequence[ViewDefinition]],
    lease: Lease | None = None,
) -> None:
    """Create or replace some views of an environment outside of a promotion.

    If it is promoted meanwhile, its views follow, also if this swap fails or is overtaken.

    Args:
        services: The ports.
        name: The environment.
        choose: What the views are to show, of what the environment shows.
        lease: What has to be held still, if anything.
    """
    read: dict[int, Environment] = {}

    def swap(number: int) -> None:
        shown = services.state.environment(name)
        views = choose(shown) if shown is not None else ()
        if shown is not None and views:
            read[shown.revision] = shown
            services.catalog.swap_views(views, (), number=number)

    try:
        numbered(services, swap, lease)
    finally:
        for shown in read.values():
            settle(services, name, shown)


def settle(services: Services, name: str, swapped: Environment) -> None:
    """Let the views follow the state, if it moved on during the swap (a process that slept)."""
    if services.state.revision(name) == swapped.revision and not swapped.is_removed:
        return
    last: Environment | None = swapped
    while last is not None:
        last = numbered(services, partial(_follow, services, name, last))


def _follow(services: Services, name: str, swapped: Environment, number: int) -> Environment | None:
    """Let the views show the latest revision; returns it, or None if they showed it, or none is.

    Those of models go that only the swapped revision has: no other revision has these.
    """
    latest = services.state.environment(name)
    if latest is None or latest.is_removed:
        removed = former_views(services, name, kept=(), removed=swapped.snapshots)
        services.catalog.swap_views((), removed, number=number)
        return None
    if latest.revision == swapped.revision:
        return None
    naming = shown_naming(services, latest)
    graph = stored_graph(latest.snapshots, services.models)
    views = views_of(services, latest, latest.snapshots, naming, graph=graph)
    gone = {
        each
        for each in swapped.snapshots
        if each not in latest.snapshots
        or each in latest.hidden
        or graph[each].model.kind.is_embedded
    }
    former = former_views(services, name, kept=(), removed=gone) if gone else []
    services.catalog.swap_views(views, former, number=number)
    return latest


def views_of(
    services: Services,
    environment: Environment,
    names: Collection[ModelName],
    naming: ViewNaming,
    *,
    graph: Graph,
) -> list[ViewDefinition]:
    """The views of those models that are loaded; others get theirs when they are filled."""
    shown = [
        each
        for each in environment.snapshots.values()
        if each.name in names
        and each.name not in environment.hidden
        and not graph[each.name].model.kind.is_source
    ]
    holdings = services.state.holdings(each.key for each in shown)
    views: list[ViewDefinition] = []
    for snapshot in shown:
        loaded = holdings.get(snapshot.key)
        if loaded is None:
            continue
        node = graph[snapshot.name]
        views.append(
            ViewDefinition(
                name=environment_view(snapshot.name, environment.name, naming),
                target=snapshot.key.table,
                columns=_shown_columns(services, node, snapshot.key, loaded.columns),
                comment=node.model.description,
                visible=_visible(node.model),
            )
        )
    return views


def _visible(model: Model) -> str:
    """Which rows of its table a model shows, as `ViewDefinition` has it."""
    hidden = model.kind.hidden_rows
    return hidden.visible.sql("spark") if hidden is not None else ""


def _shown_columns(
    services: Services, node: Node, key: VersionKey, recorded: tuple[Column, ...]
) -> tuple[Column, ...]:
    """The columns of a version that its model returns, with the model's comments (rule R11).

    A struct has those fields that its declared type has, and that its table has; all of the table's
    where it is not declared.

    Args:
        services: The ports.
        node: The model; if its columns are not known, all recorded ones are shown.
        key: The version.
        recorded: The table's columns when rows were written last.
    """
    if not node.columns:
        return recorded
    there = {each.name.lower(): each for each in recorded}
    if any(each.name.lower() not in there for each in node.columns):
        table = services.catalog.table(key.table)
        there |= {each.name.lower(): each for each in table.columns} if table is not None else {}
    return tuple(
        replace(found, description=each.description, type=_shown_type(node, each, found))
        for each in node.columns
        if (found := there.get(each.name.lower())) is not None
    )


def _shown_type(node: Node, column: Column, recorded: Column) -> str:
    """The type as a view of which a column of structs is asked for; empty for its table's own."""
    if not is_nested(recorded.type):
        return recorded.type
    return column.type if node.model.declares(column.name) else ""


T = TypeVar("T")


def numbered(services: Services, swap: Callable[[int], T], lease: Lease | None = None) -> T:
    """Swap views under a number; under another one, above the higher number that one of them has.

    That one was moved by a later swap, or by a state that is lost, or was put back, and had given
    higher numbers. What is read after the second number was given is not older than the later swap,
    so it may go above it.

    Args:
        services: The ports.
        swap: Reads what the views are to show, and swaps them, under the number that it is given;
            that is 0 where they move at once, which needs none. What it decides by and did not read
            itself has to stay as it is for as long as the lease is held.
        lease: What has to be held still.

    Raises:
        LeaseLost: The lease was taken over.
        SwapOvertaken: It was overtaken again.
    """
    if services.catalog.swaps_at_once:
        return swap(0)
    try:
        return swap(services.state.next_view_number(lease))
    except SwapOvertaken as error:
        return swap(services.state.next_view_number(lease, above=error.highest))
