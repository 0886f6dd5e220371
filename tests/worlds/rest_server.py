"""A REST catalog's server on loopback: pyiceberg's tables in SQLite, and views of `rest_views`.

It speaks the requests of Iceberg's REST specification that this package and pyiceberg make. In
`tests/lakehouse/java_rest_server.py` Iceberg's own library answers them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import CommitTableRequest, Table
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from tests.worlds.rest_views import NotDone, StoredView, created, replaced
from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog

Json = dict[str, Any]
_OF: Final = "/v1/{prefix}/namespaces/{namespace}"
ENDPOINTS: Final = (
    *(f"{method} /v1/{{prefix}}/namespaces" for method in ("GET", "POST")),
    *(f"{method} {_OF}" for method in ("GET", "HEAD", "DELETE")),
    *(f"{method} {_OF}/{sort}" for sort in ("tables", "views") for method in ("GET", "POST")),
    *(f"{m} {_OF}/tables/{{table}}" for m in ("GET", "HEAD", "POST", "DELETE")),
    *(f"{m} {_OF}/views/{{view}}" for m in ("GET", "HEAD", "POST", "DELETE")),
    "POST /v1/{prefix}/tables/rename",
)
_STATUS: Final = {
    NoSuchNamespaceError: 404,
    FileNotFoundError: 404,  # as Java's RESTCatalogAdapter says of a NotFoundException
    NoSuchTableError: 404,
    NamespaceAlreadyExistsError: 409,
    TableAlreadyExistsError: 409,
    CommitFailedException: 409,
}


class LoseRequest(Exception):
    """Raised by `RestServer.before`: the request is lost on its way, and nothing is done."""


class LoseAnswer(Exception):
    """Raised by `RestServer.after`: what was asked for is done, and the answer is lost."""


class Page(Exception):
    """Raised by `RestServer.before` or `after`: something on the way answers, with a page.

    Args:
        status: The page's.
        headers: Its headers.
    """

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__("<html>something on the way</html>")
        self.status = status
        self.headers = headers


@dataclass
class RestServer:
    """A server with what it was asked, and what a test does to requests on their way.

    ``before`` is called before a request is carried out and ``after`` after it, with its method and
    path; what they raise happens to it. They may also wait. If it ``counts``, versions of views are
    numbered by it alone.
    """

    folder: Path
    endpoints: tuple[str, ...] = ENDPOINTS
    before: Callable[[str, str], None] = lambda _method, _path: None
    after: Callable[[str, str], None] = lambda _method, _path: None
    asked: list[tuple[str, str]] = field(default_factory=list)
    views: dict[tuple[str, str], StoredView] = field(default_factory=dict)
    port: int = 0
    counts: bool = False

    def __post_init__(self) -> None:
        settings = {"type": "sql", "uri": f"sqlite:///{self.folder}/server.db"}
        settings["warehouse"] = f"file://{self.folder}/warehouse"
        self.tables = open_iceberg_catalog("server", settings)
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def properties(self) -> dict[str, str]:
        """What pyiceberg needs to open the catalog."""
        return {"type": "rest", "uri": self.url}

    @property
    def changes(self) -> list[tuple[str, str]]:
        """The requests that were made to change something, in their order."""
        return [each for each in self.asked if each[0] in ("POST", "DELETE")]

    def answer(self, method: str, path: str, body: Json) -> tuple[int, Json]:
        """Carry out a request: the status and the document."""
        address = urlsplit(path)
        # Namespaces in others are parted so in addresses, and by points in pyiceberg's SQL catalog.
        path = address.path.replace("%1F", ".").strip("/")
        parts = [unquote(each) for each in path.split("/")][1:]
        asked = {key: each[0] for key, each in parse_qs(address.query).items()}
        with self._lock:
            try:
                return self._answer(method, parts, body | {"?": asked})
            except NotDone as error:
                return _error(error.status, str(error))
            except tuple(_STATUS) as error:
                return _error(_STATUS[type(error)], str(error))

    def _answer(self, method: str, parts: list[str], body: Json) -> tuple[int, Json]:
        match [method, *parts]:
            case ["GET", "config"]:
                return 200, {"defaults": {}, "overrides": {}, "endpoints": list(self.endpoints)}
            case ["POST", "tables", "rename"]:
                old, new = (
                    (*e["namespace"], e["name"]) for e in (body["source"], body["destination"])
                )
                self.tables.rename_table(old, new)
                return 204, {}
            case [_, "namespaces", *rest]:
                return self._namespaces(method, rest, body)
            case _:
                return _error(404, "no such endpoint")

    def _namespaces(self, method: str, parts: list[str], body: Json) -> tuple[int, Json]:
        match [method, *parts]:
            case ["GET"]:
                parent = body["?"].get("parent", "").replace("\x1f", ".")
                found = self.tables.list_namespaces(parent or ())
                return 200, {"namespaces": [list(each) for each in found]}
            case ["POST"]:
                self.tables.create_namespace(tuple(body["namespace"]), body.get("properties", {}))
                return 200, {"namespace": body["namespace"], "properties": {}}
            case ["GET" | "HEAD", namespace]:
                own = self.tables.load_namespace_properties((namespace,))
                return 200, {"namespace": [namespace], "properties": dict(own)}
            case ["DELETE", namespace]:
                self.tables.drop_namespace((namespace,))
                return 204, {}
            case [_, namespace, "tables" | "views" as sort, *rest]:
                self.tables.load_namespace_properties((namespace,))
                answer = self._tables if sort == "tables" else self._views
                return answer(method, namespace, rest, body)
            case _:
                return _error(404, "no such endpoint")

    def _tables(self, method: str, of: str, parts: list[str], body: Json) -> tuple[int, Json]:
        match [method, *parts]:
            case ["GET"]:
                there = [each[-1] for each in self.tables.list_tables((of,))]
                return 200, {"identifiers": [{"namespace": [of], "name": each} for each in there]}
            case ["POST"]:
                return 200, self._create_table(of, body)
            case ["GET" | "HEAD", name]:
                return 200, _loaded(self.tables.load_table((of, name)))
            case ["POST", name]:
                request = CommitTableRequest.model_validate(
                    {**body, "identifier": {"namespace": [of], "name": name}}
                )
                table = self.tables.load_table((of, name))
                self.tables.commit_table(table, request.requirements, request.updates)
                return 200, _loaded(self.tables.load_table((of, name)))
            case ["DELETE", name]:
                self.tables.drop_table((of, name))
                return 204, {}
            case _:
                return _error(404, "no such endpoint")

    def _create_table(self, of: str, body: Json) -> Json:
        left_out = dict.fromkeys(("location", "partition-spec", "write-order"))
        request = CreateTableRequest.model_validate({**left_out, **body})
        if (of, request.name) in self.views:
            raise NotDone(409, f"a view is named {of}.{request.name}")
        table = self.tables.create_table(
            (of, request.name),
            request.table_schema,
            location=request.location,
            partition_spec=request.partition_spec or UNPARTITIONED_PARTITION_SPEC,
            sort_order=request.write_order or UNSORTED_SORT_ORDER,
            properties=request.properties,
        )
        return _loaded(table)

    def _views(self, method: str, of: str, parts: list[str], body: Json) -> tuple[int, Json]:
        match [method, *parts]:
            case ["GET"]:
                there = [name for namespace, name in self.views if namespace == of]
                return 200, {"identifiers": [{"namespace": [of], "name": each} for each in there]}
            case ["POST"]:
                name = body["name"]
                if (of, name) in self.views or self.tables.table_exists((of, name)):
                    return _error(409, f"{of}.{name} exists already")
                self.views[of, name] = created(body, self.folder / "warehouse" / of / name)
                return 200, self.views[of, name].document()
            case [_, name] if (of, name) in self.views:
                return self._view(method, (of, name), body)
            case _:
                return _error(404, f"View does not exist: {of}.{parts}")

    def _view(self, method: str, key: tuple[str, str], body: Json) -> tuple[int, Json]:
        match method:
            case "GET" | "HEAD":
                return 200, self.views[key].document()
            case "POST":
                self.views[key] = replaced(self.views[key], body, counts=self.counts).written()
                return 200, self.views[key].document()
            case "DELETE":
                del self.views[key]
                return 204, {}
        return _error(404, "no such endpoint")


def _loaded(table: Table) -> Json:
    return {
        "metadata-location": table.metadata_location,
        "metadata": json.loads(table.metadata.model_dump_json()),
        "config": {},
    }


def _error(status: int, said: str) -> tuple[int, Json]:
    return status, {"error": {"message": said, "type": "Error", "code": status}}


def _handler(server: RestServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer is one packet, so nobody waits for the second one
        disable_nagle_algorithm = True

        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            content = self.rfile.read(length)
            place = urlsplit(self.path).path
            server.asked.append((self.command, place))
            page: Page | None = None
            try:
                server.before(self.command, place)
                body = json.loads(content) if content else {}
                status, document = server.answer(self.command, self.path, body)
                server.after(self.command, place)
            except (LoseRequest, LoseAnswer):
                self.close_connection = True
                return
            except NotDone as error:
                status, document = _error(error.status, str(error))
            except Page as error:
                page, status, document = error, error.status, {}
            empty = self.command == "HEAD" or status == 204
            answer = b"" if empty else (str(page) if page else json.dumps(document)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if page else "application/json")
            for name, value in (page.headers if page else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_HEAD = do_DELETE = _do  # noqa: N815 - the names of http.server

        def log_message(self, *_: object) -> None:
            return

    return Handler


@contextmanager
def serving(found: RestServer) -> Iterator[RestServer]:
    """Let a server listen on a free port."""
    listening = ThreadingHTTPServer(("127.0.0.1", 0), _handler(found))
    listening.daemon_threads = True
    found.port = listening.server_port
    threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield found
    finally:
        listening.shutdown()
        listening.server_close()


@contextmanager
def rest_server(folder: Path) -> Iterator[RestServer]:
    """A server with an empty catalog, whose data is in a folder."""
    with serving(RestServer(folder)) as found:
        yield found
