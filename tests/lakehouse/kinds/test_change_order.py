"""Changes of keys that come in any order, in memory and on Spark.

What a table must have is computed by DuckDB from all changes at once, by the definition: of each
key the change with the highest sequence.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from tests.lakehouse.kinds.models import write_of
from tests.lakehouse.kinds.worlds import Values, World, Worlds, both_worlds, days, ordered
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import ChangeOrder, MergeRows

TYPES: Final = {"id": "int", "at": "int", "no": "int", "op": "string", "name": "string"}
OPTIONS: Final = "unique_key id, sequence_by (at, no), delete_when (op = 'D')"
WRITE: Final = write_of(f"INCREMENTAL_BY_UNIQUE_KEY ({OPTIONS})", TYPES, days(1))


def test_a_model_says_how_changes_are_ordered() -> None:
    order = ChangeOrder(by=("at", "no"), deletes=HiddenRows(column="op", values=("D",)))
    assert MergeRows(interval=days(1), key=("id",), order=order) == WRITE


def last_of_each(changes: Sequence[Values]) -> list[Values]:
    """By DuckDB, from nothing."""
    import duckdb

    connection = duckdb.connect()
    connection.execute('CREATE TABLE c (id INT, "at" INT, no INT, op TEXT, name TEXT)')
    if changes:
        connection.executemany("INSERT INTO c VALUES (?, ?, ?, ?, ?)", changes)
    query = (
        "SELECT DISTINCT * FROM c WHERE NOT EXISTS "
        '(FROM c AS o WHERE o.id = c.id AND (o."at", o.no) > (c."at", c.no))'
    )
    return ordered(connection.execute(query).fetchall())


def drawn(seed: int) -> list[list[Values]]:
    """Batches of changes in any order, with repeats and deletes; no two changes are one's equal."""
    drawing = random.Random(seed)
    every: list[Values] = [
        (key, at, no, drawing.choice(["I", "U", "U", "D", None]), drawing.choice(["a", "b", None]))
        for key in range(1, 7)
        for at, no in drawing.sample([(at, no) for at in range(5) for no in range(2)], 4)
    ]
    arriving = every + drawing.sample(every, 6)
    drawing.shuffle(arriving)
    borders = sorted(drawing.sample(range(len(arriving) + 1), 4))
    return [arriving[one:other] for one, other in zip([0, *borders], [*borders, 30], strict=True)]


def follow(table: World, batches: Sequence[Sequence[Values]]) -> None:
    """Write batch after batch, and compare rows, sums and what audits see."""
    sums: list[RowSum] = []
    so_far: list[Values] = []
    for each in batches:
        so_far += each
        sums += table.write(each, WRITE).sums[0].values()
        assert table.rows() == last_of_each(so_far)
        seen = [row for row in table.rows() if row[3] != "D"]
        assert total(sums) == table.sum_of(seen)


@pytest.mark.parametrize(
    "worlds,case",
    both_worlds({str(seed): seed for seed in range(6)}, short=["0"]),
    indirect=["worlds"],
)
def test_the_table_follows_from_the_set_of_changes(worlds: Worlds, case: int) -> None:
    batches = drawn(case)
    by_position = Storage(properties=(("write.merge.mode", "merge-on-read"),))
    follow(replace(worlds.table(TYPES), storage=by_position), batches)
    shuffled = [random.Random(case).sample(each, len(each)) for each in reversed(batches)]
    follow(worlds.table(TYPES), shuffled)


def test_a_delete_alone_is_kept_and_an_older_change_does_not_bring_the_key_back(
    worlds: Worlds,
) -> None:
    table = worlds.table(TYPES)
    table.write([(1, 1, 0, "I", "a")], WRITE)
    deleted = table.write([(2, 5, 0, "D", None)], WRITE)
    assert deleted.sums == ({days(1): RowSum()},), "readers see what they saw"
    table.write([(2, 3, 0, "I", "b")], WRITE)
    assert table.rows() == [(1, 1, 0, "I", "a"), (2, 5, 0, "D", None)]


