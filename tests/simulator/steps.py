"""The steps of a history: values, drawn from a seed, which mean something in every world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Final

from tests.app.generated_models import BY_SESSIONS, Made
from tests.simulator.projects import SOURCES, invented

ENVIRONMENTS: Final = ("prod", "dev", "qa")
_PLANNED: Final = ("dev", "dev", "prod", "qa")
"""Where edits are planned."""


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
class Reshape:
    """A source gets a column that nobody reads, or loses that; or it has lost one that models read
    while somebody plans and runs an environment; or it is dropped and created again."""

    source: str
    how: str
    environment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Somebody edits the project's files: the model of this number, in one of several ways."""

    model: int
    how: str
    chance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Somebody gives a command, to which a fault may happen before or after a call of a port.

    ``other`` is a second environment, or the number of a model, where the command has one. A
    command of an environment that is not there is mostly one of another that is.
    ``meanwhile`` is what somebody else does in a sleep. Where it is ``typed``, it goes through the
    entry of `vde`, if that has such a command and no other is at work at once. Only calls of the
    method ``strikes`` count for a fault, where there is one.
    """

    what: str
    environment: str
    other: str = ""
    model: int = 0
    cut_at: int = 0
    after: bool = False
    fault: str = "dies"
    meanwhile: Act | None = None
    typed: bool = False
    strikes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What signals say from now on: all that is there has landed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """The clock of the machines jumps, or goes back a little where ``minutes`` are negative."""

    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Meddle:
    """Another program does something to what an environment shows of a model."""

    environment: str
    model: int
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heed:
    """Somebody reads the status of an environment, and does all that it advises."""

    environment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Dagster's daemon asks an environment's sensor, and does the runs that it wants."""

    environment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOnce:
    """Commands of several processes, whose calls of ports are mixed as a seed says."""

    acts: tuple[Act, ...]
    seed: int


