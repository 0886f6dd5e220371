"""What `benchmarks.lookback` measures, on Spark and Iceberg: the CPU of this process and its JVM.

Each hour of real flights lands as its own Iceberg snapshot, and then the two facts are loaded. Only
the loading counts, not the landing, nor the first load, with which Spark starts.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.lookback import LATE_DATA, LOOKBACKS, SESSIONS, title
from benchmarks.measuring import Settings, Step, measured, print_table

if TYPE_CHECKING:
    from vde_dagster.composition import VdeProject

DAYS: Final = 3
_EXAMPLE: Final = Path(__file__).parents[1] / "examples" / "nyc_flights"
_SETTINGS: Final = """
spark:
  conf:
    spark.driver.memory: 2g
    spark.sql.shuffle.partitions: "2"
"""


def facts(strategy: str, folder: Path) -> Step:
    """Load the two facts hour by hour, and count."""
    from tests.flights.expected import differences
    from tests.flights.world import ARRIVALS, DEPARTURES, HOUR, START
    from vde_dagster.app.apply.applying import apply_plan
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.app.catch_up.listing import late_data_listed
    from vde_dagster.app.catch_up.sessions import catch_up
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.app.evaluate.evaluation import evaluate
    from vde_dagster.app.plan.planning import plan_environment
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.time.intervals import Interval

    _write_project(folder, strategy)
    project, names = VdeProject.load(folder), (DEPARTURES, ARRIVALS)
    hour, end = START + 12 * HOUR, START + timedelta(days=DAYS)
    landing = _landed(project, hour, end)
    next(landing)
    project.open_spark()
    services = project.services
    plan = plan_environment(services, project.files.graph, "prod")
    apply_plan(services, plan, lambda _: None)
    binding = bind_environment(services, "prod")
    assert binding is not None, "it was built"
    rows, used, wall = 0, 0.0, 0.0
    for hour in landing:
        before, began = own_cpu(), time.monotonic()
        with late_data_listed(services):  # as a run of both does
            for name in names:
                if strategy == SESSIONS:
                    done = catch_up(services, binding, name)
                    rows += done.rows if isinstance(done, Evaluated) else 0
                    continue
                first = max(START, hour - (int(strategy) + 1) * HOUR)
                rows += evaluate(services, binding, name, Interval(first, hour), force=True).rows
        used += own_cpu() - before
        wall += time.monotonic() - began
    lacking = 0
    for name in names:
        table = binding.key(name).table
        found = project.iceberg_catalog().load_table((table.namespace, table.name))
        held = [tuple(row.values()) for row in found.scan().to_arrow().to_pylist()]
        lacking += len(differences(name, held, START, hour))
    return {"rows": rows, "CPU": used, "wall": wall, "missed": lacking}


def _write_project(folder: Path, strategy: str) -> None:
    """The example with its two facts alone; with a lookback they have no late_data."""
    shutil.copytree(_EXAMPLE, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    shutil.rmtree(folder / "models")
    for name in ("departures", "arrivals"):
        path = folder / "models" / f"{name}.sql"
        path.parent.mkdir(exist_ok=True)
        text = (_EXAMPLE / "models" / "staging" / path.name).read_text("utf-8")
        path.write_text(text if strategy == SESSIONS else LATE_DATA.sub("", text), "utf-8")
    with (folder / "vde.yaml").open("a", encoding="utf-8") as settings:
        settings.write(_SETTINGS)


def _landed(project: VdeProject, first: datetime, end: datetime) -> Iterator[datetime]:
    """Up to when all is landed: the first hours at once, then one hour after the other."""
    import landing

    from tests.flights.world import HOUR, START, feeds

    catalog = project.iceberg_catalog()
    catalog.create_namespace_if_not_exists(landing.NAMESPACE)
    landers = [landing.Lander(catalog, feeds()[name]) for name in ("departures", "arrivals")]
    hour = START
    while hour < end:
        hour += HOUR
        for lander in landers:
            lander.land_before(hour)
            lander.declare(hour)
        if hour >= first:
            yield hour


def own_cpu() -> float:
    """The seconds of this process and of the JVM, which it has not waited for."""
    ticks = os.sysconf("SC_CLK_TCK")
    pids = ["self", *_java()]
    return sum(_ticks(pid) for pid in pids) / ticks


def _java() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):  # it has ended meanwhile
            if path.read_text().strip() == "java" and _is_ours(path.parent.name):
                yield path.parent.name


def _is_ours(pid: str) -> bool:
    """Whether a process descends from this one."""
    while pid not in ("0", "1"):
        if pid == str(os.getpid()):
            return True
        pid = _stat(pid)[1]
    return False


def _ticks(pid: str) -> int:
    return sum(int(each) for each in _stat(pid)[11:13])


def _stat(pid: str) -> list[str]:
    """What follows the name in a process's line, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def main(settings: Settings) -> None:
    """Print a line for each strategy."""
    rows: list[list[str | float]] = []
    for each in (SESSIONS, *map(str, LOOKBACKS)):
        found = measured([sys.executable, "-m", "benchmarks.lookback_spark", each])
        counts: list[str | float] = [
            f"{found['rows']:,.0f}",
            found["CPU"],
            found["wall"],
            f"{found['missed']:,.0f}",
        ]
        rows.append([title(each), *counts])
        print(f"{title(each)}: {json.dumps(found)}", flush=True)
    print(f"Two facts of real flights on Spark, {DAYS} days hour by hour")
    print_table(["", "rows", "CPU", "wall", "missed"], rows)


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    sys.path[:0] = [str(root), str(_EXAMPLE)]
    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(facts(sys.argv[1], Path(made) / "flights")))
