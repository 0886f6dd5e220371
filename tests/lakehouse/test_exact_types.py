"""Types that are said to be known for certain, compared with what Spark's analysis says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import QueryInvalid, canonicalize
from vde_dagster.core.sql.spark.exact_types import exact_types
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.lakehouse.evaluation import typed_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = ModelName("m", "t")
NUMBERS = {
    "ti": "tinyint",
    "si": "smallint",
    "i": "int",
    "bi": "bigint",
    "f": "float",
    "d": "double",
    "n1": "decimal(1,0)",
    "n5": "decimal(5,5)",
    "n10": "decimal(10,2)",
    "n18": "decimal(18,4)",
    "n20": "decimal(20,0)",
    "n30": "decimal(30,10)",
    "n38": "decimal(38,18)",
    "n380": "decimal(38,0)",
    "n388": "decimal(38,38)",
}
OTHERS = {
    "s": "string",
    "b": "boolean",
    "bin": "binary",
    "dt": "date",
    "ts": "timestamp",
    "nt": "timestamp_ntz",
    "a": "array<decimal(10,2)>",
    "m": "map<string,int>",
    "st": "struct<x:decimal(9,1),Y:string>",
}
COLUMNS = [Column(name=name, type=kind) for name, kind in {**NUMBERS, **OTHERS}.items()]
LITERALS = (
    *("1", "0", "-1", "-(1)", "123", "1L", "-2147483648", "2147483648", "99999999999999999999"),
    *("0.3", "0.30", "0.05", "-1.50", "00.5", "1.0", "5.", ".5", "1e3", "1.5D", "1.5BD", "0.05BD"),
    *("10S", "1Y", "1.5F", "NULL", "CAST(1 AS BIGINT)", "(1)", "(0.3)"),
)
OPERANDS = (*NUMBERS, *LITERALS)
BINARY = ("{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} div {}")
MEETING = (
    *("COALESCE({}, {})", "CASE WHEN b THEN {} ELSE {} END", "IF(b, {}, {})", "GREATEST({}, {})"),
    *("NULLIF({}, {})", "NVL({}, {})", "CASE WHEN b THEN {} WHEN NOT b THEN {} END"),
)
OF_ONE = (
    *("-{}", "ABS({})", "CEIL({})", "FLOOR({})", "ROUND({})", "ROUND({}, 1)", "ROUND({}, -3)"),
    *("ROUND({}, 12)", "({})", "SQRT({})", "SIGN({})", "POWER({}, 2)", "NEGATIVE({})", "+{}"),
    *("CEIL({}, 1)", "POSITIVE({})", "BROUND({}, 1)", "{} IN (1, 2)", "ARRAY({})[0]", "{} = 1"),
    *("CAST({} AS DECIMAL(7, 3))", "CAST({} AS DECIMAL)", "CAST({} AS DECIMAL(4))", "BIGINT({})"),
    *("CAST({} AS STRING)", "LN({})", "EXP({})", "MOD({}, 2)", "DECIMAL({})", "INT({})"),
)
AGGREGATES = (
    *("SUM({})", "AVG({})", "MEAN({})", "MIN({})", "MAX({})", "COUNT({})", "SUM(DISTINCT {})"),
    *("AVG({}) / 3", "SUM({}) / 3", "SUM({}) * 0.1", "SUM({}) FILTER (WHERE {} > 1)"),
    *("FIRST({})", "ANY_VALUE({})", "STDDEV({})", "COLLECT_LIST({})", "MEDIAN({})", "LAST({})"),
    *("SUM({}) / COUNT(*)", "COALESCE(SUM({}), 0)", "ROUND(AVG({}), 2)", "MAX_BY({}, 1)"),
    *("PERCENTILE({}, 0.5)", "MODE({})", "VARIANCE({})", "CORR({}, {})"),
)
OF_WINDOWS = (
    *("SUM({}) OVER ()", "AVG({}) OVER (PARTITION BY b)", "LAG({}) OVER (ORDER BY s)"),
    *("LEAD({}, 1, 0) OVER (ORDER BY s)", "FIRST_VALUE({}) OVER (ORDER BY s)"),
    *("NTH_VALUE({}, 2) OVER (ORDER BY s)", "LAG({}, 1, NULL) OVER (ORDER BY s)"),
)
OF_OTHERS = (
    *("LOWER({0})", "UPPER({0})", "TRIM({0})", "LENGTH({0})", "INITCAP({0})", "REVERSE({0})"),
    *("CONCAT({0}, 'x')", "CONCAT({0}, {0})", "{0} || 'x'", "SUBSTRING({0}, 1, 2)", "LEFT({0}, 1)"),
    *("RIGHT({0}, 1)", "LPAD({0}, 3, 'x')", "REPLACE({0}, 'a', 'b')", "TRANSLATE({0}, 'a', 'b')"),
    *("REGEXP_REPLACE({0}, 'a', 'b')", "REGEXP_EXTRACT({0}, 'a', 0)", "MD5({0})", "SHA2({0}, 256)"),
    *("HEX({0})", "ASCII({0})", "LEVENSHTEIN({0}, 'a')", "INSTR({0}, 'a')", "SPLIT({0}, ',')"),
    *("CONCAT_WS(',', {0})", "GET_JSON_OBJECT({0}, '$.x')", "CONTAINS({0}, 'a')", "{0} LIKE 'a'"),
    *("STARTSWITH({0}, 'a')", "{0} RLIKE 'a'", "{0} IS NULL", "SIZE({0})", "{0}[0]", "{0}['k']"),
    *("YEAR({0})", "QUARTER({0})", "MONTH({0})", "DAY({0})", "WEEKOFYEAR({0})", "DAYOFWEEK({0})"),
    *("DAYOFYEAR({0})", "HOUR({0})", "MINUTE({0})", "SECOND({0})", "TO_DATE({0})", "DATE({0})"),
    *("DATE_ADD({0}, 1)", "DATE_SUB({0}, 1)", "ADD_MONTHS({0}, 1)", "LAST_DAY({0})"),
    *(
        "TRUNC({0}, 'MM')",
        "DATE_TRUNC('DAY', {0})",
        "DATEDIFF({0}, {0})",
        "MONTHS_BETWEEN({0}, {0})",
    ),
    *("DATE_FORMAT({0}, 'y')", "TO_TIMESTAMP({0})", "TO_TIMESTAMP({0}, 'y')", "TO_DATE({0}, 'y')"),
    *(
        "UNIX_TIMESTAMP({0})",
        "FROM_UNIXTIME({0})",
        "EXTRACT(YEAR FROM {0})",
        "EXTRACT(DAY FROM {0})",
    ),
    *("EXTRACT(SECOND FROM {0})", "{0} + INTERVAL 1 DAY", "{0} - INTERVAL 2 HOURS", "{0} + 1"),
    *("{0} + INTERVAL 1 WEEK", "{0} + INTERVAL 1 MONTH", "{0} - {0}", "NEXT_DAY({0}, 'MON')"),
    *(
        "CAST({0} AS TIMESTAMP)",
        "CAST({0} AS DATE)",
        "CAST({0} AS TIMESTAMP_NTZ)",
        "{0}.x",
        "{0}.y",
    ),
    *("CAST({0} AS VARCHAR(3))", "COALESCE({0}, 'x')", "COALESCE({0}, NULL)", "GREATEST({0}, dt)"),
    *("COALESCE({0}, ts)", "COALESCE({0}, 1)", "CASE WHEN b THEN {0} ELSE 'x' END", "HASH({0})"),
    *("MAX({0})", "MIN({0})", "COUNT(DISTINCT {0})", "SUM({0})", "AVG({0})", "EXPLODE({0})"),
    *("ROUND({0}, 1)", "ABS({0})", "-{0}", "{0} * 2", "{0} / 2", "IFNULL({0}, {0})", "ARRAY({0})"),
    *("DATEDIFF(DAY, {0}, {0})", "DATEADD(MONTH, 1, {0})", "XXHASH64({0})", "CRC32({0})"),
    *("ARRAY_CONTAINS({0}, 1)", "ELEMENT_AT({0}, 1)", "CEIL({0})", "BOOL_OR({0})", "COUNT_IF({0})"),
    *("MAKE_DATE({0}, 1, 1)", "FORMAT_NUMBER({0}, 1)", "ISNAN({0})", "{0} IN ('x')", "LOG({0})"),
)
WHOLE = (
    *("CURRENT_DATE", "CURRENT_TIMESTAMP()", "NOW()", "UUID()", "RAND()", "PI()", "COUNT(*)"),
    *("ROW_NUMBER() OVER (ORDER BY s)", "RANK() OVER (ORDER BY s)", "NTILE(2) OVER (ORDER BY s)"),
    *("DENSE_RANK() OVER (ORDER BY s)", "PERCENT_RANK() OVER (ORDER BY s)", "DATE '2024-01-01'"),
    *("CUME_DIST() OVER (ORDER BY s)", "TIMESTAMP '2024-01-01 00:00:00'", "'x'", "TRUE", "X'00'"),
    *("(SELECT MAX(n10) FROM m.t)", "EXISTS(SELECT 1)", "b AND b", "NOT b", "i & 1", "ARRAY(1, 2)"),
    *(
        "NAMED_STRUCT('x', 1)",
        "MAP('a', 1)",
        "ATAN2(1, 2)",
        "APPROX_COUNT_DISTINCT(i)",
        "i BETWEEN 1 AND 2",
    ),
    *(
        "LOCALTIMESTAMP()",
        "CURRENT_TIMEZONE()",
        "RANDN()",
        "COVAR_POP(d, d)",
        "n10 <=> 1",
        "TRY_DIVIDE(n10, 2)",
    ),
)


SIDES = ("n10", "n18", "n38", "i", "bi", "d", "f", "0.05", "1", "s", "dt", "ts", "NULL", "n388")
VIEW = "exact_types_t"


def expressions() -> Iterator[str]:
    for form, left, right in product((*BINARY, *MEETING), OPERANDS, OPERANDS):
        if left in NUMBERS or right in NUMBERS:
            yield form.format(left, right)
    for form, each in product((*OF_ONE, *AGGREGATES, *OF_WINDOWS), OPERANDS):
        yield form.format(*[each] * form.count("{}"))
    for form, other in product(OF_OTHERS, (*OTHERS, *NUMBERS)):
        yield form.format(other)
    yield from WHOLE


def claimed(sql: str) -> str | None:
    """The type of the first column that is said to be known for certain."""
    parsed = read_spark(sql)
    assert isinstance(parsed, exp.Query)
    try:
        query = canonicalize(parsed, dialect="spark", schemas={T: COLUMNS}, undeclared=True)
    except QueryInvalid:
        return None
    return exact_types(query.expression, lambda _: COLUMNS).get("c")


def spark_types(spark: SparkSession, asked: Sequence[str]) -> list[str | None]:
    """What Spark says of each expression; None of what it refuses."""
    sql = ", ".join(f"{each.replace('m.t', VIEW)} AS c{at}" for at, each in enumerate(asked))
    try:
        fields = spark.sql(f"SELECT {sql} FROM {VIEW}").schema.fields
        return [each.dataType.simpleString() for each in fields]
    except (PySparkException, Py4JError):
        if len(asked) == 1:
            return [None]
        half = len(asked) // 2
        return [*spark_types(spark, asked[:half]), *spark_types(spark, asked[half:])]


@pytest.fixture(scope="module")
def columns(spark: SparkSession) -> Iterator[SparkSession]:
    nulls = ", ".join(f"CAST(NULL AS {each.type}) AS {each.name}" for each in COLUMNS)
    spark.sql(f"SELECT {nulls}").createOrReplaceTempView(VIEW)
    yield spark
    spark.catalog.dropTempView(VIEW)


def is_over_rows(expression: str) -> bool:
    """Whether an expression cannot stand beside a plain column."""
    if " OVER " in expression:
        return False
    return any(f"{each}(" in expression for each in _OVER_ROWS)


_OVER_ROWS = (
    *("SUM", "AVG", "MEAN", "MIN", "MAX", "COUNT", "FIRST", "LAST", "ANY_VALUE", "STDDEV", "MODE"),
    *("COLLECT_LIST", "MEDIAN", "MAX_BY", "PERCENTILE", "VARIANCE", "CORR", "BOOL_OR", "COUNT_IF"),
)


@pytest.mark.parametrize("count", [800, pytest.param(None, marks=pytest.mark.full)])
def test_a_type_that_is_said_to_be_known_is_the_one_that_spark_gives(
    columns: SparkSession, count: int | None
) -> None:
    every = list(dict.fromkeys(expressions()))
    asked = every if count is None else Random(count).sample(every, count)
    ours = {each: kind for each in asked if (kind := claimed(f"SELECT {each} AS c FROM m.t"))}
    assert len(ours) > 0.6 * len(asked)
    theirs: dict[str, str | None] = {}
    for over_rows in (True, False):
        group = [each for each in ours if is_over_rows(each) is over_rows]
        for at in range(0, len(group), 20):
            part = group[at : at + 20]
            theirs |= dict(zip(part, spark_types(columns, part), strict=True))
    wrong = {
        each: (ours[each], kind)
        for each, kind in theirs.items()
        if kind is not None and kind.lower() != ours[each].lower()
    }
    assert wrong == {}
    assert sum(kind is not None for kind in theirs.values()) > 0.9 * len(ours)


@pytest.mark.full
def test_the_columns_of_a_union_have_the_types_that_spark_gives_them(
    columns: SparkSession,
) -> None:
    wrong, known = {}, 0
    for one, other in product(SIDES, SIDES):
        sql = f"SELECT {one} AS c FROM m.t UNION ALL SELECT {other} FROM m.t"
        kind = claimed(sql)
        if kind is None:
            continue
        known += 1
        found = columns.sql(sql.replace("m.t", VIEW)).schema.fields[0].dataType.simpleString()
        if found != kind:
            wrong[sql] = (kind, found)
    assert (wrong, known > len(SIDES)) == ({}, True)


def test_a_value_that_is_none_of_its_columns_type_is_told(columns: SparkSession) -> None:
    with pytest.raises(EvaluationFailed, match="the column d has values that are no double"):
        typed_frame(columns, [Column(name="d", type="double")], [(Decimal("1.5"),)])
