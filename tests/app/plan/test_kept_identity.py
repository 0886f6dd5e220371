"""Edits of what says which row or interval a row is, end to end: kept soundly, new, or refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.app.memory_world import START, MemoryWorld, bound, hour_of, there
from tests.app.plan.identity_edits import NAME, Edit, Written, every_edit
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.inspect.verify import verify
from vde_dagster.app.promote.taking import plan_rollback
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.kinds import (
    Full,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    ScdType2ByColumn,
)
from vde_dagster.core.model.row_identity import Alone, Kept, Property, fate
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.core.planning.plan_text import totals

EDITS = list(every_edit())
EVENTS = {1: 10, 14: 4, 30: 5, 50: 7}
LATER = {73: 9, 80: 3, 97: 2}
MIDNIGHT, AFTERNOON = 72, 63


def landed(world: MemoryWorld, events: dict[int, int], until: int) -> None:
    world.land(*((hour + 0.5, amount) for hour, amount in events.items()), until=until)


def loaded(written: Written, until: int = MIDNIGHT) -> MemoryWorld:
    """Production shows the model over the first events."""
    world = MemoryWorld()
    landed(world, EVENTS, until)
    world.build(written.graph)
    return world


def at_of(world: MemoryWorld) -> Counter[datetime]:
    """When the events of the shown rows were, each as often as it is shown."""
    times = (row[1] for row in world.rows("mart.h"))
    return Counter(at for at in times if isinstance(at, datetime))


def expected(written: Written, events: dict[int, int]) -> Counter[datetime]:
    """The same by the model's own words: one row of each event of its time."""
    times = (START + timedelta(hours=hour, minutes=30) for hour in events)
    return Counter(at for at in times if is_within(written, at))


def is_within(written: Written, at: datetime) -> bool:
    """Whether an event is in the time of a model: a table that is kept has others, too."""
    model = written.node.model
    return model.start <= at and (model.end is None or at < model.end)


def is_sound(services: Services) -> bool:
    return all(each.holds for each in verify(services, bound(services)))


def goes_on(world: MemoryWorld, written: Written) -> None:
    """Later intervals are loaded, late rows found, and all is as from scratch and as recorded."""
    landed(world, LATER, 124)
    world.build(written.graph)
    events = EVENTS | LATER
    if written.kind in (IncrementalByTimeRange, Full):
        landed(world, {33: 6}, 125)
        world.build(written.graph)
        events = {**events, 33: 6}
    assert is_sound(world.services())
    assert world.plan(written.graph).is_up_to_date
    if written.timed:
        shown = {at: count for at, count in at_of(world).items() if is_within(written, at)}
        assert shown == expected(written, events)


@pytest.mark.full
@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_a_table_that_is_kept_stays_sound_or_the_plan_is_refused(edit: Edit) -> None:
    before, after = edit.sides(forward_only=True)
    world = loaded(before)
    shown = world.bound().key(NAME)
    found = there(fate(edit.changed, edit.kind))
    options: dict[str, Any] = {"forward_only": True}
    if edit.changed is Property.KIND:
        options = {"decisions": {NAME: Category.FORWARD_ONLY}}
    plan = world.plan(after.graph, **options)
    assert plan.snapshots[NAME].key == shown
    if found.kept in (Kept.REFUSED, Kept.NOT_BEFORE):
        with pytest.raises(Refused, match=r"models/h\.sql:1: mart\.h keeps its table, and") as no:
            world.apply(plan)
        assert "which creates a new table" in str(no.value)
        assert any(line.startswith("Cannot be applied: models/h.sql:1") for line in totals(plan))
        assert world.plan(before.graph).is_up_to_date
        return
    world.apply(plan)
    assert world.bound().key(NAME) == shown
    goes_on(world, after)


@pytest.mark.full
@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_an_edit_by_itself_is_kept_or_makes_a_table_of_its_own(edit: Edit) -> None:
    before, after = edit.sides(forward_only=False)
    world = loaded(before)
    shown = world.bound().key(NAME)
    found = there(fate(edit.changed, edit.kind))
    plan = world.plan(after.graph)
    new = found.alone is Alone.REBUILT or (found.alone is Alone.TIMED and edit.timed)
    assert (plan.snapshots[NAME].key != shown) == new
    if not new and found.kept is Kept.NOT_BEFORE:
        with pytest.raises(Refused, match="Write `start '2024-01-02'` in the model"):
            world.apply(plan)
        return
    world.apply(plan)
    goes_on(world, after)


COARSER = [each for each in EDITS if each.changed is Property.COARSER and each.timed]


@pytest.mark.full
@pytest.mark.parametrize("edit", COARSER, ids=str)
def test_hourly_to_daily_in_mid_day_never_calls_the_day_loaded(edit: Edit) -> None:
    """The way on that is named leads on: the unit stays, and the cron says when it is due."""
    before, after = edit.sides(forward_only=True)
    world = loaded(before, AFTERNOON)
    plan = world.plan(after.graph, forward_only=True)
    if edit.kind is not Full:
        with pytest.raises(Refused, match="rite `interval_unit hour` in the model"):
            world.apply(plan)
        after = Written(
            kind=edit.kind, timed=True, forward_only=True, properties=", interval_unit hour"
        )
        plan = world.plan(after.graph, forward_only=True)
    world.apply(plan)
    landed(world, {64: 1, 70: 3}, MIDNIGHT)
    world.build(after.graph)
    assert at_of(world) == expected(after, {**EVENTS, 64: 1, 70: 3})
    assert is_sound(world.services())


