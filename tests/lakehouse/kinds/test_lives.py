"""The life of a model, event by event: in memory and on Spark with equal results.

Each kind's writes are compared in the other files here.

What readers see is written here for each event; what is recorded, what plans say and which D-SHAs
are equal is compared between the two worlds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

import pytest

from tests.lakehouse.conftest import Lake
from tests.lakehouse.kinds.lives import Done, Event, Side, in_memory, on_spark
from tests.lakehouse.kinds.worlds import START, Values, ordered
from vde_dagster.core.ledger.dsha import MURMUR3_128
from vde_dagster.core.planning.options import DEFAULT_OPTIONS, PlanOptions

pytestmark = pytest.mark.spark

FORWARD: Final = PlanOptions(forward_only=True)
WHOLE: Final = PlanOptions(restate=("{s}.kept",))


def only(day: int) -> PlanOptions:
    """To restate the model's rows of one day."""
    first = START + timedelta(days=day)
    return replace(WHOLE, start=first, end=first + timedelta(days=1))


@dataclass(frozen=True, kw_only=True)
class Step:
    """One event, and the state after it.

    ``lands`` are rows that come, ``gone`` ids of those that are removed from the source, and
    ``day`` is up to when it is complete. ``select`` and ``more`` are the model's from then on. What
    then happens is in ``computes``: the rows of the model, or by how many its table grew if it
    builds on its own rows. If it is empty, and there is no error, there was nothing to do after the
    event. ``rows`` are what readers see, by default what they saw before.
    """

    lands: Sequence[Event] = ()
    gone: Sequence[int] = ()
    day: int | None = None
    select: str = ""
    more: str | None = None
    options: PlanOptions = DEFAULT_OPTIONS
    algorithm: str = ""
    environment: str = "prod"
    computes: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Values] | None = None


@dataclass(frozen=True, kw_only=True)
class Life:
    """A model ``kept`` and what happens to it."""

    kind: str
    select: str
    steps: Sequence[Step]
    more: str = ""
    where: str = "WHERE at BETWEEN @start_dt AND @end_dt"


def computes(rows: int) -> dict[str, int]:
    """What is computed of the model."""
    return {"kept": rows}


BY_TIME: Final = Life(
    kind="INCREMENTAL_BY_TIME_RANGE (time_column at)",
    select="id, at, amount",
    steps=[
        Step(
            lands=[(1, 1, 10, "a"), (2, 25, 20, "b")],
            day=2,
            computes=computes(2),
            rows=[(1, 1, 10), (2, 25, 20)],
        ),
        Step(),
        Step(lands=[(3, 2, 30, "c")]),  # late: nobody asked for it
        Step(options=only(0), computes=computes(2), rows=[(1, 1, 10), (3, 2, 30), (2, 25, 20)]),
        Step(day=3, computes=computes(0)),
        Step(
            lands=[(4, 73, 40, "d")],
            day=4,
            select="id, at, label",
            options=FORWARD,
            algorithm=MURMUR3_128,
            computes=computes(1),
            columns=["id", "at", "label"],
            rows=[(1, 1, None), (3, 2, None), (2, 25, None), (4, 73, "d")],
        ),
        Step(
            select="id, at, label, CAST(amount AS BIGINT) * 1000000000 AS amount",
            options=FORWARD,
            rows=[(1, 1, None, 10), (3, 2, None, 30), (2, 25, None, 20), (4, 73, "d", None)],
        ),
        Step(
            options=only(3),
            computes=computes(1),
            rows=[
                *[(1, 1, None, 10), (3, 2, None, 30), (2, 25, None, 20)],
                (4, 73, "d", 40_000_000_000),
            ],
        ),
        Step(
            options=WHOLE,
            computes=computes(4),
            rows=[
                *[(1, 1, "a", 10_000_000_000), (3, 2, "c", 30_000_000_000)],
                *[(2, 25, "b", 20_000_000_000), (4, 73, "d", 40_000_000_000)],
            ],
        ),
    ],
)
BY_KEY: Final = Life(
    kind="""INCREMENTAL_BY_UNIQUE_KEY (
        unique_key (id, COALESCE(label, '-')), batch_size 1, merge_filter target.amount < 100,
        when_matched (
          WHEN MATCHED AND source.amount IS NULL THEN DELETE
          WHEN MATCHED THEN UPDATE SET target.amount = source.amount, target.at = source.at
        ))""",
    select="id, at, amount, label",
    steps=[
        Step(
            lands=[(1, 1, 10, "a"), (2, 2, 20, "a"), (3, 25, 100, "b")],
            day=2,
            computes=computes(3),
            rows=[(1, 1, 10, "a"), (2, 2, 20, "a"), (3, 25, 100, "b")],
        ),
        Step(  # 1 is updated, 2 deleted, 3 is beyond the filter
            lands=[(1, 49, 11, "a"), (2, 49, None, "a"), (3, 50, 101, "b")],
            day=3,
            computes=computes(0),
            rows=[(1, 49, 11, "a"), (3, 25, 100, "b"), (3, 50, 101, "b")],
        ),
        Step(lands=[(4, 73, 1, "a"), (4, 74, 2, "a")], day=4, error="EvaluationFailed"),
        Step(gone=[4], computes=computes(0)),
        Step(  # of a row that matches, the new column is not among what is updated
            lands=[(1, 97, 12, "a"), (5, 97, 50, "e")],
            day=5,
            select="id, at, amount, label, amount * 2 AS twice",
            options=FORWARD,
            algorithm=MURMUR3_128,
            computes=computes(1),
            rows=[
                *[(1, 97, 12, "a", None), (5, 97, 50, "e", 100)],
                *[(3, 25, 100, "b", None), (3, 50, 101, "b", None)],
            ],
        ),
        Step(
            options=WHOLE,
            computes=computes(4),
            rows=[
                *[(1, 97, 12, "a", 20), (5, 97, 50, "e", 100)],
                *[(3, 25, 100, "b", 200), (3, 50, 101, "b", 202)],
            ],
        ),
    ],
)
APPENDED: Final = Life(
    kind="INCREMENTAL_UNMANAGED",
    more="audits (accepted_range (column := amount, max_v := 99)),",
    select="id, amount",
    steps=[
        Step(lands=[(1, 1, 10, "a")], day=1, computes=computes(1), rows=[(1, 10)]),
        Step(lands=[(1, 25, 10, "a"), (2, 26, 100, "b")], day=2, error="AuditFailed"),
        Step(gone=[2], computes=computes(1), rows=[(1, 10), (1, 10)]),
        Step(  # of production's table another environment shows what there is
            environment="dev",
            select="id, amount, label",
            columns=["id", "amount"],
        ),
        Step(
            lands=[(3, 49, 30, "c")],
            day=3,
            computes=computes(1),
            rows=[(1, 10, None), (1, 10, None), (3, 30, "c")],
        ),
        Step(environment="dev", columns=["id", "amount", "label"]),
        Step(
            select="id, label, amount",
            more="audits (accepted_range (column := amount, max_v := 99)), description 'told',",
            columns=["id", "label", "amount"],
            rows=[(1, None, 10), (1, None, 10), (3, "c", 30)],
        ),
    ],
)
LIVES: Final = {
    "by time": BY_TIME,
    "by key": BY_KEY,
    "appended": APPENDED,
}


