"""Rows, expressions and queries that Spark and DuckDB both answer, to be compared."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

import pyarrow as pa

from vde_dagster.core.columns import Column


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _decimals(text: str) -> list[Decimal | None]:
    return [None if each == "-" else Decimal(each) for each in text.split()]


def _days(text: str) -> list[date | None]:
    return [None if each == "-" else date.fromisoformat(each) for each in text.split()]


_INSTANTS = [
    _at("2024-02-29T23:59:59.999999"),
    _at("1969-12-31T23:59:59.000005"),
    _at("1900-01-01"),
    None,
    _at("9999-12-31T23:00:00"),
    _at("1582-10-10T12:00:00"),
    _at("2023-01-01"),
    _at("2024-03-31T02:30:00"),
    _at("2020-12-31T01:02:03.000456"),
    _at("2021-01-03"),
    _at("2013-07-01T00:00:01"),
    _at("2013-06-15"),
]
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
        [
            1.5,
            -2.5,
            0.0,
            None,
            float("nan"),
            float("inf"),
            -0.0,
            0.15,
            1e20,
            2.675,
            1e-7,
            123456.785,
        ],
    ),
    "y": (
        "double",
        pa.float64(),
        [2.0, 0.0, -0.0, 1.0, 2.0, float("-inf"), 3.0, None, 1e300, 0.1, -0.5, 7.0],
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
        _decimals("1.50 -2.55 0.00 - 99999999.99 -99999999.99 2.50 0.05 -0.01 7.25 1.00 3.14"),
    ),
    "e": (
        "decimal(5,1)",
        pa.decimal128(5, 1),
        _decimals("1.5 -2.5 0.0 9999.9 - 0.1 2.5 0.5 -0.5 7.2 1.0 3.1"),
    ),
    "day": (
        "date",
        pa.date32(),
        _days(
            "2024-02-29 1969-12-31 0001-01-01 - 9999-12-31 1582-10-10 2023-01-01 2024-01-31 "
            "2020-12-31 2021-01-03 1900-03-01 2013-06-15"
        ),
    ),
    "due": (
        "date",
        pa.date32(),
        _days(
            "2024-03-01 1970-01-01 2000-01-01 2000-01-01 - 1582-10-20 2023-01-01 2024-02-29 "
            "2021-01-01 2021-01-04 1900-02-28 2013-06-15"
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


EXPRESSIONS: Final = {
    "arithmetic": _listed("""
i + j;i - j;i * j;b + i;b * 2;i / j;b / i;x / y;x / i;i div j;b div i;i % j;b % i;mod(i, j);x + y
x * i;x - 1;c + e;c - e;c * e;c + 1;c * 2;c + i;c * i;c + 1.5;x + c;-i;-x;-c;i + 1.5;e * 100;100 * i
-(i + 1);i - -1;(i + j) * 2;x / (y / i)
"""),
    "comparisons": _listed("""
i = j;i < b;x = y;x < y;x > i;c = e;c < i;c > x;s = u;s < u;day = due;day < at;at >= day
at > '2013-07-01 00:00:00';day >= '2013-01-01';day between '1900-01-01' and date '2024-01-01'
i between j and 5;i <=> j;x <=> y;ok and i > 1;ok or i > 1;not ok;i is null;i is not null;ok is true
ok is not false;i in (1, 2, 3);i not in (1, null);b in (1, 10);day in ('2024-02-29', '2013-06-15')
s in ('Hello', '');c in (1.5, 2);x in (1.5, 0);s like 'H%';s like '%_b';s not like '%a%'
s like '100%';at = timestamp '2023-01-01 00:00:00';i <> j;i != j;ok = true;s >= 'a';null and ok
"""),
    "choices": _listed("""
case when i > 1 then 'a' when i < 0 then 'b' else 'c' end;case i when 1 then j when 2 then b end
case when ok then c else e end;case when ok then i else x end;case when ok then day else at end
if(ok, i, j);if(ok, 1, null);coalesce(i, j);coalesce(i, b, 0);coalesce(x, i, 0);coalesce(s, u, '-')
coalesce(c, e);nvl(i, 0);ifnull(s, u);nullif(i, 1);nullif(i, j);nullif(c, 1);nullif(x, 1.5)
nullif(x, 0);greatest(i, j);least(i, b);greatest(c, e, 1);greatest(s, u);least(day, due)
nullif(i, b)
coalesce(null, i);nullif(day, at)
"""),
    "casts": _listed("""
