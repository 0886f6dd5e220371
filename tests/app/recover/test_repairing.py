"""What `vde repair` finds and repairs, and that everything else that it advises works."""

from __future__ import annotations

import re

import pytest

from tests.app.memory_world import Fuse, MemoryWorld, PowerCut, bound, build, graph_of, there
from tests.app.shop_world import AMOUNTS, DAYS, EDITED, SALES_NAME, SHOP, TENFOLD, day
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.publish.foreign_writes import ForeignWrite
from vde_dagster.app.recover.recovery import Repaired, repair
from vde_dagster.core.errors import Conflict, EvaluationFailed, Refused
from vde_dagster.core.ledger.damage import FilesGone, HeadMoved
from vde_dagster.core.names import ModelName, TableName

SHOWN_NAME, RAW_NAME = ModelName("mart", "shown"), ModelName("raw", "events")
GRAPH = graph_of(SHOP)


def repaired(
    world: MemoryWorld, name: ModelName = SALES_NAME, environment: str = "prod", **options: bool
) -> Repaired:
    return repair(world.services(), world.bound(environment), name, **options)


def sales(world: MemoryWorld, environment: str = "prod") -> TableName:
    return world.bound(environment).key(SALES_NAME).table


def head(world: MemoryWorld) -> int:
    return there(world.catalog.tables[sales(world)].head)


def commands(text: str) -> list[str]:
    return re.findall(r"`vde (.*?)`", text)


def test_nothing_is_wrong_with_what_is_as_recorded(world: MemoryWorld) -> None:
    found = repaired(world)
    assert found.is_sound
    assert (found.repaired, found.finished, found.advice) == (None, 0, "")


def test_rows_of_another_program_are_set_aside_and_stay_readable(world: MemoryWorld) -> None:
    before = head(world)
    theirs = world.catalog.append(sales(world), [(DAYS[0], 99)])
    assert repaired(world, dry_run=True).repaired == HeadMoved(found=theirs, recorded=before)
    assert head(world) == theirs
    found = repaired(world)
    assert (found.repaired, found.is_sound) == (HeadMoved(found=theirs, recorded=before), True)
    assert world.rows("mart.sales") == AMOUNTS
    assert world.catalog.columns_at(sales(world), theirs) is not None
    assert repaired(world).repaired is None


def test_what_another_environment_owns_is_repaired_there_as_is_advised(world: MemoryWorld) -> None:
    world.build(GRAPH, "dev")
    world.catalog.append(sales(world), [(DAYS[0], 99)])
    with pytest.raises(Refused, match="in prod, which owns it") as raised:
        repaired(world, environment="dev")
    assert commands(str(raised.value)) == ["repair mart.sales --env prod"]
    world.build(graph_of(EDITED), "dev")
    world.catalog.append(sales(world, "dev"), [(DAYS[0], 99)])
    with pytest.raises(ForeignWrite) as of_dev:
        evaluate_range(world.services(), world.bound("dev"), SALES_NAME, day(1, 3), force=True)
    assert commands(str(of_dev.value)) == ["repair mart.sales --env dev"]
    assert repaired(world, environment="dev").is_sound
    assert world.rows("mart__dev.sales") == TENFOLD


def test_what_its_owner_never_showed_is_repaired_where_it_is_shown() -> None:
    fails = "MODEL (name mart.fails, kind FULL); SELECT CAST('x' AS BIGINT) AS n FROM mart.sales"
    world = MemoryWorld.landed((1, 10), until=24)
    with pytest.raises(EvaluationFailed, match=r"mart\.fails"):
        world.build(graph_of({**SHOP, "fails": fails}))
    world.build(GRAPH, "dev")
    world.catalog.append(sales(world, "dev"), [(DAYS[0], 99)])
    with pytest.raises(Refused, match=r"`vde repair mart\.sales --env dev`"):
        world.build(graph_of({**SHOP, "fails": fails}))
    assert repaired(world, environment="dev").is_sound
    assert world.rows("mart__dev.sales") == [(DAYS[0], 10)]


@pytest.mark.full
def test_a_deleted_data_file_is_named_and_the_advised_restatement_computes_it_again(
    world: MemoryWorld,
) -> None:
    lost = world.catalog.lose_file(sales(world))
    found = repaired(world)
    assert found.left == FilesGone(recorded=head(world), files=(lost,))
    assert commands(found.advice) == ["run prod --restate-model mart.sales"]
    world.run(restate=("mart.sales",))
    assert repaired(world).is_sound
    assert world.rows("mart.sales") == AMOUNTS


@pytest.mark.parametrize("name", [SALES_NAME, SHOWN_NAME])
def test_a_dropped_view_is_created_by_the_plan_that_is_advised(
    world: MemoryWorld, name: ModelName
) -> None:
    view = TableName(name.schema, name.name)
    world.catalog.swap_views([], [view])
    found = repaired(world, name)
    assert (found.dropped, commands(found.advice)) == (view, ["plan prod"])
    world.build(GRAPH)
    assert repaired(world, name).is_sound


def test_what_has_no_table_is_refused(world: MemoryWorld) -> None:
    with pytest.raises(Refused, match="so there is nothing to repair"):
        repaired(world, RAW_NAME)


@pytest.mark.full
def test_what_is_being_written_is_left_to_whoever_writes_it(world: MemoryWorld) -> None:
    services, cut = world.services(), world.services(Fuse(cut_name="stage", after=True))
    with pytest.raises(PowerCut):
        evaluate_range(cut, bound(services), SALES_NAME, day(1, 3), force=True)
    with pytest.raises(Conflict):
        repaired(world)
    world.reboot()
    assert repaired(world).is_sound
    assert services.state.open_work(bound(services).key(SALES_NAME)) == ()


@pytest.mark.full
def test_work_that_an_earlier_process_staged_is_finished(world: MemoryWorld) -> None:
    world.land((2, 1), until=72)
    twin = world.copied()
    build(twin.services(), GRAPH)
    with pytest.raises(PowerCut):
        build(world.services(Fuse(cut_name="publish", after=True)), GRAPH)
    world.reboot()
    assert repaired(world).finished == 1
    assert world.rows("mart.sales") == twin.rows("mart.sales")


@pytest.mark.full
def test_an_evaluation_that_lacks_a_data_file_names_the_table_and_what_ends_it(
    world: MemoryWorld,
) -> None:
    lost = world.catalog.lose_file(sales(world))
    edited = {**SHOP, "triple": SHOP["triple"].replace("* 3", "* 30")}
    said = rf"mart\.sales: its table .* is missing 1 file .*{lost}"
    with pytest.raises(Refused, match=said) as told:
        world.build(graph_of(edited))
    assert commands(str(told.value)) == ["run prod --restate-model mart.sales"]
    assert "mart.triple was not computed" in str(told.value)
