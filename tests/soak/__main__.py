"""`./run soak`: the flights hour by hour on Spark, with sensor, janitor, maintenance and kills.

At the end every model has to have the rows that DuckDB computes from the CSV files, by code that
knows nothing of the project. What is measured each day is drawn: nothing may grow without an end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import expected
import landing
import pytest

from benchmarks.pictures import Bar, chart, page
from tests.dagster_server import group
from tests.quick_process import keep_files_in_memory
from vde_dagster.cli.printing import as_json
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SETTINGS = """
clean_up: {history: 0 seconds, grace: 0 seconds, environments: never}
maintain: {snapshots: 0 seconds, small_files: 2}
"""
"""The wall clock passes a day in minutes, so nothing is kept for longer than its own run."""


@dataclass(kw_only=True)
class Day:
    """What a day took, and what was there at its end; sizes are in MB."""

    number: int
    seconds: float = 0.0
    memory: float = 0.0
    files: int = 0
    warehouse: float = 0.0
    state: float = 0.0
    dagster: float = 0.0
    runs: int = 0
    kills: int = 0


@dataclass
class Soak:
    """The project's folder and what happened to it; ``failures`` are runs that were not killed.

    ``today`` is the day of the next hour, which is the first one of ``left``.
    """

    folder: Path
    chance: random.Random
    kill_every: float
    left: list[datetime]
    today: Day = field(default_factory=lambda: Day(number=1))
    days: list[Day] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """Dagster's storage."""
        return self.folder / ".vde" / "dagster"

    @property
    def _noted(self) -> Path:
        return self.folder / ".vde" / "soak.json"

    def go_on(self) -> None:
        """Go on where an earlier process stopped, if there was one."""
        if self._noted.exists():
            noted = json.loads(self._noted.read_text())
            self.today, self.days = Day(**noted["today"]), [Day(**each) for each in noted["days"]]
            self.left = [each for each in self.left if each.isoformat() > noted["hour"]]

    def _note(self, hour: str) -> None:
        noted = {"hour": hour, "today": self.today, "days": self.days}
        self._noted.write_text(json.dumps(noted, default=asdict))

    def live(self) -> Iterator[Day]:
        """Live through the hours, and give each day when it is over."""
        while self.left:
            process = self._start(self.left)
            kill = threading.Timer(self.chance.expovariate(1 / self.kill_every), _kill, [process])
            kill.daemon = True
            kill.start()
            assert process.stdout is not None
            assert process.stdin is not None
            for line in process.stdout:
                told = json.loads(line)
                self.left.pop(0)
                self.today.seconds += told["seconds"]
                self.today.runs += len(told["runs"])
                self.failures += [f"{told['hour']}: {each}" for each in told["runs"] if each]
                if datetime.fromisoformat(told["hour"]).hour == 0:
                    self._measure(self.today, process.pid)
                    yield self.today
                    self.days.append(self.today)
                    self.today = Day(number=self.today.number + 1)
                    with suppress(BrokenPipeError):  # it was killed while the day was compared
                        process.stdin.write("\n")
                        process.stdin.flush()
                self._note(told["hour"])
            kill.cancel()
            if process.wait() not in (0, -signal.SIGKILL):
                raise SystemExit(
                    f"The worker ended with {process.returncode} before {self.left[:1]}"
                )
            self.today.kills += bool(self.left)

    def _start(self, left: Sequence[datetime]) -> subprocess.Popen[str]:
        words = [str(self.folder), left[0].isoformat(), left[-1].isoformat()]
        with (self.folder / "worker.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.soak.worker", *words],
                env={**os.environ, "DAGSTER_HOME": str(self.home)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def _measure(self, day: Day, leader: int) -> None:
        day.memory = sum(map(_resident, group(leader))) / 1024
        vde = self.folder / ".vde"
        files = [each for each in (vde / "warehouse").rglob("*") if each.is_file()]
        day.files, day.warehouse = len(files), _megabytes(files)
        day.state = _megabytes(vde.glob("*.db*"))
        day.dagster = _megabytes(each for each in self.home.rglob("*") if each.is_file())


def _kill(process: subprocess.Popen[str]) -> None:
    for each in group(process.pid):
        os.kill(each, signal.SIGKILL)


def _resident(process: int) -> int:
    """The kB of memory that a process has."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(each.split()[1]) for each in lines if each.startswith("VmRSS")), 0)


def _megabytes(files: Iterable[Path]) -> float:
    return sum(each.stat().st_size for each in files) / 1_000_000


def differing(folder: Path, until: datetime) -> list[str]:
    """The models whose rows are not those that are computed from scratch."""
    project = VdeProject.load(folder)
    shown = project.services.state.environment("prod")
    assert shown is not None
    catalog = project.iceberg_catalog()
    wrong = []
    for name, wanted in expected.model_rows(until).items():
        model = ModelName.parse(name)
        if not project.files.graph[model].model.kind.stores_rows:
            continue
        table = shown.snapshots[model].key.table
        read = catalog.load_table((table.namespace, table.name)).scan().to_arrow()
        rows = Counter(map(_plain, zip(*(each.to_pylist() for each in read.columns), strict=True)))
        if rows != Counter(map(_plain, wanted.rows)):
            wrong.append(f"{name}: {rows.total()} rows, expected {len(wanted.rows)}")
    return wrong


def _plain(row: Iterable[object]) -> str:
    return json.dumps([as_json(value) for value in row])


def picture(days: Sequence[Day]) -> str:
    """What was measured, each over the days."""
    titles = {
        "seconds": "Seconds for a day's 24 hours",
        "memory": "Memory of Python and the JVM (MB)",
        "files": "Files in the warehouse",
        "warehouse": "Warehouse (MB)",
        "state": "State (MB)",
        "dagster": "Dagster's storage (MB)",
    }
    step = max(1, len(days) // 12)
    parts: list[str] = []
    for number, (name, title) in enumerate(titles.items()):
        values = [(each.number, float(asdict(each)[name])) for each in days[step - 1 :: step]]
        bars = [Bar(label=f"day {at}", value=each, shown=f"{each:,.0f}") for at, each in values]
        top, left = 40 + number // 2 * (len(bars) * 22 + 60), 20 + number % 2 * 420
        parts += chart(title, bars, left=left, top=top, labels=50, longest=240)
    return page(parts, width=860, height=3 * (len(days[step - 1 :: step]) * 22 + 60) + 20)


def _make(soak: Soak) -> None:
    """Make the project's folder, and Dagster's."""
    ignored = shutil.ignore_patterns(".vde", "__pycache__")
    shutil.copytree(Path(landing.__file__).parent, soak.folder, ignore=ignored)
    with (soak.folder / "vde.yaml").open("a", encoding="utf-8") as settings:
        settings.write(SETTINGS)
    soak.home.mkdir(parents=True)
    (soak.home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")


def main() -> int:
    """Exit code 1 if rows differ, or a run failed that nobody killed."""
    parser = argparse.ArgumentParser(prog="./run soak", description=__doc__)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--kill-every", type=float, default=600, metavar="SECONDS", help="on average (600)"
    )
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the days as an SVG")
    parser.add_argument(
        "--stories", action="store_true", help="tell those of each platform and of 14 days instead"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="live there, and go on with what an earlier process left; the folder stays",
    )
    asked = parser.parse_args()
    keep_files_in_memory()
    if asked.stories:
        return pytest.main(["-m", "story", "-n", "0", "tests/flights", "tests/platform"])
    with tempfile.TemporaryDirectory(prefix="vde-soak-") as temporary:
        folder = (asked.folder or Path(temporary)).resolve() / "nyc_flights"
        hours = [expected.START + number * HOUR for number in range(2, asked.days * 24 + 1)]
        soak = Soak(folder, random.Random(asked.seed), asked.kill_every, hours)
        if not soak.home.exists():
            _make(soak)
        soak.go_on()
        for day in soak.live():
            print(json.dumps(asdict(day)), flush=True)
            wrong = differing(folder, expected.START + day.number * DAY)
            if wrong or soak.failures:
                print(*wrong, *soak.failures, sep="\n")
                print((folder / "worker.log").read_text()[-4000:])
                return 1
    if asked.picture:
        asked.picture.write_text(picture(soak.days), encoding="utf-8")
    kills = sum(day.kills for day in soak.days)
    runs = sum(day.runs for day in soak.days)
    print(f"{len(soak.days)} days, {runs} runs, {kills} kills: every row as computed from scratch")
    return 0


if __name__ == "__main__":
    sys.exit(main())
