"""What a Spark Connect server must have is asked before any work; on a stand-in for its client.

`tests/platform` opens a session on a real one.
"""

from __future__ import annotations

import atexit
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.connect import session as connect_session
from pyspark.sql.connect.client.retries import RetryPolicy

from vde_dagster.core.errors import EvaluationFailed, SetupError
from vde_dagster.lakehouse.spark.connect import (
    analysed_once,
    end,
    end_with_this_process,
    give_up_retries,
    named,
    open_remote,
    require_catalog,
    require_own_frame,
    tried_once,
)
from vde_dagster.lakehouse.spark.jars import ICEBERG_EXTENSIONS
from vde_dagster.lakehouse.spark.lanes import Lane, OwnSession
from vde_dagster.lakehouse.staging.evaluation import first_useful_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ICEBERG = {"spark.sql.extensions": f"another.Extension,{ICEBERG_EXTENSIONS}"}


class Conf:
    """The settings of a session."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.getAll = settings

    def get(self, key: str, default: str) -> str:
        return self.getAll.get(key, default)


class Builder:
    """What `SparkSession.builder` is: it opens a session on a server with some settings.

    The server takes what a session sets, but for ``fixed``.
    """

    def __init__(self, server: dict[str, str], *, fixed: tuple[str, ...] = ()) -> None:
        self._settings = dict(server)
        self._fixed = fixed

    def remote(self, _address: str) -> Builder:
        return self

    def config(self, key: str, value: str) -> Builder:
        if key not in self._fixed:
            self._settings[key] = value
        return self

    def getOrCreate(self) -> SimpleNamespace:  # noqa: N802 - pyspark's name
        return SimpleNamespace(conf=Conf(self._settings))


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where somebody listens."""
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield f"sc://127.0.0.1:{listening.getsockname()[1]}"


def opened(patch: pytest.MonkeyPatch, address: str, builder: object, **conf: str) -> SparkSession:
    patch.setattr(SparkSession, "builder", builder)
    return open_remote(address, {key.replace("_", "."): value for key, value in conf.items()})


def test_a_server_with_icebergs_extensions_is_used_with_the_settings_of_the_session(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = opened(monkeypatch, address, Builder(ICEBERG), spark_sql_shuffle_partitions="7")
    assert found.conf.getAll == {**ICEBERG, "spark.sql.shuffle.partitions": "7"}


@pytest.mark.parametrize("settings", [{}, {"spark.sql.extensions": "another.Extension"}])
def test_a_server_without_them_is_refused_with_what_to_start_it_with(
    address: str, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
) -> None:
    wanted = re.escape(f"--conf spark.sql.extensions={ICEBERG_EXTENSIONS}")
    with pytest.raises(SetupError, match=f"without Iceberg's SQL extensions.*{wanted}"):
        opened(monkeypatch, address, Builder(settings))


def test_a_setting_that_the_server_does_not_take_is_refused_only_if_rows_depend_on_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, ansi = "spark.executor.memory", "spark.sql.ansi.enabled"
    builder = Builder(ICEBERG, fixed=(memory, ansi))
    opened(monkeypatch, address, builder, spark_executor_memory="4g")
    with pytest.raises(SetupError, match=f"does not accept {re.escape(ansi)} as session"):
        opened(monkeypatch, address, builder, spark_sql_ansi_enabled="false")


def test_where_nobody_listens_that_is_said_at_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=rf"no answer from 127\.0\.0\.1:{port}, the"):
            opened(monkeypatch, f"sc://127.0.0.1:{port}", Builder(ICEBERG))


class Failing:
    """A server whose answer is an error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def remote(self, _address: str) -> Failing:
        raise self._error


@pytest.mark.parametrize(
    "error,said",
    [
        (PySparkException("refused\nby a server"), "cannot be used: refused. Check that"),
        (ImportError("no grpc"), r"more packages: .*vde-dagster\[connect\]' \(no grpc\)"),
    ],
)
def test_what_pyspark_says_becomes_one_line(
    address: str, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    with pytest.raises(SetupError, match=said) as caught:
        opened(monkeypatch, address, Failing(error))
    assert "by a server" not in str(caught.value)


@pytest.mark.parametrize("cached", [{}, {"spark.sql.catalog.lake.cache-enabled": "true"}])
def test_a_server_that_keeps_tables_of_the_catalog_is_refused(cached: dict[str, str]) -> None:
    """It would not see what a model of the same run has published."""
    settings = {"spark.sql.catalog.lake": "a.B", **cached}
    session = cast("SparkSession", SimpleNamespace(conf=Conf(settings)))
    start = re.escape("start it with --conf spark.sql.catalog.lake.cache-enabled=false, and remove")
    with pytest.raises(SetupError, match=rf"caches the tables of the catalog 'lake'.*{start}"):
        require_catalog(session, "lake")
    with pytest.raises(SetupError, match=r"does not know the catalog 'other'.*catalog\.other and"):
        require_catalog(session, "other")


def remote_class(name: str) -> Any:
    """A class as Spark Connect's client has it."""
    return type(name, (), {"__module__": "pyspark.sql.connect.session"})


def ending(calls: list[object]) -> Any:
    """A session of Spark Connect that notes what it is asked for at its end."""
    session = remote_class("SparkSession")()
    session.client = SimpleNamespace(get_retry_policies=list, set_retry_policies=calls.append)
    session.stop = lambda: calls.append("stop")
    return session


def test_a_session_is_ended_without_another_try() -> None:
    calls: list[object] = []
    end(ending(calls))
    end(cast("SparkSession", SimpleNamespace(stop=lambda: calls.append("of this process"))))
    assert calls == [[], "stop", "of this process"]


