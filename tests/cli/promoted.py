"""Environments that show a project's files, put in the state without computing anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from vde_dagster.app.inputs.staying import stale_looks
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.composition import VdeProject
from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import LedgerChange, LedgerOperation
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName, environment_view
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.ports.state import Lease


def promote(
    folder: Path, environment: str = "prod", *, loaded: bool = False, row: int | None = None
) -> None:
    """Let an environment show the files as they are.

    Args:
        folder: The project.
        environment: Its name.
        loaded: Whether the versions hold all that is due. The ledger says so; there are no rows,
            and something is there in place of tables and views, with the recorded commits.
        row: The one value that stands in each table; None for no rows.
    """
    project = VdeProject.load(folder)
    services = project.services
    plan = plan_environment(services, project.files.graph, environment)
    snapshots = tuple(plan.snapshots.values())
    services.state.store_snapshots(snapshots, environment=environment)
    lease = services.state.acquire_lease("test", holder="test", ttl=timedelta(minutes=1))
    if loaded:
        stand(project, plan.graph, plan.snapshots, environment)
        _hold(project, plan, row)
    services.state.begin_promotion(
        environment,
        expected_revision=plan.base_revision,
        plan_id=plan.plan_id,
        snapshots=snapshots,
        lease=lease,
    )
    services.state.finish_promotion(environment, plan_id=plan.plan_id)
    services.state.release_lease(lease)
    if loaded:
        _look(services, plan)


def _look(services: Services, plan: Plan) -> None:
    """Record that all that is loaded is fresh, as it is after a plan that was applied."""
    keys = {name: each.key for name, each in plan.snapshots.items()}
    holds = services.state.holdings(keys.values())
    looks = stale_looks(services, plan.graph, plan.snapshots, holds)
    services.state.record_looks(
        {key: looks.seen(name) for name, key in keys.items() if key in holds}
    )


def _hold(project: VdeProject, plan: Plan, row: int | None) -> None:
    """Record all that a plan would compute, as empty rows of one commit to each table."""
    services = project.services
    for change in plan.backfills:
        cells = _cells(plan.graph[change.name].model, change.missing)
        snapshot = plan.snapshots[change.name]
        publication = Publication(
            iceberg_snapshot_id=_committed(project, snapshot, row),
            changes=tuple(
                LedgerChange(operation=LedgerOperation.REPLACE, interval=each, rows=RowSum())
                for each in cells
            ),
            columns=(),
        )
        with begun(services, snapshot.key, cells, environment=plan.environment) as (work_id, lease):
            services.state.record_staged(work_id, publication, lease=lease)
            services.state.finalize(work_id, lease=lease)


@contextmanager
def begun(
    services: Services, key: VersionKey, intervals: tuple[Interval, ...] = (), **more: Any
) -> Iterator[tuple[str, Lease]]:
    """A unit of work whose intent is recorded, with the lease that it is done under."""
    lease = services.state.acquire_lease("work", holder="test", ttl=timedelta(minutes=1))
    intent = Intent(
        work_id=services.ids.new(),
        key=key,
        environment="prod",
        intervals=intervals,
        inputs={},
        base=None,
        execution_time=services.clock.now(),
    )
    services.state.record_intent(replace(intent, **more), lease=lease)
    yield intent.work_id, lease
    services.state.release_lease(lease)


def _committed(project: VdeProject, snapshot: ModelSnapshot, row: int | None) -> int | None:
    """The Iceberg snapshot of a commit to a version's table; None for one without a table."""
    name = snapshot.key.table
    if not project.iceberg_catalog().table_exists((name.namespace, name.name)):
        return None
    table = project.iceberg_catalog().load_table((name.namespace, name.name))
    values = [] if row is None else [row]
    table.append(pa.table({"x": pa.array(values, pa.int32())}))
    return table.metadata.current_snapshot_id


def stand(
    project: VdeProject,
    graph: Graph,
    snapshots: Mapping[ModelName, ModelSnapshot],
    environment: str = "",
) -> None:
    """Put something at the names of physical tables and views, and of an environment's views.

    A plan looks whether they are there, and creates missing views again.
    """
    catalog = project.iceberg_catalog()
    views: list[ViewDefinition] = []
    for name, snapshot in snapshots.items():
        if not graph[name].model.kind.is_physical:
            continue
        table = snapshot.key.table
        catalog.create_namespace_if_not_exists(table.namespace)
        catalog.create_table_if_not_exists((table.namespace, table.name), _SOMETHING)
        if environment:
            view = environment_view(name, environment, project.services.naming)
            columns = (Column(name="x", type="int"),)
            views.append(ViewDefinition(name=view, target=table, columns=columns))
    project.services.catalog.swap_views(views, [])


_SOMETHING: Final = Schema(NestedField(1, "x", IntegerType()))


def _cells(model: Model, ranges: tuple[Interval, ...]) -> tuple[Interval, ...]:
    if not model.kind.is_by_interval:
        return ranges
    return tuple(cell for each in ranges for cell in model.unit.cells(each))


def edit(path: Path, old: str, new: str) -> None:
    """Edit a file of a project."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
