"""40 models in four layers, one to four at once, against a script that writes the same tables.

The script is what somebody would write by hand with PySpark and plain Iceberg: CREATE TABLE AS
SELECT for each query, one after the other or a layer at a time in a pool of threads. It has no
branches, audits, digests, state or views. SQLMesh has state and views (`spark_peer`); what is
timed of it is what is timed of ours: the start of Spark and a plan's application, not its loading
and planning. Spark's own declarative pipelines (`pipelines_peer`) are timed as a whole command.

All sides have the same rows, queries and kind of catalog, and start Spark themselves, with the
settings that we give it or, where that is said, with Spark's defaults, as whoever writes a script
or uses one of the others has it. Each run is a process and a lake of its own, and runs alternate.

`python -m benchmarks.concurrency RESULTS.json FILE.svg` draws what a run has written.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measuring import Settings, Step, alternating, measured, print_table
from benchmarks.pictures import BLUE, GRAY, GREEN, LIGHT_BLUE, STEP, Bar, chart, page
from benchmarks.pipelines_peer import NAME as PIPELINES
from benchmarks.pipelines_peer import NAMESPACE, run_pipeline
from benchmarks.processes import timed
from benchmarks.spark_peer import NAME as THEIRS
from benchmarks.spark_peer import plain_spark, run_theirs, why_not

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vde_dagster.composition import VdeProject

LAYERS: Final = 4
WIDTH: Final = 10
AT_ONCE: Final = (1, 2)
_SOURCE: Final = "raw.events"
_START: Final = datetime(2024, 1, 1, tzinfo=UTC)
_SETTINGS: Final = f"""\
name: bench
defaults: {{start: {_START:%Y-%m-%d}}}
spark:
  conf:
    spark.driver.memory: 2g
"""
_EXTERNAL: Final = f"- name: {_SOURCE}\n  columns: {{id: bigint, ts: timestamp, amount: bigint}}\n"

OURS: Final = "vde"
IN_DAGSTER: Final = "vde, a Dagster run"
SCRIPT: Final = "the script"
PLAIN: Final = ", defaults"
"""What a side is called with that has them."""
RESULTS: Final = "concurrency.json"
_COLORS: Final = {SCRIPT: GRAY, THEIRS: BLUE, PIPELINES: LIGHT_BLUE}
_ROWS_OF_A_TRIAL: Final = 100


@dataclass(frozen=True, slots=True)
class Table:
    """A model, or a table of the script: its name and query."""

    layer: int
    name: str
    query: str


def tables() -> Iterator[Table]:
    """What both sides write, layer by layer; each reads two of the layer before."""
    for layer in range(LAYERS):
        for place in range(WIDTH):
            one, other = (
                _SOURCE if layer == 0 else f"l{layer - 1}.m{(place + shift) % WIDTH}"
                for shift in (0, 1)
            )
            query = (
                f"SELECT a.id AS id, a.ts AS ts, a.amount + COALESCE(b.amount, {place}) AS amount\n"
                f"FROM {one} AS a LEFT JOIN {other} AS b ON a.id = b.id"
            )
            yield Table(layer, f"l{layer}.m{place}", query)


def prepare(folder: Path, rows: int) -> VdeProject:
    """A project with so many rows in its source, in which nothing was computed."""
    import pyarrow as pa

    from vde_dagster.composition import VdeProject

    folder.mkdir(parents=True)
    (folder / "vde.yaml").write_text(_SETTINGS)
    (folder / "external_models.yaml").write_text(_EXTERNAL)
    for each in tables():
        path = folder / "models" / f"{each.name.replace('.', '/')}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"MODEL (name {each.name}, kind FULL);\n{each.query}")
    project = VdeProject.load(folder)
    catalog = project.iceberg_catalog()
    catalog.create_namespace("raw")
    events = pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "ts": pa.array(
                [_START + timedelta(seconds=number) for number in range(rows)],
                pa.timestamp("us", "UTC"),
            ),
            "amount": pa.array((number % 997 for number in range(rows)), pa.int64(), size=rows),
        }
    )
    catalog.create_table(_SOURCE, events.schema).append(events)
    return project


def ours(project: VdeProject, at_once: int, *, in_dagster: bool) -> Step:
    """Plan and build the project; the plan is made before, since the script has none."""
    from vde_dagster.app.apply.applying import apply_plan
    from vde_dagster.app.plan.planning import plan_environment
    from vde_dagster.core.planning.scheduling import Concurrency

    services, concurrency = project.services, Concurrency(models=at_once)
    plan = plan_environment(services, project.files.graph, "prod")

    def build() -> None:
        if not in_dagster:
            apply_plan(services, plan, lambda _: None, concurrency=concurrency)
            return
        from vde_dagster.orchestration.jobs.runs import run_plan

        run_plan(project, plan, lambda _: None, concurrency=concurrency)

    step = timed(build)
    return step | {"amount": _sum(project, f"l{LAYERS - 1}.m0")}


def script(project: VdeProject, at_once: int, *, plain: bool) -> Step:
    """What somebody would write by hand."""
    written = list(tables())

    def build() -> None:
        spark = _plain_session(project) if plain else project.open_spark()
        spark.sql("USE lake")

        def write(table: Table) -> None:
            spark.sql(f"CREATE TABLE plain_{table.name} USING iceberg AS {_plain(table.query)}")

        for layer in range(LAYERS):
            spark.sql(f"CREATE NAMESPACE plain_l{layer}")
            with ThreadPoolExecutor(at_once) as pool:
                list(pool.map(write, [each for each in written if each.layer == layer]))

    step = timed(build)
    return step | {"amount": _sum(project, f"plain_l{LAYERS - 1}.m0")}


def _plain_session(project: VdeProject) -> SparkSession:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf, environment = plain_spark(project)
    os.environ.update(environment)
    return SparkSession.builder.config(conf=SparkConf().setAll([*conf.items()])).getOrCreate()


def pipeline(project: VdeProject, at_once: int) -> Step:
    """One pipeline of Spark's own, with a materialized view for each table."""
    conf, environment = plain_spark(project)
    del conf["spark.master"]  # Spark Connect has none
    catalog = project.iceberg_catalog()
    for name in (NAMESPACE, *(f"plain_l{layer}" for layer in range(LAYERS))):
        catalog.create_namespace(name)
    step = run_pipeline(
        project.configuration.folder / "pipeline",
        [(f"plain_{each.name}", _plain(each.query)) for each in tables()],
        conf,
        environment,
        catalog=project.configuration.catalog.name,
        at_once=at_once,
    )
    return step | {"amount": _sum(project, f"plain_l{LAYERS - 1}.m0")}


