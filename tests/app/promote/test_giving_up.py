"""No begun promotion is without a way out, and what can be known before is checked before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from tests.app.memory_world import Fuse, MemoryWorld, PowerCut, declared_source, graph_of, there
from tests.app.shop_world import AMOUNTS, EDITED, SHOP, TENFOLD, done, shop_in_production
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.inspect.environment_diff import diff_environments
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.promote.taking import give_up_promotion, plan_promotion, plan_rollback
from vde_dagster.app.services import Services
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import Revision
from vde_dagster.core.names import ModelName, TableName

NAMES: Final = TableName("raw", "names")
SOURCE: Final = declared_source(ModelName("raw", "names"), {"name": "string"})
READER: Final = "MODEL (name mart.names, kind FULL);\nSELECT name AS name FROM raw.names"
MODEL: Final = "MODEL (name raw.names, kind FULL);\nSELECT 'ann' AS name"
BY_HAND: Final = TableName("mart", "least")
LEAST: Final = "MODEL (name mart.least, kind FULL);\nSELECT MIN(amount) AS amount FROM mart.sales"


def with_source() -> MemoryWorld:
    """Production reads a declared source."""
    world = shop_in_production()
    world.catalog.create_table(NAMES, (Column(name="name", type="string"),))
    world.catalog.append(NAMES, [("bob",)])
    world.build(graph_of({**SHOP, "reader": READER}, SOURCE))
    return world


def test_a_source_that_becomes_a_model_is_refused_before_anything_is_computed() -> None:
    world, fuse = with_source(), Fuse()
    changed = graph_of({**SHOP, "reader": READER, "names": MODEL})
    with pytest.raises(Refused, match=r"raw\.names already exists in the catalog"):
        done(world.services(fuse), changed, "prod")
    assert not {"stage", "begin_promotion", "store_snapshots"} & set(fuse.names)
    assert not world.plan_run().promotes
    assert world.rows("mart.names") == [("bob",)]


def test_a_name_that_is_taken_is_refused_before_anything_is_computed() -> None:
    world, fuse = shop_in_production(), Fuse()
    world.catalog.create_table(BY_HAND, (Column(name="amount", type="bigint"),))
    with pytest.raises(Refused, match=r"mart\.least already exists in the catalog"):
        done(world.services(fuse), graph_of({**SHOP, "least": LEAST}), "prod")
    assert "stage" not in fuse.names


def cut_in_production() -> MemoryWorld:
    """A promotion of production was begun by a process that died."""
    world = shop_in_production()
    project = graph_of({**EDITED, "least": LEAST})
    plan = plan_environment(world.services(), project, "prod")
    with pytest.raises(PowerCut):
        apply_plan(world.services(Fuse(cut_name="swap_views")), plan, lambda _: None)
    world.reboot()
    return world


def stuck() -> MemoryWorld:
    """A promotion of production was begun, and then somebody took the name of one of its views."""
    world = cut_in_production()
    world.catalog.create_table(BY_HAND, (Column(name="amount", type="bigint"),))
    world.reboot()
    world.build(graph_of(SHOP), "dev")
    return world


COMMANDS: Final[dict[str, Callable[[Services], object]]] = {
    "run": lambda services: plan_run(services, "prod"),
    "diff": lambda services: diff_environments(services, "prod", "dev"),
    "promote": lambda services: plan_promotion(services, "dev", "prod"),
    "promote from it": lambda services: plan_promotion(services, "prod", "dev"),
    "rollback": lambda services: plan_rollback(services, "prod"),
}


def test_a_look_names_what_was_begun_and_writes_nothing() -> None:
    """A look takes no lease, stores nothing and moves no view, whether it could be finished."""
    world, fuse = cut_in_production(), Fuse()
    before = world.rows("mart.sales")
    status = look_at_environment(world.services(fuse), "prod")
    assert (status.is_promoting, status.is_up_to_date, status.is_behind) == (True, False, True)
    assert fuse.changing == []
    assert world.rows("mart.sales") == before
    assert world.plan_run().is_empty
    assert not look_at_environment(world.services(), "prod").is_promoting
    assert world.rows("mart.sales") != before


@pytest.mark.full
@pytest.mark.parametrize("command", COMMANDS)
def test_every_message_names_the_way_out(command: str) -> None:
    world = stuck()
    with pytest.raises(Refused) as refused:
        COMMANDS[command](world.services())
    said = str(refused.value)
    assert "a promotion of prod was started and cannot be finished" in said
    assert "mart.least is a table" in said
    assert "`vde rollback prod --give-up`" in said


def test_it_is_given_up_and_everything_goes_on() -> None:
    world = stuck()
    given_up = there(give_up_promotion(world.services(), "prod"))
    assert (given_up.revision, given_up.promoting) == (3, False)
    assert world.rows("mart.shown") == AMOUNTS
    for command in COMMANDS.values():
        if command is not COMMANDS["rollback"]:
            command(world.services())
    assert world.plan_run().is_empty
    world.build(graph_of(EDITED))
    assert world.rows("mart.shown") == TENFOLD


def test_it_goes_back_before_every_promotion_that_was_not_finished() -> None:
    world = stuck()
    plan = world.plan(graph_of(EDITED))
    with pytest.raises(PowerCut):
        apply_plan(world.services(Fuse(cut_name="swap_views")), plan, lambda _: None)
    world.reboot()
    begun = there(world.services().state.environment("prod"))
    assert (begun.revision, begun.promoting) == (3, True)
    given_up = there(give_up_promotion(world.services(), "prod"))
    assert given_up.taken == Revision("prod", 1)
    assert world.rows("mart.shown") == AMOUNTS


def test_it_is_finished_once_the_name_is_free() -> None:
    world = stuck()
    world.catalog.drop_table(BY_HAND)
    assert finish_promotions(world.services(), "prod")
    assert world.rows("mart.shown") == TENFOLD


@pytest.mark.parametrize("files", [SHOP, EDITED], ids=["put back", "others"])
def test_a_plan_of_other_files_promotes_over_it(files: dict[str, str]) -> None:
    world = stuck()
    world.build(graph_of(files))
    assert world.rows("mart.shown") == (AMOUNTS if files is SHOP else TENFOLD)
    assert world.plan_run().is_empty
    assert world.catalog.table(BY_HAND) is not None


def first_stuck(environment: str) -> tuple[MemoryWorld, Graph]:
    """The first promotion of an environment was begun, and cannot be finished."""
    world, project = MemoryWorld(), graph_of({**SHOP, "least": LEAST})
    world.land((1, 10), until=72)
    plan = plan_environment(world.services(), project, environment)
    with pytest.raises(PowerCut):
        apply_plan(world.services(Fuse(cut_name="swap_views")), plan, lambda _: None)
    schema = "mart" if environment == "prod" else f"mart__{environment}"
    world.catalog.create_table(TableName(schema, "least"), (Column(name="amount", type="bigint"),))
    world.reboot()
    return world, project


@pytest.mark.parametrize("environment", ["prod", "dev"])
def test_a_first_promotion_that_is_given_up_leaves_nothing(environment: str) -> None:
    world, project = first_stuck(environment)
    with pytest.raises(Refused, match=rf"`vde rollback {environment} --give-up`"):
        world.plan_run(environment)
    assert give_up_promotion(world.services(), environment) is None
    assert world.state.environments() == ()
    with pytest.raises(Refused, match="already exists in the catalog"):
        world.build(project, environment)
    world.build(graph_of(SHOP), environment)
    assert world.plan_run(environment).is_empty


def test_what_was_finished_is_not_given_up() -> None:
    world = shop_in_production()
    with pytest.raises(Refused, match="prod has no unfinished promotion"):
        give_up_promotion(world.services(), "prod")
    with pytest.raises(Refused, match="there is no environment nobody"):
        give_up_promotion(world.services(), "nobody")


@pytest.mark.full
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["begin_promotion", "swap_views", "finish_promotion"])
def test_giving_up_that_was_cut_is_finished_by_whoever_comes_next(name: str, after: bool) -> None:
    world = stuck()
    with pytest.raises(PowerCut):
        give_up_promotion(world.services(Fuse(cut_name=name, after=after)), "prod")
    world.reboot()
    shown = there(world.services().state.environment("prod"))
    if shown.promoting and shown.revision == 2:
        give_up_promotion(world.services(), "prod")
    assert world.plan_run().is_empty
    assert world.rows("mart.shown") == AMOUNTS


TRIPLE: Final = ModelName("mart", "triple")


def moved(files: dict[str, str]) -> MemoryWorld:
    """All views of a promotion of production were moved, which then was cut."""
    world = shop_in_production()
    plan = plan_environment(world.services(), graph_of(files), "prod")
    with pytest.raises(PowerCut):
        apply_plan(world.services(Fuse(cut_name="finish_promotion")), plan, lambda _: None)
    world.reboot()
    return world


def is_as_begun(world: MemoryWorld) -> bool:
    shown = world.services().state.environment("prod")
    return shown is not None and (shown.revision, shown.promoting) == (2, True)


def test_what_cannot_be_given_up_changes_nothing_and_names_the_way_out() -> None:
    world = moved(EDITED)
    before = there(world.services().state.environment("prod", revision=1))
    world.catalog.drop_table(before.snapshots[TRIPLE].key.table)
    for _ in range(2):
        with pytest.raises(
            Refused, match=r"cannot be given up: .* were dropped or changed"
        ) as refused:
            give_up_promotion(world.services(), "prod")
        assert "`vde plan prod`" in str(refused.value)
        assert is_as_begun(world)
    assert finish_promotions(world.services(), "prod")
    assert world.rows("mart.shown") == TENFOLD


def test_a_name_that_was_taken_meanwhile_is_found_before_anything_is_recorded() -> None:
    world = moved({name: text for name, text in SHOP.items() if name != "total"})
    view = TableName("mart", "total")
    assert world.catalog.view(view) is None
    world.catalog.create_table(view, (Column(name="amount", type="bigint"),))
    with pytest.raises(
        Refused, match=r"cannot be given up: mart\.total already exists in the catalog"
    ):
        give_up_promotion(world.services(), "prod")
    assert is_as_begun(world)
    assert finish_promotions(world.services(), "prod")


TIMES: Final = "WHERE at BETWEEN @start_ts AND @end_ts"
PARENTS: Final = {
    "time range": "INCREMENTAL_BY_TIME_RANGE (time_column at)",
    "full": "FULL",
}
CHILDREN: Final = {**PARENTS, "key": "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"}


@pytest.mark.parametrize("child", CHILDREN)
@pytest.mark.parametrize("parent", PARENTS)
def test_r10_a_kept_child_is_as_fresh_as_before_a_promotion_that_is_given_up(
    parent: str, child: str
) -> None:
    def project(columns: str) -> Graph:
        times = {name: TIMES * (name != "full") for name in CHILDREN}
        return graph_of(
            {
                "p": f"MODEL (name m.p, kind {PARENTS[parent]}, cron '@hourly'); "
                f"SELECT id AS id, at AS at, amount AS amount{columns} FROM raw.events "
                f"{times[parent]}",
                "c": f"MODEL (name m.c, kind {CHILDREN[child]}, cron '@hourly'); "
                f"SELECT id AS id, at AS at, amount AS amount FROM m.p {times[child]}",
            }
        )

    world = MemoryWorld.landed((0.5, 10), (1.5, 20), (2.5, 30), until=3)
    world.build(project(""))
    world.build(project(", amount + 1 AS b"))
    for cut in ("swap_views", "finish_promotion"):
        plan = plan_environment(world.services(), project(", amount + 1 AS b, 2 AS d"), "prod")
        with pytest.raises(PowerCut):
            apply_plan(world.services(Fuse(cut_name=cut)), plan, lambda _: None)
        world.reboot()
        assert give_up_promotion(world.services(), "prod") is not None
        assert world.plan_run().is_empty
    world.land((3.5, 40), until=4)
    services = world.services()
    apply_plan(services, plan_run(services, "prod"), lambda _: None)
    assert sorted(int(str(row[2])) for row in world.rows("m.c")) == [10, 20, 30, 40]
