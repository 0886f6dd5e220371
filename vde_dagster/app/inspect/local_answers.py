"""Queries on an environment that need no engine: rows are read by the catalog and kept in memory.

The views are those of one promotion, and each table is read at the Iceberg snapshot that it had
when it was looked up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.publish.shown_views import views_of
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import shown_naming
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, EvaluationFailed
from vde_dagster.core.ledger.stored_types import same_type, shown_as
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.duckdb.constructs import NotTheSame
from vde_dagster.core.sql.duckdb.translating import DuckQuery, LeftToSpark, ViewQuery, in_duckdb
from vde_dagster.ports.catalog import TableState, ViewDefinition
from vde_dagster.ports.engine import ArrowRows, LocalQueries, TableRows
from vde_dagster.ports.state import Environment

MOST_BYTES: Final = 2**28
"""So much of files is read for a query: they may be ten times as large in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAnswer:
    """A query's columns and rows."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table at one moment, with the columns that are shown of it."""

    state: TableState
    columns: tuple[Column, ...]


class _Look:
    """What the names of a query stand for, each looked up once."""

    def __init__(self, services: Services, shown: Mapping[TableName, ViewDefinition]) -> None:
        self.tables: dict[ModelName, _Table] = {}
        self._services = services
        self._shown = shown

    def named(self, name: ModelName, view: TableName | None) -> Sequence[Column] | ViewQuery:
        """What a name stands for: a table, or a view's query.

        Raises:
            NotTheSame: It is not known to be read as Spark reads it.
        """
        if name in self.tables:
            return self.tables[name].columns
        shown = self._shown.get(view) if view is not None else None
        if view is not None and shown is None:
            raise NotTheSame(f"the view {view}, which cannot be read or was not created by vde")
        table = TableName(name.schema, name.name, name.catalog) if shown is None else shown.target
        state = self._services.catalog.table(table)
        if state is None:
            query = self._services.catalog.view_query(table)
            if query is None:
                raise NotTheSame(f"{name}, which is not a table of the catalog")
            return ViewQuery(sql=query[0], columns=query[1])
        columns = state.columns if shown is None else shown.columns
        stored = {each.name: each.type for each in state.columns}
        if any(stored.get(each.name) != each.type for each in columns):
            raise NotTheSame(f"{name}, whose columns have changed since its view was created")
        if shown is not None and shown.visible:
            return ViewQuery(sql=_visible_rows(shown), columns=tuple(columns))
        self.tables[name] = _Table(state=state, columns=columns)
        return columns


def _visible_rows(view: ViewDefinition) -> str:
    """What a view selects that does not show all rows of its table, in Spark's SQL."""
    table = view.target
    whole = exp.table_(table.name, db=table.namespace, catalog=table.catalog, quoted=True)
    names = (exp.column(each.name, quoted=True) for each in view.columns)
    return exp.select(*names).from_(whole).where(view.visible, dialect="spark").sql("spark")


def answer_locally(
    services: Services,
    local: LocalQueries,
    sql: str,
    *,
    catalog: str,
    views: Mapping[ModelName, TableName],
    limit: int,
    whole: Mapping[TableName, ViewDefinition],
) -> LocalAnswer | LeftToSpark:
    """The rows of a query, if it is certain that they are those that Spark would give.

    Args:
        services: The ports.
        local: Where it is answered.
        sql: A SELECT over models in Spark's dialect.
        catalog: The project's own.
        views: The view of each model that the environment shows.
        limit: At most how many rows.
        whole: Those of them that are read, all of one promotion.
    """
    look = _Look(services, whole)
    query = in_duckdb(sql, catalog=catalog, tables=lambda name: look.named(name, views.get(name)))
    if isinstance(query, LeftToSpark):
        return query
    tables = look.tables
    heavy = _too_heavy(services, [tables[name] for name in query.reads])
    if heavy is not None:
        return heavy
    try:
        rows = {name: _rows(services, tables[name], query, name) for name in query.reads}
        found = local.answer(query, rows, limit=limit)
    except EvaluationFailed as error:
        return LeftToSpark(reason=error.message)
    return LocalAnswer(columns=tuple(each.name for each in query.columns), rows=found)


def _too_heavy(services: Services, tables: Sequence[_Table]) -> LeftToSpark | None:
    size = 0
    for each in tables:
        weight = services.catalog.weight(each.state.name, each.state.iceberg_snapshot_id)
        if weight is None:
            name = each.state.name
            return LeftToSpark(
                reason=f"{name} has deleted rows or changed columns, which only Spark reads"
            )
        size += weight
    if size > MOST_BYTES:
        return LeftToSpark(reason=f"its tables have {size / 2**20:,.0f} MiB of files")
    return None


def _rows(services: Services, table: _Table, query: DuckQuery, name: ModelName) -> ArrowRows:
    """The columns that are read; one, where only rows are counted."""
    state = table.state
    columns = query.reads[name] or table.columns[:1]
    return services.catalog.read(
        TableRows(
            table=state.name,
            iceberg_snapshot_id=state.iceberg_snapshot_id,
            columns=tuple(each.name for each in columns),
        )
    )


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

    The former is never another revision's, and has all rows: who reads it leaves those out that are
    not ``visible``. The latter is needed where the view leaves columns of a table out, or has wider
    ones, as which they are computed with. Wider ones of the table are no difference: it was widened
    when nothing had to be computed, and its views were before it. A physical view has none that are
    not shown.

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
        f"the environment is being promoted right now, and {view.name} cannot be read as before",
        advice="Run the same command again when the promotion has finished.",
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
