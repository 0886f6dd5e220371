"""The pictures of docs/ and the README: `python -m tests.browser.pictures FOLDER [NAME ...]`.

They are of the flights example, built with real Spark in FOLDER, which takes some minutes. If
FOLDER is there already, it is used as it is. Two audits are added to the example: one that every
row passes, and in dev one that rows fail.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import expect

from tests.browser.server import served
from tests.browser.ui import Ui, browser_page
from tests.cli.calling import run_vde
from tests.conftest import _chromium

ROOT: Final = Path(__file__).parents[2]
EXAMPLE: Final = ROOT / "examples" / "nyc_flights"
MOST_BYTES: Final = 200_000
_AUDITED: Final = "grain (flight_date, carrier)\n"


@dataclass(frozen=True, slots=True)
class Flights:
    """The flights example as somebody has it who has begun to work with it."""

    folder: Path

    @classmethod
    def build(cls, folder: Path) -> Flights:
        """Three days in production, and in dev a change whose audit finds rows."""
        ignored = shutil.ignore_patterns(".vde", "__pycache__")
        shutil.copytree(EXAMPLE, folder, ignore=ignored, dirs_exist_ok=True)
        made = cls(folder)
        made.land("2013-01-04T00:00")
        made._edit(_AUDITED, f"{_AUDITED.rstrip()},\n  audits (not_null (columns := carrier))\n")
        made.vde("plan", "prod", "--auto-apply")
        made._edit(
            "audits (not_null (columns := carrier))",
            "audits (\n    not_null (columns := carrier),\n"
            "    accepted_range (column := departed_over_15_late, max_v := 40)\n  )",
        )
        made._edit(
            "  COUNT_IF(cancelled)",
            "  COUNT_IF(NOT cancelled) AS flown, -- Not cancelled\n  COUNT_IF(cancelled)",
        )
        made.vde("plan", "dev", "--auto-apply", succeeds=False)
        return made

    def land(self, until: str) -> None:
        """Let upstream systems land everything that was known by then."""
        program = [sys.executable, "landing.py", "--until", until]
        subprocess.run(program, cwd=self.folder, check=True, capture_output=True)

    def vde(self, *arguments: str, succeeds: bool = True) -> None:
        """Run a command."""
        done = run_vde(*arguments, "--project", self.folder)
        assert (done.returncode == 0) is succeeds, done.stdout + done.stderr

    def _edit(self, old: str, new: str) -> None:
        model = self.folder / "models" / "mart" / "carrier_delays.sql"
        text = model.read_text("utf-8")
        assert old in text, old
        model.write_text(text.replace(old, new), "utf-8")


def asset_graph(ui: Ui, _: Flights) -> None:
    """What a model reads and what reads it, up to the sources and down to the end."""
    ui.open_asset("core/flights", "lineage")
    ui.page.get_by_role("button", name="All", exact=True).click()
    ui.page.get_by_role("button", name="Hide navigation").click()
    for _step in range(3):
        ui.page.get_by_role("button", name="zoom_out").click()
    for name in ("punctuality", "weather", "delays_by_airline"):
        ui.sees(name)


def asset_checks(ui: Ui, _: Flights) -> None:
    """The checks of a model that passes them."""
    ui.open_asset("mart/carrier_delays", "checks")
    ui.sees("Checks (5)")
    ui.sees("Evaluation result")
    expect(ui.page.get_by_text("Not Evaluated")).to_have_count(0)


def asset_partitions(ui: Ui, _: Flights) -> None:
    """The hours of a model, with what is recorded of one of them."""
    ui.open_asset("core/flights", "partitions")
    ui.sees("Materialized (72)")
    ui.page.get_by_text("2013-01-03-12:00", exact=True).first.click()
    ui.see(ui.row("dagster/partition_row_count"))


def asset_page(ui: Ui, _: Flights) -> None:
    """What a model is and what it has."""
    ui.open_asset("mart/carrier_delays")
    ui.see(ui.row("vde/fingerprint"))


def plan_run(ui: Ui, _: Flights) -> None:
    """The run of a plan that `vde plan prod` applied."""
    ui.open("runs")
    ui.sees("vde_plan")
    ui.page.get_by_role("link", name="View").last.click()
    ui.until_run_ends()
    ui.sees("Succeeded (10)")
    ui.page.get_by_role("button", name="expand_arrows").first.click()


def catch_up_run(ui: Ui, flights: Flights) -> None:
    """A session that was launched from the launchpad, with what it found."""
    flights.land("2013-01-04T03:00")
    ui.launch("prod", "vde_automation", "ops: {run: {config: {only_late_data: true}}}")
    ui.see(ui.page.get_by_text("vde/late_rows_session").first)


def failed_check(ui: Ui, _: Flights) -> None:
    """An audit that found rows before anybody could read them."""
    ui.open_asset("mart__dev/carrier_delays", "checks")
    ui.page.get_by_text("accepted_range", exact=True).first.click()
    ui.sees(re.compile("Nothing is published"))


PICTURES: Final[dict[str, Callable[[Ui, Flights], None]]] = {
    "asset-graph": asset_graph,
    "asset-page": asset_page,
    "asset-checks": asset_checks,
    "asset-partitions": asset_partitions,
    "plan-run": plan_run,
    "catch-up-run": catch_up_run,
    "failed-check": failed_check,
}


def take(address: str, flights: Flights, name: str) -> None:
    """Take one picture in a new browser: pages remember what was opened and hidden in them."""
    program = _chromium()
    assert program is not None, "Chromium is not installed: apt-get install chromium"
    target = ROOT / "docs" / "pictures" / f"{name}.png"
    with browser_page(program) as page:
        ui = Ui(page, address)
        PICTURES[name](ui, flights)
        target.write_bytes(ui.picture())
    _with_fewer_colours(target)
    assert target.stat().st_size <= MOST_BYTES, f"{target} has {target.stat().st_size:,} bytes"
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")


def _with_fewer_colours(picture: Path) -> None:
    """Make it a third as large where pngquant is installed; nobody sees a difference."""
    program = shutil.which("pngquant")
    if program is not None:
        quality = ["--force", "--skip-if-larger", "--ext", ".png", "--quality", "80-100"]
        done = subprocess.run([program, *quality, picture], check=False)
        assert done.returncode in (0, 98, 99), done  # 98, 99: the picture stays as it was


def main(folder: str, *names: str) -> None:
    """Take the pictures of these names, or all of them."""
    place = Path(folder).resolve()
    flights = Flights(place) if place.exists() else Flights.build(place)
    with served(place, place / ".vde" / "ui.log") as address:
        for name in names or PICTURES:
            take(address, flights, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
