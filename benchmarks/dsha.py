"""What a D-SHA costs: the same rows are written with and without one, in alternation.

Rows of 12 mixed flat columns are read from an Iceberg table and overwrite another one, which is
partitioned by hours and asks for a hash distribution. CPU seconds are those of Spark's JVM and its
Python workers. The aims: at most 15 % more for one digest in Spark's own expressions, 25 % with one
for each of 24 intervals, and twice as much for `murmur3_128`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measuring import Settings, Step, print_table
from benchmarks.processes import timed
from vde_dagster.core.ledger.dsha import MURMUR3_128, XXHASH64X2

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SOURCE: Final = "bench.dsha.source"
TARGET: Final = "bench.dsha.target"
HOUR: Final = 3_600_000_000
_COLUMNS: Final = (
    "id",
    "CAST(id % 1000003 AS INT) AS customer",
    "IF(id % 7 = 0, NULL, CAST(id % 50 AS INT)) AS quantity",
    "CAST(id * 7919 % 100000000 / 100 AS DECIMAL(12, 2)) AS amount",
    "SIN(id) * 1000 AS price",
    "IF(id % 11 = 0, NULL, COS(id)) AS ratio",
    "CONCAT('c', id % 5000) AS code",
    "IF(id % 13 = 0, NULL, CONCAT('a longer note on order ', id * 31, ' of ', id % 5000)) AS note",
    "DATE_ADD(DATE'2024-01-01', CAST(id % 365 AS INT)) AS day",
    "TIMESTAMP_MICROS(1704067200000000 + id * 2654435761 % 86400 * 1000000 + id % 1000000) AS at",
    "IF(id % 5 = 0, NULL, TIMESTAMP_MICROS(1704067200000000 + id * 1000)) AS seen",
    "IF(id % 17 = 0, NULL, id % 3 = 0) AS valid",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """The tables, and how many rows the source has."""

    spark: SparkSession
    rows: int

    def source(self) -> DataFrame:
        """What is written."""
        return self.spark.table(SOURCE)

    def written(self) -> DataFrame:
        """What was written."""
        return self.spark.table(TARGET)

    def write(self, frame: DataFrame) -> None:
        """Replace all rows of the target."""
        from pyspark.sql import functions as F  # noqa: N812

        frame.writeTo(TARGET).overwrite(F.lit(True))


def plain(lake: Lake) -> None:
    """No digest."""
    lake.write(lake.source())


def observed(lake: Lake) -> None:
    """One digest, while the rows are written."""
    from vde_dagster.lakehouse.digest import observed

    frame, found = observed(lake.source(), XXHASH64X2)
    lake.write(frame)
    assert found.sums(lake.rows) is not None


def read_again(lake: Lake, algorithm: str, *, hours: bool) -> None:
    """One digest, or one for each hour, from the rows that were written."""
    from vde_dagster.lakehouse.digest import row_sums

    lake.write(lake.source())
    found = row_sums(lake.written(), algorithm, _hour() if hours else None)
    assert len(found) == (24 if hours else 1)
    assert sum(each.rows for each in found.values()) == lake.rows


def _hour() -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    micros = F.unix_micros("at")
    return micros - F.pmod(micros, F.lit(HOUR))


VARIANTS: Final[Mapping[str, Callable[[Lake], None]]] = {
    "no digest": plain,
    "xxhash64x2, observed": observed,
    "xxhash64x2, read again": lambda lake: read_again(lake, XXHASH64X2, hours=False),
    "xxhash64x2, 24 hours": lambda lake: read_again(lake, XXHASH64X2, hours=True),
    "murmur3_128, read again": lambda lake: read_again(lake, MURMUR3_128, hours=False),
    "murmur3_128, 24 hours": lambda lake: read_again(lake, MURMUR3_128, hours=True),
}


def main(settings: Settings) -> None:
    """Print a line for each way to a digest."""
    steps: dict[str, list[Step]] = {name: [] for name in VARIANTS}
    with _lake(settings.folder / "dsha", settings.rows) as lake:
        # The first round is not counted: Java compiles what it runs often. Every second one runs
        # backward, so that nothing always follows the same.
        for number in range(settings.rounds + 1):
            order = list(VARIANTS.items())[:: -1 if number % 2 else 1]
            for name, run in order:
                step = timed(partial(run, lake))
                if number:
                    steps[name].append(step)
    base = steps["no digest"]
    rows: list[list[str | float]] = [
        [name, _median(found, "CPU"), _median(found, "wall"), _more(found, base)]
        for name, found in steps.items()
    ]
    print(f"writing {settings.rows:,} rows of {len(_COLUMNS)} columns: seconds, medians;")
    print(f"more CPU than without a digest: the median of {settings.rounds} pairs")
    print_table(["", "CPU", "wall", "more CPU"], rows)


def _median(steps: list[Step], of: str) -> float:
    return statistics.median(step[of] for step in steps)


def _more(steps: list[Step], base: list[Step]) -> str:
    pairs = zip(steps, base, strict=True)
    more = statistics.median(step["CPU"] / plain["CPU"] - 1 for step, plain in pairs)
    return f"{more:+.0%}"


@contextmanager
def _lake(folder: Path, rows: int) -> Iterator[Lake]:
    from vde_dagster.lakehouse.spark.jars import resolve_jars
    from vde_dagster.lakehouse.spark.session import SparkSettings, open_session
    from vde_dagster.lakehouse.spark.spark_catalog import embedded_catalog_conf

    (folder / "warehouse").mkdir(parents=True, exist_ok=True)
    conf = embedded_catalog_conf("bench", folder / "lake.db", folder / "warehouse")
    spark = open_session(SparkSettings(conf=conf), resolve_jars())
    try:
        spark.sql("CREATE NAMESPACE IF NOT EXISTS bench.dsha")
        for table in (SOURCE, TARGET):
            spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
        frame = spark.range(0, rows, 1, 4).selectExpr(*_COLUMNS)
        frame.writeTo(SOURCE).using("iceberg").create()
        columns = ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in frame.schema)
        spark.sql(
            f"CREATE TABLE {TARGET} ({columns}) USING iceberg PARTITIONED BY (hours(at)) "
            "TBLPROPERTIES ('write.distribution-mode' = 'hash')"
        )
        yield Lake(spark=spark, rows=rows)
    finally:
        spark.stop()
