# ruff: noqa: E501 - a query stays on one line
"""Random queries of time ranges, and whether executing them gives each unit the same rows.

Every table has a time ``ts``, another one ``landed`` near it, a ``day``, a key ``k`` and a number ``n``. Rows
are at borders of units and next to them, some twice, some without a time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import duckdb
import sqlglot
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import canonicalize
from vde_dagster.core.sql.macros import TimeRange, resolve_time_macros
from vde_dagster.core.sql.reads.alone import why_together
from vde_dagster.core.sql.reads.bounds import Axis
from vde_dagster.core.sql.reads.input_ranges import TimeAxis, time_column_of
from vde_dagster.core.time.intervals import Interval, IntervalUnit

TYPES = {"ts": "timestamp", "landed": "timestamp", "day": "date", "k": "int", "n": "int"}
TABLES = ("a", "b", "c")
UNITS = (IntervalUnit.HOUR, IntervalUnit.DAY, IntervalUnit.MONTH)
FIRST = {
    IntervalUnit.HOUR: datetime(2024, 2, 28, 21, tzinfo=UTC),
    IntervalUnit.DAY: datetime(2024, 2, 27, tzinfo=UTC),
    IntervalUnit.MONTH: datetime(2024, 1, 1, tzinfo=UTC),
}
COUNT = 5
"""Units with rows. The first and the last are never evaluated, only looked at."""
Row = tuple[datetime | None, datetime | None, object, int | None, int | None]
Rows = dict[str, list[Row]]


def on_duckdb(query: exp.Query) -> str:
    """A query in DuckDB's dialect. Spark's CAST fails in ANSI mode; sqlglot knows the old one."""
    copy = query.copy()
    for cast in list(copy.find_all(exp.TryCast)):
        if not cast.args.get("safe"):
            cast.replace(exp.Cast(**cast.args))
    return copy.sql("duckdb")


def understood(sql: str) -> exp.Query:
    """A query in its canonical form, as Spark's dialect reads it."""
    parsed = sqlglot.parse_one(sql, read="spark")
    assert isinstance(parsed, exp.Query)
    columns = tuple(Column(name=name, type=type_) for name, type_ in TYPES.items())
    schemas = {ModelName("s", name): columns for name in TABLES}
    return canonicalize(parsed, schemas=schemas).expression


def reason(query: exp.Query, unit: IntervalUnit) -> str:
    """Why a unit's rows may differ; empty if they cannot."""

    def axis(table: ModelName, column: str) -> Axis | None:
        written = TimeAxis(column=column, unit=unit, type=TYPES.get(column, "unknown"))
        found = time_column_of(written)
        return None if found is None else found.axis

    return why_together(query, "ts", axis=axis, unit=unit)


