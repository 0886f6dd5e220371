"""MANAGED: a table that the platform keeps fresh, sentence by sentence."""

from __future__ import annotations

from tests.app.memory_world import MemoryWorld
from tests.kinds.sentences.projects import graph_of, instant, plan_of, read, refusal, span
from tests.worlds.tables import Table
from vde_dagster.app.apply.storing import store_plan
from vde_dagster.app.binding import bind_plan
from vde_dagster.app.leases import leased
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import LedgerChange, LedgerOperation
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.kinds import Managed
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import ALWAYS
from vde_dagster.ports.state import version_resource

EXAMPLE = """MODEL (
  name db.events,
  kind MANAGED,
  physical_properties (
    warehouse = 'default',
    target_lag = '2 minutes',
    data_retention_time_in_days = 2
  )
);
SELECT id, event_date FROM raw.rows
"""
NAME = ModelName("db", "events")
COPY = "MODEL (name db.copy, kind FULL, start '2024-01-01'); SELECT id FROM raw.events"


def test_a_python_model_cannot_be_one() -> None:
    text = (
        "from vde_dagster import model\n"
        "@model('m.x', columns={'a': 'int'}, kind='MANAGED')\n"
        "def x(context): ..."
    )
    assert refusal(text) == "a Python model cannot be of kind MANAGED"


def test_once_it_is_made_no_cron_makes_it_due() -> None:
    world, graph = MemoryWorld(), graph_of(EXAMPLE, COPY)
    world.land((1, 5), until=24)
    first = plan_of(graph, world=world)
    assert {each.name: each.missing for each in first.backfills} == {
        NAME: (ALWAYS,),
        ModelName("db", "copy"): (span("2024-01-01", "2024-01-02"),),
    }
    _make(world, first)
    for day in (2, 3, 400):
        world.land((24 * day - 1, 5), until=24 * day)
        missing = {each.name.name: each.missing for each in plan_of(graph, world=world).changes}
        assert (missing["events"], bool(missing["copy"])) == ((), True)


def _make(world: MemoryWorld, made: Plan) -> None:
    """Record what a platform that makes the table would have done, and have it there."""
    services, key = world.services(), bind_plan(made).key(NAME)
    store_plan(services, made)
    with leased(services.state, version_resource(key), holder="a platform") as lease:
        intent = Intent(
            work_id="made",
            key=key,
            environment=made.environment,
            intervals=(ALWAYS,),
            inputs={},
            base=None,
            execution_time=instant("2024-01-02"),
        )
        services.state.record_intent(intent, lease=lease)
        whole = LedgerChange(operation=LedgerOperation.REPLACE_ALL, interval=ALWAYS, rows=RowSum())
        publication = Publication(
            iceberg_snapshot_id=None, changes=(whole,), columns=made.graph[NAME].columns
        )
        services.state.record_staged("made", publication, lease=lease)
        services.state.finalize("made", lease=lease)
    columns = made.graph[NAME].columns
    world.catalog.tables[key.table] = Table(columns=columns, properties={}, partition_by=None)


def test_physical_properties_are_read_whatever_their_names() -> None:
    assert read(EXAMPLE).kind == Managed()
    assert dict(read(EXAMPLE).storage.properties) == {
        "warehouse": "default",
        "target_lag": "2 minutes",
        "data_retention_time_in_days": "2",
    }


def test_it_has_a_version_which_every_environment_may_share() -> None:
    graph = graph_of(EXAMPLE)
    versions = {plan_of(graph, each).snapshots[NAME].version for each in ("prod", "dev")}
    assert versions == {graph[NAME].fingerprint.data_version}
