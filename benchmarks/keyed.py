"""Changes of keys that are merged by a session, against a MERGE by hand and a rebuild.

A feed has one change for each of many keys, and is loaded. Then so many changes land that one key
in a thousand has one, a tenth of them older than what is there. A session merges them, with its
D-SHA, branch and state; by hand the same rows are merged by one statement with the same condition,
into a table with Iceberg's defaults, or with the settings that ours has. A rebuild is the model
loaded whole again. CPU is that of this process and its JVM; bytes are those of added files.

Or the changes are of the newest keys, and both tables have ten partitions by ranges of keys.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.lookback_spark import own_cpu
from benchmarks.measuring import Settings, Step, alternating, measured, print_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vde_dagster.composition import VdeProject

_START: Final = datetime(2024, 1, 1, tzinfo=UTC)
_SETTINGS: Final = f"""\
name: bench
defaults: {{start: {_START:%Y-%m-%d}}}
spark:
  conf:
    spark.driver.memory: 4g
"""
_COLUMNS: Final = "id, seq, op, name, city, amount, at"
_TYPES: Final = {
    "id": "bigint",
    "seq": "bigint",
    "op": "string",
    "name": "string",
    "city": "string",
    "amount": "decimal(12,2)",
    "at": "timestamp",
}
_MODEL: Final = """MODEL (name a.current,
  kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, sequence_by seq, delete_when (op = 'D')),
  late_data (mode stateless, sources (raw.changes)){layout});
SELECT {columns} FROM raw.changes
"""
OURS: Final = "a session"
PLAIN: Final = "MERGE by hand, Iceberg's defaults"
BY_ROW: Final = "MERGE by hand, merge-on-read"
REBUILD: Final = "a rebuild"
SIDES: Final = (OURS, PLAIN, BY_ROW, REBUILD)
SPREAD: Final = "keys over all of the table"
TOGETHER: Final = "the newest keys"
CASES: Final[Sequence[tuple[str, str]]] = (
    *((each, SPREAD) for each in SIDES),
    (OURS, TOGETHER),
    (BY_ROW, TOGETHER),
)
_OWN: Final = "vde__a"
"""Where the model's tables are."""
_ONE_IN: Final = 1000
_OLDER_ONE_IN: Final = 10


def prepare(folder: Path, keys: int, ranges_of: int = 0) -> VdeProject:
    """A project whose feed has one change of each key, of which nothing is loaded.

    The model has a partition for each range of so many keys, or none.
    """
    from vde_dagster.composition import VdeProject

    folder.mkdir(parents=True)
    (folder / "vde.yaml").write_text(_SETTINGS)
    listed = ", ".join(f'{name}: "{kind}"' for name, kind in _TYPES.items())
    (folder / "external_models.yaml").write_text(f"- name: raw.changes\n  columns: {{{listed}}}\n")
    (folder / "models").mkdir()
    layout = f",\n  partitioned_by truncate(id, {ranges_of})" if ranges_of else ""
    (folder / "models" / "current.sql").write_text(_MODEL.format(columns=_COLUMNS, layout=layout))
    project = VdeProject.load(folder)
    for name in ("raw", "plain"):
        project.iceberg_catalog().create_namespace(name)
    spark = project.open_spark()
    defined = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
    spark.sql(f"CREATE TABLE lake.raw.changes ({defined}) USING iceberg")
    land(spark, f"SELECT id, id AS n, 1000 AS seq FROM RANGE({keys})")
    return project


def land(spark: SparkSession, changes: str) -> None:
    """One commit of changes: of rows with an id, a number and a sequence."""
    spark.sql(
        "INSERT INTO lake.raw.changes SELECT id, seq, IF(n % 50 = 7, 'D', 'U'), "
        "CONCAT('name ', n * 7919 % 1000003), CONCAT('city ', n % 997), "
        f"CAST(n % 100000 / 100 AS DECIMAL(12, 2)), TIMESTAMP '2024-01-01' FROM ({changes})"
    )


def run(side: str, where: str, keys: int) -> Step:
    """One process."""
    return measured([sys.executable, "-m", "benchmarks.keyed", side, where, str(keys)])


