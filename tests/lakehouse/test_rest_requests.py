"""What counts as a word of a REST catalog, and what is known after anything else is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Event

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import ForbiddenError, RESTError, ServiceUnavailableError
from pyiceberg.schema import Schema

from tests.lakehouse.catalog_worlds import fail
from tests.worlds.rest_server import Page, RestServer, rest_server
from tests.worlds.rest_views import NotDone
from vde_dagster.core.errors import OutcomeUnknown, Refused
from vde_dagster.core.faults import Fault, fault_of
from vde_dagster.core.ledger.damage import (
    LostMetadata,
    TableHead,
)
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs import rest_requests
from vde_dagster.lakehouse.catalogs.rest_requests import RestRequests, at_once
from vde_dagster.lakehouse.iceberg.table_heads import rest_table_heads

NAME = TableName("dev", "a")
UNKNOWN_ALWAYS = (408, 500, 502, 503, 504, 507)
UNKNOWN_AS_A_PAGE = (200, 201, 400, 404, 409, 413, 501, 520, 521, 522, 523, 524)
REFUSED_ALWAYS = (401, 403, 419, 429)
REFUSED_BY_THE_CATALOG = (400, 404, 406, 409, 422, 501)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    with rest_server(tmp_path) as found:
        yield found


@pytest.fixture
def requests(server: RestServer) -> RestRequests:
    return RestRequests(RestCatalog("lake", **server.properties))


def ways(requests: RestRequests) -> tuple[Callable[[], object], ...]:
    """A change of each sort."""
    return (
        lambda: requests.create_view("dev", {}),
        lambda: requests.replace_view(NAME, {}),
        lambda: requests.drop(NAME, is_view=True),
        lambda: requests.drop(NAME, is_view=False),
    )


@pytest.mark.full
@pytest.mark.parametrize("status", [*UNKNOWN_ALWAYS, *UNKNOWN_AS_A_PAGE])
def test_after_a_page_of_something_on_the_way_it_is_not_known_whether_a_change_was_made(
    server: RestServer, requests: RestRequests, status: int
) -> None:
    fail(server, Page(status))
    for change in ways(requests):
        with pytest.raises(
            OutcomeUnknown, match=f"with {status}: no answer of a catalog, so the outcome"
        ):
            change()


@pytest.mark.full
@pytest.mark.parametrize("status", UNKNOWN_ALWAYS)
def test_a_server_that_failed_may_have_made_a_change_as_it_says_itself(
    server: RestServer, requests: RestRequests, status: int
) -> None:
    fail(server, NotDone(status, "not today"))
    for change in ways(requests):
        with pytest.raises(OutcomeUnknown, match=f"with {status}: not today, so the outcome"):
            change()


@pytest.mark.parametrize("status", REFUSED_ALWAYS)
@pytest.mark.parametrize("error", [Page, lambda status: NotDone(status, "no")])
def test_who_is_not_let_in_has_changed_nothing_whoever_says_so(
    server: RestServer, requests: RestRequests, status: int, error: Callable[[int], Exception]
) -> None:
    fail(server, error(status))
    for change in ways(requests):
        with pytest.raises(Refused, match=str(status)):
            change()


@pytest.mark.full
@pytest.mark.parametrize("status", REFUSED_BY_THE_CATALOG)
def test_what_the_catalog_itself_refuses_is_an_answer(
    server: RestServer, requests: RestRequests, status: int
) -> None:
    fail(server, NotDone(status, "no"))
    answer = requests.drop(NAME, is_view=True)
    assert (answer.status, answer.said) == (status, "no")
    assert (answer.is_done, answer.is_absent) == (False, status == 404)


def test_who_is_sent_elsewhere_only_reads_there_so_nothing_is_known_to_be_done(
    server: RestServer, requests: RestRequests
) -> None:
    """A change that is answered by 302 is followed by a GET, whose answer may be a document."""

    def elsewhere(method: str, _path: str) -> None:
        if method != "GET":
            raise Page(302, Location="/v1/config")

    server.before = elsewhere
    for change in ways(requests):
        with pytest.raises(OutcomeUnknown, match="no answer of a catalog"):
            change()


@pytest.mark.full
@pytest.mark.parametrize("status", [200, 302, 400, 404, 408, 500, 501, 520])
def test_a_page_for_what_is_read_is_a_service_that_does_not_answer(
    server: RestServer, requests: RestRequests, status: int
) -> None:
    fail(server, Page(status))
    for read in (
        lambda: requests.view(NAME),
        lambda: requests.table(NAME),
        lambda: requests.names("dev", views=True),
    ):
        with pytest.raises(ServiceUnavailableError, match="no answer of a catalog") as raised:
            read()
        found = fault_of(raised.value)
        assert found is not None
        assert found.fault is Fault.NO_ANSWER


def test_what_the_catalog_itself_says_to_what_is_read_is_as_it_says(
    server: RestServer, requests: RestRequests
) -> None:
    fail(server, NotDone(404, "no such view"))
    assert requests.view(NAME) is None
    fail(server, NotDone(403, "not yours"))
    with pytest.raises(ForbiddenError, match="not yours"):
        requests.view(NAME)
    fail(server, NotDone(400, "what?"))
    with pytest.raises(RESTError, match="what") as raised:
        requests.view(NAME)
    assert fault_of(raised.value) is None, "who asks so has a bug"


@pytest.mark.parametrize("status", [404, 500])
def test_a_table_that_the_catalog_lists_and_cannot_load_is_lost_in_its_words(
    server: RestServer, requests: RestRequests, status: int
) -> None:
    rest = RestCatalog("lake", **server.properties)
    rest.create_namespace("raw")
    for name in ("sound", "lost"):
        rest.create_table(f"raw.{name}", Schema())

    said = "Failed to open input stream for file: /lake/00001.metadata.json"
    fail(server, NotDone(status, said), part="/tables/lost")
    sound, lost = TableName("raw", "sound"), TableName("raw", "lost")
    found = rest_table_heads(rest, [sound, lost, TableName("raw", "absent")])
    assert found.keys() == {sound, lost}
    assert isinstance(found[sound], TableHead)
    table = found[lost]
    assert isinstance(table, LostMetadata)
    assert table.said.startswith(f"{status}: Failed to open input stream")


def test_one_table_is_looked_up_without_its_namespace_being_listed(server: RestServer) -> None:
    rest = RestCatalog("lake", **server.properties)
    rest.create_namespace("raw")
    for name in ("one", "two"):
        rest.create_table(f"raw.{name}", Schema())
    asked: list[str] = []
    server.before = lambda _method, path: asked.append(path)
    one, absent, nowhere = (
        TableName(*each) for each in (("raw", "one"), ("raw", "absent"), ("none", "one"))
    )
    assert rest_table_heads(rest, [one]).keys() == {one}
    assert [path for path in asked if path.split("?")[0].endswith("/tables")] == []
    assert rest_table_heads(rest, [absent]) == {}
    assert rest_table_heads(rest, [nowhere, one, absent]).keys() == {one}


@pytest.mark.parametrize("error", [NotDone(503, "later"), Page(500), Page(404)])
def test_a_server_that_does_not_answer_makes_no_table_lost(
    server: RestServer, requests: RestRequests, error: Exception
) -> None:
    fail(server, error)
    with pytest.raises(RESTError):
        requests.whole_table(NAME)


def test_after_an_error_nothing_more_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_requests, "AT_ONCE", 2)
    both, more, begun = Barrier(2), Event(), list[int]()

    def work(number: int) -> int:
        if number > 1:
            begun.append(number)
            more.set()
            return number
        both.wait(60)
        if number == 1:
            raise KeyError("the first one")
        more.wait(0.2)  # a longer one that was begun before
        return number

    with pytest.raises(KeyError, match="the first one"):
        at_once(work, range(50))
    assert begun == []
    assert at_once(lambda each: each * 2, range(50)) == list(range(0, 100, 2)), "in order"
