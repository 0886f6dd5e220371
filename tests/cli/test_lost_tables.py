"""A lost table in `vde plan`, `run` and `status`: the rest goes on, and what is advised ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.memory_world import bound
from tests.app.shop_world import AMOUNTS, SALES_NAME, SHOP
from tests.cli.calling import call
from tests.cli.changing import serve
from tests.cli.test_status import Night, advised, carry_out, group

COUNT = "MODEL (name mart.count, kind FULL, cron '@daily');\nSELECT COUNT(*) AS n FROM raw.events"
FILES = {**SHOP, "count": COUNT}
SALES = [(AMOUNTS[0][0], sum(10 + hour for hour in range(10))), *AMOUNTS[1:]]


class Shop(Night):
    """The shop with a model that does not read its sales."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, FILES)
        self.land((30, 5), (50, 7), until=72)
        self.run()

    def edit(self, name: str, text: str) -> None:
        (self.folder / "models" / f"{name}.sql").write_text(text)

    def plan(self, *words: str) -> tuple[int, str]:
        done = call("plan", "prod", "--auto-apply", *words, "--project", self.folder)
        return done.exit_code, done.stderr

    def check(self) -> int:
        return call("status", "--check", "--project", self.folder).exit_code


def named(text: str) -> set[tuple[str, ...]]:
    """The commands of a text; errors do not name the project."""
    return {
        tuple(each[: each.index("--project")] if "--project" in each else each)
        for each in advised(text)
    }


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    made = Shop(tmp_path / "shop")
    serve(made.world, monkeypatch)
    return made


def test_lost_files_are_found_where_they_are_read_and_all_commands_know_them_then(
    shop: Shop,
) -> None:
    lost = shop.world.catalog.lose_file(bound(shop.world.services()).key(SALES_NAME).table)
    assert shop.check() == 0, "a status looks for no file"
    shop.edit("triple", SHOP["triple"].replace("* 3", "* 30"))
    code, told = shop.plan()
    assert (code, lost in told, "mart.triple was not computed" in told) == (1, True, True)
    shop.edit("triple", SHOP["triple"])
    shop.edit("count", COUNT.replace("COUNT(*)", "COUNT(*) * 2"))
    assert shop.check() == 1
    status = group(shop.text(), "Not as recorded")
    assert lost in status
    code, planned = shop.plan()
    assert (code, lost in planned) == (1, True)
    explained = call("run", "--explain", "--project", shop.folder)
    assert (explained.exit_code, lost in explained.stderr) == (1, True)
    assert shop.world.rows("mart.count") == [(len(shop.world.rows("raw.events")) * 2,)]
    found = call("repair", "mart.sales", "--project", shop.folder)
    assert (found.exit_code, advised(found.stdout)) == (1, advised(status))
    (restatement,) = advised(status)
    assert restatement[:4] == ["run", "prod", "--restate-model", "mart.sales"]
    assert named(told) == named(status)
    carry_out([restatement])
    assert (shop.check(), shop.plan()[0]) == (0, 0)
    assert call("repair", "mart.sales", "--project", shop.folder).exit_code == 0
    assert shop.world.rows("mart.sales") == SALES


def test_a_run_that_lacks_a_file_computes_the_rest_until_the_file_is_put_back(shop: Shop) -> None:
    table = bound(shop.world.services()).key(SALES_NAME).table
    shop.edit("triple", SHOP["triple"].replace("* 3", "* 30"))
    shop.world.catalog.lose_file(table)
    assert shop.plan()[0] == 1
    shop.land((80, 5), until=96)
    ran = call("run", "--project", shop.folder)
    assert (ran.exit_code, "is missing 1 file" in ran.stderr) == (1, True)
    assert shop.world.rows("mart.count") == [(13,)]
    shop.world.catalog.lost_files.clear()
    assert call("run", "--project", shop.folder).exit_code == 0
    assert shop.check() == 0


def test_rows_that_are_never_computed_again_have_another_advice(shop: Shop) -> None:
    kept = SHOP["sales"].replace("column day", "column day, disable_restatement true")
    shop.edit("sales", kept)
    assert shop.plan()[0] == 0
    shop.world.catalog.lose_file(bound(shop.world.services()).key(SALES_NAME).table)
    found = call("repair", "mart.sales", "--project", shop.folder).stdout
    assert "disable_restatement" in found
    assert "Write another `stamp`" in found
    shop.edit("sales", kept.replace("cron", "stamp 'again', cron"))
    carry_out([[*e, "--auto-apply"] for e in advised(found)])
    assert call("repair", "mart.sales", "--project", shop.folder).exit_code == 0
    assert shop.world.rows("mart.sales") == SALES
