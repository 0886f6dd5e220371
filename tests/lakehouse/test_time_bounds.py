"""Bounds of every type, macro and operator: equal rows whole and unit by unit, or refused.

Spark says which rows pass each condition for each interval; what a kind makes of the rows of
several evaluations is worked out here.

A FULL table is made of all intervals that have ended, at each evaluation. Equal means of it that it
has every row of them each time. The partitions of INCREMENTAL_BY_PARTITION are the intervals here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from tests.depth import is_full
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.graph.losses import losses
from vde_dagster.core.graph.render_model import render_model
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model

pytestmark = pytest.mark.xdist_group("time_bounds")

DEFAULTS: Final = Defaults(start=datetime(2024, 1, 1, tzinfo=UTC))
RAW: Final = ModelName("raw", "t")
SECOND, MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
DAY, MILLISECOND = timedelta(days=1), timedelta(milliseconds=1)
COLUMNS: Final = {
    "ts": ("timestamp", "at"),
    "ntz": ("timestamp_ntz", "CAST(at AS TIMESTAMP_NTZ)"),
    "day": ("date", "CAST(at AS DATE)"),
    "iso": ("string", "DATE_FORMAT(at, 'yyyy-MM-dd')"),
    "text": ("string", "CAST(at AS STRING)"),
    "t_text": ("string", "DATE_FORMAT(at, \"yyyy-MM-dd'T'HH:mm:ss\")"),
    "seconds": ("bigint", "UNIX_SECONDS(at)"),
    "ms": ("bigint", "UNIX_MILLIS(at)"),
    "f": ("double", "UNIX_MICROS(at) / 1000000D"),
}
"""A column of each type, with what it is made of."""
TIMES: Final = {
    "ts": ("ts", MICROSECOND),
    "ntz": ("CAST(ntz AS TIMESTAMP)", MICROSECOND),
    "day": ("CAST(day AS TIMESTAMP)", DAY),
    "iso": ("CAST(iso AS TIMESTAMP)", DAY),
    "text": ("CAST(text AS TIMESTAMP)", MICROSECOND),
    "t_text": ("CAST(t_text AS TIMESTAMP)", SECOND),
    "seconds": ("TIMESTAMP_SECONDS(seconds)", SECOND),
    "ms": ("TIMESTAMP_MILLIS(ms)", MILLISECOND),
    "f": ("CAST(f AS TIMESTAMP)", MICROSECOND),
    "CAST(ts AS DATE)": ("ts", MICROSECOND),
    "DATE_TRUNC('hour', ts)": ("ts", MICROSECOND),
    "DATE_TRUNC('week', ts)": ("ts", MICROSECOND),
    "DATE_TRUNC('month', ts)": ("ts", MICROSECOND),
    "CAST(DATE_TRUNC('month', ts) AS DATE)": ("ts", MICROSECOND),
    "DATE_FORMAT(ts, 'yyyyMMdd')": ("ts", MICROSECOND),
    "CAST(ts AS STRING)": ("ts", MICROSECOND),
    "CAST(t_text AS TIMESTAMP)": ("CAST(t_text AS TIMESTAMP)", SECOND),
}
"""The values that are bounded, each with the time of its rows and the smallest unit of that."""
DATED: Final = ("date", "ds", "dt", "dtntz", "ts", "tstz")
DIGITS: Final = "DATE_FORMAT(ts, 'yyyyMMdd')"
FORMS: Final = {"seconds": ("epoch",), "ms": ("millis",), "f": ("epoch",), DIGITS: ("ds",)}
SHAPES: Final = (
    ("{v} >= {s}", "{v} <= {e}"),
    ("{v} >= {s}", "{v} < {e}"),
    ("{v} > {s}", "{v} <= {e}"),
    ("NOT ({v} < {s})", "NOT ({v} >= {e})"),
    ("{v} >= {s}", ""),
    ("{v} > {s}", ""),
    ("", "{v} <= {e}"),
    ("", "{e} > {v}"),
    ("{v} = {s}", ""),
    ("", "{v} = {e}"),
    ("{v} >= {s}", "{v} < {e} + {one}"),
    ("{v} >= {s}", "{v} <= {e} + {one}"),
    ("{v} >= {s} - {one}", "{v} <= {e}"),
)
"""The condition of the start, and that of the end."""
APPENDED: Final = "INCREMENTAL_UNMANAGED"
KINDS: Final = {
    "by time": "INCREMENTAL_BY_TIME_RANGE (time_column at)",
    "by time, alone": "INCREMENTAL_BY_TIME_RANGE (time_column at, batch_size 1)",
    "by key": "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)",
    "by key, alone": "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, batch_size 1)",
    "history": "SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at)",
    "appended": APPENDED,
    "by partition": "INCREMENTAL_BY_PARTITION, partitioned_by ({unit}s(at))",
    "by longer partition": "INCREMENTAL_BY_PARTITION, partitioned_by ({longer}s(at))",
    "full": "FULL, start '{start}'",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A condition of two parts on a value, each perhaps empty."""

    value: str
    start: str
    end: str

    @property
    def condition(self) -> str:
        """Both parts together."""
        return " AND ".join(filter(None, (self.start, self.end)))


