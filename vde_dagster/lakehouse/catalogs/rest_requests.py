"""Requests to a REST catalog that pyiceberg does not make, through its own session.

So they have the same credentials, signatures and certificates as pyiceberg's. An answer counts only
if it has what the specification says: a page of something on the way, which may come with any
status, is not an answer of the catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote

from pyiceberg.catalog.rest import (
    DEFAULT_ENDPOINTS,
    PAGE_SIZE,
    VIEW_ENDPOINTS_SUPPORTED,
    Capability,
    Endpoint,
    HttpMethod,
    RestCatalog,
)
from pyiceberg.exceptions import (
    ForbiddenError,
    NamespaceAlreadyExistsError,
    RESTError,
    ServiceUnavailableError,
    UnauthorizedError,
)
from pyiceberg.typedef import Identifier
from requests import RequestException, Response

from vde_dagster.core.errors import OutcomeUnknown, Refused
from vde_dagster.core.names import TableName

Json = dict[str, Any]
T = TypeVar("T")
R = TypeVar("R")

AT_ONCE: Final = 8
"""Requests under way concurrently: pyiceberg's session keeps ten connections."""
_SECONDS: Final = (10, 60)
"""How long a connection and an answer may take."""
_EXPIRED: Final = frozenset({401, 419})
_NOT_ALLOWED: Final = frozenset({401, 403, 419})
_DONE: Final = frozenset({200, 204})
_NOT_FOUND: Final = 404
_TOO_MANY: Final = 429
_TIMED_OUT: Final = 408
_INTERNAL: Final = 500
_NOT_IMPLEMENTED: Final = 501
_ERRORS: Final[Mapping[int, type[RESTError]]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    419: UnauthorizedError,
    429: ServiceUnavailableError,
}
_METADATA: Final = "metadata"
_NAMES: Final = "identifiers"
_AGAIN: Final = "retrying is safe"
_CREDENTIALS: Final = "the credentials of the catalog may"
_NO_ANSWER: Final = "no answer of a catalog"
_REPLACE: Final = Endpoint(
    http_method=HttpMethod.POST, path="/v1/{prefix}/namespaces/{namespace}/views/{view}"
)
_LOAD: Final = Capability.V1_LOAD_VIEW
_LIST: Final = Capability.V1_LIST_VIEWS


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered: the status, the document, and its words in an error.

    ``is_word`` is whether the catalog itself says so, and no page of something on the way: nothing
    or a document where it is done, else a document with an error, as the specification says.
    """

    status: int
    document: Json
    said: str = ""
    is_word: bool = True

    @property
    def is_done(self) -> bool:
        """Whether the catalog says that it did what it was asked for."""
        return self.is_word and self.status in _DONE

    @property
    def is_absent(self) -> bool:
        """Whether the catalog says that there is nothing of this name."""
        return self.is_word and self.status == _NOT_FOUND

    @property
    def is_refusal(self) -> bool:
        """Whether a change was certainly not made.

        After a status of the server's own errors it may have been (the specification,
        *updateView*), but for the one that says that the server cannot do it.
        """
        if self.status in _NOT_ALLOWED or self.status == _TOO_MANY:
            return True
        is_certain = self.status < _INTERNAL or self.status == _NOT_IMPLEMENTED
        return self.is_word and not self.is_done and is_certain and self.status != _TIMED_OUT


class RestRequests:
    """Requests about views and tables of one REST catalog.

    Args:
        catalog: As pyiceberg opened it.
    """

    def __init__(self, catalog: RestCatalog) -> None:
        self._catalog = catalog

    def check_views(self) -> None:
        """Look whether the server says that it has views and replaces them.

        Raises:
            Refused: It does not.
        """
        supported = self._catalog._supported_endpoints  # noqa: SLF001 - pyiceberg publishes no list
        told = str(self._catalog.properties.get(VIEW_ENDPOINTS_SUPPORTED, "")).lower() == "true"
        has_views = {_LIST, _LOAD} <= supported
        if has_views and (told or _REPLACE in supported):
            return
        may_have = has_views or supported == DEFAULT_ENDPOINTS  # it says nothing of what it has
        setting = f"`{VIEW_ENDPOINTS_SUPPORTED}: true` under `catalog.properties`"
        raise Refused(
            f"the server of the catalog {self._catalog.name!r} does not report support for "
            "replaceable views, which environments need",
            advice=f"If it supports them, set {setting}. If not, use another catalog."
            if may_have and not told
            else "Use another catalog.",
        )

    def view(self, name: TableName) -> Json | None:
        """A view with its metadata and their location; None if there is none.

        Raises:
            RESTError: The server does not say whether there is one.
            RequestException: There was no answer.
        """
        return self._get(self._place("views", name))

    def table(self, name: TableName) -> Json | None:
        """A table with its metadata and their location, of its snapshots only the referred ones.

        None if there is none. Raises as `view`.
        """
        return self._get(self._place("tables", name), {"snapshots": "refs"})

    def whole_table(self, name: TableName) -> Json | str:
        """A table with its metadata and all of its snapshots.

        If the catalog itself says that it cannot load it, its words: its metadata file is lost,
        say, which some servers call *not found* and others an error of their own. Raises as `view`.
        """
        place = self._place("tables", name)
        answer = _read(self._answered("GET", place, parameters={"snapshots": "all"}))
        if answer.is_word and answer.status in (_NOT_FOUND, _INTERNAL):
            return f"{answer.status}: {answer.said}"
        return _document(place, answer, _METADATA)

    @property
    def _separator(self) -> str:
        return self._catalog._namespace_separator  # noqa: SLF001 - it is not published

    def joined(self, namespace: Identifier) -> str:
        """A namespace that may be in others, as addresses have it."""
        return self._separator.join(namespace)

    def spelled(self, joined: str) -> str:
        """A namespace as people write it, by what addresses have."""
        return joined.replace(self._separator, ".")

    def names(self, namespace: str, *, views: bool) -> set[str]:
        """The names of all views of a namespace, or of its tables; none if there is no such one.

        Raises as `view`.
        """
        place = f"{_namespace(namespace)}/{'views' if views else 'tables'}"
        size = self._catalog.properties.get(PAGE_SIZE)
        asked: dict[str, str] = {"pageSize": str(size)} if size else {}
        found = set[str]()
        while (page := self._get(place, asked, wanted=_NAMES)) is not None:
            found.update(str(each["name"]) for each in page[_NAMES])
            if not (following := page.get("next-page-token")):
                break
            asked = {**asked, "pageToken": str(following)}
        return found

    def lists_inside(self, namespace: Identifier) -> bool:
        """Whether the catalog says which namespaces are in another one; not if it says 404.

        Raises as `view`.
        """
        asked = {"parent": self.joined(namespace)}
        return self._get("namespaces", asked, wanted="namespaces") is not None

    def ensure_namespace(self, namespace: str) -> None:
        """Create a namespace if there is none.

        Raises:
            OutcomeUnknown: The answer was lost.
            Refused: The credentials do not allow it.
        """
        try:
            if not self._catalog.namespace_exists((namespace,)):
                self._catalog.create_namespace((namespace,))
        except NamespaceAlreadyExistsError:
            return
        except (ForbiddenError, UnauthorizedError) as error:
            raise Refused(
                f"the catalog does not allow the namespace {namespace} to be created ({error})",
                advice=f"Create it, or make sure that {_CREDENTIALS} create namespaces.",
            ) from error
        except (RESTError, RequestException) as error:
            raise OutcomeUnknown(
                f"it is not known whether the namespace {namespace} was created ({error})",
                advice=_AGAIN,
            ) from error

    def create_view(self, namespace: str, body: Json) -> Answer:
        """Ask for a new view.

        Raises:
            OutcomeUnknown: The answer was lost, or says nothing of the view.
            Refused: The credentials do not allow it, or too much was asked for already.
        """
        return self._send("POST", f"{_namespace(namespace)}/views", body)

    def replace_view(self, name: TableName, body: Json) -> Answer:
        """Ask for another version of a view; raises as `create_view`."""
        return self._send("POST", self._place("views", name), body)

    def drop(self, name: TableName, *, is_view: bool) -> Answer:
        """Ask for a view, or for a table without its files, to be dropped; as `create_view`."""
        if is_view:
            return self._send("DELETE", self._place("views", name))
        return self._send("DELETE", self._place("tables", name) + "?purgeRequested=false")

    def _get(
        self, place: str, parameters: Mapping[str, str] | None = None, *, wanted: str = _METADATA
    ) -> Json | None:
        """What is in a place; None if the catalog says that there is nothing."""
        answer = _read(self._answered("GET", place, parameters=parameters))
        return None if answer.is_absent else _document(place, answer, wanted)

    def _send(self, method: str, place: str, body: Json | None = None) -> Answer:
        try:
            answer = _read(self._answered(method, place, body=body))
        except RequestException as error:
            raise OutcomeUnknown(
                f"the answer of the catalog to {method} {place} was lost ({error})", advice=_AGAIN
            ) from error
        except RESTError as error:  # of the server that gives credentials; it was not asked for
            raise Refused(
                f"the credentials of the catalog have expired and are not renewed ({error})",
                advice="Make sure that they are valid, then retry.",
            ) from error
        said = f"{answer.status}: {answer.said}"
        lacks = body is not None and _METADATA not in answer.document
        if not (answer.is_refusal or (answer.is_done and not lacks)):
            raise OutcomeUnknown(
                f"the catalog answered {method} {place} with {said}, so the outcome is unknown",
                advice=_AGAIN,
            )
        if answer.status in _NOT_ALLOWED:
            raise Refused(
                f"the catalog does not allow {method} {place} ({said})",
                advice=f"Make sure that {_CREDENTIALS} change views and tables.",
            )
        if answer.status == _TOO_MANY:
            raise Refused(
                f"the catalog keeps refusing requests because there are too many ({said})",
                advice="Retry later.",
            )
        return answer

    def _answered(
        self,
        method: str,
        place: str,
        *,
        parameters: Mapping[str, str] | None = None,
        body: Json | None = None,
    ) -> Response:
        """An answer; credentials that have expired are renewed once, as pyiceberg does."""
        catalog = self._catalog
        session = catalog._session  # noqa: SLF001 - it has the credentials, and is not published

        def ask() -> Response:
            url = catalog.url(place)
            return session.request(method, url, params=parameters, json=body, timeout=_SECONDS)

        response = ask()
        if response.status_code in _EXPIRED:
            catalog._refresh_token()  # noqa: SLF001 - as pyiceberg's own methods do
            response = ask()
        return response

    def _place(self, sort: str, name: TableName) -> str:
        return f"{_namespace(name.namespace)}/{sort}/{quote(name.name, safe='')}"


def _namespace(name: str) -> str:
    return f"namespaces/{quote(name, safe='')}"


def _document(place: str, answer: Answer, wanted: str) -> Json:
    """What was asked for.

    Raises:
        RESTError: The answer does not have it.
    """
    if answer.is_done and wanted in answer.document:
        return answer.document
    other = RESTError if answer.is_refusal else ServiceUnavailableError
    raise _ERRORS.get(answer.status, other)(
        f"the catalog answered GET {place} with {answer.status}: {answer.said}"
    )


def _read(response: Response) -> Answer:
    status = response.status_code
    try:
        found = response.json() if response.content else {}
    except ValueError:
        found = None
    document = found if isinstance(found, dict) else {}
    error = document.get("error")
    is_word = isinstance(found if status in _DONE else error, dict) and _is_as_asked(response)
    said = _NO_ANSWER
    if is_word and isinstance(error, dict):
        said = str(error.get("message", ""))
    return Answer(status=status, document=document, said=said, is_word=is_word)


def _is_as_asked(response: Response) -> bool:
    """Whether an answer is to what was asked: who is sent elsewhere may only read there."""
    first = response.history[0] if response.history else response
    return first.request.method == response.request.method


def at_once(work: Callable[[T], R], every: Iterable[T]) -> list[R]:
    """Do the same with several things, some concurrently, in their order.

    After an error nothing more is started. What was started is waited for, and the first error is
    raised.
    """
    things = list(every)
    if len(things) <= 1:
        return [work(each) for each in things]
    failed: list[BaseException] = []

    def begin(thing: T) -> R:
        if failed:
            raise CancelledError
        try:
            return work(thing)
        except BaseException as error:
            failed.append(error)
            raise

    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        running = [pool.submit(begin, each) for each in things]
        try:
            wait(running)
        except BaseException as error:  # whoever waits is interrupted
            failed.append(error)
            raise
    if failed:
        raise failed[0]
    return [each.result() for each in running]