class Queries:
    """Makes queries with a column ``ts``, most of which read tables by the interval."""

    def __init__(self, chance: random.Random, unit: IntervalUnit) -> None:
        self.chance, self.unit, self.grain = chance, unit, unit.value.upper()

    def some(self, *texts: str) -> str:
        return self.chance.choice(texts)

    def often(self, usual: str, *others: str) -> str:
        return usual if self.chance.random() < 0.6 else self.chance.choice(others)

    def bound(self, alias: str) -> str:
        """A condition on the interval."""
        ts = f"{alias}.ts"
        return self.often(
            f"{ts} BETWEEN @start_dt AND @end_dt",
            f"{ts} >= @start_dt AND {ts} <= @end_dt",
            f"{ts} >= @start_dt - INTERVAL 1 {self.grain} AND {ts} <= @end_dt",
            f"{ts} BETWEEN @start_dt - INTERVAL 3 HOURS AND @end_dt + INTERVAL 2 HOURS",
            f"{alias}.landed BETWEEN @start_dt AND @end_dt",
            f"{alias}.day BETWEEN @start_date AND @end_date",
            f"CAST({ts} AS DATE) BETWEEN @start_ds AND @end_ds",
            f"DATE_TRUNC('{self.grain}', {ts}) BETWEEN @start_dt AND @end_dt",
            f"{ts} >= @end_dt - INTERVAL 1 {self.grain} AND {ts} <= @end_dt",
            f"{ts} >= DATE_TRUNC('MONTH', @start_dt)",
            f"{ts} < @start_dt + INTERVAL 1 {self.grain}",
            f"{ts} > @start_dt AND {ts} <= @end_dt",
            f"({ts} >= @start_dt OR {alias}.k = 1)",
            f"{alias}.k = 1",
            "TRUE",
        )

    def value(self, alias: str) -> str:
        """A function of a time."""
        ts = f"{alias}.ts"
        return self.often(
            ts,
            f"DATE_TRUNC('{self.grain}', {ts})",
            f"DATE_TRUNC('{self.grain}', {ts})",
            f"DATE_TRUNC('HOUR', {ts})",
            f"CAST({ts} AS DATE)",
            f"DATE_TRUNC('MONTH', {ts})",
            f"({ts} + INTERVAL 1 HOUR)",
            f"({ts} - INTERVAL 1 {self.grain})",
            f"{alias}.landed",
            f"{alias}.day",
        )

    def tie(self, one: str, other: str) -> str:
        """The condition of a join; half of these tie the rows to one unit."""
        floor = f"DATE_TRUNC('{self.grain}', {one}.ts)"
        return self.some(
            f"{one}.ts = {other}.ts",
            f"{one}.ts = {other}.ts AND {one}.k = {other}.k",
            f"{one}.k = {other}.k",
            f"{one}.k = {other}.k AND {other}.n > 1",
            f"{self.value(one)} = {self.value(other)}",
            f"{other}.ts = {floor}",
            f"{floor} = DATE_TRUNC('{self.grain}', {other}.ts) AND {one}.k = {other}.k",
            f"{other}.ts BETWEEN {floor} AND {one}.ts",
            f"{other}.ts >= {floor} AND {other}.ts < {floor} + INTERVAL 1 {self.grain}",
            f"{other}.ts >= {floor} AND {other}.ts <= {floor} + INTERVAL 1 {self.grain}",
            f"{other}.ts BETWEEN {one}.ts - INTERVAL 2 HOURS AND {one}.ts",
            f"{other}.ts <= {one}.ts AND {one}.k = {other}.k",
            f"{one}.ts = {other}.ts OR {one}.k = {other}.k",
        )

    def source(self, alias: str, depth: int = 1) -> str:
        """A table, or a query over one that has the same columns."""
        table = f"s.{self.some(*TABLES)}"
        plain = f"SELECT y.ts, y.landed, y.day, y.k, y.n FROM {table} AS y WHERE {self.bound('y')}"
        if self.chance.random() < 0.35 or not depth:
            return f"{table} AS {alias}"
        inner = self.often(
            plain,
            f"SELECT {self.value('y')} AS ts, y.landed, y.day, y.k, y.n FROM {table} AS y WHERE {self.bound('y')}",
            f"SELECT {self.value('y')} AS ts, MAX(y.landed) AS landed, MAX(y.day) AS day, y.k, CAST(SUM(y.n) AS INT) AS n FROM {table} AS y WHERE {self.bound('y')} GROUP BY {self.value('y')}, y.k",
            f"SELECT MAX(y.ts) AS ts, y.landed, y.day, y.k, CAST(SUM(y.n) AS INT) AS n FROM {table} AS y WHERE {self.bound('y')} GROUP BY y.landed, y.day, y.k",
            f"SELECT DISTINCT y.ts, y.ts AS landed, y.day, y.k, y.n FROM {table} AS y WHERE {self.bound('y')}",
            f"SELECT y.ts, y.landed, y.day, y.k, CAST(SUM(y.n) OVER (PARTITION BY {self.value('y')}) AS INT) AS n FROM {table} AS y WHERE {self.bound('y')}",
            f"{plain} UNION ALL SELECT z.ts, z.landed, z.day, z.k, z.n FROM s.c AS z WHERE {self.bound('z')}",
            f"{plain} {self.some('UNION', 'EXCEPT', 'INTERSECT')} SELECT z.ts, z.landed, z.day, z.k, z.n FROM s.b AS z WHERE {self.bound('z')}",
            f"{plain} ORDER BY y.ts, y.landed, y.day, y.k, y.n LIMIT 3",
            f"SELECT y.ts, z.landed, z.day, y.k, z.n FROM {self.source('y', 0)} {self.some('', 'LEFT ')}JOIN {self.source('z', 0)} ON {self.tie('y', 'z')} WHERE {self.bound('y')}",
        )
        return f"({inner}) AS {alias}"

    def tested(self) -> str:
        """A condition on the rows of x, most often with a sub-query."""
        inner = f"FROM {self.source('e')} WHERE {self.tie('x', 'e')} AND {self.bound('e')}"
        apart = f"FROM {self.source('e')} WHERE {self.bound('e')}"
        return self.some(
            f"EXISTS (SELECT 1 {inner})",
            f"NOT EXISTS (SELECT 1 {inner})",
            f"{self.value('x')} IN (SELECT {self.value('e')} {apart})",
            f"{self.value('x')} NOT IN (SELECT {self.value('e')} {apart})",
            f"x.k IN (SELECT e.k {apart})",
            f"x.n >= (SELECT MIN(e.n) {inner})",
            f"x.n >= (SELECT MIN(e.n) {apart})",
        )

    def joins(self) -> tuple[str, list[str]]:
        """FROM, and the aliases that a column may be of."""
        kind = self.some("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")  # fmt: skip
        on = self.tie("x", "y")
        if self.chance.random() < 0.4:
            on += f" AND {self.bound(self.some('x', 'y'))}"
        text, aliases = f"{self.source('x')} {kind} {self.source('y')} ON {on}", ["x", "y"]
        if kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN"):
            aliases = ["x"]
        if self.chance.random() < 0.35:
            third = self.tie(self.chance.choice(aliases), "z")
            text += f" {self.some('JOIN', 'LEFT JOIN', 'FULL JOIN')} {self.source('z')} ON {third}"
            aliases = [*aliases, "z"]
        return text, aliases

    def query(self) -> str:
        """A model's query."""
        shape = self.chance.random()
        if shape < 0.35:
            return self.single()
        text, aliases = self.joins()
        main = self.often("x", *aliases)
        where = self.bound(self.often(main, *aliases))
        if self.chance.random() < 0.3:
            where += f" AND {self.tie(self.chance.choice(aliases), self.chance.choice(aliases))}"
        if self.chance.random() < 0.15:
            where += f" AND {self.tested()}"
        ts = self.value(main)
        if self.chance.random() < 0.15:
            ts = f"COALESCE({', '.join(f'{each}.ts' for each in aliases)})"
        last = aliases[-1]
        if self.chance.random() < 0.25:
            keys = self.some(
                f"{ts}, {last}.k", f"{ts}", f"{main}.ts, {last}.k", f"{last}.k", f"{last}.ts"
            )
            out = ts if keys.startswith(ts) else f"MAX({main}.ts)"
            return f"SELECT {out} AS ts, COUNT(*) AS c, SUM({last}.n) AS s FROM {text} WHERE {where} GROUP BY {keys}"
        columns = ", ".join(f"{each}.n AS n{each}, {each}.ts AS t{each}" for each in aliases)
        return f"SELECT {self.some('', '', 'DISTINCT ')}{ts} AS ts, {columns} FROM {text} WHERE {where}"

    def single(self) -> str:
        """A query over one source."""
        where = f"{self.bound('x')}"
        if self.chance.random() < 0.6:
            where += f" AND {self.tested()}"
        ts = self.value("x")
        over = self.some(f"PARTITION BY {self.value('x')}", f"PARTITION BY {ts}, x.k ORDER BY x.n", "PARTITION BY x.k", "ORDER BY x.ts")  # fmt: skip
        scalar = f"(SELECT MAX(e.n) FROM {self.source('e')} WHERE {self.tie('x', 'e')} AND {self.bound('e')})"
        key = self.some(ts, "x.ts", self.value("x"), "x.k")
        return self.some(
            f"SELECT {ts} AS ts, x.k, x.n FROM {self.source('x')} WHERE {where}",
            f"SELECT {ts} AS ts, SUM(x.n) OVER ({over}) AS n FROM {self.source('x')} WHERE {where}",
            f"SELECT {ts} AS ts, SUM(x.n) AS n FROM {self.source('x')} WHERE {where} GROUP BY {ts}",
            f"SELECT MIN(x.ts) AS ts, SUM(x.n) AS n FROM {self.source('x')} WHERE {where} GROUP BY {key} HAVING COUNT(*) > 1",
            f"SELECT {ts} AS ts, x.k, {scalar} AS m FROM {self.source('x')} WHERE {where}",
            f"WITH w AS (SELECT e.ts, e.landed, e.day, e.k, e.n FROM {self.source('e')} WHERE {self.bound('e')}) SELECT x.ts, x.n, y.n AS m FROM w AS x {self.some('', 'LEFT ')}JOIN w AS y ON {self.tie('x', 'y')} WHERE {where}",
            f"SELECT {ts} AS ts, x.n FROM {self.source('x')} WHERE {where} {self.some('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')} SELECT {self.often(ts, self.value('x'))} AS ts, x.n FROM {self.source('x')} WHERE {self.bound('x')}",
            f"SELECT x.ts, x.k, x.n FROM {self.source('x')} WHERE {where} ORDER BY x.ts, x.k, x.n, x.landed, x.day LIMIT 3",
            f"SELECT MAX(x.ts) AS ts, COUNT(*) AS c FROM {self.source('x')} {self.some('', 'LEFT ')}JOIN {self.source('y')} ON {self.tie('x', 'y')} WHERE {where} GROUP BY y.ts",
            f"SELECT x.ts, x.n, y.n AS m FROM {self.source('x')} {self.some('', 'LEFT ')}JOIN {self.source('y')} ON y.ts = x.ts AND y.ts = x.landed WHERE x.landed BETWEEN @start_dt AND @end_dt",
            f"SELECT {ts} AS ts, x.k FROM {self.source('x')} WHERE {where} QUALIFY COUNT(*) OVER ({over}) > 1",
        )


