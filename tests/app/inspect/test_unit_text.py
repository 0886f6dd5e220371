"""What a log says of a unit of work: what it read, wrote and kept."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from tests.app.memory_world import PROJECT, START, MemoryWorld, graph_of
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inspect.unit_text import unit_text, unit_to_do
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import ALWAYS, Interval

DAY = Interval(START, START + timedelta(days=1))


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld.landed((5.5, 10), (30.5, 1), until=48)


def said(world: MemoryWorld, done: Evaluated) -> str:
    """The text, without the numbers of Iceberg snapshots and seconds."""
    text = unit_text(world.services(), world.bound(), done)
    return re.sub(r"snapshot \d+", "snapshot N", re.sub(r"\d+\.\d s", "T s", text))


@pytest.mark.full
def test_a_plan_says_of_each_model_what_it_read_and_wrote(world: MemoryWorld) -> None:
    done = world.build(graph_of(PROJECT))
    both = "2024-01-01 to 2024-01-03"
    assert "\n".join(said(world, each) for each in done) == (
        f"staging.events, {both}: read raw.events to Iceberg snapshot N; loaded completely: "
        f"raw.events {both}; wrote 2 rows as Iceberg snapshot N: first build; took T s\n"
        f"mart.daily, {both}: read staging.events {both} at Iceberg snapshot N; wrote 2 rows as "
        "Iceberg snapshot N: first build; took T s\n"
        "mart.people: read all of mart.daily; created the view: first build; took T s\n"
        f"mart.totals, {both}: read all of mart.daily at Iceberg snapshot N; wrote 1 row as "
        "Iceberg snapshot N: first build; took T s"
    )


@pytest.mark.full
def test_a_session_says_what_its_source_got(world: MemoryWorld) -> None:
    world.build(graph_of(PROJECT))
    world.land((7.5, 5), until=72)
    done = world.catch_up(ModelName("staging", "events"))
    assert isinstance(done, Evaluated)
    text = said(world, done)
    assert "read raw.events from Iceberg snapshot N to Iceberg snapshot N: 1 row in 1 part" in text
    assert "loaded completely: raw.events 2024-01-03 to 2024-01-04" in text


def test_before_it_begins_it_is_said_what_will_be_read(world: MemoryWorld) -> None:
    world.build(graph_of(PROJECT))
    assert unit_to_do(world.bound(), ModelName("mart", "daily"), DAY) == (
        "mart.daily, 2024-01-01 to 2024-01-02: reads staging.events 2024-01-01 to 2024-01-02"
    )
    assert unit_to_do(world.bound(), ModelName("mart", "totals"), ALWAYS) == (
        "mart.totals: reads all of mart.daily"
    )