WRITTEN: Final = (
    *("iso", "text", "t_text", "seconds", "ms", "f", DIGITS),
    *("CAST(ts AS STRING)", "CAST(t_text AS TIMESTAMP)"),
)
"""Values that are texts or numbers, or made of them."""


def is_known_gap(kind: str, case: Case) -> bool:
    """Whether a case is one of those that docs/inside/reliability.md names."""
    is_wider = "INTERVAL" in case.condition or "- 1" in case.condition
    if kind == "by longer partition":
        return case.value in WRITTEN or "_ts" in case.condition
    return kind in ("appended", "by partition") and case.value in WRITTEN and is_wider


def cases() -> list[Case]:
    return list(dict.fromkeys(_cases()))


def _cases() -> Iterator[Case]:
    for value in TIMES:
        forms = FORMS.get(value, DATED)
        for first, last in ((each, each) for each in forms):
            yield from _of(value, first, last)
        if len(forms) > 1:
            yield from _of(value, "ds", "ts")
            yield from _of(value, "dt", "date")


def _of(value: str, first: str, last: str) -> Iterator[Case]:
    for start, end in SHAPES:
        is_sum = "{one}" in start + end
        if is_sum and not {first, last} <= {"date", "dt", "dtntz", "epoch"}:
            continue  # nothing is added to a text
        if value in ("text", "t_text") and "ds" in (first, last):
            continue  # a text that is compared with a date's text is a date's: models.md
        names = {
            "v": value,
            "s": f"@start_{first}",
            "e": f"@end_{last}",
            "one": "1" if last == "epoch" else "INTERVAL 1 DAY",
        }
        yield Case(value, start.format(**names), end.format(**names))


def instants() -> list[datetime]:
    """The borders of days and hours, and what lies just before and behind them."""
    days = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3, 4)]
    hours = [days[0] + timedelta(hours=hour) for hour in (22, 23, 24, 25)]
    borders = [*days, *hours]
    around = (-SECOND, -SECOND / 2, -MICROSECOND, 0 * SECOND, MICROSECOND, timedelta(minutes=30))
    return sorted({border + by for border in borders for by in around})


FIRST: Final = datetime(2023, 1, 1, tzinfo=UTC)
INSTANTS: Final = dict(enumerate(instants()))


START: Final = {
    IntervalUnit.DAY: datetime(2024, 1, 1, tzinfo=UTC),
    IntervalUnit.HOUR: datetime(2024, 1, 1, 22, tzinfo=UTC),
}


LONGER: Final = {IntervalUnit.DAY: Grain.MONTH, IntervalUnit.HOUR: Grain.DAY}


def interval(unit: IntervalUnit, first: int, last: int) -> Interval:
    begin = START[unit]
    return Interval(begin + first * unit.grain.longest, begin + last * unit.grain.longest)


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> TableName:
    made = ", ".join(f"{made} AS {column}" for column, (_, made) in COLUMNS.items())
    rows = ", ".join(
        f"({number}, TIMESTAMP '{at.isoformat(sep=' ')}')" for number, at in INSTANTS.items()
    )
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.time_bounds")
    spark.sql(f"SELECT id, {made} FROM VALUES {rows} AS v(id, at)").writeTo(
        "lake.time_bounds.t"
    ).create()
    return TableName("time_bounds", "t", "lake")


def graph_of(texts: Sequence[str]) -> Graph:
    types = {column: kind for column, (kind, _) in COLUMNS.items()}
    place = Place(path=Path("external_models.yaml"))
    source = external_source(RAW, {"id": "int", **types}, place=place, defaults=DEFAULTS)
    written = [
        ModelSource(path=Path(f"models/m/x{index}.sql"), text=text, defaults=DEFAULTS.as_texts())
        for index, text in enumerate(texts)
    ]
    return build_graph(map(read_model, [source, *written]))


