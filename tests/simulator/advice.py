"""The commands that a text advises, carried out as they are written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.simulator.commands import Command, People, apply_files, run
from vde_dagster.core.time.intervals import parse_instant

_COMMAND: Final = re.compile(r"`vde ([^`]+)`")


def advised(people: People, text: str) -> Iterator[tuple[str, Command]]:
    """The commands that a text names and that change something, with their words."""
    for written in dict.fromkeys(_COMMAND.findall(text)):
        words = shlex.split(written)
        environment = words[1] if len(words) > 1 else "prod"
        if words[0] == "run":
            yield written, _run(environment)
        elif words[0] == "plan":
            yield written, _plan(people, environment, _options(words[2:]))


def _run(environment: str) -> Command:
    return Command(do=lambda services: run(services, environment))


def _plan(people: People, environment: str, options: dict[str, Any]) -> Command:
    """By the files of what the environment shows, if it shows anything."""
    models = people.shows.get(environment, people.models)
    return Command(
        do=lambda services: apply_files(services, models, environment, **options),
        moves=environment,
        to=[models],
    )


def _options(words: Sequence[str]) -> dict[str, Any]:
    """The options of a plan, of the words of its command.

    Raises:
        ValueError: There is no such option.
    """
    options: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        match word:
            case "--restate-model":
                options["restate"] = (*options.get("restate", ()), next(rest))
            case "--start" | "--end":
                options[word[2:]] = parse_instant(next(rest))
            case "--allow-empty" | "--accept-loss":
                options[word[2:].replace("-", "_")] = True
            case _:
                raise ValueError(f"the option {word} is advised, and is none that is known here")
    return options
