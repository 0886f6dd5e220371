"""`vde late`: marks, what is pending and past sessions, without Spark."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.app.memory_world import DAILY, EVENTS, RAW, MemoryWorld, bound, graph_of, hour_of
from tests.app.shop_world import EVENTS_NAME
from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.promoted import begun, promote
from tests.orchestration.lifecycle_landing import EXAMPLE, landing
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.inspect.late_report import late_reports
from vde_dagster.cli.looks.late import late_lines
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import AuditFailed
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

STATE = ModelName("lifecycle", "account_state")
SIGNUPS = ModelName("lifecycle", "signups")
SEVEN = datetime(2023, 9, 14, 7, tzinfo=UTC)
STOPS = EVENTS.replace("(raw.events)", "(raw.events), on_source_rewrite stop")
MARK = HighWaterMark(
    source=SIGNUPS,
    table_uuid="v",
    iceberg_snapshot_id=4711,
    sequence_number=3,
    committed_at=SEVEN,
    complete_to=SEVEN,
)


@pytest.fixture
def life(tmp_path: Path) -> Path:
    """The example, with what is landed of its first hours, and an hour that waits."""
    folder = tmp_path / "life"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".vde", "__pycache__"))
    project = VdeProject.load(folder)
    landing.land(project.iceberg_catalog(), "first")
    promote(folder)
    services = project.services
    key = bound(services).key(STATE)
    resource = f"version:{key.model}:{key.version}"
    lease = services.state.acquire_lease(resource, holder="test", ttl=timedelta(minutes=1))
    hour = Interval(SEVEN, SEVEN + timedelta(hours=1))
    left = Pending(interval=hour, sources=(SIGNUPS,), reason=PendingReason.INCOMPLETE)
    services.state.record_detected(key, [MARK], (left,), lease=lease)
    services.state.release_lease(lease)
    return folder


def asked(*arguments: str | Path) -> dict[str, Any]:
    return document("late", *arguments)


def test_each_model_with_late_data_has_its_marks_what_is_pending_and_a_decision(
    life: Path,
) -> None:
    models = {each["name"]: each for each in asked("status", "--project", life)["models"]}
    assert {name: each["mode"] for name, each in models.items()} == {
        "lifecycle.signups": "stateless",
        "lifecycle.account_plans": "stateless",
        "lifecycle.cancel_requests": "stateless",
        "lifecycle.cancels": "stateful",
        "lifecycle.account_state": "stateful",
    }
    assert models["lifecycle.signups"]["decision"]["is"] == "Load"
    state = models["lifecycle.account_state"]
    (mark,) = state["marks"]
    assert (mark["source"], mark["iceberg_snapshot_id"]) == ("lifecycle.signups", 4711)
    (left,) = state["pending"]
    assert left == {
        "interval": {"start": "2023-09-14T07:00:00+00:00", "end": "2023-09-14T08:00:00+00:00"},
        "sources": ["lifecycle.signups"],
        "reason": "incomplete",
    }
    assert state["commands"] == [None]


def test_sessions_of_a_model_that_had_none_are_none(life: Path) -> None:
    found = asked("sessions", "lifecycle.signups", "--project", life)
    assert (found["model"], found["sessions"]) == ("lifecycle.signups", [])
    done = call("late", "sessions", "lifecycle.signups", "--project", life)
    assert "No session of lifecycle.signups has run yet." in done.stderr


@pytest.mark.parametrize("environment", ["prod", "dev"])
def test_a_session_is_advised_where_the_version_is_owned(life: Path, environment: str) -> None:
    """It ran in production, whatever was looked at."""
    if environment == "dev":
        signups = life / "models" / "lifecycle" / "signups.sql"
        text = signups.read_text().replace(
            "SELECT account_id,", "SELECT account_id + 1 AS account_id,"
        )
        signups.write_text(text)
        promote(life, environment)
    done = call("late", "status", "lifecycle.signups", "--env", environment, "--project", life)
    assert f"`vde catch-up lifecycle.signups --env {environment}`" in done.stdout


@pytest.fixture
def unshown() -> MemoryWorld:
    """Production filled staging.events in a plan that failed then, and only qa shows that."""
    world = MemoryWorld.landed((1, 10), until=24)
    audit = "audits (accepted_range (column := amount, max_v := 0))"
    bad = DAILY.replace("cron '@daily'", f"cron '@daily', {audit}")
    with pytest.raises(AuditFailed):
        world.build(graph_of({"events": STOPS, "daily": bad}))
    world.build(graph_of({"events": STOPS}), "qa")
    return world


def lines_of(world: MemoryWorld, environment: str) -> list[str]:
    (report,) = late_reports(world.services(), world.bound(environment), [EVENTS_NAME])
    return [*late_lines(report, environment)]


def test_what_its_owner_never_showed_is_loaded_there_by_a_plan(unshown: MemoryWorld) -> None:
    """Production has no such model, so that it was refused a session."""
    unshown.land((2, 7), until=24)
    (load,) = [each for each in lines_of(unshown, "qa") if "ready to load" in each]
    assert advised(load) == ["vde plan prod"]
    unshown.build(graph_of({"events": STOPS}))
    assert unshown.amounts("staging__qa.events") == [7, 10]
    assert "  nothing to load: " in "".join(lines_of(unshown, "qa"))


def test_no_command_loads_what_is_pending_of_what_its_owner_never_showed(
    unshown: MemoryWorld,
) -> None:
    hour = Interval(hour_of(1), hour_of(2))
    left = Pending(interval=hour, sources=(), reason=PendingReason.BEYOND_THRESHOLD)
    (report,) = late_reports(unshown.services(), unshown.bound("qa"), [EVENTS_NAME])
    lines = "".join(late_lines(replace(report, pending=(left,)), "qa"))
    assert left.reason.text in lines
    assert "--restate-model" not in lines


def test_a_session_that_stops_is_advised_where_it_runs(unshown: MemoryWorld) -> None:
    rows = [(row[0], row[1], 9) for row in unshown.rows("raw.events")]
    unshown.catalog.overwrite(RAW, rows)
    assert [advised(each) for each in lines_of(unshown, "qa") if "stopped" in each] == [
        ["vde plan prod"]
    ]
    unshown.build(graph_of({"events": STOPS}), accept_loss=True, skip_backfill=True)
    (stopped,) = [each for each in lines_of(unshown, "qa") if "stopped" in each]
    assert advised(stopped) == [f"vde catch-up {EVENTS_NAME} --reload"]
    unshown.catch_up(EVENTS_NAME, reload=True)
    assert unshown.amounts("staging__qa.events") == [9]


def advised(text: str) -> list[str]:
    return text.split("`")[1::2]


@pytest.mark.parametrize("command", ["status", "sessions"])
def test_a_model_without_late_data_is_refused_with_those_that_have_it(
    life: Path, command: str
) -> None:
    done = call("late", command, "raw.signups", "--project", life)
    assert done.exit_code == 1
    assert "raw.signups has no late_data here" in done.stderr
    assert "lifecycle.cancels" in done.stderr


def recorded_session(folder: Path) -> str:
    """A session of signups as it was decided."""
    services = VdeProject.load(folder).services
    decision = detect(services, bound(services), SIGNUPS)
    assert isinstance(decision, Load)
    key = bound(services).key(SIGNUPS)
    with begun(services, key, decision.fill, session=decision) as (work_id, lease):
        services.state.abandon(work_id, reason="it was interrupted", lease=lease)
    return work_id


def test_the_next_decision_is_explained_with_its_evidence(life: Path) -> None:
    found = asked("explain", "lifecycle.signups", "--project", life)
    assert (found["decision"]["is"], found["work"]) == ("Load", None)
    question = found["question"]
    assert (question["is"], question["loaded"]) == ("StatelessQuestion", [])
    assert (question["history"]["status"], question["mark"]) == ("initial", None)
    assert question["history"]["head"]["complete_to"] == "2023-09-14T06:00:00+00:00"
    done = call("late", "explain", "lifecycle.signups", "--project", life)
    assert "source raw.signups: initial; no mark" in done.stdout
    assert "so these intervals are loaded as a whole: [2023-09-14, 2023-09-14 06:00)" in done.stdout


def test_a_stateful_decision_is_explained_with_the_limit_of_each_source(life: Path) -> None:
    found = asked("explain", "lifecycle.cancels", "--project", life)
    sources = {each["name"]: each["complete_to"] for each in found["question"]["sources"]}
    assert sources.keys() == {"raw.cancels", "lifecycle.cancel_requests"}
    done = call("late", "explain", "lifecycle.cancels", "--project", life)
    assert "mode stateful; on_source_rewrite overwrite; load_type changed" in done.stdout
    assert "all sources complete to: " in done.stdout


def test_a_past_session_is_explained_from_the_store(life: Path) -> None:
    session = recorded_session(life)
    found = asked("explain", "lifecycle.signups", "--session", session, "--project", life)
    assert (found["decision"]["is"], found["work"]["intent"]["work_id"]) == ("Load", session)
    done = call("late", "explain", "lifecycle.signups", "--session", session, "--project", life)
    assert f"session {session}, started" in done.stdout
