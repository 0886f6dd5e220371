"""Proof by execution: rows of units that are called independent are the same alone and together.

Random queries are run on DuckDB for single units and for runs of them, over rows at the borders of
units. Each rule of the proof is removed once, and the same comparison has to find that.
"""

from __future__ import annotations

import random

import duckdb
import pytest

from tests.core.sql.reads.alone_cases import (
    UNITS,
    Queries,
    database,
    difference,
    fill,
    reason,
    rows,
    understood,
)
from vde_dagster.core.sql.reads import alone, joined, spans
from vde_dagster.core.sql.reads.joined import Role

ROWS = 14


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    return database()


def wrong(connection: duckdb.DuckDBPyConnection, seed: int, tables: int) -> str | None:
    """A query that is wrongly called independent, or nothing; None if it is not called so."""
    chance = random.Random(seed)
    unit = chance.choice(UNITS)
    text = Queries(chance, unit).query()
    query = understood(text)
    if reason(query, unit):
        return None
    try:
        for _ in range(tables):
            fill(connection, rows(chance, unit, ROWS))
            if found := difference(connection, query, unit):
                return f"by {unit.value}: {text}\n{found}"
    except duckdb.BinderException:
        return None  # GROUP BY a function of what is selected: Spark takes it, DuckDB does not
    return ""


def check(connection: duckdb.DuckDBPyConnection, seeds: range, tables: int) -> None:
    found = [wrong(connection, seed, tables) for seed in seeds]
    called = [each for each in found if each is not None]
    assert len(called) > len(seeds) / 10, "the queries are not those that the proof is about"
    assert not any(called), next(filter(None, called))


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(each, marks=pytest.mark.full) for each in (1, 2, 3))]
)
def test_rows_of_a_unit_that_are_called_independent_are_the_same_alone_and_together(
    connection: duckdb.DuckDBPyConnection, part: int
) -> None:
    check(connection, range(100 * part, 100 * (part + 1)), tables=1)


@pytest.mark.full
@pytest.mark.parametrize("part", range(12))
def test_many_more_of_them_are(connection: duckdb.DuckDBPyConnection, part: int) -> None:
    check(connection, range(10_000 + 400 * part, 10_000 + 400 * (part + 1)), tables=4)


# Planted defects ----------------------------------------------------------------------------------


def _nothing(*_: object, **__: object) -> str:
    return ""


def _true(*_: object, **__: object) -> bool:
    return True


def _same(span: object, *_: object) -> object:
    return span


def _kept(*_: object) -> Role:
    return Role.KEPT


DEFECTS = {
    "joins that tie nothing": (alone._Reader, "_why_apart", _nothing),
    "conditions that drop rows": (alone, "holds", _true),
    "conditions looked at for a unit alone": (spans, "_FAR", spans._NONE),
    "groups and windows over several units": (alone._Reader, "_is_by_time", _true),
    "LIMIT": (alone, "chooses", _nothing),
    "rows without a partner": (joined, "_role", _kept),
    "sub-queries": (alone._Reader, "_given", _nothing),
    "functions of times": (alone, "origin", _same),
    "one side of a set operation": (alone._Reader, "_united", _nothing),
    "sources that are bounded": (alone._Reader, "_why_source", _nothing),
}


IN_BOTH_FORMS = {
    "joins that tie nothing",
    "groups and windows over several units",
    "sub-queries",
    "functions of times",
    "sources that are bounded",
}


@pytest.mark.parametrize(
    "defect",
    [
        pytest.param(each, marks=[] if each in IN_BOTH_FORMS else pytest.mark.full)
        for each in DEFECTS
    ],
)
def test_a_rule_that_is_taken_away_is_found_by_executing(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, defect: str
) -> None:
    place, name, instead = DEFECTS[defect]
    monkeypatch.setattr(place, name, instead)
    first = _FIRST.get(defect, 0)
    assert any(wrong(connection, seed, 3) for seed in range(first, first + 400)), (
        "nothing was found"
    )


_FIRST = {
    "joins that tie nothing": 60,
    "conditions that drop rows": 15,
    "conditions looked at for a unit alone": 20,
    "groups and windows over several units": 20,
    "LIMIT": 175,
    "rows without a partner": 175,
    "functions of times": 15,
    "one side of a set operation": 50,
    "sources that are bounded": 10,
}
"""Where a query comes soon that has it: all others take time and show nothing."""