def _plain(query: str) -> str:
    return query.replace(" l", " plain_l")


def _sum(project: VdeProject, name: str) -> float:
    """What the last layer has, so that both sides are seen to have computed the same."""
    (row,) = project.open_spark().sql(f"SELECT SUM(amount) FROM lake.{name}").collect()
    return float(row[0])


def run(side: str, at_once: int, rows: int) -> Step:
    """One process."""
    asked = [side, str(at_once), str(rows)]
    return measured([sys.executable, "-m", "benchmarks.concurrency", *asked])


def main(settings: Settings) -> None:
    """Print a line for each side and number of models at once, and how it compares."""
    prevented = why_not(partial(run, THEIRS, AT_ONCE[-1], _ROWS_OF_A_TRIAL))
    peers = () if prevented else (THEIRS, THEIRS + PLAIN)
    sides = (OURS, SCRIPT, SCRIPT + PLAIN, *peers, PIPELINES + PLAIN, IN_DAGSTER)
    asked = [(side, at_once) for at_once in AT_ONCE for side in sides]
    runs: dict[tuple[str, ...], Callable[[], Step]] = {
        (side, str(at_once)): partial(run, side, at_once, settings.source_rows)
        for side, at_once in asked
    }
    found = alternating(settings.rounds, runs)
    sums = {each["amount"] for each in found.values()}
    if len(sums) != 1:
        raise SystemExit(f"the sides have computed different rows: {sums}")
    rows: list[list[str | float]] = []
    for (side, at_once), each in found.items():
        against = found[SCRIPT, at_once]
        rows.append(
            [
                side,
                at_once,
                each.get("CPU", ""),
                each["wall"],
                each["wall"] / against["wall"],
                found[side, str(AT_ONCE[0])]["wall"] / each["wall"],
            ]
        )
    of_each = f"{LAYERS * WIDTH} models in {LAYERS} layers, {settings.source_rows:,} rows"
    print(f"{of_each}; seconds, medians of {settings.rounds}; wall as times of the script's")
    print_table(["", "at once", "CPU", "wall", "of the script", "faster than one"], rows)
    if prevented:
        print(prevented)
    settings.folder.mkdir(parents=True, exist_ok=True)
    results = settings.folder / RESULTS
    results.write_text(json.dumps([[*key, step] for key, step in found.items()]))
    print(f"The numbers are in {results}, which --folder keeps.")


def picture(found: Sequence[tuple[str, str, Step]]) -> str:
    """Wall and CPU seconds of each side, by how many models are evaluated at once, as SVG."""
    order = sorted(found, key=lambda each: int(each[1]))
    parts: list[str] = []
    for place, of in enumerate(("wall", "CPU")):
        values = [
            Bar(
                label=f"{side}, {at_once} at once",
                value=step[of],
                shown=f"{step[of]:.1f}",
                color=_COLORS.get(side.removesuffix(PLAIN), GREEN),
            )
            for side, at_once, step in order
            if of in step
        ]
        title = f"{LAYERS * WIDTH} models, {of} seconds"
        parts += chart(title, values, left=20 + place * 530, top=40, labels=270, longest=180)
    return page(parts, width=1060, height=50 + len(order) * STEP)


def _one(side: str, at_once: int, rows: int) -> Step:
    with tempfile.TemporaryDirectory() as made:
        project, plain = prepare(Path(made) / "lake", rows), side.endswith(PLAIN)
        of = side.removesuffix(PLAIN)
        if of == SCRIPT:
            return script(project, at_once, plain=plain)
        if of == THEIRS:
            name, start = f"l{LAYERS - 1}.m0", f"{_START:%Y-%m-%d}"
            return run_theirs(project, start, at_once, name, plain=plain)
        if of == PIPELINES:
            return pipeline(project, at_once)
        return ours(project, at_once, in_dagster=side == IN_DAGSTER)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        Path(sys.argv[2]).write_text(picture(json.loads(Path(sys.argv[1]).read_text())))
    else:
        print(json.dumps(_one(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
