"""Keys, groups and reads of an environment, wherever its name is in its views."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.orchestration.conftest import applied_on_spark, sample_on_spark
from vde_dagster.cli.looks.query import ask

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample

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


@pytest.mark.parametrize("target", ["schema", "table", "catalog"])
@pytest.mark.full  # a catalog is read below; in memory: tests/app/promote/test_suffix_targets.py
@sample_on_spark
def test_keys_and_groups_are_those_of_the_views_of_the_environment(
    sample: "Sample", target: str
) -> None:
    set_target(sample, target)
    groups = dict(zip(places(sample, target), ["staging__dev", *["mart__dev"] * 2], strict=True))
    assert assets(sample.definitions("dev")) == {"raw/events": "raw", **groups}


def read(sample: "Sample", model: str) -> list[tuple[object, ...]]:
    answer = ask(sample.project(), f"SELECT * FROM {model}", environment="dev", limit=100)
    return sorted(tuple(row) for row in answer.rows)


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
