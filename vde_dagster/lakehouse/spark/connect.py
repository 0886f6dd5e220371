"""Spark Connect: its session is opened here, and here is what has to be done otherwise over it.

The server is another process, most often on another machine. Its jars, its extensions and all else
that is read when a JVM starts are its own, so whether it has what models need is asked before any
work. It analyses a frame again whenever the frame is used.

Importing this module loads no pyspark.
"""

from __future__ import annotations

import atexit
import os
import re
import socket
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import uuid4

from vde_dagster.core.connect_address import ConnectAddress
from vde_dagster.core.errors import EvaluationFailed, SetupError
from vde_dagster.core.model.session_settings import PINNED, may_change_results
from vde_dagster.lakehouse.iceberg.tables import quoted
from vde_dagster.lakehouse.spark.jars import ICEBERG_EXTENSIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EXTENSIONS: Final = "spark.sql.extensions"
_REACH_SECONDS: Final = 10.0
"""pyspark itself goes on trying for ten minutes, without a word."""
_PROXIES: Final = ("grpc_proxy", "https_proxy", "http_proxy")
"""The environment variables of the proxies that gRPC goes through."""


def is_remote(of: object) -> bool:
    """Whether a session or a frame is one of Spark Connect."""
    return type(of).__module__.startswith("pyspark.sql.connect.")


def open_remote(remote: str, conf: Mapping[str, str]) -> SparkSession:
    """This process's session on a Spark Connect server, opened if there is none.

    Args:
        remote: The server's address, ``sc://...``.
        conf: Spark's settings of the session. A server takes only those of a session; of the others
            those that change no rows are left to it.

    Raises:
        SetupError: Packages are missing, nothing answers there, or the server cannot do what models
            need.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    server = ConnectAddress.parse(remote)
    _reach(server)
    try:
        builder = SparkSession.builder.remote(remote)
        for key, value in conf.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        end_with_this_process(session)
        _expect_pinned_settings()
        _require_what_models_need(session, server, conf)
    except ImportError as error:
        raise SetupError(
            f"Spark Connect needs more packages: pip install 'vde-dagster[connect]' ({error})"
        ) from error
    except PySparkException as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise SetupError(
            f"the Spark Connect server at {server} cannot be used: {why}",
            advice="Check that it runs Spark 4.1, and that `spark.remote` in vde.yaml has the "
            "parameters that it needs, such as use_ssl and token.",
        ) from error
    return session


def _expect_pinned_settings() -> None:
    """Show no warning that a setting is deprecated which each session of models gets.

    It gets Spark's default, so that another program's settings change no rows.
    """
    for key in PINNED:
        told = f"The SQL config '{re.escape(key)}' has been deprecated"
        warnings.filterwarnings("ignore", message=told, category=UserWarning)


def require_catalog(session: SparkSession, name: str) -> None:
    """Refuse a server that does not know the project's catalog, or keeps its tables.

    A table that Iceberg keeps in the server hides what is committed to it without the server: a
    model would not see what was published before it, in the same run.

    Raises:
        SetupError: It does not know it, or keeps them.
    """
    key = f"spark.sql.catalog.{name}"
    if not session.conf.get(key, ""):
        raise SetupError(
            f"the Spark Connect server does not know the catalog {name!r}",
            advice=f"set {key} and its options in `spark.conf` of vde.yaml, or on the server.",
        )
    cached = f"{key}.cache-enabled"
    if str(session.conf.get(cached, "true")).lower() != "false":
        raise SetupError(
            f"the Spark Connect server caches the tables of the catalog {name!r}, so it would "
            "miss new commits",
            advice=f"start it with --conf {cached}=false, and remove {cached} from `spark.conf` "
            "of vde.yaml.",
        )


def end_with_this_process(session: SparkSession) -> None:
    """End a server's session when it is not needed any more; else the server keeps it for an hour.

    A session of a JVM of this process ends with that anyway.
    """
    if is_remote(session) and session not in _TO_BE_ENDED:
        _TO_BE_ENDED.add(session)
        atexit.register(end, session)


_TO_BE_ENDED: Final[set[SparkSession]] = set()


def end(session: SparkSession) -> None:
    """End a session. If its server has ended, it has ended too: there is no wait."""
    give_up_retries(session)
    session.stop()


def give_up_retries(session: SparkSession) -> None:
    """Let nothing that is asked of a server be tried again, from now on; any thread may call this.

    pyspark's default goes on trying for ten minutes. A thread that is at that already ends with its
    next try.
    """
    if is_remote(session):
        client = cast("Any", session).client  # its type is not a type
        for policy in client.get_retry_policies():
            policy.max_retries = 0
        client.set_retry_policies([])


@contextmanager
def tried_once(session: SparkSession) -> Iterator[None]:
    """Ask a server once for each thing meanwhile, and never again: it may be down."""
    if not is_remote(session):
        yield
        return
    client = cast("Any", session).client  # its type is not a type
    policies = client.get_retry_policies()
    client.set_retry_policies([])
    try:
        yield
    finally:
        client.set_retry_policies(policies)


@contextmanager
def named(spark: SparkSession, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Frames under the names of temporary views, which are dropped at the end.

    After an error, or Ctrl-C, nothing waits for a server or a JVM that may be down, and what it
    says by then hides no error: a view that is left does no harm.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(quoted(name))
        yield
    except BaseException:
        with tried_once(spark), suppress(PySparkException, Py4JError, OSError):
            _drop(spark, frames)
        raise
    _drop(spark, frames)


def _drop(spark: SparkSession, names: Iterable[str]) -> None:
    for each in names:
        spark.catalog.dropTempView(each)


def require_own_frame(spark: SparkSession, frame: DataFrame, *, place: str) -> None:
    """Refuse a frame of another session where that knows nothing of this one: over Spark Connect.

    Args:
        spark: The session that a model was given.
        frame: What its function returned.
        place: The function.

    Raises:
        EvaluationFailed: The frame is another session's.
    """
    if not is_remote(spark) or _session_id(frame.sparkSession) == _session_id(spark):
        return
    raise EvaluationFailed(
        f"{place} returns a DataFrame of another Spark session, which over Spark Connect does not "
        "know the model's tables",
        advice="Create it with context.spark, not with SparkSession.getActiveSession() or "
        "SparkSession.builder.",
    )


def _session_id(session: SparkSession) -> str:
    """What a server knows a session by; none where it is not a server's."""
    return str(getattr(session, "session_id", ""))


