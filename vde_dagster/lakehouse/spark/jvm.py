"""Starts Spark's JVM: its settings are on no command line, and it never outlives this process.

Command lines can be read by every user of a machine. So settings go to the JVM in a file that only
this user can read (`private_files`).

pyspark ties the JVM to this process by a pipe that the JVM reads once it is ready. Until then, a
process that ended left a JVM that could not be ended: its main thread failed to write down its
port, and the thread that listens to that went on. Here the kernel ends it together with this
process (Linux), and where this process only gives up waiting it ends the JVM itself.

On Linux a private file has no name, only a number that the process inherits: nothing is left of it,
however both processes end. Elsewhere it lies in a folder of this user alone until it is read.
A program that we write is kept, and no other user can change it.
"""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import SetupError
from vde_dagster.runtime.secrets import without_secrets


class PrivateFiles:
    """Files for one process, made by `private_files`.

    ``folder`` is a folder of this user alone, ``descriptors`` are what the process has to inherit
    (``pass_fds``).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.descriptors: list[int] = []

    def path(self, name: str, text: str) -> str:
        """Where that process will find a text."""
        if hasattr(os, "memfd_create"):  # on Linux
            descriptor = os.memfd_create(name, 0)
            self.descriptors.append(descriptor)
            os.fchmod(descriptor, 0o600)
            _write(os.dup(descriptor), text)
            return f"/proc/self/fd/{descriptor}"
        file = self.folder / name
        _write(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), text)
        return str(file)


@contextmanager
def private_files() -> Iterator[PrivateFiles]:
    """Files for a process that reads them before the end of the ``with`` block."""
    folder = Path(tempfile.mkdtemp(prefix="vde-"))
    files = PrivateFiles(folder)
    try:
        yield files
    finally:
        for each in files.descriptors:
            os.close(each)
        shutil.rmtree(folder, ignore_errors=True)


def replace_program(file: Path, text: str) -> None:
    """Put a script there that this user alone can read, change and run, unless it is there already.

    A process that runs it meanwhile has the whole old or the whole new one.

    Raises:
        OSError: It cannot be written.
    """
    if _has(file, text):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.parent.chmod(0o700)
    descriptor, written = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    try:
        _write(descriptor, text)
        Path(written).chmod(0o700)
        Path(written).replace(file)
    except BaseException:
        Path(written).unlink(missing_ok=True)
        raise


def _has(file: Path, text: str) -> bool:
    """Whether a program is there already, and this user's own that no other user may change."""
    try:
        found = file.stat()
        mode = stat.S_IMODE(found.st_mode)
        return mode == 0o700 and found.st_uid == os.getuid() and file.read_bytes() == text.encode()
    except OSError:
        return False


def properties_text(settings: Mapping[str, str]) -> str:
    """Settings in the form of Java's properties files."""
    return "".join(
        f"{_escaped(key, ' :=')}={_escaped(value, '')}\n" for key, value in settings.items()
    )


def _escaped(text: str, separators: str) -> str:
    known = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    known |= {each: f"\\{each}" for each in separators}
    escaped = "".join(known.get(each, each) for each in text)
    return f"\\{escaped}" if escaped.startswith((" ", "#", "!")) else escaped


def _write(descriptor: int, text: str) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(text.encode())


JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
"""The setting with the driver's Java options: the launcher puts them on the command line."""

# The JVM says this because Spark's launcher asks for the module; nobody can act on it.
_NOISE: Final = b"WARNING: Using incubator modules: jdk.incubator.vector"
_PORT, _TOKEN = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_LOOK_SECONDS: Final = 0.05
_DIE_WITH_PARENT: Final = 1
"""PR_SET_PDEATHSIG of Linux."""
_ONE_AT_A_TIME: Final = threading.Lock()


def start_jvm(conf: Mapping[str, str], environment: Mapping[str, str]) -> object:
    """Start Spark's JVM and connect to it; its standard error is passed on without known noise.

    Args:
        conf: All of its settings.
        environment: What Spark's scripts find Java by, and all else that they inherit.

    Returns:
        pyspark's gateway.

    Raises:
        SetupError: It ended before it was ready.
    """
    with private_files() as private:
        command = _command(conf, private)
        jvm = _Jvm(command, environment, private.folder / "port", private.descriptors)
        jvm.start()
        try:
            port, token = jvm.ready()
            return _connected(jvm, port, token)
        except BaseException:  # Ctrl-C, too: nobody would end it any more
            jvm.end()
            raise


def _command(conf: Mapping[str, str], private: PrivateFiles) -> list[str]:
    from pyspark.find_spark_home import _find_spark_home

    settings, options = dict(conf), conf.get(JAVA_OPTIONS, "")
    if without_secrets(options) != options:
        settings[JAVA_OPTIONS] = "@" + private.path("java_options", _java_arguments(options))
    home: str = _find_spark_home()  # type: ignore[no-untyped-call] # pyspark types it not
    script = Path(home) / "bin" / "spark-submit"
    file = private.path("spark.properties", properties_text(settings))
    arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    return [str(script), "--properties-file", file, "--load-spark-defaults", *arguments]


