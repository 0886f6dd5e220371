"""Spark as a team has it, on this machine: a cluster, and a server of Spark Connect.

All of it is in the installed pyspark. Spark runs a speculative copy of a task on another host than
the task, so the workers of ``local-cluster``, which share one, never do. Here each has an address
of the loopback network.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.dagster_server import free_port
from tests.platform.programs import LOOPBACK, Program, running
from vde_dagster.lakehouse.spark.jars import (
    ICEBERG_EXTENSIONS,
    jars_cache,
    resolve_jars,
    spark_home,
)
from vde_dagster.lakehouse.spark.java import environment_for, find_java

WORKERS: Final = ("127.0.0.2", "127.0.0.3")


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The master's URL, while it and two workers run."""
    with ExitStack() as programs:
        url = programs.enter_context(master(folder))
        for host in WORKERS:
            programs.enter_context(worker(folder, host, url))
        yield url


@contextmanager
def master(folder: Path) -> Iterator[str]:
    """The URL of a master without workers, while it runs."""
    port = free_port()
    at = ["--host", LOOPBACK, "--port", str(port), "--webui-port", "0"]
    with _of_spark(folder, LOOPBACK, "master", _deployed("Master", at)) as program:
        program.wait_until_it_answers(port)
        yield f"spark://{LOOPBACK}:{port}"


@contextmanager
def worker(folder: Path, host: str, url: str) -> Iterator[None]:
    """A worker of two cores and 1 GB for a master, while it runs."""
    work = ["--work-dir", str(folder / host), "--cores", "2", "--memory", "1g"]
    at = ["--host", host, "--webui-port", "0", *work, url]
    with _of_spark(folder, host, "worker", _deployed("Worker", at)):
        yield


@contextmanager
def connect_server(folder: Path, catalog: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a server with Iceberg's jars, while it runs.

    It knows no catalog but by these settings.
    """
    port = free_port()
    conf = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.extraClassPath": os.pathsep.join(map(str, resolve_jars())),
        "spark.driver.memory": "1g",
        "spark.sql.extensions": ICEBERG_EXTENSIONS,
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "server_warehouse"),
        "spark.ui.enabled": "false",
        **(catalog or {}),
    }
    settings = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command = ["spark-submit", *server, "--master", "local[2]", *settings, "spark-internal"]
    with _of_spark(folder, LOOPBACK, "connect", command) as program:
        program.wait_until_it_answers(port)
        yield f"sc://{LOOPBACK}:{port}"


def _deployed(name: str, arguments: Sequence[str]) -> list[str]:
    module = name.lower()
    return ["spark-class", f"org.apache.spark.deploy.{module}.{name}", *arguments]


@contextmanager
def _of_spark(folder: Path, host: str, name: str, command: Sequence[str]) -> Iterator[Program]:
    """One of Spark's programs, with the processes that it starts."""
    home = spark_home()
    environment = {
        **environment_for(find_java(), jars_cache() / "java_homes"),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONNECT_MODE": "0",  # as Spark's own scripts for servers
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": host,
        "SPARK_DAEMON_MEMORY": "1g",  # a server of Spark Connect takes it, too
        "SPARK_LOCAL_DIRS": str(folder / f"scratch of {host} {name}"),
    }
    script = str(home / "bin" / command[0])
    log = folder / f"{host} {name}.log"
    with running([script, *command[1:]], log, environment) as program:
        yield program
