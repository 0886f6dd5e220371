"""Carries out the steps of a history, and checks after each one what people are shown and told."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from tests.app.generated_models import OTHERS, Form, Made
from tests.app.memory_world import (
    RAW,
    RAW_COLUMNS,
    SOURCE,
    START,
    MemoryWorld,
    PowerCut,
    hour_of,
)
from tests.app.read_models import reading_once
from tests.simulator.advice import advised, status_text, with_whole_commands
from tests.simulator.at_once import at_once
from tests.simulator.checks import computed_for_nothing, gone, wrong_digests
from tests.simulator.commands import Command, Models, People, command, run
from tests.simulator.edits import KEEPING, edit, meanings
from tests.simulator.faults import BLAMELESS, FAULTS, Trouble, in_trouble
from tests.simulator.others import is_named, meddle
from tests.simulator.reference import FOREVER, Row, Shown, expected
from tests.simulator.remembered import Remembered
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
    Signal,
    Step,
    Tick,
    Tidy,
)
from tests.worlds.engine import MemoryEngine
from tests.worlds.tables import Table
from vde_dagster.app.apply.pausing import resume_models
from vde_dagster.app.inspect.status import EnvironmentStatus, look_at_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.app.staleness.version_behind import FORBIDDEN
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import ModelName, TableName, ViewNaming, environment_view
from vde_dagster.ports.state import State

if TYPE_CHECKING:
    from tests.simulator.daemon import Daemon

TABLES: Final = {str(SOURCE): RAW, str(OTHERS): TableName("raw", "others")}
SHOWN_COLUMNS: Final = ("id", "at", "amount")
_ALL_AFTER: Final = 5
"""After how many steps every environment is looked at."""
_DEPTH: Final = 3
"""How far advice is followed that is given on the way of other advice."""
_ROUNDS: Final = 4
"""How often everything is run at the end, with what is advised carried out in between."""


class Wrong(AssertionError):
    """Something is not as it has to be."""


@dataclass
class Simulation:
    """A world, what people have in their files, and what each environment has to show.

    ``rows`` are those that landed, by source, up to the hour ``until``. ``earlier`` is every
    project that there was. The rows of models that are ``loose`` depend on when they were computed.
    ``meddled`` are tables and views that other programs changed. ``stays`` are rows of tables that
    may never go, and ``seen`` what histories can have seen so far. ``told`` counts how commands
    ended, and ``log`` says it one by one. A ``thorough`` simulation looks at every environment
    after each step.
    """

    people: People
    world: MemoryWorld = field(default_factory=MemoryWorld)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    until: int = 0
    landed: datetime = START
    earlier: list[Models] = field(default_factory=list)
    loose: set[str] = field(default_factory=set)
    meddled: set[str] = field(default_factory=set)
    seen: dict[str, set[Row]] = field(default_factory=dict)
    stays: dict[TableName, set[Any]] = field(default_factory=dict)
    told: Counter[str] = field(default_factory=Counter)
    log: list[str] = field(default_factory=list)
    _first: dict[str, object] = field(default_factory=dict)
    is_thorough: bool = False
    _number: int = 0
    _steps: int = 0

    def __post_init__(self) -> None:
        self.world.state = cast(State, Remembered(self.world.state))
        made_of = [Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items()]
        self.world.catalog.create_table(TABLES[str(OTHERS)], made_of)
        self.rows = {source: [] for source in TABLES}
        self._let_pass(START + timedelta(hours=12))
        self._note_files()

    # What happens
    def tell(self, step: Step) -> None:
        """Carry out a step, and check everything.

        Raises:
            Wrong: Something is not as it has to be.
        """
        self.world.clock.advance(timedelta(minutes=1))
        self._steps += 1
        match step:
            case Land():
                self._land(step)
            case Correct():
                self._correct(step)
            case Tidy(source=source, expires=True):
                self.world.catalog.expire(TABLES[source])
            case Tidy(source=source):
                self.world.catalog.compact(TABLES[source])
            case Edit():
                self.people.models = edit(self.people.models, step, self.earlier)
                self._note_files()
            case Signal():
                self._let_pass(hour_of(self.until))
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
        self._note_seen()
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
            case Meddle() | Heed() | Tick():
                return (step.environment,)
            case Act() | AtOnce():
                acts = step.acts if isinstance(step, AtOnce) else (step,)
                acts = (*acts, *(act.meanwhile for act in acts if act.meanwhile))
                moved = {act.other for act in acts if act.what == "promote"}
                return moved | {act.environment for act in acts}
            case _:
                return every[self._steps % len(every) :][:1] if every else ()

    def _let_pass(self, landed: datetime) -> None:
        """Let signals pass what ends by a time."""
        self.landed = landed
        os.environ["VDE_TEST_LANDED"] = landed.isoformat()

    def _land(self, step: Land) -> None:
        self.until += step.hours
        hours = [(hour if hour >= 0 else self.until + hour, amount) for hour, amount in step.rows]
        new = [self._row(max(hour, 0), amount) for hour, amount in hours]
        if new:
            self.world.catalog.append(TABLES[step.source], new)
            self.rows[step.source] += new
        for table in TABLES.values():
            self.world.catalog.set_property(table, VALID_TO, hour_of(self.until).isoformat())

    def _row(self, hour: float, amount: int) -> Row:
        self._number += 1
        return self._number, START + timedelta(seconds=int(hour * 3600)), amount

    def _correct(self, step: Correct) -> None:
        rows = self.rows[step.source]
        if step.amount is None and len(rows) < 4:
            return
        at = 1 + step.at % (len(rows) - 1)  # the first row marks the beginning of the source
        changed = [] if step.amount is None else [(rows[at][0], rows[at][1], step.amount)]
        self.rows[step.source] = [*rows[:at], *changed, *rows[at + 1 :]]
        self.world.catalog.overwrite(TABLES[step.source], self.rows[step.source])

    def _note_files(self) -> None:
        """Note the project, and the models whose rows stay though they or their input changed."""
        texts = _texts(self.people.models)
        known = [models for models in self.earlier if _texts(models) == texts]
        self.people.models = known[0] if known else self.people.models
        if not known:
            self.earlier.append(self.people.models)
        for made, meaning in meanings(self.people.models):
            if made.form in KEEPING and self._first.setdefault(made.name, meaning) != meaning:
                self.loose.add(made.name)

    def _at_once(self, step: AtOnce) -> None:
        """Carry out commands, of which each is a process of its own."""
        commands = [command(self.people, act) for act in step.acts]
        others = [command(self.people, act.meanwhile) for act in step.acts if act.meanwhile]
        for act in (*step.acts, *(act.meanwhile for act in step.acts)):
            if act is not None and act.what == "forward":
                self._keep(act.environment)
        outcomes: list[BaseException | None] = [None] * len(commands)

        def process(number: int) -> Callable[[Services], None]:
            def carried_out(services: Services) -> None:
                outcomes[number] = _try(commands[number].do, services)

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
            self._note(f"{act.what} {act.environment}{how}", act.what, outcome)
            if trouble.has_happened:
                self.told[f"fault: {act.fault}"] += 1
        is_certain = outcomes == [None] and not others
        self._check_shown([*commands, *others], is_certain=is_certain)
        if is_certain and step.acts[0].what == "run" and not troubles[0].has_happened:
            for environment in {act.environment for act in step.acts} & self.people.shows.keys():
                self._right(computed_for_nothing(self.world.services(), environment))
        for act in step.acts:
            self._right(wrong_digests(self.world.services(), act.environment, self.meddled))

    def _meddle(self, step: Meddle) -> None:
        """Another program does something, and every status that shows it names it."""
        shows = self.people.shows.get(step.environment, ())
        if not shows:
            return
        made = shows[step.model % len(shows)]
        touched = meddle(self.world, step.environment, made, step.how)
        self.told[f"meddled: {step.how if touched else 'nothing that matters'}"] += 1
        self.meddled |= {str(touched)}
        for environment in sorted(self.people.shows) if touched else ():
            view = environment_view(made.key, environment, ViewNaming())
            found = self.world.catalog.view(view)
            is_shown = view == touched or (found is not None and found.target == touched)
            status = self._status(environment) if is_shown else None
            if status is not None and touched and not is_named(status, made.key, touched):
                raise Wrong(f"{environment} does not say what became of {touched}")

    def _tick(self, environment: str) -> None:
        """Dagster's daemon looks, and runs what the sensor asks for."""
        if environment not in self.people.shows:
            return
        self._finish(environment)
        said, ended = self.daemon.tick(environment, self.people.shows[environment])
        self.told[
            "tick: " + ("nothing" if not ended else "done" if not any(ended) else "fails")
        ] += 1
        self.log.append(f"tick of {environment}: {said} {ended}")
        status = self._status(environment)
        if "is up to date" in said and status is not None and status.is_behind:
            left = self._behind(environment)
            if left:
                raise Wrong(f"a tick of {environment} says {said}, and status says {left}")

    def _heed(self, environment: str) -> None:
        """Do what a status advises: then nothing is gone any more, and nothing is to be done."""
        if environment not in self.people.shows:
            return
        text, gone_still = "", list[ModelName]()
        for _ in range(_DEPTH):
            text = self._told(environment)
            self._carry_out(text)
            status = self._status(environment)
            if status is None:
                return
            gone_still = [each.node.name for each in status.models if each.lost is not None]
            gone_still += status.dropped_views
            if not gone_still:
                return
        raise Wrong(f"{gone_still} of {environment} are gone still, after {text}")

    def _told(self, environment: str) -> str:
        """What `vde status` prints; nothing where it is refused."""
        texts: list[str] = []

        def look(services: Services) -> None:
            texts.append(status_text(services, environment))

        self._note(f"status {environment}", "status", _try(look, self.world.services()))
        return "".join(texts)

    def _right(self, wrong: Iterable[str]) -> None:
        """Nothing is wrong.

        Raises:
            Wrong: Something is.
        """
        if texts := list(wrong):
            raise Wrong("\n".join(texts))

    def _keep(self, environment: str) -> None:
        """Rows of models that are changed forward-only are by any of their definitions."""
        shown = {made.name: of for made, of in meanings(self.people.shows.get(environment, ()))}
        now = {made.name: of for made, of in meanings(self.people.models)}
        self.loose |= {name for name, meaning in now.items() if shown.get(name) != meaning}

    def _trouble(self, act: Act) -> Trouble:
        """The fault that a command has ahead; it never comes where the act has none."""

        def meanwhile() -> None:
            self.world.reboot()
            if act.meanwhile is not None:
                others = command(self.people, act.meanwhile)
                outcome = _try(others.do, self.world.services())
                what = f"{act.meanwhile.what} {act.meanwhile.environment}"
                self._note(f"meanwhile {what}", act.meanwhile.what, outcome)

        at = act.cut_at or 10**9
        return Trouble(fault=FAULTS[act.fault], at=at, after=act.after, meanwhile=meanwhile)

    def _note(self, what: str, sort: str, outcome: BaseException | None) -> None:
        """Note how a command ended."""
        how = "done" if outcome is None else type(outcome).__name__
        self.told[f"{sort}: {how}"] += 1
        self.log.append(f"{what}: {how} {str(outcome or '')[:300]}")
        if outcome is not None and not isinstance(outcome, (VdeError, *BLAMELESS)):
            raise Wrong(f"{what} ended with {outcome!r}") from outcome

    # What has to be true
    @cached_property
    def daemon(self) -> Daemon:
        """Dagster's daemon, which takes seconds to load."""
        from tests.simulator.daemon import Daemon

        return Daemon(self.world)

    def _check_shown(self, commands: Sequence[Command], *, is_certain: bool) -> None:
        """Each environment that was moved shows what it did before, or what was asked for."""
        for environment in sorted({each.moves for each in commands if each.moves}):
            moving = [each for each in commands if each.moves == environment]
            # what one of them moves, another one may take from there meanwhile
            to = moving if len(commands) == 1 else commands
            asked = [models for each in to for models in each.to]
            before, now = self.people.shows.get(environment), self._shown_by(environment)
            if is_certain and asked and now not in asked:
                raise Wrong(f"{environment} does not show what was asked for")
            if now is None:
                self.people.shows.pop(environment, None)
                continue
            if now not in (*asked, before):
                raise Wrong(f"{environment} shows what nobody asked for")
            self.people.shows[environment] = now
            if now not in self.people.ever.setdefault(environment, []):
                self.people.ever[environment].append(now)

    def _shown_by(self, environment: str) -> Models | None:
        """The project whose models an environment shows, if it shows any."""
        self._finish(environment)
        found = self.world.state.environment(environment)
        if found is None or found.is_removed:
            return None
        sources = (e.source for name, e in found.snapshots.items() if str(name) not in TABLES)
        texts = {(each.text, *each.attachments.values()) for each in sources}
        for models in reversed(self.earlier):
            if _texts(models) == texts:
                return models
        raise Wrong(f"{environment} shows no project that there ever was")

    def _finish(self, environment: str) -> None:
        """Finish a promotion that was begun, as every command of an environment does first."""
        self._note("finishing", "finish", _try(_finishing(environment), self.world.services()))

    def check(self, environments: Collection[str]) -> None:
        """What each of these environments shows is as from scratch, or is told to be behind."""
        for environment in sorted(self.people.shows.keys() & {*environments}):
            status = self._status(environment)
            if status is not None:
                self._right(gone(status, self.meddled))
                self._check_rows(environment, status)

    def _status(self, environment: str) -> EnvironmentStatus | None:
        found: list[EnvironmentStatus] = []

        def look(services: Services) -> None:
            found.append(look_at_environment(services, environment))

        outcome = _try(look, self.world.services())
        if outcome is not None:
            self._note(f"status {environment}", "status", outcome)
        return found[0] if found else None

    def _check_rows(self, environment: str, status: EnvironmentStatus) -> None:
        behind = {str(each.node.name) for each in status.models}
        behind |= {str(each.pause.model) for each in status.pauses}
        behind |= {str(each) for each in status.dropped_views}
        wanted = self._expected(environment)
        for made in self.people.shows[environment]:
            name = f"gen.{made.name}"
            self._check_kept(environment, made)
            if not behind.isdisjoint(made.parents):
                behind.add(name)
            rows = wanted[name].rows
            if name in behind or made.form is Form.EMBEDDED or rows is None:
                continue
            found = shown(self.world, environment, made)
            if made.form is Form.HISTORY and found is not None:
                # each interval looks at the table as it is then, so only the next one looks again
                is_known = made.parents[0] not in TABLES or self.seen[name].issuperset(found)
                rows = tuple(found) if is_known else rows
            if found != sorted(rows):
                raise Wrong(
                    f"{environment} says that {name} ({made.form.name}) is up to date, and it has "
                    f"{differing(found, sorted(rows))}"
                )

    def _expected(self, environment: str) -> dict[str, Shown]:
        end = hour_of(self.until)
        sources = {name: Shown(tuple(rows), end) for name, rows in self.rows.items()}
        return expected(self.people.shows[environment], sources, self.loose, landed=self.landed)

    def _note_seen(self) -> None:
        """Note what histories see if they look now."""
        for environment, models in self.people.shows.items():
            if any(made.form is Form.HISTORY for made in models):
                for name, table in self._expected(environment).items():
                    self.seen.setdefault(name, set()).update(table.rows or ())

    def _check_kept(self, environment: str, made: Made) -> None:
        """What is never computed again stays: kept rows, and what a history has closed."""
        view = self.world.catalog.view(_view(environment, made))
        table = self.world.catalog.tables.get(view.target) if view is not None else None
        if view is None or table is None or str(view.target) in self.meddled:
            return
        if made.form is Form.KEPT:
            now = {*whole(table)}
        elif made.form is Form.HISTORY:
            now = {row for row in whole(table) if row[-1] is not None}
        else:
            return
        if lost := self.stays.get(view.target, set()) - now:
            raise Wrong(f"{environment}: {made.name} ({made.form.name}) has lost {lost}")
        self.stays[view.target] = now

    def finish(self) -> None:
        """Resume and run everything, and carry out what is advised: then all is up to date.

        Raises:
            Wrong: It is not.
        """
        self._let_pass(FOREVER)
        behind: list[str] = []
        for number in range(_ROUNDS):
            for environment in sorted(self.people.shows) if number else ():
                # what an owner never showed is computed by a plan of the files that have it
                files = self.people.shows[environment] if number > 1 else ()
                self._carry_out(self._told(environment), files)
            for environment in sorted(self.people.shows):
                self._last(environment, _resuming(environment))
                self._last(environment, _running(environment))
            self.check(self.people.shows)
            behind = [text for each in sorted(self.people.shows) for text in self._behind(each)]
            if not behind:
                for environment in self.people.shows:
                    self._right(computed_for_nothing(self.world.services(), environment))
                    self._right(wrong_digests(self.world.services(), environment, self.meddled))
                self.told[f"runs at the end: {number}"] += 1
                return
        raise Wrong("in the end: " + "\n".join(behind))

    def _last(self, environment: str, do: Callable[[Services], Any]) -> None:
        self.world.clock.advance(timedelta(minutes=1))
        outcome = _try(do, self.world.services())
        self._note(f"last of {environment}", "last", outcome)
        if outcome is not None:
            self._carry_out(str(outcome))

    def _behind(self, environment: str) -> list[str]:
        """What status says is not up to date in an environment, and what to do about it."""
        status = self._status(environment)
        if status is None:
            return [self.log[-1]]
        missing = [f"{environment}: {name} has no view" for name in status.dropped_views]
        return missing + [
            f"{environment}: {each.node.name}: {each.refused} {each.staleness} {each.due} "
            f"{each.lost.damage + each.lost.advice if each.lost is not None else ''}"
            for each in status.models
            if each.is_behind and FORBIDDEN not in str(each.staleness)
        ]

    def _carry_out(self, text: str, files: Models = (), depth: int = 0) -> None:
        """Do what a text advises, and what the refusals of that advise."""
        for words, asked in advised(self.people, text, files):
            outcome = _try(asked.do, self.world.services())
            self._note(f"vde {words}", f"advised {words.split()[0]}", outcome)
            self._check_shown([asked], is_certain=outcome is None)
            if outcome is not None and depth < _DEPTH:
                self._carry_out(with_whole_commands(words, str(outcome)), files, depth + 1)


