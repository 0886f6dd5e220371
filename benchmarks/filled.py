"""A project whose production was planned and filled, without an engine: only the state is written.

Run as a script: `python -m benchmarks.filled FOLDER`.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from vde_dagster.app.leases import environment_resource
from vde_dagster.app.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.app.world import VdeProject
from vde_dagster.core.dsha import RowSum
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval
from vde_dagster.core.ledger import LedgerChange, LedgerOperation
from vde_dagster.core.names import environment_view
from vde_dagster.core.plan import Plan
from vde_dagster.core.work import Intent, Publication
from vde_dagster.ports.state import version_resource

HOUR = timedelta(hours=1)
ROWS = RowSum(rows=1, sum=1)


def fill(folder: Path) -> None:
    """Store what applying the plan of production would store."""
    project = VdeProject.load(folder)
    services, graph = project.services, project.files.graph
    plan = plan_environment(services, graph, "prod")
    snapshots = list(plan.snapshots.values())
    services.state.store_snapshots(snapshots, environment="prod")
    for change in plan.backfills:
        _book(services, plan, graph[change.name], change.missing)
    lease = services.state.acquire_lease(environment_resource("prod"), holder="bench", ttl=HOUR)
    services.state.begin_promotion(
        "prod", expected_revision=0, plan_id=plan.plan_id, snapshots=snapshots, lease=lease
    )
    services.state.finish_promotion("prod", plan_id=plan.plan_id)
    services.state.release_lease(lease)
    _list_tables(project, plan)
    again = plan_environment(services, graph, "prod")
    assert again.is_up_to_date, "nothing is left to be done"


def _list_tables(project: VdeProject, plan: Plan) -> None:
    """The names of all tables and views in the catalog. A plan opens none of their files."""
    catalog, naming = project.configuration.catalog.name, project.configuration.naming
    tables = [(plan.snapshots[each.name].key.table, "TABLE") for each in plan.backfills]
    views = [(environment_view(each.name, "prod", naming), "VIEW") for each in plan.backfills]
    rows = [(catalog, name.namespace, name.name, kind) for name, kind in (*tables, *views)]
    with closing(sqlite3.connect(project.configuration.database)) as connection, connection:
        connection.executemany(
            "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, iceberg_type, "
            "metadata_location) VALUES (?, ?, ?, ?, '')",
            rows,
        )


def _book(services: Services, plan: Plan, node: Node, missing: tuple[Interval, ...]) -> None:
    """One unit of work that wrote all intervals, each by itself where the model has them."""
    key = plan.snapshots[node.name].key
    timed = node.model.time_column is not None
    intervals = (
        tuple(cell for each in missing for cell in node.model.unit.cells(each))
        if timed
        else missing
    )
    lease = services.state.acquire_lease(version_resource(key), holder="bench", ttl=HOUR)
    work_id = services.ids.new()
    intent = Intent(
        work_id=work_id,
        key=key,
        environment="prod",
        intervals=missing,
        inputs={},
        base=None,
        execution_time=services.clock.now(),
    )
    changes = tuple(
        LedgerChange(operation=LedgerOperation.REPLACE, interval=each, rows=ROWS)
        for each in intervals
    )
    publication = Publication(iceberg_snapshot_id=1, changes=changes, columns=node.columns)
    services.state.record_intent(intent, lease=lease)
    services.state.record_staged(work_id, publication, lease=lease)
    services.state.finalize(work_id, lease=lease)
    services.state.release_lease(lease)


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
