"""`vde plan prod` by the size of the state: CPU seconds after no change and after a small one.

Models are hourly and read each other's hour, in layers. *changed* is after new rows of five hours
were recorded for the first model: these hours of all downstream models are compared. Other recorded
hours should cost nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.filled import HOUR, fill
from benchmarks.measuring import Settings, Step, alternating, cpu_seconds, measured, print_table
from benchmarks.projects import LAYERS, SOURCE
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import LedgerChange, LedgerOperation
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import version_resource

START = datetime(2024, 1, 1, tzinfo=UTC)
CHANGED = 5
SIZES = ((30, 100), (30, 1_000), (30, 10_000), (200, 1_000), (200, 10_000))
"""Models and recorded hours of each."""


@dataclass(frozen=True, slots=True)
class Size:
    """So many models, each with so many hours."""

    models: int
    hours: int

    def __str__(self) -> str:
        return f"{self.models} x {self.hours:,}"

    def parents(self) -> Iterator[tuple[str, str]]:
        """Each model's name with what it reads, parents first."""
        width = max(1, self.models // LAYERS)
        for number in range(self.models):
            layer, place = divmod(number, width)
            yield f"l{layer}.m{place}", SOURCE if layer == 0 else f"l{layer - 1}.m{place}"


def write(folder: Path, size: Size, *, state: str = "") -> None:
    """A project of hourly models; ``state`` is the address of its state, if it has one."""
    end = START + size.hours * HOUR
    folder.mkdir(parents=True, exist_ok=True)
    settings = f"name: bench\ndefaults:\n  start: {START:%Y-%m-%d}\n"
    settings += f"state:\n  url: {state}\n" if state else ""
    (folder / "vde.yaml").write_text(settings)
    columns = "id: bigint, ts: timestamp, amount: bigint"
    (folder / "external_models.yaml").write_text(f"- name: {SOURCE}\n  columns: {{{columns}}}\n")
    for name, parent in size.parents():
        path = folder / "models" / f"{name.replace('.', '/')}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"MODEL (name {name}, kind INCREMENTAL_BY_TIME_RANGE (time_column ts), "
            f"cron '@hourly', end '{end:%Y-%m-%d %H:%M}');\n"
            f"SELECT id, ts, amount + 1 AS amount FROM {parent}\n"
            "WHERE ts BETWEEN @start_dt AND @end_dt\n"
        )


def prepare(root: Path, size: Size) -> Path:
    """The folder of a filled project, which is created if it is missing."""
    folder = root / "staleness" / f"{size.models}_{size.hours}"
    if not (folder / ".filled").exists():
        print(f"filling {size} ...", file=sys.stderr)
        write(folder, size)
        fill(folder)
        (folder / ".filled").touch()
    return folder


def change(folder: Path) -> None:
    """Record other rows of five hours of the first model."""
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.composition import VdeProject

    services = VdeProject.load(folder).services
    binding = bind_environment(services, "prod")
    assert binding is not None, "it is filled"
    node = next(each for each in binding.graph if str(each.name) == "l0.m0")
    key, work_id = binding.key(node.name), services.ids.new()
    hours = tuple(Interval(START + n * HOUR, START + (n + 1) * HOUR) for n in range(CHANGED))
    (first, *_) = services.state.entries_within(key, hours)
    rows = first.rows + RowSum(rows=1, sum=7)
    changes = tuple(
        LedgerChange(operation=LedgerOperation.REPLACE, interval=each, rows=rows, trace=first.trace)
        for each in hours
    )
    lease = services.state.acquire_lease(version_resource(key), holder="bench", ttl=HOUR)
    intent = Intent(
        work_id=work_id,
        key=key,
        environment="prod",
        intervals=hours,
        inputs={},
        base=None,
        execution_time=services.clock.now(),
    )
    services.state.record_intent(intent, lease=lease)
    services.state.record_staged(
        work_id,
        Publication(iceberg_snapshot_id=1, changes=changes, columns=node.columns),
        lease=lease,
    )
    services.state.finalize(work_id, lease=lease)
    services.state.release_lease(lease)


def measure(folder: Path) -> Step:
    """The CPU seconds of a run's plan in this process, beyond imports and reading the project."""
    from vde_dagster.app.apply.running import plan_run
    from vde_dagster.composition import VdeProject

    services = VdeProject.load(folder).services
    plan_run(services, "prod")  # modules that are imported when they are needed
    before = cpu_seconds()
    plan = plan_run(services, "prod")
    return {
        "plan": cpu_seconds() - before,
        "stale": sum(len(each.stale) for each in plan.changes),
    }


def run(folder: Path) -> Step:
    """One process."""
    return measured([sys.executable, "-m", "benchmarks.staleness", str(folder)])


def main(settings: Settings) -> None:
    """Print a line for each size, before and after the change."""
    sizes = [Size(*each) for each in SIZES]
    folders = {size: prepare(settings.folder, size) for size in sizes}
    rows: list[list[str | float]] = []
    for what in ("nothing", "changed"):
        if what == "changed":
            for folder in folders.values():
                change(folder)
        found = alternating(
            settings.rounds,
            {(str(size),): partial(run, folder) for size, folder in folders.items()},
        )
        rows += [[name, what, *step.values()] for (name,), step in found.items()]
    print("vde run prod, its plan: CPU seconds, medians")
    print_table(["models x hours", "", "plan", "models stale"], rows)


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