Step = Land | Correct | Tidy | Reshape | Edit | Signal | Jump | Meddle | Heed | Tick | Act | AtOnce


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A project, and what happens to it."""

    models: tuple[Made, ...]
    steps: tuple[Step, ...]


EDITS: Final = (
    *("breaking", "breaking", "column", "revert", "revert", "add", "remove", "form"),
    *("late", "audit", "rename", "cadence", "times", "layout", "rewrite"),
)
ACTS: Final = (
    *("plan",) * 6,
    *("run",) * 6,
    *("run due", "run stale"),
    *("promote",) * 3,
    *("rollback",) * 2,
    *("restate", "catch up", "save", "apply saved", "pause", "resume", "clean up"),
    *("forward", "remove", "evaluate", "publish"),
    *("skip", "empty", "from", "until", "select", "select"),
)
MEDDLINGS: Final = (
    *("append", "delete", "roll back", "drop table", "drop view", "drop physical view"),
    *("rename column", "append and compact", "append and expire", "replace view"),
    *("compact", "expire"),
)
COLUMNS: Final = ("add column", "drop column", "lose column", "create again")
_FOLLOWS: Final = {Edit: 0.6, Land: 0.4, Correct: 0.4, Signal: 0.4, Meddle: 0.5, Act: 0.5}
"""How likely it is that a step follows from the one before, by what that is."""
STRUCK: Final = ("publish", "finalize", "swap_views", "finish_promotion")
"""Where half of all faults happen: few calls are these, and most depends on them."""
FAULTS: Final = ("dies", "dies", "loses an answer", "has no space", "is locked out", "sleeps")


FIRST: Final = 3
"""With how many steps every history begins: rows, and a plan of production."""


def history(seed: int, *, length: int = 40) -> History:
    """The history of a seed; it begins with rows and a plan of production.

    Each step is drawn from its own number and the one before it, so it is the same in a longer
    history.
    """
    chance = Random(seed)
    models = invented(chance)
    sessions = any(each.form in BY_SESSIONS for each in models)
    first = tuple(
        Land(
            source=source,
            rows=((0.0, 1), *((chance.uniform(0, 30), chance.randrange(100)) for _ in range(8))),
            hours=30 if source == SOURCES[0] else 0,
        )
        for source in SOURCES
    )
    steps = [_drawn(seed, number, sessions=sessions) for number in range(length)]
    return History(models=models, steps=(*first, Act(what="plan", environment="prod"), *steps))


@lru_cache(maxsize=8)
def _drawn(seed: int, number: int, *, sessions: bool) -> Step:
    """A step; many follow from the one before.

    What somebody edits or lands is often planned or run at once, a late row edited, a plan that
    failed made elsewhere, what another program did repaired, and an empty version filled.
    """
    chance = Random(f"{seed} {number}")
    made = _step(chance, sessions=sessions)
    before = _drawn(seed, number - 1, sessions=sessions) if number else made
    if not number or chance.random() >= _FOLLOWS.get(type(before), 0.0):
        return made
    act = _act(chance)
    match before:
        case Land(hours=0) if chance.random() < 0.3:
            number = chance.randrange(10**6)
            made = Edit(model=chance.randrange(99), how="column", chance=number)
        case Land() | Correct() | Signal():
            made = replace(act, what="run", environment=chance.choice(ENVIRONMENTS))
        case Edit():
            what = chance.choice(("plan", "plan", "plan", "forward", "skip", "select", "empty"))
            made = replace(act, what=what, environment=chance.choice(_PLANNED))
        case Meddle(environment=where):
            made = Heed(environment=where)
        case Act(what="empty"):
            made = replace(act, what="plan", environment="prod")
        case Act(what="plan", cut_at=at, environment=where) if at:
            others = [each for each in ENVIRONMENTS if each != where]
            made = replace(act, what="plan", environment=chance.choice(others))
    return made


def _step(chance: Random, *, sessions: bool) -> Step:  # noqa: PLR0912 - a case for each
    source = chance.choice(SOURCES)
    kinds = (
        *("land", "late") * 2,
        *("fix", "tidy", "columns", "at once", "jump", "meddle", "heed", "signal", "tick"),
        *("edit",) * 3,
        *("act",) * 9,
    )
    made: Step
    match chance.choice(kinds):
        case "land":
            hours = [-chance.uniform(0, 3) for _ in range(chance.randint(0, 3))]
            made = _landing(source, hours, chance, chance.choice((1, 1, 2, 7, 24)))
        case "late":
            hours = [chance.uniform(0, 30) for _ in range(chance.choice((1, 1, 2)))]
            made = _landing(source, hours, chance, 0)
        case "fix":
            amount = chance.randrange(100) if sessions or chance.random() < 0.7 else None
            made = Correct(source=source, at=chance.randrange(99), amount=amount)
        case "tidy":
            made = Tidy(source=source, expires=chance.random() < 0.3 and not sessions)
        case "columns":
            how, where = chance.choice(COLUMNS), chance.choice(ENVIRONMENTS)
            made = Reshape(source=source, how=how, environment=where)
        case "edit":
            how, number = chance.choice(EDITS), chance.randrange(10**6)
            made = Edit(model=chance.randrange(99), how=how, chance=number)
        case "signal":
            made = Signal()
        case "jump":
            made = Jump(minutes=chance.choice((-1, -5, 25, 60, 24 * 60, 9 * 24 * 60)))
        case "meddle":
            made = Meddle(
                environment=chance.choice(ENVIRONMENTS),
                model=chance.randrange(99),
                how=chance.choice(MEDDLINGS),
            )
        case "tick":
            made = Tick(environment=chance.choice(ENVIRONMENTS))
        case "heed":
            made = Heed(environment=chance.choice(ENVIRONMENTS))
        case "at once":
            acts = tuple(_act(chance) for _ in range(2))
            made = AtOnce(acts=acts, seed=chance.randrange(10**6))
        case _:
            made = _act(chance)
    return made


def _landing(source: str, hours: Sequence[float], chance: Random, until: int) -> Land:
    rows = tuple((hour, chance.randrange(100)) for hour in hours)
    return Land(source=source, rows=rows, hours=until)


def _act(chance: Random) -> Act:
    """A command, of which every fourth one has a fault ahead."""
    made = _command(chance)
    if chance.random() < 0.75:
        return made
    fault = chance.choice(FAULTS)
    meanwhile = None
    if fault == "sleeps":
        others = _command(chance)
        where = made.environment if chance.random() < 0.7 else others.environment
        meanwhile = replace(others, environment=where)
    strikes = chance.choice(("", "", "", *STRUCK))
    return replace(
        made,
        cut_at=chance.choice((1, 1, 2, 4)) if strikes else chance.randrange(1, 100),
        after=chance.random() < 0.5,
        fault=fault,
        meanwhile=meanwhile,
        strikes=strikes,
    )


def _command(chance: Random) -> Act:
    return Act(
        what=chance.choice(ACTS),
        environment=chance.choice((*ENVIRONMENTS, "prod", "dev")),
        other=chance.choice(ENVIRONMENTS),
        model=chance.randrange(99),
        typed=chance.random() < 0.2,
    )
