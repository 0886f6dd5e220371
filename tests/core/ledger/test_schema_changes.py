"""What happens to the table of a version that is kept (rule R11; Iceberg's schema evolution)."""

from __future__ import annotations

import pytest

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.schema_changes import (
    ColumnAdded,
    ColumnDropped,
    ColumnIncompatible,
    ColumnWidened,
    SchemaChange,
    schema_changes,
)


def columns(text: str) -> list[Column]:
    """``a int, b string`` as columns."""
    pairs = (each.strip().split(" ", 1) for each in text.split(";") if each.strip())
    return [Column(name=name, type=type_) for name, type_ in pairs]


@pytest.mark.parametrize(
    "old,new",
    [
        ("int", "bigint"),
        ("decimal(10,2)", "decimal(12,2)"),
        ("decimal", "decimal(11,0)"),
        ("struct<a:int>", "struct<a:int,b:int>"),
        ("map<string,array<struct<a:int,c:int>>>", "map<string,array<struct<a:int,b:int,c:int>>>"),
    ],
)
def test_types_are_widened_as_iceberg_promotes_them(old: str, new: str) -> None:
    found = schema_changes(columns(f"a {old}"), columns(f"A {new}"))
    assert found == (ColumnWidened(column="a", before=old, after=new),)


@pytest.mark.parametrize(
    "old,new",
    [
        ("bigint", "int"),
        ("int", "double"),
        ("decimal(12,2)", "decimal(10,2)"),
        ("decimal(10,2)", "decimal(12,3)"),
        ("int", "string"),
        ("timestamp", "timestamp_ntz"),
        ("map<int,int>", "map<bigint,int>"),
        ("struct<a:int,b:int>", "struct<a:int,c:int>"),
    ],
)
def test_other_types_cannot_be_changed_in_place(old: str, new: str) -> None:
    found = schema_changes(columns(f"a {old}"), columns(f"a {new}"))
    assert found == (ColumnIncompatible(column="a", before=old, after=new),)


@pytest.mark.parametrize(
    "old,new",
    [
        ("int", "INT"),
        ("tinyint", "int"),
        ("varchar(10)", "string"),
        ("array<int>", "array< int >"),
        ("struct<a:int,b:int>", "struct<B:int,A:int>"),
        ("unknown", "int"),
    ],
)
def test_what_is_stored_alike_or_not_known_is_no_change(old: str, new: str) -> None:
    assert schema_changes(columns(f"a {old}"), columns(f"A {new}")) == ()


@pytest.mark.parametrize(
    "before,after,expected",
    [
        ("a int", "a int; b string", [ColumnAdded(column="b", type="string")]),
        ("a int; b string", "b string", [ColumnDropped(column="a", type="int")]),
        ("a int; b string", "b string; a int", []),
        ("a int", "b int", [ColumnDropped(column="a", type="int"),
                            ColumnAdded(column="b", type="int")]),  # a rename
        ("a int; b int", "c date; b string; a bigint", [
            ColumnWidened(column="a", before="int", after="bigint"),
            ColumnIncompatible(column="b", before="int", after="string"),
            ColumnAdded(column="c", type="date"),
        ]),
        ("", "a int", [ColumnAdded(column="a", type="int")]),
    ],
)  # fmt: skip
def test_columns_come_and_go(before: str, after: str, expected: list[SchemaChange]) -> None:
    assert list(schema_changes(columns(before), columns(after))) == expected
