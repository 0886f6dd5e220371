"""Carries out the steps of a history, and checks after each one what people are shown and told."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from tests.app.generated_models import (
    KEEPING_BY_THEMSELVES,
    OTHERS,
    Form,
    Made,
    downstream,
    edited,
    generated,
    is_bounded,
    project,
)
from tests.app.memory_world import (
    RAW,
    RAW_COLUMNS,
    SOURCE,
    START,
    Fuse,
    MemoryWorld,
    PowerCut,
    hour_of,
)
from tests.app.read_models import reading_once
from tests.simulator.at_once import at_once
from tests.simulator.reference import Row, Shown, expected
from tests.simulator.steps import Act, AtOnce, Correct, Edit, History, Land, Step, Tidy, Wait
from tests.worlds.engine import MemoryEngine
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.pausing import pause_models, resume_models
from vde_dagster.app.apply.running import Wanted, end_without_work, plan_run
from vde_dagster.app.binding import bind_environment
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.clean_up.janitor import clean_up
from vde_dagster.app.inspect.status import EnvironmentStatus, look_at_environment
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions, remove_environment
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import ModelName, TableName, ViewNaming, environment_view
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import parse_instant

TABLES: Final = {str(SOURCE): RAW, str(OTHERS): TableName("raw", "others")}
SHOWN_COLUMNS: Final = ("id", "at", "amount")
NAMING: Final = ViewNaming()


class Wrong(AssertionError):
    """Something is not as it has to be."""


@dataclass
class Simulation:
    """A world, what people have in their files, and what each environment has to show.

    ``may_show`` are the projects of which an environment shows one; after a command that died or
    was refused these are the one before and the one that was asked for.
    """

    models: tuple[Made, ...]
    world: MemoryWorld = field(default_factory=MemoryWorld)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    until: int = 0
    shows: dict[str, tuple[Made, ...]] = field(default_factory=dict)
    ever: dict[str, list[tuple[Made, ...]]] = field(default_factory=dict)
    earlier: list[tuple[Made, ...]] = field(default_factory=list)
    loose: set[str] = field(default_factory=set)
    first: dict[str, object] = field(default_factory=dict)
    saved: Plan | None = None
    saved_shows: tuple[Made, ...] = ()
    told: Counter[str] = field(default_factory=Counter)
    log: list[str] = field(default_factory=list)
    _number: int = 0

    def __post_init__(self) -> None:
        made_of = [Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items()]
        self.world.catalog.create_table(TABLES[str(OTHERS)], made_of)
        self.rows = {source: [] for source in TABLES}
        self.earlier.append(self.models)
        self._loosen()

    # What happens
    def tell(self, step: Step) -> None:
        """Carry out a step, and check everything."""
        self.world.clock.advance(timedelta(minutes=1))
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
                self._edit(step)
            case Act():
                self._act(step)
            case AtOnce():
                self._at_once(step)
            case Wait(minutes=minutes):
                self.world.clock.advance(timedelta(minutes=minutes))
        self.check()

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
        at = 1 + step.at % (len(rows) - 1)  # the first row marks the beginning of the source
        row = rows[at]
        changed = [] if step.amount is None else [(row[0], row[1], step.amount)]
        if step.amount is None and len(rows) < 4:
            return
        self.rows[step.source] = [*rows[:at], *changed, *rows[at + 1 :]]
        self.world.catalog.overwrite(TABLES[step.source], self.rows[step.source])

    def _edit(self, step: Edit) -> None:
        chance = Random(step.chance)
        models = list(self.models)
        at = step.model % len(models)
        made = models[at]
        match step.how:
            case "breaking" | "column":
                models[at] = edited(made, breaking=step.how == "breaking")
            case "revert":
                models = list(chance.choice(self.earlier))
            case "remove":
                if len(models) > 1 and len(list(downstream(made, models))) == 1:
                    del models[at]
            case "add":
                names = {each.name for each in models}
                found = [each for each in generated(chance) if each.name not in names]
                known = {f"gen.{each}" for each in names} | set(TABLES)
                late = any(each.form is Form.SESSIONS for each in models)
                new = [
                    each
                    for each in found
                    if known.issuperset(each.parents)
                    and not (late and each.form is Form.SESSIONS)
                    and not any(parent in _only_at_the_end(models) for parent in each.parents)
                    and (each.form not in _SEQUENTIAL or is_bounded(each.parents[0], models))
                ]
                models += new[:1]
            case "form":
                if made.form in _SIMPLE and not _read_by_time(made, models):
                    form = chance.choice(_SIMPLE)
                    models[at] = replace(made, form=form, hours=2, lookback=0, daily=made.daily)
        self.models = tuple(models)
        if self.models not in self.earlier:
            self.earlier.append(self.models)
        self._loosen()

    def _loosen(self) -> None:
        """Note the models whose rows stay as they are when they or what they read are edited."""
        for made, meaning in _meanings(self.models):
            first = self.first.setdefault(made.name, meaning)
            if made.form in _KEEPING and first != meaning:
                self.loose.add(made.name)

    def _at_once(self, step: AtOnce) -> None:
        commands, ends = [], []
        for act in step.acts:
            command, asked = self._command(act)
            ends.append((act, asked, outcome := []))
            commands.append((self._services(act), lambda s, c=command, o=outcome: o.append(_try(c, s))))
        at_once(commands, step.seed)
        if any(each.cut_at for each in step.acts):
            self.world.reboot()
        for act, asked, outcome in ends:
            self._end(act, asked, outcome[0], at_once=True)

    def _act(self, act: Act) -> None:
        command, asked = self._command(act)
        outcome = _try(command, self._services(act))
        if isinstance(outcome, PowerCut):
            self.world.reboot()
        self._end(act, asked, outcome)

    def _services(self, act: Act) -> Services:
        fuse = Fuse(cut_at=act.cut_at, after=act.after) if act.cut_at else None
        return self.world.services(fuse)

    def _end(self, act: Act, asked: Any, outcome: Any, *, at_once: bool = False) -> None:
        """Note how a command ended."""
        how = "done" if outcome is None else type(outcome).__name__
        self.told[f"{act.what}: {how}"] += 1
        self.log.append(f"{act.what} {act.environment}: {how} {str(outcome or '')[:200]}")
        if outcome is not None and not isinstance(outcome, VdeError | PowerCut):
            raise Wrong(f"{act} ended with {outcome!r}") from outcome
        if asked is None:
            return
        environment, candidates = asked()
        shown = self._shown_by(environment)
        if outcome is None and candidates and not at_once and shown not in candidates:
            raise Wrong(f"{act}: {environment} does not show what was asked for")
        before = self.shows.get(environment)
        if shown is not None and shown not in (*candidates, before):
            raise Wrong(f"{act}: {environment} shows what nobody asked for")
        if shown is None:
            self.shows.pop(environment, None)
        else:
            self.shows[environment] = shown
            if shown not in self.ever.setdefault(environment, []):
                self.ever[environment].append(shown)

    def _shown_by(self, environment: str) -> tuple[Made, ...] | None:
        """The project whose models an environment shows, if it shows any."""
        finish = _try(lambda s: finish_promotions(s, environment), self.world.services())
        found = self.world.state.environment(environment)
        if finish is not None or found is None or found.is_removed:
            return None
        texts = {
            each.source.text
            for name, each in found.snapshots.items()
            if str(name) not in TABLES
        }
        for models in reversed(self.earlier):
            if {each.text for each in models} == texts:
                return models
        raise Wrong(f"{environment} shows no project that there ever was")

    # Commands
    def _command(self, act: Act) -> tuple[Callable[[Services], Any], Any]:
        """What a command does, and afterwards which project its environment may show."""
        environment, models = act.environment, self.models
        target = act.other if act.other != environment else None
        made = self._model(act)
        match act.what:
            case "plan":
                return lambda s: self._apply(s, environment), lambda: (environment, [models])
            case "forward":
                self._keep(environment)
                return (
                    lambda s: self._apply(s, environment, forward_only=True),
                    lambda: (environment, [models]),
                )
            case "restate":
                options: dict[str, Any] = {"restate": (f"gen.{made.name}",), "allow_empty": True}
                return lambda s: self._apply(s, environment, **options), lambda: (environment, [models])
            case "run":
                return lambda s: self._run(s, environment), None
            case "run due":
                return lambda s: self._run(s, environment, Wanted.DUE), None
            case "run stale":
                return lambda s: self._run(s, environment, Wanted.STALE), None
            case "promote" if target is not None:
                return (
                    lambda s: apply_plan(s, plan_promotion(s, environment, target), lambda _: None),
                    lambda: (target, self._known(environment)),
                )
            case "rollback":
                return (
                    lambda s: apply_plan(s, plan_rollback(s, environment), lambda _: None),
                    lambda: (environment, self.ever.get(environment, [])),
                )
            case "save":
                return lambda s: self._save(s, environment, models), None
            case "apply saved" if self.saved is not None:
                plan = self.saved
                return (
                    lambda s: apply_plan(s, plan, lambda _: None),
                    lambda: (plan.environment, [self.saved_shows]),
                )
            case "pause":
                return lambda s: pause_models(s, environment, [made.key], reason=""), None
            case "resume":
                return lambda s: resume_models(s, environment, []), None
            case "catch up" if made.form is Form.SESSIONS:
                return lambda s: self._catch_up(s, environment, made), None
            case "evaluate" if environment in self.shows:
                return lambda s: self._evaluate(s, environment, made, act.model), None
            case "clean up":
                return lambda s: clean_up(s, Times(grace=timedelta(minutes=5), history=timedelta(minutes=30), environment=None)), None
            case "remove" if environment != "prod":
                return lambda s: remove_environment(s, environment), lambda: (environment, [])
        return lambda s: None, None

    def _keep(self, environment: str) -> None:
        """Rows of models that are changed forward-only are by any of their definitions."""
        shown = dict(_by_name(self.shows.get(environment, ())))
        self.loose |= {name for name, meaning in _by_name(self.models) if shown.get(name) != meaning}

    def _known(self, environment: str) -> list[tuple[Made, ...]]:
        return [*self.ever.get(environment, [])]

    def _model(self, act: Act) -> Made:
        models = self.shows.get(act.environment, self.models)
        late = [each for each in models if each.form is Form.SESSIONS]
        found = late if late and act.what == "catch up" else models
        return found[act.model % len(found)]

    def _apply(self, services: Services, environment: str, **options: Any) -> None:
        finish_promotions(services, environment)
        plan = plan_environment(services, project(self.models), environment, PlanOptions(**options))
        apply_plan(services, plan, lambda _: None)

    def _run(self, services: Services, environment: str, wanted: Wanted = Wanted.DUE_AND_STALE) -> None:
        plan = plan_run(services, environment, wanted)
        if plan.is_empty:
            end_without_work(services, plan)
        else:
            apply_plan(services, plan, lambda _: None)

    def _save(self, services: Services, environment: str, models: tuple[Made, ...]) -> None:
        self.saved = plan_environment(services, project(models), environment)
        self.saved_shows = models

    def _catch_up(self, services: Services, environment: str, made: Made) -> None:
        binding = bind_environment(services, environment)
        if binding is not None and made.key in binding.graph:
            catch_up(services, binding, made.key)

    def _evaluate(self, services: Services, environment: str, made: Made, at: int) -> None:
        binding = bind_environment(services, environment)
        if binding is None or made.key not in binding.graph or not made.is_by_time or made.form is Form.SESSIONS:
            return
        key = binding.key(made.key)
        entries = services.state.ledger([key]).get(key, ())
        if entries:
            interval = entries[at % len(entries)].interval
            evaluate_range(services, binding, made.key, interval, force=at % 2 == 0)

    # What has to be true
    def check(self) -> None:
        """What each environment shows is as from scratch, or is told to be behind."""
        for environment in self.world.state.environments():
            models = self.shows.get(environment)
            if models is None:
                continue
            status = self._status(environment)
            if status is not None:
                self._check_rows(environment, models, status)

    def _status(self, environment: str) -> EnvironmentStatus | None:
        try:
            return look_at_environment(self.world.services(), environment)
        except VdeError as error:
            self.told[f"status: {type(error).__name__}"] += 1
            self.log.append(f"status {environment}: {error}")
            return None

    def _check_rows(
        self, environment: str, models: Sequence[Made], status: EnvironmentStatus
    ) -> None:
        named = {str(each.node.name) for each in status.models}
        named |= {str(each.pause.model) for each in status.pauses}
        named |= {str(each) for each in status.dropped_views}
        behind = set[str]()
        wanted = expected(models, self._sources(), self.loose)
        for made in models:
            name = f"gen.{made.name}"
            if name in named or not behind.isdisjoint(made.parents):
                behind.add(name)
                continue
            rows = wanted[name].rows
            if made.form is Form.EMBEDDED or rows is None:
                continue
            found = shown(self.world, environment, made)
            if found is None:
                raise Wrong(f"{environment} has no view of {name}, and status says it is up to date")
            if found != sorted(rows):
                raise Wrong(
                    f"{environment} says {name} ({made.form.name}) is up to date, and it has "
                    f"{differing(found, sorted(rows))}"
                )

    def _sources(self) -> dict[str, Shown]:
        end = hour_of(self.until)
        return {name: Shown(tuple(rows), end) for name, rows in self.rows.items()}

    def finish(self) -> None:
        """Resume and run everything, and do what is advised: then all is up to date."""
        for _ in range(3):
            for environment in sorted(self.shows):
                self._last(lambda s, e=environment: resume_models(s, e, []), environment)
                self.world.clock.advance(timedelta(minutes=1))
                self._last(lambda s, e=environment: self._run(s, e), environment)
            self.check()
            if not any(self._behind(each) for each in sorted(self.shows)):
                return
            for environment in sorted(self.shows):
                for text in self._behind(environment):
                    self._carry_out(text)
        raise Wrong(f"in the end: {[self._behind(each) for each in sorted(self.shows)]}")

    def _last(self, command: Callable[[Services], Any], environment: str) -> None:
        outcome = _try(command, self.world.services())
        self._end(Act(what="last", environment=environment), None, outcome)
        if outcome is not None:
            self._carry_out(str(outcome))

    def _behind(self, environment: str) -> list[str]:
        """What status says is not up to date in an environment."""
        status = self._status(environment)
        if status is None:
            return [self.log[-1]]
        return [
            f"{environment}: {each.node.name}: {each.refused} {each.staleness} {each.due} {each.lost}"
            for each in status.models
            if each.is_behind and "never computed again" not in str(each.staleness)
        ]

    def _carry_out(self, text: str) -> None:
        """Carry out the commands that a text advises."""
        for command in dict.fromkeys(_COMMAND.findall(text)):
            words = shlex.split(command)
            environment = words[1] if len(words) > 1 else "prod"
            self.told[f"advised: vde {words[0]}"] += 1
            match words[0]:
                case "run":
                    act = Act(what="run", environment=environment)
                    self._end(act, None, _try(lambda s: self._run(s, environment), self.world.services()))
                case "plan":
                    options = _options(words[2:])
                    models = self.models
                    act = Act(what="plan", environment=environment)
                    outcome = _try(lambda s: self._apply(s, environment, **options), self.world.services())
                    self._end(act, lambda: (environment, [models]), outcome)
                case _:
                    self.log.append(f"not carried out: {command}")


def _options(words: Sequence[str]) -> dict[str, Any]:
    """The options of a plan, of the words of its command."""
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
                raise Wrong(f"unknown option {word} is advised")
    return options


def _meanings(models: Sequence[Made]) -> Iterator[tuple[Made, object]]:
    """Each model with what it and all that it reads compute."""
    known: dict[str, object] = {}
    for made in models:
        meaning = (replace(made, columns=0), *(known.get(each, each) for each in made.parents))
        known[f"gen.{made.name}"] = meaning
        yield made, meaning


def _by_name(models: Sequence[Made]) -> Iterator[tuple[str, object]]:
    return ((made.name, meaning) for made, meaning in _meanings(models))


_COMMAND: Final = re.compile(r"`vde ([^`]+)`")
_KEEPING: Final = {*KEEPING_BY_THEMSELVES, Form.KEPT}
_SIMPLE: Final = (Form.COPY, Form.RECENT, Form.SUMS, Form.FULL_UNTIL, Form.FULL, Form.VIEW)
_SEQUENTIAL: Final = {Form.BY_KEY, *KEEPING_BY_THEMSELVES}


def _only_at_the_end(models: Sequence[Made]) -> set[str]:
    return {f"gen.{each.name}" for each in models if each.form in (Form.HISTORY, Form.KEPT)}


def _read_by_time(made: Made, models: Sequence[Made]) -> bool:
    readers = [each for each in downstream(made, models) if each.name != made.name]
    return any(each.form in _SEQUENTIAL for each in readers)


def _try(command: Callable[[Services], Any], services: Services) -> BaseException | None:
    try:
        command(services)
    except (Exception, PowerCut) as error:
        return error
    return None


def shown(world: MemoryWorld, environment: str, made: Made) -> list[Any] | None:
    """The rows of an environment's view, in the columns that every definition of a model has."""
    view = environment_view(ModelName("gen", made.name), environment, NAMING)
    found = world.catalog.view(view)
    if found is None:
        return None
    table = world.catalog.tables.get(found.target)
    if table is None:  # a physical view
        sql = f"SELECT {', '.join(SHOWN_COLUMNS)} FROM {view}"
        _, rows = MemoryEngine(world.catalog).fetch(sql, limit=100_000)
        return sorted(tuple(row) for row in rows)
    names = [each.name for each in table.columns]
    at = [names.index(each) for each in SHOWN_COLUMNS]
    return sorted(tuple(row[each] for each in at) for row in table.rows_at(table.head))


def differing(found: Sequence[Any], wanted: Sequence[Any]) -> str:
    """How rows differ from others, for people."""
    more = [each for each in found if each not in wanted]
    less = [each for each in wanted if each not in found]
    return f"{more[:3]} for {less[:3]} ({len(found)} rows, {len(wanted)} from scratch)"


def tell(history: History) -> Simulation:
    """Carry out a history.

    Raises:
        Wrong: Something is not as it has to be; the number of its step is a note of it.
    """
    with reading_once():
        return _told(history)


def _told(history: History) -> Simulation:
    simulation = Simulation(models=history.models)
    for number, step in enumerate(history.steps):
        try:
            simulation.tell(step)
        except Exception as error:
            error.add_note(f"step {number}: {step}")
            error.add_note("\n".join(simulation.log[-6:]))
            raise
    try:
        simulation.finish()
    except Exception as error:
        error.add_note("at the end")
        error.add_note("\n".join(simulation.log[-6:]))
        raise
    return simulation
