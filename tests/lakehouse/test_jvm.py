"""Spark's JVM ends with the process that started it, at any moment and whatever ends that one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from tests.class_archive import write_class_archive

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 120.0
CODE: Final = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # `./run test &` has it ignored
from vde_dagster.runtime.secrets import remember
from vde_dagster.lakehouse.spark.jars import resolve_jars
from vde_dagster.lakehouse.spark.session import SparkSettings, open_session
conf = {
    "spark.hadoop.fs.s3a.secret.key": "canary-key",
    "spark.sql.catalog.lake.token": "canary-token",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Dstore.password=canary-option",
}
remember(["canary-option"])
def start():
    global session
    session = open_session(SparkSettings(conf=conf), resolve_jars())
worker = threading.Thread(target=start)  # its end is no reason to end the JVM
worker.start() if sys.argv[1] == "thread" else start()
if worker.ident:
    worker.join()
java = session.sparkContext._jvm.java.lang
print(java.System.getProperty("store.password"), conf["spark.hadoop.fs.s3a.secret.key"]
      == session.sparkContext.getConf().get("spark.hadoop.fs.s3a.secret.key")
      == java.System.getProperty("spark.hadoop.fs.s3a.secret.key"), flush=True)
input()
print(session.sql("SELECT 1 + 1 AS two").collect()[0].two, flush=True)
"""


def processes(leader: int) -> dict[int, str]:
    """The command lines of what runs in the session of a process."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            fields = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] not in "ZX":
                command = (folder / "cmdline").read_bytes()
                found[int(folder.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


def wait_until(leader: int, holds: Callable[[dict[int, str]], bool]) -> dict[int, str]:
    deadline = time.monotonic() + PATIENCE
    while not holds(found := processes(leader)):
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


@contextmanager
def starting(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that opens a session, at the head of a group of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *(arguments or ("here",))],
        cwd=ROOT,
        env={**os.environ, "VDE_CLASS_ARCHIVE": os.environ.get("VDE_CLASS_ARCHIVE", "")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        for each in processes(process.pid):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        process.communicate()


def launches(found: dict[int, str]) -> bool:
    """Whether Spark's launcher is at work, which finds out how the JVM is called."""
    return any("launcher.Main" in each for each in found.values())


def starts(found: dict[int, str]) -> bool:
    """Whether the JVM itself is there, and does not listen yet."""
    return any("deploy.SparkSubmit" in each for each in found.values())


def shown(commands: Collection[str]) -> list[str]:
    """The command lines with a secret, but for this file's own code."""
    return [each for each in commands if "canary-" in each and CODE[:40] not in each]


def all_gone(found: dict[int, str]) -> bool:
    return not found


def to_group(number: signal.Signals) -> Callable[[int], None]:
    return lambda leader: os.killpg(leader, number)


def to_process(number: signal.Signals) -> Callable[[int], None]:
    return lambda leader: os.kill(leader, number)


ENDS: Final = {
    "Ctrl-C": to_group(signal.SIGINT),
    "SIGTERM to the group": to_group(signal.SIGTERM),
    "SIGTERM": to_process(signal.SIGTERM),
    "kill -9": to_process(signal.SIGKILL),
}


MOMENTS: Final = ((launches, 0.0), (starts, 0.0), (starts, 0.3), (starts, 0.6), (starts, 0.9))
"""What is seen of the start, and the seconds after that."""


@pytest.mark.spark
@pytest.mark.skipif(sys.platform != "linux", reason="/proc lists the processes")
@pytest.mark.parametrize(
    "end, at",
    [
        pytest.param(
            end, at, marks=() if (end, at) == ("Ctrl-C", (starts, 0.0)) else pytest.mark.full
        )
        for end, at in product(ENDS, MOMENTS)
    ],
)
def test_no_jvm_is_left_by_a_process_that_ends_while_spark_starts(
    end: str, at: tuple[Callable[[dict[int, str]], bool], float]
) -> None:
    moment, seconds = at
    write_class_archive()
    with starting() as process:
        found = wait_until(process.pid, moment)
        assert not shown(found.values())
        time.sleep(seconds)
        ENDS[end](process.pid)
        process.wait(timeout=PATIENCE)
        wait_until(process.pid, all_gone)


@pytest.mark.full  # what takes long is a whole session
@pytest.mark.spark
@pytest.mark.skipif(sys.platform != "linux", reason="/proc lists the processes")
def test_a_session_has_its_secrets_its_command_lines_have_not_and_its_jvm_ends_with_it() -> None:
    """A thread that started it may end, the process may not."""
    write_class_archive()
    with starting("thread") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        commands: set[str] = set()
        os.set_blocking(process.stdout.fileno(), False)
        deadline = time.monotonic() + PATIENCE
        while not (said := process.stdout.readline()):
            assert time.monotonic() < deadline
            commands |= set(processes(process.pid).values())
            time.sleep(0.02)
        assert said == "canary-option True\n"
        commands |= set(processes(process.pid).values())
        assert any("deploy.SparkSubmit" in each for each in commands)
        assert not shown(commands)
        os.set_blocking(process.stdout.fileno(), True)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "2\n"
        process.kill()
        wait_until(process.pid, all_gone)
