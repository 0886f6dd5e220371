"""What people are shown and told: it is true, and what it advises is a way on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, cast

from tests.app.memory_world import Fuse, MemoryWorld, PowerCut
from tests.simulator.advice import advised, status_text, with_whole_commands
from tests.simulator.checks import gone, is_promoting, wrong_digests
from tests.simulator.commands import Command, Models, People
from tests.simulator.faults import BLAMELESS
from tests.simulator.marks import wrong_marks
from tests.simulator.remembered import Remembered
from tests.simulator.shown import Comparison
from tests.simulator.sources import TABLES, Sources
from tests.simulator.watch import Watch
from vde_dagster.app.inspect.status import EnvironmentStatus, ModelStatus, look_at_environment
from vde_dagster.app.plan.fillers import HAS_MORE
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import WAITS
from vde_dagster.app.staleness.version_behind import FORBIDDEN
from vde_dagster.core.errors import VdeError
from vde_dagster.ports.state import State

DEPTH: Final = 3
"""How far advice is followed that is given on the way of other advice."""


class Wrong(AssertionError):
    """Something is not as it has to be."""


@dataclass
class Looks:
    """A world, and looks at what its environments show.

    ``earlier`` is every project that there was. ``told`` counts how commands ended, and ``log``
    says it one by one. In a step that ``leaves`` promotions begun nothing else finishes them.
    """

    people: People
    world: MemoryWorld = field(default_factory=MemoryWorld)
    earlier: list[Models] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    leaves: bool = False
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world.state = cast(State, Remembered(self.world.state))
        self.sources = Sources(self.world)
        self.comparison = Comparison(self.world, self.sources)
        self.watch = Watch(self.world, self.comparison)

    def advice_of(self, environment: str) -> str:
        """What `vde status` prints; nothing where it is refused."""
        texts: list[str] = []

        def look(services: Services) -> None:
            texts.append(status_text(services, environment))

        self.note(f"status {environment}", "status", tried(look, self.world.services()))
        return "".join(texts)

    def note(self, what: str, sort: str, outcome: BaseException | None) -> None:
        """Note how a command ended."""
        how = "done" if outcome is None else type(outcome).__name__
        self.told[f"{sort}: {how}"] += 1
        self.log.append(f"{what}: {how} {str(outcome or '')[:300]}")
        if outcome is not None and not isinstance(outcome, (VdeError, *BLAMELESS)):
            raise Wrong(f"{what} ended with {outcome!r}") from outcome

    def check_shown(self, commands: Sequence[Command], *, is_certain: bool) -> None:
        """Each environment that was moved shows what it did before, or what was asked for."""
        for environment in sorted({each.moves for each in commands if each.moves}):
            moving = [each for each in commands if each.moves == environment]
            # what one of them moves, another one may take from there meanwhile
            to = moving if len(commands) == 1 else commands
            asked = [models for each in to for models in each.to]
            before, now = self.people.shows.get(environment), self.shown_by(environment)
            wanted = [texts_of(models) for models in asked]
            if is_certain and asked and texts_of(now or ()) not in wanted:
                raise Wrong(f"{environment} does not show what was asked for")
            if now is None:
                self.people.shows.pop(environment, None)
                continue
            if texts_of(now) not in (*wanted, texts_of(before or ())):
                raise Wrong(f"{environment} shows what nobody asked for")
            self.people.shows[environment] = now
            if now not in self.people.ever.setdefault(environment, []):
                self.people.ever[environment].append(now)

    def shown_by(self, environment: str) -> Models | None:
        """The project whose models an environment shows, if it shows any."""
        self.finish_promotion(environment)
        found = self.world.state.environment(environment)
        if found is None or found.is_removed:
            return None
        sources = (e.source for name, e in found.snapshots.items() if str(name) not in TABLES)
        texts = {(each.text, *each.attachments.values()) for each in sources}
        for models in (*reversed(self.earlier), *reversed(self.people.mixed)):
            if texts_of(models) == texts:
                return models
        raise Wrong(f"{environment} shows no project that there ever was")

    def finish_promotion(self, environment: str) -> None:
        """Finish a promotion that was begun, unless it is left so."""
        if self.leaves and is_promoting(self.world.services(), environment):
            self.told["promotion left begun"] += 1
            return
        finishing = partial(finish_promotions, environment=environment)
        self.note("finishing", "finish", tried(finishing, self.world.services()))

    def check(self, environments: Collection[str]) -> None:
        """What each of these environments shows is as from scratch, or is told to be behind."""
        for environment in sorted(self.people.shows.keys() & {*environments}):
            shows = self.people.shows[environment]
            status = self.status(environment)
            if is_promoting(self.world.services(), environment):
                if status is not None and not status.is_promoting:
                    raise Wrong(f"status of {environment} does not say that a promotion was begun")
            elif status is not None:
                right(gone(status, self.comparison.meddled))
                right(wrong_marks(self.world.services(), status, shows, self.comparison))
                right(self.comparison.wrong_rows(environment, shows, status))

    def check_digests(self, environment: str) -> None:
        """The rows of what an environment shows are those of the D-SHAs in the ledger."""
        right(wrong_digests(self.world.services(), environment, self.comparison.meddled))

    def status(self, environment: str) -> EnvironmentStatus | None:
        """What `vde status` finds, which changes nothing; None where it is refused."""
        found: list[EnvironmentStatus] = []

        def look(services: Services) -> None:
            found.append(look_at_environment(services, environment))

        fuse = Fuse()
        outcome = tried(look, self.world.services(fuse))
        if fuse.changing:
            raise Wrong(f"status of {environment} changes something: {fuse.names}")
        if outcome is not None:
            self.note(f"status {environment}", "status", outcome)
        return found[0] if found else None

    def behind(self, environment: str) -> list[str]:
        """What status says is not up to date in an environment, and what to do about it."""
        status = self.status(environment)
        if status is None:
            return [self.log[-1]]
        # until somebody restores such a table, no view of the environment moves
        is_stuck = any(map(self.is_final, status.models))
        dropped = () if is_stuck else status.dropped_views
        missing = [f"{environment}: {name} has no view" for name in dropped]
        missing += [f"{environment}: a promotion is not finished"] * status.is_promoting
        return missing + [
            f"{environment}: {each.node.name}: {each.refused} {each.staleness} {each.due} "
            f"{each.lost.damage + each.lost.advice if each.lost is not None else ''}"
            for each in status.models
            if each.is_behind and (each.due or not self.is_kept(each)) and not self.is_final(each)
        ]

    def waiting_for_a_plan(self, environment: str) -> list[str]:
        """What no run computes: versions of another environment that began them and shows none."""
        status = self.status(environment)
        return [
            f"{environment}: {each.node.name} waits for a plan of {wait.name}"
            for each in (status.models if status is not None else ())
            for wait in each.waits
            if wait.filler is not None and not wait.filler.shows
        ]

    def is_final(self, status: ModelStatus) -> bool:
        """Whether another program dropped a table whose rows cannot be computed again."""
        lost = status.lost
        return lost is not None and bool(lost.why) and lost.table in self.comparison.meddled

    def is_kept(self, status: ModelStatus) -> bool:
        """Whether what is stale is never computed again, or waits for what it reads.

        Where another environment computes it, it waits if it does so there.
        """
        stale = status.staleness
        if stale is None or stale.intervals:
            return False
        owner = _OWNER.search(stale.why_kept)
        theirs = self.status(owner[1]) if owner is not None else None
        is_final = any(
            each in stale.why_kept for each in (WAITS, FORBIDDEN, HAS_MORE, _UNTIL_RESTORED)
        )
        return is_final or any(
            each.node.name == status.node.name and self.is_kept(each)
            for each in (theirs.models if theirs is not None else ())
        )

    def carry_out(self, text: str, files: Models = (), depth: int = 0) -> None:
        """Do what a text advises, and what the refusals of that advise, and then it once more."""
        for words, asked in advised(self.people, text, files):
            outcome = self._carried_out(words, asked)
            if outcome is not None and depth < DEPTH:
                self.carry_out(with_whole_commands(words, str(outcome)), files, depth + 1)
                self._carried_out(words, asked)

    def _carried_out(self, words: str, asked: Command) -> BaseException | None:
        if re.search("--allow-empty|--accept-loss|--reload|publish|late status", words):
            self.watch.permit(None)
        outcome = tried(asked.do, self.world.services())
        self.note(f"vde {words}", f"advised {words.split(maxsplit=1)[0]}", outcome)
        self.check_shown([asked], is_certain=outcome is None)
        if outcome is None and re.search("--allow-empty|publish", words):
            self.told[ACCEPTED] += 1
        return outcome


ACCEPTED: Final = "accepted what was refused"
_UNTIL_RESTORED: Final = "is as recorded"
"""What is said of readers of a table that another program dropped."""
_OWNER: Final = re.compile(r"`vde run (\w+)` computes ")


def right(wrong: Iterable[str]) -> None:
    """Nothing is wrong.

    Raises:
        Wrong: Something is.
    """
    if texts := list(wrong):
        raise Wrong("\n".join(texts))


def texts_of(models: Models) -> set[tuple[str, ...]]:
    """All that is in the files of some models."""
    return {(each.text, *each.files.values()) for each in models}


def tried(do: Callable[[Services], object], services: Services) -> BaseException | None:
    """How a command ends; None where it raises nothing."""
    try:
        do(services)
    except (Exception, PowerCut) as error:
        return error
    return None