def _texts(models: Models) -> set[tuple[str, ...]]:
    """All that is in the files of some models."""
    return {(each.text, *each.files.values()) for each in models}


def _finishing(environment: str) -> Callable[[Services], object]:
    return lambda services: finish_promotions(services, environment)


def _resuming(environment: str) -> Callable[[Services], object]:
    return lambda services: resume_models(services, environment, [])


def _running(environment: str) -> Callable[[Services], object]:
    return lambda services: run(services, environment)


def _try(do: Callable[[Services], object], services: Services) -> BaseException | None:
    try:
        do(services)
    except (Exception, PowerCut) as error:
        return error
    return None


def shown(world: MemoryWorld, environment: str, made: Made) -> list[Any] | None:
    """The rows of an environment's view, in the columns that every definition of a model has.

    Of a history these are the rows that are valid now.
    """
    found = world.catalog.view(_view(environment, made))
    if found is None:
        return None
    table = world.catalog.tables.get(found.target)
    if table is None:  # a physical view
        sql = f"SELECT {', '.join(SHOWN_COLUMNS)} FROM {found.name}"
        _, rows = MemoryEngine(world.catalog).fetch(sql, limit=100_000)
        return sorted(tuple(row) for row in rows)
    open_rows = [row for row in whole(table) if len(row) == len(SHOWN_COLUMNS) or row[-1] is None]
    return sorted(row[: len(SHOWN_COLUMNS)] for row in open_rows)


