"""How present columns are found in an earlier schema: by their ids, in the spec's words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vde_dagster.core.ledger.earlier_schemas import (
    SAME,
    EarlierSchemas,
    PresentColumn,
    SchemaField,
    earlier_schemas,
    present_columns,
    replaced,
)

ID = SchemaField(id=1, name="id", type="int")
AMOUNT = SchemaField(id=2, name="amount", type="decimal(10,2)")
LEFT = SchemaField(id=4, name="left", type="int")
RIGHT = SchemaField(id=5, name="right", type="int")
PAIR = SchemaField(id=3, name="pair", type="struct<`left`:int,`right`:int>", fields=(LEFT, RIGHT))
THEN = (ID, AMOUNT, PAIR)
AT = 77
"""An Iceberg snapshot with the earlier schema."""


def schemas(*now: SchemaField, then: tuple[SchemaField, ...] = THEN) -> EarlierSchemas:
    """Of a table with an Iceberg snapshot of an earlier schema, and 78 of the present one."""
    return earlier_schemas(now, {0: then, 1: now}, [(AT, 0), (78, 1)])


def test_the_same_columns_need_nothing() -> None:
    assert present_columns(THEN, THEN) == ()
    assert schemas(*THEN) is SAME
    assert (SAME.columns(AT), SAME.marks(AT), SAME.columns(None)) == ((), (), ())


def test_a_column_that_was_dropped_and_added_again_was_not_there() -> None:
    again = replace(AMOUNT, id=6)
    found = schemas(ID, again)
    assert found.columns(AT) == (
        PresentColumn(name="id", type="int", former="id"),
        PresentColumn(name="amount", type="decimal(10,2)", former=None),
    )
    assert found.replaced(AT)
    assert (found.columns(78), found.marks(78)) == ((), ())


@pytest.mark.parametrize(
    "now, column",
    [
        (replace(ID, name="key"), PresentColumn(name="key", type="int", former="id")),
        (replace(ID, type="bigint"), PresentColumn(name="id", type="bigint", former="id")),
        (SchemaField(id=9, name="z", type="int"), PresentColumn(name="z", type="int", former=None)),
    ],
    ids=["renamed", "widened", "added"],
)
def test_what_names_and_types_show_is_read_so_and_leaves_tokens_as_they_are(
    now: SchemaField, column: PresentColumn
) -> None:
    found = schemas(now, AMOUNT)
    assert found.columns(AT)[0] == column
    assert found.marks(AT) == found.marks(None) == found.marks(5) == ()


def test_columns_that_changed_their_names_with_each_other_are_others() -> None:
    found = schemas(replace(LEFT, name="right"), replace(RIGHT, name="left"), then=(RIGHT, LEFT))
    assert [(each.name, each.former) for each in found.columns(AT)] == [
        ("right", "left"),
        ("left", "right"),
    ]
    assert found.replaced(AT)


def test_a_field_inside_is_found_by_its_id() -> None:
    again = replace(PAIR, fields=(LEFT, replace(RIGHT, id=6)))
    (column,) = present_columns((again,), (PAIR,))
    assert column == PresentColumn(
        name="pair",
        type=PAIR.type,
        former="pair",
        fields=(
            PresentColumn(name="left", type="int", former="left"),
            PresentColumn(name="right", type="int", former=None),
        ),
    )
    assert replaced((again,), (PAIR,)) == ("pair",)
    added = replace(PAIR, fields=(*PAIR.fields, SchemaField(id=7, name="z", type="int")))
    assert replaced((added,), (PAIR,)) == ()


def test_the_case_of_a_name_makes_no_other_column() -> None:
    assert replaced((replace(ID, id=9, name="ID"),), (ID,)) == ("ID",)
    assert replaced((replace(ID, name="ID"),), (ID,)) == ()


def test_each_default_of_a_column_that_was_not_there_is_another_mark() -> None:
    one, two = (schemas(ID, SchemaField(id=9, name="z", type="int", default=n)) for n in (1, 2))
    assert one.columns(AT)[1].default == 1
    assert one.marks(AT) != two.marks(AT)


def test_a_mark_follows_from_what_is_read_and_not_from_how_often_it_was_changed() -> None:
    once, twice = schemas(ID, replace(AMOUNT, id=6)), schemas(ID, replace(AMOUNT, id=8))
    assert once.marks(AT) == twice.marks(AT) != ()


def test_of_an_expired_snapshot_any_other_column_of_the_name_counts() -> None:
    once, twice = schemas(ID, replace(AMOUNT, id=6)), schemas(ID, replace(AMOUNT, id=8))
    assert once.marks(5) != ()
    assert once.marks(5) != twice.marks(5)
    assert once.columns(5) == ()


def test_rows_of_no_snapshot_have_no_marks() -> None:
    found = schemas(ID, replace(AMOUNT, id=6))
    assert (found.marks(None), found.columns(None)) == ((), ())