@dataclass(frozen=True, kw_only=True)
class Refused:
    """Changes after (1, 5, 0), and what is said of them."""

    changes: Sequence[Values]
    said: str


TIED: Final = (
    "different changes have the same at, no, so none is the last one "
    "(add a column to sequence_by that orders them) of "
)
REFUSED: Final = {
    "NULL in the key": Refused(
        changes=[(None, 1, 1, "I", "a")],
        said="a change has NULL in id, at, no; its key is (id) = (NULL)",
    ),
    "NULL in the sequence": Refused(
        changes=[(2, 1, None, "I", "a"), (3, 1, 1, "I", "a")],
        said="a change has NULL in id, at, no; its key is (id) = (2)",
    ),
    "a tie of two changes": Refused(
        changes=[(2, 1, 1, "I", "a"), (2, 1, 1, "I", "b")], said=f"{TIED}(id) = (2)"
    ),
    "a tie with a row": Refused(changes=[(1, 5, 0, "U", "b")], said=f"{TIED}(id) = (1)"),
}


@pytest.mark.parametrize(
    "worlds,case", both_worlds(REFUSED, short=["a tie with a row"]), indirect=["worlds"]
)
def test_what_has_no_last_change_is_refused_and_nothing_is_published(
    worlds: Worlds, case: Refused
) -> None:
    table = worlds.table(TYPES)
    table.write([(1, 5, 0, "I", "a")], WRITE)
    before = table.head()
    with pytest.raises(EvaluationFailed) as caught:
        table.write(case.changes, WRITE)
    assert str(caught.value).partition(": ")[2] == case.said
    assert table.head() == before


@pytest.mark.spark
def test_older_changes_and_repeats_leave_the_table_as_it_is(on_spark: Worlds) -> None:
    table = on_spark.table(TYPES)
    table.write([(1, 5, 0, "I", "a"), (2, 5, 0, "D", None)], WRITE)
    before = table.head()
    staged = table.write([(1, 4, 9, "U", "b"), (2, 4, 0, "I", "c"), (1, 5, 0, "I", "a")], WRITE)
    assert table.head() == before
    assert [each.rows for each in staged.sums[0].values()] == [0]


@pytest.mark.spark
def test_changes_that_differ_by_a_microsecond_are_different(on_spark: Worlds) -> None:
    types = {"id": "int", "no": "int", "at": "timestamp", "local": "timestamp_ntz"}
    options = "unique_key id, sequence_by no"
    write = write_of(f"INCREMENTAL_BY_UNIQUE_KEY ({options})", types, days(1))
    now = datetime(2024, 1, 1, microsecond=1)
    row = (1, 1, now.replace(tzinfo=UTC), now)
    later = now + timedelta(microseconds=1)
    for other in ((*row[:2], later.replace(tzinfo=UTC), now), (*row[:3], later)):
        table = on_spark.table(types)
        table.write([row], write)
        with pytest.raises(EvaluationFailed, match="different changes have the same no"):
            table.write([other], write)


WRONG: Final = {
    "map": ("sequence_by (at, tags)", "sequence_by tags: map<string,int> has no order"),
    "boolean": ("sequence_by gone", "sequence_by gone: boolean has no order"),
    "number": (
        "sequence_by at, delete_when at = 'x'",
        "delete_when `at` IN ('x'): at is int",
    ),
}


@pytest.mark.spark
@pytest.mark.parametrize("wrong", WRONG)
def test_columns_that_have_no_order_or_are_compared_with_what_they_are_not(
    on_spark: Worlds, wrong: str
) -> None:
    options, said = WRONG[wrong]
    types = {"id": "int", "at": "int", "gone": "boolean", "tags": "map<string, int>"}
    table = on_spark.table(types)
    write = write_of(f"INCREMENTAL_BY_UNIQUE_KEY (unique_key id, {options})", types, days(1))
    row = (1, 1, True, None)
    with pytest.raises(EvaluationFailed) as caught:
        table.write([row], write)
    assert said in str(caught.value)
    assert table.head() is None