@contextmanager
def analysed_once(spark: SparkSession, frame: DataFrame) -> Iterator[DataFrame]:
    """The same rows, whatever becomes of the temporary views that the frame's query names.

    A session of this process analyses a query when it makes a frame of it. Over Spark Connect the
    text is analysed whenever the frame is used, and means the views that then have these names: a
    batch would read what was named for the next one. As a temporary view it is analysed once.

    Args:
        spark: The session that the frame is of.
        frame: What a query or a user's function returned.
    """
    if not is_remote(spark):
        yield frame
        return
    name = f"vde_analysed_{uuid4().hex}"
    with named(spark, {name: frame}):
        yield spark.table(name)


def _reach(server: ConnectAddress) -> None:
    """See that a program listens there, where nothing is in between."""
    if any(os.environ.get(name) for name in _PROXIES):
        return
    try:
        socket.create_connection((server.host, server.port), timeout=_REACH_SECONDS).close()
    except OSError as error:
        raise SetupError(
            f"no answer from {server}, the address in `spark.remote` of vde.yaml "
            f"({error.strerror or error})",
            advice="Start the Spark Connect server there, or correct the address.",
        ) from error


def _require_what_models_need(
    session: SparkSession, server: ConnectAddress, conf: Mapping[str, str]
) -> None:
    present = session.conf.getAll
    if ICEBERG_EXTENSIONS not in present.get(_EXTENSIONS, ""):
        raise SetupError(
            f"the Spark Connect server at {server} runs without Iceberg's SQL extensions, so it "
            "cannot use branches of tables",
            advice=f"Start it with --conf {_EXTENSIONS}={ICEBERG_EXTENSIONS} and with the jars of "
            "Iceberg and of the catalog's driver.",
        )
    refused = [key for key in conf if may_change_results(key) and present.get(key) != conf[key]]
    if refused:
        raise SetupError(
            f"the Spark Connect server at {server} does not accept {', '.join(sorted(refused))} "
            "as session settings, and rows may depend on them",
            advice="Start it with the values from `spark.conf` in vde.yaml.",
        )
