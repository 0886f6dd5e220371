"""`vde status` as one screen: what went wrong, what is left, who holds what, what to do next."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.app.memory_world import RAW, Fuse, MemoryWorld, PowerCut, bound, build, graph_of
from tests.cli.calling import call
from tests.cli.changing import serve, write_models
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.inspect.status import look_at_operations
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.ports.state import environment_resource, version_resource

HOUR = timedelta(hours=1)
EVENTS = """
MODEL (name staging.events, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
late_data (mode stateless, sources (raw.events), catchup_threshold '3 hours',
on_source_rewrite stop));
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
SMALL = """
MODEL (name mart.small, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
audits (accepted_range (column := amount, max_v := 50)));
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
SHARES = """
MODEL (name mart.shares, kind FULL, cron '@hourly');
SELECT SUM(CAST(CASE WHEN amount = 0 THEN 'none' ELSE '100' END AS INT)) AS shares FROM raw.events
"""
SHOWN = "MODEL (name mart.shown, kind VIEW);\nSELECT shares AS shares FROM mart.shares"
COPY = """
MODEL (name mart.copy, kind FULL, cron '@hourly');
SELECT id AS id, amount AS amount FROM raw.events
"""
NIGHT = {"small": SMALL, "shares": SHARES, "shown": SHOWN}


class Night:
    """A project in production, and what happens to it."""

    def __init__(self, folder: Path, texts: dict[str, str]) -> None:
        self.folder, self.world, self.texts = folder, MemoryWorld(), texts
        write_models(folder, texts)
        self.land(*((hour + 0.5, 10 + hour) for hour in range(10)), until=10)
        build(self.world.services(), graph_of(texts))

    def land(self, *events: tuple[float, int], until: float) -> None:
        now = datetime.now(UTC)
        self.world.clock.advance(now - self.world.clock.now())
        self.world.land(*events, until=until)

    def run(self) -> None:
        """What a scheduler does; it goes on where something fails."""
        services = self.world.services()
        with suppress(VdeError):
            apply_plan(services, plan_run(services, "prod"), lambda _: None)

    def remove(self, amount: int) -> None:
        """Somebody deletes rows of the source."""
        self.land(until=11)
        table = self.world.catalog.tables[RAW]
        kept = [each for each in table.rows_at(table.head) if each[2] != amount]
        self.world.catalog.delete(RAW, kept)

    def text(self) -> str:
        done = call("status", "--project", self.folder)
        assert done.exit_code == 0, done.output
        return done.stdout

    def facts(self) -> dict[str, Any]:
        done = call("status", "--project", self.folder, "--format", "json")
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    made = Night(tmp_path / "night", NIGHT)
    serve(made.world, monkeypatch)
    return made


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    made = Night(tmp_path / "late", {"events": EVENTS})
    serve(made.world, monkeypatch, with_dagster=True)
    return made


def group(text: str, title: str) -> str:
    """The lines below a title."""
    (found,) = [each for each in text.split("\n\n") if each.startswith(title)]
    return found


def advised(text: str) -> list[list[str]]:
    """The commands that a text names, as words."""
    return [shlex.split(each)[1:] for each in re.findall(r"`(vde [^`]+)`", text)]


def carry_out(commands: Sequence[list[str]]) -> None:
    assert commands, "a text that advises nothing"
    for each in commands:
        done = call(*each)
        assert done.exit_code == 0, (each, done.output)


def test_where_all_is_done_the_screen_says_so_and_who_promoted_last(night: Night) -> None:
    text = night.text()
    assert text.startswith(
        "prod is up to date at 2024-01-01 10:00: nothing due, nothing stale (checked 3 models"
    )
    assert text.count("\n\n") == 1
    assert "Shows revision 1, promoted at " in text
    carry_out(advised(text))


def test_what_failed_is_reported_with_interval_and_reason_until_it_is_mended(night: Night) -> None:
    night.land((10.5, 0), (10.6, 4), until=11)
    night.run()
    text = night.text()
    failed = group(text, "Failed")
    assert "mart.shares  " in failed
    assert "none" in failed  # what the engine could not cast
    (work,) = night.facts()["failed"]
    intent = work["intent"]
    assert (intent["key"]["model"], intent["environment"]) == ("mart.shares", "prod")
    assert (intent["session"], work["audits"]) == (None, [])
    assert "none" in work["reason"]
    assert call("status", "--check", "--project", night.folder).exit_code == 1

    night.remove(0)
    carry_out(advised(failed))
    assert night.facts()["failed"] == []


def test_rows_that_an_audit_refused_are_reported_with_work_and_audit(night: Night) -> None:
    night.land((10.5, 100), until=11)
    night.run()
    refused = group(night.text(), "Failed an audit")
    (work,) = night.facts()["failed"]
    failed = [each["name"] for each in work["audits"] if not each["passed"]]
    assert (work["intent"]["key"]["model"], failed) == ("mart.small", ["accepted_range"])
    assert work["refused_rows"].endswith(work["intent"]["work_id"])
    assert "2024-01-01 10:00 to 2024-01-01 11:00" in refused
    assert f"by accepted_range (work {work['intent']['work_id']})" in refused
    lines = [each for each in night.text().splitlines() if each.startswith("  mart.small ")]
    assert len(lines) == 1, "what was refused is not named as due, too"
    audits, _, run, plan = advised(refused)
    carry_out([audits])
    assert "100" in call(*audits).stdout
    night.remove(100)
    carry_out([run, plan])
    assert night.facts()["failed"] == []


def test_a_stale_interval_that_an_audit_refused_is_named_once(night: Night) -> None:
    night.land((3.2, 100), until=10)
    assert "mart.small" in group(night.text(), "Late or changed inputs")
    night.run()
    text = night.text()
    assert "2024-01-01 03:00 to 2024-01-01 04:00" in group(text, "Failed an audit")
    assert text.count("  mart.small ") == 1


def test_what_a_process_is_working_on_is_kept_apart_from_what_one_has_left(night: Night) -> None:
    night.land((10.5, 12), until=11)
    services = night.world.services(Fuse(cut_name="record_staged"))
    with pytest.raises(PowerCut):
        apply_plan(services, plan_run(services, "prod"), lambda _: None)
    text = night.text()
    assert "is working on it" in group(text, "Running")
    assert "Started by an earlier process" not in text
    night.world.reboot()
    text = night.text()
    left = group(text, "Started by an earlier process")
    assert "work was started and not finished" in left
    assert "\nRunning" not in text
    carry_out(advised(left))
    assert night.text().startswith("prod is up to date")


def test_late_rows_that_wait_and_that_no_session_can_load_are_two_things(late: Night) -> None:
    late.land((2.2, 1), until=10)
    services = late.world.services()
    events = ModelName("staging", "events")
    catch_up(services, bound(services), events)
    pending = group(late.text(), "Pending late rows")
    assert "staging.events" in pending
    assert "further back than catchup_threshold" in pending
    (found,) = late.facts()["pending"]
    assert [each["reason"] for each in found["pending"]] == ["beyond threshold"]
    assert late.facts()["is_up_to_date"] is False
    carry_out(advised(pending))

    late.remove(13)
    stopped = group(late.text(), "Late rows that cannot be loaded")
    (fact,) = late.facts()["stopped"]
    assert fact["name"] == "staging.events"
    (reload,) = advised(stopped)
    assert reload[:2] == ["catch-up", "staging.events"]
    carry_out([reload])
    assert late.facts()["stopped"] == []


def test_late_rows_that_no_session_has_recorded_yet_are_loaded_as_it_is_advised(
    late: Night,
) -> None:
    late.land((2.5, 5), until=10)
    behind = group(late.text(), "Behind, and not computed")
    assert "further back than catchup_threshold" in behind
    (status,) = advised(behind)
    printed = call(*status).stdout
    (loading,) = re.findall("to load it: vde (.*)", printed)
    carry_out([[*shlex.split(loading), "--project", str(late.folder)]])
    assert late.text().startswith("prod is up to date")


def test_a_paused_model_is_not_called_up_to_date_and_the_named_command_ends_that(
    night: Night,
) -> None:
    words = ("pause", "mart.shares", "--reason", "looked at", "--project", night.folder)
    assert call(*words).exit_code == 0
    text, facts = night.text(), night.facts()
    assert text.startswith("Status of prod at ")
    paused = group(text, "Paused: not computed, and not checked")
    assert "mart.shares  paused" in paused
    assert ": looked at. `vde resume mart.shares" in paused
    assert facts["is_up_to_date"] is False
    assert [each["pause"]["model"] for each in facts["pauses"]] == ["mart.shares"]
    carry_out(advised(paused))
    assert night.text().startswith("prod is up to date")
    assert night.facts()["is_up_to_date"] is True


def test_what_was_marked_is_named_once_and_then_computed(night: Night) -> None:
    services = night.world.services()
    key = bound(services).key(ModelName("mart", "shares"))
    lease = services.state.acquire_lease(environment_resource("prod"), holder="me", ttl=HOUR)
    times = services.state.holdings([key])[key].recorded
    services.state.outdate({key: times}, reason="somebody asked", lease=lease)
    services.state.release_lease(lease)
    text = night.text()
    marked = group(text, "Marked for recomputation")
    assert "mart.shares" in marked
    assert "\nDue" not in text
    (found,) = night.facts()["outdated"]
    assert (found["key"]["model"], found["owner"]) == ("mart.shares", "prod")
    carry_out(advised(marked))
    assert night.text().startswith("prod is up to date")


def test_what_processes_hold_is_reported_and_freed_as_advised(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = night.world.state
    machine = "vde_dagster.state.processes._machine"
    here = f"{os.getpid()}@{socket.gethostname()}"
    key = bound(night.world.services()).key(ModelName("mart", "shares"))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(machine, lambda: "another boot")
        state.acquire_lease(environment_resource("prod"), holder="plan 12", ttl=HOUR)
        state.acquire_lease(version_resource(key), holder="unit 7", ttl=HOUR)
        state.acquire_lease(environment_resource("dev"), holder="plan 99", ttl=HOUR)
    held = group(night.text(), "Leases of processes")
    assert "environment:prod  " in held
    assert f"plan 12, {here}, until " in held
    assert "plan 99" not in held
    assert night.text().startswith("prod is up to date"), "who writes changes nothing of that"
    assert [each["holder"] for each in night.facts()["leases"]] == ["plan 12", "unit 7"]
    carry_out(advised(held))
    assert night.facts()["leases"] == []


def test_a_holder_that_runs_on_this_machine_is_not_called_gone(night: Night) -> None:
    night.world.state.acquire_lease("environment:prod", holder="plan 12", ttl=HOUR)
    held = group(night.text(), "Leases of processes")
    assert "it runs on this machine" in held
    assert "--gone" not in held


def test_a_holder_that_is_gone_is_called_so(night: Night) -> None:
    night.world.state.acquire_lease("environment:prod", holder="plan 12", ttl=HOUR)
    night.world.clock.advance(2 * HOUR)
    held = group(night.text(), "Leases of processes")
    assert "ended or expired, so another process can take it" in held


def test_dropped_views_and_due_intervals_have_commands_that_mend_them(night: Night) -> None:
    night.land((10.5, 10), until=11)
    night.world.catalog.swap_views([], [TableName("mart", "shown")])
    text = night.text()
    assert "  mart.shown\n" in group(text, "Missing or replaced views")
    assert "1 hour, 2024-01-01 10:00 to 2024-01-01 11:00" in group(text, "Due")
    carry_out(advised(group(text, "Missing or replaced views")))
    assert night.text().startswith("prod is up to date")


def test_long_lists_are_cut_and_say_where_the_rest_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {f"m{n}": SMALL.replace("mart.small", f"mart.m{n:02}") for n in range(15)}
    night = Night(tmp_path / "many", texts)
    serve(night.world, monkeypatch)
    night.land((10.5, 10), until=11)
    due = group(night.text(), "Due (15)")
    assert [f"mart.m{n:02}" in due for n in range(15)] == [True] * 12 + [False] * 3
    (every, _) = advised(due)
    assert "and 3 more: `vde status prod --format json" in due
    names = [each["node"]["name"] for each in json.loads(call(*every).stdout)["models"]]
    assert len(names) == 15


@pytest.mark.full
def test_the_state_is_asked_as_often_for_many_models_as_for_few(tmp_path: Path) -> None:
    asked = []
    for count in (2, 15):
        texts = {f"m{n}": SMALL.replace("mart.small", f"mart.m{n}") for n in range(count)}
        world = Night(tmp_path / str(count), texts).world
        plan, fuse = plan_run(world.services(), "prod"), Fuse()
        look_at_operations(world.services(fuse), plan)
        asked.append(Counter(fuse.names))
    few, many = asked
    assert many == few
    assert set(many.values()) == {1}


def test_what_a_run_refused_is_shown_with_its_advice_and_not_with_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that would lose all rows waits for a person, whatever is due of it."""
    night = Night(tmp_path / "copied", {"copy": COPY})
    serve(night.world, monkeypatch)
    night.world.catalog.delete(RAW, [])
    night.land(until=11)
    night.run()
    text = night.text()
    refused = group(text, "Refused, and not computed")
    assert "mart.copy was not loaded" in refused
    (advice, *_) = advised(refused)
    assert advice[:2] == ["run", "prod"]
    assert advice[-2:] == ["--project", str(night.folder)]
    others = [each for each in text.split("\n\n") if each != refused]
    assert not any("mart.copy" in each for each in others)
    assert [bool(each["refusal"]) for each in night.facts()["failed"]] == [True]
    carry_out([advice])
    assert night.facts()["failed"] == []


def test_a_refusal_of_work_that_was_not_begun_is_recorded(night: Night) -> None:
    night.land(until=11)
    services = night.world.services()
    plan = plan_run(services, "prod")
    night.world.catalog.drop_table(RAW)
    with pytest.raises(VdeError):
        apply_plan(services, plan, lambda _: None)
    key = bound(services).key(ModelName("mart", "shares"))
    work = services.state.failed([key])[key]
    assert "raw.events" in work.refusal
    before = work.intent.work_id
    with pytest.raises(VdeError):
        apply_plan(services, plan, lambda _: None)
    assert services.state.failed([key])[key].intent.work_id == before, "it is known already"
