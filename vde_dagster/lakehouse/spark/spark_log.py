"""Whether Spark writes errors, with Java's stacks, to the terminal of this process.

A task that fails is logged by the JVM and by pyspark, several times, and is also the error of
the caller. The command line says the latter, once, and lets the former be seen where it
is asked for; a run of Dagster keeps both in its compute logs. It has to be decided before the JVM
starts.
"""

from __future__ import annotations

import logging
from typing import Final

_LOG: Final = logging.getLogger(__name__)
_LEVEL: Final = "vde.spark.log"
"""The system property that `log4j2.properties` has its level from."""
_THEIRS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Where pyspark logs, as JSON, each error with a place in a query that it raises."""


def show_errors(shown: bool) -> None:
    """Let the JVMs that this process starts from now on write errors, or nothing."""
    _LOG.setLevel(logging.NOTSET if shown else logging.CRITICAL)


def prepare_pyspark() -> None:
    """Let pyspark log its errors, or nothing, as the JVM does."""
    from pyspark.logger import PySparkLogger

    for name in _THEIRS:
        PySparkLogger.getLogger(name).setLevel(_LOG.getEffectiveLevel())


def level_option() -> str:
    """The JVM's option for what is shown."""
    return f"-D{_LEVEL}={'error' if _LOG.isEnabledFor(logging.ERROR) else 'off'}"
