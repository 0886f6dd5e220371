"""What the hash of a row distinguishes, and what not, in Spark's own compiled expressions.

Every row of a table is a struct; its fields are hashed as the columns of a row are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from tests.lakehouse.digest import reference
from tests.lakehouse.digest.rows import LONG
from vde_dagster.core.ledger.dsha import MODULUS, XXHASH64X2, RowSum, dsha, total
from vde_dagster.lakehouse.digest import native, row_sums
from vde_dagster.lakehouse.iceberg.tables import columns_of, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    from tests.conftest import SparkLake

pytestmark = pytest.mark.spark

# What each type distinguishes by itself is in `test_mutated_pairs`.
DIFFERENT = [
    ("next to a null", "'a', CAST(NULL AS STRING)", "CAST(NULL AS STRING), 'a'"),
    ("flags are no values", "CAST(NULL AS INT), 1", "1, CAST(NULL AS INT)"),
    ("flags are no values 2", "1, CAST(NULL AS INT)", "2, CAST(NULL AS INT)"),
    ("a flag is no bigint", "1L, CAST(NULL AS BIGINT)", "CAST(NULL AS BIGINT), 1L"),
    ("null and empty text", "''", "CAST(NULL AS STRING)"),
    ("padding", "'a'", "'a '"),
    ("case", "'a'", "'A'"),
    ("moved text", "'ab', 'c'", "'a', 'bc'"),
    ("columns change places", "1, 2", "2, 1"),
    ("infinities", "double('Infinity')", "double('-Infinity')"),
    ("not a number and null", "double('NaN')", "CAST(NULL AS DOUBLE)"),
    ("sign of a wide decimal", "1e20BD * 1.10", "-1e20BD * 1.10"),
    ("days", "INTERVAL '1' DAY", "INTERVAL '2' DAY"),
    ("time", "TIME'10:00:00'", "TIME'10:00:00.000001'"),
    ("calendar interval", "make_interval(0, 1)", "make_interval(0, 2)"),
    ("void", "NULL, 1", "NULL, 2"),
    ("months", "INTERVAL '1' MONTH", "INTERVAL '1' YEAR"),
    ("null in a struct", "struct('a', CAST(NULL AS STRING))", "struct(CAST(NULL AS STRING), 'a')"),
    ("null struct", "CAST(NULL AS STRUCT<a: INT>)", "struct(CAST(NULL AS INT))"),
    (
        "struct in a struct",
        "struct(CAST(NULL AS STRUCT<a: INT>))",
        "struct(struct(CAST(NULL AS INT)))",
    ),
    ("borders of structs", "struct('a', 'bc')", "struct('ab', 'c')"),
    ("null in an array", "array('a', NULL)", "array('a')"),
    ("place of a null in an array", "array('a', NULL)", "array(NULL, 'a')"),
    ("nulls in an array", "array(NULL, CAST(NULL AS INT))", "array(CAST(NULL AS INT))"),
    ("array of a null", "array(CAST(NULL AS INT))", "CAST(array() AS ARRAY<INT>)"),
    ("null array", "CAST(array() AS ARRAY<INT>)", "CAST(NULL AS ARRAY<INT>)"),
    ("arrays' borders", "array(array(1), array(2))", "array(array(1, 2), array())"),
    ("arrays' columns", "array(1), array(2, 3)", "array(1, 2), array(3)"),
    (
        "null array in an array",
        "array(CAST(NULL AS ARRAY<INT>))",
        "array(CAST(array() AS ARRAY<INT>))",
    ),
    (
        "null struct in an array",
        "array(named_struct('a', CAST(NULL AS INT)))",
        "array(CAST(NULL AS STRUCT<a: INT>))",
    ),
    ("key and value", "map('a', 'b')", "map('b', 'a')"),
    ("null in a map", "map('a', 1, 'b', NULL)", "map('a', NULL, 'b', 1)"),
    ("null and no entry", "map('a', 1, 'b', NULL)", "map('a', 1)"),
    ("null map", "CAST(map() AS MAP<INT, INT>)", "CAST(NULL AS MAP<INT, INT>)"),
    (
        "null map in a map",
        "map(1, CAST(NULL AS MAP<INT, INT>))",
        "map(1, CAST(map() AS MAP<INT, INT>))",
    ),
    ("keys that are structs", "map(struct(1, 2), 3)", "map(struct(2, 1), 3)"),
    ("keys that are arrays", "map(array(1, 2), 3)", "map(array(2, 1), 3)"),
    ("deep", "array(struct(map('k', array(1, NULL))))", "array(struct(map('k', array(NULL, 1))))"),
    ("variant of a text", "parse_json('1')", "parse_json('\"1\"')"),
    (
        "variant of a date",
        "to_variant_object(array(DATE'2020-01-01'))",
        "to_variant_object(array('2020-01-01'))",
    ),
    ("variant's null", "parse_json('null')", "CAST(NULL AS VARIANT)"),
]

EQUAL = [
    ("zeros", "0.0D", "-1 * 0.0D"),
    ("zeros of floats", "0.0F", "CAST(-1 AS FLOAT) * 0.0F"),
    ("not a number", "double('NaN')", "double('Infinity') - double('Infinity')"),
    ("decimals of one scale", "1.10", "CAST(1.1 AS DECIMAL(3, 2))"),
    (
        "decimals of one scale and other widths",
        "CAST(1.1 AS DECIMAL(9, 2))",
        "CAST(1.1 AS DECIMAL(18, 2))",
    ),
    ("nested zeros", "array(0.0D), struct(0.0D)", "array(-1 * 0.0D), struct(-1 * 0.0D)"),
    ("order in a map", "map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"),
    (
        "order in a map in a map",
        "map(1, map('a', 1, 'b', 2), 2, map('c', 3))",
        "map(2, map('c', 3), 1, map('b', 2, 'a', 1))",
    ),
    (
        "order of keys that are structs",
        "map(struct(1, 2), 3, struct(4, 5), 6)",
        "map(struct(4, 5), 6, struct(1, 2), 3)",
    ),
    (
        "order of keys that are arrays",
        "map(array(1), 3, array(4, 5), 6)",
        "map(array(4, 5), 6, array(1), 3)",
    ),
    ("zeros as keys", "map(0.0D, 1)", "map(-1 * 0.0D, 1)"),
    (
        "order in a variant",
        'parse_json(\'{"a": 1, "b": [1]}\')',
        'parse_json(\'{"b": [1], "a": 1}\')',
    ),
    ("what may be null", "element_at(array(1, NULL), 1)", "1"),
]

HASHED_ALIKE = [
    ("date and days", "DATE'1970-01-06'", "5"),
    (
        "timestamp and time without zone",
        "timestamp_seconds(5)",
        "timestamp_ntz'1970-01-01 00:00:05'",
    ),
    ("timestamp and microseconds", "timestamp_seconds(5)", "5000000L"),
    ("text and collated text", "'a'", "'a' COLLATE UTF8_LCASE"),
    ("names of fields", "named_struct('f', 1)", "named_struct('g', 1)"),
    ("names of fields inside", "array(map(1, struct(2 AS f)))", "array(map(1, struct(2 AS g)))"),
]
"""Values of other types with one hash: the schema alone distinguishes them."""

CASES = [*DIFFERENT, *EQUAL, *HASHED_ALIKE]
Hash = tuple[int, int]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """One row with a column for each row of each case: a struct of that row's values."""
    listed = [row for _, left, right in CASES for row in (left, right)]
    columns = (f"struct({row}) AS row{number}" for number, row in enumerate(listed))
    return spark.sql(f"SELECT {', '.join(columns)}")


