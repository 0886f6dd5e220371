"""Spark as a team has it, on this machine: a cluster, and a server of Spark Connect.

Spark runs a speculative copy of a task on another host than the task, so the workers of
``local-cluster``, which share one, never do. Here each has an address of the loopback network.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.dagster_server import free_port
from vde_dagster.lakehouse.jars import resolve_jars, spark_home
from vde_dagster.lakehouse.session import ICEBERG_EXTENSIONS

MASTER: Final = "127.0.0.1"
WORKERS: Final = ("127.0.0.2", "127.0.0.3")
_PATIENCE: Final = 600.0


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The master's URL, while it and two workers of one core each run."""
    port = free_port()
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
def connect_server(folder: Path) -> Iterator[str]:
    """The address of a server with Iceberg's jars, while it runs and answers."""
    port = free_port()
    conf = {
        "spark.connect.grpc.binding.address": MASTER,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.extraClassPath": os.pathsep.join(map(str, resolve_jars())),
        "spark.sql.extensions": ICEBERG_EXTENSIONS,
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "warehouse of the server"),
        "spark.ui.enabled": "false",
    }
    settings = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command = ["spark-submit", *server, "--master", "local[2]", *settings, "spark-internal"]
    with _process(folder, "connect", MASTER, command) as process:
        end = time.monotonic() + _PATIENCE
        while not _answers(port):
            assert process.poll() is None, (folder / f"{MASTER} connect.log").read_text("utf-8")
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.2)
        yield f"sc://{MASTER}:{port}"


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((MASTER, port)) == 0


@contextmanager
def _running(folder: Path, name: str, host: str, arguments: Sequence[str]) -> Iterator[None]:
    command = ["spark-class", f"org.apache.spark.deploy.{name}", *arguments]
    with _process(folder, name, host, command):
        yield


@contextmanager
def _process(
    folder: Path, name: str, host: str, command: Sequence[str]
) -> Iterator[subprocess.Popen[bytes]]:
    """One of Spark's programs, until the end of the block."""
    home = spark_home()
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": host,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(folder / f"scratch of {host}"),
    }
    program = str(home / "bin" / command[0])
    with (folder / f"{host} {name}.log").open("wb") as log:
        process = subprocess.Popen(
            [program, *command[1:]], env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # with the executors that it started
        process.wait(timeout=_PATIENCE)
