"""An environment is called up to date only after checking its tables and views (rule R14)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

import pytest

from tests.app.memory_world import (
    PROJECT,
    RAW,
    Fuse,
    MemoryWorld,
    PowerCut,
    bound,
    build,
    graph_of,
    hour_of,
    made_once,
)
from tests.app.shop_world import (
    AMOUNTS,
    EDITED,
    EVENTS_NAME,
    SALES,
    SALES_NAME,
    SHOP,
    TENFOLD,
    TOTAL,
    TOTAL_NAME,
    asked,
    done,
    entries,
)
from tests.app.shop_world import shop_in_production as shop
from tests.worlds.tables import Table
from vde_dagster.app.apply.applying import apply_plan, promote_followed
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.apply.visitor import applying
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.inspect.verify import damaged_tables
from vde_dagster.app.plan.catalog_look import replaced_views
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import end_promotions, finish_promotions
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_text import remarks
from vde_dagster.core.planning.stages import Promote, stages_of

GRAPH, SHOWN_NAME = graph_of(SHOP), ModelName("mart", "shown")
LATE = graph_of(PROJECT)


def found(world: MemoryWorld) -> tuple[Plan, list[str]]:
    """The next plan, and what was asked for it."""
    fuse = Fuse()
    return plan_environment(world.services(fuse), GRAPH, "prod"), fuse.names


def test_nothing_is_to_be_done_after_one_look_at_the_catalog() -> None:
    plan, asked_for = found(shop())
    assert plan.is_empty
    assert plan.is_up_to_date
    assert asked_for.count("present") == 1
    assert asked_for.count("table") == 2  # the source: for the clock, and for its own time
    assert asked_for.count("unfinished") == 1


@pytest.mark.full
@pytest.mark.parametrize("name", [SALES_NAME, SHOWN_NAME])
def test_a_view_that_somebody_dropped_is_made_again(name: ModelName) -> None:
    world = shop()
    world.catalog.swap_views([], [TableName(name.schema, name.name)])
    plan, _ = found(world)
    assert not plan.is_empty
    assert (plan.dropped_views, plan.backfills, plan.promotes) == ((name,), (), False)
    fuse = Fuse()
    apply_plan(world.services(fuse), plan, lambda _: None)
    assert "stage" not in fuse.names
    assert world.rows(str(name)) == AMOUNTS
    assert found(world)[0].is_up_to_date


def replaced(world: MemoryWorld, how: str) -> None:
    """Another program replaces the view of a model in production."""
    view = world.catalog.view(TableName("mart", "sales"))
    assert view is not None
    if how == "another version":
        done(world.services(), graph_of(EDITED), "dev")
        world.catalog.swap_views(
            [replace(view, target=bound(world.services(), "dev").table(SALES_NAME))], []
        )
    else:
        world.catalog.swap_views([], [view.name])
        world.catalog.queries[view.name] = "SELECT 1 AS day, 2 AS amount"


REPLACED: Final = pytest.mark.parametrize("how", ["another version", "its own"])


@REPLACED
def test_a_view_that_another_program_replaced_is_seen_and_put_back(how: str) -> None:
    world = shop()
    replaced(world, how)
    plan, _ = found(world)
    assert (plan.dropped_views, plan.backfills, plan.promotes) == ((SALES_NAME,), (), False)
    assert "replaced by another program" in "\n".join(remarks(plan))
    status = look_at_environment(world.services(), "prod")
    assert (status.dropped_views, status.is_behind) == ((SALES_NAME,), True)
    assert [each.split(" is ")[0] for each in damaged_tables(world.services())] == [
        "the view of mart.sales in prod"
    ]
    if how == "its own":
        with pytest.raises(Refused, match=r"mart\.sales is .* no view can be put there"):
            apply_plan(world.services(), plan, lambda _: None)
        del world.catalog.queries[TableName("mart", "sales")]
        plan = plan_run(world.services(), "prod")
    fuse = Fuse()
    apply_plan(world.services(fuse), plan, lambda _: None)
    assert "stage" not in fuse.names
    assert world.rows("mart.sales") == AMOUNTS
    assert found(world)[0].is_up_to_date
    assert list(damaged_tables(world.services())) == []


def test_no_promotion_begins_where_another_program_replaced_a_view() -> None:
    world = shop()
    replaced(world, "its own")
    before = world.state.environment("prod")
    with pytest.raises(Refused, match=r"mart\.sales exists in the catalog already"):
        done(
            world.services(),
            graph_of({**SHOP, "total": TOTAL.replace("amount)", "amount + 1)")}),
            "prod",
        )
    assert world.state.environment("prod") == before


def test_views_that_a_promotion_moves_meanwhile_are_no_news() -> None:
    world = shop()
    services = world.services()
    shown = services.state.environment("prod")
    assert shown is not None
    done(services, graph_of(EDITED), "prod")
    sound = {each.key for each in shown.snapshots.values()}
    assert replaced_views(services, shown, sound, naming=services.naming) == ()


@pytest.mark.full
def test_a_view_of_a_small_environment_that_somebody_dropped_is_made_again() -> None:
    world = shop()
    edited = graph_of(EDITED)
    done(world.services(), edited, "dev", include_unmodified=False)
    before = world.rows("mart__dev.sales")
    world.catalog.swap_views([], [TableName("mart__dev", "sales")])
    plan = asked(world.services(), edited, "dev", include_unmodified=False)
    assert plan.dropped_views == (SALES_NAME,)
    apply_plan(world.services(), plan, lambda _: None)
    assert world.rows("mart__dev.sales") == before
    assert asked(world.services(), edited, "dev", include_unmodified=False).is_up_to_date


def test_a_physical_view_that_somebody_dropped_is_made_again() -> None:
    world = shop()
    del world.catalog.queries[bound(world.services()).table(SHOWN_NAME)]
    plan, _ = found(world)
    assert [each.name for each in plan.backfills] == [SHOWN_NAME]
    apply_plan(world.services(), plan, lambda _: None)
    assert world.rows("mart.shown") == AMOUNTS
    assert found(world)[0].is_up_to_date


def test_a_physical_view_of_production_is_reported_elsewhere_until_production_rebuilds_it() -> None:
    world = shop()
    graph = graph_of(SHOP)
    other = graph_of({**SHOP, "total": SHOP["total"].replace("SUM(amount)", "SUM(amount * 2)")})
    done(world.services(), graph, "dev")
    view = bound(world.services()).table(SHOWN_NAME)
    del world.catalog.queries[view]
    plan = asked(world.services(), graph, "dev")
    assert not plan.is_up_to_date
    assert [(each.table, each.owner) for each in plan.lost_tables] == [(str(view), "prod")]
    with pytest.raises(Refused, match=r"mart\.shown is gone.* plan prod, which makes it again"):
        done(world.services(), other, "dev")
    with pytest.raises(Refused, match="plan prod"):
        done(world.services(), graph, "new")
    done(world.services(), graph, "prod")
    assert asked(world.services(), graph, "dev").is_up_to_date
    done(world.services(), other, "dev")
    assert world.rows("mart__dev.shown") == AMOUNTS


def once_kept(texts: dict[str, str]) -> dict[str, str]:
    """The same, with a table of sales whose rows are never computed again."""
    more = "column day, disable_restatement true"
    return {**texts, "sales": texts["sales"].replace("column day", more)}


@pytest.mark.full
def test_a_table_whose_rows_are_kept_for_good_is_reported_and_nothing_is_promoted_over_it() -> None:
    world = shop()
    kept = once_kept(SHOP)
    done(world.services(), graph_of(kept), "prod")
    table = bound(world.services()).table(SALES_NAME)
    world.catalog.drop_table(table)
    plan = plan_environment(world.services(), graph_of(kept), "prod")
    assert not plan.is_up_to_date
    assert [(each.name, each.table) for each in plan.lost_tables] == [(SALES_NAME, str(table))]
    other = graph_of({**kept, "total": SHOP["total"].replace("SUM(amount)", "SUM(amount * 2)")})
    with pytest.raises(Refused, match=r"mart\.sales is gone.*disable_restatement.*stamp"):
        done(world.services(), other, "prod")
    shown = world.services().state.environment("prod")
    assert shown is not None
    assert (shown.revision, shown.promoting) == (2, False)
    stamped = {**kept, "sales": kept["sales"].replace("cron", "stamp 'again', cron")}
    done(world.services(), graph_of(stamped), "prod")
    assert world.rows("mart.sales") == AMOUNTS


FORWARD = {**SHOP, "sales": SALES.replace("column day", "column day, forward_only true")}


@pytest.mark.full
@pytest.mark.parametrize(
    "texts,options",
    [(FORWARD, {}), (SHOP, {"forward_only": True})],
    ids=["the kind is", "the plan is"],
)
def test_a_forward_only_model_gets_a_new_table_in_the_way_that_is_advised(
    texts: dict[str, str], options: dict[str, bool]
) -> None:
    world, texts = shop(), once_kept(texts)
    done(world.services(), graph_of(texts), "prod")
    world.catalog.drop_table(bound(world.services()).table(SALES_NAME))
    stamped = {**texts, "sales": texts["sales"].replace("cron", "stamp 'again', cron")}
    with pytest.raises(Refused, match=r"stamp.*--decide mart\.sales=breaking"):
        done(world.services(), graph_of(stamped), "prod", **options)
    decided = {SALES_NAME: Category.BREAKING}
    done(world.services(), graph_of(stamped), "prod", decisions=decided, **options)
    assert world.rows("mart.sales") == AMOUNTS


LESS = {**EDITED, "total": TOTAL.replace("SUM(amount)", "SUM(amount * 2)")}


def dropped_in_dev() -> tuple[MemoryWorld, Plan, TableName]:
    """A plan of an edit for dev, over whose table of sales somebody then drops."""
    world = shop()
    done(world.services(), graph_of(EDITED), "dev")
    plan = asked(world.services(), graph_of(LESS), "dev")
    table = bound(world.services(), "dev").table(SALES_NAME)
    return world, plan, table


def shown_by(world: MemoryWorld, environment: str) -> tuple[int, bool]:
    """The revision of an environment, and whether it is being promoted."""
    shown = world.services().state.environment(environment)
    assert shown is not None
    return shown.revision, shown.promoting


@pytest.mark.full
def test_what_was_dropped_since_the_plan_was_made_is_reported_before_a_promotion_begins() -> None:
    world, plan, table = dropped_in_dev()
    with applying(world.services(), plan) as work:
        for stage in stages_of(plan):
            if isinstance(stage, Promote):
                world.catalog.drop_table(table)
                with pytest.raises(Refused, match=r"mart\.sales is gone.*Plan again(?s:.*)No view"):
                    list(work.visit(stage))
            else:
                list(work.visit(stage))
    assert table not in world.catalog.tables, "a promotion was about to begin"
    assert shown_by(world, "dev") == (1, False)


@pytest.mark.full
def test_a_run_that_follows_the_files_promotes_nothing_over_a_dropped_table() -> None:
    world, plan, table = dropped_in_dev()
    world.catalog.drop_table(table)
    services = world.services()
    with pytest.raises(Refused, match=r"mart\.sales is gone"):
        promote_followed(services, plan)
    assert shown_by(world, "dev") == (1, False)


def begun(world: MemoryWorld, plan: Plan) -> None:
    """Apply a plan up to where its promotion is recorded and no view has moved."""
    services = world.services()
    with applying(services, plan) as work:
        for stage in stages_of(plan)[:-1]:
            list(work.visit(stage))
        services.state.begin_promotion(
            plan.environment,
            expected_revision=plan.base_revision,
            plan_id=plan.plan_id,
            snapshots=tuple(work.plan.snapshots.values()),
            lease=work.lease,
        )


def stuck_in_dev() -> tuple[MemoryWorld, TableName, Table]:
    """A promotion of dev that was begun before a table was dropped that it is the first to show."""
    world, plan, _ = dropped_in_dev()
    begun(world, plan)
    table = plan.snapshots[TOTAL_NAME].key.table
    rows = world.catalog.tables[table]
    world.catalog.drop_table(table)
    assert shown_by(world, "dev") == (2, True)
    return world, table, rows


@pytest.mark.full
def test_a_promotion_that_cannot_be_finished_is_left_to_the_next_plan() -> None:
    world, table, _ = stuck_in_dev()
    assert not finish_promotions(world.services(), "dev")
    with pytest.raises(Refused, match=rf"cannot be finished.*{table}"):
        end_promotions(world.services(), "dev")
    done(world.services(), graph_of(LESS), "dev")
    assert world.rows("mart__dev.sales") == TENFOLD
    assert shown_by(world, "dev") == (3, False)


@pytest.mark.full
def test_a_promotion_is_finished_once_the_table_is_restored() -> None:
    world, table, rows = stuck_in_dev()
    world.catalog.tables[table] = rows
    assert finish_promotions(world.services(), "dev")
    assert shown_by(world, "dev") == (2, False)
    assert world.rows("mart__dev.total") == [(3 * 220 * 2,)]


@pytest.mark.full
def test_a_view_that_an_unfinished_promotion_was_to_drop_is_dropped_by_the_plan_over_it() -> None:
    world = shop()
    done(world.services(), graph_of(EDITED), "dev")
    kept = graph_of({name: text for name, text in EDITED.items() if name != "total"})
    begun(world, asked(world.services(), kept, "dev"))
    assert world.catalog.view(TableName("mart__dev", "total")) is not None
    apply_plan(world.services(), plan_environment(world.services(), kept, "dev"), lambda _: None)
    assert shown_by(world, "dev") == (3, False)
    assert world.catalog.view(TableName("mart__dev", "total")) is None


@pytest.mark.full
def test_a_promotion_that_was_begun_is_found_and_finished() -> None:
    world, edited = shop(), graph_of(EDITED)
    plan, fuse = asked(world.services(), edited, "prod"), Fuse()
    twin = shop()
    apply_plan(twin.services(fuse), asked(twin.services(), edited, "prod"), lambda _: None)
    cut = fuse.names.index("begin_promotion") + 1
    with pytest.raises(PowerCut):
        apply_plan(world.services(Fuse(cut_at=cut, after=True)), plan, lambda _: None)
    assert world.rows("mart.sales") == AMOUNTS
    world.reboot()
    left = plan_environment(world.services(), edited, "prod")
    assert not left.is_up_to_date
    apply_plan(world.services(), left, lambda _: None)
    assert world.rows("mart.sales")[0][1] == 100
    assert plan_environment(world.services(), edited, "prod").is_up_to_date


@made_once
def late_world() -> MemoryWorld:
    """Production over a source in which a late row has landed since."""
    world = MemoryWorld()
    world.land((1, 10), (30, 5), (47, 1), until=48)
    build(world.services(), LATE)
    world.land((1.5, 100), until=48)
    return world


@cache
def session_calls() -> list[str]:
    world, fuse = late_world(), Fuse()
    services = world.services(fuse)
    catch_up(services, bound(services), EVENTS_NAME)
    return fuse.names


@pytest.mark.full
@pytest.mark.parametrize("call", ["record_intent", "stage", "record_staged", "publish"])
def test_a_session_that_was_stopped_is_found_and_ended(call: str) -> None:
    world, names = late_world(), session_calls()
    services = world.services(Fuse(cut_at=names.index(call) + 1, after=True))
    with pytest.raises(PowerCut):
        catch_up(services, bound(world.services()), EVENTS_NAME)
    world.reboot()
    plan = plan_environment(world.services(), LATE, "prod")
    assert plan.unfinished == (EVENTS_NAME,)
    apply_plan(world.services(), plan, lambda _: None)
    assert len(world.rows("staging.events")) == 4
    assert plan_environment(world.services(), LATE, "prod").is_up_to_date


@pytest.mark.full
def test_a_session_that_was_given_up_is_run_again() -> None:
    world, names = late_world(), session_calls()
    services = world.services(Fuse(cut_at=names.index("record_intent") + 1, after=True))
    with pytest.raises(PowerCut):
        catch_up(services, bound(world.services()), EVENTS_NAME)
    world.reboot()
    services = world.services()
    first = entries(world, "prod", EVENTS_NAME)[0].interval
    evaluate_range(services, bound(services), EVENTS_NAME, first)  # whoever writes gives it up
    key = bound(services).key(EVENTS_NAME)
    assert services.state.sessions(key, limit=1)[0].state is UnitOfWorkState.ABANDONED
    plan = plan_environment(world.services(), LATE, "prod")
    assert plan.backfills[0].name == EVENTS_NAME
    apply_plan(world.services(), plan, lambda _: None)
    assert len(world.rows("staging.events")) == 4
    assert plan_environment(world.services(), LATE, "prod").is_up_to_date


@made_once
def rewritten_world() -> MemoryWorld:
    """Production over a source whose rows have been corrected since."""
    world = MemoryWorld()
    world.land((1, 10), (30, 5), (47, 1), until=48)
    build(world.services(), LATE)
    corrected = [(1, hour_of(1), 110), (2, hour_of(30), 105), (3, hour_of(47), 101)]
    world.catalog.overwrite(RAW, corrected)
    return world


@pytest.mark.full
@pytest.mark.parametrize(
    "call",
    [
        pytest.param("record_intent", marks=pytest.mark.full),
        "stage",
        pytest.param("record_staged", marks=pytest.mark.full),
        "publish",
    ],
)
def test_a_session_that_was_stopped_over_a_rewrite_is_found_and_ended(call: str) -> None:
    fuse = Fuse()
    services = rewritten_world().services(fuse)
    catch_up(services, bound(services), EVENTS_NAME)
    world = rewritten_world()
    services = world.services(Fuse(cut_at=fuse.names.index(call) + 1, after=True))
    with pytest.raises(PowerCut):
        catch_up(services, bound(world.services()), EVENTS_NAME)
    world.reboot()
    done(world.services(), LATE, "prod")
    assert [row[2] for row in world.rows("staging.events")] == [110, 105, 101]
    assert plan_environment(world.services(), LATE, "prod").is_up_to_date


def test_what_is_being_written_right_now_is_left_to_whoever_writes_it() -> None:
    world, names = late_world(), session_calls()
    services = world.services(Fuse(cut_at=names.index("stage") + 1, after=True))
    with pytest.raises(PowerCut):
        catch_up(services, bound(world.services()), EVENTS_NAME)
    plan = plan_environment(world.services(), LATE, "prod")  # its lease has not expired
    assert plan.unfinished == (EVENTS_NAME,)
    key = bound(world.services()).key(EVENTS_NAME)
    before = world.services().state.open_work(key)
    with pytest.raises(Conflict):  # nor does another session run meanwhile
        apply_plan(world.services(), plan, lambda _: None)
    assert world.services().state.open_work(key) == before


@pytest.mark.full
def test_what_cannot_be_ended_since_the_catalog_is_busy_is_no_success(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, names = late_world(), session_calls()
    services = world.services(Fuse(cut_at=names.index("record_staged") + 1, after=True))
    with pytest.raises(PowerCut):
        catch_up(services, bound(world.services()), EVENTS_NAME)
    world.reboot()
    plan = plan_environment(world.services(), LATE, "prod")
    left = replace(
        plan, changes=tuple(replace(e, missing=(), staleness=None) for e in plan.changes)
    )
    assert (left.unfinished, left.backfills) == ((EVENTS_NAME,), ())

    def busy(*_: object, **__: object) -> None:
        raise Conflict("the catalog is busy")

    monkeypatch.setattr(world.catalog, "publish", busy)
    with pytest.raises(Conflict, match="busy"):
        apply_plan(world.services(), left, lambda _: None)
    monkeypatch.undo()
    apply_plan(world.services(), left, lambda _: None)
    assert len(world.rows("staging.events")) == 4
