"""Commands of people and schedules, carried out, and what has to be true after each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tests.app.generated_models import downstream
from tests.simulator.at_once import at_once
from tests.simulator.checks import (
    adopted,
    begun_work,
    computed_for_nothing,
    planned_in_vain,
    shows_any,
    stale_versions,
    wrong_advice,
)
from tests.simulator.commands import NOTHING, Command, chosen, command, meant, times_of, words_of
from tests.simulator.edits import meanings
from tests.simulator.faults import FAULTS, Trouble, in_trouble
from tests.simulator.looks import Looks, right, tried
from tests.simulator.steps import Act, AtOnce, Step
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.services import Services

if TYPE_CHECKING:
    from tests.simulator.typed import Terminal

UNBOUNDED: Final = ("plan", "forward", "skip", "empty", "until")
"""Plans that end what an earlier one bounded."""
_SETTLING: Final = ("run", "plan", "restate", "promote", "rollback")
"""Commands after which a run of what they moved computes nothing."""


def acts_of(step: Step) -> tuple[Act, ...]:
    """The commands of a step, and what others do meanwhile."""
    acts = step.acts if isinstance(step, AtOnce) else (step,) if isinstance(step, Act) else ()
    return (*acts, *(act.meanwhile for act in acts if act.meanwhile))


@dataclass
class Carrying(Looks):
    """A world in which commands are carried out, by one or several processes at once."""

    _ever_bounded: dict[str, set[str]] = field(default_factory=dict)

    def _at_once(self, step: AtOnce) -> None:
        """Carry out commands, of which each is a process of its own."""
        step = replace(step, acts=tuple(meant(self.people, act) for act in step.acts))
        commands = [command(self.people, act) for act in step.acts]
        if len(commands) == 1:
            commands = [self._typed(step.acts[0], commands[0])]
        others = [command(self.people, act.meanwhile) for act in step.acts if act.meanwhile]
        for act in acts_of(step):
            self._loosen(act)
        settles = self._settles(step.acts, commands)
        troubles = [self._trouble(act) for act in step.acts]
        outcomes = self._carry(step, commands, troubles)
        is_alone = not (others or len(commands) > 1 or troubles[0].has_happened)
        right(planned_in_vain(step.acts[0].what, outcomes[0] if is_alone else None))
        is_certain = outcomes == [None] and not others
        if is_certain and step.acts[0].what in UNBOUNDED:
            self.comparison.bounded.pop(step.acts[0].environment, None)
        self.check_shown([*commands, *others], is_certain=is_certain)
        if is_certain and is_alone:
            settles()
        for act in step.acts:
            self.check_digests(act.environment)

    def _carry(
        self, step: AtOnce, commands: Sequence[Command], troubles: Sequence[Trouble]
    ) -> list[BaseException | None]:
        """Let processes carry out commands, and note how each of them ends."""
        outcomes: list[BaseException | None] = [None] * len(commands)

        def process(number: int) -> Callable[[Services], None]:
            def carried_out(services: Services) -> None:
                outcomes[number] = tried(commands[number].do, services)

            return carried_out

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
        return outcomes

    def _settles(self, acts: Sequence[Act], commands: Sequence[Command]) -> Callable[[], None]:
        """What is checked after a command that leaves nothing to be computed.

        A restatement of some hours does not do so. Where an environment was not up to date before,
        neither need that be which it is moved to, nor a version that a model of it adopts.
        """
        act, services = acts[0], self.world.services()
        environment = act.other if act.what == "promote" else act.environment
        is_settling = act.what in _SETTLING and commands[0] is not NOTHING
        if act.what in ("promote", "rollback") and environment in self.people.shows:
            is_settling = is_settling and plan_run(services, environment).is_empty
        if not is_settling or (act.what == "restate" and times_of(act)):
            return lambda: None
        unsure = begun_work(services) | self.watch.left()
        before = stale_versions(services, environment) if environment in self.people.shows else ()

        def check() -> None:
            now = self.world.services()
            left = unsure | adopted(now, environment, before)
            if environment in self.people.shows and not shows_any(now, environment, left):
                right(computed_for_nothing(now, environment))

        return check

    def _typed(self, act: Act, untyped: Command) -> Command:
        """A command as somebody types it who means it, or as it is."""
        files = self.people.models
        shown = self.people.shows.get(act.environment, files)
        chosen_from = files if act.what == "select" else shown
        words = words_of(act, chosen_from) if act.typed and untyped is not NOTHING else None
        if words is None:
            return untyped
        return replace(untyped, do=lambda services: self.terminal.type(services, files, words))

    def _loosen(self, act: Act) -> None:
        """Note whose rows are no longer those of a computation from scratch after a command."""
        names = {made.name for made in self.people.models}
        match act.what:
            case "forward":
                self._keep(act.environment)
            case "restate":
                if act.environment not in self.people.shows:  # its start bounds all of a new one
                    self._bound(act.environment, names)
                made = chosen(self.people, act)
                models = self.people.shows.get(act.environment, self.people.models)
                shown = {each.name for each in models}
                new = {each.name for each in self.people.models} - shown  # also what comes back
                self.watch.permit(new | {each.name for each in downstream(made, models)})
            case "publish":
                self.watch.permit(None)
            case "empty":
                self.comparison.emptied |= names
            case "from":
                self._bound(act.environment, names)
            case "rollback" if act.environment in self._ever_bounded:
                self.comparison.bounded[act.environment] = {*self._ever_bounded[act.environment]}

    def _bound(self, environment: str, names: set[str]) -> None:
        """Note that an environment's versions may begin later than their models."""
        self._ever_bounded.setdefault(environment, set()).update(names)
        self.comparison.bounded.setdefault(environment, set()).update(names)

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
    def terminal(self) -> Terminal:
        """Where somebody types commands."""
        from tests.simulator.typed import Terminal

        return Terminal()
