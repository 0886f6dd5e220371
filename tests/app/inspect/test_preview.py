"""The rows that a model would return, computed from what is loaded and written nowhere."""

from __future__ import annotations

import pytest

from tests.app.memory_world import Fuse, MemoryWorld, graph_of
from tests.app.shop_world import (
    AMOUNTS,
    DAYS,
    EDITED,
    SALES_NAME,
    TOTAL_NAME,
    day,
    shop_in_production,
)
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.inspect.rendering import preview
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval


def edited(world: MemoryWorld) -> Binding:
    """The edited files, as a plan would bind them."""
    return bind_plan(plan_environment(world.services(), graph_of(EDITED), "prod"))


def test_the_last_interval_of_the_edited_model_is_shown_and_nothing_is_written() -> None:
    world, fuse = shop_in_production(), Fuse()
    found = preview(world.services(fuse), edited(world), SALES_NAME, limit=9)
    assert (found.interval, found.columns) == (day(3), ("day", "amount"))
    assert list(found.rows) == [(DAYS[2], 70)]
    assert not found.more
    assert "preview" in fuse.names
    assert fuse.changing == []
    assert world.rows("mart.sales") == AMOUNTS


def test_a_range_and_a_limit_are_kept_to() -> None:
    world = shop_in_production()
    found = preview(world.services(), edited(world), SALES_NAME, day(1, 2), limit=1)
    assert (len(found.rows), found.more) == (1, True)
    assert found.interval == day(1, 2)


def test_what_an_environment_shows_reads_what_it_shows() -> None:
    world = shop_in_production()
    found = preview(world.services(), world.bound(), TOTAL_NAME, limit=9)
    assert list(found.rows) == [(66,)]


def test_a_view_is_computed_from_what_it_reads() -> None:
    world = shop_in_production()
    found = preview(world.services(), world.bound(), ModelName("mart", "shown"), limit=9)
    assert sorted(found.rows) == AMOUNTS


def test_parents_that_are_not_loaded_are_named() -> None:
    world = shop_in_production()
    with pytest.raises(Refused, match=r"mart\.sales"):
        preview(world.services(), edited(world), ModelName("mart", "triple"), limit=9)


def test_an_interval_that_its_sources_are_not_complete_for_is_refused() -> None:
    world = shop_in_production()
    later = Interval(day(3).end, day(4).end)
    with pytest.raises(Refused):
        preview(world.services(), world.bound(), ModelName("mart", "triple"), later, limit=9)


def test_a_source_is_refused() -> None:
    world = shop_in_production()
    with pytest.raises(Refused, match="is a source"):
        preview(world.services(), world.bound(), ModelName("raw", "events"), limit=9)


def test_a_model_whose_sources_are_empty_is_not_due() -> None:
    world = MemoryWorld()
    with pytest.raises(Refused, match="is not due"):
        preview(world.services(), edited(world), SALES_NAME, limit=9)
