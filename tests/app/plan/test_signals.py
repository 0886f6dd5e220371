"""Signals in plans: what they hold back is not evaluated, nor is what would read it."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path

import pytest

from tests.app.memory_world import (
    DEFAULTS,
    RAW_COLUMNS,
    SOURCE,
    TOTALS,
    MemoryWorld,
    declared_source,
    hour_of,
)
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.inspect.interval_report import report_intervals
from vde_dagster.core.errors import EvaluationFailed, Refused
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval
from vde_dagster.project.model_files import read_model

EVENTS_NAME = ModelName("staging", "events")
EVENTS = """
MODEL (
  name staging.events,
  kind INCREMENTAL_BY_TIME_RANGE (time_column at, lookback {lookback}),
  cron '@hourly',
  signals ({signals})
);
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
DAILY = """
MODEL (name mart.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM staging.events
WHERE at BETWEEN @start_dt AND @end_dt
GROUP BY CAST(at AS DATE)
"""
CODE = """
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from vde_dagster import signal

@signal()
def until(batch, hours, log=None):
    if log is not None:
        asked = [[start.isoformat(), end.isoformat()] for start, end in batch]
        with Path(log).open("a") as file:
            file.write(json.dumps(asked) + "\\n")
    limit = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
    return [(start, end) for start, end in batch if end <= limit]

@signal()
def all_but(batch, hour):
    return [(start, end) for start, end in batch if start.hour != hour]

@signal()
def never(batch):
    return False

@signal()
def broken(batch):
    raise ConnectionError("the landing zone does not answer")
"""


def graph_with(*texts: str) -> Graph:
    """The models of these texts over the one source, together with the file of signals."""
    source = declared_source(SOURCE, RAW_COLUMNS)
    written = [
        ModelSource(
            path=Path(f"models/m{number}.sql"),
            text=text,
            defaults=DEFAULTS.as_texts(),
            attachments={"signals/s.py": CODE},
        )
        for number, text in enumerate(texts)
    ]
    return build_graph(read_model(each) for each in (source, *written))


def events(signals: str, *, lookback: int = 0) -> str:
    return EVENTS.format(signals=signals, lookback=lookback)


def missing(planned: Plan) -> dict[str, list[tuple[datetime, datetime]]]:
    return {
        str(change.name): [(each.start, each.end) for each in change.missing]
        for change in planned.backfills
    }


def hours(start: float, end: float) -> tuple[datetime, datetime]:
    return hour_of(start), hour_of(end)


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld.landed((1, 10), (2.5, 20), (30, 5), (31, -4), until=48)


@pytest.mark.full
def test_units_that_a_signal_holds_back_and_their_readers_are_no_part_of_a_plan(
    world: MemoryWorld,
) -> None:
    graph = graph_with(events("until (hours := 40)"), DAILY)
    assert missing(world.plan(graph)) == {
        "staging.events": [hours(0, 40)],
        "mart.daily": [hours(0, 24)],
    }
    world.build(graph)
    assert world.rows("mart.daily") == [(date(2024, 1, 1), 30)]
    assert world.plan(graph).is_empty


def test_a_hole_is_evaluated_around_and_its_day_waits(world: MemoryWorld) -> None:
    graph = graph_with(events("all_but (hour := 6)"), DAILY)
    assert missing(world.plan(graph)) == {
        "staging.events": [hours(0, 6), hours(7, 30), hours(31, 48)]
    }


@pytest.mark.full
def test_signals_are_asked_for_what_is_missing_and_for_nothing_else(
    world: MemoryWorld, tmp_path: Path
) -> None:
    log = tmp_path / "asked"
    log.touch()

    def asked() -> list[tuple[datetime, datetime]]:
        batches = [json.loads(line) for line in log.read_text().splitlines()]
        log.write_text("")
        return [
            (datetime.fromisoformat(batch[0][0]), datetime.fromisoformat(batch[-1][1]))
            for batch in batches
        ]

    graph = graph_with(events(f"until (hours := 400, log := '{log}')", lookback=3), DAILY)
    first = world.plan(graph)
    assert asked() == [hours(0, 48)]
    assert missing(first)["staging.events"] == [hours(0, 48)]
    world.build(graph)
    asked()
    assert world.plan(graph).is_empty
    assert asked() == []
    world.land(until=50)
    assert missing(world.plan(graph))["staging.events"] == [hours(45, 50)]
    assert asked() == [hours(48, 50)]  # what is looked at again was let pass before


@pytest.mark.full
def test_an_environment_that_may_not_write_a_version_does_not_ask(
    world: MemoryWorld, tmp_path: Path
) -> None:
    log = tmp_path / "asked"
    graph = graph_with(events(f"until (hours := 40, log := '{log}')"), DAILY)
    world.build(graph)
    log.unlink()
    world.plan(graph, "dev")
    assert not log.exists()


