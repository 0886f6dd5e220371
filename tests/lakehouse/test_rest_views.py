"""Views over REST: what is asked, what a late request does, and what is known after a lost answer.

Each test runs on a server of ours and, in the full form, on one that answers with Iceberg's own
library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pyiceberg.exceptions import OAuthError

from tests.lakehouse.catalog_worlds import AT, ID, STATE_ID, TABLE, RestWorld, fail
from tests.worlds.rest_server import ENDPOINTS, LoseAnswer, LoseRequest, RestServer, serving
from tests.worlds.rest_views import NotDone
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused, SetupError
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs import asked_too_often, rest_views
from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog, open_iceberg_catalog
from vde_dagster.lakehouse.catalogs.view_requests import counted_replacement
from vde_dagster.ports.catalog import SwapOvertaken, ViewDefinition
from vde_dagster.ports.physical_layer import STATE

OTHER = TableName("raw", "other")
NAME = TableName("dev", "a")


@contextmanager
def two_tables(server: RestServer, patch: pytest.MonkeyPatch) -> Iterator[RestWorld]:
    patch.setattr(rest_views, "_PAUSE", 0)
    with serving(server):
        found = RestWorld(server)
        for table in (TABLE, OTHER):
            found.create(table)
        yield found


@pytest.fixture(params=["ours", pytest.param("java", marks=[pytest.mark.spark, pytest.mark.full])])
def world(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RestWorld]:
    with two_tables(_server(request, tmp_path), monkeypatch) as found:
        yield found


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RestWorld]:
    """A server that numbers the versions of views itself, whatever is asked for."""
    with two_tables(RestServer(tmp_path, counts=True), monkeypatch) as found:
        yield found


def _server(request: pytest.FixtureRequest, folder: Path) -> RestServer:
    if request.param == "ours":
        return RestServer(folder)
    from tests.lakehouse.java_rest_server import JavaRestServer, jvm_of

    return JavaRestServer(folder, jvm_of(request.getfixturevalue("spark")))


def view(*columns: Column, name: TableName = NAME, target: TableName = TABLE) -> ViewDefinition:
    return ViewDefinition(name=name, target=target, columns=columns or (ID, AT))


def moved(name: TableName = NAME) -> ViewDefinition:
    return view(name=name, target=OTHER)


def changes(world: RestWorld, *, since: int = 0) -> list[tuple[str, str]]:
    """The requests about views that change something, each with the end of its path."""
    return [
        (method, path.rpartition("/")[2])
        for method, path in world.server.changes[since:]
        if "/views" in path
    ]


def versions(world: RestWorld, name: TableName = NAME) -> list[int]:
    """The numbers of a view's versions, the current one first."""
    found = world._tables.load_view((name.namespace, name.name)).metadata
    numbers = sorted(each.version_id for each in found.versions)
    current = found.current_version_id
    return [current, *(each for each in numbers if each != current)]


@pytest.mark.full
def test_a_view_is_created_replaced_and_dropped_by_one_request_each(world: RestWorld) -> None:
    world.catalog.swap_views([view()], [])
    uuid = world._tables.load_view(("dev", "a")).uuid()
    world.catalog.swap_views([view()], [TableName("dev", "none"), TableName("none", "a")])
    assert changes(world) == [("POST", "views")], "what is up to date asks for no change"
    world.catalog.swap_views([moved()], [], number=100)
    assert world.catalog.view(NAME) == moved()
    assert versions(world) == [100, 1]
    assert world._tables.load_view(("dev", "a")).uuid() == uuid, "it stays the same view"
    world.catalog.swap_views([], [NAME], number=110)
    assert world.catalog.view(NAME) is None
    assert changes(world) == [("POST", "views"), ("POST", "a"), ("DELETE", "a")]


