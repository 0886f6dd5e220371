"""Views over REST: wall seconds of a swap, and for how long readers may see old and new ones.

The server is that of the tests, in a process of its own on this machine, and each of its answers
about a view is held back for some milliseconds, as far servers do. A swap reads all views and what
they are to show (*read*), and then replaces them, one request each. From the first one that is
replaced to the last one, a reader of several may see some of both revisions (*mixed*).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measuring import Settings, Step, alternating, measured, print_table

if TYPE_CHECKING:
    from vde_dagster.core.names import TableName
    from vde_dagster.lakehouse.catalogs.rest_requests import Answer, Json

SIZES: Final = (100, 1_000)
"""Views."""
DELAYS: Final = (0, 10, 50)
"""Milliseconds for which each answer is held back."""
AT_ONCE: Final = (1, 8)
"""Requests that are under way at once; 8 is what is done."""
_SERVE: Final = "serve"


def serve(folder: Path, milliseconds: int) -> None:
    """Answer until standard input ends; the first line on standard output is the address."""
    from tests.worlds.rest_server import rest_server

    def hold(_method: str, path: str) -> None:
        if "/views" in path:
            time.sleep(milliseconds / 1_000)

    with rest_server(folder) as server:
        server.before = hold
        print(server.url, flush=True)
        sys.stdin.read()


@contextmanager
def serving(milliseconds: int) -> Iterator[str]:
    """The address of a server in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.rest_views", _SERVE, folder, str(milliseconds)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            try:
                yield server.stdout.readline().strip()
            finally:
                server.stdin.close()


def measure(views: int, milliseconds: int, at_once: int) -> Step:
    """The seconds of a swap that replaces all views, with so many requests at once."""
    import pyarrow as pa

    from vde_dagster.core.columns import Column
    from vde_dagster.core.names import TableName
    from vde_dagster.lakehouse.catalogs import rest_requests
    from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog, open_iceberg_catalog
    from vde_dagster.ports.catalog import ViewDefinition

    column = Column(name="id", type="bigint")
    with serving(milliseconds) as address:
        tables = open_iceberg_catalog("lake", {"type": "rest", "uri": address})
        tables.create_namespace("vde__s")
        targets = [TableName("vde__s", name) for name in ("old", "new")]
        for each in targets:
            tables.create_table((each.namespace, each.name), pa.schema([("id", pa.int64())]))
        old, new = (
            [
                ViewDefinition(name=TableName("s", f"v{at}"), target=target, columns=(column,))
                for at in range(views)
            ]
            for target in targets
        )
        catalog = IcebergCatalog(tables)
        catalog.swap_views(old, [], number=8)
        rest_requests.AT_ONCE = at_once  # type: ignore[misc]
        answered = note_replacements()
        started = time.perf_counter()
        catalog.swap_views(new, [], number=16)
        ended = time.perf_counter()
    assert len(answered) == views, "each view was replaced by one request"
    first, last = min(answered), max(answered)
    return {"read": first - started, "mixed": last - first, "whole": ended - started}


def note_replacements() -> list[float]:
    """The times at which replacements of views are answered, from now on."""
    from vde_dagster.lakehouse.catalogs.rest_requests import RestRequests

    answered: list[float] = []
    replace = RestRequests.replace_view

    def noted(self: RestRequests, name: TableName, body: Json) -> Answer:
        found = replace(self, name, body)
        answered.append(time.perf_counter())
        return found

    RestRequests.replace_view = noted  # type: ignore[method-assign]
    return answered


def main(settings: Settings) -> None:
    """Print a line for each number of views, delay and number of requests at once."""
    cases = [(views, delay, at) for views in SIZES for delay in DELAYS for at in AT_ONCE]
    command = [sys.executable, "-m", "benchmarks.rest_views"]
    found = alternating(
        settings.rounds,
        {tuple(map(str, case)): partial(measured, [*command, *map(str, case)]) for case in cases},
    )
    print("Wall seconds of replacing all views over REST, medians")
    head = ["views", "ms an answer", "requests at once", "read", "mixed", "whole"]
    print_table(head, [[*case, *each.values()] for case, each in found.items()])


if __name__ == "__main__":
    if sys.argv[1] == _SERVE:
        serve(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        print(json.dumps(measure(*map(int, sys.argv[1:4]))))
