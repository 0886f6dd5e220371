"""`./run bench [NAME ...]`: runs the named benchmarks; without a name those that are quick."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import (
    commands,
    concurrency,
    dagster_load,
    dagster_steps,
    dsha,
    growth,
    history,
    imports,
    keyed,
    late_data,
    lookback,
    lookback_spark,
    peer,
    planning,
    promotion,
    query,
    rest_views,
    size,
    staleness,
    unit_of_work,
)
from benchmarks.measuring import DEFAULT_SHAPES, Settings
from benchmarks.projects import Shape

BENCHMARKS: dict[str, Callable[[Settings], None]] = {
    "size": size.main,
    "imports": imports.main,
    "planning": planning.main,
    "commands": commands.main,
    "promotion": promotion.main,
    "query": query.main,
    "rest": rest_views.main,
    "dagster": dagster_load.main,
    "steps": dagster_steps.main,
    "sqlmesh": peer.main,
    "dsha": dsha.main,
    "growth": growth.main,
    "staleness": staleness.main,
    "history": history.main,
    "models": history.models,
    "sizes": history.sizes,
    "late": late_data.main,
    "lookback": lookback.main,
    "lookback-spark": lookback_spark.main,
    "concurrency": concurrency.main,
    "keyed": keyed.main,
    "unit": unit_of_work.main,
}
ON_REQUEST = (
    "size",
    "sqlmesh",
    "dsha",
    "growth",
    "promotion",
    "query",
    "rest",
    "staleness",
    "history",
    "models",
    "sizes",
    "late",
    "lookback",
    "lookback-spark",
    "concurrency",
    "keyed",
    "unit",
)
"""Benchmarks that download another tool, or keep the machine busy for long."""


def _shape(text: str) -> Shape:
    chain = text.startswith("chain")
    return Shape(int(text.removeprefix("chain")), chain=chain)


def main(arguments: Sequence[str]) -> int:
    """Run benchmarks."""
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument(
        "--shapes",
        nargs="+",
        type=_shape,
        default=DEFAULT_SHAPES,
        help="such as: 250 1000 chain1000",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000_000, help="of dsha and growth")
    parser.add_argument("--source-rows", type=int, default=200_000, help="of concurrency")
    parser.add_argument("--folder", type=Path, help="keeps the projects for the next time")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    names = given.names or [name for name in BENCHMARKS if name not in ON_REQUEST]
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        settings = Settings(
            shapes=given.shapes,
            rounds=given.rounds,
            folder=folder,
            rows=given.rows,
            source_rows=given.source_rows,
        )
        for name in names:
            BENCHMARKS[name](settings)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
