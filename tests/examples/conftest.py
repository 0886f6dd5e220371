"""What the tests of the flights example share: the files read once, and two days landed once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache

import landing
import pytest
from pyiceberg.catalog.sql import SqlCatalog

TWO_DAYS = datetime(2013, 1, 3, tzinfo=UTC)


@pytest.fixture(scope="session", autouse=True)
def _read_once() -> Iterator[None]:
    """A landing reads a year of flights, which takes longer than to land a day of them.

    What it has read cannot be changed, so all landings of this process share it. Those in processes
    of their own read the files.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_feeds", "_static_tables"):
            patch.setattr(landing, name, cache(getattr(landing, name)))
        yield


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> SqlCatalog:
    """Two days of flights, landed once for all of pytest's processes. Nobody writes to it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder = folder / "flights"
    folder.mkdir(exist_ok=True)
    landed = folder / "landed"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        uri, warehouse = f"sqlite:///{folder}/lake.db", f"file://{folder}/wh"
        catalog = SqlCatalog("lake", uri=uri, warehouse=warehouse)
        if not landed.exists():
            landing.land(catalog, until=TWO_DAYS)
            landed.touch()
    return catalog