cast(i as bigint);cast(b as int);cast(i as smallint);cast(x as int);cast(x as bigint)
cast(c as int);cast(e as int);cast(c as double);cast(i as decimal(10,2));cast(c as decimal(5,1))
cast(c as decimal(12,4));cast(i as double);cast(b as double);cast(i as string);cast(b as string)
cast(c as string);cast(e as string);cast(.5 as string);cast(-0.25 as string)
cast(ok as string);cast(ok as int);cast(day as string)
cast(day as timestamp);cast(at as date);cast(nt as date);cast(at as timestamp_ntz)
cast(nt as timestamp);cast('2024-01-01' as date);cast(null as int);i::bigint;date(at);to_date(at)
cast(b as tinyint);cast('2024-01-01 10:00:00' as timestamp);cast(null as decimal(5,1))
cast(1 as int);cast('2024-01-01 10:00:00+00:00' as timestamp)
cast('2024-01-01 23:59:59.999999+00:00' as timestamp)
"""),
    "numbers": _listed("""
round(x, 1);round(x);round(x, 2);round(x, 0);round(c, 1);round(c);round(c, 5);round(i, 1)
round(e, 0);round(x / y, 3);ceil(x);floor(x);ceil(c);floor(c);abs(i);abs(b);abs(x);abs(c)
ceiling(x);round(b);round(-c, 1);round(x, 6);round(cast(i as double) / 7, 1)
"""),
    "texts": _listed("""
length(s);upper(s);lower(s);ucase(u);substring(s, 2);substring(s, 1, 3);substr(s, 3, 2);left(s, 2)
right(s, 2);right(s, 0);trim(s);ltrim(s);rtrim(s);replace(s, 'l', 'LL');replace(s, 'a', '')
replace(s, 'o', u);startswith(s, u);endswith(s, u);contains(s, u);concat(s, u);s || u
s || '-' || u;concat(s);char_length(s);s || 'é';left(s, 100);substring(s, 2, 0)
trim(both from s);trim(leading from s);typeof(c * 2);typeof(nt);typeof(null);typeof(s);'it''s'
concat(s, ' ', u)
"""),
    "times": _listed("""
date_trunc('year', at);date_trunc('quarter', at);date_trunc('month', at);date_trunc('week', at)
date_trunc('day', at);date_trunc('hour', at);date_trunc('minute', at);date_trunc('second', at)
date_trunc('month', day);date_trunc('week', day);date_trunc('hour', nt);year(at);year(day);month(at)
month(day);quarter(at);quarter(day);day(at);day(day);dayofmonth(day);dayofyear(day);dayofyear(at)
dayofweek(day);dayofweek(at);weekofyear(day);hour(at);minute(at);second(at);hour(nt);second(nt)
extract(year from at);extract(month from day);extract(day from at);extract(hour from at)
extract(minute from nt);extract(week from day);extract(quarter from day);datediff(day, due)
datediff(at, due);date_add(day, 1);date_add(day, i);date_sub(day, 30);date_add(at, 1)
day + interval '1' day;day - interval '1' day;day + interval '1' month;day - interval '1' month
day + interval '1' year;at + interval '1' hour;at - interval '15' minute;at + interval '1' month
at + interval '2' day;at + interval 3 days;day + interval 1 month;at - interval '1' year;year(nt)
date_diff(day, due);day - interval '1' year;at + interval '30' second
"""),
    "constants": _listed("""
true;1;2147483647;2147483649;1.5;0.50;1e3;'a''b';null;date '2024-01-01';-1;1.50 + 2;5000000000;.5;1.
00.10;timestamp '2024-01-01 10:00:00';timestamp '2024-01-01 10:00:00.123';10D;5L;2S;-5;-1.5
"""),
    "columns": tuple(_DATA),
    "conditions": _listed("""