def _one(side: str, where: str, keys: int) -> Step:
    ranges_of = keys // 10 if where == TOGETHER else 0
    with tempfile.TemporaryDirectory() as made:
        project = prepare(Path(made) / "lake", keys, ranges_of)
        spark = project.open_spark()
        changed = keys // _ONE_IN
        if side == REBUILD:
            return _step(project, lambda: _build(project), _OWN)
        if side == OURS:
            _build(project)
        else:
            by_row = " TBLPROPERTIES ('write.merge.mode' = 'merge-on-read')"
            layout = f" PARTITIONED BY (truncate({ranges_of}, id))" if ranges_of else ""
            spark.sql(
                f"CREATE TABLE lake.plain.current USING iceberg{layout}"
                f"{by_row if side == BY_ROW else ''} AS SELECT * FROM lake.raw.changes"
            )
        ids = f"(id * 7919) % {keys + changed // 2}"
        if where == TOGETHER:
            ids = f"id + {keys + changed // 20 - changed}"
        land(
            spark,
            f"SELECT {ids} AS id, id AS n, IF(id % {_OLDER_ONE_IN} = 0, 10, 2000) AS seq "
            f"FROM RANGE({changed})",
        )
        if side == OURS:
            return _step(project, lambda: _session(project), _OWN)
        return _step(project, lambda: _merge(spark), "plain")


def _build(project: VdeProject) -> None:
    from vde_dagster.app.apply.applying import apply_plan
    from vde_dagster.app.plan.planning import plan_environment

    plan = plan_environment(project.services, project.files.graph, "prod")
    apply_plan(project.services, plan, lambda _: None)


def _session(project: VdeProject) -> None:
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.app.catch_up.sessions import catch_up
    from vde_dagster.core.names import ModelName

    binding = bind_environment(project.services, "prod")
    assert binding is not None, "it was built"
    catch_up(project.services, binding, ModelName("a", "current"))


def _merge(spark: SparkSession) -> None:
    ids = [
        row.snapshot_id
        for row in spark.sql(
            "SELECT snapshot_id FROM lake.raw.changes.snapshots ORDER BY committed_at"
        ).collect()
    ]
    read = spark.read.option("start-snapshot-id", str(ids[0])).option(
        "end-snapshot-id", str(ids[1])
    )
    read.table("lake.raw.changes").createOrReplaceTempView("new")
    last = "SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY seq DESC) AS place FROM new"
    spark.sql(
        "MERGE INTO lake.plain.current AS t "
        f"USING (SELECT * EXCEPT (place) FROM ({last}) WHERE place = 1) AS s "
        "ON t.id = s.id WHEN MATCHED AND s.seq > t.seq THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *"
    )


def _step(project: VdeProject, work: Callable[[], None], namespace: str) -> Step:
    """What the work takes, and the bytes of the files that it adds in a namespace."""
    written, before, began = _written(project, namespace), own_cpu(), time.monotonic()
    work()
    used, wall = own_cpu() - before, time.monotonic() - began
    return {"CPU": used, "wall": wall, "MB": (_written(project, namespace) - written) / 1e6}


def _written(project: VdeProject, namespace: str) -> int:
    """The bytes of all files that were ever added to the tables of a namespace."""
    catalog = project.iceberg_catalog()
    if not catalog.namespace_exists(namespace):
        return 0
    tables = (catalog.load_table(name) for name in catalog.list_tables(namespace))
    summaries = (each.summary for table in tables for each in table.snapshots())
    return sum(int(each["added-files-size"] or 0) for each in summaries if each is not None)


def main(settings: Settings) -> None:
    """Print a line for each side."""
    keys = settings.rows
    found = alternating(settings.rounds, {case: partial(run, *case, keys) for case in CASES})
    rows: list[list[str | float]] = [[*case, *step.values()] for case, step in found.items()]
    print(f"{keys:,} keys, {keys // _ONE_IN:,} changes; medians of {settings.rounds}")
    print_table(["", "changes of", "CPU", "wall", "MB written"], rows)


if __name__ == "__main__":
    print(json.dumps(_one(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
