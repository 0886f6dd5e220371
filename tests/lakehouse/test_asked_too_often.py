"""A REST catalog's session asks again where its server says that it is asked too often."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.exceptions import ServiceUnavailableError, TooManyRequestsError
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter

from tests.lakehouse.catalog_worlds import AT, ID, TABLE, RestWorld, fail
from tests.worlds.rest_server import Page
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs.asked_too_often import wait_where_asked_too_often
from vde_dagster.ports.catalog import TableText, ViewDefinition

SHOWN = TableName("dev", "a")


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were to be waited."""
    found = list[float]()
    monkeypatch.setattr("vde_dagster.lakehouse.catalogs.asked_too_often.sleep", found.append)
    return found


def too_often(rest: RestWorld, *, times: int, after: str = "") -> None:
    error = Page(429, **({"Retry-After": after} if after else {}))
    fail(rest.server, error, times=times)


def test_loading_a_table_committing_to_it_and_views_all_wait(
    rest: RestWorld, waited: list[float]
) -> None:
    too_often(rest, times=2)
    assert rest.catalog.table(TABLE) is not None
    assert waited == [0.5, 1]
    too_often(rest, times=2)
    rest.catalog.describe(TABLE, TableText(comment="who"))
    assert waited == [0.5, 1] * 2
    too_often(rest, times=4)
    rest.catalog.swap_views([ViewDefinition(name=SHOWN, target=TABLE, columns=(ID, AT))], [])
    assert waited == [*[0.5, 1] * 2, 0.5, 1, 2, 4]
    rest.server.before = lambda _method, _path: None
    assert rest._tables.load_table(("raw", "events")).properties["comment"] == "who"
    assert rest.catalog.view(SHOWN) is not None


def test_it_waits_as_long_as_the_server_says_half_a_minute_at_most(
    rest: RestWorld, waited: list[float]
) -> None:
    for after in ("3", "3600", "Wed, 21 Oct 2026 07:28:00 GMT"):
        too_often(rest, times=1, after=after)
        assert rest.catalog.table(TABLE) is not None
    assert waited == [3, 30, 0.5]


def test_a_server_that_goes_on_saying_so_is_asked_five_times(
    rest: RestWorld, waited: list[float]
) -> None:
    too_often(rest, times=5)
    with pytest.raises(TooManyRequestsError):
        rest.catalog.table(TABLE)
    too_often(rest, times=5)
    with pytest.raises(ServiceUnavailableError):
        rest.catalog.view(SHOWN)
    assert waited == [0.5, 1, 2, 4] * 2


class Signing(HTTPAdapter):
    """Signs each request that it sends in its headers, as pyiceberg's adapter for AWS does."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = list[tuple[object, object]]()

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        self.sent.append((request.headers.get("Signature"), request.body))
        request.headers["Signature"] = str(len(self.sent))
        answer = Response()
        answer.status_code = 200 if len(self.sent) == 3 else 429
        answer.request, answer.url = request, str(request.url)
        answer._content = b"{}"
        return answer


def test_who_signs_requests_signs_each_time_that_one_is_sent(waited: list[float]) -> None:
    session, signing = Session(), Signing()
    session.mount("https://catalog.example.com", signing)
    wait_where_asked_too_often(session)
    wait_where_asked_too_often(session)
    answer = session.post("https://catalog.example.com/v1/x", json={"a": 1})
    assert answer.request.headers["Signature"] == "3"
    assert signing.sent == [(None, b'{"a": 1}')] * 3
    assert waited == [0.5, 1]
    session.close()
