"""A Spark session for users' statements and Python functions: what they set in it is reset.

Opening a session for each unit of work would be simpler, but every session loads its own Iceberg
catalog, and an embedded one leaves its connections open for as long as the JVM lives (seen: two
open files for each). So there is one for each thread that evaluates models, and it is tidied.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from sqlglot import exp

from vde_dagster.lakehouse.connect import (
    end,
    end_with_this_process,
    give_up_retries,
    is_remote,
    tried_once,
)
from vde_dagster.lakehouse.session import settings_of, settle
from vde_dagster.runtime.secrets import without_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG: Final = logging.getLogger(__name__)


def session_for_users(main: SparkSession) -> SparkSession:
    """A session for the code of users' own assets: what they set in it reaches no model.

    There is one for as long as the main session lives, so that one asset finds what another made in
    it. Settings that only the main session has, such as catalogs, are added to it.

    Args:
        main: The session that evaluates models.
    """
    with _ONE_AT_A_TIME:
        found = _OF_USERS.get(main)
        if found is None:
            found = another(main)
            alike(main, found)
            _OF_USERS[main] = found
        present = settings_of(found)
        for key, value in settings_of(main).items():
            if key not in present:
                _try_to_set(found, key, value)
        return found


_OF_USERS: Final[WeakKeyDictionary[SparkSession, SparkSession]] = WeakKeyDictionary()
_ONE_AT_A_TIME: Final = threading.Lock()


class OwnSession:
    """A second session over the same cluster and catalogs.

    Args:
        main: The session whose settings it has.
    """

    def __init__(self, main: SparkSession) -> None:
        self._main = main
        self._own: SparkSession | None = None

    @contextmanager
    def lent(self) -> Iterator[SparkSession]:
        """The session, as new: settings, temporary views and functions of earlier users are gone.

        What stays are SQL variables (DECLARE), which Spark does not list.
        """
        if self._own is None:
            self._own = another(self._main)
        own = self._own
        alike(self._main, own)
        try:
            yield own
        except BaseException:
            with tried_once(own):  # nobody waits for a server that is gone
                self._tidy(own)
            raise
        self._tidy(own)

    def _tidy(self, own: SparkSession) -> None:
        try:
            _tidy(self._main, own)
        except Exception as error:  # it is not used again, and this hides no other error
            why = without_secrets(str(error))
            _LOG.warning("a session could not be tidied, so the next one is new: %s", why)
            self._own = None

    def end(self) -> None:
        """End it where that ends no other: a Spark Connect server keeps each until it is told."""
        own, self._own = self._own, None
        if own is not None and is_remote(own):
            end(own)

    def interrupt(self) -> None:
        """End what is computed in the session now: it fails, and nothing is tried again.

        Any thread may call this.
        """
        own = self._own
        if own is not None:
            give_up_retries(own)
            own.interruptAll()


def another(main: SparkSession) -> SparkSession:
    """A session of the same application. Spark Connect has another name for it."""
    clone = getattr(main, "cloneSession", None)
    opened: SparkSession = clone() if clone is not None else main.newSession()
    end_with_this_process(opened)
    return opened


def _tidy(main: SparkSession, own: SparkSession) -> None:
    own.sql("RESET")
    own.catalog.setCurrentCatalog(_SESSION_CATALOG)
    for view in own.sql("SHOW VIEWS").collect():
        if view["isTemporary"]:
            own.catalog.dropTempView(view["viewName"])
    for (name,) in own.sql("SHOW USER FUNCTIONS").collect():
        quoted = exp.to_identifier(name, quoted=True).sql("spark")
        own.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {quoted}")
    own.catalog.setCurrentCatalog(main.catalog.currentCatalog())
    own.catalog.setCurrentDatabase(main.catalog.currentDatabase())


_SESSION_CATALOG: Final = "spark_catalog"
"""Where Spark lists what is temporary."""


def alike(main: SparkSession, own: SparkSession) -> None:
    """Give a session the settings that the main one got while it ran."""
    wanted, present = settings_of(main), settings_of(own)
    for key, value in wanted.items():
        if present.get(key) != value:
            _try_to_set(own, key, value)
    settle(own)


def _try_to_set(session: SparkSession, key: str, value: str) -> None:
    # Catalogs are settings that Spark does not know, and so calls not modifiable.
    with suppress(PySparkException):  # a setting of the whole application is shared anyway
        session.conf.set(key, value)
