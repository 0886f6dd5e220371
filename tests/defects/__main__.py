"""`./run defects [NAME ...]`: plants mistakes in a copy of the code and prints which test fails.

A name is that of a defect, of an area, or a rule (R8); without one all defects are planted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.defects.catalogue import Defect, read_defects
from tests.defects.planting import PYTEST, Outcome, can_simulate, copy_code, find, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: each defect was found; 1: one was not, or tests fail without any."""
    defects = list(read_defects())
    parser = argparse.ArgumentParser(
        prog="./run defects",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the defects, plant none")
    parser.add_argument("-n", type=int, default=2, help="how many at once (2)", metavar="N")
    parser.add_argument(
        "--sim",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="tell generated histories for so long before the tests are run (0)",
    )
    parser.add_argument("--show", action="store_true", help="print what the tests print")
    options = parser.parse_args(arguments)
    known = {name for each in defects for name in _names(each)}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no defect, area or rule {unknown[0]!r}; --list prints them")
    wanted = [each for each in defects if not options.names or _names(each) & {*options.names}]
    if options.list:
        for defect in wanted:
            print(f"{defect.name}\n    {defect.mistake}")
        return 0
    with tempfile.TemporaryDirectory(prefix="vde-defects-") as folder:
        return _plant(wanted, Path(folder), options.n, simulated=options.sim, show=options.show)


def _names(defect: Defect) -> set[str]:
    return {defect.name, defect.area, defect.rule or defect.area}


def _plant(
    defects: Sequence[Defect], folder: Path, processes: int, *, simulated: float, show: bool
) -> int:
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(min(processes, len(defects))):
        copies.put(copy_code(folder / str(number)))
    tests = sorted({test for defect in defects for test in defect.tests})
    at_once = ("-n", str(processes), "--dist", "loadgroup")
    status, output = run([*PYTEST, *at_once, *tests], folder / "0", for_long=True)
    if status != 0:
        print(f"{output}\nThese tests have to pass before a mistake is planted; none was.")
        return 1
    if simulated and not can_simulate(folder / "0"):
        print("The simulator tells no history to its end; no mistake was planted.")
        return 1

    def planted(defect: Defect) -> Outcome:
        copy = copies.get()
        try:
            return find(defect, copy, simulated=simulated)
        finally:
            copies.put(copy)

    missed = by_simulator = 0
    with ThreadPoolExecutor(processes) as pool:
        try:
            for outcome in pool.map(planted, defects):
                missed += outcome.finder is None
                by_simulator += outcome.by_simulator
                _print(outcome, show=show)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    alone = f", {by_simulator} by the simulator alone" if simulated else ""
    print(f"{len(defects) - missed} of {len(defects)} found{alone}")
    return 1 if missed else 0


def _print(outcome: Outcome, *, show: bool) -> None:
    finder = outcome.finder or f"NOT FOUND  {outcome.defect.mistake}"
    print(f"{outcome.defect.name:<56} {outcome.seconds:6.1f} s  {finder}", flush=True)
    if show or outcome.finder is None:
        print(outcome.output)


if __name__ == "__main__":
    sys.exit(main())
