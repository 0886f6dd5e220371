"""Rows of own assets are written once, wherever the process dies; versions are shown when whole."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

from tests.app.memory_world import DEFAULTS, WRITING, Fuse, MemoryWorld, PowerCut, hour_of
from tests.depth import places
from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.own_rows import own_binding, write_rows
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.project.own_models import own_model

NAME = ModelName("mart", "report")
KIND = {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "day"}
ARGUMENTS = {"columns": {"day": "date", "n": "bigint"}, "kind": KIND, "start": "2024-01-01"}
DAYS = [Interval(hour_of(24 * n), hour_of(24 * (n + 1))) for n in range(2)]
DATES = [date(2024, 1, 1), date(2024, 1, 2)]


def of(version: str) -> Model:
    return own_model(NAME, ARGUMENTS, version=version, defaults=DEFAULTS)


def write(
    world: MemoryWorld, day: int, amount: int, *, version: str = "1", fuse: Fuse | None = None
) -> Binding:
    model = of(version)
    binding = own_binding(model, "prod")
    rows = pa.table({"day": pa.array([DATES[day]], pa.date32()), "n": pa.array([amount])})
    write_rows(world.services(fuse), binding, model, rows, DAYS[day], place="the asset report")
    return binding


def shown(world: MemoryWorld) -> list[tuple[object, ...]]:
    return world.rows("mart.report")


@pytest.mark.full
def test_a_write_that_dies_after_any_call_is_completed_by_the_next_try() -> None:
    start = MemoryWorld()
    write(start, 0, 1)
    write(start, 1, 2)
    before, fuse = shown(start), Fuse()
    undisturbed = start.copied()
    key = write(undisturbed, 1, 5, fuse=fuse).key(NAME)
    after = shown(undisturbed)
    assert (before, after) == ([(DATES[0], 1), (DATES[1], 2)], [(DATES[0], 1), (DATES[1], 5)])
    calls = places(fuse.names, WRITING)
    assert len(calls) > 4
    for call in calls:
        world = start.copied()
        with pytest.raises(PowerCut):
            write(world, 1, 5, fuse=Fuse(cut_at=call, after=True))
        assert shown(world) in (before, after), fuse.names[call - 1]
        world.reboot()
        write(world, 1, 5)
        assert shown(world) == after, fuse.names[call - 1]
        assert not any(table.branches for table in world.catalog.tables.values())
        ledger = world.services().state.ledger([key])[key]
        assert [(each.interval, each.rows.rows) for each in ledger] == [(day, 1) for day in DAYS]


def test_a_version_is_shown_after_a_death_before_its_view_by_the_next_write() -> None:
    world, fuse = MemoryWorld(), Fuse()
    write(world.copied(), 0, 1, fuse=fuse)
    last = max(n for n, name in enumerate(fuse.names, 1) if name == "swap_views")
    with pytest.raises(PowerCut):
        write(world, 0, 1, fuse=Fuse(cut_at=last))
    assert world.services().catalog.view(TableName("mart", "report")) is None
    world.reboot()
    write(world, 0, 1)
    assert shown(world) == [(DATES[0], 1)]


def test_a_version_waits_until_it_has_what_the_shown_one_has() -> None:
    world = MemoryWorld()
    write(world, 0, 1)
    write(world, 1, 2)
    write(world, 0, 8, version="2")
    assert shown(world) == [(DATES[0], 1), (DATES[1], 2)]
    write(world, 1, 9, version="2")
    assert shown(world) == [(DATES[0], 8), (DATES[1], 9)]


def test_a_table_of_somebody_else_is_not_hidden() -> None:
    world = MemoryWorld()
    world.catalog.create_table(TableName("mart", "report"), ())
    with pytest.raises(
        Refused, match=r"^the asset report cannot be shown as mart\.report: that is a"
    ):
        write(world, 0, 1)
    assert not any(name.namespace.startswith("vde__") for name in world.catalog.tables)