def _java_arguments(options: str) -> str:
    """Java options as a file of arguments has them."""
    quoted = (each.replace("\\", "\\\\").replace('"', '\\"') for each in shlex.split(options))
    return "".join(f'"{each}"\n' for each in quoted)


class _Jvm:
    """Spark's JVM as a child of this process.

    One thread starts it and stays with it until it finishes: where the kernel ends a child together
    with its parent, that parent is the thread that started it.
    """

    def __init__(
        self,
        command: list[str],
        environment: Mapping[str, str],
        info: Path,
        descriptors: list[int],
    ) -> None:
        self._command, self._info, self._descriptors = command, info, descriptors
        self._environment = environment
        self._errors = _Errors()
        self._started = threading.Event()
        self._failed: OSError | None = None
        self._keeper = threading.Thread(target=self._keep, name="Spark's JVM", daemon=True)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        self._keeper.start()
        self._started.wait()
        if self._failed is not None:
            raise SetupError(f"Spark's Java process cannot be started: {self._failed}")

    def ready(self) -> tuple[int, str]:
        """Wait until it listens; its port, and the token that it accepts."""
        assert self.process is not None, "it was started"
        while not self._info.is_file():
            if self.process.poll() is not None:
                self._keeper.join(timeout=5)
                raise SetupError(
                    f"Spark's Java process ended before it was ready: {self._errors.why()}",
                    advice="Check `spark.master` and `spark.conf` in vde.yaml; nothing was "
                    "changed.",
                )
            time.sleep(_LOOK_SECONDS)
        self._errors.pass_on()
        content = self._info.read_bytes()
        length = int.from_bytes(content[4:8])
        return int.from_bytes(content[:4]), content[8 : 8 + length].decode()

    def end(self) -> None:
        """End it, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _keep(self) -> None:
        environment = {
            **self._environment,
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._info),
        }
        try:
            self.process = subprocess.Popen(
                self._command,
                env=environment,
                stdin=subprocess.PIPE,  # the JVM ends itself when this pipe does
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=self._descriptors,
                preexec_fn=_bound_to_parent(),  # noqa: PLW1509 - two system calls, no locks
            )
        except OSError as error:
            self._failed = error
            return
        finally:
            self._started.set()
        assert self.process.stderr is not None, "it was asked for"
        with self.process.stderr as stream:
            for line in stream:
                self._errors.add(line)
        self.process.wait()


def _bound_to_parent() -> Callable[[], None]:
    """What a child does before it becomes a JVM: Ctrl-C is for its parent, whose end is its own."""
    parent = os.getpid()
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def bound() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if prctl is not None:
            prctl(_DIE_WITH_PARENT, signal.SIGTERM)
            if os.getppid() != parent:  # it ended before the kernel knew of this
                os._exit(1)

    return bound


def _connected(jvm: _Jvm, port: int, token: str) -> object:
    """A gateway of pyspark to a JVM that runs."""
    from pyspark.java_gateway import launch_gateway

    with _ONE_AT_A_TIME:
        os.environ[_PORT], os.environ[_TOKEN] = str(port), token
        try:
            gateway = launch_gateway()  # type: ignore[no-untyped-call] # pyspark types it not
        finally:
            for name in (_PORT, _TOKEN):
                with suppress(KeyError):
                    del os.environ[name]
    gateway.proc = jvm.process
    found: object = gateway
    return found


class _Errors:
    """What the JVM writes to its standard error, which this process passes on once it is ready.

    Until then it is kept: a JVM that ends before is reported in a sentence, not with its stacks.
    """

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._passes = False
        self._lock = threading.Lock()

    def add(self, line: bytes) -> None:
        """Take a line, without secrets and known noise."""
        if line.rstrip() == _NOISE:
            return
        shown = without_secrets(line.decode("utf-8", "surrogateescape"))
        with self._lock:
            if self._passes:
                _write_error(shown)
            else:
                self._kept.append(shown)

    def pass_on(self) -> None:
        """Write what is kept, and from now on each line at once."""
        with self._lock:
            self._passes = True
            for line in self._kept:
                _write_error(line)
            self._kept = []

    def why(self) -> str:
        """What is kept, for people: the error with the line behind it, else the last line."""
        with self._lock:
            told = [line.strip() for line in self._kept if not line.startswith(_OF_A_STACK)]
        told = [line for line in told if line and not line.startswith("Usage: ")]
        first = next((at for at, line in enumerate(told) if _ERROR.search(line)), -1)
        said = "; ".join(told[first:][:2])
        return said.removeprefix('Exception in thread "main" ') or "it printed nothing"


_OF_A_STACK: Final = ("\tat ", "\t...", "    at ")
_ERROR: Final = re.compile(r"Error|Exception")


def _write_error(line: str) -> None:
    # To the descriptor, not to sys.stderr: Dagster redirects that one into its logs.
    os.write(2, line.encode("utf-8", "surrogateescape"))