def units(unit: IntervalUnit) -> list[Interval]:
    """Those that have rows."""
    first = FIRST[unit]
    return list(unit.cells(Interval(first, unit.shifted(first, COUNT))))


def rows(chance: random.Random, unit: IntervalUnit, count: int) -> Rows:
    """Rows of every table."""
    near = [timedelta(0), timedelta(0), -timedelta(microseconds=1), timedelta(minutes=30), timedelta(hours=-1), timedelta(hours=3)]  # fmt: skip
    borders = [each.start for each in units(unit)]

    def row() -> Row:
        ts = chance.choice(borders) + chance.choice(near)
        at = chance.choice([ts, ts, chance.choice(borders) + chance.choice(near)])
        day = chance.choice([ts, ts, chance.choice(borders)]).date()
        holes = [None if chance.random() < 0.06 else each for each in (ts, at, day)]
        k = chance.choice([0, 1, 2, None])
        return holes[0], holes[1], holes[2], k, chance.choice([1, 2, 3, None])  # type: ignore[return-value]

    found: Rows = {}
    for table in TABLES:
        made = [row() for _ in range(count)]
        found[table] = [*made, *chance.choices(made, k=2)]
    return found


def database() -> duckdb.DuckDBPyConnection:
    """An empty one, in UTC."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'; CREATE SCHEMA s")
    return connection


def fill(connection: duckdb.DuckDBPyConnection, data: Rows) -> None:
    """The tables."""
    for name, made in data.items():
        connection.execute(
            f"CREATE OR REPLACE TABLE s.{name} (ts TIMESTAMPTZ, landed TIMESTAMPTZ, day DATE, k INT, n INT)"
        )
        places = ", ".join("(?, ?, ?, ?, ?)" for _ in made)
        values = [value for each in made for value in each]
        if made:
            connection.execute(f"INSERT INTO s.{name} VALUES {places}", values)


def evaluated(
    connection: duckdb.DuckDBPyConnection, query: exp.Query, batch: Interval
) -> list[tuple[object, ...]]:
    """The rows of a query for an interval, each with its time as an instant at first."""
    times = TimeRange.of(batch, execution_time=batch.end)
    sql = on_duckdb(resolve_time_macros(query, times))
    found = connection.execute(f"SELECT CAST(ts AS TIMESTAMPTZ) AS at_, * FROM ({sql}) AS q")
    return [tuple(each) for each in found.fetchall()]


def of_unit(found: list[tuple[object, ...]], unit: Interval) -> list[str]:
    """Those of a unit, as a multiset."""
    kept = (each for each in found if isinstance(each[0], datetime) and unit.start <= each[0] < unit.end)  # fmt: skip
    return sorted(map(repr, kept))


def batches(unit: IntervalUnit) -> Iterator[Interval]:
    """What is evaluated: runs of units within those that have rows."""
    cells = units(unit)[1:-1]
    for first, last in ((0, 2), (0, 1), (1, 2)):
        yield Interval(cells[first].start, cells[last].end)


def difference(connection: duckdb.DuckDBPyConnection, query: exp.Query, unit: IntervalUnit) -> str:
    """A message about a unit with other rows alone than together with others; or none."""
    cells = units(unit)[1:-1]
    alone = {each: of_unit(evaluated(connection, query, each), each) for each in cells}
    for batch in batches(unit):
        found = evaluated(connection, query, batch)
        for each in cells:
            beside = of_unit(found, each)
            if batch.contains(each) and beside != alone[each]:
                return f"{each} in {batch}: alone {alone[each]}, beside others {beside}"
    return ""
