"""A project whose production was planned and loaded, without an engine: only the state is written.

Run as a script: `python -m benchmarks.filled FOLDER`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, LongType, NestedField, TimestamptzType
from sqlalchemy import text

from tests.long_history import lengthen
from vde_dagster.app.binding import bind_environment
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.publish.shown_views import show
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.remembered_looks import remember_looks
from vde_dagster.composition import VdeProject
from vde_dagster.core.graph.graph import Node, sources
from vde_dagster.core.graph.render_model import reads_of, tables_read
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import LedgerChange, LedgerOperation, Trace
from vde_dagster.core.ledger.traces import (
    LedgerTokens,
    OneToken,
    Tokens,
    recipe,
    source_token,
    traces,
)
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.writes import ReplaceTable
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import environment_resource, version_resource
from vde_dagster.state.database import open_engine

HOUR = timedelta(hours=1)
ROWS = RowSum(rows=1, sum=1)
TYPES: Final[dict[str, IcebergType]] = {"bigint": LongType(), "timestamp": TimestamptzType()}


def fill(folder: Path, environment: str = "prod", *, older: int = 0) -> None:
    """Store what applying the plan of an environment would store, with tables of no rows.

    The first ``older`` intervals of each model are copied by the database, each with a unit of work
    of its own; the models' units are hours then. Each table has one Iceberg snapshot.
    """
    project = VdeProject.load(folder)
    services, graph = project.services, project.files.graph
    _make_sources(project)
    plan = plan_environment(services, graph, environment)
    snapshots = list(plan.snapshots.values())
    services.state.store_snapshots(snapshots, environment=environment)
    for change in plan.backfills:
        key = plan.snapshots[change.name].key
        head = _make_table(project, key, graph[change.name])
        for part in _parts(change.missing, older):
            _book(services, plan, graph[change.name], part, head=head)
    lease = services.state.acquire_lease(
        environment_resource(environment), holder="bench", ttl=HOUR
    )
    services.state.begin_promotion(
        environment, expected_revision=0, plan_id=plan.plan_id, snapshots=snapshots, lease=lease
    )
    services.state.finish_promotion(environment, plan_id=plan.plan_id)
    services.state.release_lease(lease)
    binding = bind_environment(services, environment)
    assert binding is not None, "it was promoted"
    remember_looks(services, binding)
    if older:
        _lengthen(project, older)
    show(services, environment, [each.name for each in plan.backfills])
    again = plan_environment(services, graph, environment)
    assert again.is_up_to_date, "nothing is left to be done"


def _lengthen(project: VdeProject, older: int) -> None:
    settings = project.configuration
    url = settings.state_url.reveal() if settings.state_url else f"sqlite:///{settings.database}"
    engine = open_engine(url)
    with engine.begin() as connection:
        lengthen(connection, older)
        if engine.dialect.name == "postgresql":  # which its server does by itself, some time
            connection.execute(text("ANALYZE"))
    engine.dispose()


def _parts(missing: tuple[Interval, ...], older: int) -> Iterator[tuple[Interval, ...]]:
    """What is recorded one after the other: all at once, or the first hour apart from the rest."""
    if not older:
        yield missing
        return
    (whole,) = missing
    first = whole.start + older * HOUR
    yield (Interval(first, first + HOUR),)
    yield (Interval(first + HOUR, whole.end),)


def _make_sources(project: VdeProject) -> None:
    """Empty tables of the sources' columns."""
    catalog = project.iceberg_catalog()
    for name in sources(project.files.graph):
        columns = project.files.graph[name].columns
        fields = [
            NestedField(number, each.name, TYPES[each.type], required=False)
            for number, each in enumerate(columns, 1)
        ]
        catalog.create_namespace_if_not_exists(name.schema)
        catalog.create_table_if_not_exists(f"{name.schema}.{name.name}", Schema(*fields))


def _make_table(project: VdeProject, key: VersionKey, node: Node) -> int:
    """The table of a version without rows; the number of its one Iceberg snapshot."""
    catalog = project.iceberg_catalog()
    catalog.create_namespace_if_not_exists(key.table.namespace)
    fields = [
        NestedField(number, each.name, TYPES[each.type], required=False)
        for number, each in enumerate(node.columns, 1)
    ]
    table = catalog.create_table(f"{key.table.namespace}.{key.table.name}", Schema(*fields))
    table.append(table.schema().as_arrow().empty_table())
    made = table.current_snapshot()
    assert made is not None, "it was appended to"
    return made.snapshot_id


def _book(
    services: Services, plan: Plan, node: Node, missing: tuple[Interval, ...], *, head: int
) -> None:
    """One unit of work that wrote all intervals, each by itself where the model has them."""
    key = plan.snapshots[node.name].key
    timed = node.model.time_column is not None
    intervals = (
        tuple(cell for each in missing for cell in node.model.unit.cells(each))
        if timed
        else missing
    )
    known = _traces(services, plan, node, intervals)
    lease = services.state.acquire_lease(version_resource(key), holder="bench", ttl=HOUR)
    work_id = services.ids.new()
    intent = Intent(
        work_id=work_id,
        key=key,
        environment=plan.environment,
        intervals=missing,
        inputs={},
        base=None,
        execution_time=services.clock.now(),
    )
    changes = tuple(
        LedgerChange(operation=LedgerOperation.REPLACE, interval=each, rows=ROWS, trace=known[each])
        for each in intervals
    )
    publication = Publication(iceberg_snapshot_id=head, changes=changes, columns=node.columns)
    services.state.record_intent(intent, lease=lease)
    services.state.record_staged(work_id, publication, lease=lease)
    services.state.finalize(work_id, lease=lease)
    services.state.release_lease(lease)


def _traces(
    services: Services, plan: Plan, node: Node, intervals: Sequence[Interval]
) -> dict[Interval, Trace]:
    """The traces with which these intervals would be computed now."""
    tokens: dict[ModelName, Tokens] = {}
    for name in tables_read(plan.graph, node):
        table = services.source(name)
        if table is not None:
            token = source_token(table.uuid, table.columns, table.iceberg_snapshot_id)
            tokens[name] = OneToken(token)
        else:
            key = plan.snapshots[name].key
            tokens[name] = LedgerTokens(services.state.ledger([key]).get(key, ()))
    read = reads_of(plan.graph, node.name)
    write = node.write(intervals[0], services.clock.now())
    algorithm = services.algorithm if isinstance(write, ReplaceTable) else ""
    made_of = recipe(plan.graph, node.name, algorithm=algorithm)
    return traces(made_of, read, tokens, intervals)


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
