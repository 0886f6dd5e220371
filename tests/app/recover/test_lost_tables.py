"""A table that somebody dropped or changed stops only what needs it: all else goes on.

Each case is a way in which a table is lost. The environment goes on showing the version, what reads
it waits, whoever asks is told, and the advice that is given ends it.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.generated_models import Form, Made, project
from tests.app.memory_world import MemoryWorld, graph_of, there
from tests.app.recover.test_changed_tables import CASES as CHANGED
from tests.app.recover.test_changed_tables import Case, run, sales
from tests.app.shop_world import AMOUNTS, SALES_NAME, SHOP
from tests.simulator.advice import status_text
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.app.recover.recovery import repair
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import TableName

COUNT = "MODEL (name mart.count, kind FULL, cron '@daily');\nSELECT COUNT(*) AS n FROM raw.events"
SEEN = "MODEL (name mart.seen, kind FULL);\nSELECT n AS n FROM mart.count"
BOTH = """
MODEL (name mart.both, kind FULL);
SELECT s.amount AS amount, c.n AS n FROM mart.sales AS s CROSS JOIN mart.count AS c
"""
FILES = {**SHOP, "count": COUNT, "seen": SEEN, "both": BOTH}
ALONE = {**FILES, "seen": SEEN.replace("n AS n", "n + 1 AS n")}
EDITED = {**FILES, "sales": FILES["sales"].replace("SUM(amount)", "SUM(amount * 10)")}
RAW = TableName("raw", "events")
EDITS = {
    "triple": ("* 3", "* 30"),
    "both": ("s.amount AS", "-s.amount AS"),
    "shown": ("amount AS", "-amount AS"),
}
READERS = ("mart.triple", "mart.total", "mart.both")


def dropped_for_ever(world: MemoryWorld) -> None:
    """A table that cannot be computed again: its source has lost the rows."""
    world.catalog.drop_table(sales(world))
    world.catalog.delete(RAW, world.rows("raw.events")[1:])  # the first day's row is gone


CASES = {**CHANGED, "dropped": Case(does=dropped_for_ever, says="is missing", repaired=False)}


@pytest.fixture
def world() -> MemoryWorld:
    return production()


def production() -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of(FILES))
    return world


def plan_of(world: MemoryWorld, files: dict[str, str], **options: Any) -> None:
    world.build(graph_of(files), **options)


def target(world: MemoryWorld, name: str) -> TableName:
    shown = there(world.catalog.view(TableName("mart", name)))
    return shown.target


def carry_out(world: MemoryWorld, case: Case) -> None:
    """What is advised for a case, before a plan or run."""
    if case.repaired:
        assert repair(world.services(), world.bound(), SALES_NAME).left is None
    elif sales(world) in world.catalog.tables:
        world.catalog.drop_table(sales(world))
        world.catalog.lost_metadata.clear()


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_change_that_does_not_need_the_table_is_promoted(world: MemoryWorld, name: str) -> None:
    case, before = CASES[name], {each: world.rows(f"mart.{each}") for each in ("triple", "both")}
    shown = target(world, "sales")
    case.does(world)
    with pytest.raises(Refused, match=r"mart\.sales") as told:
        plan_of(world, ALONE)
    assert case.says in str(told.value)
    assert "Downstream models wait, and nothing else does." in str(told.value)
    assert world.rows("mart.seen") == [(len(world.rows("raw.events")) + 1,)]
    assert target(world, "sales") == sales(world) == shown
    assert {each: world.rows(f"mart.{each}") for each in before} == before
    status = look_at_environment(world.services(), "prod")
    assert (status.is_up_to_date, status.is_behind) == (False, True)
    assert [e.node.name for e in status.models if e.lost is not None] == [SALES_NAME]


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_run_computes_all_that_does_not_read_it_and_the_rest_once_it_is_sound(
    world: MemoryWorld, name: str
) -> None:
    case = CASES[name]
    before = {each: world.rows(each) for each in READERS}
    case.does(world)
    world.land((60, 3), until=96)
    rows = len(world.rows("raw.events"))
    with pytest.raises(Refused, match=r"mart\.sales"):
        run(world)
    assert (world.rows("mart.count"), world.rows("mart.seen")) == ([(rows,)], [(rows,)])
    assert {each: world.rows(each) for each in READERS} == before
    assert not look_at_environment(world.services(), "prod").is_up_to_date
    if name != "dropped":
        carry_out(world, case)
        run(world)
        assert world.rows("mart.sales") == [*AMOUNTS[:2], (AMOUNTS[2][0], 10)]
        assert look_at_environment(world.services(), "prod").is_up_to_date


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_plan_that_gives_the_model_another_version_is_a_way_on(
    world: MemoryWorld, name: str
) -> None:
    CASES[name].does(world)
    sums = [(day, amount * 10) for day, amount in AMOUNTS]
    plan_of(world, EDITED)
    assert world.rows("mart.sales") == (sums[1:] if name == "dropped" else sums)
    assert look_at_environment(world.services(), "prod").is_up_to_date


@pytest.mark.full
@pytest.mark.parametrize("reader", ["triple", "both", "shown"])
@pytest.mark.parametrize("name", ["appended", "metadata gone", "dropped"])
def test_a_change_of_what_reads_it_waits_and_the_rest_is_selected_as_is_advised(
    world: MemoryWorld, name: str, reader: str
) -> None:
    CASES[name].does(world)
    other = {**ALONE, reader: FILES[reader].replace(*EDITS[reader])}
    revision = world.state.revision("prod")
    with pytest.raises(Refused, match="exclude the change with --select-model") as told:
        plan_of(world, other)
    assert f"The plan changes mart.{reader}" in str(told.value)
    assert "Nothing was changed." in str(told.value)
    assert world.state.revision("prod") == revision
    with pytest.raises(Refused, match="nothing else does"):
        plan_of(world, other, select=("mart.seen",))
    assert world.rows("mart.seen") == [(len(world.rows("raw.events")) + 1,)]


@pytest.mark.full
def test_what_needs_it_is_not_computed_again_for_a_person_either(world: MemoryWorld) -> None:
    CASES["appended"].does(world)
    with pytest.raises(Refused, match=r"The plan changes mart\.both"):
        plan_of(world, FILES, restate=("mart.both",))
    with pytest.raises(Refused, match=r"The plan changes mart\.sales"):
        plan_of(world, FILES, restate=("mart.sales",))
    with pytest.raises(Refused, match="nothing else does"):
        plan_of(world, FILES, restate=("mart.count",))


@pytest.mark.full
def test_promotions_and_rollbacks_go_on_too(world: MemoryWorld) -> None:
    world.build(graph_of(ALONE), "dev")
    CASES["appended"].does(world)
    services = world.services()
    with pytest.raises(Refused, match="nothing else does"):
        world.apply(plan_promotion(services, "dev", "prod"))
    assert world.rows("mart.seen") == [(4,)]
    with pytest.raises(Refused, match="nothing else does"):
        world.apply(plan_rollback(services, "prod"))
    assert world.rows("mart.seen") == [(3,)]


@pytest.mark.full
def test_an_environment_never_begins_to_show_a_lost_table(world: MemoryWorld) -> None:
    world.build(graph_of(EDITED), "dev")
    world.catalog.append(world.bound("dev").key(SALES_NAME).table, [(AMOUNTS[0][0], 9)])
    with pytest.raises(Refused, match="Nothing was changed"):
        world.apply(plan_promotion(world.services(), "dev", "prod"))
    with pytest.raises(Refused, match="Nothing was changed"):
        world.build(graph_of(EDITED), "other")
    assert world.rows("mart.sales") == AMOUNTS


@pytest.mark.parametrize("form", [Form.HISTORY, Form.KEPT])
@pytest.mark.parametrize("environment", ["prod", "qa"])
def test_nobody_is_told_that_its_owner_makes_again_what_is_never_computed_again(
    form: Form, environment: str
) -> None:
    world = MemoryWorld.landed((1, 10), until=48)
    models = (Made(name="m0", form=form, parents=("raw.events",), daily=True),)
    for each in ("prod", "qa"):
        world.build(project(models), each)
    world.catalog.drop_table(world.bound().key(models[0].key).table)
    said = status_text(world.services(), environment)
    assert "is missing" in said
    assert "restore it, or write another `stamp`" in said
    assert "makes it again" not in said
    with pytest.raises(Refused, match="Restore it, or write another `stamp` in the model"):
        world.build(project(models), environment)
