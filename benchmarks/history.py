"""What 10, 1,000 and 10,000 recorded hours of each of 200 models cost, on SQLite and Postgres.

Each hour of each model has an entry and a unit of work, as hourly runs leave them. Measured are CPU
and wall seconds, or milliseconds, of

- *plan*: planning where nothing has changed, in a process that has loaded the project;
- *step*: what one evaluation of an hour reads of the state and records there, leases included;
- *tick*: a tick of the automation sensor that finds nothing to do;
- *status*: the look of `vde status`;
- *vde plan*: the whole command, with the start of Python and all imports.

Each round is a new process, sizes and databases alternate, medians are printed. On Postgres CPU is
that of the client. *models* measures the same for 50 to 5,000 models of 10 hours each, and *sizes*
what an hour of a model takes in a SQLite state, before and after it is compacted.

`python -m benchmarks.history RESULTS.json FILE.svg` draws what a run has written.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4

from benchmarks.filled import HOUR, fill
from benchmarks.measuring import Settings, Step, alternating, cpu_seconds, measured, print_table
from benchmarks.pictures import GRAY, GREEN, STEP, Bar, chart, page
from benchmarks.projects import LAYERS
from benchmarks.staleness import Size, write
from tests.postgres_server import new_database, postgres_programs, running_server
from vde_dagster.core.ledger.entries import LedgerChange, LedgerOperation
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import version_resource

SIZES: Final = (Size(200, 10), Size(200, 1_000), Size(200, 10_000))
MODELS: Final = (Size(50, 10), Size(500, 10), Size(1_000, 10), Size(2_500, 10), Size(5_000, 10))
RECORDED_FIRST: Final = 10
"""Hours that go through the state's port; the database copies the others."""
STEPS: Final = 20
MOST_IN_DAGSTER: Final = 1_001
"""Loading more models in Dagster takes longer than all else: `benchmarks.dagster_load` has that."""
RESULTS: Final = "{}.json"


def prepare(root: Path, size: Size, state: str = "") -> Path:
    """The folder of a filled project, which is created if it is missing.

    One whose state is at an address is new each time, as its database is.
    """
    name = f"{size.models}_{size.hours}" + (f"_{uuid4().hex[:8]}" if state else "")
    folder = root / "history" / name
    if not (folder / ".filled").exists():
        print(f"filling {name} ...", file=sys.stderr)
        write(folder, size, state=state)
        fill(folder, older=size.hours - RECORDED_FIRST)
        (folder / ".filled").touch()
    return folder


@dataclass
class Timer:
    """CPU and wall seconds of what is run, after it was run once."""

    found: Step

    def time(self, name: str, run: Callable[[], object], *, times: int = 1) -> None:
        """Add what one of several runs takes, in milliseconds."""
        run()
        cpu, wall = cpu_seconds(), time.perf_counter()
        for _ in range(times):
            run()
        self.found[f"{name} CPU"] = (cpu_seconds() - cpu) / times * 1000
        self.found[f"{name} wall"] = (time.perf_counter() - wall) / times * 1000


def measure(folder: Path) -> Step:
    """Milliseconds of each operation in this process."""
    from vde_dagster.app.apply.running import plan_run
    from vde_dagster.app.inspect.status import look_at_operations, status_of
    from vde_dagster.app.plan.planning import plan_environment
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    services, graph = project.services, project.files.graph
    timer = Timer({})

    def plan() -> None:
        assert plan_environment(services, graph, "prod").is_up_to_date

    def status() -> None:
        found = plan_run(services, "prod")
        assert status_of(services, found).is_up_to_date
        look_at_operations(services, found)

    timer.time("plan", plan)
    timer.time("status", status)
    stepping = Stepping(project)
    timer.time("step", stepping.step, times=STEPS)
    stepping.end()
    if sum(1 for _ in graph) <= MOST_IN_DAGSTER:
        timer.time("tick", ticking(folder))
    return timer.found


class Stepping:
    """Evaluations of the last hour of a model that reads another one, as far as the state goes."""

    def __init__(self, project: object) -> None:
        from vde_dagster.app.binding import bind_environment
        from vde_dagster.composition import VdeProject

        assert isinstance(project, VdeProject)
        self.services = project.services
        binding = bind_environment(self.services, "prod")
        assert binding is not None, "it is filled"
        self.binding = binding
        last = f"l{LAYERS - 1}.m0"  # nothing reads it
        self.node = next(each for each in binding.graph if str(each.name) == last)

    def end(self) -> None:
        """Look at all models, as the end of a run does: the next plan has nothing to compare."""
        from vde_dagster.app.staleness.remembered_looks import remember_looks

        remember_looks(self.services, self.binding)

    def step(self) -> None:
        """What it reads of the inputs and of what is there; intent, staged, finalized."""
        state, key = self.services.state, self.binding.key(self.node.name)
        parents = [
            self.binding.key(name)
            for name in self.node.model.parents
            if not self.binding.graph[name].model.kind.is_source
        ]
        assert state.revision("prod") == self.binding.revision
        assert state.owners([key]) == {key: "prod"}
        lease = state.acquire_lease(version_resource(key), holder="bench", ttl=HOUR)
        assert not state.open_work(key)
        holding = state.holdings([key, *parents])[key]
        hour = Interval(holding.recorded[-1].end - HOUR, holding.recorded[-1].end)
        heads = state.heads([key, *parents])
        read = [state.entries_within(each, (hour,)) for each in parents]
        (entry,) = state.entries_within(key, (hour,))
        assert all(read)
        intent = Intent(
            work_id=self.services.ids.new(),
            key=key,
            environment="prod",
            intervals=(hour,),
            inputs={each.model: heads.get(each) for each in parents},
            base=heads.get(key),
            execution_time=self.services.clock.now(),
        )
        change = LedgerChange(
            operation=LedgerOperation.REPLACE, interval=hour, rows=entry.rows, trace=entry.trace
        )
        published = Publication(
            iceberg_snapshot_id=heads.get(key), changes=(change,), columns=self.node.columns
        )
        state.record_intent(intent, lease=lease)
        state.record_staged(intent.work_id, published, lease=lease)
        state.finalize(intent.work_id, lease=lease)
        state.release_lease(lease)


