"""Keys, groups and reads of an environment, wherever its name is in its views."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from typing import TYPE_CHECKING, cast

import dagster as dg
import pytest

from tests.orchestration.conftest import applied_on_spark, sample_on_spark
from vde_dagster.cli.query import ask
from vde_dagster.orchestration.io_manager import VdeIcebergIOManager
from vde_dagster.orchestration.location import open_location

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample
    from vde_dagster.ports.engine import UserFrame

pytestmark = pytest.mark.spark


def places(sample: "Sample", target: str) -> list[str]:
    """The keys of the models of dev, by the documented table, without production's catalog."""
    if target == "catalog":
        names = ("staging/events", "mart/daily", "mart/people")
        return [f"{sample.catalog}__dev/{name}" for name in names]
    if target == "table":
        return ["staging/events__dev", "mart/daily__dev", "mart/people__dev"]
    return ["staging__dev/events", "mart__dev/daily", "mart__dev/people"]


def set_target(sample: "Sample", target: str) -> None:
    lines = (sample.folder / "vde.yaml").read_text("utf-8").splitlines()
    kept = [each for each in lines if not each.startswith("environment_suffix_target")]
    sample.write("vde.yaml", "\n".join([*kept, f"environment_suffix_target: {target}", ""]))


def assets(definitions: dg.Definitions) -> dict[str, str]:
    """Each asset's group, by its key."""
    specs = definitions.resolve_all_asset_specs()
    return {"/".join(spec.key.path): spec.group_name or "" for spec in specs}


def read(sample: "Sample", model: str) -> list[tuple[object, ...]]:
    answer = ask(sample.project(), f"SELECT * FROM {model}", environment="dev", limit=100)
    return sorted(tuple(row) for row in answer.rows)


@pytest.mark.parametrize(
    "target",
    ["schema", "table", "catalog"],
)
@pytest.mark.full  # a catalog is read below; in memory: tests/app/promote/test_suffix_targets.py
@sample_on_spark
def test_an_environment_is_materialized_and_read_wherever_its_name_stands(
    sample: "Sample", instance: dg.DagsterInstance, target: str
) -> None:
    set_target(sample, target)
    definitions = sample.definitions("dev")
    keys = places(sample, target)
    groups = ["staging__dev", "mart__dev", "mart__dev"]
    assert assets(definitions) == {"raw/events": "raw", **dict(zip(keys, groups, strict=True))}
    job = definitions.resolve_implicit_global_asset_job_def()
    first_day = [("2024-01-01-00:00", "2024-01-01-23:00"), ("2024-01-01", "2024-01-01"), ("", "")]
    for key, (first, last) in zip(keys, first_day, strict=True):
        tags = {
            "dagster/asset_partition_range_start": first,
            "dagster/asset_partition_range_end": last,
        }
        done = job.execute_in_process(
            instance=instance,
            asset_selection=[dg.AssetKey(key.split("/"))],
            tags=tags if first else {},
        )
        assert done.success
    total = sum(2 * (10 + hour) for hour in range(24))
    assert [row[1:] for row in read(sample, "mart.daily")] == [(24, total)]
    assert [row[1:] for row in read(sample, f"{sample.catalog}.mart.people")] == [(24,)]
    location = open_location(sample.project(), "dev")
    context = dg.build_input_context(asset_key=dg.AssetKey(keys[2].split("/")))
    loaded = cast("UserFrame", VdeIcebergIOManager(location).load_input(context))
    assert [row[1] for row in loaded.collect()] == [24]


@applied_on_spark
def test_a_location_keeps_the_keys_of_the_views_until_they_have_moved(applied: "Sample") -> None:
    (applied.folder / "vde.yaml").open("a").write("environments: {dev: {follow_files: false}}\n")
    applied.apply("dev")
    before = assets(applied.definitions("dev"))
    set_target(applied, "catalog")
    assert assets(applied.definitions("dev")) == before
    assert [row[1] for row in read(applied, "mart.people")] == [24]
    applied.apply("dev")
    assert set(assets(applied.definitions("dev"))) == {"raw/events", *places(applied, "catalog")}
    assert [row[1] for row in read(applied, "mart.people")] == [24]
    assert not applied.spark.catalog.tableExists(f"{applied.catalog}.mart__dev.people")
