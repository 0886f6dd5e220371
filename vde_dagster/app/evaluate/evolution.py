"""Tables of versions that are kept while their model's columns change (rule R11).

A column is added before anything is computed under the new definition, and old rows have NULL in
it: readers do not see it, since views name their columns. A type is widened only after every view
that shows the column has the wider type, since Spark reads a view's column as a wider type and
never as a narrower one. A struct gets a field only after every view that shows it names its fields,
since Spark reads a view's struct only from one of as many fields. A column that a model no longer
returns leaves its view at promotion, and stays in the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from vde_dagster.app.binding import Binding, environments_showing, stored_graph
from vde_dagster.app.evaluate.pinned_reading import analysed
from vde_dagster.app.publish.shown_views import numbered
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import shown_naming
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed, Refused
from vde_dagster.core.graph.embedded import stored_parents
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnWidened, InPlace
from vde_dagster.core.ledger.stored_types import grown, holds, is_nested
from vde_dagster.core.model.model import Query
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, environment_view
from vde_dagster.core.planning.changes.flow import reads_of
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.sql.meaning.parts import EVERY
from vde_dagster.ports.catalog import TableText, ViewDefinition
from vde_dagster.ports.state import version_resource


def evolve_tables(
    services: Services, binding: Binding, changes: Iterable[tuple[ModelName, Sequence[InPlace]]]
) -> None:
    """Add and widen the columns of kept tables as their models need, before anything is computed.

    A column whose type is only guessed is added when rows are analysed: see `complete_tables`. The
    fields of structs are as the query is analysed now, since views have to name them before.

    Raises:
        Refused: A column exists with another type.
        Conflict: Another process is writing one of the tables.
    """
    for name, wanted in changes:
        node = binding.node(name)
        known = [
            each
            for each in wanted
            if _is_exact(node, each.column)
            or (isinstance(each, ColumnWidened) and not is_nested(each.after))
        ]
        guessed = [each for each in wanted if isinstance(each, ColumnWidened) and each not in known]
        if guessed and _is_ours(services, binding, binding.key(name)):
            types = {
                each.name.lower(): each.type for each in _analysed_columns(services, binding, node)
            }
            known += [
                replace(each, after=types[each.column.lower()])
                for each in guessed
                if each.column.lower() in types
            ]
        if known:
            _evolve(services, binding, binding.key(name), known)


def complete_tables(services: Services, binding: Binding, changes: Iterable[ModelChange]) -> None:
    """Add the columns that a kept table still lacks, with the types that its query gives.

    Raises:
        Conflict: Another process is writing one of the tables.
    """
    for change in changes:
        added = [each for each in change.schema_changes if isinstance(each, ColumnAdded)]
        if not added or not _is_ours(services, binding, binding.key(change.name)):
            continue
        key = binding.key(change.name)
        table = services.catalog.table(key.table)
        there = {each.name.lower() for each in table.columns} if table is not None else set()
        lacking = {each.column.lower() for each in added} - there
        if table is not None and lacking:
            found = _analysed_columns(services, binding, binding.node(change.name))
            exact = [
                ColumnAdded(column=each.name, type=each.type)
                for each in found
                if each.name.lower() in lacking
            ]
            _evolve(services, binding, key, exact)


def describe_tables(
    services: Services, binding: Binding, plan: Plan, *, lost: Collection[ModelName] = ()
) -> None:
    """Set the comments and properties of kept tables whose model changed; not those of lost ones.

    Raises:
        Conflict: A table is being changed by others all the time.
    """
    kept = {
        change.name: binding.key(change.name)
        for change in plan.changes
        if change.version is not None
        and change.version == change.previous_version
        and change.name not in lost
    }
    owners = services.state.owners(kept.values())
    for name, key in kept.items():
        node = binding.node(name)
        if node.model.kind.is_view or not may_write(binding.environment, owners.get(key)):
            continue
        if services.catalog.table(key.table) is None:
            continue
        text = TableText(
            comment=node.model.description,
            columns={each.name.lower(): each.description for each in node.columns},
            storage=node.storage,
        )
        services.catalog.describe(key.table, text)


def readers_of_views(services: Services, plan: Plan) -> Iterator[tuple[ModelName, list[str]]]:
    """The models whose types would be widened although a VIEW reads them, with these views.

    Spark stores the column types with a view, and refuses to read it once the table has others.
    """
    for change in plan.changes:
        widened = {e.column.lower() for e in change.schema_changes if isinstance(e, ColumnWidened)}
        if not widened:
            continue
        key = plan.snapshots[change.name].key
        found = dict.fromkeys(_views_over(plan.graph, key.model, widened))
        for shown in environments_showing(services, key):
            graph = stored_graph(shown.snapshots, services.models)
            found |= dict.fromkeys(_views_over(graph, key.model, widened))
        if found:
            yield change.name, [str(each) for each in found]


def _views_over(graph: Graph, name: ModelName, columns: Set[str]) -> Iterator[ModelName]:
    """The VIEWs that may read one of these columns, or read the model by way of embedded ones."""
    for node in graph:
        if node.model.kind.is_view and name in stored_parents(graph, node.name):
            reads = {each.column for each in reads_of(node) if each.model == name}
            if not reads or not reads.isdisjoint({*columns, EVERY}):
                yield node.name


def _is_exact(node: Node, column: str) -> bool:
    """Whether a column's type is known: it is declared, or the model is not a query."""
    if not isinstance(node.model.body, Query):
        return True
    return node.model.declares(column)


