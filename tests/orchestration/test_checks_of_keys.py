"""The asset checks of a keyed model say whether each file of its feed is loaded, in memory."""

from __future__ import annotations

import pytest

from tests.app.memory_world import RAW, START, MemoryWorld, bound, graph_of, hour_of, made_once
from vde_dagster.app.inspect.status import EnvironmentStatus, LateRows
from vde_dagster.app.plan.fillers import Filler
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.orchestration.reporting.status_checks import (
    StatusCheck,
    found_in,
    found_of_environment,
)

NAME = ModelName("a", "current")
KEYED = "INCREMENTAL_BY_UNIQUE_KEY (unique_key thing, sequence_by (at, id), delete_when amount = 0)"
HISTORY = "SCD_TYPE_2_BY_TIME (unique_key thing, sequence_by (at, id), delete_when amount = 0)"
BOUNDED = "WHERE at BETWEEN @start_dt AND @end_dt"
FRESH = "No input has changed since it was computed."

by_kind = pytest.mark.parametrize("kind", [KEYED, HISTORY, "INCREMENTAL_UNMANAGED"])
by_query = pytest.mark.parametrize("where", ["", BOUNDED], ids=["all", "bounded"])


@made_once
def loaded(kind: str, where: str) -> MemoryWorld:
    """Two hours that are loaded."""
    world = MemoryWorld.landed((0.2, 10), (1.5, 0), until=2)
    text = (
        f"MODEL (name a.current, kind {kind}, cron '@hourly', late_data (mode stateless, sources "
        f"(raw.events))); SELECT id % 3 AS thing, id, at, amount FROM raw.events {where}"
    )
    world.build(graph_of({"current": text}))
    return world


def found(world: MemoryWorld, check: StatusCheck) -> tuple[bool, str]:
    services = world.services()
    (each,) = found_in(services, bound(services), {(NAME, check)})
    return each.passed, each.text


@by_kind
@by_query
def test_a_file_that_no_session_has_loaded_fails_until_one_has(kind: str, where: str) -> None:
    world = loaded(kind, where)
    assert found(world, StatusCheck.STALE) == (True, FRESH)
    world.land((1.1, 70), until=2)
    passed, text = found(world, StatusCheck.STALE)
    assert not passed
    start = "2024-01-01 01:00" if where else "2024-01-01"
    assert text == (
        f"Intervals from {start} on are stale: late rows of raw.events have arrived since its "
        "high-water mark; `vde run prod` computes them"
    )
    world.catch_up(NAME)
    assert found(world, StatusCheck.STALE) == (True, FRESH)
    assert found(world, StatusCheck.MISSING) == (True, "Nothing is missing.")


@by_kind
@by_query
def test_a_file_of_what_became_due_is_missing_until_it_is_loaded(kind: str, where: str) -> None:
    world = loaded(kind, where)
    world.land((2.5, 70), until=3)
    passed, text = found(world, StatusCheck.MISSING)
    assert (passed, text.partition(":")[0]) == (False, "Intervals due from 2024-01-01 02")
    world.catch_up(NAME)
    for check in (StatusCheck.MISSING, StatusCheck.STALE):
        assert found(world, check)[0], check


@pytest.mark.parametrize("is_shown", [True, False], ids=["shown", "not shown"])
def test_late_rows_beyond_the_threshold_are_loaded_where_their_model_is_shown(
    is_shown: bool,
) -> None:
    hour = Interval(hour_of(1), hour_of(2))
    left = Pending(interval=hour, sources=(), reason=PendingReason.BEYOND_THRESHOLD)
    filler = Filler(environment="prod", shows=is_shown)
    status = EnvironmentStatus(
        environment="qa", at=START, now=START, looked_at=1, models=(), dropped_views=()
    )
    late = {NAME: LateRows(name=NAME, owner="prod", filler=filler, pending=(left,))}
    (stale,) = [
        each
        for each in found_of_environment(status, [NAME], late)
        if each.check is StatusCheck.STALE
    ]
    assert left.reason.text in stale.text
    assert ("`vde run prod --restate-model a.current" in stale.text) == is_shown


@by_kind
def test_what_was_done_to_the_feed_is_named(kind: str) -> None:
    world = loaded(kind, "")
    world.land((1.1, 70), until=2)
    world.catalog.compact(RAW)
    assert "late rows of raw.events" in found(world, StatusCheck.STALE)[1]
    world.catalog.expire(RAW)
    passed, text = found(world, StatusCheck.STALE)
    assert not passed
    assert "history since the last load has been expired" in text
