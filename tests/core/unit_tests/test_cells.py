"""Values of a test's file, read as Spark's types."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from vde_dagster.core.unit_tests.cells import Raw, WrongValue, may_be, read_cell, type_of


@pytest.mark.parametrize(
    "raw, kind, value",
    [
        (None, "int", None),
        ("1", "bigint", 1),
        ("true", "boolean", True),
        ("1.5", "decimal(10,2)", Decimal("1.50")),
        ("1e3", "double", 1000.0),
        ("2024-01-31", "date", date(2024, 1, 31)),
        ("2024-01-31", "timestamp", datetime(2024, 1, 31, tzinfo=UTC)),
        ("2024-01-31 12:00+02:00", "timestamp", datetime(2024, 1, 31, 10, tzinfo=UTC)),
        ("2024-01-31T12:00:00", "timestamp_ntz", datetime(2024, 1, 31, 12)),
        ("007", "string", "007"),
        ("", "string", ""),
        ("00ff", "binary", b"\x00\xff"),
        (["1", None], "array<int>", [1, None]),
        ({"1": ["2024-01-31"]}, "map<int,array<date>>", {1: [date(2024, 1, 31)]}),
        ({"A": "1"}, "struct<a:int,b:struct<c:string>>", {"a": 1, "b": None}),
        ({"b": {"c": "x"}}, "struct<a:int,b:struct<c:string>>", {"a": None, "b": {"c": "x"}}),
    ],
)
def test_a_value_is_read_as_its_type(raw: Raw, kind: str, value: object) -> None:
    assert read_cell(raw, kind) == value


@pytest.mark.parametrize(
    "raw, kind, says",
    [
        ("1.5", "int", "'1.5' is not a valid int"),
        ("128", "tinyint", "'128' is not a valid tinyint"),
        ("1.234", "decimal(10,2)", "'1.234' is not a valid decimal(10,2)"),
        ("soon", "timestamp", "'soon' is not a valid timestamp"),
        ("2024-01-01 00:00+01:00", "timestamp_ntz", "is not a valid timestamp_ntz"),
        ("xyz", "binary", "'xyz' is not a valid binary"),
        (["1"], "int", "is not a single value, which int needs"),
        ("1", "array<int>", "'1' is not a list"),
        ("1", "map<string,int>", "'1' is not a mapping"),
        ({"z": "1"}, "struct<a:int>", "z is not a field of struct<a:int>"),
        ("1", "interval day", "values of the type interval day cannot be written"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(raw: Raw, kind: str, says: str) -> None:
    with pytest.raises(WrongValue) as refused:
        read_cell(raw, kind)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "raw, kind, may",
    [
        ("1.5", "int", True),
        ("x", "int", False),
        ("2024-01-01 10:00", "date", True),
        ("x", "string", True),
        ("x", "array<int>", False),
        ("x", "unknown", True),
        (None, "date", True),
        ("2", "boolean", False),
    ],
)
def test_what_a_value_may_be(raw: Raw, kind: str, may: bool) -> None:
    assert may_be(raw, kind) is may


@pytest.mark.parametrize("kind", ["unknown", "void", "variant", "array<interval day>", "no type"])
def test_types_whose_values_cannot_be_written(kind: str) -> None:
    assert type_of(kind) is None