@pytest.fixture(scope="module")
def halves(rows: DataFrame) -> list[SparkColumn]:
    """The halves of the hash of each of these columns. To make the expressions takes long."""
    found = []
    for column in rows.schema.fields:
        values = cast("StructType", column.dataType).fields
        own = quoted(column.name)
        row = [(f"{own}.{quoted(each.name)}", each.dataType) for each in values]
        chains = (F.expr(native._chain(salt, row)) for salt in native._SALTS)
        found.append(F.array(*chains).alias(column.name))
    return found


@pytest.fixture(scope="module")
def hashes(rows: DataFrame, halves: list[SparkColumn]) -> dict[str, tuple[Hash, Hash]]:
    """The hashes of both rows of each case, from constants: Spark's interpreter computes them."""
    (found,) = rows.select(*halves).collect()
    pairs = zip(found[::2], found[1::2], strict=True)
    return {
        name: (tuple(left), tuple(right))
        for (name, _, _), (left, right) in zip(CASES, pairs, strict=True)
    }


@pytest.mark.full
@pytest.mark.parametrize("name", [each[0] for each in DIFFERENT])
def test_rows_that_differ_have_other_halves(
    hashes: dict[str, tuple[Hash, Hash]], name: str
) -> None:
    (upper, lower), (other_upper, other_lower) = hashes[name]
    assert upper != other_upper
    assert lower != other_lower


