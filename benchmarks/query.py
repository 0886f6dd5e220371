"""`vde query` on the example: wall and CPU seconds of new processes, medians; no JVM starts.

The example is built by `vde demo` first, which takes Spark and a minute or two. The aim is an
answer within two seconds.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.measuring import Settings, Step, alternating, cpu_seconds, print_table

MOST_SECONDS: Final = 2
QUERIES: Final = {
    "rows of a table": "SELECT * FROM mart.carrier_delays LIMIT 10",
    "a count": "SELECT COUNT(*) AS flights FROM core.flights",
    "a join and a sum": (
        "SELECT a.name, COUNT(*) AS flights FROM core.flights AS f "
        "JOIN staging.airlines AS a ON a.carrier = f.carrier GROUP BY a.name ORDER BY flights DESC"
    ),
}


_DEMO: Final = Path(__file__).parents[1] / "examples/demo/demo.py"


def built(folder: Path) -> Path:
    """The example, built in a folder unless it is there."""
    example = folder / "query" / "nyc_flights"
    if not (example / ".built").exists():
        print("building the example ...", file=sys.stderr)
        subprocess.run(
            [sys.executable, str(_DEMO), str(example), "--no-story", "--format", "json"],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        (example / ".built").touch()
    return example


def ask(folder: Path, sql: str) -> Step:
    """One query in a process of its own; DuckDB alone may answer it."""
    command = [_vde(), "query", sql, "--engine", "duckdb", "--format", "csv"]
    before, started = cpu_seconds(), time.perf_counter()
    answer = subprocess.run(
        [*command, "--project", str(folder)], capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - started
    assert len(answer.stdout.splitlines()) > 1, answer.stdout + answer.stderr
    return {"wall": seconds, "CPU": cpu_seconds() - before}


def _vde() -> str:
    return str(Path(sys.executable).with_name("vde"))


def main(settings: Settings) -> None:
    """Print a line for each query."""
    folder = built(settings.folder)
    runs = {(name,): partial(ask, folder, sql) for name, sql in QUERIES.items()}
    found = alternating(settings.rounds, runs)
    print("`vde query` on the example: seconds, medians")
    rows: list[list[str | float]] = [
        [name, *each.values(), f"over {MOST_SECONDS} s" if each["wall"] > MOST_SECONDS else ""]
        for (name,), each in found.items()
    ]
    print_table(["query", "wall", "CPU", ""], rows)
