"""Single steps of a history, drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor
from random import Random
from typing import Final

from tests.simulator.projects import SOURCES
from tests.simulator.steps import (
    Act,
    AtOnce,
    Correct,
    Edit,
    Heed,
    Hush,
    Jump,
    Land,
    Meddle,
    Reshape,
    Signal,
    Step,
    Tick,
    Tidy,
)

ENVIRONMENTS: Final = ("prod", "dev", "qa")
EDITS: Final = (
    *("breaking", "breaking", "column", "revert", "revert", "add", "remove", "form"),
    *("late", "audit", "rename", "cadence", "times", "layout", "rewrite", "same"),
)
ACTS: Final = (
    *("plan",) * 6,
    *("run",) * 6,
    *("run due", "run stale"),
    *("promote",) * 3,
    *("rollback",) * 2,
    *("restate", "catch up", "save", "apply saved", "pause", "resume", "clean up", "maintain"),
    *("forward", "remove", "evaluate", "publish", "give up"),
    *("skip", "empty", "from", "until", "select", "select", "decide", "decide"),
)
MEDDLINGS: Final = (
    *("append", "delete", "roll back", "drop table", "drop view", "drop physical view"),
    *("rename column", "append and compact", "append and expire", "replace view"),
    *("compact", "expire", "take a name", "free names"),
)
COLUMNS: Final = ("add column", "drop column", "lose column", "create again")
STRUCK: Final = (
    *("publish", "finalize", "swap_views", "begin_promotion", "finish_promotion"),
    *("record_intent", "stage", "record_staged"),
)
"""Where half of all faults happen: few calls are these, and most depends on them."""
FAULTS: Final = ("dies", "dies", "loses an answer", "has no space", "is locked out", "sleeps")


@dataclass(frozen=True, slots=True)
class Drawing:
    """What draws steps. Where a project has ``sessions``, no source loses rows: what they loaded
    stays."""

    chance: Random
    sessions: bool

    def step(self) -> Step:
        """Any step."""
        return self.chance.choice(_STEPS)(self)

    @property
    def source(self) -> str:
        """One of the sources."""
        return self.chance.choice(SOURCES)

    def landing(self, hours: int = 0) -> Land:
        """Time goes on, by these hours, and some rows of it arrive."""
        hours = hours or self.chance.choice((1, 1, 2, 7, 24))
        rows = [-self.chance.uniform(0, 3) for _ in range(self.chance.randint(0, 3))]
        return self._landing(rows, hours)

    def late(self) -> Land:
        """Rows of hours that are over arrive."""
        count = self.chance.choice((1, 1, 2))
        return self._landing([self.chance.uniform(0, 30) for _ in range(count)], 0)

    def _landing(self, hours: Sequence[float], until: int) -> Land:
        # some at one time, and some once more
        hours = [floor(hour) if self.chance.random() < 0.3 else hour for hour in hours]
        rows = tuple((hour, self.chance.randrange(100)) for hour in hours)
        again = tuple(self.chance.randrange(99) for _ in range(self.chance.choice((0, 0, 1, 2))))
        source = self.source
        # the project's clock goes by the first source, so that the other one may lag
        alone = bool(until) and source == SOURCES[0] and self.chance.random() < 0.5
        return Land(source=source, rows=rows, hours=until, alone=alone, again=again)

    def fix(self) -> Correct:
        """A row changes, or is gone."""
        is_gone = not self.sessions and self.chance.random() < 0.3
        amount = None if is_gone else self.chance.randrange(100)
        return Correct(source=self.source, at=self.chance.randrange(99), amount=amount)

    def hush(self) -> Step:
        """Rows of some hours are gone, or all of them."""
        if self.sessions:
            return self.fix()
        begins, hours = self.chance.choice(((0, 99), (0, 9999), (self.chance.uniform(0, 30), 6)))
        return Hush(source=self.source, begins=begins, hours=hours)

    def tidy(self) -> Tidy:
        """A source is compacted, or its Iceberg snapshots expire."""
        expires = not self.sessions and self.chance.random() < 0.3
        return Tidy(source=self.source, expires=expires)

    def edit(self, *hows: str) -> Edit:
        """One of these edits, or of all."""
        how, number = self.chance.choice(hows or EDITS), self.chance.randrange(10**6)
        return Edit(model=self.chance.randrange(99), how=how, chance=number)

    def meddle(self, *environments: str) -> Meddle:
        """Another program is at work on what one of these environments, or of all, shows."""
        return Meddle(
            environment=self.chance.choice(environments or ENVIRONMENTS),
            model=self.chance.randrange(99),
            how=self.chance.choice(MEDDLINGS),
        )

    def reshape(self) -> Reshape:
        """A source gets or loses a column, or is created again."""
        how, where = self.chance.choice(COLUMNS), self.chance.choice(ENVIRONMENTS)
        return Reshape(source=self.source, how=how, environment=where)

    def jump(self) -> Jump:
        """The clock jumps."""
        return Jump(minutes=self.chance.choice((-1, -5, 25, 60, 24 * 60, 9 * 24 * 60)))

    def signal(self) -> Signal:
        """Signals let pass what has landed."""
        return Signal()

    def tick(self) -> Tick:
        """Dagster's daemon looks at an environment."""
        return Tick(environment=self.chance.choice(ENVIRONMENTS))

    def heed(self) -> Heed:
        """Somebody does what a status advises."""
        return Heed(environment=self.chance.choice(ENVIRONMENTS))

    def at_once(self, *acts: Act) -> AtOnce:
        """These commands, or two others, are mixed."""
        acts = acts or (self.act(), self.act())
        return AtOnce(acts=acts, seed=self.chance.randrange(10**6))

    def act(self, what: str = "", environment: str = "", other: str = "") -> Act:
        """A command, or this one, of which every fourth one has a fault ahead."""
        chance = self.chance
        made = Act(
            what=what or chance.choice(ACTS),
            environment=environment or chance.choice((*ENVIRONMENTS, "prod", "dev")),
            other=other or chance.choice(ENVIRONMENTS),
            model=chance.randrange(99),
            typed=chance.random() < 0.2,
            leaves=chance.random() < 0.5,
        )
        return made if chance.random() < 0.75 else self._in_trouble(made)

    def _in_trouble(self, made: Act) -> Act:
        chance = self.chance
        fault = chance.choice(FAULTS)
        meanwhile = None
        if fault == "sleeps":
            others = replace(self.act(), cut_at=0, meanwhile=None)
            where = made.environment if chance.random() < 0.7 else others.environment
            meanwhile = replace(others, environment=where)
        strikes = chance.choice(STRUCK) if chance.random() < 0.6 else ""
        return replace(
            made,
            cut_at=chance.choice((1, 1, 2, 4)) if strikes else chance.randrange(1, 100),
            after=chance.random() < 0.5,
            fault=fault,
            meanwhile=meanwhile,
            strikes=strikes,
        )


_STEPS: Final[Sequence[Callable[[Drawing], Step]]] = (
    *(Drawing.landing, Drawing.late) * 2,
    *(Drawing.fix, Drawing.hush, Drawing.tidy, Drawing.reshape, Drawing.jump, Drawing.signal),
    *(Drawing.tick, Drawing.heed, Drawing.meddle, Drawing.at_once),
    *(Drawing.edit,) * 3,
    *(Drawing.act,) * 9,
)
