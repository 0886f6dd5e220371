"""What is said of sessions of keyed models, whose rows belong to no interval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.memory_world import RAW, MemoryWorld, bound, graph_of
from tests.cli.calling import call
from tests.cli.changing import serve, write_models
from vde_dagster.app.apply.running import look_at_run
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inspect.late_report import explain_next, explain_session, past_sessions
from vde_dagster.app.inspect.status import look_at_operations, status_of
from vde_dagster.cli.looks.status import Looked
from vde_dagster.cli.looks.status_view import status_lines
from vde_dagster.cli.runs.catch_up import explained_lines, session_lines
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.ledger.unit_of_work import MergedChanges
from vde_dagster.core.names import ModelName

NAME = ModelName("a", "current")
BOUNDED = " WHERE at BETWEEN @start_dt AND @end_dt"


def world(where: str = "") -> MemoryWorld:
    """Two changes, which are loaded."""
    made = MemoryWorld.landed((0.2, 10), (0.4, 20), until=2)
    made.build(
        graph_of(
            {
                "current": "MODEL (name a.current, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key "
                "thing, sequence_by (at, id), delete_when amount = 0), cron '@hourly', "
                "late_data (mode stateless, sources (raw.events))); "
                f"SELECT id % 2 AS thing, id, at, amount FROM raw.events{where}"
            }
        )
    )
    return made


def explained(made: MemoryWorld) -> list[str]:
    """What `vde late explain` says of the next session, from what is new on."""
    services = made.services()
    lines = [*explained_lines(explain_next(services, bound(services), NAME))]
    return [each.strip() for each in lines[3:] if "mark at" not in each]


def shown(made: MemoryWorld) -> list[str]:
    """What `vde catch-up --explain` says of it, without the marks."""
    services = made.services()
    lines = session_lines(NAME, detect(services, bound(services), NAME))
    return [each.strip() for each in lines if "source raw" not in each]


LOADED = "loaded: [2024-01-01, 2024-01-01 02:00)"
TIMELESS = "its rows belong to no interval: new rows are added, or the table is rebuilt"


def test_new_changes_are_taken_whatever_their_time_and_no_interval_is_loaded_whole() -> None:
    made = world()
    assert explained(made)[:2] == [LOADED, TIMELESS]
    made.land((1.5, 30), until=3)
    assert explained(made) == [
        "since the mark: 1 append; 1 row in 1 new file",
        LOADED,
        TIMELESS,
        "so the rows of new files are added",
        "and these intervals then count as loaded: [2024-01-01 02:00, 2024-01-01 03:00)",
    ]
    assert shown(made) == [
        "a.current: a session would load",
        "due: 2024-01-01 02:00 to 2024-01-01 03:00",
        "new: {}, 1 row in 1 new file",
    ]


def test_changes_that_are_read_by_their_time_are_said_to_be() -> None:
    made = world(BOUNDED)
    made.land((1.5, 30), until=3)
    assert explained(made)[-2:] == [
        "so rows are added to: [2024-01-01 01:00, 2024-01-01 02:00)",
        "so these intervals are loaded as a whole: [2024-01-01 02:00, 2024-01-01 03:00)",
    ]


def test_a_table_that_is_built_again_is_said_to_be_with_the_reason() -> None:
    made = world()
    made.catalog.overwrite(RAW, [(1, made.clock.now(), 5)])
    (built,) = [each for each in explained(made) if each.startswith("so ")]
    assert built.startswith("so the table is rebuilt from all rows of its source: Iceberg snapshot")
    assert shown(made)[2] == "whole: 2024-01-01 to 2024-01-01 02:00"


def test_a_past_session_is_explained_as_the_next_one_was() -> None:
    made = world()
    made.land((1.5, 30), until=2)
    wanted = explained(made)
    made.catch_up(NAME)
    services = made.services()
    (last, *_) = past_sessions(services, bound(services), NAME, limit=1)
    found = explain_session(services, bound(services), NAME, last.intent.work_id)
    assert [each.strip() for each in explained_lines(found)][-len(wanted) :] == wanted


def test_what_became_of_changes_is_counted_and_no_number_of_rows_is_negative() -> None:
    made = world()
    made.land((1.5, 0), until=2)
    done = made.catch_up(NAME)
    assert isinstance(done, Evaluated)
    merged = MergedChanges(inserted=1, updated=2, hidden=3, without_effect=1_000)
    assert done.session is not None
    lines = [*session_lines(NAME, done.session, replace(done, rows=3, merged=merged))]
    assert lines[:2] == [
        "a.current: loaded 3 rows in 0.0 s.",
        "  changes: 1 inserted, 2 updated, 3 hidden from readers, 1,000 without effect",
    ]


def test_a_table_that_somebody_has_loaded_again_is_not_said_to_be_unknown() -> None:
    made = world()
    services = made.services()
    decision = detect(services, bound(services), NAME, reload=True)
    assert ("  a reload was requested, so all loaded intervals are overwritten") in session_lines(
        NAME, decision
    )


def test_a_session_says_with_which_interval_its_rows_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world()
    serve(made, monkeypatch)
    folder = write_models(tmp_path / "keyed", {})
    done = call("late", "sessions", "a.current", "--project", folder)
    assert "  wrote rows, recorded for [2024-01-01, 2024-01-01 02:00)" in done.stdout


def test_a_feed_that_is_gone_is_not_said_to_be_empty() -> None:
    made = world()
    made.catalog.drop_table(RAW)
    services = made.services()
    found = detect(services, bound(services), NAME)
    assert isinstance(found, NothingToLoad)
    assert "one of its sources is missing" in found.reason


@pytest.mark.parametrize("where", ["", BOUNDED])
def test_a_table_of_keys_is_not_said_to_be_late_by_hours(where: str) -> None:
    made = world(where)
    made.land((1.5, 30), until=2)
    services = made.services()
    plan = look_at_run(services, "prod")
    looked = Looked(
        status=status_of(services, plan),
        operations=look_at_operations(services, plan),
        graph=plan.graph,
        folder=Path.cwd(),
    )
    assert (
        "  a.current  new rows (since 2024-01-01) by a session: late rows of raw.events have "
        "arrived since its high-water mark"
    ) in map(str, status_lines(looked))