def test_a_model_that_is_made_as_a_whole_waits_for_the_first_unit_that_is_held_back(
    world: MemoryWorld,
) -> None:
    totals = TOTALS.replace("cron '@daily'", "cron '@daily', signals (until (hours := {}))")
    base = (events("until (hours := 48)"), DAILY)
    assert "mart.totals" not in missing(world.plan(graph_with(*base, totals.format(23))))
    one_day = graph_with(*base, totals.format(24))
    assert missing(world.plan(one_day))["mart.totals"] == [hours(0, 24)]


def test_views_are_not_held_back(world: MemoryWorld) -> None:
    view = "MODEL (name mart.v, kind VIEW, signals (broken)); SELECT at AS at FROM raw.events"
    world.build(graph_with(view))
    assert len(world.rows("mart.v")) == 4


def test_a_model_that_holds_nothing_keeps_its_readers_waiting(world: MemoryWorld) -> None:
    graph = graph_with(events("never"), DAILY, TOTALS)
    assert world.plan(graph).backfills == ()


def test_a_signal_that_fails_fails_the_plan_and_nothing_is_written(world: MemoryWorld) -> None:
    with pytest.raises(EvaluationFailed, match="the landing zone does not answer"):
        world.build(graph_with(events("broken"), DAILY))
    assert world.services().state.environment("prod") is None


def test_the_report_of_intervals_names_the_signals(world: MemoryWorld) -> None:
    services = world.services()
    graph = graph_with(events("all_but (hour := 6), until (hours := 48)"), DAILY)
    waits = {
        str(each.node.name): [str(wait) for wait in each.waits]
        for each in report_intervals(services, world.plan(graph))
    }
    held_back = "2024-01-01 06:00 to 2024-01-01 07:00"
    assert waits["staging.events"] == [
        f"the signal {name} may hold back {held_back}" for name in ("all_but", "until")
    ]
    assert waits["mart.daily"] == [f"staging.events lacks {held_back}"]
    alone = graph_with(events("all_but (hour := 6)"), DAILY)
    (report, _) = report_intervals(services, world.plan(alone))
    assert list(map(str, report.waits)) == [f"the signal all_but holds back {held_back}"]


def late(signals: str, mode: str = "stateless, sources (raw.events)") -> str:
    return events(signals).replace("signals (", f"late_data (mode {mode}),\n  signals (")


@pytest.mark.full
def test_a_session_loads_late_rows_and_leaves_what_a_signal_holds_back(world: MemoryWorld) -> None:
    graph = graph_with(late("until (hours := 40)"), DAILY)
    world.build(graph)
    world.land((3.5, 7), until=50)
    planned = world.plan_run()
    assert [str(each.name) for each in planned.backfills] == ["staging.events", "mart.daily"]
    world.apply(planned)
    assert world.rows("mart.daily") == [(date(2024, 1, 1), 37)]
    holding = world.state.holdings([planned.snapshots[EVENTS_NAME].key])
    assert [each.recorded for each in holding.values()] == [(Interval(*hours(0, 40)),)]
    assert world.plan_run().is_empty


@pytest.mark.parametrize(
    "mode", ["stateless, sources (raw.events)", "stateful, sources ('raw.events|at')"]
)
def test_what_a_person_asks_for_by_name_is_loaded_whatever_a_signal_says(
    world: MemoryWorld, mode: str
) -> None:
    world.build(graph_with(late("until (hours := 40)", mode)))
    asked = Interval(*hours(44, 45))
    evaluate_range(world.services(), world.bound(), EVENTS_NAME, asked)
    key = world.bound().key(EVENTS_NAME)
    assert world.state.holdings([key])[key].recorded == (Interval(*hours(0, 40)), asked)


def test_a_kept_history_of_hours_that_becomes_one_of_days_is_refused_in_a_sentence(
    world: MemoryWorld,
) -> None:
    """A day of which some hours are loaded is asked of the signals as a whole."""
    history = """
MODEL (
  name mart.history,
  kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns (amount)),
  cron '@{unit}',
  signals (until (hours := {hours}))
);
SELECT id AS id, amount AS amount FROM raw.events
"""
    world.build(graph_with(history.format(unit="hourly", hours=12)))
    for held in (24, 48):
        with pytest.raises(Refused, match="does not consist of whole units"):
            world.build(graph_with(history.format(unit="daily", hours=held)))
    world.build(graph_with(history.format(unit="hourly", hours=24)))
    days = graph_with(history.format(unit="daily", hours=48))
    assert missing(world.plan(days)) == {"mart.history": [hours(24, 48)]}
    world.build(days)
    assert world.plan(days).is_empty
