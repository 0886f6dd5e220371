"""INCREMENTAL_BY_UNIQUE_KEY (seed 001): rows inserted, updated and left, by tables of cases."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as kept
from datetime import date
from typing import Final

import pytest

from tests.lakehouse.kinds.models import write_of
from tests.lakehouse.kinds.worlds import (
    Values,
    Worlds,
    both_worlds,
    days,
    field,
    ordered,
)
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import total
from vde_dagster.core.ledger.unit_of_work import SqlRows
from vde_dagster.core.model.writes import MergeRows

ITEMS: Final = {"id": "int", "name": "string"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table's rows, those that come on 2024-01-02, and the table's rows then."""

    name: str
    options: str = "unique_key id"
    types: dict[str, str] = kept(default_factory=lambda: ITEMS)
    loaded: list[Values]
    new: list[Values]
    then: list[Values]


DATED = {"id": "int", "name": "string", "day": "date", "gone": "boolean"}
OLD, NOW = date(2023, 12, 1), date(2024, 1, 2)
CLAUSES = """unique_key id, when_matched (
  WHEN MATCHED AND source.gone THEN DELETE
  WHEN MATCHED AND source.day >= target.day THEN UPDATE SET
    target.name = COALESCE(source.name, target.name), target.day = source.day
)"""
CASES: Final = [
    Case(
        name="new keys are inserted, known ones updated, others stay",
        loaded=[(1, "a"), (2, "b")],
        new=[(2, "B"), (3, None)],
        then=[(1, "a"), (2, "B"), (3, None)],
    ),
    Case(
        name="the same rows", loaded=[(1, "a"), (2, "b")], new=[(1, "a")], then=[(1, "a"), (2, "b")]
    ),
    Case(name="nothing comes", loaded=[(1, "a")], new=[], then=[(1, "a")]),
    Case(name="the first rows", loaded=[], new=[(1, "a")], then=[(1, "a")]),
    Case(
        name="a key of two columns, with NULLs",
        options="unique_key (id, name)",
        types={**ITEMS, "amount": "int"},
        loaded=[(1, "a", 1), (1, None, 2), (None, None, 3), (None, "a", 4)],
        new=[(1, "a", 10), (1, None, 20), (None, None, 30), (2, None, 50)],
        then=[(1, "a", 10), (1, None, 20), (None, None, 30), (None, "a", 4), (2, None, 50)],
    ),
    Case(
        name="a key that is an expression",
        options="unique_key COALESCE(id, old_id)",
        types={"id": "int", "old_id": "int", "name": "string"},
        loaded=[(1, None, "a"), (None, 2, "b"), (None, None, "c")],
        new=[(None, 1, "A"), (2, 7, "B"), (3, 2, "D")],
        then=[(None, 1, "A"), (2, 7, "B"), (3, 2, "D"), (None, None, "c")],
    ),
    Case(
        name="clauses in order, DELETE among them",
        options=CLAUSES,
        types=DATED,
        loaded=[(1, "a", OLD, None), (2, "b", NOW, None), (3, "c", OLD, None), (4, "d", NOW, None)],
        new=[
            (1, None, NOW, False),
            (2, "B", OLD, False),  # no clause is true of it
            (3, "C", NOW, True),
            (4, "D", NOW, None),
            (5, "e", NOW, True),  # inserted, whatever the clauses say of rows that match
        ],
        then=[(1, "a", NOW, None), (2, "b", NOW, None), (4, "D", NOW, None), (5, "e", NOW, True)],
    ),
    Case(
        name="a merge filter: what it leaves out is not there for the merge",
        options="unique_key id, merge_filter target.day >= @start_date AND source.id > 0",
        types=DATED,
        loaded=[(1, "a", OLD, None), (2, "b", NOW, None)],
        new=[(1, "A", NOW, None), (2, "B", NOW, None)],
        then=[(1, "a", OLD, None), (1, "A", NOW, None), (2, "B", NOW, None)],
    ),
    Case(
        name="names that are words of SQL, and a NULL in the key",
        options="unique_key (`order`, `key of row`), when_matched (WHEN MATCHED THEN UPDATE SET "
        "target.`select` = source.`select`, target.`from` = CONCAT(source.`from`, target.`order`))",
        types={"order": "string", "key of row": "int", "select": "int", "from": "string"},
        loaded=[("x", 1, 1, "a"), ("y", 1, 2, "b"), ("z", None, 3, "c")],
        new=[("y", 1, 20, "B"), ("x", 2, 30, "C"), ("z", None, 40, "D"), (None, None, 50, "E")],
        then=[
            *[("x", 1, 1, "a"), ("y", 1, 20, "By"), ("x", 2, 30, "C")],
            *[("z", None, 40, "Dz"), (None, None, 50, "E")],
        ],
    ),
]


