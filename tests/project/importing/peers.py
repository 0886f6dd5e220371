"""Other tools in environments of their own, made once in the folder .tools."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_HOME: Final = Path(__file__).parents[3] / ".tools" / "peers"
SQLMESH: Final = "sqlmesh==0.236.4"
DBT: Final = ("dbt-core==1.11.16", "dbt-duckdb==1.11.1", "pandas", "pyarrow")
"""1.12 asks for a parser that is built from a download outside of the package index."""
_NEEDED_BY_EXAMPLES: Final = ("google-cloud-bigquery", "bigframes", "faker")


@dataclass(frozen=True, slots=True)
class Peer:
    """An environment with another tool: its Python, and the folder of what came with it."""

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.folder / "bin" / "python"

    def run(self, *arguments: str | Path, cwd: Path) -> str:
        """What a call of its Python printed."""
        command = [str(self.python), *map(str, arguments)]
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-5000:]
        return done.stdout


def sqlmesh() -> Peer:
    """SQLMesh with the examples of its source distribution, which are in ``examples``."""
    return _made("sqlmesh", (SQLMESH, *_NEEDED_BY_EXAMPLES), _with_examples)


def dbt() -> Peer:
    """dbt with DuckDB, and what models in Python need."""
    return _made("dbt", DBT, lambda _: None)


def _with_examples(peer: Peer) -> None:
    downloads = peer.folder / "downloads"
    _pip(peer, "download", "--no-deps", "--no-binary", "sqlmesh", "-d", str(downloads), SQLMESH)
    (archive,) = downloads.glob("sqlmesh-*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(downloads, filter="data")
    (unpacked,) = downloads.glob("sqlmesh-*/examples")
    shutil.move(unpacked, peer.folder / "examples")
    kinds = peer.folder / "examples" / "custom_materializations"
    _pip(peer, "install", "--no-deps", str(kinds))


def _made(name: str, requirements: Sequence[str], finish: Callable[[Peer], None]) -> Peer:
    peer = Peer(_HOME / name)
    stamp, said = peer.folder / "stamp", "\n".join([*requirements, sys.version])
    with _locked(name):
        if not stamp.is_file() or stamp.read_text() != said:
            shutil.rmtree(peer.folder, ignore_errors=True)
            venv.create(peer.folder, with_pip=True)
            _pip(peer, "install", *requirements)
            finish(peer)
            stamp.write_text(said)
    return peer


def _pip(peer: Peer, *arguments: str) -> None:
    command = [str(peer.python), "-m", "pip", "-q", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """One process at a time makes an environment."""
    _HOME.mkdir(parents=True, exist_ok=True)
    with (_HOME / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
