"""The steps of a history: values, drawn from a seed, which mean something in every world."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Final

from tests.app.generated_models import OTHERS, Form, Made, generated
from tests.app.memory_world import SOURCE

ENVIRONMENTS: Final = ("prod", "dev", "qa")
SOURCES: Final = (str(SOURCE), str(OTHERS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Land:
    """Rows arrive in a source, given as (hour, amount), or hours before the end where negative.

    Time goes on by ``hours`` for both sources.
    """

    source: str
    rows: tuple[tuple[float, int], ...]
    hours: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Correct:
    """One row of a source gets another amount, or is gone where that is None."""

    source: str
    at: int
    amount: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidy:
    """A source is compacted, or forgets its earlier Iceberg snapshots."""

    source: str
    expires: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Somebody edits the project's files: the model of this number, in one of several ways."""

    model: int
    how: str
    chance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Somebody gives a command, which may die before or after one of its calls of a port.

    ``other`` is a second environment, or the number of a model, where the command has one.
    """

    what: str
    environment: str
    other: str = ""
    model: int = 0
    cut_at: int = 0
    after: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOnce:
    """Commands of several processes, whose calls of ports are mixed as a seed says."""

    acts: tuple[Act, ...]
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing happens for some minutes."""

    minutes: int


Step = Land | Correct | Tidy | Edit | Act | AtOnce | Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A project, and what happens to it."""

    models: tuple[Made, ...]
    steps: tuple[Step, ...]


EDITS: Final = ("breaking", "breaking", "column", "revert", "revert", "add", "remove", "form")
ACTS: Final = (
    *("plan",) * 6,
    *("run",) * 6,
    *("run due", "run stale"),
    *("promote",) * 3,
    *("rollback",) * 2,
    *("restate", "catch up", "save", "apply saved", "pause", "resume", "clean up"),
    *("forward", "remove", "evaluate", "look"),
)


def history(seed: int, *, length: int = 40) -> History:
    """The history of a seed; it begins with rows and a plan of production."""
    chance = Random(seed)
    models = generated(chance)
    sessions = any(each.form is Form.SESSIONS for each in models)
    first = tuple(
        Land(
            source=source,
            rows=((0.0, 1), *((chance.uniform(0, 30), chance.randrange(100)) for _ in range(8))),
            hours=30 if source == SOURCES[0] else 0,
        )
        for source in SOURCES
    )
    steps = [_step(chance, sessions=sessions) for _ in range(length)]
    return History(models=models, steps=(*first, Act(what="plan", environment="prod"), *steps))


def _step(chance: Random, *, sessions: bool) -> Step:
    source = chance.choice(SOURCES)
    kind = chance.choice((*("land", "late") * 2, "fix", "tidy", *("edit",) * 3, *("act",) * 9, "at once"))
    match kind:
        case "land":
            rows = tuple((-chance.uniform(0, 3), chance.randrange(100)) for _ in range(chance.randint(0, 3)))
            return Land(source=source, rows=rows, hours=chance.choice((1, 1, 2, 7, 24)))
        case "late":
            rows = tuple((chance.uniform(0, 30), chance.randrange(100)) for _ in range(chance.choice((1, 1, 2))))
            return Land(source=source, rows=rows)
        case "fix":
            gone = chance.random() < 0.3 and not sessions
            return Correct(source=source, at=chance.randrange(99), amount=None if gone else chance.randrange(100))
        case "tidy":
            return Tidy(source=source, expires=chance.random() < 0.3 and not sessions)
        case "edit":
            return Edit(model=chance.randrange(99), how=chance.choice(EDITS), chance=chance.randrange(10**6))
        case "at once":
            acts = tuple(act(chance, cuts=chance.random() < 0.2) for _ in range(2))
            return AtOnce(acts=acts, seed=chance.randrange(10**6))
    return act(chance, cuts=chance.random() < 0.2)


def act(chance: Random, *, cuts: bool) -> Act:
    """A command, drawn at random."""
    made = Act(
        what=chance.choice(ACTS),
        environment=chance.choice((*ENVIRONMENTS, "prod", "dev")),
        other=chance.choice(ENVIRONMENTS),
        model=chance.randrange(99),
    )
    if not cuts:
        return made
    return replace(made, cut_at=chance.randrange(1, 100), after=chance.random() < 0.5)