def test_only_a_server_is_told_once_that_this_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[object, object]] = []
    monkeypatch.setattr(atexit, "register", lambda *of: told.append(of))
    session = ending([])
    for each in (session, session, cast("SparkSession", SimpleNamespace())):
        end_with_this_process(each)
    assert told == [(end, session)]


class Frame:
    """A frame that becomes a view of a session."""

    def __init__(self, views: dict[str, object]) -> None:
        self.views = views

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802 - pyspark's name
        self.views[name.strip("`")] = f"analysed {len(self.views)}"


def test_over_spark_connect_a_frame_is_analysed_when_it_is_made() -> None:
    """Else two batches, whose views have the same names, would both read those of the second."""
    views: dict[str, object] = {}
    session = remote_class("SparkSession")()
    session.table = views.__getitem__
    session.catalog = SimpleNamespace(dropTempView=views.pop)
    frame = cast("DataFrame", Frame(views))
    with analysed_once(session, frame) as first, analysed_once(session, frame) as second:
        found: list[object] = [first, second]
        assert found == ["analysed 0", "analysed 1"]
    assert views == {}
    with analysed_once(cast("SparkSession", SimpleNamespace()), frame) as same:
        assert same is frame, "elsewhere"


EXCEEDED = pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED")


class Tries(RetryPolicy):
    """Tries again what failed, three times without a pause, and counts what its own thread tries.

    What failed is released in threads of pyspark's, at any time after it.
    """

    def __init__(self) -> None:
        super().__init__(max_retries=3, initial_backoff=0)
        self.thread = threading.get_ident()
        self.failed = 0

    def can_retry(self, exception: BaseException) -> bool:
        if threading.get_ident() == self.thread:
            self.failed += 1
        return True


@pytest.fixture
def gone() -> Iterator[tuple[SparkSession, Tries]]:
    """A real session of Spark Connect's client whose server is gone, and how often it tries."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
    session: Any = connect_session.SparkSession(f"sc://127.0.0.1:{port}")
    tries = Tries()
    session.client.set_retry_policies([tries])
    yield session, tries
    end(session)


@EXCEEDED
def test_what_is_asked_of_a_server_is_tried_again_until_somebody_gives_up(
    gone: tuple[SparkSession, Tries],
) -> None:
    session, tries = gone
    with tried_once(session), pytest.raises(PySparkException):
        session.catalog.dropTempView("a")
    assert tries.failed == 0
    with pytest.raises(PySparkException):
        session.catalog.dropTempView("a")
    assert tries.failed > 3
    before = tries.failed
    give_up_retries(session)
    with pytest.raises(PySparkException):
        session.catalog.dropTempView("a")
    assert tries.failed == before


class Failed(Exception):
    """What was wrong in the first place."""


@EXCEEDED
@pytest.mark.parametrize("error", [Failed("the query"), KeyboardInterrupt()])
def test_views_that_cannot_be_dropped_after_an_error_hide_it_not_and_nobody_waits(
    gone: tuple[SparkSession, Tries], error: BaseException
) -> None:
    session, tries = gone
    tries.max_retries = 0
    frames = dict.fromkeys("ab", cast("DataFrame", Frame({})))
    with pytest.raises(PySparkException), named(session, frames):
        pass  # where there was no error, it is one
    tries.max_retries, tries.failed = 3, 0
    with pytest.raises(type(error)) as raised, named(session, frames):
        raise error
    assert raised.value is error
    assert tries.failed == 0
    assert cast("Any", session).client.get_retry_policies() == [tries]


def test_a_thread_whose_server_is_gone_is_interrupted_at_once(
    gone: tuple[SparkSession, Tries],
) -> None:
    session, tries = gone
    own = OwnSession(session)
    own._own = session
    lane = Lane(session)
    lane.own = own
    lane.interrupt()
    assert tries.failed == 0
    assert cast("Any", session).client.get_retry_policies() == []


def test_a_frame_of_another_session_is_refused_with_what_to_use(
    gone: tuple[SparkSession, Tries],
) -> None:
    session, _ = gone
    other: Any = connect_session.SparkSession("sc://127.0.0.1:1")
    require_own_frame(session, session.range(1), place="models/a.py: run")
    with pytest.raises(
        EvaluationFailed,
        match=r"^models/a\.py: run returns a DataFrame of another.*with context\.spark",
    ):
        require_own_frame(session, other.range(1), place="models/a.py: run")
    here = cast("SparkSession", SimpleNamespace())
    require_own_frame(here, cast("DataFrame", SimpleNamespace(sparkSession=None)), place="a")
    end(other)


class OfServer(PySparkException):
    """An error of Spark Connect, which has its causes as a text, and often no class of Spark's."""

    def getMessage(self) -> str:  # noqa: N802 - pyspark's name
        return str(self)

    def getStackTrace(self) -> str:  # noqa: N802 - pyspark's name
        return (
            "org.apache.spark.SparkException\n\tat a.B.c(D.scala:1)\n"
            "Caused by: org.apache.spark.SparkException: [WRITING_JOB_ABORTED] Aborted\n"
            "Caused by: org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] rows share"
            " the key (id) = (1): 2 of them. SQLSTATE: P0001\n\tat e.F.g(H.scala:2)"
        )


def test_the_cause_of_an_error_on_the_server_is_what_people_read() -> None:
    error = OfServer("Job aborted due to stage failure: Task 0 failed\nDriver stacktrace:")
    assert first_useful_line(error) == "rows share the key (id) = (1): 2 of them."


def test_importing_the_module_loads_no_pyspark() -> None:
    code = "import sys, vde_dagster.lakehouse.spark.connect; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
