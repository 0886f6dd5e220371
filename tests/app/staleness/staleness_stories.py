"""Stories of generated models whose sources change, and what has to be true after each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from tests.app.generated_models import (
    KEEPING_BY_THEMSELVES,
    ONLY_AT_THE_END,
    OTHERS,
    Form,
    Made,
    downstream,
    edited,
    generated,
    project,
)
from tests.app.memory_world import (
    RAW,
    RAW_COLUMNS,
    SOURCE,
    START,
    Fuse,
    MemoryWorld,
    bound,
    build,
    hour_of,
)
from tests.app.reached import reached
from tests.worlds.engine import MemoryEngine
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.running import Wanted, plan_run
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.unit_of_work import Staged, Staging
from vde_dagster.core.names import TableName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval, subtract

Row = tuple[int, datetime, int]
TABLES: Final = {str(SOURCE): RAW, str(OTHERS): TableName("raw", "others")}
SHOWN_COLUMNS: Final = ("id", "at", "amount")


@dataclass(frozen=True, slots=True, kw_only=True)
class Land:
    """Rows arrive in a source: (hour, amount); both sources are complete to ``until`` then."""

    source: str
    rows: tuple[tuple[float, int], ...]
    until: int


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
    """A model is edited and planned; ``how`` is breaking, column or forward."""

    model: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """Somebody evaluates one loaded interval of a model; with late data that is a session."""

    model: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`vde run`, perhaps after another one, which fails at a model or computes only some."""

    fails: str = ""
    first: Wanted | None = None


