# ruff: noqa: E501 - rows of tables stay on one line
"""Proof by execution: rows outside of the derived ranges never change a result.

Queries are generated and run on DuckDB three times: over all rows; without every row that is
outside of the derived range of its table; and with other rows outside of it. Rows without a time
are outside of every range.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pytest
import sqlglot
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from tests.core.sql.reads import alone_cases
from tests.core.sql.reads.alone_cases import UNITS, on_duckdb
from tests.depth import is_full
from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import canonicalize
from vde_dagster.core.sql.macros import TimeRange, resolve_time_macros
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.input_ranges import WHOLE, InputRange, TimeAxis, WholeTable, reads
from vde_dagster.core.time.intervals import Interval, IntervalUnit

FIRST = datetime(2024, 2, 27, tzinfo=UTC)
HALF_HOURS = 5 * 48  # up to the second of March: a leap day, a month's end, a week's end
HALF_HOUR = timedelta(minutes=30)
ROWS = 16
Row = tuple[object, int]


@dataclass(frozen=True)
class Table:
    """A parent: its time column in one type, and the units of its intervals."""

    name: str
    column: str
    type: str
    duckdb: str
    unit: IntervalUnit
    format: str = ""

    @property
    def model(self) -> ModelName:
        return ModelName("s", self.name)

    @property
    def axis(self) -> TimeAxis:
        return TimeAxis(column=self.column, unit=self.unit, type=self.type, format=self.format)

    def value(self, half_hours: int) -> object:
        """What a row of this time has in its column."""
        at = FIRST + half_hours * HALF_HOUR
        match self.type:
            case "timestamp":
                return at
            case "timestamp_ntz":
                return at.replace(tzinfo=None)
            case "date":
                return at.date()
            case "string":
                return at.date().isoformat()
            case _:
                return int(f"{at:%Y%m%d}")

    def lies_in(self, value: object, interval: Interval) -> bool:
        """Whether a row belongs to an interval: compared as the column's type compares."""
        start, end = (
            self.value((each - FIRST) // HALF_HOUR) for each in (interval.start, interval.end)
        )
        left: Any = value
        return value is not None and bool(start <= left < end)


TABLES = {
    each.name: each
    for each in (
        Table("p", "ts", "timestamp", "TIMESTAMPTZ", IntervalUnit.HOUR),
        Table("q", "ts", "timestamp_ntz", "TIMESTAMP", IntervalUnit.HOUR),
        Table("d", "ts", "date", "DATE", IntervalUnit.DAY),
        Table("t", "ts", "string", "VARCHAR", IntervalUnit.DAY),
        Table("n", "ts", "bigint", "BIGINT", IntervalUnit.DAY, "%Y%m%d"),
    )
}
ODD_TEXTS = ("2024-02-29x", "2024-2-29", "", "2024-02-29 12:00:00", "~", "2024-02")
ODD_NUMBERS = (20240230, 20240100, 0, 202402291)
INSTANTS = ("p", "q", "d")


# Queries ------------------------------------------------------------------------------------------


@st.composite
def constants(draw: st.DrawFn, table: str, first: int = 0, last: int = HALF_HOURS - 1) -> str:
    """An expression without columns that compares with the time column of a table."""
    at = FIRST + HALF_HOUR * draw(st.integers(first, last))
    if table == "t":
        date = f"DATE '{at:%Y-%m-%d}'"
        forms = [
            f"'{at:%Y-%m-%d}'",
            f"'{at:%Y-%m-%d %H:%M:%S}'",
            f"'{at:%Y-%m}'",
            f"CAST({date} AS STRING)",
            f"CAST(DATE_SUB({date}, {draw(st.integers(0, 3))}) AS STRING)",
            f"DATE_FORMAT({date}, 'yyyy-MM-dd')",
            f"CONCAT('{at:%Y-%m-}', '01')",
        ]
        return draw(st.sampled_from(forms))
    if table == "n":
        return draw(st.sampled_from([f"{at:%Y%m%d}", f"CAST('{at:%Y%m%d}' AS INT)", "20240230"]))
    return _shifted(draw, _instant(draw, at), depth=draw(st.sampled_from([0, 0, 1, 1, 2])))


def _instant(draw: st.DrawFn, at: datetime) -> str:
    return draw(
        st.sampled_from(
            [
                f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S}'",
                f"CAST('{at:%Y-%m-%d %H:%M:%S}+00:00' AS TIMESTAMP)",
                f"TIMESTAMP_NTZ '{at:%Y-%m-%d %H:%M:%S}'",
                f"DATE '{at:%Y-%m-%d}'",
                f"TO_DATE('{at:%Y-%m-%d}')",
            ]
        )
    )


