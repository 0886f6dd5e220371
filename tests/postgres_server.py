"""A PostgreSQL server of one's own, for tests and for benchmarks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from sqlalchemy import create_engine


def postgres_programs() -> Path | None:
    """The folder of initdb, postgres and pg_ctl, of the newest release; None if there is none."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=_release)
    named = shutil.which("postgres")
    found = [*installed, *([Path(named).resolve()] if named else [])]
    return found[-1].parent if found else None


def new_database(server: str) -> str:
    """The URL of a new, empty database; ``server`` is one with ``{database}`` to fill in."""
    name = f"t{uuid4().hex}"
    engine = create_engine(server.format(database="postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return server.format(database=name)


def _release(program: Path) -> int:
    return int(program.parts[-3])


@contextmanager
def running_server(programs: Path, *, port: int | None = None, password: str = "") -> Iterator[str]:
    """A new server, as long as the block runs; the URL has ``{database}`` to fill in.

    It listens on a Unix socket, and on this port of the loopback device, and does not wait for the
    disk. With a password it answers nobody without it.
    """
    folder = Path(tempfile.mkdtemp(prefix="vde-pg-"))
    user = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = "nobody"
        shutil.chown(folder, user)
    data, log = folder / "data", folder / "log"

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), *arguments]
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

    ways = ["--auth=trust"]
    if password:
        words = folder / "password"
        words.write_text(password, encoding="utf-8")
        ways = ["--auth=scram-sha-256", f"--pwfile={words}"]
    run("initdb", "-D", str(data), "-U", "vde", *ways, "-E", "UTF8", "--no-sync")
    on = "-c listen_addresses=''" if port is None else f"-c listen_addresses=127.0.0.1 -p {port}"
    options = f"-k {folder} {on} -c fsync=off"
    run("pg_ctl", "-D", str(data), "-l", str(log), "-w", "-o", options, "start")
    who = f"vde:{password}" if password else "vde"
    try:
        if port is None:
            yield f"postgresql+psycopg2://{who}@/{{database}}?host={folder}"
        else:
            yield f"postgresql+psycopg2://{who}@127.0.0.1:{port}/{{database}}"
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder)
