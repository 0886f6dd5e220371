"""FULL, SEED and INCREMENTAL_UNMANAGED (seed 001): all rows at once, or appended rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import pytest

from tests.lakehouse.kinds.worlds import START, Worlds, both_worlds, days, field, ordered
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.unit_of_work import CsvRows, SqlRows
from vde_dagster.core.model.writes import AppendRows, MergeRows, ReplaceTable, Write

if TYPE_CHECKING:
    from collections.abc import Sequence

ITEMS: Final = {"id": "int", "name": "string"}


@pytest.mark.full
def test_a_full_table_has_the_rows_of_its_last_evaluation(worlds: Worlds) -> None:
    table = worlds.table(ITEMS, field("id", "bucket", 2))
    write = ReplaceTable(interval=days(0))
    a, b = [(1, "a"), (2, "b"), (2, "b")], [(3, None)]
    sums = []
    for rows in (a, a[::-1], [], b, a):
        sums.append(table.write(rows, write).sums[0])
        assert table.rows() == ordered(rows)
    assert sums[0] == sums[1] == sums[4] == {days(0): table.sum_of_all()}
    assert sums[2] == {days(0): RowSum()} != sums[3]


@pytest.mark.full
def test_unmanaged_rows_are_added_whatever_is_there(worlds: Worlds) -> None:
    table = worlds.table(ITEMS, field("name"))
    a, b = [(1, "a"), (2, "b"), (2, "b")], [(1, "a")]
    changes: list[RowSum] = []
    files: set[str] = set()
    for number, rows in enumerate([a, [], b, a]):
        changes += table.write(rows, AppendRows(interval=days(number))).sums[0].values()
        if table.iceberg:
            assert files <= set(table.files())
            files = set(table.files())
    assert table.rows() == ordered([*a, *b, *a])
    assert [each.rows for each in changes] == [3, 0, 1, 3]
    assert changes[0] == changes[3]
    assert total(changes) == table.sum_of_all()


@pytest.mark.full
@pytest.mark.parametrize(
    "worlds,write",
    both_worlds(
        {
            "appended": AppendRows(interval=days(1)),
            "merged": MergeRows(interval=days(1), key=("id",)),
        },
        short=["merged"],
    ),
    indirect=["worlds"],
)
def test_a_table_is_rebuilt_by_several_writes_that_are_seen_together(
    worlds: Worlds, write: Write
) -> None:
    table = worlds.table(ITEMS)
    table.write([(1, "old"), (9, "old")], AppendRows(interval=days(0)))
    parts = [table.part([(1, "a")], write), table.part([(2, "b"), (3, "c")], write)]
    staging = table.staging(*parts, rebuilds=True)
    staged = table.engine.stage(staging)
    assert table.rows() == [(1, "old"), (9, "old")]
    assert staged.iceberg_snapshot_id is not None
    table.catalog.publish(table.key.table, base=staging.base, staged=staged.iceberg_snapshot_id)
    assert table.rows() == [(1, "a"), (2, "b"), (3, "c")]
    assert [total(each.values()).rows for each in staged.sums] == [1, 2]
    assert total(each for sums in staged.sums for each in sums.values()) == table.sum_of_all()


@pytest.mark.spark
@pytest.mark.parametrize(
    "write",
    [
        ReplaceTable(interval=days(0)),
        AppendRows(interval=days(0)),
        MergeRows(interval=days(0), key=("id",)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_how_much_a_table_has_is_known_from_its_metadata(on_spark: Worlds, write: Write) -> None:
    """Else no query of it is answered without Spark (`app.inspect.local_answers`)."""
    table = on_spark.table(ITEMS)
    for rows in ([(1, "a")], [(2, "b")]):
        table.write(rows, write)
        weight = table.catalog.weight(table.key.table, table.head())
        assert weight is not None
        assert weight > 0


CARRIERS: Final = """\
founded,code,fee,open,note,since
1953-01-06,LH,12.50,true,"a ""quoted"", name",2024-01-01T01:00:00+01:00
,,,,,
1919-10-07,KL,-0.05,false,"two
lines",2024-01-01 00:00:00.123456
"""
COLUMNS: Final = (
    Column(name="code", type="string"),
    Column(name="founded", type="date"),
    Column(name="fee", type="decimal(12,3)"),
    Column(name="open", type="boolean"),
    Column(name="note", type="string"),
    Column(name="since", type="timestamp"),
)


def test_cells_of_a_seed_have_the_declared_types(worlds: Worlds) -> None:
    table = worlds.table({})
    part = table.part(CsvRows(text=CARRIERS), ReplaceTable(interval=days(0)))
    staged = table.publish(replace(table.staging(part), columns=COLUMNS))
    assert [(each.name, each.type) for each in staged.columns] == [
        (each.name, each.type) for each in COLUMNS
    ]
    assert table.rows() == [
        (None,) * 6,
        ("KL", date(1919, 10, 7), Decimal("-0.05"), False, "two\nlines",
         START.replace(microsecond=123456)),
        ("LH", date(1953, 1, 6), Decimal("12.5"), True, 'a "quoted", name', START),
    ]  # fmt: skip


TYPES: Final[Sequence[tuple[str, str, str]]] = [
    # the type, a value of it in Spark, and the type that Iceberg has of it
    ("boolean", "TRUE", "boolean"),
    ("tinyint", "CAST(-128 AS TINYINT)", "int"),
    ("smallint", "CAST(32767 AS SMALLINT)", "int"),
    ("int", "CAST(-2147483648 AS INT)", "int"),
    ("bigint", "9223372036854775807", "bigint"),
    ("float", "CAST('-0.1' AS FLOAT)", "float"),
    ("double", "CAST('NaN' AS DOUBLE)", "double"),
    ("decimal(38,10)", "CAST('1234567890123456789012345678.0123456789' AS DECIMAL(38,10))", ""),
    ("string", "'it''s \\u00e9'", "string"),
    ("char(3)", "CAST('ab' AS CHAR(3))", "string"),
    ("varchar(3)", "CAST('abc' AS VARCHAR(3))", "string"),
    ("binary", "X'00FF'", "binary"),
    ("date", "DATE '0001-01-01'", "date"),
    ("timestamp", "TIMESTAMP '9999-12-31 23:59:59.999999+00:00'", "timestamp"),
    ("timestamp_ntz", "TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'", "timestamp_ntz"),
    ("array<int>", "ARRAY(1, NULL, 3)", "array<int>"),
    ("map<string,bigint>", "MAP('a', 1L, 'b', CAST(NULL AS BIGINT))", "map<string,bigint>"),
    ("struct<a:int,b:string>", "NAMED_STRUCT('a', 1, 'b', CAST(NULL AS STRING))", ""),
    (
        "array<struct<k:map<string,array<date>>>>",
        "ARRAY(NAMED_STRUCT('k', MAP('x', ARRAY(DATE '2024-02-29'))))",
        "",
    ),
]


@pytest.mark.full
@pytest.mark.spark
def test_every_type_that_iceberg_has_comes_back_as_it_was(on_spark: Worlds) -> None:
    made = [f"{value} AS c{number}" for number, (_, value, _) in enumerate(TYPES)]
    nulls = [f"CAST(NULL AS {kind}) AS c{number}" for number, (kind, _, _) in enumerate(TYPES)]
    sql = f"SELECT {', '.join(made)} UNION ALL SELECT {', '.join(nulls)}"
    table = on_spark.table({})
    staged = table.write(SqlRows(sql=sql), ReplaceTable(interval=days(0)))
    assert [each.type for each in staged.columns] == [kept or kind for kind, _, kept in TYPES]
    assert on_spark.spark is not None
    (equal,) = on_spark.spark.sql(
        f"SELECT COUNT_IF(rows = 1), COUNT(*) FROM (SELECT COUNT(*) AS rows FROM "
        f"(SELECT TO_JSON(STRUCT(*)) AS row FROM ({sql}) UNION ALL "
        f"SELECT TO_JSON(STRUCT(*)) FROM lake.{table.key.table}) GROUP BY row)"
    ).collect()
    assert tuple(equal) == (0, 2)
    assert {each.rows for each in staged.sums[0].values()} == {2}