def passing(
    spark: SparkSession, table: TableName, conditions: Sequence[str], cell: Interval
) -> dict[str, set[int]]:
    """The rows for which each condition is true in the evaluation of an interval."""
    columns = ", ".join(f"({each}) AS c{at}" for at, each in enumerate(conditions))
    graph = graph_of([f"MODEL (name m.all, kind FULL);\nSELECT id, {columns} FROM raw.t"])
    text = render_model(
        graph,
        ModelName("m", "all"),
        TimeRange.of(cell, execution_time=cell.end),
        target=lambda _: table,
    ).query.text
    rows = spark.sql(text).collect()
    return {each: {row[0] for row in rows if row[at + 1]} for at, each in enumerate(conditions)}


def stored(
    kind: str, unit: IntervalUnit, case: Case, evaluated: Sequence[tuple[Interval, set[int]]]
) -> Counter[int]:
    """The rows of a table after some evaluations, each when its interval had just ended."""
    held: Counter[int] = Counter()
    for cell, passed in evaluated:
        rows = {row for row in passed if time_of(case, row) < cell.end}
        kept = [row for row in rows if cell.start <= time_of(case, row) < cell.end]
        if "partition" in kind:
            grain = LONGER[unit] if "longer" in kind else unit.grain
            replaced = {grain.floor(time_of(case, row)) for row in rows}
            stays = [row for row in held if grain.floor(time_of(case, row)) not in replaced]
            held = Counter(stays)
        held.update(kept if kind.startswith("by time") else rows)
    return held if kind == "appended" else Counter(set(held))


def time_of(case: Case, row: int) -> datetime:
    """The time of a row by the column that a case bounds."""
    return INSTANTS[row] - (INSTANTS[row] - FIRST) % TIMES[case.value][1]


def cuts_of(unit: IntervalUnit) -> list[list[Interval]]:
    """All intervals at once, in halves, and one by one."""
    halves = [interval(unit, 0, 2), interval(unit, 2, 4)]
    return [[interval(unit, 0, 4)], halves, [interval(unit, at, at + 1) for at in range(4)]]


def grown(unit: IntervalUnit) -> list[Interval]:
    """What a FULL table is made of at each evaluation."""
    return [interval(unit, 0, at + 1) for at in range(4)]


def is_right(
    kind: str, unit: IntervalUnit, case: Case, passed: Mapping[Interval, Mapping[str, set[int]]]
) -> bool:
    """Whether a table has all rows of its intervals, and the same ones however they are cut."""
    inside = {row for row in INSTANTS if START[unit] <= time_of(case, row) < grown(unit)[-1].end}
    if kind == "full":
        return "=" in case.condition.replace(">=", "").replace("<=", "") or all(
            {row for row in inside if time_of(case, row) < cell.end} <= passed[cell][case.condition]
            for cell in grown(unit)
        )
    results = [
        stored(kind, unit, case, [(cell, passed[cell][case.condition]) for cell in cut])
        for cut in cuts_of(unit)
    ]
    if kind.endswith("alone"):
        results = results[-1:]  # no other cut is ever made
    return inside <= set(results[-1]) and all(rows == results[-1] for rows in results)


@pytest.mark.parametrize("unit", [IntervalUnit.DAY, IntervalUnit.HOUR])
def test_rows_are_equal_whole_and_unit_by_unit_or_the_bounds_are_refused(
    spark: SparkSession, table: TableName, unit: IntervalUnit
) -> None:
    chosen = cases() if is_full() else cases()[:: 7 if unit is IntervalUnit.DAY else 11]
    every = list(dict.fromkeys(case.condition for case in chosen))
    cells = dict.fromkeys(cell for cut in (*cuts_of(unit), grown(unit)) for cell in cut)
    passed = {cell: passing(spark, table, every, cell) for cell in cells}
    cron = "@daily" if unit is IntervalUnit.DAY else "@hourly"
    start = START[unit].replace(tzinfo=None).isoformat(sep=" ")
    refused, taken = Counter[str](), Counter[str]()
    wrong: list[tuple[str, Case]] = []
    for number, (kind, form) in enumerate(KINDS.items()):
        longer = LONGER[unit].name.lower()
        written = form.format(unit=unit.value, longer=longer, start=start)
        tried = chosen if is_full() else chosen[number % 3 :: 3]
        graph = graph_of(
            [
                f"MODEL (name m.x{at}, kind {written}, cron '{cron}');\n"
                f"SELECT id, {TIMES[case.value][0]} AS at FROM raw.t WHERE {case.condition}"
                for at, case in enumerate(tried)
            ]
        )
        for at, case in enumerate(tried):
            if losses(graph, graph[ModelName("m", f"x{at}")]):
                refused[kind] += 1
                continue
            taken[kind] += 1
            if not is_known_gap(kind, case) and not is_right(kind, unit, case, passed):
                wrong.append((kind, case))
    assert wrong == []
    assert all(refused[kind] and taken[kind] for kind in KINDS), (refused, taken)
