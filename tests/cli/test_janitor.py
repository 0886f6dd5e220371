"""`vde invalidate` and `vde janitor`, and what is left on disk."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.app.clean_up.test_janitor import Stuck, promoted_and_removed
from tests.cli.calling import call, facts
from tests.cli.promoted import edit, promote
from vde_dagster.app.clean_up.janitor import clean_up
from vde_dagster.app.clean_up.looking import look
from vde_dagster.composition import VdeProject
from vde_dagster.core.clean_up.references import Times

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
    assert "prod is production, and is never removed" in done.stderr
    assert call("invalidate", "nobody", "--project", shop).exit_code == 1


@pytest.mark.full
def test_when_environments_expire_is_shown(project: Path) -> None:
    settings = project / "vde.yaml"
    own = "environments: {pinned: {ttl: never}, slow: {ttl: 9 days}}\n"
    settings.write_text(settings.read_text() + "clean_up: {environments: 3 days}\n" + own)
    for name in ("prod", "dev", "pinned", "slow"):
        promote(project, name)
    found = {
        each["name"]: (each["promoted_at"], each["expires_at"])
        for each in facts("environments", "--project", project)["environments"]
    }
    lasts = {
        name: None if end is None else datetime.fromisoformat(end) - datetime.fromisoformat(at)
        for name, (at, end) in found.items()
    }
    assert lasts == {
        "prod": None,
        "pinned": None,
        "dev": timedelta(days=3),
        "slow": timedelta(days=9),
    }
    assert "never" in call("environments", "--project", project).stdout


@pytest.mark.full
def test_a_rollback_to_what_is_not_kept_is_refused(shop: Path) -> None:
    promote(shop, "prod", loaded=True)
    edited(shop)
    promote(shop, "prod", loaded=True)
    call("janitor", "--project", shop)
    done = call("rollback", "prod", "--project", shop, "--no-apply")
    assert done.exit_code == 1
    assert "revision 1 of prod is not kept any more" in done.stderr
    newest, oldest = facts("history", "prod", "--project", shop)["revisions"]
    assert (newest["shown"]["is_forgotten"], oldest["shown"]["is_forgotten"]) == (False, True)
    assert "not kept any more" in call("history", "prod", "--project", shop).stdout


@pytest.mark.full
def test_files_that_cannot_be_deleted_are_named_and_the_exit_code_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vde.yaml").write_text(f"name: shop\n{AT_ONCE}")
    world = promoted_and_removed()
    services = world.services()
    times = Times(history=timedelta(0), grace=timedelta(0), environment=None)
    clean_up(services, times)
    due = look(services, times).swept.due
    stuck: Any = Stuck(world.catalog, min(due).table)
    monkeypatch.setattr(
        VdeProject, "services", property(lambda _: replace(services, catalog=stuck))
    )
    done = call("janitor", "--format", "json", "--project", tmp_path)
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert [each["table"] for each in found["failed"]] == [str(min(due).table)]
    assert "cannot be deleted" in found["failed"][0]["reason"]
    assert {each["version"] for each in found["dropped"]} == {e.version for e in due} - {
        min(due).version
    }


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
    assert "would be free now" in call("janitor", "--dry-run", "--project", shop).stdout
    done = call("janitor", "--project", shop)
    assert "2 versions were dropped" in done.stdout
    assert on_disk() == before
    assert facts(*query)["rows"] == rows
    again = facts("janitor", "--project", shop)
    assert [again[key] for key in ("marked", "dropped", "waiting", "left")] == [[], [], [], []]
    planned("dev")
    assert on_disk().keys() > before.keys()
