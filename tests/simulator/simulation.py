"""Carries out the steps of a history, and checks after each one what people are shown and told."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tests.app.memory_world import hour_of
from tests.app.read_models import reading_once
from tests.simulator.at_once import at_once
from tests.simulator.checks import (
    computed_for_nothing,
    is_begun,
    planned_in_vain,
    unknown_to_the_doctor,
    wrong_advice,
)
from tests.simulator.commands import NOTHING, Command, People, command, meant, run, words_of
from tests.simulator.edits import KEEPING, edit, meanings
from tests.simulator.faults import FAULTS, Trouble, in_trouble
from tests.simulator.leftovers import leftovers, wrong_records
from tests.simulator.looks import DEPTH, Looks, Wrong, right, texts_of, tried
from tests.simulator.others import is_named, meddle
from tests.simulator.reference import FOREVER
from tests.simulator.steps import (
    Act,
    AtOnce,
    Correct,
    Edit,
    Heed,
    History,
    Jump,
    Land,
    Meddle,
    Reshape,
    Signal,
    Step,
    Tick,
    Tidy,
)
from vde_dagster.app.apply.pausing import resume_models
from vde_dagster.app.services import Services
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import ModelName, ViewNaming, environment_view

if TYPE_CHECKING:
    from tests.simulator.daemon import Daemon
    from tests.simulator.typed import Terminal

_ALL_AFTER: Final = 5
"""After how many steps every environment is looked at."""
UNBOUNDED: Final = ("plan", "forward", "skip", "empty", "until")
"""Plans that end what an earlier one bounded."""
_SETTLING: Final = ("run", "plan", "restate", "promote", "rollback")
"""Commands after which a run of what they moved computes nothing."""
_ROUNDS: Final = 3
"""How often everything is run at the end: twice after what is advised was carried out, and after
rows were accepted that audits refused, of which there may be many."""
_ACCEPTED: Final = "advised publish: done"


@dataclass
class Simulation(Looks):
    """A world, what people have in their files, and what each environment has to show.

    A ``thorough`` simulation looks at every environment after each step.
    """

    _first: dict[str, object] = field(default_factory=dict)
    _ever_bounded: dict[str, set[str]] = field(default_factory=dict)
    is_thorough: bool = False
    _steps: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._note_files()

    def tell(self, step: Step) -> None:  # noqa: PLR0912 - a case for each
        """Carry out a step, and check everything.

        Raises:
            Wrong: Something is not as it has to be.
        """
        self.world.clock.advance(timedelta(minutes=1))
        self._steps += 1
        match step:
            case Land():
                self.sources.land(step)
            case Correct():
                self.sources.correct(step)
            case Tidy(source=source, expires=expires):
                self.sources.tidy(source, expires=expires)
            case Reshape():
                self.sources.reshape(step, lambda: self._refused_without(step))
            case Edit():
                self.people.models = edit(self.people.models, step, self.earlier)
                self._note_files()
            case Signal():
                self.sources.let_pass(hour_of(self.sources.until))
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
        self.check(self._touched(step))

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
                acts = step.acts if isinstance(step, AtOnce) else (step,)
                acts = (*acts, *(act.meanwhile for act in acts if act.meanwhile))
                acts = tuple(meant(self.people, act) for act in acts)
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

    def _at_once(self, step: AtOnce) -> None:
        """Carry out commands, of which each is a process of its own."""
        step = replace(step, acts=tuple(meant(self.people, act) for act in step.acts))
        commands = [command(self.people, act) for act in step.acts]
        if len(commands) == 1:
            commands = [self._typed(step.acts[0], commands[0])]
        others = [command(self.people, act.meanwhile) for act in step.acts if act.meanwhile]
        for act in (*step.acts, *(act.meanwhile for act in step.acts)):
            if act is not None:
                self._loosen(act)
        outcomes: list[BaseException | None] = [None] * len(commands)
        begun = {
            act.environment for act in step.acts if is_begun(self.world.services(), act.environment)
        }

        def process(number: int) -> Callable[[Services], None]:
            def carried_out(services: Services) -> None:
                outcomes[number] = tried(commands[number].do, services)

            return carried_out

        troubles = [self._trouble(act) for act in step.acts]
        services = [in_trouble(self.world.services(), trouble) for trouble in troubles]
        if len(commands) == 1:
            process(0)(services[0])
        else:
            at_once([*zip(services, map(process, range(len(commands))), strict=True)], step.seed)
        if any(trouble.has_happened for trouble in troubles):
            self.world.reboot()
        for act, trouble, outcome in zip(step.acts, troubles, outcomes, strict=True):
            how = f", which {act.fault}" if trouble.has_happened else ""
            self.note(f"{act.what} {act.environment}{how}", act.what, outcome)
            right(wrong_advice(act.what, outcome))
            if trouble.has_happened:
                self.told[f"fault: {act.fault}"] += 1
        is_alone = not (others or len(commands) > 1 or troubles[0].has_happened)
        right(planned_in_vain(step.acts[0].what, outcomes[0] if is_alone else None))
        is_certain = outcomes == [None] and not others
        if is_certain and step.acts[0].what in UNBOUNDED:
            self.comparison.bounded.pop(step.acts[0].environment, None)
        self.check_shown([*commands, *others], is_certain=is_certain)
        if is_certain and not troubles[0].has_happened:
            moved = {act.other if act.what == "promote" else act.environment for act in step.acts}
            is_settled = step.acts[0].what in _SETTLING and commands[0] is not NOTHING
            for environment in (moved - begun) & self.people.shows.keys() if is_settled else ():
                right(computed_for_nothing(self.world.services(), environment))
        for act in step.acts:
            self.check_digests(act.environment)

    def _typed(self, act: Act, untyped: Command) -> Command:
        """A command as somebody types it who means it, or as it is."""
        files = self.people.models
        shown = self.people.shows.get(act.environment, files)
        chosen_from = files if act.what == "select" else shown
        words = words_of(act, chosen_from) if act.typed and untyped is not NOTHING else None
        if words is None:
            return untyped
        return replace(untyped, do=lambda services: self.terminal.type(services, files, words))

    def _meddle(self, step: Meddle) -> None:
        """Another program does something, and every status that shows it names it."""
        shows = self.people.shows.get(step.environment, ())
        if not shows:
            return
        made = shows[step.model % len(shows)]
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

    def _tick(self, environment: str) -> None:
        """Dagster's daemon looks, and runs what the sensor asks for."""
        if environment not in self.people.shows:
            return
        self.finish_promotion(environment)
        said, ended = self.daemon.tick(environment, self.people.shows[environment])
        self.told[
            "tick: " + ("nothing" if not ended else "done" if not any(ended) else "fails")
        ] += 1
        self.log.append(f"tick of {environment}: {said} {ended}")
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

    def _loosen(self, act: Act) -> None:
        """Note whose rows are no longer those of a computation from scratch after a command."""
        names = {made.name for made in self.people.models}
        match act.what:
            case "forward":
                self._keep(act.environment)
            case "empty":
                self.comparison.emptied |= names
            case "from":
                self._ever_bounded.setdefault(act.environment, set()).update(names)
                self.comparison.bounded.setdefault(act.environment, set()).update(names)
            case "rollback" if act.environment in self._ever_bounded:
                self.comparison.bounded[act.environment] = {*self._ever_bounded[act.environment]}

    def _keep(self, environment: str) -> None:
        """Rows of models that are changed forward-only are by any of their definitions."""
        shown = {made.name: of for made, of in meanings(self.people.shows.get(environment, ()))}
        now = {made.name: of for made, of in meanings(self.people.models)}
        self.comparison.loose |= {
            name for name, meaning in now.items() if shown.get(name) != meaning
        }

    def _trouble(self, act: Act) -> Trouble:
        """The fault that a command has ahead; it never comes where the act has none."""

        def meanwhile() -> None:
            self.world.reboot()
            if act.meanwhile is not None:
                others = command(self.people, act.meanwhile)
                outcome = tried(others.do, self.world.services())
                what = f"{act.meanwhile.what} {act.meanwhile.environment}"
                self.note(f"meanwhile {what}", act.meanwhile.what, outcome)

        at = act.cut_at or 10**9
        return Trouble(
            fault=FAULTS[act.fault],
            at=at,
            after=act.after,
            meanwhile=meanwhile,
            strikes=act.strikes,
        )

    @cached_property
    def daemon(self) -> Daemon:
        """Dagster's daemon, which takes seconds to load."""
        from tests.simulator.daemon import Daemon

        return Daemon(self.world)

    @cached_property
    def terminal(self) -> Terminal:
        """Where somebody types commands."""
        from tests.simulator.typed import Terminal

        return Terminal()

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
        behind: list[str] = []
        number = left = 0
        while left < _ROUNDS:
            accepted = self.told[_ACCEPTED]
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
            left = left + 1 if self.told[_ACCEPTED] == accepted else 1
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
