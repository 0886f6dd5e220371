"""Audits of what a version holds, by the rows that were landed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from tests.app.memory_world import MemoryWorld, bound, graph_of, hour_of
from vde_dagster.app.inspect.held_audits import HeldAudits, audit_held
from vde_dagster.app.inspect.local_answers import LocalAnswer, answer_locally
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckDbQueries

NAME = ModelName("mart", "kept")
TEXT = """
MODEL (name mart.kept, kind {kind}, cron '@daily', audits (
  accepted_range_non_blocking (column := amount, max_v := 15),
  not_null (columns := (id, amount)),
  unique_values_non_blocking (columns := (day,)){more}
));
SELECT id AS id, CAST(at AS DATE) AS day, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
DAILY = TEXT.format(kind="INCREMENTAL_BY_TIME_RANGE (time_column day)", more="")
FIRST = Interval(hour_of(0), hour_of(24))
SECOND = Interval(hour_of(24), hour_of(48))


def held(text: str = DAILY) -> MemoryWorld:
    """Three rows on the first day, of which two are above 15, and two on the second."""
    world = MemoryWorld.landed((1, 20), (2, 30), (3, 1), (25, 40), (26, 2), until=48)
    world.build(graph_of({"kept": text}))
    return world


def audited(
    world: MemoryWorld, interval: Interval | None = None, limit: int = 10
) -> tuple[HeldAudits, set[str]]:
    services = world.services()
    engines: set[str] = set()

    def ask(
        sql: str, read: Collection[TableName], most: int
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        del read
        local = DuckDbQueries()
        found = answer_locally(services, local, sql, catalog="lake", views={}, limit=most, whole={})
        if isinstance(found, LocalAnswer):
            engines.add("duckdb")
            return found.columns, found.rows
        engines.add("engine")
        columns, rows = services.engine.fetch(sql, limit=most)
        return columns, [tuple(each) for each in rows]

    return audit_held(services, ask, bound(services), NAME, interval, limit=limit), engines


def counts(found: HeldAudits) -> dict[str, int]:
    return {each.name: each.failing for each in found.results}


@pytest.mark.full
def test_every_audit_sees_all_rows_that_are_held() -> None:
    found, engines = audited(held())
    assert counts(found) == {
        "accepted_range_non_blocking": 3,
        "not_null": 0,
        "unique_values_non_blocking": 5,
    }
    assert (found.stops, found.interval) == (False, Interval(FIRST.start, SECOND.end))
    assert "duckdb" in engines


def test_only_rows_of_the_given_time_are_audited() -> None:
    found, _ = audited(held(), interval=SECOND)
    assert counts(found)["accepted_range_non_blocking"] == 1
    (bad,) = found.results[0].sample
    assert dict(zip(found.results[0].columns, bad, strict=True))["amount"] == 40


@pytest.mark.full
def test_a_blocking_audit_that_would_refuse_these_rows_stops() -> None:
    world = held()
    stricter = DAILY.replace("accepted_range_non_blocking", "accepted_range")
    world.build(graph_of({"kept": stricter}))  # audits change no version
    found, _ = audited(world)
    assert found.results[0].blocking
    assert found.stops


@pytest.mark.full
def test_nothing_is_written() -> None:
    world = held()

    def recorded() -> list[object]:
        services = world.services()
        key = world.bound().key(NAME)
        return [*services.state.audited(key, limit=9), services.state.holdings([key])]

    before = recorded()
    audited(world)
    assert recorded() == before


def test_what_is_not_loaded_has_no_rows_to_audit() -> None:
    world = MemoryWorld()
    world.build(graph_of({"kept": DAILY}))
    with pytest.raises(Refused, match="is not loaded yet"):
        audited(world)


def test_rows_that_belong_to_no_time_are_not_restricted() -> None:
    with pytest.raises(Refused, match="do not belong to intervals"):
        audited(held(TEXT.format(kind="FULL", more="")), FIRST)
