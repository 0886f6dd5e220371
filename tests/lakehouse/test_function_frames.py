"""What a model's function returns, for each sort of frame: the very rows, or an error by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.lakehouse.conftest import python_rows
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed

if TYPE_CHECKING:
    from tests.lakehouse.conftest import Lake

pytestmark = pytest.mark.spark

MONEY: Final = "decimal(10,2)"
NOT_HELD: Final = f"f returns values that do not fit their columns:\n  x ({MONEY}): 0.3"
IMPORTS: Final = "import duckdb, pandas as pd, pyarrow as pa"
SQL: Final = 'context.spark.sql("SELECT {} AS x")'
FRAMES: Final = [
    # Spark's own frames: nothing is rounded on the way to a declared type.
    (SQL.format("1.5D"), MONEY, ["1.50"]),
    (SQL.format("0.1D + 0.2D"), MONEY, f"x ({MONEY}): it cannot store the double 0.3"),
    (SQL.format("1.005D"), MONEY, "1.005"),
    (SQL.format("EXPLODE(ARRAY(99999999.99D, -0.0D, NULL))"), MONEY, ["99999999.99", "0.00", None]),
    (SQL.format("DOUBLE('NaN')"), MONEY, "NaN"),
    (SQL.format("DOUBLE('NaN')"), "int", "NaN"),
    (SQL.format("1.555BD"), MONEY, "1.555"),
    (SQL.format("3000000000L"), "int", "3000000000"),
    (SQL.format("7L"), "int", ["7"]),
    (SQL.format("9007199254740993L"), "double", "9007199254740993"),
    (SQL.format("30000"), "decimal(4,0)", "30000"),
    (SQL.format("0.1D"), "float", ["0.1"]),
    (SQL.format("TIMESTAMP '2024-01-01 10:00:00'"), "date", "2024-01-01 10:00:00"),
    (SQL.format("TIMESTAMP '2024-01-01 00:00:00'"), "date", ["2024-01-01"]),
    (SQL.format("ARRAY(0.125D)"), f"array<{MONEY}>", "[0.125]"),
    (SQL.format("ARRAY(0.25D, NULL)"), f"array<{MONEY}>", ["[0.25, null]"]),
    (SQL.format("MAP('k', 0.125D)"), f"map<string,{MONEY}>", "{k -> 0.125}"),
    (SQL.format("MAP('k', 0.25D)"), f"map<string,{MONEY}>", ["{k -> 0.25}"]),
    (SQL.format("NAMED_STRUCT('b', 0.25D, 'a', 1)"), f"struct<a:int,b:{MONEY}>", ["{1, 0.25}"]),
    (SQL.format("'2024-01-01'"), "date", "cannot store all such values"),
    # Frames in memory.
    ("pd.DataFrame({'x': [1.5]})", MONEY, ["1.50"]),
    ("pd.DataFrame({'x': [0.1 + 0.2]})", MONEY, NOT_HELD),
    ("pa.table({'x': [1.5]})", MONEY, ["1.50"]),
    ("pa.table({'x': [0.1 + 0.2]})", MONEY, NOT_HELD),
    ("pa.record_batch({'x': [7]})", "int", ["7"]),
    ("pa.table({'x': pa.array([7], pa.uint64())})", "bigint", ["7"]),
    ("pa.table({'y': [7]})", "bigint", "missing: x; not declared: y"),
    ("pa.table([[1], [2]], names=['x', 'X'])", "bigint", "returned more than once: x"),
    ("pa.table({})", "bigint", []),
    ("duckdb.sql('SELECT 7 AS x')", "bigint", ["7"]),
    # No frames.
    ("[{'x': 7}]", "bigint", "returns list; return a DataFrame of Spark"),
    ("None", "bigint", "returns NoneType; return a DataFrame of Spark"),
]  # fmt: skip


@pytest.mark.parametrize("returned,declared,expected", FRAMES, ids=str)
def test_a_function_s_rows_are_stored_as_they_are_or_refused_by_name(
    lake: Lake, returned: str, declared: str, expected: list[str | None] | str
) -> None:
    source = f"{IMPORTS}\ndef f(context):\n    return {returned}\n"
    function = python_rows(source, function="f", path="models/m/f.py")
    columns = (Column(name="x", type=declared),)
    if isinstance(expected, str):
        with pytest.raises(EvaluationFailed) as found:
            lake.publish(function, columns=columns, path="models/m/f.py")
        assert expected in str(found.value)
        return
    lake.publish(function, columns=columns, path="models/m/f.py")
    table = lake.key.table
    rows = lake.rows(f"SELECT CAST(x AS STRING) FROM {table.namespace}.`{table.name}`")
    assert sorted(map(str, rows)) == sorted(str((each,)) for each in expected)
