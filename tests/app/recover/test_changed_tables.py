"""A table that somebody else changed is reported by whoever looks, and nothing reads it.

Each case is something that another program does to a version's table. All commands that look find
the same; what reads the table waits, and the advice that is given brings everything back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.app.memory_world import Fuse, MemoryWorld, PowerCut, bound, build, graph_of, hour_of
from tests.app.shop_world import (
    AMOUNTS,
    DAYS,
    EDITED,
    SALES_NAME,
    SHOP,
    TOTAL_NAME,
    TRIPLE_NAME,
    day,
)
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.inspect.verify import damaged_tables, look_at_tables
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.publish.foreign_writes import ForeignWrite
from vde_dagster.app.recover.recovery import repair
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.orchestration.reporting.status_checks import StatusCheck, found_in

GRAPH = graph_of(SHOP)
COLUMNS = (Column(name="day", type="date"), Column(name="amount", type="bigint"))


def sales(world: MemoryWorld) -> TableName:
    return world.bound().key(SALES_NAME).table


def again(world: MemoryWorld, **properties: str) -> None:
    table = sales(world)
    kept = world.catalog.tables[table].properties if properties else {}
    world.catalog.drop_table(table)
    world.catalog.create_table(table, COLUMNS, properties=kept)
    world.catalog.append(table, [(DAYS[0], 99)])


def rolled_back(world: MemoryWorld) -> None:
    table = sales(world)
    theirs = world.catalog.append(table, [(DAYS[0], 99)])
    empty = world.catalog.delete(table, [])
    world.catalog.roll_back(table, theirs)
    assert empty != theirs


def swapped(world: MemoryWorld) -> None:
    world.catalog.tables[sales(world)].change_columns(
        {"day": "amount", "amount": "day"}, hour_of(90)
    )


def renamed_and_appended(world: MemoryWorld) -> None:
    world.catalog.rename_column(sales(world), "amount", "total")
    world.catalog.append(sales(world), [(DAYS[0], 99)])


def renamed_and_compacted(world: MemoryWorld) -> None:
    world.catalog.rename_column(sales(world), "amount", "total")
    world.catalog.compact(sales(world))


def renamed_and_expired(world: MemoryWorld) -> None:
    renamed_and_compacted(world)
    world.catalog.expire(sales(world))


def appended_and_expired(world: MemoryWorld) -> None:
    world.catalog.append(sales(world), [(DAYS[0], 99)])
    world.catalog.expire(sales(world))


def lost(world: MemoryWorld) -> None:
    world.catalog.lost_metadata.add(sales(world))


@dataclass(frozen=True, kw_only=True)
class Case:
    """What another program does, a word of the message, and whether `vde repair` ends it."""

    does: Callable[[MemoryWorld], object]
    says: str
    repaired: bool = True


CASES = {
    "appended": Case(
        does=lambda w: w.catalog.append(sales(w), [(DAYS[0], 99)]), says="nother program wrote"
    ),
    "overwritten": Case(
        does=lambda w: w.catalog.overwrite(sales(w), [(DAYS[0], 99)]), says="nother program wrote"
    ),
    "deleted": Case(
        does=lambda w: w.catalog.delete(sales(w), [(DAYS[0], 10)]), says="nother program wrote"
    ),
    "appended and compacted": Case(
        does=lambda w: (w.catalog.append(sales(w), [(DAYS[0], 9)]), w.catalog.compact(sales(w))),
        says="nother program wrote",
    ),
    "rolled back": Case(does=rolled_back, says="rolled it back"),
    "renamed": Case(
        does=lambda w: w.catalog.rename_column(sales(w), "amount", "total"),
        says="amount was renamed to total",
    ),
    "swapped": Case(does=swapped, says="day was renamed to amount, amount was renamed to day"),
    "dropped column": Case(
        does=lambda w: w.catalog.drop_column(sales(w), "amount"), says="amount was dropped"
    ),
    "renamed and appended": Case(
        does=renamed_and_appended,
        says="amount was renamed to total",
    ),
    "renamed and compacted": Case(
        does=renamed_and_compacted,
        says="amount was renamed to total",
    ),
    "renamed and expired": Case(
        does=renamed_and_expired,
        says="lacks recorded columns: amount",
        repaired=False,
    ),
    "created again": Case(does=again, says="another program recreated it", repaired=False),
    "created again alike": Case(
        does=lambda w: again(w, alike="yes"), says="recreated it", repaired=False
    ),
    "expired": Case(
        does=appended_and_expired,
        says="it no longer has the recorded snapshot",
        repaired=False,
    ),
    "metadata gone": Case(does=lost, says="its metadata file", repaired=False),
}


def run(world: MemoryWorld) -> None:
    world.run()


def commands(text: str) -> list[str]:
    return re.findall(r"`vde (.*?)`", text)


@pytest.mark.parametrize("name", CASES)
def test_whoever_looks_says_what_is_wrong_and_what_to_do(world: MemoryWorld, name: str) -> None:
    case, before = CASES[name], world.rows("mart.total")
    case.does(world)
    services = world.services()

    status = look_at_environment(services, "prod")
    (behind,) = [each for each in status.models if each.lost is not None]
    assert (behind.node.name, status.is_up_to_date, status.is_behind) == (SALES_NAME, False, True)
    assert behind.lost is not None
    assert case.says in behind.lost.damage
    advised = "repair mart.sales" if case.repaired else "run prod"
    assert commands(behind.lost.advice) == [advised]

    planned = plan_environment(services, GRAPH, "prod")
    assert not planned.is_up_to_date
    assert case.says in str(planned)

    binding = world.bound()
    dry = repair(services, binding, SALES_NAME, dry_run=True)
    assert (dry.repaired or dry.left) is not None
    assert (dry.repaired is not None) is case.repaired

    checked = found_in(services, binding, [(SALES_NAME, StatusCheck.MISSING)])
    assert [(each.passed, case.says in each.text) for each in checked] == [(False, True)]
    (look,) = look_at_tables(services, binding, [SALES_NAME])
    assert case.says in look.foreign_write
    assert world.rows("mart.total") == before


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_no_child_is_computed_from_it_and_the_advice_brings_it_back(
    world: MemoryWorld, name: str
) -> None:
    case, twin = CASES[name], world.copied()
    case.does(world)
    columns = world.catalog.tables[sales(world)].columns
    for each in (world, twin):
        each.land((60, 3), until=96)
    before = world.rows("mart.total")
    with pytest.raises(Refused, match=r"mart\.sales"):
        run(world)
    with pytest.raises(Refused, match=r"mart\.sales"):
        world.build(GRAPH)
    edited = {**SHOP, "triple": SHOP["triple"].replace("* 3", "* 30")}
    with pytest.raises(Refused, match=r"mart\.sales"):
        world.build(graph_of(edited), "dev")
    assert world.rows("mart.total") == before
    assert world.catalog.tables[sales(world)].columns == columns

    if case.repaired:
        assert repair(world.services(), world.bound(), SALES_NAME).is_sound
        assert world.rows("mart.sales") == AMOUNTS
    else:
        world.catalog.drop_table(sales(world))
    for each in (world, twin):
        run(each)
    assert world.rows("mart.total") == twin.rows("mart.total")
    assert world.rows("mart.sales") == twin.rows("mart.sales")
    assert look_at_environment(world.services(), "prod").is_up_to_date


def compacted(world: MemoryWorld) -> None:
    world.catalog.compact(sales(world))
    world.catalog.compact(sales(world))


def compacted_and_expired(world: MemoryWorld) -> None:
    compacted(world)
    world.catalog.expire(sales(world))


def tagged(world: MemoryWorld) -> None:
    table = world.catalog.tables[sales(world)]
    assert table.head is not None
    table.tags["theirs"] = table.head
    table.branches["theirs"] = table.head


def added(world: MemoryWorld) -> None:
    table = world.catalog.tables[sales(world)]
    table.widen((*table.columns, Column(name="note", type="string")))


@pytest.mark.parametrize("maintain", [compacted, compacted_and_expired, tagged, added])
def test_what_takes_no_row_away_raises_no_alarm(
    world: MemoryWorld, maintain: Callable[[MemoryWorld], None]
) -> None:
    maintain(world)
    services = world.services()
    assert look_at_environment(services, "prod").is_up_to_date
    assert plan_environment(services, GRAPH, "prod").is_up_to_date
    run(world)
    assert repair(services, world.bound(), SALES_NAME, dry_run=True).is_sound


def test_looking_at_a_changed_table_changes_nothing(world: MemoryWorld) -> None:
    world.catalog.rename_column(sales(world), "amount", "total")
    fuse = Fuse()
    services = world.services(fuse)
    look_at_environment(services, "prod")
    plan_environment(services, GRAPH, "prod")
    repair(services, bound(services), SALES_NAME, dry_run=True)
    assert fuse.changing == []


def test_a_state_put_back_to_an_older_copy_is_reported_and_repaired(world: MemoryWorld) -> None:
    older = world.state
    kept = world.copied()
    world.land((74, 2), until=96)
    world.build(GRAPH)
    expected = world.rows("mart.total")
    assert older is world.state
    world.state = kept.state
    status = look_at_environment(world.services(), "prod")
    wrong = {each.node.name: each.lost for each in status.models if each.lost is not None}
    assert set(wrong) == {SALES_NAME, TRIPLE_NAME, TOTAL_NAME}
    assert all("older copy" in each.damage for each in wrong.values())
    with pytest.raises(Refused):
        run(world)
    for name in wrong:
        assert repair(world.services(), world.bound(), name).is_sound
    run(world)
    assert world.rows("mart.total") == expected
    assert look_at_environment(world.services(), "prod").is_up_to_date


def test_work_that_was_published_and_not_recorded_is_no_alarm(world: MemoryWorld) -> None:
    world.land((74, 2), until=96)
    with pytest.raises(PowerCut):
        build(world.services(Fuse(cut_name="publish", after=True)), GRAPH)
    world.reboot()
    status = look_at_environment(world.services(), "prod")
    assert [each.lost for each in status.models if each.lost is not None] == []
    world.build(GRAPH)
    assert look_at_environment(world.services(), "prod").is_up_to_date


def test_an_evaluation_of_the_table_itself_is_refused(world: MemoryWorld) -> None:
    world.catalog.rename_column(sales(world), "amount", "total")
    with pytest.raises(ForeignWrite, match="renamed to total"):
        evaluate_range(world.services(), world.bound(), SALES_NAME, day(1, 3), force=True)


def test_what_another_environment_owns_is_repaired_there(world: MemoryWorld) -> None:
    world.build(GRAPH, "dev")
    world.catalog.append(sales(world), [(DAYS[0], 99)])
    status = look_at_environment(world.services(), "dev")
    (behind,) = [each for each in status.models if each.lost is not None]
    assert behind.lost is not None
    assert commands(behind.lost.advice) == ["repair mart.sales"]


@pytest.mark.parametrize("environment", ["dev", "qa"])
def test_the_tables_of_all_environments_are_looked_at_together(
    world: MemoryWorld, environment: str
) -> None:
    world.build(graph_of(EDITED), environment)
    services = world.services()
    assert list(damaged_tables(services)) == []
    world.catalog.append(world.bound(environment).key(SALES_NAME).table, [(DAYS[0], 99)])
    (said,) = damaged_tables(services)
    assert "nother program wrote" in said
    assert commands(said) == [f"repair mart.sales --env {environment}"]


def test_a_physical_view_that_is_gone_is_found_and_made_again_as_is_advised(
    world: MemoryWorld,
) -> None:
    view = world.bound().key(ModelName("mart", "shown")).table
    world.catalog.drop_view(view)
    (said,) = damaged_tables(world.services())
    assert str(view) in said
    assert commands(said) == ["run prod"]
    world.run()
    assert list(damaged_tables(world.services())) == []


def test_a_new_version_does_not_wait_for_what_nothing_of_it_reads(world: MemoryWorld) -> None:
    world.catalog.append(sales(world), [(DAYS[0], 99)])
    services = world.services()
    finish_promotions(services, "prod")
    planned = plan_environment(services, graph_of(EDITED), "prod", PlanOptions())
    assert planned.lost_tables == ()


def test_columns_that_are_renamed_back_end_it_as_is_advised(world: MemoryWorld) -> None:
    renamed_and_expired(world)
    with pytest.raises(ForeignWrite, match="Rename them back"):
        evaluate_range(world.services(), world.bound(), SALES_NAME, day(1, 3), force=True)
    world.catalog.rename_column(sales(world), "total", "amount")
    assert look_at_environment(world.services(), "prod").is_up_to_date
    assert world.rows("mart.sales") == AMOUNTS
