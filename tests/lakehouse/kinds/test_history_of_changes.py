"""Histories of changes that come in any order, in memory and on Spark.

What a history must show is computed by DuckDB from all changes at once, by the definition: a change
says something new unless the one before it says the same, and is valid until the next that does.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from tests.lakehouse.kinds.models import write_of
from tests.lakehouse.kinds.worlds import Values, Worlds, both_worlds, days, ordered
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.model.storage import PartitionField, Storage, Transform

TYPES: Final = {"id": "int", "at": "timestamp", "no": "int", "op": "string", "name": "string"}
ORDER: Final = "unique_key id, sequence_by (at, no), delete_when (op = 'D')"
BY_TIME: Final = f"SCD_TYPE_2_BY_TIME ({ORDER})"
BY_COLUMN: Final = f"SCD_TYPE_2_BY_COLUMN ({ORDER}, columns name)"
BY_EVERY: Final = f"SCD_TYPE_2_BY_COLUMN ({ORDER}, columns *)"
START: Final = datetime(2024, 1, 1, tzinfo=UTC)
STORED: Final = Storage(
    partitioned_by=(PartitionField(column="valid_to", transform=Transform.YEARS),),
    properties=(("write.merge.mode", "merge-on-read"),),
)


def versions_of(changes: Sequence[Values], *, by_column: bool) -> list[Values]:
    """By DuckDB, from nothing."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(
        'CREATE TABLE c (id INT, "at" TIMESTAMPTZ, no INT, op TEXT, name TEXT, gone BOOL)'
    )
    if changes:
        rows = [(*each, each[3] == "D") for each in dict.fromkeys(changes)]
        connection.executemany("INSERT INTO c VALUES (?, ?, ?, ?, ?, ?)", rows)
    says_the_same = (
        "EXISTS (FROM c AS b WHERE b.id = c.id AND (b.at, b.no) < (c.at, c.no) AND NOT EXISTS "
        "(FROM c AS m WHERE m.id = c.id AND (m.at, m.no) > (b.at, b.no) AND "
        "(m.at, m.no) < (c.at, c.no)) AND b.name IS NOT DISTINCT FROM c.name AND b.gone = c.gone)"
    ).replace(".at", '."at"')
    connection.execute(f"CREATE TABLE t AS FROM c WHERE NOT ({by_column} AND {says_the_same})")
    following = (
        '(SELECT n."at" FROM t AS n WHERE n.id = t.id AND (n."at", n.no) > (t."at", t.no) '
        'ORDER BY n."at", n.no LIMIT 1)'
    )
    query = (
        f'SELECT * FROM (SELECT id, "at", no, op, name, gone, {following} AS until FROM t) '
        'WHERE NOT gone AND (until IS NULL OR until > "at")'
    )
    found = connection.execute(query).fetchall()
    return ordered((*row[:5], row[1], row[6]) for row in found)


def drawn(seed: int) -> list[list[Values]]:
    """Batches of changes in any order, with repeats and deletes, some at one time."""
    drawing = random.Random(seed)
    every: list[Values] = [
        (
            key,
            START + timedelta(hours=at),
            no,
            drawing.choice(["I", "U", "D", None]),
            drawing.choice(["a", "b", None]),
        )
        for key in range(1, 5)
        for at, no in drawing.sample([(at, no) for at in range(5) for no in range(2)], 6)
    ]
    arriving = every + drawing.sample(every, 6)
    drawing.shuffle(arriving)
    borders = sorted(drawing.sample(range(len(arriving) + 1), 4))
    return [arriving[one:other] for one, other in zip([0, *borders], [*borders, 30], strict=True)]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Changes, and how their history is kept."""

    kind: str
    seed: int


CASES: Final = {
    f"{kind.split()[0].removeprefix('SCD_TYPE_2_')}-{'star' if '*' in kind else ''}{seed}": Case(
        kind=kind, seed=seed
    )
    for kind in (BY_TIME, BY_COLUMN, BY_EVERY)
    for seed in range(5)
}


@pytest.mark.parametrize(
    "worlds,case", both_worlds(CASES, short=["BY_TIME-0", "BY_COLUMN-1"]), indirect=["worlds"]
)
def test_a_history_follows_from_the_set_of_changes(worlds: Worlds, case: Case) -> None:
    write = write_of(case.kind, TYPES, days(1))
    table = replace(worlds.table(TYPES), storage=STORED)
    sums: list[RowSum] = []
    so_far: list[Values] = []
    for each in drawn(case.seed):
        so_far += each
        sums += table.write(each, write).sums[0].values()
        shown = ordered(row for row in table.rows() if row[5] is not None)
        assert shown == versions_of(so_far, by_column=case.kind != BY_TIME)
        assert len(table.rows()) == len(set(so_far))
        assert total(sums) == table.sum_of(shown)


def test_of_several_changes_of_a_day_the_last_one_makes_the_version_of_days(worlds: Worlds) -> None:
    write = write_of(f"SCD_TYPE_2_BY_TIME ({ORDER}, time_data_type date)", TYPES, days(1))
    table = replace(worlds.table(TYPES), storage=STORED)
    for hour in (5, 30, 1):
        table.write([(1, START + timedelta(hours=hour), 0, "U", "a")], write)
    first, second = START.date(), (START + timedelta(days=1)).date()
    shown = [(row[1], *row[5:]) for row in table.rows() if row[5] is not None]
    assert shown == [
        (START + timedelta(hours=5), first, second),
        (START + timedelta(hours=30), second, None),
    ]


@pytest.mark.spark
def test_versions_that_stay_are_not_written_again(on_spark: Worlds) -> None:
    write = write_of(BY_TIME, TYPES, days(1))
    table = replace(on_spark.table(TYPES), storage=STORED)
    rows: list[Values] = [
        (key, START + timedelta(hours=at), 0, "U", "a") for key in (1, 2) for at in (1, 5)
    ]
    table.write(rows, write)
    files = set(table.files())
    late = START + timedelta(hours=3)
    table.write([(1, late, 0, "U", "b")], write)
    added = [row for path, found in table.files().items() if path not in files for row in found]
    assert sorted((row[0], row[1]) for row in added) == [(1, START + timedelta(hours=1)), (1, late)]


REFUSED: Final = {
    "a tie": ([(1, START, 0, "U", "b")], "different changes have the same at, no, so none is the"),
    "no time": ([(1, None, 0, "U", "b")], "a change has NULL in id, at, no"),
}


@pytest.mark.parametrize("worlds,case", both_worlds(REFUSED, short=["a tie"]), indirect=["worlds"])
def test_what_has_no_place_is_refused(worlds: Worlds, case: tuple[list[Values], str]) -> None:
    changes, said = case
    write = write_of(BY_TIME, TYPES, days(1))
    table = replace(worlds.table(TYPES), storage=STORED)
    table.write([(1, START, 0, "I", "a")], write)
    before = table.head()
    with pytest.raises(EvaluationFailed, match=said):
        table.write(changes, write)
    assert table.head() == before


@pytest.mark.spark
def test_a_history_is_ordered_by_a_time(on_spark: Worlds) -> None:
    kind = "SCD_TYPE_2_BY_TIME (unique_key id, sequence_by (no, at))"
    with pytest.raises(EvaluationFailed, match="sequence_by no: int is not a time"):
        on_spark.table(TYPES).write([(1, START, 0, "I", "a")], write_of(kind, TYPES, days(1)))
