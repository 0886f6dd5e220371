"""MANAGED: a table that the platform keeps fresh, sentence by sentence."""

from __future__ import annotations

from tests.kinds.sentences.projects import graph_of, instant, plan_of, read, refusal
from vde_dagster import kinds
from vde_dagster.core.kind import Managed
from vde_dagster.core.names import ModelName
from vde_dagster.kinds.rules import ALWAYS

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


def test_a_python_model_cannot_be_one() -> None:
    text = (
        "from vde_dagster import model\n"
        "@model('m.x', columns={'a': 'int'}, kind='MANAGED')\n"
        "def x(context): ..."
    )
    assert refusal(text) == "a Python model cannot be of kind MANAGED"


def test_once_it_is_made_nothing_is_ever_due() -> None:
    model = read(EXAMPLE)
    assert kinds.of(model).missing(model, (), instant("2024-01-04")) == (ALWAYS,)
    for now in ("2024-01-04", "2030-01-01"):
        assert kinds.of(model).missing(model, (ALWAYS,), instant(now)) == ()


def test_physical_properties_say_how_it_is_kept_fresh() -> None:
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
