"""Sessions for threads that evaluate models beside each other: each uses one that no other does.

Temporary views and settings belong to a session, so two concurrent units of work need two. A
session that has ended its unit of work is kept and lent again, since each loads its own Iceberg
catalog, and an embedded one leaves its connections open for as long as the JVM lives.

Jobs of such a thread are in a pool of Spark's scheduler that has the model's name. A pool is a
property of a thread of the driver, and each thread here has a thread of its own there (pyspark's
pinned mode, the default). It is set in the thread itself, and not inherited by
`pyspark.InheritableThread`: that needs a session before the thread begins, and here the first
thread that has something to compute starts it. Spark Connect has neither.

Importing this module loads no pyspark.

Users' statements and Python functions have a second session in each thread, which is tidied after
them: what they set in it is reset.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from sqlglot import exp

from vde_dagster.lakehouse.spark.connect import (
    end,
    end_with_this_process,
    give_up_retries,
    is_remote,
    tried_once,
)
from vde_dagster.lakehouse.spark.session import settings_of, settle
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
            _OF_USERS[main] = found = beside(main)
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
        """The session, as new: without settings, temporary views and functions of earlier users.

        What stays are SQL variables (DECLARE), which Spark does not list.
        """
        if self._own is None:
            self._own = another(self._main)
        own = self._own
        alike(self._main, own)
        try:
            yield own
        except BaseException:
            with tried_once(own):  # nobody waits for a server that has ended
                self._tidy(own)
            raise
        self._tidy(own)

    def _tidy(self, own: SparkSession) -> None:
        try:
            _tidy(self._main, own)
        except Exception as error:  # it is not used again, and this hides no other error
            why = without_secrets(str(error))
            _LOG.warning("a session could not be cleaned up, so a new one replaces it: %s", why)
            self._own = None

    def end(self) -> None:
        """End it where that ends no other: a Spark Connect server keeps each until then."""
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


def beside(main: SparkSession) -> SparkSession:
    """Another session, which has the settings of the main one."""
    found = another(main)
    alike(main, found)
    return found


def alike(main: SparkSession, own: SparkSession) -> None:
    """Give a session the settings that the main one got while it ran."""
    wanted, present = settings_of(main), settings_of(own)
    for key, value in wanted.items():
        if present.get(key) != value:
            _try_to_set(own, key, value)
    settle(own)


def _try_to_set(session: SparkSession, key: str, value: str) -> None:
    from pyspark.errors import PySparkException

    # Catalogs are settings that Spark does not know, and so calls not modifiable.
    with suppress(PySparkException):  # a setting of the whole application is shared anyway
        session.conf.set(key, value)


_POOL: Final = "spark.scheduler.pool"


class Lane:
    """A session that one thread at a time uses, and another one for users' code in this thread.

    Args:
        session: The session; perhaps the main one itself.
    """

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.own = OwnSession(session)

    def end(self) -> None:
        """End both sessions of a lane beside the main one, where that ends no other session."""
        self.own.end()
        if is_remote(self.session):
            end(self.session)

    def interrupt(self) -> None:
        """End what is computed in both sessions now: it fails, and nothing is tried again."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        give_up_retries(self.session)
        for interrupt in (self.session.interruptAll, self.own.interrupt):
            # What cannot be reached computes nothing any more.
            with suppress(PySparkException, Py4JError, OSError):
                interrupt()


class Share:
    """A thread's share of the engine, while it evaluates a model beside others."""

    def __init__(self, pool: str) -> None:
        self.pool = pool
        self.lane: Lane | None = None
        self.is_interrupted = False

    def stop_if_interrupted(self) -> None:
        """Raise KeyboardInterrupt if nothing more is to be computed."""
        if self.is_interrupted:
            raise KeyboardInterrupt


class Lanes:
    """The sessions of all threads that share an engine."""

    def __init__(self) -> None:
        self._idle: deque[Lane] = deque()
        self._shares: list[Share] = []
        self._lock = threading.Lock()
        self._of_thread = threading.local()

    @property
    def share(self) -> Share | None:
        """The share of this thread; None outside of `sharing`."""
        found: Share | None = getattr(self._of_thread, "share", None)
        return found

    @contextmanager
    def sharing(self, name: str) -> Iterator[None]:
        """Let this thread compute beside others, in a pool of this name."""
        share, before = Share(name), self.share
        with self._lock:
            self._shares.append(share)
        self._of_thread.share = share
        try:
            yield
        finally:
            self._of_thread.share = before
            with self._lock:
                self._shares.remove(share)

    @contextmanager
    def lent(self, share: Share, main: SparkSession) -> Iterator[Lane]:
        """A lane for this thread's share; its settings may have been changed by an earlier user.

        Raises:
            KeyboardInterrupt: The share was interrupted.
        """
        lane = self._taken(main)
        share.lane = lane
        try:
            with _in_pool(lane.session, share.pool):
                share.stop_if_interrupted()
                yield lane
        except Exception as error:
            if share.is_interrupted:  # whatever it is, that is why
                raise KeyboardInterrupt from error
            raise
        finally:
            share.lane = None
            if not share.is_interrupted:  # nobody knows how far it came to tidy up
                self._idle.append(lane)

    def interrupt(self) -> None:
        """End what all shares compute now."""
        with self._lock:
            shares = [*self._shares]
        for share in shares:
            share.is_interrupted = True
            lane = share.lane
            if lane is not None:
                lane.interrupt()

    def end(self) -> None:
        """Keep no session any more; those of a Spark Connect server are ended there."""
        while self._idle:
            self._idle.pop().end()

    def _taken(self, main: SparkSession) -> Lane:
        try:
            return self._idle.pop()
        except IndexError:  # there are as many as threads have been at work concurrently
            return Lane(beside(main))


@contextmanager
def _in_pool(session: object, pool: str) -> Iterator[None]:
    """Put the jobs of this thread into a pool of Spark's scheduler."""
    from py4j.protocol import Py4JError
    from pyspark import sql

    if not isinstance(session, sql.SparkSession):  # that of Spark Connect has no context
        yield
        return
    context = session.sparkContext
    context.setLocalProperty(_POOL, pool)
    try:
        yield
    finally:
        with suppress(Py4JError):  # the JVM has gone, and an error says so already
            context.setLocalProperty(_POOL, None)  # type: ignore[arg-type] # None removes it
