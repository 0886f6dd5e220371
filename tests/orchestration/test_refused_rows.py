"""What a blocking audit refused is computed again once its input or the audit has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import dagster as dg
import pytest

from tests.app.memory_world import RAW
from tests.orchestration.automated_world import in_production
from vde_dagster.orchestration import attempts

if TYPE_CHECKING:
    from pathlib import Path

LATE: Final = "vde_late_data_prod"
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


FORMS: Final = {
    "stateless": (LATE, "late_data (mode stateless, sources (raw.events)), "),
    "stateful": (LATE, "late_data (mode stateful, sources ('raw.events|at')), "),
    "without late_data": (AUTOMATION, ""),
}


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
        answer = shop.tick(sensor)
        assert isinstance(answer, list), answer
        (request,) = answer
        shop.launch(request, fails=True)
        reported = shop.skipped(sensor)
        assert "a.kept: accepted_range refused its rows" in reported
        assert "have changed since" in reported

    def amounts() -> list[int]:
        return sorted(int(str(row[2])) for row in shop.world.rows("a.kept"))

    shop.world.land((7.5, 100), until=48)
    fails()
    if sensor == LATE:
        shop.world.catalog.compact(RAW)
        assert "accepted_range refused its rows" in shop.skipped(sensor)
    shop.world.land((8.5, 7), until=48)
    fails()
    assert amounts() == [1, 10]

    shop.write(model(late_data, most=100))
    shop.apply()
    answer = shop.tick(sensor)
    for request in answer if isinstance(answer, list) else ():
        shop.launch(request)
    assert amounts() == [1, 7, 10, 100]