@pytest.mark.full
@pytest.mark.parametrize("edit", COARSER, ids=str)
def test_a_new_table_of_days_waits_for_the_end_of_the_day(edit: Edit) -> None:
    before, after = edit.sides(forward_only=False)
    world = loaded(before, AFTERNOON)
    with pytest.raises(Refused) as refused:
        world.build(after.graph)
    said = str(refused.value)
    assert (
        "its interval unit (day), intervals from 2024-01-03 on are not due yet: plan again" in said
    )
    assert "is not complete" not in said
    landed(world, {}, MIDNIGHT)
    world.build(after.graph)
    assert at_of(world) == expected(after, EVENTS)


@pytest.mark.full
@pytest.mark.parametrize("kind", [IncrementalByUniqueKey, ScdType2ByColumn])
def test_the_new_table_that_a_refusal_names_is_made(kind: type) -> None:
    edit = Edit(changed=Property.START, kind=kind, timed=False)
    before, after = edit.sides(forward_only=True)
    world = loaded(before)
    with pytest.raises(Refused, match="write another `stamp` in it and plan with --decide"):
        world.build(after.graph)
    stamped = Written(
        kind=kind, timed=False, forward_only=True, start="2023-12-20", properties=", stamp 'two'"
    )
    world.build(stamped.graph, decisions={NAME: Category.BREAKING})
    goes_on(world, stamped)
    assert len(world.rows("mart.h")) == len(EVENTS | LATER)


def test_an_earlier_end_of_a_full_model_ends_its_new_table() -> None:
    edit = Edit(changed=Property.END, kind=Full, timed=True)
    before, after = edit.sides(forward_only=False)
    world = loaded(before)
    world.build(after.graph)
    assert at_of(world) == expected(after, EVENTS)
    assert sum(at_of(world).values()) == 3


def test_a_start_moves_back_within_what_is_loaded_and_a_rollback_is_not_refused() -> None:
    first = Written(kind=ScdType2ByColumn, timed=False)
    later = Written(kind=ScdType2ByColumn, timed=False, start="2024-01-02")
    world = loaded(first)
    world.build(later.graph)
    world.apply(plan_rollback(world.services(), "prod"))
    goes_on(world, first)


def test_a_preview_of_what_cannot_be_kept_is_refused_before_it_is_computed() -> None:
    edit = Edit(changed=Property.TIME_COLUMN, kind=IncrementalByTimeRange, timed=True)
    before, after = edit.sides(forward_only=True)
    world = loaded(before)
    for options in ({}, {"effective_from": hour_of(24)}):
        with pytest.raises(Refused, match="its time_column was at and is day"):
            world.build(after.graph, "dev", forward_only=True, **options)


def test_units_that_come_between_plan_and_apply_are_seen() -> None:
    edit = Edit(changed=Property.COARSER, kind=IncrementalUnmanaged, timed=True)
    before, after = edit.sides(forward_only=True)
    world = loaded(before)
    plan = world.plan(after.graph, forward_only=True)
    landed(world, {73: 9}, 75)
    world.build(before.graph)
    with pytest.raises(Refused, match="does not consist of whole units"):
        world.apply(plan)


def test_a_late_row_before_the_instant_is_computed_as_the_plan_says() -> None:
    first = Written(kind=IncrementalByTimeRange, timed=True, forward_only=True)
    edited = replace(first, amount="amount * 10")
    world = loaded(first)
    services = world.services()
    plan = world.plan(edited.graph, effective_from=hour_of(48))
    (said,) = (each for each in sentences(plan.changes[-1].reasons) if "it applies from" in each)
    assert said.endswith("only for a late row or a restatement")
    world.apply(plan)
    assert [row[3] for row in world.rows("mart.h")] == [10, 4, 5, 70]
    landed(world, {31: 6}, MIDNIGHT + 1)
    stale = there(world.plan(edited.graph).changes[-1].staleness)
    assert stale.reason.endswith(
        "have changed since, and its rows were kept by a forward-only change: they are now "
        "computed with the current model"
    )
    (status,) = look_at_environment(services, "prod").models
    assert status.staleness == stale
    world.build(edited.graph)
    assert Counter(row[3] for row in world.rows("mart.h")) == Counter([4, 10, 50, 60, 70])
    assert is_sound(services)


def test_another_unit_of_a_table_that_its_owner_has_yet_to_fill_is_refused() -> None:
    """The owner records days in it, and whoever shows it would take them for hours."""
    edit = Edit(changed=Property.FINER, kind=IncrementalByTimeRange, timed=True)
    before, after = edit.sides(forward_only=True)
    world = MemoryWorld.landed((1, 1), until=12)
    world.build(before.graph)
    with pytest.raises(Refused, match="its interval unit was day and is hour"):
        world.build(after.graph, "dev", forward_only=True)
    world.build(after.graph, forward_only=True)
    world.build(after.graph, "dev", forward_only=True)
