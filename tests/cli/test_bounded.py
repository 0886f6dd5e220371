"""What is bounded, and what is a preview, is said by every command that shows an environment."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.app.memory_world import MemoryWorld, build, graph_of
from tests.app.shop_world import EDITED, SALES, SHOP, day, done, shop_in_production
from tests.cli.calling import call, facts
from tests.cli.changing import serve, write_models

KEPT = {**SHOP, "sales": SALES.replace("time_column day)", "time_column day, forward_only true)")}
DAY = "2024-01-02T00:00:00+00:00"
BOUNDED = "bounded from 2024-01-02"
PREVIEW = "preview from 2024-01-02"


@pytest.fixture
def bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose edit dev shows from the second day on."""
    world = shop_in_production()
    done(world.services(), graph_of(EDITED), start=day(2).start)
    serve(world, monkeypatch)
    return write_models(tmp_path / "shop", EDITED)


@pytest.fixture
def previewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose forward-only edit dev shows in a table of its own."""
    world = MemoryWorld()
    world.land((1, 10), (30, 5), (50, 7), until=72)
    build(world.services(), graph_of(KEPT))
    changed = {**KEPT, "sales": KEPT["sales"].replace("SUM(amount)", "SUM(amount * 10)")}
    done(world.services(), graph_of(changed), effective_from=day(2).start)
    serve(world, monkeypatch)
    return write_models(tmp_path / "shop", changed)


def advised(text: str) -> list[str]:
    return shlex.split(re.findall(r"`(vde [^`]+)`", text)[-1])[1:]


def test_a_plan_says_what_begins_later(bounded: Path) -> None:
    words = ("plan", "dev", "--start", "2024-01-03", "--no-apply", "--project", bounded)
    text = " ".join(call(*words).stdout.split())
    assert "(bounded from 2024-01-03)" in text
    said = "Starts later than its model, and is never promoted: mart.total"
    assert f"{said} (bounded from 2024-01-03)." in text
    changes = {each["name"]: each for each in facts(*words)["changes"]}
    total, sales = changes["mart.total"], changes["mart.sales"]
    bounded_from = total["bounded"]["since"], total["bounded"]["is_preview"]
    assert bounded_from == ("2024-01-03T00:00:00+00:00", False)
    (reason,) = total["reasons"]
    assert reason["sentence"] == "bounded: it starts at 2024-01-03, and is never promoted"
    assert sales["bounded"] is None


def test_a_promotion_says_what_it_does_not_take(bounded: Path) -> None:
    text = " ".join(call("promote", "dev", "--no-apply", "--project", bounded).stdout.split())
    assert "its version in dev starts at 2024-01-02 and is never promoted" in text


def test_status_names_what_begins_later_and_the_command_that_shows_all_of_it(
    bounded: Path,
) -> None:
    text = call("status", "dev", "--project", bounded).stdout
    (line,) = [each for each in text.splitlines() if BOUNDED in each]
    (found,) = facts("status", "dev", "--project", bounded)["bounded"]
    assert (found["name"], found["bounded"]["since"]) == ("mart.total", DAY)
    carried_out = call(*advised(line), "--auto-apply")
    assert carried_out.exit_code == 0, carried_out.output
    assert facts("status", "dev", "--project", bounded)["bounded"] == []


def test_status_names_a_preview_and_the_command_that_promotes_its_change(previewed: Path) -> None:
    text = call("status", "dev", "--project", previewed).stdout
    (line,) = [each for each in text.splitlines() if PREVIEW in each]
    (found,) = facts("status", "dev", "--project", previewed)["bounded"]
    assert (found["name"], found["bounded"]["is_preview"]) == ("mart.sales", True)
    carried_out = call(*advised(line), "--auto-apply")
    assert carried_out.exit_code == 0, carried_out.output
    rows = facts("diff", "dev", "prod", "--project", previewed)["models"]
    (sales,) = (each for each in rows if each["node"]["name"] == "mart.sales")
    assert (sales["before"]["bounded"]["since"], sales["before"]["bounded"]["is_preview"]) == (
        *(DAY, True),
    )
    assert sales["after"]["bounded"] is None
    assert (sales["difference"]["change"], sales["rows"]) == ("none", "equal rows")


def test_what_is_bounded_is_in_history_and_in_a_comparison(bounded: Path) -> None:
    found = facts("history", "dev", "--project", bounded)["revisions"][0]
    assert (found["bounded"], found["previews"]) == (["mart.total"], [])
    text = call("diff", "prod", "dev", "--project", bounded).stdout
    assert f"dev: {BOUNDED}, and never promoted" in text