def whole(table: Table) -> list[Any]:
    """The rows of a table in the columns that every definition has; a history's with `valid_to`."""
    names = [each.name for each in table.columns]
    at = [names.index(each) for each in (*SHOWN_COLUMNS, "valid_to") if each in names]
    return [tuple(row[each] for each in at) for row in table.rows_at(table.head)]


def _view(environment: str, made: Made) -> TableName:
    return environment_view(made.key, environment, ViewNaming())


def differing(found: Sequence[Any] | None, wanted: Sequence[Any]) -> str:
    """How rows differ from others, for people."""
    if found is None:
        return "no view"
    more = [each for each in found if each not in wanted]
    less = [each for each in wanted if each not in found]
    return f"{more[:3]} for {less[:3]} ({len(found)} rows, {len(wanted)} from scratch)"


def tell(history: History, *, is_thorough: bool = False) -> Simulation:
    """Carry out a history.

    Raises:
        Wrong: Something is not as it has to be; notes say at which step, and what was before.
    """
    people = People(models=history.models, shows={}, ever={})
    simulation = Simulation(people=people, is_thorough=is_thorough)
    steps = [*history.steps, None]
    for number, step in enumerate(steps):
        try:
            with reading_once():
                simulation.finish() if step is None else simulation.tell(step)
        except Exception as error:
            error.add_note(f"step {number}: {step or 'the end'}")
            error.add_note("\n".join(simulation.log[-6:]))
            raise
    return simulation
