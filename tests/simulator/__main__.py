"""``./run sim``: tells generated histories, and shrinks those that end wrongly."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TypeVar

from tests.app.read_models import forget_models
from tests.quick_process import collect_garbage_less_often, keep_files_in_memory
from tests.simulator.histories import FIRST, history
from tests.simulator.pairs import Pairs, coverage, pairs_of
from tests.simulator.shrinking import Shrunk, as_numbers, as_text, left_of, shrunk, sort_of
from tests.simulator.simulation import tell
from tests.simulator.steps import History
from tests.simulator.written import as_test, in_words

T = TypeVar("T")
_MOST_MODELS = 3000
"""How many models a process keeps as they were read, some 100 kB each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a history ended: how often each command ended in which way, and what is wrong."""

    told: Counter[str] = field(default_factory=Counter)
    pairs: Pairs = field(default_factory=Counter)
    why: str = ""
    notes: str = ""


def main(words: Iterable[str] | None = None) -> int:
    """Tell the histories that were asked for; 1 if one of them ends wrongly."""
    asked = _parser().parse_args(None if words is None else [*words])
    began, told, pairs, wrong = time.monotonic(), Counter[str](), Pairs(), dict[int, str]()
    seeds = range(asked.seed, asked.seed + asked.histories)
    for seed, how in _each(ended, seeds, asked):
        told += how.told
        pairs += how.pairs
        if how.why:
            wrong[seed] = how.why
            print(f"Seed {seed}: {how.why}\n{how.notes}\n", flush=True)
    # one seed for each sort of fault
    sorts = {sort_of(why): seed for seed, why in sorted(wrong.items(), reverse=True)}
    for _, text in _each(shortest, sorted(sorts.values()) if asked.shrink else (), asked):
        print(text, flush=True)
    print(*coverage(pairs), sep="\n")
    print(*(f"{count:7,} {outcome}" for outcome, count in sorted(told.items())), sep="\n")
    for seed, why in sorted(wrong.items()):
        print(f"WRONG  {again(seed, asked.steps)}  # {why.splitlines()[0][:120]}")
    took = time.monotonic() - began
    print(f"{len(wrong)} of {asked.histories} histories ended wrongly; {took:.0f} s")
    return 1 if wrong else 0


def _each(
    do: Callable[[int, argparse.Namespace], T], seeds: Iterable[int], asked: argparse.Namespace
) -> Iterator[tuple[int, T]]:
    """What comes of each seed, as soon as it is known; one process is this one."""
    if asked.processes == 1:
        yield from ((seed, do(seed, asked)) for seed in seeds)
        return
    with ProcessPoolExecutor(asked.processes) as pool:
        futures = {pool.submit(do, seed, asked): seed for seed in seeds}
        yield from ((futures[future], future.result()) for future in as_completed(futures))


def ended(seed: int, asked: argparse.Namespace) -> Ended:
    """How what was asked for of the history of a seed ended."""
    forget_models(_MOST_MODELS)
    whole = history(seed, length=asked.steps)
    what = left_of(whole, *_left_out(whole, asked))
    pairs = pairs_of(what)
    try:
        return Ended(told=tell(what, is_thorough=asked.thorough).told, pairs=pairs)
    except Exception as error:
        causes = traceback.format_exception(error.__cause__) if error.__cause__ else []
        notes = "\n".join([*getattr(error, "__notes__", []), *causes])
        return Ended(pairs=pairs, why=str(error) or repr(error), notes=notes)


def shortest(seed: int, asked: argparse.Namespace) -> str:
    """The history of a seed with as few steps and models as end in the same way, for people."""
    whole = history(seed, length=asked.steps)
    without, without_models = _left_out(whole, asked)
    left = left_of(whole, without, without_models)
    is_thorough = asked.thorough or bool(_why(left, is_thorough=True))
    found = shrunk(
        whole,
        lambda what: _why(what, is_thorough=is_thorough),
        seconds=asked.shrink,
        without=without,
        without_models=without_models,
    )
    if found is None:
        return f"Seed {seed} does not end wrongly a second time."
    kept = [at for at in range(len(whole.steps)) if at not in found.without]
    told = [
        f"Seed {seed}, shrunk to {len(kept)} steps by {found.tried} histories: {found.why}",
        *(f"      {each.name}: {each.text}" for each in found.history.models),
        *(f"  {at:3} {in_words(whole.steps[at])}" for at in kept),
        f"Again: {again(seed, asked.steps, found, is_thorough=is_thorough)}",
        as_test(found.history, name=f"seed_{seed}", why=found.why, is_thorough=is_thorough),
    ]
    return "\n".join(told)


def again(seed: int, steps: int, found: Shrunk | None = None, *, is_thorough: bool = False) -> str:
    """The command that tells a history of a seed, or what was found of it, once more."""
    command = f"./run sim --seed {seed} --histories 1 --steps {steps}"
    if found is not None:
        kept = {*range(FIRST, FIRST + steps)} - {*found.without}
        command += f" --only {as_text(kept)}" if kept else " --only 0"
        if found.without_models:
            command += f" --without-models {','.join(found.without_models)}"
    return command + (" --thorough" if is_thorough else "")


def _why(what: History, *, is_thorough: bool) -> str:
    try:
        tell(what, is_thorough=is_thorough)
    except Exception as error:
        return str(error) or repr(error)
    return ""


def _left_out(what: History, asked: argparse.Namespace) -> tuple[Collection[int], Collection[str]]:
    """The steps and models that were asked to be left out of a history."""
    without = as_numbers(asked.without)
    if asked.only:
        without |= {*range(FIRST, len(what.steps))} - as_numbers(asked.only)
    return without, [each for each in asked.without_models.split(",") if each]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./run sim", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--histories", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("-n", type=int, default=2, dest="processes")
    parser.add_argument("--only", default="", help="the steps to keep, such as 3,7-9")
    parser.add_argument("--without", default="", help="steps to leave out")
    parser.add_argument("--without-models", default="", help="models to leave out: m0,m3")
    parser.add_argument("--thorough", action="store_true", help="all is looked at after each step")
    parser.add_argument("--shrink", type=float, default=60, help="for so many seconds; 0 for not")
    return parser


if __name__ == "__main__":
    keep_files_in_memory()
    collect_garbage_less_often()
    sys.exit(main())
