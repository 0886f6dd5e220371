"""``./run sim``: tells generated histories, and prints the seeds of those that end wrongly."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.simulator.simulation import tell
from tests.simulator.steps import history


def main(words: Iterable[str] | None = None) -> int:
    """Tell the histories that were asked for; 1 if one of them ends wrongly."""
    parser = argparse.ArgumentParser(prog="./run sim", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--histories", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("-n", type=int, default=2, dest="processes")
    asked = parser.parse_args(None if words is None else [*words])
    began, told, wrong = time.monotonic(), Counter[str](), 0
    with ProcessPoolExecutor(asked.processes) as pool:
        seeds = range(asked.seed, asked.seed + asked.histories)
        futures = {pool.submit(ended, seed, asked.steps): seed for seed in seeds}
        for future in as_completed(futures):
            counted, why = future.result()
            told += counted
            if why:
                wrong += 1
                again = f"./run sim --seed {futures[future]} --histories 1 --steps {asked.steps}"
                print(f"{why}\nAgain: {again}\n", flush=True)
    for outcome, count in sorted(told.items()):
        print(f"{count:7,} {outcome}")
    took = time.monotonic() - began
    print(f"{wrong} of {asked.histories} histories ended wrongly; {took:.0f} s")
    return 1 if wrong else 0


def ended(seed: int, steps: int) -> tuple[Counter[str], str]:
    """How often each command of a history ended in which way, and why the history is wrong."""
    try:
        return tell(history(seed, length=steps)).told, ""
    except Exception as error:
        causes = traceback.format_exception(error.__cause__) if error.__cause__ else []
        notes = getattr(error, "__notes__", [])
        return Counter(), "\n".join([f"seed {seed}: {error}", *notes, *causes])


if __name__ == "__main__":
    sys.exit(main())