def _shifted(draw: st.DrawFn, inner: str, depth: int) -> str:
    for _ in range(depth):
        count = draw(st.integers(-3, 3))
        unit = draw(st.sampled_from(["HOUR", "DAY", "MINUTE", "WEEK"]))
        grain = draw(st.sampled_from(["HOUR", "DAY", "WEEK", "MONTH", "YEAR"]))
        inner = draw(
            st.sampled_from(
                [
                    f"({inner} - INTERVAL '{abs(count)}' {unit})",
                    f"({inner} + INTERVAL {abs(count)} {unit})",
                    f"DATE_SUB({inner}, {count})",
                    f"DATE_ADD({inner}, {count})",
                    f"ADD_MONTHS({inner} - INTERVAL 31 DAYS, 1)",
                    f"({inner} + INTERVAL 29 DAYS - INTERVAL '1' MONTH)",
                    f"({inner} - INTERVAL '1' MONTH + INTERVAL '1' MONTH)",
                    f"DATE_TRUNC('{grain}', {inner})",
                    f"CAST({inner} AS DATE)",
                    f"CAST({inner} AS TIMESTAMP)",
                    f"TO_DATE({inner})",
                ]
            )
        )
    return inner


@st.composite
def values(draw: st.DrawFn, alias: str, table: str) -> str:
    """The time column, or a function of it."""
    column = f"{alias}.ts"
    if table not in INSTANTS or draw(st.booleans()):
        return column
    grain = draw(st.sampled_from(["HOUR", "DAY", "WEEK", "MONTH"]))
    forms = [
        f"CAST({column} AS DATE)",
        f"TO_DATE({column})",
        f"DATE({column})",
        f"DATE_TRUNC('{grain}', {column})",
        f"({column} + INTERVAL '2' HOUR)",
        f"({column} - INTERVAL '1' DAY)",
        f"DATE_ADD({column}, {draw(st.integers(-2, 2))})",
        f"CAST(DATE_TRUNC('{grain}', {column}) AS DATE)",
        f"CAST({column} AS TIMESTAMP)",
        f"({column} + INTERVAL '1' MONTH - INTERVAL '30' DAY)",
        f"COALESCE({column}, TIMESTAMP '2024-02-29 00:00:00')",
    ]
    return draw(st.sampled_from(forms))


@st.composite
def comparisons(draw: st.DrawFn, alias: str, table: str) -> str:
    value, one = draw(values(alias, table)), draw(constants(table))
    operator = draw(st.sampled_from(["<", "<=", ">", ">=", "=", "<>", "<=>"]))
    other = draw(constants(table))
    forms = [
        f"{value} {operator} {one}",
        f"{one} {operator} {value}",
        f"{value} BETWEEN {one} AND {other}",
        f"{value} >= {one} AND {value} < {other}",
        f"{value} NOT BETWEEN {one} AND {other}",
        f"{value} IN ({one}, {other})",
        f"{value} NOT IN ({one}, {other})",
    ]
    if table in INSTANTS:  # a text compared with a date or a timestamp
        at = FIRST + HALF_HOUR * draw(st.integers(0, HALF_HOURS - 1))
        forms += [
            f"{value} {operator} '{at:%Y-%m-%d}'",
            f"{alias}.ts >= '{at:%Y-%m-%d}' AND {value} < {other}",
        ]
    rare = [f"{alias}.k > 1", f"{alias}.ts IS NULL", f"{alias}.ts IS NOT NULL", "TRUE", "FALSE"]
    return draw(st.sampled_from([*forms, *forms, *rare]))


@st.composite
def conditions(draw: st.DrawFn, *sources: tuple[str, str]) -> str:
    """A condition over aliases of tables."""
    atoms = [comparisons(alias, table) for alias, table in sources]
    if len(sources) > 1:
        (one, first), (two, second) = sources[:2]
        joins = [f"{one}.k = {two}.k"]
        if first in INSTANTS and second in INSTANTS:
            joins += [f"{one}.ts = {two}.ts", f"{one}.ts >= {two}.ts"]
        atoms.append(st.sampled_from(joins))
    parts = draw(st.lists(st.one_of(atoms), min_size=1, max_size=4))
    text = parts[0]
    for part in parts[1:]:
        text = draw(
            st.sampled_from(
                [f"({text}) AND ({part})", f"({text}) OR ({part})", f"({part}) AND NOT ({text})"]
            )
        )
    return text


