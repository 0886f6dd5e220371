"""A project folder with one source of events, for this process and for others."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from tests.app.faults.endings import ending
from tests.lakehouse.kinds.worlds import START, Values, hours
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import Conflict
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

ROOT: Final = Path(__file__).parents[3]
CONFIGURATION: Final = """\
name: kinds
catalog:
  name: {catalog}
defaults:
  start: 2024-01-01
clock:
  valid_to: [raw.events]
spark:
  conf:
    spark.driver.memory: 1g
    spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m
    spark.sql.shuffle.partitions: "1"
"""
SOURCES: Final = """\
- name: raw.events
  columns: {id: bigint, at: timestamp, amount: bigint}
"""
SCHEMA: Final = pa.schema(
    [("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("amount", pa.int64())]
)


@dataclass(frozen=True)
class Folder:
    """A project, its source, and what a reader without Spark sees of its tables."""

    path: Path

    @classmethod
    def make(cls, path: Path, catalog: str, models: Mapping[str, str]) -> Folder:
        """Write the files, and land an empty source. ``models`` are texts by schema.name."""
        (path / "models").mkdir(parents=True)
        (path / "vde.yaml").write_text(CONFIGURATION.format(catalog=catalog), encoding="utf-8")
        (path / "external_models.yaml").write_text(SOURCES, encoding="utf-8")
        for name, text in models.items():
            (path / "models" / f"{name}.sql").write_text(text, encoding="utf-8")
        made = cls(path).project().iceberg_catalog()
        made.create_namespace("raw")
        made.create_table("raw.events", SCHEMA)
        return cls(path)

    def project(self) -> VdeProject:
        """The project as a new process opens it."""
        return VdeProject.load(self.path)

    def land(self, events: Iterable[tuple[int, float, int]], *, until: float) -> None:
        """Land (id, hour it happened in, amount); the source is complete to an hour."""
        table = self.project().iceberg_catalog().load_table("raw.events")
        rows = [
            {"id": number, "at": hours(hour, hour + 1).start, "amount": amount}
            for number, hour, amount in events
        ]
        with table.transaction() as change:
            if rows:
                change.append(pa.Table.from_pylist(rows, schema=SCHEMA))
            change.set_properties({"vde.valid-to": hours(until, until + 1).start.isoformat()})

    def apply(self) -> None:
        """Plan production and apply the plan."""
        project = self.project()
        plan = plan_environment(project.services, project.files.graph, "prod")
        apply_plan(project.services, plan, lambda _: None)

    def rows(self, name: str) -> list[Values]:
        """What readers of a model's table see, sorted."""
        services = self.project().services
        target = bound(services).key(ModelName.parse(name)).table
        table = self.project().iceberg_catalog().load_table((target.namespace, target.name))
        return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())

    def elsewhere(self, name: str, interval: Interval, *, patient: bool) -> subprocess.Popen[str]:
        """A process that evaluates an interval; see `main`."""
        borders = (interval.start, interval.end)
        hour = [int((each - START).total_seconds() // 3600) for each in borders]
        command = [sys.executable, "-m", "tests.lakehouse.kinds.projects", str(self.path), name]
        return subprocess.Popen(
            [*command, *map(str, hour), "patient" if patient else "once"],
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


def bound(services: Services) -> Binding:
    """What production runs."""
    binding = bind_environment(services, "prod")
    assert binding is not None
    return binding


def reported(process: subprocess.Popen[str]) -> dict[str, object]:
    """What a process of `Folder.elsewhere` printed at its end."""
    out, errors = process.communicate(timeout=1800)
    assert process.returncode == 0, errors
    found = json.loads(out.splitlines()[-1])
    assert isinstance(found, dict)
    return found


def main(path: str, name: str, first: str, last: str, how: str) -> None:
    """Evaluate an interval, once or until nobody else writes the version; report how it ended."""
    project = VdeProject.load(Path(path))
    services, ended = project.services, ""
    for _ in range(600 if how == "patient" else 1):
        try:
            evaluate(services, bound(services), ModelName.parse(name), hours(int(first), int(last)))
            ended = "evaluated"
            break
        except Conflict as error:
            ended = ending(error)
            time.sleep(0.2)
    print(json.dumps({"ended": ended}))
    project.engine.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
