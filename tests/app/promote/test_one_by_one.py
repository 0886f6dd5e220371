"""Promotions where views move one by one: a real REST client, and a server that loses requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.memory_world import Fuse, MemoryWorld, PowerCut, build, graph_of
from tests.app.promote.rest_shop import FAILED, VIEWS, Line, Shop, shop_in
from tests.app.shop_world import EDITED, SALES_NAME, SHOP, TOTAL_NAME, shop_in_production
from tests.depth import is_full
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.inspect.local_answers import (
    LocalAnswer,
    answer_locally,
    read_as,
    whole_revision,
    whole_views,
)
from vde_dagster.app.promote.promotion import finish_promotions, remove_environment
from vde_dagster.app.promote.taking import plan_rollback
from vde_dagster.app.publish.shown_views import show
from vde_dagster.core.errors import Conflict, OutcomeUnknown
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckDbQueries
from vde_dagster.ports.state import LeaseLost

EVER = 10_000
CHANGES = [
    pytest.param(at, marks=[] if at in (1, len(SHOP)) else pytest.mark.full)
    for at in range(1, len(SHOP) + 1)
]
"""The requests that change a view each: the first and the last one, and in the full form all."""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with shop_in(tmp_path, monkeypatch) as made:
        yield made


def only(shop: Shop, *versions: dict[TableName, TableName]) -> bool:
    """Whether each view shows what it shows in one of these, each view for itself."""
    shown = shop.shown()
    return shown.keys() == set(VIEWS) and all(
        target in {each[name] for each in versions} for name, target in shown.items()
    )


def cut(shop: Shop, at: int, *, answers: bool) -> int:
    """A promotion whose process loses its catalog at a change, and is gone; how many were lost."""
    with (
        Line(shop.server, lose=at, changes=True, answers=answers, breaks=True) as line,
        suppress(*FAILED),
    ):
        shop.promote("dev")
    shop.world.reboot()
    return line.lost


def promoted_again(shop: Shop) -> None:
    shop.promote("dev")


def planned(shop: Shop) -> None:
    shop.world.build(graph_of(EDITED))


def run(shop: Shop) -> None:
    services = shop.world.services()
    apply_plan(services, plan_run(services, "prod"), lambda _: None)


def rolled_back_and_promoted(shop: Shop) -> None:
    services = shop.world.services()
    apply_plan(services, plan_rollback(services, "prod"), lambda _: None)
    assert shop.shown() == shop.first
    shop.promote("dev")


@pytest.mark.full
def test_all_views_show_what_is_promoted_and_each_is_replaced_by_one_request(shop: Shop) -> None:
    shop.server.asked.clear()
    shop.promote("dev")
    assert shop.shown() == shop.second != shop.first
    assert sorted(path.rpartition("/")[2] for _, path in shop.server.changes) == sorted(SHOP)
    assert {method for method, _ in shop.server.changes} == {"POST"}


@pytest.mark.full
@pytest.mark.parametrize("answers", [False, True], ids=["a lost request", "a lost answer"])
@pytest.mark.parametrize("at", CHANGES)
def test_a_promotion_that_is_cut_at_any_change_leaves_old_or_new_views_and_is_finished(
    shop: Shop, at: int, answers: bool
) -> None:
    assert cut(shop, at, answers=answers)
    assert only(shop, shop.first, shop.second)
    left = shop.world.state.environment("prod")
    assert left is not None
    assert left.promoting
    assert finish_promotions(shop.world.services(), "prod")
    assert shop.shown() == shop.second
    assert not finish_promotions(shop.world.services(), "prod")


@pytest.mark.full
@pytest.mark.parametrize("go_on", [planned, promoted_again, run, rolled_back_and_promoted])
def test_whoever_comes_next_finishes_it(shop: Shop, go_on: Callable[[Shop], None]) -> None:
    cut(shop, 2, answers=False)
    go_on(shop)
    assert shop.shown() == shop.second
    found = shop.world.state.environment("prod")
    assert found is not None
    assert not found.promoting


@pytest.mark.full
@pytest.mark.parametrize("answers", [False, True], ids=["requests", "answers"])
def test_a_promotion_that_loses_one_request_or_answer_is_done_or_can_be_done_again(
    shop: Shop, answers: bool
) -> None:
    shop.server.asked.clear()
    shop.promote("dev")
    every = len(shop.server.asked)
    for at in range(1, every + 1, 1 if is_full() else 4):
        services = shop.world.services()
        apply_plan(services, plan_rollback(services, "prod"), lambda _: None)
        assert shop.shown() == shop.first
        with (
            Line(shop.server, lose=at, changes=False, answers=answers) as line,
            suppress(*FAILED),
        ):
            shop.promote("dev")
        assert line.lost == 1, f"there is no request {at}"
        shop.world.reboot()
        assert only(shop, shop.first, shop.second), at
        shop.promote("dev")
        assert shop.shown() == shop.second, at


@pytest.mark.full
def test_a_lost_answer_to_a_replacement_is_looked_up_and_not_asked_again(shop: Shop) -> None:
    with Line(shop.server, lose=1, changes=True, answers=True) as line:
        shop.server.asked.clear()
        shop.promote("dev")
    assert line.lost == 1
    assert len(shop.server.changes) == len(VIEWS)
    assert shop.shown() == shop.second


@pytest.mark.full
@pytest.mark.parametrize("at", CHANGES)
def test_a_request_that_arrives_after_another_promotion_changes_nothing(
    shop: Shop, at: int
) -> None:
    count, lock = 0, threading.Lock()

    def late(method: str, path: str) -> None:
        nonlocal count
        with lock:
            count += method == "POST" and "/views/" in path
            is_late = count == at
            if is_late:
                count = EVER
        if is_late:
            shop.take_over()

    shop.server.before = late
    with pytest.raises(LeaseLost):
        shop.promote("dev")
    assert shop.shown() == shop.third
    run(shop)
    assert shop.shown() == shop.third


@pytest.mark.full
def test_late_requests_of_a_promotion_that_is_never_finished_change_nothing_after_the_next(
    shop: Shop,
) -> None:
    """What the first one would show is dropped, so nobody finishes it."""
    held, others = threading.Event(), threading.Event()

    def hold(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/views/sales") and not held.is_set():
            held.set()
            others.wait(60)

    shop.server.before = hold
    first = threading.Thread(target=suppressing(lambda: shop.promote("dev")))
    first.start()
    assert held.wait(60)
    shop.world.reboot()
    shop.world.catalog.drop_table(shop.second[TableName("mart", "total")])
    shop.world.build(graph_of(SHOP))
    assert shop.shown() == shop.first
    others.set()
    first.join(60)
    assert shop.shown() == shop.first


def suppressing(do: Callable[[], object]) -> Callable[[], None]:
    def suppressed() -> None:
        with suppress(*FAILED):
            do()

    return suppressed


@pytest.mark.full
def test_a_process_that_lost_its_lease_gets_no_number_and_moves_no_view(shop: Shop) -> None:
    with pytest.raises(LeaseLost):
        shop.promote("dev", shop.asleep("next_view_number"))
    assert shop.shown() == shop.third


@pytest.mark.full
def test_a_number_that_was_given_before_another_promotion_moves_no_view(shop: Shop) -> None:
    with pytest.raises(LeaseLost):
        shop.promote("dev", shop.asleep("next_view_number", after=True))
    assert shop.shown() == shop.third


@pytest.mark.full
def test_a_view_that_is_shown_by_an_earlier_reading_is_not_moved_back(shop: Shop) -> None:
    """Outside of a promotion nobody holds the environment, and a number is enough."""
    services = shop.asleep("environment", after=True)
    before = len(shop.server.changes)
    show(services, "prod", [SALES_NAME, TOTAL_NAME])
    since = shop.server.changes[before:]
    assert len(set(since)) == len(since) > 0, "each view once, by the promotion meanwhile"
    assert shop.shown() == shop.third


@pytest.mark.full
def test_a_view_outside_of_a_promotion_goes_above_numbers_that_a_lost_state_gave(
    shop: Shop,
) -> None:
    sales = shop.world.catalog.view(TableName("mart", "sales"))
    assert sales is not None
    theirs = replace(sales, target=shop.second[sales.name])
    shop.world.catalog.swap_views([theirs], [], number=1_000_000_000)
    assert shop.shown() != shop.first
    show(shop.world.services(), "prod", [SALES_NAME])
    assert shop.shown() == shop.first
    assert shop.world.state.next_view_number() > 1_000_000_000


@pytest.mark.full
def test_who_holds_the_environment_overtakes_numbers_that_a_lost_state_gave(shop: Shop) -> None:
    views = list(shop.world.catalog.views(VIEWS).values())
    shop.world.catalog.swap_views(views, [], number=1_000_000_000, again=True)
    shop.promote("dev")
    assert shop.shown() == shop.second
    services = shop.world.services()
    apply_plan(services, plan_rollback(services, "prod"), lambda _: None)
    assert shop.shown() == shop.first


@pytest.mark.full
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "call",
    [
        "begin_promotion",
        pytest.param("next_view_number", marks=pytest.mark.full),
        "swap_views",
        pytest.param("finish_promotion", marks=pytest.mark.full),
    ],
)
def test_a_process_that_dies_at_a_call_leaves_old_or_new_views_and_the_next_one_goes_on(
    shop: Shop, call: str, after: bool
) -> None:
    with pytest.raises(PowerCut):
        shop.promote("dev", shop.world.services(Fuse(cut_name=call, after=after)))
    shop.world.reboot()
    assert shop.shown() in (shop.first, shop.second)
    shop.promote("dev")
    assert shop.shown() == shop.second
    found = shop.world.state.environment("prod")
    assert found is not None
    assert not found.promoting


@pytest.mark.full
def test_whenever_another_process_takes_over_its_promotion_stays(shop: Shop) -> None:
    shop.server.asked.clear()
    shop.promote("dev")
    every = len(shop.server.asked)
    last: list[dict[TableName, TableName]] = []
    for at in range(1, every + 1, 1 if is_full() else 8):
        shop.world.build(graph_of(SHOP))
        assert shop.shown() == shop.first
        taken_over = interrupt(shop, at)
        with suppress(*FAILED):
            shop.promote("dev")
        shop.server.before = lambda _method, _path: None
        # Who reads the environment after the other one is done promotes over it.
        assert shop.shown() == shop.of("prod") in (shop.second, shop.third), at
        run(shop)
        assert shop.shown() == shop.of("prod"), at
        last += [shop.shown()] * taken_over.is_set()
    assert shop.third in last


def interrupt(shop: Shop, at: int) -> threading.Event:
    """Let another process take over before a request is carried out, which sets the event."""
    count, lock, done = 0, threading.Lock(), threading.Event()

    def counted(_method: str, _path: str) -> None:
        nonlocal count
        with lock:
            count += 1
            is_it = count == at
        if is_it:
            shop.server.before = lambda _method, _path: None
            shop.take_over()
            done.set()

    shop.server.before = counted
    return done


@pytest.mark.full
def test_a_view_that_a_late_request_drops_is_made_again_by_the_next_plan(shop: Shop) -> None:
    """A drop requires nothing of what it drops, so this is the one request that can come late."""
    held, others, fuse = threading.Event(), threading.Event(), Fuse()

    def hold(method: str, _path: str) -> None:
        if method == "DELETE" and not held.is_set():
            held.set()
            others.wait(60)

    def drop() -> None:
        fewer = {name: text for name, text in SHOP.items() if name != "total"}
        with suppress(PowerCut, *FAILED):
            build(shop.world.services(fuse), graph_of(fewer))

    shop.server.before = hold
    first = threading.Thread(target=drop)
    first.start()
    assert held.wait(60)
    fuse.blown = True
    shop.world.reboot()
    shop.world.build(graph_of(SHOP))
    assert shop.shown() == shop.first
    others.set()
    first.join(60)
    assert shop.shown().keys() == set(VIEWS) - {TableName("mart", "total")}
    shop.world.build(graph_of(SHOP))
    assert shop.shown() == shop.first


@pytest.mark.full
def test_a_process_that_slept_before_it_finished_leaves_what_the_later_one_shows(
    shop: Shop,
) -> None:
    with suppress(Conflict):
        shop.promote("dev", shop.asleep("finish_promotion"))
    assert shop.shown() == shop.third


def test_an_environment_is_removed_also_where_the_first_removal_was_cut(shop: Shop) -> None:
    views = [TableName("mart__dev", name) for name in SHOP]
    assert set(shop.world.catalog.views(views)) == set(views)
    with (
        Line(shop.server, lose=2, changes=True, answers=False, breaks=True),
        pytest.raises(OutcomeUnknown),
    ):
        remove_environment(shop.world.services(), "dev")
    shop.world.reboot()
    remove_environment(shop.world.services(), "dev")
    assert shop.world.catalog.views(views) == {}
    assert shop.shown() == shop.first


@pytest.mark.full
def test_a_reader_that_asks_for_the_revision_sees_the_last_finished_one_as_a_whole(
    shop: Shop,
) -> None:
    cut(shop, 2, answers=False)
    assert only(shop, shop.first, shop.second)
    assert whole(shop) == shop.first
    finish_promotions(shop.world.services(), "prod")
    assert whole(shop) == shop.second


def whole(shop: Shop) -> dict[TableName, TableName]:
    services = shop.world.services()
    revision = whole_revision(services, "prod")
    assert revision is not None
    found = whole_views(services, revision, revision.snapshots.keys())
    assert found is not None
    assert {name: read_as(services, each) for name, each in found.items()} == {
        name: each.target for name, each in found.items()
    }
    return {name: each.target for name, each in found.items()}


@pytest.mark.full
def test_where_views_move_at_once_no_number_is_drawn_and_the_catalog_is_asked() -> None:
    world: MemoryWorld = shop_in_production()
    fuse = Fuse()
    build(world.services(fuse), graph_of(EDITED))
    assert "swap_views" in fuse.names
    assert "next_view_number" not in fuse.names
    latest = whole_revision(world.services(), "prod")
    assert latest is not None
    assert latest.revision == 2
    assert whole_views(world.services(), latest, latest.snapshots.keys()) is None


@pytest.mark.full
def test_a_query_reads_one_revision_while_views_show_two(shop: Shop) -> None:
    cut(shop, 2, answers=False)
    services = shop.world.services()
    revision = whole_revision(services, "prod")
    assert revision is not None
    names = {each: TableName(each.schema, each.name) for each in revision.snapshots}
    read = [SALES_NAME, TOTAL_NAME]
    found = answer_locally(
        services,
        DuckDbQueries(),
        "SELECT t.amount AS t, s.amount AS s FROM mart.total AS t CROSS JOIN mart.sales AS s",
        catalog="lake",
        views=names,
        limit=9,
        whole=whole_views(services, revision, read) or {},
    )
    assert isinstance(found, LocalAnswer)
    assert sorted(tuple(row) for row in found.rows) == [(66, 5), (66, 7), (66, 10)]
