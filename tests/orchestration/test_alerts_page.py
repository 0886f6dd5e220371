"""The sensors of docs/how-to/alerts.md, as the page shows them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from tests.app.memory_world import PROJECT, MemoryWorld
from tests.orchestration.automated_world import AutomatedWorld
from vde_dagster import VdeProject

PAGE = Path(__file__).parents[2] / "docs/how-to/alerts.md"
CHECK = dg.AssetCheckKey(dg.AssetKey(["mart", "daily"]), "vde_schema")


def test_a_failed_check_is_sent_once_and_an_error_after_a_warning_again(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = AutomatedWorld(tmp_path, instance, MemoryWorld())
    world.write(PROJECT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(VdeProject, "services", property(lambda _: world.world.services()))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    defined: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), defined)
    sent: list[str] = []
    defined["send"] = sent.append
    prod, cursor = defined["prod"](), ""
    sensor = prod.get_sensor_def("report_failed_checks")

    def looked(severity: dg.AssetCheckSeverity, *, passed: bool = False) -> list[str]:
        nonlocal cursor
        found = dg.AssetCheckEvaluation(
            CHECK.asset_key, CHECK.name, passed, {}, severity=severity, description="bad rows"
        )
        instance.report_runless_asset_event(found)
        repository = prod.get_repository_def()
        with dg.build_sensor_context(
            instance=instance, cursor=cursor, repository_def=repository
        ) as context:
            cursor = sensor.evaluate_tick(context).cursor or ""
        new, sent[:] = [*sent], []
        return new

    warn, error = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR
    assert looked(warn) == ["mart/daily:vde_schema (WARN) failed: bad rows"]
    assert looked(warn) == []
    assert looked(error) == ["mart/daily:vde_schema (ERROR) failed: bad rows"]
    assert looked(error, passed=True) == []
    assert looked(error) == ["mart/daily:vde_schema (ERROR) failed: bad rows"]
