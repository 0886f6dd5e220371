"""Rows, expressions and queries that Spark and DuckDB both answer, to be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, TypeVar

import pyarrow as pa

from vde_dagster.core.columns import Column

_Value = TypeVar("_Value")


def _each(of: Callable[[str], _Value], text: str) -> list[_Value | None]:
    """Values that are written with blanks between them; a dash is NULL."""
    return [None if each == "-" else of(each) for each in text.split()]


_INSTANTS = _each(
    lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC),
    "2024-02-29T23:59:59.999999 1969-12-31T23:59:59.000005 1900-01-01 - 9999-12-31T23:00:00 "
    "1582-10-10T12:00:00 2023-01-01 2024-03-31T02:30:00 2020-12-31T01:02:03.000456 2021-01-03 "
    "2013-07-01T00:00:01 2013-06-15",
)
_TEXTS = ("Hello", " a ", "", None, "éèİ", "tab\there", "100%")
_LARGE, _SMALL = 2**63 - 1, -(2**63)
_DATA: Final = {
    "k": ("int", pa.int32(), list(range(12))),
    "g": ("string", pa.string(), ["a", "b", "a", None, "b", "a", "c", None, "b", "a", "c", "é"]),
    "i": ("int", pa.int32(), [1, -7, 0, None, 2**31 - 1, -(2**31), 5, 3, 2, 10, -1, 100]),
    "j": ("int", pa.int32(), [2, 3, 0, 5, 1, -1, None, 3, -2, 4, 7, 0]),
    "n": ("int", pa.int32(), [2, 3, 0, 5, 1, -1, None, 3, -2, 4, 7, 0]),
    "b": (
        "bigint",
        pa.int64(),
        [1, -9, 0, None, _LARGE, _SMALL, 12345678901, 3, 2, 10, -1, 2**53 + 1],
    ),
    "x": (
        "double",
        pa.float64(),
        _each(float, "1.5 -2.5 0.0 - nan inf -0.0 0.15 1e20 2.675 1e-7 123456.785"),
    ),
    "y": (
        "double",
        pa.float64(),
        _each(float, "2.0 0.0 -0.0 1.0 2.0 -inf 3.0 - 1e300 0.1 -0.5 7.0"),
    ),
    "s": (
        "string",
        pa.string(),
        [
            "Hello",
            " a ",
            "",
            None,
            "éèİ",
            "tab\there",
            "100%",
            "a_b",
            "x'y",
            "\u00a0nb ",
            "ß",
            "zz",
        ],
    ),
    "u": ("string", pa.string(), ["H", "a", "", "x", "é", None, "%", "_", "'", "nb", "ss", "Z"]),
    "c": (
        "decimal(10,2)",
        pa.decimal128(10, 2),
        _each(Decimal, "1.50 -2.55 0.00 - 99999999.99 -99999999.99 2.50 0.05 -0.01 7.25 1.00 3.14"),
    ),
    "e": (
        "decimal(5,1)",
        pa.decimal128(5, 1),
        _each(Decimal, "1.5 -2.5 0.0 9999.9 - 0.1 2.5 0.5 -0.5 7.2 1.0 3.1"),
    ),
    "day": (
        "date",
        pa.date32(),
        _each(
            date.fromisoformat,
            "2024-02-29 1969-12-31 0001-01-01 - 9999-12-31 1582-10-10 2023-01-01 2024-01-31 "
            "2020-12-31 2021-01-03 1900-03-01 2013-06-15",
        ),
    ),
    "due": (
        "date",
        pa.date32(),
        _each(
            date.fromisoformat,
            "2024-03-01 1970-01-01 2000-01-01 2000-01-01 - 1582-10-20 2023-01-01 2024-02-29 "
            "2021-01-01 2021-01-04 1900-02-28 2013-06-15",
        ),
    ),
    "at": ("timestamp", pa.timestamp("us", tz="UTC"), _INSTANTS),
    "nt": (
        "timestamp_ntz",
        pa.timestamp("us"),
        [None if each is None else each.replace(tzinfo=None) for each in _INSTANTS],
    ),
    "ok": (
        "boolean",
        pa.bool_(),
        [True, False, None, True, False, None, True, True, False, False, None, True],
    ),
}
ROWS: Final = pa.table({name: pa.array(v, type=t) for name, (_, t, v) in _DATA.items()})
COLUMNS: Final = tuple(Column(name=name, type=kind) for name, (kind, _, _) in _DATA.items())


def _listed(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.replace("\n", ";").split(";") if each.strip())


_OF_ONE: Final = _listed("""
{a};-{a};not {a};{a} is null;{a} is not null;{a} is true;length({a});upper({a});lower({a})
year({a});month({a});day({a});hour({a});to_date({a});date_trunc('week', {a});typeof({a})
date_trunc('hour', {a});{a} = 1;{a} > 1.5;{a} >= '2013-01-01';{a} < timestamp '2023-01-01 00:00:00'
cast({a} as smallint);cast({a} as int);cast({a} as bigint);cast({a} as double);cast({a} as string)
cast({a} as decimal(12,4));cast({a} as date);cast({a} as timestamp);cast({a} as timestamp_ntz)
{a} in (1, 2.5, null);{a} in ('Hello', '');coalesce({a}, 0);if({a}, 1, 2);{a} + 1;2 * {a}
concat({a}, '-');{a} + interval '1' day;{a} - interval 1 month;{a} - interval '90' minutes
cast({a} as boolean);{a} and null;coalesce({a}, '-')
""")
_OF_TWO: Final = _listed("""
{a} = {b};{a} <> {b};{a} < {b};{a} <= {b};{a} >= {b};{a} <=> {b};{a} in ({b}, {a});{a} not in ({b})
{a} between {b} and {a};{a} + {b};{a} - {b};{a} * {b};{a} / {b};{a} || {b};{a} or {b}
coalesce({a}, {b});nullif({a}, {b});case when ok then {a} else {b} end
case {a} when {b} then 1 else 2 end;if({a} = {b}, {a}, null)
""")
_TYPES: Final = ("i", "b", "x", "s", "c", "day", "at", "nt", "ok")
_ALIKE: Final = _listed("i j;b n;x y;s u;c e;day due;at at;nt nt;ok ok;i b;i c;b x;day at;c x;s i")
_CONSTANTS: Final = _listed("""
true;1;2147483647;2147483649;1.5;0.50;'a''b';'é';null;date '2024-01-01';-1;5000000000;.5;1.;00.10
timestamp '2024-01-01 10:00:00.123';5L;2S;-5;-1.5;i + (j - 2) * n;cast(null as decimal(5,1))
cast('2024-01-01 23:59:59.999999+00:00' as timestamp);1.5 = 1.50;not (i > 1 and ok)
case when i > 1 then 'a' when i < 0 then 'b' end;cast('2024-01-01' as date)
""")


def _written(pairs: Iterable[str]) -> list[str]:
    return [each.format(a=pair.split()[0], b=pair.split()[1]) for pair in pairs for each in _OF_TWO]


EXPRESSIONS: Final = (
    *_CONSTANTS,
    *(each.format(a=name) for name in _TYPES for each in _OF_ONE),
    *_written(_ALIKE),
)
"""Every construct over every type; those of wrong types are left to Spark."""
OF_PAIRS: Final = tuple(_written(f"{a} {b}" for a in _TYPES for b in _TYPES))
"""Every operator over every two types."""

QUERIES: Final = _listed("""
SELECT * FROM m.t
SELECT t.* FROM m.t
SELECT K, t.I, m.t.s FROM m.t
SELECT count(*) FROM m.t
SELECT g, count(*) AS n, sum(n) AS t, avg(n) AS m, min(at) AS f FROM m.t GROUP BY g
SELECT g, count_if(ok) AS a FROM m.t GROUP BY 1
SELECT count(i), sum(n), min(s), max(day), avg(n) FROM m.t
SELECT count(*), count(*) FROM m.t
SELECT g AS h, sum(c) AS v, sum(e) AS w FROM m.t GROUP BY h HAVING sum(e) > 0 ORDER BY h DESC
SELECT year(day) AS y, count(*) AS n FROM m.t GROUP BY year(day) ORDER BY y
SELECT count(DISTINCT g) AS d, count(DISTINCT n) AS e, count(1) AS o FROM m.t
SELECT sum(n) AS s, max(g) AS g, count(n) AS c FROM m.t WHERE k < 0
SELECT sum(b) AS s FROM m.t WHERE k > 5
SELECT k FROM m.t ORDER BY k
SELECT k, s FROM m.t ORDER BY s, k
SELECT k, s FROM m.t ORDER BY s DESC, k
SELECT k, x FROM m.t WHERE x = x OR x IS NULL ORDER BY x DESC NULLS FIRST, k
SELECT k, x FROM m.t ORDER BY x, k
SELECT k, n FROM m.t ORDER BY n NULLS LAST, k DESC LIMIT 5
SELECT k FROM m.t ORDER BY k LIMIT 3 OFFSET 2
SELECT i AS v FROM m.t ORDER BY j, k
SELECT k + 1 AS v FROM m.t ORDER BY v DESC
SELECT DISTINCT g FROM m.t
SELECT DISTINCT g, ok FROM m.t ORDER BY 1, 2
SELECT a.k, b.k AS o FROM m.t a JOIN m.t b ON a.n = b.k
SELECT a.k, b.k AS o FROM m.t AS a LEFT JOIN m.t AS b ON a.n = b.k AND b.ok
SELECT a.k, b.k AS o FROM m.t a RIGHT OUTER JOIN m.t b ON a.n = b.k WHERE b.k < 6
SELECT a.k, b.k AS o FROM m.t a FULL JOIN m.t b ON a.n = b.n AND a.k < 3
SELECT count(*) AS n FROM m.t a CROSS JOIN m.t b
SELECT count(*) AS n FROM m.t a, m.t b WHERE a.g = b.g
SELECT count(*) AS n FROM m.t a JOIN m.t b ON a.g <=> b.g
WITH q AS (SELECT g, sum(n) AS n FROM m.t GROUP BY g) SELECT * FROM q WHERE n > 1
WITH q AS (SELECT k, n FROM m.t), r AS (SELECT q.k FROM q JOIN q p ON q.k = p.n) SELECT * FROM r
WITH q AS (SELECT 1 AS a) SELECT a FROM (WITH q AS (SELECT 2 AS a) SELECT a FROM q) AS z
SELECT k FROM m.t WHERE k < 3 UNION ALL SELECT n FROM m.t
SELECT n FROM m.t UNION SELECT k FROM m.t ORDER BY n LIMIT 4
SELECT n FROM m.t INTERSECT SELECT k FROM m.t
SELECT k FROM m.t EXCEPT SELECT n FROM m.t
(SELECT k FROM m.t WHERE k = 1) UNION ALL (SELECT k FROM m.t ORDER BY k DESC LIMIT 1)
SELECT 1 AS one, 'a' AS two
SELECT k, nt, at FROM m.t WHERE at < timestamp '2000-01-01 00:00:00'
SELECT `k` AS `a b`, t.`s` AS `from` FROM m.t ORDER BY `a b`
SELECT max(k) + 1 AS m FROM m.t HAVING count(*) > 3
SELECT k AS n, n AS k FROM m.t ORDER BY k, n
SELECT upper(g) AS g, count(*) AS c FROM m.t WHERE k < 11 GROUP BY upper(g) ORDER BY g
""")
"""Queries over the rows, each on a line of its own."""
