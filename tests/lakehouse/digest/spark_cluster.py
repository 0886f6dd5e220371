"""A Spark cluster on this machine whose workers are on hosts of their own.

Spark runs a speculative copy of a task on another host than the task, so the workers of
``local-cluster``, which share one, never do. Here each has an address of the loopback network.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from vde_dagster.lakehouse.jars import spark_home

MASTER: Final = "127.0.0.1"
WORKERS: Final = ("127.0.0.2", "127.0.0.3")
_PATIENCE: Final = 600.0


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The master's URL, while it and two workers of one core each run."""
    port = _free_port()
    url = f"spark://{MASTER}:{port}"
    with ExitStack() as processes:
        at = ["--host", MASTER, "--port", str(port), "--webui-port", "0"]
        processes.enter_context(_running(folder, "master.Master", MASTER, at))
        for host in WORKERS:
            work = ["--work-dir", str(folder / host), "--cores", "1", "--memory", "1g"]
            at = ["--host", host, "--webui-port", "0", *work, url]
            processes.enter_context(_running(folder, "worker.Worker", host, at))
        yield url


@contextmanager
def _running(folder: Path, name: str, host: str, arguments: Sequence[str]) -> Iterator[None]:
    home = spark_home()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": host,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(folder / f"scratch of {host}"),
    }
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with (folder / f"{host} {name}.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # with the executors that it started
        process.wait(timeout=_PATIENCE)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((MASTER, 0))
        port: int = found.getsockname()[1]
        return port