@st.composite
def windows(draw: st.DrawFn, alias: str, table: str) -> str:
    """A condition that bounds a table on both sides, as models have it."""
    value = draw(values(alias, table))
    one = draw(constants(table, 0, HALF_HOURS // 2))
    other = draw(constants(table, HALF_HOURS // 2, HALF_HOURS - 1))
    if draw(st.booleans()):
        return f"{value} BETWEEN {one} AND {other}"
    return f"{value} >= {one} AND {value} < {other}"


@st.composite
def scans(draw: st.DrawFn) -> str:
    """One table, and any condition."""
    table = draw(st.sampled_from(sorted(TABLES)))
    bounded = draw(windows("a", table))
    other = draw(conditions(("a", table)))
    where = draw(st.sampled_from([bounded, other, f"({bounded}) OR ({draw(windows('a', table))})"]))
    return f"SELECT a.ts, a.k FROM s.{table} AS a WHERE {where}"


def understood(sql: str) -> exp.Query:
    """A query in its canonical form, as Spark's dialect reads it."""
    parsed = sqlglot.parse_one(sql, read="spark")
    assert isinstance(parsed, exp.Query)
    schemas = {
        each.model: (Column(name="ts", type=each.type), Column(name="k", type="int"))
        for each in TABLES.values()
    }
    return canonicalize(parsed, schemas=schemas).expression


# Running ------------------------------------------------------------------------------------------

Data = Mapping[str, Sequence[Any]]


def filled(connection: duckdb.DuckDBPyConnection, data: Data) -> None:
    """The tables with these rows."""
    for name, rows in data.items():
        table = TABLES[name]
        connection.execute(f"CREATE OR REPLACE TABLE s.{name} (ts {table.duckdb}, k INT)")
        if rows:
            places = ", ".join("(?, ?)" for _ in rows)
            every = [value for row in rows for value in row]
            connection.execute(f"INSERT INTO s.{name} VALUES {places}", every)


def lies_in(name: str, value: Any, interval: Interval) -> bool:
    """Whether a row of a table of ours, or of the other cases, belongs to an interval."""
    if name in TABLES:
        return TABLES[name].lies_in(value, interval)
    return value is not None and bool(interval.start <= value < interval.end)


def kept(name: str, rows: Iterable[Any], read: InputRange, *, inside: bool) -> list[Any]:
    """The rows in a range, or those outside of it."""
    if isinstance(read, WholeTable):
        return [*rows] if inside else []
    return [row for row in rows if any(lies_in(name, row[0], each) for each in read) is inside]


def is_narrow(
    connection: duckdb.DuckDBPyConnection,
    query: exp.Query,
    found: Mapping[ModelName, InputRange],
    data: Data,
    others: Data,
    fill: Callable[[duckdb.DuckDBPyConnection, Any], None] = filled,
) -> bool:
    """Whether rows outside of these ranges change the result."""
    sql = on_duckdb(query)
    read = {table.name for table in query.find_all(exp.Table)}
    data = {name: rows for name, rows in data.items() if name in read}
    ranges = {name: found.get(ModelName("s", name), WHOLE) for name in data}

    def result(rows: Data) -> list[str]:
        fill(connection, rows)
        return sorted(map(repr, connection.execute(sql).fetchall()))

    whole = result(data)
    inside = {name: kept(name, rows, ranges[name], inside=True) for name, rows in data.items()}
    if result(inside) != whole:
        return True
    swapped = {
        name: [*rows, *kept(name, others[name], ranges[name], inside=False)]
        for name, rows in inside.items()
    }
    return result(swapped) != whole


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Row]]:
    """Rows of every table, some without a time, some with a text or number that is no date."""
    chance = random.Random(draw(st.integers(0, 2**16)))
    found: dict[str, list[Row]] = {}
    for name, table in TABLES.items():
        odd: Sequence[object] = {"t": ODD_TEXTS, "n": ODD_NUMBERS}.get(name, ())
        times = [table.value(chance.randrange(HALF_HOURS + 1)) for _ in range(ROWS)]
        some = [chance.choice([None, *odd]) for _ in range(3)]
        found[name] = [(each, chance.randrange(4)) for each in (*times, *some)]
    return found


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return alone_cases.database()


@settings(
    max_examples=200 if is_full() else 20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(sql=scans(), data=tables(), others=tables())
def test_rows_outside_of_the_derived_ranges_never_change_the_result(
    database: duckdb.DuckDBPyConnection, sql: str, data: Data, others: Data
) -> None:
    query = understood(sql)
    found = reads(query, axes={each.model: each.axis for each in TABLES.values()}).ranges()
    try:
        assert not is_narrow(database, query, found, data, others)
    except duckdb.Error:
        assume(False)  # types that DuckDB does not compare


@pytest.mark.parametrize("unit", UNITS)
def test_rows_outside_of_what_joins_and_sub_queries_read_never_change_the_result(
    database: duckdb.DuckDBPyConnection, unit: IntervalUnit
) -> None:
    chance, asked, bounded = random.Random(f"ranges {unit}"), 3000 if is_full() else 40, 0
    axis = TimeAxis(column="ts", unit=unit, type="timestamp")
    axes = {ModelName("s", name): axis for name in alone_cases.TABLES}
    for number in range(asked):
        query = alone_cases.understood(alone_cases.Queries(chance, unit).query())
        interval = chance.choice(alone_cases.units(unit)[1:-1])
        found = reads(query, axes=axes).ranges(Moments.between(interval, interval))
        written = resolve_time_macros(query, TimeRange.of(interval, execution_time=interval.end))
        data, others = (alone_cases.rows(chance, unit, ROWS) for _ in range(2))
        try:
            narrow = is_narrow(database, written, found, data, others, alone_cases.fill)
        except duckdb.BinderException:
            continue  # columns of grouped queries that DuckDB does not find
        assert not narrow, f"{number}: {query.sql('spark')}"
        bounded += any(each != WHOLE for each in found.values())
    assert bounded > asked / 3


# Planted defects ----------------------------------------------------------------------------------

DENSE = {
    name: [(table.value(each), each % 4) for each in range(HALF_HOURS)] + [(None, 0)]
    for name, table in TABLES.items()
}
IN_A = "a.ts >= TIMESTAMP '2024-02-28 12:00:00' AND a.ts < TIMESTAMP '2024-03-01 06:00:00'"
IN_B = IN_A.replace("a.ts", "b.ts")
IN_X = IN_A.replace("a.ts", "x.ts")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a.ts, a.k FROM s.p AS a WHERE {IN_A}",
        f"SELECT a.ts, a.k FROM s.d AS a WHERE {IN_A}",
        "SELECT a.ts, a.k FROM s.t AS a WHERE a.ts BETWEEN '2024-02-28' AND '2024-03-01'",
        "SELECT a.ts, a.k FROM s.n AS a WHERE a.ts BETWEEN 20240228 AND 20240301",
        "SELECT a.k FROM s.p AS a WHERE DATE_TRUNC('DAY', a.ts) BETWEEN DATE '2024-02-28' AND DATE '2024-02-29'",
        f"SELECT COUNT(*) AS n FROM s.p AS a JOIN s.q AS b ON a.ts = b.ts AND {IN_A} AND {IN_B}",
        f"SELECT a.ts, b.ts AS bs FROM s.p AS a LEFT JOIN s.q AS b ON a.ts = b.ts AND {IN_B} WHERE {IN_A}",
        f"SELECT a.ts FROM s.p AS a LEFT ANTI JOIN s.q AS b ON a.ts = b.ts AND {IN_B}",
        f"SELECT x.ts FROM (SELECT a.ts FROM s.p AS a UNION ALL SELECT b.ts FROM s.q AS b) AS x WHERE {IN_X} AND x.ts <> TIMESTAMP '2024-02-29'",
        f"SELECT a.ts FROM s.q AS a WHERE NOT EXISTS (SELECT 1 FROM s.p AS b WHERE b.ts = a.ts AND {IN_B})",
        f"WITH c AS (SELECT CAST(a.ts AS DATE) AS ts, COUNT(*) AS k FROM s.p AS a GROUP BY CAST(a.ts AS DATE)) SELECT x.k FROM c AS x WHERE {IN_X}",
    ],
)
def test_a_range_that_is_one_unit_too_narrow_is_caught(
    database: duckdb.DuckDBPyConnection, sql: str
) -> None:
    query = understood(sql)
    found = reads(query, axes={each.model: each.axis for each in TABLES.values()}).ranges()
    assert not is_narrow(database, query, found, DENSE, DENSE)
    planted = 0
    for table in TABLES.values():
        read = found.get(table.model, WHOLE)
        if isinstance(read, WholeTable):
            continue
        (whole,) = read
        first = table.unit.following(whole.start)
        last = table.unit.floor(whole.end - timedelta(microseconds=1))
        for narrow in (Interval(first, whole.end), Interval(whole.start, last)):
            planted += 1
            defect = {**found, table.model: (narrow,)}
            assert is_narrow(database, query, defect, DENSE, DENSE), f"{table.name}: {narrow}"
    assert planted


WINDOW = Interval(datetime(2024, 2, 28, 12, tzinfo=UTC), datetime(2024, 3, 1, 6, tzinfo=UTC))


@pytest.mark.parametrize(
    "sql,table",
    [
        # The side that an outer join keeps is not bounded by its condition.
        (f"SELECT COUNT(*) AS n FROM s.p AS a LEFT JOIN s.q AS b ON a.ts = b.ts AND {IN_A}", "p"),
        (f"SELECT COUNT(*) AS n FROM s.p AS a RIGHT JOIN s.q AS b ON a.ts = b.ts AND {IN_B}", "q"),
        (f"SELECT COUNT(*) AS n FROM s.p AS a FULL JOIN s.q AS b ON a.ts = b.ts AND {IN_B}", "q"),
        (f"SELECT a.ts FROM s.p AS a LEFT ANTI JOIN s.q AS b ON a.ts = b.ts AND {IN_A}", "p"),
        # LIMIT and window functions count the rows that a later condition drops.
        (f"SELECT x.ts FROM (SELECT a.ts FROM s.p AS a ORDER BY a.ts LIMIT 90) AS x WHERE {IN_X}", "p"),
        (f"SELECT x.n FROM (SELECT a.ts, COUNT(*) OVER () AS n FROM s.p AS a) AS x WHERE {IN_X}", "p"),
        (f"SELECT x.n FROM (SELECT a.ts, RANK() OVER (ORDER BY a.ts) AS n FROM s.p AS a) AS x WHERE {IN_X}", "p"),
        (f"SELECT MIN(x.ts) AS m FROM (SELECT MIN(a.ts) AS ts FROM s.p AS a GROUP BY a.k) AS x WHERE {IN_X} OR x.ts IS NOT NULL", "p"),
        # One branch of OR, one of two scans, what is negated, what is NULL.
        (f"SELECT a.k FROM s.p AS a WHERE ({IN_A}) OR a.k = 1", "p"),
        (f"SELECT a.k FROM s.p AS a WHERE {IN_A} UNION ALL SELECT b.k FROM s.p AS b", "p"),
        (f"WITH c AS (SELECT * FROM s.p) SELECT a.k FROM c AS a WHERE {IN_A} UNION ALL SELECT b.k FROM c AS b", "p"),
        (f"SELECT a.k FROM s.p AS a WHERE NOT ({IN_A})", "p"),
        (f"SELECT a.k FROM s.p AS a WHERE ({IN_A}) OR a.ts IS NULL", "p"),
        (f"SELECT a.k FROM s.p AS a WHERE ({IN_A}) IS NOT TRUE", "p"),
        (f"SELECT SUM(CASE WHEN {IN_A} THEN 1 ELSE 0 END) + COUNT(*) AS n FROM s.p AS a", "p"),
        (f"SELECT a.k FROM s.p AS a WHERE a.ts > (SELECT MIN(b.ts) FROM s.q AS b) OR {IN_A}", "p"),
    ],
)  # fmt: skip
def test_bounds_that_only_seem_to_be_some_are_not_taken(
    database: duckdb.DuckDBPyConnection, sql: str, table: str
) -> None:
    query = understood(sql)
    axes = {each.model: each.axis for each in TABLES.values()}
    assert reads(query, axes=axes).ranges()[TABLES[table].model] == WHOLE
    defect = {TABLES[table].model: (WINDOW,)}
    assert is_narrow(database, query, defect, DENSE, DENSE)