def ticking(folder: Path) -> Callable[[], None]:
    """Ticks of the automation sensor, in a code location that stays loaded."""
    import dagster as dg

    from vde_dagster import build_definitions

    warnings.simplefilter("ignore")
    instance = dg.DagsterInstance.ephemeral()
    definitions = build_definitions(folder, environment="prod")
    sensor = definitions.resolve_sensor_def("vde_automation_prod")

    def tick() -> None:
        with dg.build_sensor_context(instance=instance, definitions=definitions) as context:
            answer = sensor.evaluate_tick(context)
        assert not answer.run_requests, "nothing is due and nothing is stale"

    return tick


def run(folder: Path) -> Step:
    """One process for the operations, and one for the command."""
    found = measured([sys.executable, "-m", "benchmarks.history", str(folder)])
    command = [str(Path(sys.executable).with_name("vde")), "plan", "prod", "--project", str(folder)]
    cpu, wall = cpu_seconds(), time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    found["vde plan CPU"] = (cpu_seconds() - cpu) * 1000
    found["vde plan wall"] = (time.perf_counter() - wall) * 1000
    return found


def main(settings: Settings) -> None:
    """Print a line for each database and number of hours."""
    _compare(settings, "history", SIZES, "models x hours")


def models(settings: Settings) -> None:
    """Print a line for each database and number of models."""
    _compare(settings, "models", MODELS, "models x hours")


def sizes(settings: Settings) -> None:
    """Print the bytes of one hour of one model in each table, with its indexes."""
    from vde_dagster.composition import VdeProject

    size = Size(20, 1_000)
    folder = prepare(settings.folder / "sizes", size)
    project = VdeProject.load(folder)
    before = _bytes(project.configuration.database)
    project.services.state.prune(timedelta(0))
    after = _bytes(project.configuration.database)
    hours = size.models * size.hours
    rows = [
        [name, *(f"{found.get(name, 0) / hours:,.0f}" for found in (before, after))]
        for name in sorted(before, key=lambda each: -before[each])
        if before[name] >= hours
    ]
    print("bytes for each hour of each model")
    print_table(["table", "at first", "compacted"], rows)


def _bytes(database: Path) -> dict[str, int]:
    """What each table of the state takes in a SQLite file without gaps, with its indexes."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("VACUUM")
        found = connection.execute(
            "SELECT s.tbl_name, SUM(d.pgsize) FROM dbstat AS d JOIN sqlite_schema AS s "
            "ON s.name = d.name WHERE s.tbl_name LIKE 'vde_%' GROUP BY s.tbl_name"
        )
        return {name: int(size) for name, size in found}


def _compare(settings: Settings, name: str, sizes: Sequence[Size], head: str) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(_server())
        runs: dict[tuple[str, ...], Callable[[], Step]] = {}
        for size in sizes:
            for database in ("SQLite", *(["Postgres"] if server else [])):
                state = new_database(server) if database == "Postgres" else ""
                runs[database, str(size)] = partial(run, prepare(settings.folder, size, state))
        found = alternating(settings.rounds, runs)
    results = settings.folder / RESULTS.format(name)
    results.write_text(json.dumps([[*key, step] for key, step in found.items()]))
    columns = [*next(iter(found.values()))]
    rows = [
        [*key, *(f"{step[each]:,.0f}" if each in step else "" for each in columns)]
        for key, step in found.items()
    ]
    print("milliseconds, medians")
    print_table(["state", head, *columns], rows)
    print(f"The numbers are in {results}, which --folder keeps.")


def picture(found: Sequence[tuple[str, str, Step]]) -> str:
    """CPU milliseconds of each operation by size, those of a database together, as SVG."""
    parts: list[str] = []
    height = 60 + len(found) * STEP
    for place, name in enumerate(("plan", "status", "step", "tick")):
        of = f"{name} CPU"
        values = [
            Bar(
                label=f"{state} {size}",
                value=step[of],
                shown=f"{step[of]:,.1f}",
                color=_COLORS[state],
            )
            for state, size, step in found
            if of in step
        ]
        left, top = 20 + place % 2 * 440, 40 + place // 2 * height
        parts += chart(f"{name}: ms of CPU", values, left=left, top=top, labels=170, longest=180)
    return page(parts, width=880, height=2 * height)


_COLORS: Final = {"SQLite": GREEN, "Postgres": GRAY}


@contextmanager
def _server() -> Iterator[str]:
    """The address of a Postgres server; empty where none is installed."""
    programs = postgres_programs()
    if programs is None:
        print("PostgreSQL's programs are not installed: only SQLite is measured", file=sys.stderr)
        yield ""
        return
    with running_server(programs) as url:
        yield url


if __name__ == "__main__":
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(picture(json.loads(Path(sys.argv[1]).read_text())))
    else:
        print(json.dumps(measure(Path(sys.argv[1]))))