@pytest.mark.parametrize(
    "worlds,case",
    both_worlds(
        {case.name: case for case in CASES},
        short=("clauses in order, DELETE among them",),
    ),
    indirect=["worlds"],
)
def test_rows_are_merged_by_their_key(worlds: Worlds, case: Case) -> None:
    table = worlds.table(case.types)
    write = write_of(f"INCREMENTAL_BY_UNIQUE_KEY ({case.options})", case.types, days(1))
    first = table.write(case.loaded, write)
    assert table.rows() == ordered(case.loaded)
    second = table.write(case.new, write)
    assert table.rows() == ordered(case.then)
    changes = [*first.sums[0].values(), *second.sums[0].values()]
    assert [each.rows for each in changes] == [len(case.loaded), len(case.then) - len(case.loaded)]
    assert total(changes) == table.sum_of_all()


@pytest.mark.full
def test_a_key_may_be_a_field_of_a_struct(worlds: Worlds) -> None:
    types = {"id": "struct<no:int>", "name": "string"}
    table = worlds.table(types)
    write = write_of("INCREMENTAL_BY_UNIQUE_KEY (unique_key id.no)", types, days(1))
    for name in ("a", "b"):
        table.write(SqlRows(sql=f"SELECT NAMED_STRUCT('no', 1) AS id, '{name}' AS name"), write)
    _, found = table.engine.fetch(f"SELECT id.no, name FROM {table.key.table}", limit=9)
    assert [tuple(each) for each in found] == [(1, "b")]


SHARED: Final = {
    "id": ([(1, "a"), (2, "b"), (1, "b")], r"rows share the key \(id\) = \(1\): 2 of them"),
    "(id, name)": ([(1, None), (1, None), (1, "b")], r"\(id, name\) = \(1, NULL\): 2 of"),
    "COALESCE(id, 0)": ([(0, "a"), (None, "b")], r"\(COALESCE\(id, 0\)\) = \(0\): 2 of them"),
}


@pytest.mark.full
@pytest.mark.parametrize(
    "worlds,case",
    both_worlds({key: (key, *case) for key, case in SHARED.items()}, short=["(id, name)"]),
    indirect=["worlds"],
)
def test_two_new_rows_of_one_key_are_refused_and_nothing_is_published(
    worlds: Worlds, case: tuple[str, list[Values], str]
) -> None:
    key, rows, reported = case
    table = worlds.table(ITEMS)
    write = write_of(f"INCREMENTAL_BY_UNIQUE_KEY (unique_key {key})", ITEMS, days(1))
    table.write([(7, "kept")], write)
    before = table.head()
    with pytest.raises(EvaluationFailed, match=reported) as caught:
        table.write(rows, write)
    subject, _, words = str(caught.value).partition(": ")
    assert subject == str(table.key)
    assert words.startswith("rows share the key")
    assert words.endswith("name more columns in unique_key")
    assert table.head() == before
    assert table.rows() == [(7, "kept")]


@pytest.mark.full
def test_files_without_a_row_that_matches_are_left_as_they_are(worlds: Worlds) -> None:
    table = worlds.table(ITEMS, field("name"))
    write = MergeRows(interval=days(1), key=("id", "name"))
    table.write([(1, "a"), (2, "b"), (3, "c"), (4, "c")], write)
    files = table.files() if table.iceberg else {}
    table.write([(3, "c"), (5, "d")], write)
    assert table.rows() == [(1, "a"), (2, "b"), (3, "c"), (4, "c"), (5, "d")]
    if table.iceberg:
        kept = {path for path, rows in files.items() if rows[0][1] in ("a", "b")}
        assert len(kept) == 2
        assert kept <= set(table.files())
