"""A shop whose views are in a REST catalog's server, and what others do while they move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from pyiceberg.exceptions import RESTError
from requests import RequestException

from tests.app.memory_world import MemoryWorld, graph_of, there
from tests.app.promote.iceberg_views import IcebergViews
from tests.app.shop_world import EDITED, SALES, SHOP
from tests.worlds.rest_server import LoseRequest, RestServer, rest_server
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.promote.taking import plan_promotion
from vde_dagster.app.services import Services
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import TableName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.lakehouse.catalogs import rest_views
from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog

AGAIN: Final = {**SHOP, "sales": SALES.replace("SUM(amount)", "SUM(amount * 100)")}
VIEWS: Final = tuple(TableName("mart", name) for name in SHOP)
FAILED: Final = (VdeError, RequestException, RESTError)


def _views_behind(server: RestServer) -> IcebergViews:
    """Views behind REST; their targets are made at the server, without a request."""
    return IcebergViews(open_iceberg_catalog("lake", server.properties), server.tables)


class Shop:
    """Production shows the shop, ``dev`` an edit of it, and ``other`` another edit."""

    def __init__(self, server: RestServer) -> None:
        self.server = server
        self.world = MemoryWorld(catalog=_views_behind(server))
        self.world.land((1, 10), (30, 5), (50, 7), until=72)
        for environment, project in (("prod", SHOP), ("dev", EDITED), ("other", AGAIN)):
            self.world.build(graph_of(project), environment)
        self.first = self.shown()
        self.second, self.third = self.of("dev"), self.of("other")

    def of(self, environment: str) -> dict[TableName, TableName]:
        """What production's views show once an environment is promoted to it."""
        found = there(self.world.state.environment(environment))
        return {
            TableName(name.schema, name.name): each.key.table
            for name, each in found.snapshots.items()
            if not each.is_source
        }

    def shown(self) -> dict[TableName, TableName]:
        """What production's views show now."""
        return {name: each.target for name, each in self.world.catalog.views(VIEWS).items()}

    def promote(self, source: str, services: Services | None = None) -> Plan:
        """Promote an environment to production, as one process does."""
        services = services or self.world.services()
        plan = plan_promotion(services, source, "prod")
        apply_plan(services, plan, lambda _: None)
        return plan

    def take_over(self) -> None:
        """Another process promotes, as if the first one had slept until its lease expired."""
        self.world.reboot()
        self.promote("other")

    def asleep(self, method: str, *, after: bool = False) -> Services:
        """The services of a process that sleeps at a call of the state until another took over."""
        return asleep(self.world.services(), "state", method, self.take_over, after=after)


def asleep(
    services: Services,
    port: str,
    method: str,
    meanwhile: Callable[[], None],
    *,
    after: bool = False,
) -> Services:
    """The services of a process that sleeps at the first call of a method until others are done."""
    wired: dict[str, Any] = {port: _Asleep(getattr(services, port), method, after, meanwhile)}
    return replace(services, **wired)


class _Asleep:
    def __init__(self, port: object, method: str, after: bool, meanwhile: Callable[[], None]):
        self._port, self._method, self._after = port, method, after
        self._meanwhile: Callable[[], None] | None = meanwhile

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if name != self._method or self._meanwhile is None:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            meanwhile, self._meanwhile = self._meanwhile, None
            result = found(*args, **kwargs) if self._after else None
            if meanwhile is not None:
                meanwhile()
            return result if self._after else found(*args, **kwargs)

        return call


class Line:
    """Counts requests on their way, and loses one of them.

    ``changes`` counts only those that change something. With ``answers`` the request is carried
    out, and its answer is lost. With ``breaks`` no request arrives after that.
    """

    def __init__(
        self,
        server: RestServer,
        *,
        lose: int,
        changes: bool,
        answers: bool,
        breaks: bool = False,
    ) -> None:
        self.server, self.lost = server, 0
        self._lose, self._changes, self._answers = lose, changes, answers
        self._breaks = breaks
        self._count = 0
        server.before = self._before
        server.after = self._after

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.before = self.server.after = lambda _method, _path: None

    def _counted(self, method: str) -> bool:
        if self._changes and method not in ("POST", "DELETE"):
            return False
        self._count += 1
        return self._count == self._lose

    def _before(self, method: str, path: str) -> None:
        del path
        is_broken = self._breaks and self.lost > 0
        if is_broken or (not self._answers and self._counted(method)):
            self.lost += 1
            raise LoseRequest

    def _after(self, method: str, path: str) -> None:
        del path
        if self._answers and self._counted(method):
            self.lost += 1
            raise LoseRequest


@contextmanager
def shop_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """A shop behind a server; nobody waits before trying again."""
    monkeypatch.setattr(rest_views, "_PAUSE", 0)
    with rest_server(folder) as server:
        yield Shop(server)
