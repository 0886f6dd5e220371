"""Carries out the steps of a history, and checks after each one what people are shown and told."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tests.app.generated_models import Made
from tests.app.memory_world import hour_of
from tests.app.read_models import reading_once
from tests.simulator.carrying import Carrying, acts_of
from tests.simulator.checks import computed_for_nothing, unknown_to_the_doctor
from tests.simulator.commands import People, command, meant, run
from tests.simulator.edits import KEEPING, edit, meanings
from tests.simulator.leftovers import leftovers, wrong_records
from tests.simulator.looks import ACCEPTED, DEPTH, Wrong, right, texts_of, tried
from tests.simulator.others import is_named, meddle, take_name
from tests.simulator.reference import FOREVER
from tests.simulator.steps import (
    Act,
    AtOnce,
    Correct,
    Edit,
    Heed,
    History,
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
from tests.simulator.watch import EVERYBODY
from vde_dagster.app.apply.pausing import resume_models
from vde_dagster.app.services import Services
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import ModelName, TableName, ViewNaming, environment_view

if TYPE_CHECKING:
    from tests.simulator.daemon import Daemon

_ALL_AFTER: Final = 5
"""After how many steps every environment is looked at."""
_OF_OWNERS: Final = ("run", "run due", "run stale", "catch up", "evaluate")
"""Commands that write nothing but what their environment owns."""
_WAITS: Final = "--allow-empty"
"""What a refusal says of rows that wait for a person."""
_ROUNDS: Final = 3
"""How often everything is run at the end: twice after what is advised was carried out, and after
something was accepted that was refused, hour by hour."""
_MOST_ROUNDS: Final = 12
"""After how many rounds accepting leads nowhere."""


@dataclass
class Simulation(Carrying):
    """A world, what people have in their files, and what each environment has to show.

    A ``thorough`` simulation looks at every environment after each step.
    """

    _first: dict[str, object] = field(default_factory=dict)
    is_thorough: bool = False
    _steps: int = 0
    _taken: set[TableName] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._note_files()

    def tell(self, step: Step) -> None:  # noqa: PLR0912 - a case for each
        """Carry out a step, and check everything.

        Raises:
            Wrong: Something is not as it has to be.
        """
        self.world.clock.advance(timedelta(minutes=1))
        began = self.world.clock.now()
        self._steps += 1
        self.leaves = any(act.leaves for act in acts_of(step))
        match step:
            case Land():
                self.sources.land(step)
            case Correct():
                self.sources.correct(step)
            case Hush():
                self.sources.hush(step)
            case Tidy():
                self._tidy(step)
            case Reshape():
                self.sources.reshape(step, lambda: self._refused_without(step))
            case Edit():
                self.people.models = edit(self.people.models, step, self.earlier)
                self._note_files()
            case Signal():
                self.sources.let_pass(hour_of(max(self.sources.until.values())))
            case Jump(minutes=minutes):
                self.world.clock.jump(timedelta(minutes=minutes))
            case Meddle():
                self._meddle(step)
            case Tick(environment=environment):
                self._tick(environment)
            case Heed(environment=environment):
                self._heed(environment)
            case Act():
                self._at_once(AtOnce(acts=(step,), seed=0))
            case AtOnce():
                self._at_once(step)
        for models in (*self.people.shows.values(), self.people.models):
            self.comparison.note_seen(models)  # a plan that ends early has seen it, too
        acts = acts_of(step)
        is_alone = len(acts) == 1 or isinstance(step, Tick)
        right(
            self.watch.wrong(
                self.people.shows,
                writer=self._writer(step) if is_alone else EVERYBODY,
                cleaned_at=began if any(act.what == "clean up" for act in acts) else None,
            )
        )
        self.check(self._touched(step))

    def _writer(self, step: Step) -> str:
        """The environment that one command or tick writes for."""
        if isinstance(step, Tick):
            return step.environment
        (act,) = acts_of(step)
        act = meant(self.people, act)
        where = command(self.people, act).moves or act.environment
        # what production is about to show it may fill; who maintains tables compacts them, and
        # rows are published where they were refused
        is_filling = where == "prod" and act.what not in _OF_OWNERS
        return EVERYBODY if is_filling or act.what in ("maintain", "publish") else where

    def _touched(self, step: Step) -> Collection[str]:
        """The environments to look at after a step: all of them after every fifth one.

        After the others only those that a command names, or one of them where a source moved. An
        edit of files is seen by nobody.
        """
        every = sorted(self.people.shows)
        if self.is_thorough or self._steps % _ALL_AFTER == 0:
            return every
        match step:
            case Edit():
                return ()
            case Meddle() | Heed() | Tick() | Reshape():
                return (step.environment,)
            case Act() | AtOnce():
                acts = tuple(meant(self.people, act) for act in acts_of(step))
                moved = {act.other for act in acts if act.what == "promote"}
                return moved | {act.environment for act in acts}
            case _:
                return every[self._steps % len(every) :][:1] if every else ()

    def _note_files(self) -> None:
        """Note the project, and the models whose rows stay though they or their input changed."""
        texts = texts_of(self.people.models)
        known = [models for models in self.earlier if texts_of(models) == texts]
        self.people.models = known[0] if known else self.people.models
        if not known:
            self.earlier.append(self.people.models)
        for made, meaning in meanings(self.people.models):
            if made.form in KEEPING and self._first.setdefault(made.name, meaning) != meaning:
                self.comparison.loose.add(made.name)

    def _meddle(self, step: Meddle) -> None:
        """Another program does something, and every status that shows it names it."""
        shows = self.people.shows.get(step.environment, ())
        match step.how:
            case "take a name":
                shown = {each.key for each in shows}
                for made in self.people.models[::-1]:
                    if made.key not in shown:
                        self._taken |= take_name(self.world, step.environment, made)
                        return
            case "free names":
                self._free_names()
            case _ if shows:
                self._touch(step, shows[step.model % len(shows)])

    def _free_names(self) -> None:
        """What other programs made under names of views is dropped."""
        while self._taken:
            self.world.catalog.drop_table(self._taken.pop())

    def _touch(self, step: Meddle, made: Made) -> None:
        touched = meddle(self.world, step.environment, made, step.how)
        self.told[f"meddled: {step.how if touched else 'nothing that matters'}"] += 1
        self.comparison.meddled |= {str(touched)}
        for environment in sorted(self.people.shows) if touched else ():
            view = environment_view(made.key, environment, ViewNaming())
            found = self.world.catalog.view(view)
            is_shown = view == touched or (found is not None and found.target == touched)
            status = self.status(environment) if is_shown else None
            if status is not None and touched and not is_named(status, made.key, touched):
                raise Wrong(f"{environment} does not say what became of {touched}")
            if status is not None:
                right(unknown_to_the_doctor(self.world.services(), status))

    def _refused_without(self, step: Reshape) -> None:
        """Commands that read a column which a source has lost are refused, and name it."""
        for what in ("run", "plan"):
            asked = command(self.people, Act(what=what, environment=step.environment))
            outcome = tried(asked.do, self.world.services())
            self.note(f"{what} {step.environment} without a column", what, outcome)
            self.check_shown([asked], is_certain=outcome is None)
            if isinstance(outcome, EvaluationFailed) and "amount" not in str(outcome):
                raise Wrong(f"{outcome} does not name the column that {step.source} has lost")

    def _tidy(self, step: Tidy) -> None:
        """A compaction of a source makes nothing stale.

        One with other columns than before counts as another one wherever it is read as a whole.
        """
        before = [self.behind(each) for each in sorted(self.people.shows)]
        self.sources.tidy(step.source, expires=step.expires)
        after = [self.behind(each) for each in sorted(self.people.shows)]
        if after != before and not step.expires and step.source not in self.sources.reshaped:
            raise Wrong(f"the compaction of {step.source} made {after} of {before}")

    def _tick(self, environment: str) -> None:
        """Dagster's daemon looks, and runs what the sensor asks for."""
        if environment not in self.people.shows:
            return
        said, ended = self.daemon.tick(environment, self.people.shows[environment])
        self.told[
            "tick: " + ("nothing" if not ended else "done" if not any(ended) else "fails")
        ] += 1
        self.log.append(f"tick of {environment}: {said} {ended}")
        if any(_WAITS in each for each in ended):
            _, again = self.daemon.tick(environment, self.people.shows[environment])
            if any(_WAITS in each for each in again):
                raise Wrong(f"a tick of {environment} runs what waits for a person: {again}")
        status = self.status(environment)
        if "is up to date" in said and status is not None and status.is_behind:
            left = self.behind(environment)
            if left:
                raise Wrong(f"a tick of {environment} says {said}, and status says {left}")

    def _heed(self, environment: str) -> None:
        """Do what a status advises: then nothing is gone any more, and nothing is to be done."""
        if environment not in self.people.shows:
            return
        text, gone_still = "", list[ModelName]()
        for _ in range(DEPTH):
            text = self.advice_of(environment)
            self.carry_out(text)
            status = self.status(environment)
            if status is None:
                return
            gone_still = [
                each.node.name
                for each in status.models
                if each.lost is not None and not self.is_final(each)
            ]
            gone_still += status.dropped_views
            if not gone_still:
                return
        raise Wrong(f"{gone_still} of {environment} are gone still, after {text}")

    @cached_property
    def daemon(self) -> Daemon:
        """Dagster's daemon, which takes seconds to load."""
        from tests.simulator.daemon import Daemon

        return Daemon(self.world)

    def close(self) -> None:
        """End what outlives a step."""
        for each in ("daemon", "terminal"):
            if each in self.__dict__:
                getattr(self, each).close()

    def finish(self) -> None:
        """Resume and run everything, and carry out what is advised: then all is up to date.

        Raises:
            Wrong: It is not.
        """
        self.sources.let_pass(FOREVER)
        self._free_names()
        self.leaves = False
        behind: list[str] = []
        number = left = 0
        while left < _ROUNDS and number < _MOST_ROUNDS:
            accepted = self.told[ACCEPTED]
            for environment in sorted(self.people.shows) if number else ():
                # what an owner never showed is computed by a plan of the files that have it
                self.carry_out(self.advice_of(environment), self.people.shows[environment])
            for environment in sorted(self.people.shows):
                self._last(environment, _resuming(environment))
                self._last(environment, _running(environment))
            self.check(self.people.shows)
            behind = [
                text
                for each in sorted(self.people.shows)
                for text in (*self.behind(each), *self.waiting_for_a_plan(each))
            ]
            if not behind:
                for environment in self.people.shows:
                    right(computed_for_nothing(self.world.services(), environment))
                    self.check_digests(environment)
                self.told[f"runs at the end: {number}"] += 1
                self._tidy_up()
                return
            number += 1
            left = left + 1 if self.told[ACCEPTED] == accepted else 1
        raise Wrong("in the end: " + "\n".join(behind))

    def _tidy_up(self) -> None:
        """All records are whole, and the janitor takes what nobody needs and nothing else."""
        right(wrong_records(self.world.services()))
        right(leftovers(self.world, self.comparison.meddled))
        self.check(self.people.shows)
        for environment in self.people.shows:
            self.check_digests(environment)
            if left := self.behind(environment):
                raise Wrong("after the janitor: " + "\n".join(left))

    def _last(self, environment: str, do: Callable[[Services], Any]) -> None:
        self.world.clock.advance(timedelta(minutes=1))
        outcome = tried(do, self.world.services())
        self.note(f"last of {environment}", "last", outcome)
        if outcome is not None:
            self.carry_out(str(outcome))
            self.note(f"again {environment}", "last", tried(do, self.world.services()))


def _resuming(environment: str) -> Callable[[Services], object]:
    return lambda services: resume_models(services, environment, [])


def _running(environment: str) -> Callable[[Services], object]:
    return lambda services: run(services, environment)


def tell(history: History, *, is_thorough: bool = False) -> Simulation:
    """Carry out a history.

    Raises:
        Wrong: Something is not as it has to be; notes say at which step, and what was before.
    """
    people = People(models=history.models, shows={}, ever={})
    steps = [*history.steps, None]
    with closing(Simulation(people=people, is_thorough=is_thorough)) as simulation:
        for number, step in enumerate(steps):
            try:
                with reading_once(code_too=True):
                    simulation.finish() if step is None else simulation.tell(step)
            except Exception as error:
                error.add_note(f"step {number}: {step or 'the end'}")
                error.add_note("\n".join(simulation.log[-6:]))
                raise
    return simulation