def _is_ours(services: Services, binding: Binding, key: VersionKey) -> bool:
    """Whether the environment may change the table (rule R9)."""
    return may_write(binding.environment, services.state.owners([key]).get(key))


def _evolve(
    services: Services, binding: Binding, key: VersionKey, changes: Sequence[InPlace]
) -> None:
    table = services.catalog.table(key.table)
    if table is None or not _is_ours(services, binding, key):
        return
    present = {each.name.lower(): each.type for each in table.columns}
    wider = {
        each.column.lower(): each.after
        for each in changes
        if isinstance(each, ColumnWidened)
        and each.column.lower() in present
        and not holds(present[each.column.lower()], each.after)
    }

    def widen(number: int) -> None:
        views = list(_widened_views(services, key, wider))
        services.catalog.swap_views(views, (), number=number)

    what = f"a change of columns in {binding.environment}"
    with services.lease(version_resource(key), what) as lease:
        if wider:
            numbered(services, widen, lease)
        services.catalog.evolve(key.table, changes)
        if wider:  # for views that others made in between
            numbered(services, widen, lease)


def _widened_views(
    services: Services, key: VersionKey, wider: Mapping[str, str]
) -> Iterator[ViewDefinition]:
    """The views of all environments that show a version, to be read while it is widened.

    They have the types that it will have, and no fields of structs that they do not show yet.
    """
    for shown in environments_showing(services, key):
        name = environment_view(key.model, shown.name, shown_naming(services, shown))
        view = services.catalog.view(name)
        if view is not None and view.target == key.table:
            columns = tuple(
                replace(each, type=grown(each.type, wider[each.name.lower()], adds=False))
                if each.name.lower() in wider
                else each
                for each in view.columns
            )
            adds = any(
                not holds(each.type, wider.get(each.name.lower(), each.type)) for each in columns
            )
            yield replace(view, columns=columns, by_field=adds)


def _analysed_columns(services: Services, binding: Binding, node: Node) -> tuple[Column, ...]:
    """The columns that a query returns, by analysis; none if an input does not exist yet."""
    try:
        rows, inputs = analysed(services, binding, node)
        return services.engine.columns_of(rows, inputs)
    except (Refused, EvaluationFailed):
        return ()  # then the next evaluation adds them
