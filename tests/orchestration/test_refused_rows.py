"""What a blocking audit refused is computed again once its input or the audit has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import dagster as dg
import pytest

from tests.app.memory_world import RAW, bound, build_due, hour_of
from tests.cli.calling import call
from tests.cli.changing import serve
from tests.cli.test_status import advised
from tests.orchestration.automated_world import in_production
from vde_dagster.app.evaluate.refusals import waiting_for_person
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration.launchers import attempts
from vde_dagster.orchestration.reporting.status_checks import StatusCheck, found_in

if TYPE_CHECKING:
    from pathlib import Path

LATE: Final = "vde_late_data_prod"
KEPT: Final = ModelName("a", "kept")
AUTOMATION: Final = "vde_automation_prod"


def model(late_data: str, most: int = 50) -> dict[str, str]:
    """A model whose audit refuses amounts of more than this."""
    text = (
        "MODEL (name a.kept, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily', "
        f"{late_data}audits (accepted_range (column := amount, max_v := {most})));\n"
        "SELECT id AS id, at AS at, amount AS amount FROM raw.events\n"
        "WHERE at BETWEEN @start_dt AND @end_dt"
    )
    return {"kept": text}


def above_zero(late_data: str) -> dict[str, str]:
    """A model without an audit, of which rows may go."""
    text = model(late_data)["kept"]
    audits = "audits (accepted_range (column := amount, max_v := 50))"
    return {"kept": text.replace(audits, "tags (kept)") + " AND amount > 0"}


FORMS: Final = {
    "stateless": (LATE, "late_data (mode stateless, sources (raw.events)), "),
    "stateful": (LATE, "late_data (mode stateful, sources ('raw.events|at')), "),
    "without late_data": (AUTOMATION, ""),
}


@pytest.mark.full
@pytest.mark.parametrize("sensor,late_data", FORMS.values(), ids=FORMS)
def test_a_sensor_asks_again_only_when_the_source_or_the_audit_has_changed(
    tmp_path: Path,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    sensor: str,
    late_data: str,
) -> None:
    monkeypatch.setattr(attempts, "SECONDS", 0)  # no pause keeps it from asking
    shop = in_production(tmp_path, instance, model(late_data))

    def fails() -> None:
        shop.launch(shop.request(sensor), fails=True)
        reported = shop.skipped(sensor)
        assert "a.kept: its rows failed accepted_range" in reported
        assert "have changed since" in reported

    def amounts() -> list[int]:
        return sorted(int(str(row[2])) for row in shop.world.rows("a.kept"))

    shop.world.land((7.5, 100), until=48)
    fails()
    if sensor == LATE:
        shop.world.catalog.compact(RAW)
        assert "its rows failed accepted_range" in shop.skipped(sensor)
    shop.world.land((8.5, 7), until=48)
    fails()
    assert amounts() == [1, 10]

    shop.write(model(late_data, most=100))
    build_due(shop.world.services(), shop.project().files.graph)  # shows the audit, loads nothing
    assert amounts() == [1, 10]
    shop.launch(shop.request(sensor))
    assert amounts() == [1, 7, 10, 100]


SETTLED: Final = """
AUDIT (name settled);
SELECT * FROM @this_model WHERE amount > 50 AND @execution_ts < '2024-01-03 06:00:00'
"""
"""Refuses large amounts until then, by the clock on the wall, whatever is in the tables."""


@pytest.mark.full
@pytest.mark.parametrize("form", FORMS)
def test_what_a_sensor_leaves_is_tried_all_the_same_by_the_command_that_it_names(
    tmp_path: Path,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    monkeypatch.setattr(attempts, "SECONDS", 0)
    sensor, late_data = FORMS[form]
    called = "accepted_range (column := amount, max_v := 50)"
    text = model(late_data)["kept"].replace(called, "settled")
    shop = in_production(tmp_path, instance, {"kept": f"{text};\n{SETTLED}"})
    shop.world.land((7.5, 100), until=48)
    shop.launch(shop.request(sensor), fails=True)
    shop.world.clock.advance(hour_of(55) - shop.world.clock.now())
    reported = shop.skipped(sensor)
    assert "its rows failed settled, and neither its inputs nor its audits" in reported
    (command,) = advised(reported)
    assert command == ["run", "prod"]
    serve(shop.world, monkeypatch)
    done = call(*command, "--project", tmp_path)
    assert done.exit_code == 0, done.output
    assert sorted(int(str(row[2])) for row in shop.world.rows("a.kept")) == [1, 10, 100]
    assert "refused" not in shop.skipped(sensor)


@pytest.mark.parametrize("form", ["stateful", "without late_data"])
def test_r8_the_sensor_and_the_check_name_what_a_person_has_to_say(
    tmp_path: Path,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    monkeypatch.setattr(attempts, "SECONDS", 0)
    sensor, late_data = FORMS[form]
    shop = in_production(tmp_path, instance, above_zero(late_data))
    rows = shop.world.rows("raw.events")
    shop.world.catalog.overwrite(RAW, [(n, at, -v if v == 10 else v) for n, at, v in rows])
    shop.world.land((30.5, 7), until=48)
    shop.launch(shop.request(sensor), fails=True)
    assert sorted(int(str(row[2])) for row in shop.world.rows("a.kept")) == [1, 7, 10]
    said = "--restate-model a.kept --start 2024-01-01T00:00:00+00:00"
    assert said in shop.skipped(sensor)
    (found,) = (
        each
        for each in found_in(
            shop.world.services(), bound(shop.world.services()), {(KEPT, StatusCheck.STALE)}
        )
    )
    assert not found.passed
    assert said in found.text
    serve(shop.world, monkeypatch)
    command = next(each for each in advised(shop.skipped(sensor)) if "--allow-empty" in each)
    done = call(*command, "--project", tmp_path)
    assert done.exit_code == 0, done.output
    assert sorted(int(str(row[2])) for row in shop.world.rows("a.kept")) == [1, 7]
    assert "no rows any more" not in shop.skipped(sensor)


@pytest.mark.parametrize("form", ["stateful", "without late_data"])
def test_r8_a_failed_step_reports_the_partitions_that_it_published(
    tmp_path: Path, instance: dg.DagsterInstance, form: str
) -> None:
    shop = in_production(tmp_path, instance, above_zero(FORMS[form][1]))
    shop.world.land((54.5, 7), (78.5, 8), until=96)
    build_due(shop.world.services(), shop.project().files.graph)
    other = {10: -10, 1: 2, 7: -7, 8: 9}
    rows = shop.world.rows("raw.events")
    shop.world.catalog.overwrite(RAW, [(n, at, other[int(str(v))]) for n, at, v in rows])
    job = shop.definitions().resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        tags={
            "dagster/asset_partition_range_start": "2024-01-01",
            "dagster/asset_partition_range_end": "2024-01-04",
        },
        instance=instance,
        raise_on_error=False,
    )
    assert not result.success
    events = result.get_asset_materialization_events()
    assert [each.partition for each in events] == ["2024-01-02", "2024-01-04"]
    assert sorted(int(str(row[2])) for row in shop.world.rows("a.kept")) == [2, 7, 9, 10]
    services = shop.world.services()
    (said,) = waiting_for_person(services, bound(services), [KEPT]).values()
    assert "[2024-01-01, 2024-01-02), [2024-01-03, 2024-01-04)" in said
