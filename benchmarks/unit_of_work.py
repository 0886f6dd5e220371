"""What one unit of work asks of Spark, the catalog and the state, in a session that is warm.

A first load of a FULL model, an hour of an hourly one, and a session with two late hours and one
that is due: calls of the JVM, statements and jobs of Spark, versions of table metadata, statements
over the catalog and the state, and CPU. Counts are the same each time. The first two alternate with
the same rows written by hand: CREATE TABLE AS SELECT, and an overwrite of the hour's partition.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from benchmarks.measuring import Settings, Step, measured, print_table
from benchmarks.processes import timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vde_dagster.composition import VdeProject
    from vde_dagster.core.names import ModelName

_MODELS: Final = 20
_WARM: Final = 8
"""The first models, which are not counted: Java has yet to load and compile what they need."""
_START: Final = datetime(2024, 1, 1, tzinfo=UTC)
_HOUR: Final = timedelta(hours=1)
_SOURCE: Final = "raw.events"
_SETTINGS: Final = f"name: bench\ndefaults: {{start: {_START:%Y-%m-%d}}}\n"
_EXTERNAL: Final = f"- name: {_SOURCE}\n  columns: {{id: bigint, at: timestamp}}\n"
_RANGE: Final = "INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'"
_LATE: Final = f"late_data (mode stateless, sources ({_SOURCE}))"
_WHERE: Final = "WHERE at BETWEEN @start_dt AND @end_dt"
_ROWS: Final = f"SELECT id, at FROM {_SOURCE}"
_LAKE_ROWS: Final = f"SELECT id, at FROM lake.{_SOURCE}"
_KINDS: Final = {
    "full": f"MODEL (name full.m{{}}, kind FULL); {_ROWS}",
    "hours": f"MODEL (name hours.m{{}}, kind {_RANGE}); {_ROWS} {_WHERE}",
    "late": f"MODEL (name late.m{{}}, kind {_RANGE}, {_LATE}); {_ROWS} {_WHERE}",
}


def prepare(folder: Path) -> VdeProject:
    """A project with models of each sort, and six hours in its source; nothing was computed."""
    import pyarrow as pa

    from vde_dagster.composition import VdeProject

    (folder / "models").mkdir(parents=True)
    (folder / "vde.yaml").write_text(_SETTINGS)
    (folder / "external_models.yaml").write_text(_EXTERNAL)
    for name, text in _KINDS.items():
        for number in range(_MODELS):
            (folder / "models" / f"{name}{number}.sql").write_text(text.format(number))
    project = VdeProject.load(folder)
    catalog = project.iceberg_catalog()
    catalog.create_namespace("raw")
    types = [("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))]
    catalog.create_table(_SOURCE, pa.schema(types))
    land(project, *range(6), until=6)
    return project


def land(project: VdeProject, *hours: int, until: int) -> None:
    """Fifty rows of each hour arrive; the source is complete up to an hour."""
    import pyarrow as pa

    table = project.iceberg_catalog().load_table(_SOURCE)
    times = [_START + hour * _HOUR + timedelta(minutes=row) for hour in hours for row in range(50)]
    columns = {"id": range(len(times)), "at": times}
    table.append(pa.Table.from_pydict(columns, schema=table.schema().as_arrow()))
    with table.transaction() as changes:
        changes.set_properties({"vde.valid-to": (_START + until * _HOUR).isoformat()})


def measure(folder: Path) -> dict[str, Step]:
    """What a unit of work of each sort takes, on average."""
    from vde_dagster.app.apply.applying import apply_plan
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.app.catch_up.sessions import catch_up
    from vde_dagster.app.evaluate.evaluation import evaluate
    from vde_dagster.app.plan.planning import plan_environment
    from vde_dagster.core.planning.options import PlanOptions
    from vde_dagster.core.time.intervals import ALWAYS, Interval

    project = prepare(folder)
    services, graph = project.services, project.files.graph
    apply_plan(
        services, plan_environment(services, graph, "prod", PlanOptions(skip_backfill=True)), _quiet
    )
    spark = project.open_spark()
    counts = Counts(spark, folder)
    binding = bind_environment(services, "prod")
    assert binding is not None, "it was promoted"
    spark.sql("CREATE NAMESPACE lake.hand")
    load, load_by_hand = counts.of(
        "full",
        lambda name: evaluate(services, binding, name, ALWAYS),
        lambda name: spark.sql(f"CREATE TABLE {_by_hand(name)} USING iceberg AS {_LAKE_ROWS}"),
    )
    first = Interval(_START, _START + 5 * _HOUR)
    for number in range(_MODELS):
        evaluate(services, binding, _name("hours", number), first)
        catch_up(services, binding, _name("late", number), within=first)
        made = f"CREATE TABLE {_by_hand(_name('hours', number))} USING iceberg"
        spark.sql(f"{made} PARTITIONED BY (hours(at)) AS {_LAKE_ROWS} WHERE {_before(first.end)}")
    hour = Interval(first.end, first.end + _HOUR)
    rows = f"{_LAKE_ROWS} WHERE NOT ({_before(hour.start)}) AND {_before(hour.end)}"
    one, one_by_hand = counts.of(
        "hours",
        lambda name: evaluate(services, binding, name, hour),
        lambda name: spark.sql(rows).writeTo(_by_hand(name)).overwritePartitions(),
    )
    for number in range(_MODELS):
        catch_up(services, binding, _name("late", number))
    land(project, 1, 3, 6, until=7)
    (session,) = counts.of("late", lambda name: catch_up(services, binding, name))
    return {
        "first load, FULL": load,
        "the same by hand": load_by_hand,
        "an hour": one,
        "an hour by hand": one_by_hand,
        "a session, 2 late hours and 1 due": session,
    }


def _by_hand(name: ModelName) -> str:
    """The table that a script fills in place of a model."""
    return f"lake.hand.{name.schema}_{name.name}"


def _before(end: datetime) -> str:
    return f"at < TIMESTAMP '{end:%Y-%m-%d %H:%M:%S}'"


def _name(sort: str, number: int) -> ModelName:
    from vde_dagster.core.names import ModelName

    return ModelName(sort, f"m{number}")


def _quiet(_: object) -> None:
    """Print nothing of a plan."""


class Counts:
    """What happens while models are evaluated."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        from py4j.clientserver import JavaClient
        from py4j.java_gateway import GatewayClient
        from sqlalchemy import Engine, event

        self._spark, self._folder, self._calls = spark, folder, Counter[str]()
        event.listen(Engine, "before_cursor_execute", self._note)
        for client in (GatewayClient, JavaClient):
            send = client.__dict__.get("send_command")
            if send is not None:
                client.send_command = self._counting(send)

    def _counting(self, send: Callable[..., object]) -> Callable[..., object]:
        def counted(*given: object, **named: object) -> object:
            self._calls["JVM calls"] += 1
            return send(*given, **named)

        return counted

    def _note(self, _connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if not statement.startswith("BEGIN"):
            self._calls["state" if "vde_" in statement else "catalog"] += 1

    def _so_far(self) -> Counter[str]:
        session = cast("Any", self._spark)._jsparkSession  # noqa: SLF001 - Spark's own counters
        found = Counter(self._calls)
        found["statements"] = session.sharedState().statusStore().executionsCount()
        found["jobs"] = session.sparkContext().statusStore().jobsList(None).size()
        found["metadata"] = sum(1 for _ in self._folder.rglob("*.metadata.json"))
        return found

    def of(self, sort: str, *ways: Callable[[ModelName], object]) -> list[Step]:
        """What a model of a sort takes each way, once the first ones were evaluated."""
        names = [_name(sort, number) for number in range(_MODELS)]
        for name in names[:_WARM]:
            for way in ways:
                way(name)
        taken = [Counter[str]() for _ in ways]
        counted = names[_WARM:]
        for name in counted:
            for way, sums in zip(ways, taken, strict=True):
                before = self._so_far()
                step = timed(partial(way, name))
                sums.update(self._so_far() - before)
                for key, value in step.items():
                    sums[key] += value  # type: ignore[assignment] # seconds are no whole numbers
        return [{key: value / len(counted) for key, value in sums.items()} for sums in taken]


_COLUMNS: Final = ("JVM calls", "statements", "jobs", "metadata", "catalog", "state", "CPU", "wall")


def main(settings: Settings) -> None:
    """Print a line for each sort of unit of work."""
    command = [sys.executable, "-m", "benchmarks.unit_of_work"]
    found = cast("dict[str, Step]", measured(command))
    rows: list[list[str | float]] = [
        [sort, *(step.get(each, 0.0) for each in _COLUMNS)] for sort, step in found.items()
    ]
    print("One unit of work, means of twelve models; CPU and wall in seconds")
    print_table(["", *_COLUMNS], rows)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(measure(Path(made) / "lake")))
