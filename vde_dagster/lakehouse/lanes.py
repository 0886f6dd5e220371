"""Sessions for threads that evaluate models beside each other: each uses one that no other does.

Temporary views and settings belong to a session, so two units of work at once need two. A session
that has ended its unit of work is kept and lent again, since each loads its own Iceberg catalog,
and an embedded one leaves its connections open for as long as the JVM lives.

Jobs of such a thread are in a pool of Spark's scheduler that has the model's name. A pool is a
property of a thread of the driver, and each thread here has a thread of its own there (pyspark's
pinned mode, the default). It is set in the thread itself, and not inherited by
`pyspark.InheritableThread`: that needs a session before the thread begins, and here the first
thread that has something to compute starts it. Spark Connect has neither.

Importing this module loads no pyspark.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vde_dagster.lakehouse.own_session import OwnSession

_POOL: Final = "spark.scheduler.pool"


class Lane:
    """A session that one thread at a time uses, and another one for users' code in this thread.

    Args:
        session: The session; perhaps the main one itself.
        own: For users' code.
    """

    def __init__(self, session: SparkSession, own: OwnSession) -> None:
        self.session = session
        self.own = own

    @classmethod
    def on(cls, main: SparkSession) -> Lane:
        """The lane of whoever uses the main session itself."""
        from vde_dagster.lakehouse.own_session import OwnSession

        return cls(main, OwnSession(main))

    @classmethod
    def beside(cls, main: SparkSession) -> Lane:
        """A lane with a session of its own, which has the settings of the main one."""
        from vde_dagster.lakehouse.own_session import OwnSession, alike, another

        session = another(main)
        alike(main, session)
        return cls(session, OwnSession(session))

    def end(self) -> None:
        """End both sessions of a lane beside the main one, where that ends no other session."""
        from vde_dagster.lakehouse.connect import end, is_remote

        self.own.end()
        if is_remote(self.session):
            end(self.session)

    def interrupt(self) -> None:
        """End what is computed in both sessions now: it fails, and nothing is tried again."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        from vde_dagster.lakehouse.connect import give_up_retries

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
        """Raise KeyboardInterrupt if somebody wants nothing more computed."""
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
        except IndexError:  # there are as many as threads have been at work at once
            return Lane.beside(main)


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