not (i > 1 and ok);ok and null;null or ok;if(i > 1 or ok, 1, 2);(i > 1) = ok;ok <=> null;i <=> null
"""),
}
"""Expressions, each of which is evaluated for every row."""

_ALIKE: Final = _listed(
    "i j;b b;b n;x y;s u;c c;c e;day due;at at;nt nt;ok ok;i b;i c;b e;i x;day at"
)
_OF_TWO: Final = _listed("""
{a} = {b};{a} < {b};{a} >= {b};{a} <=> {b};{a} in ({b}, {a});{a} not in ({b})
{a} between {b} and {a};{b} between {a} and {b};coalesce({a}, {b});nullif({a}, {b})
greatest({a}, {b});least({b}, {a});case when ok then {a} else {b} end
case {a} when {b} then 1 else 2 end;if({a} = {b}, {a}, {b});nullif({b}, {a})
""")
OF_PAIRS: Final = tuple(
    written.format(a=pair.split()[0], b=pair.split()[1]) for pair in _ALIKE for written in _OF_TWO
)
"""Expressions for every type, and for types that meet; some of them are left to Spark."""
_OF_ONE: Final = (
    "SELECT count(DISTINCT {a}) AS d, min({a}) AS lo, max({a}) AS hi, count({a}) AS n FROM m.t",
    "SELECT {a} AS v, count(*) AS n, min(k) AS f FROM m.t GROUP BY {a}",
    "SELECT k, lag({a}) OVER (ORDER BY k) AS p, max({a}) OVER (ORDER BY k) AS m FROM m.t",
    "SELECT k, rank() OVER (ORDER BY {a} DESC) AS r, min({a}) OVER () AS m FROM m.t",
    "SELECT k, {a} AS v FROM m.t ORDER BY {a}, k",
    "SELECT k, {a} AS v FROM m.t ORDER BY {a} DESC NULLS FIRST, k DESC",
    "SELECT a.k, b.k AS o FROM m.t a JOIN m.t b ON a.{a} = b.{a}",
    "SELECT k FROM m.t WHERE {a} IN (SELECT {a} FROM m.t WHERE k > 6)",
    "SELECT {a} FROM m.t WHERE k < 5 EXCEPT SELECT {a} FROM m.t WHERE k > 3",
)
OF_TYPES: Final = tuple(
    query.format(a=name) for name in _DATA if name not in "kgny" for query in _OF_ONE
)
"""Queries for every type; some of them are left to Spark."""

QUERIES: Final = _listed("""
SELECT * FROM m.t
SELECT t.* FROM m.t
SELECT K, t.I, m.t.s FROM m.t
SELECT count(*) FROM m.t
SELECT count(i), sum(n), min(s), max(day), avg(n) FROM m.t
SELECT count(*), count(*) FROM m.t
SELECT g, count(*) AS n, sum(n) AS t, avg(n) AS m, min(at) AS f, max(x) AS w FROM m.t GROUP BY g
SELECT g, count_if(ok) AS a, bool_and(ok) AS b, bool_or(ok) AS c FROM m.t GROUP BY 1
SELECT g AS h, sum(c) AS v, sum(e) AS w FROM m.t GROUP BY h HAVING sum(e) > 0 ORDER BY h DESC
SELECT year(day) AS y, count(*) AS n FROM m.t GROUP BY year(day) ORDER BY y
SELECT year(day) AS yr, count(*) AS z FROM m.t GROUP BY yr HAVING z > 1 ORDER BY z DESC, yr
SELECT count(DISTINCT g) AS d, count(DISTINCT n) AS e, count(1) AS o FROM m.t
SELECT sum(n) FILTER (WHERE ok) AS a, count(*) FILTER (WHERE n > 1) AS b FROM m.t
SELECT sum(n) AS s, max(g) AS g, count(n) AS c FROM m.t WHERE k < 0
SELECT sum(b) AS s FROM m.t WHERE k > 5
SELECT avg(x) AS a, min(x) AS lo, max(x) AS hi, min(y) AS y FROM m.t
SELECT k FROM m.t ORDER BY k
SELECT k, s FROM m.t ORDER BY s, k
SELECT k, s FROM m.t ORDER BY s DESC, k
SELECT k, x FROM m.t WHERE x = x OR x IS NULL ORDER BY x DESC NULLS FIRST, k
SELECT k, x FROM m.t ORDER BY x, k
SELECT k, n FROM m.t ORDER BY n NULLS LAST, k DESC LIMIT 5
SELECT k FROM m.t ORDER BY k LIMIT 3 OFFSET 2
SELECT i AS v FROM m.t ORDER BY j, k
SELECT k + 1 AS v FROM m.t ORDER BY v DESC
SELECT k + 1 AS v FROM m.t ORDER BY v * -1
SELECT g, count(*) AS n FROM m.t GROUP BY g ORDER BY count(*) DESC, g
SELECT DISTINCT g FROM m.t
SELECT DISTINCT g, ok FROM m.t ORDER BY 1, 2
SELECT a.k, b.k AS o FROM m.t a JOIN m.t b ON a.n = b.k
SELECT a.k, b.k AS o FROM m.t AS a LEFT JOIN m.t AS b ON a.n = b.k AND b.ok
SELECT a.k, b.k AS o FROM m.t a RIGHT OUTER JOIN m.t b ON a.n = b.k WHERE b.k < 6
SELECT a.k, b.k AS o FROM m.t a FULL JOIN m.t b ON a.n = b.n AND a.k < 3
SELECT count(*) AS n FROM m.t a CROSS JOIN m.t b
SELECT count(*) AS n FROM m.t a, m.t b WHERE a.g = b.g
SELECT count(*) AS n FROM m.t a JOIN m.t b ON a.g <=> b.g
SELECT * FROM (SELECT k, g FROM m.t) q JOIN (SELECT n, s FROM m.t) r ON q.k = r.n
WITH q AS (SELECT g, sum(n) AS n FROM m.t GROUP BY g) SELECT * FROM q WHERE n > 1
WITH q AS (SELECT k, n FROM m.t), r AS (SELECT q.k FROM q JOIN q p ON q.k = p.n) SELECT * FROM r
WITH q AS (SELECT 1 AS a) SELECT a FROM (WITH q AS (SELECT 2 AS a) SELECT a FROM q) AS z
SELECT k FROM m.t WHERE n IN (SELECT k FROM m.t WHERE k > 2)
SELECT k FROM m.t WHERE n NOT IN (SELECT k FROM m.t WHERE k > 2)
SELECT k FROM m.t WHERE EXISTS (SELECT 1 AS one FROM m.t WHERE k > 20)
SELECT k, (SELECT max(k) AS x FROM m.t) AS m FROM m.t
SELECT k FROM m.t WHERE k > (SELECT avg(n) AS x FROM m.t)
SELECT k FROM m.t WHERE k < 3 UNION ALL SELECT n FROM m.t
SELECT n FROM m.t UNION SELECT k FROM m.t ORDER BY n LIMIT 4
SELECT n FROM m.t INTERSECT SELECT k FROM m.t
SELECT k FROM m.t EXCEPT SELECT n FROM m.t
(SELECT k FROM m.t WHERE k = 1) UNION ALL (SELECT k FROM m.t ORDER BY k DESC LIMIT 1)
SELECT k, row_number() OVER (PARTITION BY g ORDER BY k) AS r FROM m.t
SELECT k, rank() OVER (ORDER BY g) AS r, dense_rank() OVER (ORDER BY g DESC) AS d FROM m.t
SELECT k, lag(n) OVER (ORDER BY k) AS p, lead(n, 2) OVER (ORDER BY k) AS q FROM m.t
SELECT k, lag(n, 1, 0) OVER (PARTITION BY g ORDER BY k DESC) AS p FROM m.t
SELECT k, sum(n) OVER (PARTITION BY g) AS a, sum(n) OVER (ORDER BY k) AS c FROM m.t
SELECT k, count(*) OVER (ORDER BY n) AS c, avg(n) OVER (ORDER BY n) AS a FROM m.t
SELECT k, ntile(3) OVER (ORDER BY k) AS t, max(s) OVER (PARTITION BY ok ORDER BY k) AS m FROM m.t
SELECT g, sum(sum(n)) OVER (ORDER BY g) AS running FROM m.t GROUP BY g
SELECT g, round(cast(sum(n) AS DOUBLE) / count(*), 1) AS m FROM m.t GROUP BY g ORDER BY m, g
SELECT 1 AS one, 'a' AS two
SELECT k, nt, at FROM m.t WHERE at < timestamp '2000-01-01 00:00:00'
SELECT `k` AS `a b`, t.`s` AS `from` FROM m.t ORDER BY `a b`
SELECT max(k) + 1 AS m FROM m.t HAVING count(*) > 3
SELECT k AS n, n AS k FROM m.t ORDER BY k, n
SELECT upper(g) AS g, count(*) AS c FROM m.t WHERE k < 11 GROUP BY upper(g) ORDER BY g
""")
"""Queries over the rows, each on a line of its own."""