@pytest.mark.parametrize("name", [each[0] for each in EQUAL])
def test_rows_that_mean_the_same_have_the_same_hash(
    hashes: dict[str, tuple[Hash, Hash]], name: str
) -> None:
    left, right = hashes[name]
    assert left == right


@pytest.mark.parametrize("name", [each[0] for each in HASHED_ALIKE])
def test_the_schema_distinguishes_types_whose_values_are_hashed_alike(
    rows: DataFrame, hashes: dict[str, tuple[Hash, Hash]], name: str
) -> None:
    left, right = hashes[name]
    assert left == right
    number = [case for case, _, _ in CASES].index(name)
    types = [rows.schema[2 * number + side].dataType for side in (0, 1)]
    one, other = (columns_of(cast("StructType", each)) for each in types)
    assert dsha(RowSum(), one) != dsha(RowSum(), other)


def test_every_case_stands_once() -> None:
    names = [name for name, _, _ in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.full
def test_compiled_expressions_agree_with_interpreted_ones(
    spark: SparkSession,
    rows: DataFrame,
    halves: list[SparkColumn],
    hashes: dict[str, tuple[Hash, Hash]],
) -> None:
    # Constants are folded by the interpreter; rows that come out of a shuffle are not. A variant
    # has no way through a shuffle's files that matters here, and is never compiled.
    interpreted = [each for pair in hashes.values() for each in pair]
    shuffled = rows.repartition(1)
    spark.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY")
    try:
        for part in compiled_together(rows.schema):
            (found,) = shuffled.select(*[halves[number] for number in part]).collect()
            assert [tuple(each) for each in found] == [interpreted[number] for number in part]
    finally:
        spark.conf.unset("spark.sql.codegen.factoryMode")


def compiled_together(schema: StructType) -> Iterator[list[int]]:
    """The numbers of columns, in parts.

    Spark compiles whole stages, but none of very many columns or with functions over elements, and
    their columns one by one.
    """
    types = [column.dataType.simpleString() for column in schema.fields]
    listed = [n for n, of in enumerate(types) if "array" in of or "map" in of or "variant" in of]
    flat = [n for n in range(len(types)) if n not in listed]
    yield listed
    yield from (flat[at : at + 32] for at in range(0, len(flat), 32))


@pytest.mark.full
def test_sums_are_exact_modulo_two_to_the_128_however_rows_are_partitioned(
    spark: SparkSession,
) -> None:
    one = total(row_sums(spark.sql("SELECT 7L id"), XXHASH64X2).values())
    many = spark.range(0, 20_000, 1, 3).selectExpr("7L AS id")
    expected = RowSum(rows=20_000, sum=20_000 * one.sum % MODULUS)
    assert row_sums(many, XXHASH64X2) == {None: expected}
    assert row_sums(many.repartition(2), XXHASH64X2) == {None: expected}


@pytest.mark.full
def test_groups_have_the_sums_of_their_rows(spark: SparkSession) -> None:
    hashes = [reference.xxhash64x2([(LONG, number)]) for number in range(1000)]
    assert row_sums(spark.range(1000), XXHASH64X2, F.col("id") % 7) == {
        group: RowSum(rows=len(hashes[group::7]), sum=sum(hashes[group::7]) % MODULUS)
        for group in range(7)
    }


@pytest.mark.full
def test_no_rows_have_the_empty_sum(spark: SparkSession) -> None:
    nothing = spark.sql("SELECT 1 AS a WHERE false")
    assert row_sums(nothing, XXHASH64X2) == {None: RowSum()}
    assert row_sums(nothing, XXHASH64X2, F.col("a")) == {}


@pytest.mark.full
def test_more_columns_than_a_word_has_flags_are_distinguished(spark: SparkSession) -> None:
    # Column 0 and column 62 have the same bit, each in its own word.
    names = [f"CAST(IF(id = {number}, NULL, 1) AS INT) AS c{number}" for number in range(130)]
    frame = spark.range(130).selectExpr(*names)
    uppers, lowers = zip(*frame.select(*native.halves(frame)).collect(), strict=True)
    assert len(set(uppers)) == len(set(lowers)) == 130


@pytest.mark.full
def test_a_table_is_hashed_as_the_rows_that_were_written_to_it(
    spark: SparkSession, spark_lake: SparkLake
) -> None:
    spark.sql(f"CREATE NAMESPACE {spark_lake.catalog}.native_rows")
    frame = spark.sql(
        "SELECT id, CAST(id AS DECIMAL(30, 3)) d, CAST(IF(id % 2 = 0, NULL, 'x') AS CHAR(3)) c, "
        "struct(IF(id % 3 = 0, NULL, id) AS p, array(id, NULL) AS q) s, "
        "map(CAST(id AS STRING), NULL, 'k', 1.5D) m, timestamp_micros(id) t, "
        "to_timestamp_ntz('2013-01-01 00:00:00') n, CAST('bytes' AS BINARY) b, "
        "CAST(-1 AS FLOAT) * 0.0F z FROM range(50)"
    )
    table = f"{spark_lake.catalog}.native_rows.t"
    frame.writeTo(table).using("iceberg").create()
    assert row_sums(spark.table(table), XXHASH64X2) == row_sums(frame, XXHASH64X2)


@pytest.mark.full
def test_the_encoding_stays_what_it_is(spark: SparkSession) -> None:
    # A stored D-SHA must mean the same for ever: a change here is a new algorithm. The number is
    # what the independent implementation in `reference` gives.
    frame = spark.sql(
        "SELECT 1L a, 'x' b, CAST(NULL AS DOUBLE) c, struct(1 p, array('q') q) d, map('k', 2) e"
    )
    assert row_sums(frame, XXHASH64X2) == {
        None: RowSum(rows=1, sum=96168247640342785296836891310744053706)
    }


@pytest.mark.full
def test_the_columns_of_a_table_are_hashed_as_the_fields_of_a_row(spark: SparkSession) -> None:
    """Those of more than one word of flags, with names that have to be quoted, and of all sorts."""
    values = ["1", "'a'", "CAST(NULL AS INT)", "named_struct('b', NULL, 'c', 2)", "array(1, NULL)"]
    names = [f"`c {number}``.x`" for number in range(70)]
    columns = [f"{values[at % 5]} AS {name}" for at, name in enumerate(names)]
    frame = spark.range(2).selectExpr(*columns, "id")
    row = [(name, frame.schema[at].dataType) for at, name in enumerate([*names, "id"])]
    for salt, half in zip(native._SALTS, native.halves(frame), strict=True):
        chain = F.expr(native._chain(salt, row))
        both = frame.select(half.alias("one"), chain.alias("other")).collect()
        assert len({one for one, _ in both}) == 2
        assert all(one == other for one, other in both)


def test_a_struct_may_have_the_name_of_a_table_that_its_query_reads(spark: SparkSession) -> None:
    query = "SELECT c.id, named_struct('id', {0}) AS c FROM VALUES (1) AS c(id)"
    alike = "SELECT id, named_struct('id', {0}) AS c FROM VALUES (1) AS t(id)"
    sums = [row_sums(spark.sql(query.format(each)), XXHASH64X2) for each in (7, 8)]
    assert sums == [row_sums(spark.sql(alike.format(each)), XXHASH64X2) for each in (7, 8)]
    assert sums[0] != sums[1]