@pytest.mark.full
@pytest.mark.parametrize("life", LIVES.values(), ids=LIVES)
def test_a_model_lives_alike_in_memory_and_on_spark(lake: Lake, life: Life) -> None:
    memory, spark = in_memory(lake.schema), on_spark(lake)
    source: list[Event] = []
    seen: Sequence[Values] = ()
    for number, step in enumerate(life.steps, start=1):
        where = f"event {number}"
        life = replace(life, select=step.select or life.select, more=step.more or life.more)
        landed = [each for each in [*source, *step.lands] if each[0] not in step.gone]
        for side in (memory, spark):
            happens(side, step, source, landed)
        source = landed
        did = done(spark, step, life)
        assert done(memory, step, life) == did, where
        assert (did.error, did.computed, did.kept) == (*(step.error, step.computes, set()),), where
        acts = step.computes or step.error or step.select
        assert acts or not did.asked, where
        shown, *recorded = reported(spark, step)
        columns, rows = shown
        seen = seen if step.rows is None else step.rows
        assert rows == ordered(seen), where
        assert columns == (list(step.columns) or columns), where
        assert reported(memory, step) == (shown, *recorded), where
    assert (memory.wrong("prod"), spark.wrong("prod")) == ([], [])


Shown = tuple[list[str], list[Values]]
"""Columns and rows of a view."""


def reported(side: Side, step: Step) -> tuple[Shown, object, object]:
    """What readers see and what is recorded, to be compared between the worlds."""
    return (
        side.shown(step.environment, "kept"),
        side.words(step.environment, "kept"),
        side.recorded(step.environment, ["kept"]),
    )


def happens(side: Side, step: Step, before: Sequence[Event], landed: Sequence[Event]) -> None:
    """What others do to the source, and the time that passes."""
    if list(before) != list(landed):
        side.put(before, landed)
    if step.day is not None:
        until = START + timedelta(days=step.day)
        side.declare(until)
        side.clock.advance(max(timedelta(), until - side.clock.now()))
    side.services = replace(side.services, algorithm=step.algorithm or side.services.algorithm)


def done(side: Side, step: Step, life: Life) -> Done:
    """What somebody has vde do."""
    text = (
        f"MODEL (name {{s}}.kept, on_destructive_change allow, {life.more} kind {life.kind});\n"
        f"SELECT {life.select} FROM {{s}}.events {life.where}"
    )
    return side.apply({"kept": text}, step.environment, step.options)