def meanwhile(
    world: RestWorld,
    act: Callable[[IcebergCatalog], None],
    *,
    creates: bool = False,
    is_lost: bool = False,
) -> None:
    """Let another process act when the next request to change, or create, a view is on its way."""

    def before(method: str, path: str) -> None:
        if method == "POST" and (path.endswith("/views") if creates else "/views/" in path):
            world.server.before = undisturbed
            act(IcebergCatalog(open_iceberg_catalog("lake", world.server.properties)))
            if is_lost:
                raise LoseRequest

    world.server.before = before


def undisturbed(_method: str, _path: str) -> None:
    """Nothing happens to a request."""


def overtake(world: RestWorld, wanted: ViewDefinition, *, number: int, **how: bool) -> None:
    """Let another process swap a view when the next request to change one is on its way."""
    meanwhile(world, lambda other: other.swap_views([wanted], [], number=number), **how)


def refuse(world: RestWorld, status: int, said: str, *, end: str = "") -> None:
    """Let the server refuse to replace views."""
    fail(world.server, NotDone(status, said), methods=["POST"], part="/views/", end=end)


@pytest.mark.full
def test_a_request_that_comes_after_a_later_swap_is_refused_by_the_server(world: RestWorld) -> None:
    world.catalog.swap_views([view()], [])
    overtake(world, moved(), number=100)
    with pytest.raises(SwapOvertaken, match="in the meantime") as raised:
        world.catalog.swap_views([view(ID)], [], number=90)
    assert raised.value.highest == 100
    assert world.catalog.view(NAME) == moved()


@pytest.mark.full
def test_a_request_with_a_higher_number_wins_whoever_read_first(world: RestWorld) -> None:
    world.catalog.swap_views([view()], [])
    overtake(world, moved(), number=100)
    world.catalog.swap_views([view(ID)], [], number=200)
    assert world.catalog.view(NAME) == view(ID)


def test_a_view_is_not_replaced_without_a_number(world: RestWorld) -> None:
    """Two that both took the next one above what they read would mix what they show."""
    catalog = IcebergCatalog(open_iceberg_catalog("lake", world.server.properties))
    catalog.swap_views([view()], [])
    with pytest.raises(ValueError, match="next_view_number"):
        catalog.swap_views([moved()], [])
    catalog.swap_views([], [NAME])
    assert world.catalog.view(NAME) is None


def test_an_earlier_swap_neither_replaces_nor_drops_what_a_later_one_created(
    world: RestWorld,
) -> None:
    world.catalog.swap_views([view()], [], number=100)
    for wanted, drops in (([moved()], []), ([], [NAME])):
        with pytest.raises(SwapOvertaken, match=r"in the meantime; nothing was changed"):
            world.catalog.swap_views(wanted, drops, number=90)
    assert world.catalog.view(NAME) == view()
    world.catalog.swap_views([moved()], [], number=110)
    assert versions(world)[0] == 110
    with pytest.raises(SwapOvertaken, match="nothing was changed"):
        world.catalog.swap_views([view()], [], number=105)
    world.catalog.swap_views([], [NAME], number=120)
    assert world.catalog.view(NAME) is None


