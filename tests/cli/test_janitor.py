"""`vde invalidate` and `vde janitor`, and what is left on disk."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call, facts
from tests.cli.promoted import edit, promote
from vde_dagster.composition import VdeProject

AT_ONCE = "clean_up: {history: 0 seconds, grace: 0 seconds, environments: never}\n"


@pytest.fixture
def shop(project: Path) -> Path:
    """A project whose history ends at once."""
    settings = project / "vde.yaml"
    settings.write_text(settings.read_text() + AT_ONCE)
    return project


def tables(found: dict[str, Any], key: str) -> set[str]:
    return {each["table"] for each in found[key]}


def edited(shop: Path) -> None:
    """Another definition of revenue, with all that reads it."""
    edit(shop / "models" / "mart" / "revenue.sql", "SUM(amount)", "SUM(amount) * 2")


def test_an_environment_is_removed_and_its_versions_go_in_two_passes(shop: Path) -> None:
    promote(shop, "prod", loaded=True)
    edited(shop)
    promote(shop, "dev", loaded=True)
    done = call("invalidate", "dev", "--project", shop)
    assert done.stdout.startswith("dev is removed.")
    assert [each["name"] for each in facts("environments", "--project", shop)["environments"]] == [
        "prod"
    ]
    seen = facts("janitor", "--dry-run", "--project", shop)
    assert {each["model"] for each in seen["marked"]} == {"mart.revenue", "mart.best_customers"}
    assert seen["dropped"] == []
    assert facts("janitor", "--dry-run", "--project", shop) == seen, "nothing was changed"
    assert tables(facts("janitor", "--project", shop), "marked") == tables(seen, "marked")
    again = facts("janitor", "--dry-run", "--project", shop)
    assert tables(again, "dropped") | tables(again, "left") >= tables(seen, "marked")
    assert {each["reason"] for each in again["kept"]} == {"prod shows it"}


def test_production_is_refused_with_what_to_do(shop: Path) -> None:
    promote(shop, "prod")
    done = call("invalidate", "prod", "--project", shop)
    assert done.exit_code == 1
    assert "prod is production and cannot be removed" in done.stderr
    assert call("invalidate", "nobody", "--project", shop).exit_code == 1


@pytest.mark.spark
@pytest.mark.full  # in memory: tests/app/clean_up, on disk: tests/lakehouse/test_physical_layer.py
def test_exactly_the_files_of_what_is_unreachable_are_removed_from_disk(shop: Path) -> None:
    settings = shop / "vde.yaml"  # the session of the tests has a catalog `lake` of its own
    settings.write_text(
        f"{settings.read_text()}\ncatalog: {{name: swept_{uuid.uuid4().hex[:8]}}}\n"
    )
    warehouse = VdeProject.load(shop).configuration.warehouse

    def planned(environment: str) -> None:
        done = call("plan", environment, "--auto-apply", "--project", shop)
        assert done.exit_code == 0, done.output

    def on_disk() -> dict[Path, int]:
        layer = (each for each in warehouse.iterdir() if each.name.startswith("vde__"))
        return {
            each: each.stat().st_size
            for folder in layer
            for each in folder.rglob("*")
            if each.is_file()
        }

    planned("prod")
    before = on_disk()
    edited(shop)
    planned("dev")
    added = {path: size for path, size in on_disk().items() if path not in before}
    assert added
    query = ("query", "SELECT SUM(revenue) FROM mart.best_customers", "--project", shop)
    rows = facts(*query)["rows"]
    assert call("invalidate", "dev", "--project", shop).exit_code == 0
    facts("janitor", "--project", shop)
    assert on_disk().keys() == before.keys() | added.keys()
    seen = facts("janitor", "--dry-run", "--project", shop)
    assert sum(each["bytes"] for each in seen["dropped"]) == sum(added.values())
    assert sum(each["files"] for each in seen["dropped"]) == len(added)
    assert "would be freed" in call("janitor", "--dry-run", "--project", shop).stdout
    done = call("janitor", "--project", shop)
    assert "2 versions were dropped" in done.stdout
    assert on_disk() == before
    assert facts(*query)["rows"] == rows
    again = facts("janitor", "--project", shop)
    assert [again[key] for key in ("marked", "dropped", "waiting", "left")] == [[], [], [], []]
    planned("dev")
    assert on_disk().keys() > before.keys()
