"""What others compute and is stale is told by each plan and run that shows it (rule R14)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Final

import pytest

from tests.app.generated_models import OTHERS, Form, Made, edited, project
from tests.app.memory_world import RAW, RAW_COLUMNS, START, MemoryWorld, graph_of, hour_of, there
from tests.app.shop_world import EDITED, SALES_NAME, SHOP, day, shop_in_production
from vde_dagster.app.apply.running import Wanted, plan_run
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.app.staleness.version_behind import FORBIDDEN
from vde_dagster.core.columns import Column
from vde_dagster.core.names import TableName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_text import nothing_to_plan, nothing_to_run, remarks
from vde_dagster.core.time.intervals import Interval

COMPUTES: Final = "`vde run prod` computes this version, which that environment owns"
IN_DEV: Final = graph_of({**SHOP, "total": EDITED["total"] + " -- same"})
LOOKS: Final[dict[str, Callable[[Services], Plan]]] = {
    "run": lambda services: plan_run(services, "dev"),
    "run of what is due": lambda services: plan_run(services, "dev", Wanted.DUE),
    "run of what is stale": lambda services: plan_run(services, "dev", Wanted.STALE),
    "plan": lambda services: plan_environment(services, IN_DEV, "dev"),
}


@pytest.fixture
def world() -> MemoryWorld:
    """Rows of the second day are late for production, whose sales dev shows, too."""
    world = shop_in_production()
    world.build(IN_DEV, "dev")
    world.clock.advance(timedelta(minutes=1))
    world.land((26, 9), until=72)
    return world


@pytest.mark.parametrize("look", LOOKS)
def test_nobody_says_that_it_is_up_to_date(world: MemoryWorld, look: str) -> None:
    plan = LOOKS[look](world.services())
    (sales,) = (each for each in plan.changes if each.name == SALES_NAME)
    assert plan.is_empty
    assert not plan.is_up_to_date
    assert sales.staleness is not None
    assert (sales.staleness.intervals, sales.staleness.kept) == ((), (day(2),))
    assert nothing_to_run(plan, waits=False) == "dev has nothing to compute"
    assert nothing_to_plan(plan, waits=False).startswith("dev is not up to date")
    (said,) = (each for each in remarks(plan) if str(SALES_NAME) in each)
    assert said.endswith(COMPUTES)


@pytest.mark.full
@pytest.mark.parametrize("look", LOOKS)
def test_all_do_once_its_owner_has_computed_it(world: MemoryWorld, look: str) -> None:
    world.build(graph_of(SHOP))
    world.build(IN_DEV, "dev")
    assert LOOKS[look](world.services()).is_up_to_date


@pytest.mark.parametrize("between", [Form.COPY, Form.VIEW])
@pytest.mark.parametrize("form", [Form.COPY, Form.SUMS, Form.FULL, Form.BY_KEY, Form.UNMANAGED])
def test_nor_that_what_an_edit_keeps_is_where_its_owner_has_a_late_row(
    form: Form, between: Form
) -> None:
    """Another environment edits a model and computes it with the row; its owner has the rest."""
    base = Made(name="m0", form=Form.COPY, parents=("raw.events",), daily=True)
    middle = Made(name="m1", form=between, parents=("gen.m0",), daily=True)
    last = Made(name="m2", form=form, parents=("gen.m1",), daily=True)
    models = (base, middle, last)
    edited_once = (edited(base, breaking=False), edited(middle, breaking=False), last)
    world = MemoryWorld.landed((1.5, 1), (2.5, 2), until=48)
    world.build(project(models))
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=48)
    world.build(project(edited_once), "qa")
    (behind,) = look_at_environment(world.services(), "qa").models
    assert behind.node.name == last.key
    assert behind.staleness is not None
    times = Interval(START, hour_of(48)) if form is Form.FULL else day(1)
    assert behind.staleness.kept == (times,)
    read = "gen.m0" if between is Form.VIEW else "gen.m1"
    assert behind.staleness.reason == f"it reads {read}, which is computed again first"
    world.build(project(models))
    assert look_at_environment(world.services(), "qa").is_up_to_date
    amounts = [Decimal(str(row[2])) for row in world.rows("gen__qa.m2")]
    assert sum(amounts) == (10 if between is Form.COPY else 20)


@pytest.mark.parametrize("late", [False, True], ids=["stateless", "stateful"])
def test_what_waits_for_a_person_is_not_left_to_runs_of_its_owner(late: bool) -> None:
    """`vde run prod` was said to compute what is beyond the threshold."""
    form = Form.COPY if late else Form.SESSIONS
    made = Made(name="m0", form=form, parents=("raw.events",), late=late, threshold=12)
    world = MemoryWorld.landed((1.5, 1), (40.5, 2), until=48)
    world.build(project((made,)))
    other = Made(name="m1", form=Form.FULL, parents=("gen.m0",))
    world.build(project((made, other)), "dev")
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=48)
    world.run()
    hour = f"[{hour_of(5):%Y-%m-%d %H:%M}, {hour_of(6):%Y-%m-%d %H:%M})"
    for environment in ("prod", "dev"):
        (behind,) = look_at_environment(world.services(), environment).models
        stale = there(behind.staleness)
        assert (behind.node.name, stale.intervals) == (made.key, ())
        assert f"pending: {hour} (it is further back than catchup_threshold)" in stale.why_kept
        assert COMPUTES not in stale.why_kept


def test_what_is_late_is_computed_by_its_owner_but_for_what_waits_for_a_person() -> None:
    made = Made(name="m0", form=Form.COPY, parents=("raw.events",), late=True, threshold=12)
    world = MemoryWorld.landed((1.5, 1), (40.5, 2), until=48)
    world.build(project((made,)))
    world.build(project((made, Made(name="m1", form=Form.FULL, parents=("gen.m0",)))), "dev")
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), (41.5, 8), until=48)
    (behind,) = look_at_environment(world.services(), "dev").models
    said = there(behind.staleness).why_kept
    assert said.startswith(f"{COMPUTES}. That leaves [")
    assert said.endswith("(it is further back than catchup_threshold)")


def test_what_is_never_computed_again_is_named_before_its_owner_has_the_late_row() -> None:
    base = Made(name="m0", form=Form.COPY, parents=("raw.events",), daily=True)
    kept = Made(name="m1", form=Form.KEPT, parents=("gen.m0",), daily=True)
    world = MemoryWorld.landed((1.5, 1), until=48)
    world.build(project((base, kept)))
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=48)
    world.build(project((edited(base, breaking=False), kept)), "dev")
    first = "it reads gen.m0, which is computed again first"
    for reason in (first, "its inputs from gen.m0 have changed since"):
        (behind,) = look_at_environment(world.services(), "dev").models
        stale = there(behind.staleness)
        assert (behind.node.name, stale.kept, stale.reason) == (kept.key, (day(1),), reason)
        assert stale.why_kept == FORBIDDEN
        world.run()
    assert world.amounts("gen__dev.m1") == [1]


def test_what_would_lose_rows_is_not_left_to_runs_of_its_owner() -> None:
    """`vde run prod` was said to compute it, and never does."""
    made = Made(name="m0", form=Form.COPY, parents=("raw.events",))
    world = MemoryWorld.landed((1.5, 1), (1.7, 4), (40.5, 2), until=48)
    world.build(project((made,)))
    world.build(project((made, Made(name="m1", form=Form.FULL, parents=("gen.m0",)))), "dev")
    world.clock.advance(timedelta(minutes=1))
    world.catalog.delete(RAW, [row for row in world.rows("raw.events") if row[2] != 1])
    for environment in ("prod", "dev"):
        (behind,) = look_at_environment(world.services(), environment).models
        stale = there(behind.staleness)
        assert stale.kept == (Interval(hour_of(1), hour_of(2)),)
        assert "`vde run prod --restate-model gen.m0 --allow-empty`" in stale.why_kept
        assert COMPUTES not in stale.why_kept


@pytest.mark.parametrize("is_lost", [False, True], ids=["a late row", "a lost row"])
@pytest.mark.parametrize("form", [Form.COPY, Form.SUMS, Form.FULL, Form.CHANCE])
def test_what_its_owner_leaves_as_it_is_is_behind_where_an_edit_has_other_rows(
    form: Form, is_lost: bool
) -> None:
    """It was called up to date: production's runs compute nothing of it, since all is pending."""
    base = Made(name="m0", form=Form.COPY, parents=("raw.events",), late=True, threshold=12)
    reader = Made(name="m1", form=form, parents=("gen.m0",), daily=True)
    world = MemoryWorld.landed((0.5, 5), (1.5, 1), (40.5, 2), until=48)
    world.build(project((base, reader)))
    world.clock.advance(timedelta(minutes=1))
    if is_lost:
        world.catalog.delete(RAW, [row for row in world.rows("raw.events") if row[2] != 1])
    else:
        world.land((5.5, 7), until=48)
    world.build(project((edited(base, breaking=False), reader)), "dev")
    assert sorted(world.amounts("gen__dev.m0")) == ([2, 5] if is_lost else [1, 2, 5, 7])
    assert sum(world.amounts("gen__dev.m1")) == 8
    (behind,) = look_at_environment(world.services(), "dev").models
    stale = there(behind.staleness)
    assert (behind.node.name, stale.intervals) == (reader.key, ())
    assert stale.kept[0].start == hour_of(0)
    assert stale.reason == "it reads gen.m0, which has to be loaded first"
    assert "pending: " in stale.why_kept
    assert COMPUTES not in stale.why_kept


def test_what_is_stale_by_itself_is_behind_by_what_it_reads_too() -> None:
    """Of two days that are not as in `dev`, only the one that production computes was named."""
    base = Made(name="m0", form=Form.COPY, parents=("raw.events",), late=True, threshold=12)
    both = Made(name="m1", form=Form.UNION, parents=("gen.m0", str(OTHERS)), daily=True)
    last = Made(name="m2", form=Form.COPY, parents=("gen.m1",), daily=True, ends=24)
    world = MemoryWorld.landed((1.5, 1), (40.5, 2), until=48)
    columns = [Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items()]
    until = {VALID_TO: hour_of(48).isoformat()}
    world.catalog.create_table(TableName("raw", "others"), columns, properties=until)
    world.build(project((base, both, last)))
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=48)
    world.catalog.append(TableName("raw", "others"), [(9, hour_of(31), 200)])
    models = (edited(base, breaking=False), edited(both, breaking=False), last)
    world.build(project(models), "dev")
    for _ in range(2):
        (behind,) = look_at_environment(world.services(), "dev").models
        assert (behind.node.name, there(behind.staleness).kept) == (last.key, (day(1),))
        world.run()