Step = Land | Correct | Tidy | Edit | ByHand | Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Models, and what happens to them."""

    models: tuple[Made, ...]
    steps: tuple[Step, ...]


class Wrong(AssertionError):
    """A story ended with something other than it should have."""


def story(seed: int, *, length: int = 8) -> Story:
    """A generated story; it begins with a build over 30 hours of events."""
    chance = Random(seed)
    models = generated(chance)
    has_sessions = any(each.form is Form.SESSIONS for each in models)
    until, steps = 30, list[Step]()
    for source in TABLES:
        rows = tuple((chance.uniform(0, 30), chance.randrange(100)) for _ in range(12))
        steps.append(Land(source=source, rows=((0.0, 1), *rows), until=until))
    for _ in range(length):
        source = chance.choice([*TABLES])
        match chance.choice((*("land", "late", "fix") * 2, "tidy", "edit", "hand")):
            case "land":
                until += chance.choice((1, 2, 7, 24))
                hours = [until - chance.uniform(0, 3) for _ in range(chance.randint(0, 3))]
                steps.append(_landing(source, hours, chance, until))
            case "late":
                hours = [chance.uniform(0, until) for _ in range(chance.choice((1, 1, 2)))]
                steps.append(_landing(source, hours, chance, until))
            case "fix":
                gone = chance.random() < 0.3 and not has_sessions
                amount = None if gone else chance.randrange(100)
                steps.append(Correct(source=source, at=chance.randrange(1, 99), amount=amount))
            case "tidy":
                expires = chance.random() < 0.3 and not has_sessions
                steps.append(Tidy(source=source, expires=expires))
            case "edit":
                edited_one = chance.choice(models)
                keeps = any(
                    each.form in KEEPING_BY_THEMSELVES for each in downstream(edited_one, models)
                )
                how = chance.choice(("breaking", "column", "forward")[keeps:])
                steps.append(Edit(model=edited_one.name, how=how))
            case "hand":
                by_hand = [each for each in models if each.is_by_time] or [models[0]]
                step = ByHand(model=chance.choice(by_hand).name, at=chance.randrange(99))
                steps += [step] if by_hand[0].is_by_time else []
        if chance.random() < 0.7:
            steps.append(_run(models, chance))
    return Story(models=models, steps=(*steps, Run()))


def _landing(source: str, hours: Sequence[float], chance: Random, until: int) -> Land:
    rows = tuple((hour, chance.randrange(100)) for hour in hours)
    return Land(source=source, rows=rows, until=until)


def _run(models: Sequence[Made], chance: Random) -> Run:
    how = chance.random()
    if how < 0.2:
        return Run(fails=chance.choice(models).name)
    return Run(first=chance.choice((Wanted.DUE, Wanted.STALE))) if how < 0.55 else Run()


class Failing(MemoryEngine):
    """An engine to which the queries of one model fail."""

    def __init__(self, world: MemoryWorld, name: str) -> None:
        super().__init__(world.catalog)
        self._name = name

    def stage(self, staging: Staging) -> Staged:
        """Fail, or do as any engine."""
        if staging.target.model.name == self._name:
            raise EvaluationFailed(f"{self._name} cannot be computed today")
        return super().stage(staging)


@dataclass
class Told:
    """A story so far, and what changed since all was last known to be right.

    ``rows`` are those of the sources, ``changed`` the times of them that have other rows now, and
    ``anything`` what may have any other rows.
    """

    models: dict[str, Made]
    world: MemoryWorld = field(default_factory=MemoryWorld)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    until: int = 0
    changed: dict[str, list[Interval]] = field(default_factory=dict)
    anything: set[str] = field(default_factory=set)
    works: dict[tuple[str, str, Interval], str] = field(default_factory=dict)
    _number: int = 0
    _scratch: tuple[object, dict[str, list[Any]]] | None = None

    def __post_init__(self) -> None:
        made_of = [Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items()]
        self.world.catalog.create_table(TABLES[str(OTHERS)], made_of)
        self.rows = {source: [] for source in TABLES}

    @property
    def every(self) -> tuple[Made, ...]:
        """The models as they are by now."""
        return tuple(self.models.values())

    # What happens
    def tell(self, step: Step) -> None:
        """Let a step happen; after runs and plans all that has to be true is checked."""
        match step:
            case Land():
                self._land(step)
            case Correct():
                self._correct(step)
            case Tidy():
                self._tidy(step)
            case Edit():
                self._edit(step)
            case ByHand():
                self._evaluate(step)
            case Run():
                self._run(step)

    def _land(self, step: Land) -> None:
        self.until = step.until
        new = [self._row(hour, amount) for hour, amount in step.rows]
        if new:
            self.world.catalog.append(TABLES[step.source], new)
            self.rows[step.source] += new
            self._change(step.source, [row[1] for row in new])
        for table in TABLES.values():
            self.world.catalog.set_property(table, VALID_TO, hour_of(step.until).isoformat())

    def _row(self, hour: float, amount: int) -> Row:
        self._number += 1
        return self._number, START + timedelta(seconds=round(hour * 3600)), amount

    def _change(self, source: str, times: Sequence[datetime]) -> None:
        """What one change of a source did: the port reports the time from its first to last row."""
        until = max(times) + timedelta(microseconds=1)
        self.changed.setdefault(source, []).append(Interval(min(times), until))

    def _correct(self, step: Correct) -> None:
        rows = self.rows[step.source]
        if len(rows) < 3:
            return
        at = 1 + step.at % (len(rows) - 1)  # the first row marks the beginning of the source
        row = rows[at]
        self.rows[step.source] = [
            *rows[:at],
            *([] if step.amount is None else [(row[0], row[1], step.amount)]),
            *rows[at + 1 :],
        ]
        self.world.catalog.overwrite(TABLES[step.source], self.rows[step.source])
        self._change(step.source, [row[1]])
        # a session overwrites all that it may have loaded
        self.anything |= {
            f"gen.{each.name}"
            for each in self.every
            if each.form is Form.SESSIONS and each.parents[0] == step.source
        }

    def _tidy(self, step: Tidy) -> None:
        if step.expires:
            self.world.catalog.expire(TABLES[step.source])
            self.anything.add(step.source)
        else:
            self.world.catalog.compact(TABLES[step.source])

    def _edit(self, step: Edit) -> None:
        made = self.models[step.model]
        self.models[step.model] = edited(made, breaking=step.how == "breaking")
        self.anything |= {f"gen.{each}" for each in self.models}
        self._plan(forward_only=step.how == "forward")

    def _plan(self, **options: Any) -> None:
        """Plan the project and apply that, as a person does."""
        services = self.world.services()
        finish_promotions(services, "prod")
        plan = plan_environment(services, project(self.every), "prod", PlanOptions(**options))
        apply_plan(services, plan, lambda _: None)
        self.check()

    def _evaluate(self, step: ByHand) -> None:
        services, made = self.world.services(), self.models[step.model]
        binding = bound(services)
        if made.form is Form.SESSIONS:
            catch_up(services, binding, made.key)
            return
        key = binding.key(made.key)
        entries = services.state.ledger([key]).get(key, ())
        if entries:
            interval = entries[step.at % len(entries)].interval
            self.changed.setdefault(f"gen.{made.name}", []).append(interval)
            evaluate_range(services, binding, made.key, interval, force=step.at % 2 == 0)

    def _run(self, step: Run) -> None:
        if step.fails:
            services = self.world.services()
            try:
                run(replace(services, engine=Failing(self.world, step.fails)))
            except EvaluationFailed:
                pass
            else:  # there was nothing to compute
                self.check()
        if step.first is not None:
            run(self.world.services(), step.first)
        run(self.world.services())
        self.check()

    # What has to be true
    def check(self) -> None:
        """Compare everything with what it should be, after which all is known to be right."""
        self._check_rows()
        self._check_computed()
        self._check_rest()
        self.changed, self.anything = {}, set()
        self.works = dict(self._works())

    def _check_rows(self) -> None:
        """Every table is as a build from scratch from the current sources."""
        expected = self._from_scratch()
        for each in self.every:
            name = f"gen.{each.name}"
            if each.form in ONLY_AT_THE_END or each.form is Form.EMBEDDED or not self._shows(each):
                continue
            found = shown(self.world, name)
            if found != expected[name]:
                raise Wrong(f"{name} has {differing(found, expected[name])}")

    def _shows(self, model: Made) -> bool:
        return self.world.catalog.view(TableName("gen", model.name)) is not None

    def _from_scratch(self) -> dict[str, list[Any]]:
        built_of = (self.every, self.until, [tuple(each) for each in self.rows.values()])
        if self._scratch is None or self._scratch[0] != built_of:
            other = Told(models=dict(self.models))
            for source, rows in self.rows.items():
                if rows:
                    other.world.catalog.append(TABLES[source], rows)
            for source in TABLES:
                other._land(Land(source=source, rows=(), until=self.until))
            build(other.world.services(), project(self.every))
            names = [f"gen.{each.name}" for each in self.every if other._shows(each)]
            self._scratch = built_of, {name: shown(other.world, name) for name in names}
        return self._scratch[1]

    def _works(self) -> Iterator[tuple[tuple[str, str, Interval], str]]:
        """Which unit of work wrote each interval of each version."""
        shown_now = self.world.state.environment("prod")
        assert shown_now is not None, "it was planned first"
        keys = {name: each.key for name, each in shown_now.snapshots.items()}
        ledger = self.world.state.ledger(keys.values())
        for name, key in keys.items():
            for entry in ledger.get(key, ()):
                yield (str(name), key.version, entry.interval), entry.work_id

    def _check_computed(self) -> None:
        """No interval was computed again that no change can reach."""
        now = dict(self._works())
        before: dict[str, list[Interval]] = {}
        for name, _, interval in self.works:
            before.setdefault(name, []).append(interval)
        new = self._new(now, before)
        changed = {
            name: [*self.changed.get(name, ()), *new.get(name, ())]
            for name in (*self.changed, *new)
        }
        found = reached(self.every, before, changed, self.anything)
        for (name, version, interval), work in now.items():
            known = self.works.get((name, version, interval))
            if known is not None and known != work and not found.has(name, interval):
                raise Wrong(f"{interval} of {name} was computed again for nothing")

    def _new(
        self, now: Mapping[tuple[str, str, Interval], str], before: Mapping[str, Sequence[Interval]]
    ) -> dict[str, list[Interval]]:
        """The intervals that were not loaded before, and those that they look back to."""
        found: dict[str, list[Interval]] = {}
        for name, _, interval in now:
            for each in subtract([interval], before.get(name, ())):
                made = self.models.get(name.removeprefix("gen."))
                back = made.lookback if made is not None else 0
                first = each.start if made is None else made.unit.shifted(each.start, -back)
                found.setdefault(name, []).append(Interval(first, each.end))
        return found

    def _check_rest(self) -> None:
        """The next run has nothing to do, and does nothing."""
        fuse = Fuse()
        plan = plan_run(self.world.services(fuse), "prod")
        if not plan.is_empty:
            raise Wrong(f"the next run computes {work_stages(plan)}")
        kept = {Form.KEPT, Form.HISTORY}
        for each in plan.changes:
            if each.staleness is not None and self.models[each.name.name].form not in kept:
                raise Wrong(f"{each.name} is stale after a run: {each.staleness}")
        done = apply_plan(self.world.services(fuse), plan, lambda _: None)
        if done or "stage" in fuse.names:
            raise Wrong(f"the next run did {done}")


def run(services: Services, wanted: Wanted = Wanted.DUE_AND_STALE) -> tuple[Evaluated, ...]:
    """What `vde run prod --allow-empty` does: stories take the only row out of an hour, too."""
    plan = plan_run(services, "prod", wanted, PlanOptions(allow_empty=True))
    return apply_plan(services, plan, lambda _: None)


def work_stages(plan: Plan) -> dict[str, object]:
    """What a plan does, by model."""
    return {str(each.name): (each.to_evaluate, each.staleness) for each in plan.backfills}


def shown(world: MemoryWorld, name: str) -> list[Any]:
    """The rows of a view that every definition of its model has."""
    view = world.catalog.view(TableName(*name.split(".")))
    table = None if view is None else world.catalog.tables.get(view.target)
    if table is None:  # a physical view
        sql = f"SELECT {', '.join(SHOWN_COLUMNS)} FROM {name}"
        _, found = MemoryEngine(world.catalog).fetch(sql, limit=100_000)
        return sorted((tuple(row) for row in found), key=repr)
    names = [each.name for each in table.columns]
    at = [names.index(each) for each in SHOWN_COLUMNS]
    rows = (tuple(row[each] for each in at) for row in table.rows_at(table.head))
    return sorted(rows, key=repr)


def differing(found: Sequence[Any], expected: Sequence[Any]) -> str:
    """How rows differ from others, for people."""
    more = [each for each in found if each not in expected]
    less = [each for each in expected if each not in found]
    return f"{more[:3]} for {less[:3]} ({len(found)} rows, {len(expected)} from scratch)"


def tell(reported: Story) -> Told:
    """Run a story, from a first plan on."""
    world = Told(models={each.name: each for each in reported.models})
    for step in reported.steps[: len(TABLES)]:
        world.tell(step)
    world.anything |= {f"gen.{each}" for each in world.models}
    world._plan()
    for step in reported.steps[len(TABLES) :]:
        world.tell(step)
    return world