@pytest.mark.full
def test_a_replacement_that_arrives_twice_changes_nothing_the_second_time(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, sent = world.server.answer, list[tuple[str, str, dict[str, Any]]]()

    def recorded(method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        sent.append((method, path, body))
        return answer(method, path, body)

    monkeypatch.setattr(world.server, "answer", recorded)
    world.catalog.swap_views([view()], [])
    world.catalog.swap_views([moved()], [], number=50)
    (first,) = [each for each in sent if each[0] == "POST" and each[1].endswith("/views/a")]
    assert answer(*first)[0] == 400, "while it is the last one"
    world.catalog.swap_views([view(ID)], [], number=100)
    assert answer(*first)[0] == 400
    assert world.catalog.view(NAME) == view(ID)
    assert versions(world) == [100, 1, 50]


def test_a_view_that_was_dropped_and_made_again_meanwhile_stays(world: RestWorld) -> None:
    world.catalog.swap_views([view()], [])

    def again(other: IcebergCatalog) -> None:
        other.swap_views([], [NAME])
        other.swap_views([moved()], [])

    meanwhile(world, again)
    with pytest.raises(Conflict, match=r"dropped the view dev\.a in the meantime"):
        world.catalog.swap_views([view(ID)], [], number=500)
    assert world.catalog.view(NAME) == moved()


def test_a_view_that_another_swap_creates_meanwhile_is_overtaken(world: RestWorld) -> None:
    overtake(world, moved(), number=50, creates=True)
    with pytest.raises(SwapOvertaken, match="nothing was changed") as raised:
        world.catalog.swap_views([view()], [], number=90)
    assert raised.value.highest == 50
    assert world.catalog.view(NAME) == moved()


@pytest.mark.full
def test_a_server_that_counts_versions_itself_replaces_views_as_well(counting: RestWorld) -> None:
    catalog, second = counting.catalog, TableName("dev", "b")
    catalog.swap_views([view(), view(name=second)], [])
    catalog.swap_views([moved()], [], number=100)
    assert catalog.view(NAME) == moved()
    assert versions(counting) == [2, 1]
    before = len(counting.server.changes)
    catalog.swap_views([moved(second)], [], number=200)
    assert catalog.view(second) == moved(second)
    assert changes(counting, since=before) == [("POST", "b")], "by now it is known"
    with pytest.raises(SwapOvertaken, match="nothing was changed") as raised:
        catalog.swap_views([view()], [], number=90)
    assert raised.value.highest >= 100
    assert catalog.view(NAME) == moved()


def test_a_late_request_to_a_server_that_counts_leaves_the_later_version_current(
    counting: RestWorld,
) -> None:
    catalog = counting.catalog
    catalog.swap_views([view()], [])
    catalog.swap_views([view(ID)], [], number=80)  # it is known by now that the server counts
    overtake(counting, moved(), number=100)
    with pytest.raises(SwapOvertaken, match="in the meantime"):
        catalog.swap_views([view(AT)], [], number=90)
    assert catalog.view(NAME) == moved()
    catalog.swap_views([view(AT)], [], number=110)
    assert catalog.view(NAME) == view(AT)


@pytest.mark.full
@pytest.mark.parametrize("first,second", [(90, 100), (100, 90)])
def test_the_number_of_a_view_on_a_server_that_counts_is_the_highest_in_whatever_order_they_arrive(
    counting: RestWorld, monkeypatch: pytest.MonkeyPatch, first: int, second: int
) -> None:
    catalog, sent = counting.catalog, dict[int, tuple[str, str, dict[str, Any]]]()
    catalog.swap_views([view()], [])
    catalog.swap_views([view(ID)], [], number=80)  # it is known by now that the server counts
    answer, number = counting.server.answer, 0

    def kept(method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if method == "POST":
            sent.setdefault(number, (method, path, body))
            raise LoseRequest
        return answer(method, path, body)

    monkeypatch.setattr(counting.server, "answer", kept)
    for number, wanted in ((90, view(AT)), (100, moved())):
        with pytest.raises(OutcomeUnknown):
            catalog.swap_views([wanted], [], number=number)
    monkeypatch.undo()
    monkeypatch.setattr(rest_views, "_PAUSE", 0)
    for number in (first, second):
        assert answer(*sent[number])[0] == 200
    assert catalog.view(NAME) == (view(AT) if first == 90 else moved())
    with pytest.raises(SwapOvertaken, match="nothing was changed") as raised:
        catalog.swap_views([view()], [], number=95)
    assert raised.value.highest == 100
    catalog.swap_views([view()], [], number=110)
    assert catalog.view(NAME) == view()


@pytest.mark.full
def test_what_is_asked_of_a_server_that_counts_is_refused_by_others(world: RestWorld) -> None:
    """So nothing late gets through by trying it."""
    world.catalog.swap_views([view()], [])
    path, identifier = "/v1/namespaces/dev/views/a", {"namespace": ["dev"], "name": "a"}
    before = world.server.answer("GET", path, {})[1]["metadata"]
    for number in (100, 108):
        body = counted_replacement(identifier, before, before, number=number, request="r")
        assert world.server.answer("POST", path, body)[0] == 400
        world.catalog.swap_views([moved()], [], number=100)
    assert versions(world) == [100, 1]


@pytest.mark.full
def test_going_back_and_forth_never_takes_an_earlier_version_for_the_new_one(
    world: RestWorld,
) -> None:
    world.catalog.swap_views([view()], [])
    for number in range(10, 250, 20):
        for at, wanted in enumerate((moved(), view(ID), view())):
            world.catalog.swap_views([wanted], [], number=number + at)
            assert world.catalog.view(NAME) == wanted
            assert versions(world)[0] == number + at
    found = world._tables.load_view(("dev", "a"))
    assert len(found.metadata.schemas) == 2, "columns that it had before are not added again"


def lose(world: RestWorld, error: type[Exception], *, times: int) -> None:
    """Lose so many requests to change a view, or answers to them."""
    after, changes = error is LoseAnswer, ["POST", "DELETE"]
    fail(world.server, error(), methods=changes, part="/views", times=times, after=after)


@pytest.mark.full
@pytest.mark.parametrize("error", [LoseRequest, LoseAnswer])
@pytest.mark.parametrize("what", ["created", "replaced", "dropped"])
def test_what_became_of_a_request_is_looked_up_when_it_or_its_answer_is_lost(
    world: RestWorld, error: type[Exception], what: str
) -> None:
    if what != "created":
        world.catalog.swap_views([view()], [])
    before = len(world.server.changes)
    lose(world, error, times=1)
    wanted = {"created": view(), "replaced": moved(), "dropped": None}[what]
    world.catalog.swap_views([] if wanted is None else [wanted], [NAME], number=70)
    assert world.catalog.view(NAME) == wanted
    asked = 1 if error is LoseAnswer else 2
    assert len(changes(world, since=before)) == asked


@pytest.mark.full
def test_if_no_answer_comes_it_is_not_known_and_doing_it_again_is_safe(world: RestWorld) -> None:
    world.catalog.swap_views([view()], [])
    lose(world, LoseRequest, times=100)
    with pytest.raises(OutcomeUnknown, match="was lost"):
        world.catalog.swap_views([moved()], [], number=70)
    world.server.before = undisturbed
    world.catalog.swap_views([moved()], [], number=80)
    assert world.catalog.view(NAME) == moved()


@pytest.mark.full
@pytest.mark.parametrize(
    "status,raised", [(500, OutcomeUnknown), (503, OutcomeUnknown), (403, Refused)]
)
def test_an_answer_that_says_nothing_of_the_change_is_no_success(
    world: RestWorld, status: int, raised: type[Exception]
) -> None:
    world.catalog.swap_views([view()], [])
    refuse(world, status, "not today")
    with pytest.raises(raised, match=r"not today.*nothing was changed|not today.*no other view"):
        world.catalog.swap_views([moved()], [], number=70)
    assert world.catalog.view(NAME) == view()


@pytest.mark.full
def test_an_error_says_how_many_views_were_changed_by_then(world: RestWorld) -> None:
    names = [TableName("dev", f"v{number}") for number in range(20)]
    world.catalog.swap_views([view(name=each) for each in names], [])
    refuse(world, 403, "not this one", end="/v7")
    with pytest.raises(
        Refused, match=r"not this one.*\d+ of 20 views were already changed"
    ) as raised:
        world.catalog.swap_views([moved(each) for each in names], [], number=70)
    assert "credentials" in raised.value.advice, "before it is done again"
    shown = world.catalog.views(names)
    assert shown[names[7]].target == TABLE
    assert 0 < sum(each.target == OTHER for each in shown.values()) < len(names)
    world.server.before = undisturbed
    world.catalog.swap_views([moved(each) for each in names], [], number=80)
    assert {each.target for each in world.catalog.views(names).values()} == {OTHER}


@pytest.mark.full
@pytest.mark.parametrize("what", ["created", "replaced", "dropped"])
@pytest.mark.parametrize("status", [400, 401, 403, 429])
def test_after_a_lost_answer_no_refusal_says_that_nothing_was_changed(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch, what: str, status: int
) -> None:
    monkeypatch.setattr(asked_too_often, "_WAITS", ())
    if what != "created":
        world.catalog.swap_views([view()], [])
    is_lost = False

    def lost_then_refused(method: str, path: str) -> None:
        nonlocal is_lost
        if method in ("POST", "DELETE") and "/views" in path:
            if not is_lost:
                is_lost = True
                raise LoseRequest  # it may still be on its way
            raise NotDone(status, "not today")

    world.server.before = lost_then_refused
    wanted = {"created": [view()], "replaced": [moved()], "dropped": []}[what]
    with pytest.raises(OutcomeUnknown, match="not today") as raised:
        world.catalog.swap_views(wanted, [NAME], number=70)
    known = "it is not known whether dev.a was changed; no other view was changed"
    assert raised.value.message.endswith(known)
    assert raised.value.advice


def test_who_is_overtaken_after_a_lost_answer_is_told_the_higher_number(world: RestWorld) -> None:
    world.catalog.swap_views([view()], [])
    overtake(world, moved(), number=100, is_lost=True)
    with pytest.raises(SwapOvertaken, match="nothing was changed") as raised:
        world.catalog.swap_views([view(ID)], [], number=90)
    assert raised.value.highest == 100


@pytest.mark.full
def test_names_are_quoted_in_addresses_and_queries(world: RestWorld) -> None:
    names = [TableName("dev", each) for each in ("a b", "a%2Fb", "é{}", "x`y")]
    world.catalog.swap_views([view(name=each) for each in names], [])
    assert world.catalog.views(names) == {each: view(name=each) for each in names}
    world.catalog.swap_views([moved(each) for each in names], [])
    assert {each.target for each in world.catalog.views(names).values()} == {OTHER}


@pytest.mark.full
def test_a_comment_comes_with_a_view_and_goes_with_it_and_its_state_stays(
    world: RestWorld,
) -> None:
    for comment in ("who", ""):
        world.catalog.swap_views([replace(view(), comment=comment)], [])
        found = world._tables.load_view(("dev", "a")).properties
        assert found.get("comment", "") == comment
        assert found[STATE] == STATE_ID


def test_a_change_that_is_always_too_early_is_not_made_and_not_tried_for_ever(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked_too_often, "_WAITS", (0, 0))
    world.catalog.swap_views([view()], [])
    before = len(world.server.changes)
    refuse(world, 429, "slowly")
    with pytest.raises(Refused, match=r"too many \(429: slowly\); nothing was changed"):
        world.catalog.swap_views([moved()], [], number=70)
    assert len(changes(world, since=before)) == 3


def instead(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch, wanted: str, status: int, *, is_done: bool
) -> None:
    """Let something on the way answer one sort of requests about a view with an empty document."""
    answer = world.server.answer

    def other(method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if method != wanted or "/views/" not in path:
            return answer(method, path, body)
        if is_done:
            answer(method, path, body)
        return status, {}

    monkeypatch.setattr(world.server, "answer", other)


@pytest.mark.parametrize("is_done", [True, False])
def test_a_200_that_does_not_show_the_view_does_not_say_that_it_was_replaced(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    world.catalog.swap_views([view()], [])
    before = len(world.server.changes)
    instead(world, monkeypatch, "POST", 200, is_done=is_done)
    if is_done:
        world.catalog.swap_views([moved()], [], number=70)
        assert len(changes(world, since=before)) == 1
    else:
        with pytest.raises(OutcomeUnknown, match="no answer of a catalog"):
            world.catalog.swap_views([moved()], [], number=70)
    monkeypatch.undo()
    assert world.catalog.view(NAME) == (moved() if is_done else view())


def test_credentials_that_are_not_renewed_end_it_and_nothing_is_changed(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.catalog.swap_views([view()], [])
    refuse(world, 401, "expired")

    def not_renewed() -> None:
        raise OAuthError("invalid_client")

    monkeypatch.setattr(world._tables, "_refresh_token", not_renewed)
    with pytest.raises(Refused, match=r"not renewed \(invalid_client\); nothing was changed"):
        world.catalog.swap_views([moved()], [], number=70)


def test_all_names_are_read_of_a_server_that_lists_them_page_by_page(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [TableName("dev", f"v{number}") for number in range(5)]
    world.catalog.swap_views([view(name=each) for each in names], [])
    answer = world.server.answer

    def page(method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, found = answer(method, path, body)
        if "identifiers" not in found:
            return status, found
        first = int(parse_qs(urlsplit(path).query).get("pageToken", ["0"])[0])
        last = first + 2
        more = {"next-page-token": str(last)} if last < len(found["identifiers"]) else {}
        return status, {"identifiers": found["identifiers"][first:last], **more}

    monkeypatch.setattr(world.server, "answer", page)
    assert set(world.catalog.present(names)) == set(names)
    assert set(world.catalog.present([*names, NAME])) == set(names)


def test_a_catalog_that_leaves_earlier_snapshots_out_is_refused(tmp_path: Path) -> None:
    with serving(RestServer(tmp_path)) as server:
        properties = {**server.properties, "snapshot-loading-mode": "REFS"}
        with pytest.raises(SetupError, match=r"remove `snapshot-loading-mode`"):
            open_iceberg_catalog("lake", properties)


@pytest.mark.parametrize(
    "lacks,advice",
    [
        pytest.param("GET", "Use another catalog", id="that can be read"),
        pytest.param("POST", "set `view-endpoints-supported: true`", id="that can be replaced"),
        pytest.param("all", "set `view-endpoints-supported: true`", id="or tells nothing at all"),
    ],
)
def test_a_server_that_does_not_say_that_it_has_views_is_refused_with_what_to_set(
    tmp_path: Path, lacks: str, advice: str
) -> None:
    missing = f"{lacks} /v1/{{prefix}}/namespaces/{{namespace}}/views/{{view}}"
    server = RestServer(tmp_path)
    server.endpoints = tuple(each for each in ENDPOINTS if each != missing) * (lacks != "all")
    with serving(server):
        world = RestWorld(server)
        world.create(TABLE)
        with pytest.raises(Refused, match=advice):
            world.catalog.swap_views([view()], [])
        told = {**server.properties, "view-endpoints-supported": "true"}
        catalog = IcebergCatalog(open_iceberg_catalog("lake", told))
        if lacks == "GET":
            with pytest.raises(Refused, match=advice):
                catalog.swap_views([view()], [])
            return
        catalog.swap_views([view()], [], number=8)
        catalog.swap_views([view(ID)], [], number=16)
        assert catalog.view(NAME) == view(ID)


@pytest.mark.full
def test_a_swap_reads_each_view_and_target_once_and_lists_each_namespace_once(
    world: RestWorld,
) -> None:
    names = [TableName("dev", f"v{number}") for number in range(30)]
    world.catalog.swap_views([view(name=each) for each in names], [])
    world.server.asked.clear()
    world.catalog.swap_views([moved(each) for each in names], [])
    asked = [(method, path.rpartition("/")[2]) for method, path in world.server.asked]
    assert sorted(asked) == sorted(
        [
            *(("GET", each.name) for each in names),
            ("GET", "other"),
            *(("POST", each.name) for each in names),
        ]
    )
