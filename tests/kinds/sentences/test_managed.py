"""MANAGED: a table that the platform keeps fresh, sentence by sentence."""

from __future__ import annotations

from tests.kinds.sentences.projects import graph_of, plan_of, read
from vde_dagster.core.model.kinds import Managed
from vde_dagster.core.names import ModelName

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
