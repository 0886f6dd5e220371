"""Promotions where views move one by one: a real REST client, and a server that loses requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.memory_world import build, graph_of, there
from tests.app.promote.rest_shop import FAILED, VIEWS, Line, Shop, shop_in
from tests.app.shop_world import SALES_NAME, SHOP
from tests.depth import is_full
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.inspect.local_answers import (
    read_as,
    whole_revision,
    whole_views,
)
from vde_dagster.app.promote.promotion import finish_promotions, remove_environment
from vde_dagster.app.promote.taking import plan_rollback
from vde_dagster.app.publish.shown_views import show
from vde_dagster.core.errors import OutcomeUnknown
from vde_dagster.core.names import TableName

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


def run(shop: Shop) -> None:
    services = shop.world.services()
    apply_plan(services, plan_run(services, "prod"), lambda _: None)


@pytest.mark.full
@pytest.mark.parametrize("answers", [False, True], ids=["a lost request", "a lost answer"])
@pytest.mark.parametrize("at", CHANGES)
def test_a_promotion_that_is_cut_at_any_change_leaves_old_or_new_views_and_is_finished(
    shop: Shop, at: int, answers: bool
) -> None:
    assert cut(shop, at, answers=answers)
    assert only(shop, shop.first, shop.second)
    left = there(shop.world.state.environment("prod"))
    assert left.promoting
    assert finish_promotions(shop.world.services(), "prod")
    assert shop.shown() == shop.second
    assert not finish_promotions(shop.world.services(), "prod")


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
def test_a_view_outside_of_a_promotion_goes_above_numbers_that_a_lost_state_gave(
    shop: Shop,
) -> None:
    sales = there(shop.world.catalog.view(TableName("mart", "sales")))
    theirs = replace(sales, target=shop.second[sales.name])
    shop.world.catalog.swap_views([theirs], [], number=1_000_000_000)
    assert shop.shown() != shop.first
    show(shop.world.services(), "prod", [SALES_NAME])
    assert shop.shown() == shop.first
    assert shop.world.state.next_view_number() > 1_000_000_000


@pytest.mark.full
def test_whenever_another_process_takes_over_its_promotion_stays(shop: Shop) -> None:
    shop.server.asked.clear()
    shop.promote("dev")
    every = len(shop.server.asked)
    last: list[dict[TableName, TableName]] = []
    for at in range(1, every + 1, 1 if is_full() else 8):
        build(shop.world.services(), graph_of(SHOP))
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
    revision = there(whole_revision(services, "prod"))
    found = there(whole_views(services, revision, revision.snapshots.keys()))
    assert {name: read_as(services, each) for name, each in found.items()} == {
        name: each.target for name, each in found.items()
    }
    return {name: each.target for name, each in found.items()}
