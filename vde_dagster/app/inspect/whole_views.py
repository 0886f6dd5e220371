"""The views of one revision of an environment, also while they move one by one.

In a catalog that swaps views at once, views that are looked up together are those of one revision.
In others a reader may see some of a promotion and not all of it. The state knows which revision was
finished last, and what each of its views shows, so a reader that wants a whole set asks for that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.publish.shown_views import views_of
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import shown_naming
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict
from vde_dagster.core.ledger.stored_types import same_type, shown_as
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.ports.state import Environment


def whole_revision(services: Services, name: str) -> Environment | None:
    """The revision of an environment that its views show as a whole; None if there is none.

    It is the latest one, or, in a catalog that does not swap views at once, the latest one that is
    finished: what a promotion shows that is under way is not all there yet. Where none is finished,
    the latest one has to do.
    """
    latest = services.state.environment(name)
    if latest is None or services.catalog.swaps_at_once:
        return latest
    for revision in range(latest.revision, 0, -1):
        found = services.state.environment(name, revision=revision)
        if found is None or found.is_removed or found.is_forgotten:
            break
        if not found.promoting:
            return found
    return latest


def whole_views(
    services: Services, shown: Environment, names: Collection[ModelName]
) -> Mapping[TableName, ViewDefinition] | None:
    """The views of these models at a revision, as the state has them; only those that are loaded.

    None if the catalog swaps views at once: then its own are as whole.
    """
    if services.catalog.swaps_at_once:
        return None
    graph = stored_graph(shown.snapshots, services.models)
    found = views_of(services, shown, names, shown_naming(services, shown), graph=graph)
    return {each.name: each for each in found}


def read_as(services: Services, view: ViewDefinition) -> TableName:
    """What an engine reads to see a view as it is at a revision: what it shows, or the view itself.

    The former is never another revision's. The latter is needed where the view leaves columns of a
    table out, or has wider ones, as which they are computed with. Wider ones of the table are no
    difference: it was widened when nothing had to be computed, and its views were before it. A
    physical view has none that are not shown.

    Raises:
        Conflict: The view is needed, and is another revision's by now.
    """
    table = services.catalog.table(view.target)
    if table is None or _shows_all(view.columns, table.columns):
        return view.target
    now = services.catalog.view(view.name)
    if (
        now is not None
        and now.target == view.target
        and _names(now.columns) == _names(view.columns)
    ):
        return view.name
    raise Conflict(
        f"the environment is being promoted right now, and {view.name} cannot be read as it was",
        advice="Run the same again when the promotion is done.",
    )


def _shows_all(view: Sequence[Column], table: Sequence[Column]) -> bool:
    """Whether a view has the columns of its table, in their order and with all of their fields.

    None is wider.
    """
    return _names(view) == _names(table) and all(
        same_type(shown_as(stored.type, each.type), stored.type)
        for each, stored in zip(view, table, strict=True)
    )


def _names(columns: Sequence[Column]) -> list[str]:
    return [each.name.lower() for each in columns]
