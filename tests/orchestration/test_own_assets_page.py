"""The examples of docs/how-to/own-assets.md, as they stand there."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from tests.app.memory_world import PROJECT, START, MemoryWorld
from tests.orchestration.automated_world import CONFIGURATION, SOURCES, AutomatedWorld
from vde_dagster import VdeProject, merge_definitions

PAGE = Path(__file__).parents[2] / "docs/how-to/own-assets.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def examples() -> dict[str, Any]:
    """What the page defines: the first example uses what the others define."""
    first, *others = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    defined: dict[str, Any] = {}
    for text in (*others, first):
        exec(compile(text, str(PAGE), "exec", dont_inherit=True), defined)
    return defined


def materialized(
    definitions: dg.Definitions, instance: dg.DagsterInstance, key: str, day: str | None = None
) -> dg.AssetMaterialization:
    job = definitions.resolve_implicit_global_asset_job_def()
    selected = [dg.AssetKey(key.split("/"))]
    done = job.execute_in_process(instance=instance, asset_selection=selected, partition_key=day)
    (event,) = done.get_asset_materialization_events()
    return event.materialization


@pytest.mark.full
def test_an_own_asset_writes_the_source(folder: Path, instance: dg.DagsterInstance) -> None:
    AutomatedWorld(folder, instance, MemoryWorld()).write(PROJECT)
    (folder / "vde.yaml").write_text("name: sample\ndefaults: {start: 2024-01-01}\n")
    catalog = VdeProject.load(folder).iceberg_catalog()
    catalog.create_namespace("raw")
    columns = [("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("amount", pa.int64())]
    table = catalog.create_table("raw.events", pa.schema(columns))
    prod = examples()["prod"]()
    dg.Definitions.validate_loadable(prod)
    first = materialized(prod, instance, "raw/events", "2024-01-01")
    second = materialized(prod, instance, "raw/events", "2024-01-02")
    again = materialized(prod, instance, "raw/events", "2024-01-01")  # what is complete stays so
    versions = {(each.tags or {})["dagster/data_version"] for each in (first, second, again)}
    assert len(versions) == 3, "each wrote a commit with new files"
    rows = table.refresh().scan().to_arrow().to_pylist()
    assert sorted(each["at"] for each in rows) == [START] * 2 + [START + timedelta(days=1)] * 2
    assert table.properties["vde.valid-to"] == "2024-01-03T00:00:00+00:00"


def test_own_assets_read_models(
    folder: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = AutomatedWorld(folder, instance, MemoryWorld())
    world.write(PROJECT)
    assert (folder / "vde.yaml").read_text() == CONFIGURATION
    assert (folder / "external_models.yaml").read_text() == SOURCES
    world.world.land((5.5, 10), (30.5, 1), until=48)
    world.apply()
    monkeypatch.setattr(VdeProject, "services", property(lambda _: world.world.services()))
    defined = examples()
    prod = defined["prod"]()
    assert materialized(prod, instance, "report", "2024-01-02").metadata["amount"].value == 1
    both = merge_definitions(prod, dg.Definitions(assets=[defined["count"]]))
    assert materialized(both, instance, "count").metadata["events"].value == 2
    both = merge_definitions(prod, dg.Definitions(assets=[defined["board"]]))
    until = materialized(both, instance, "board").metadata["complete_to"].value
    assert until == "2024-01-03T00:00:00+00:00"
    both = merge_definitions(prod, dg.Definitions(assets=[defined["forecast"]]))
    materialized(both, instance, "mart/forecast", "2024-01-01")
    assert world.world.rows("mart.forecast") == [(START.date(), 11.0)]
    assert defined["largest"].keys == {dg.AssetKey("largest")}
