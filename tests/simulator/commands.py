"""What people and schedules do in a history: commands by the product's use cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from tests.app.generated_models import Made, project
from tests.app.memory_world import START
from tests.simulator.leftovers import TIMES
from tests.simulator.sources import TABLES
from tests.simulator.steps import Act
from vde_dagster.app.apply.accepting import Accepting, publish_refused
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.pausing import pause_models, resume_models
from vde_dagster.app.apply.running import Wanted, end_without_work, plan_run
from vde_dagster.app.apply.saved_plans import left_of
from vde_dagster.app.binding import bind_environment
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.clean_up.janitor import clean_up
from vde_dagster.app.clean_up.maintaining import maintain
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions, remove_environment
from vde_dagster.app.promote.taking import give_up_promotion, plan_promotion, plan_rollback
from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.upkeep import Upkeep
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.planning.options import DEFAULT_OPTIONS, PlanOptions
from vde_dagster.core.planning.plan import Plan

Models = tuple[Made, ...]
Words = tuple[str, ...]


@dataclass
class People:
    """What people know: the models in their files, a saved plan, and what was ever shown where.

    ``mixed`` are projects that were in no files: some models of what an environment showed, and
    others of files.
    """

    models: Models
    shows: dict[str, Models]
    ever: dict[str, list[Models]]
    mixed: list[Models] = field(default_factory=list)
    saved: tuple[Plan, Models] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What a command does, and what the environment may show then that it moves, if any."""

    do: Callable[[Services], object]
    moves: str = ""
    to: Sequence[Models] = ()


NOTHING: Final = Command(do=lambda _: None)


def meant(people: People, act: Act) -> Act:
    """What somebody means who gives a command: of eight wrong environments, one is left wrong."""
    shown = sorted(people.shows)
    if act.what == "rollback" and len(people.ever.get(act.environment, ())) < 2:
        shown = [each for each in shown if len(people.ever.get(each, ())) > 1]
        return replace(act, environment=shown[act.model % len(shown)]) if shown else act
    if act.what not in _OF_WHAT_IS_THERE or act.environment in shown or not shown:
        return act
    return act if act.model % 8 == 0 else replace(act, environment=shown[act.model % len(shown)])


_OF_WHAT_IS_THERE: Final = frozenset(
    {
        *("run", "run due", "run stale", "rollback", "remove", "pause", "resume", "promote"),
        *("catch up", "evaluate", "publish"),
    }
)
"""Commands that are refused where their environment is not there."""


def command(people: People, act: Act) -> Command:
    """The command of an act; nothing where it has no meaning now."""
    return _COMMANDS[act.what](people, act)


def apply_files(services: Services, models: Models, environment: str, **options: Any) -> None:
    """`vde plan`: plan the files, and apply that."""
    finish_promotions(services, environment)
    plan = plan_environment(services, project(models), environment, PlanOptions(**options))
    apply_plan(services, plan, lambda _: None)


def run(
    services: Services,
    environment: str,
    wanted: Wanted = Wanted.DUE_AND_STALE,
    options: PlanOptions = DEFAULT_OPTIONS,
) -> None:
    """`vde run`."""
    plan = plan_run(services, environment, wanted, options)
    if plan.is_empty:
        end_without_work(services, plan)
    else:
        apply_plan(services, plan, lambda _: None)


def _plan(people: People, act: Act, **options: Any) -> Command:
    models = people.models
    return Command(
        do=lambda services: apply_files(services, models, act.environment, **options),
        moves=act.environment,
        to=[models],
    )


def _begins(act: Act) -> datetime:
    return START + timedelta(hours=6 * (act.model % 5))


def _select(people: People, act: Act) -> Command:
    """Plan the edit of one model: the others stay as the environment, or production, shows them."""
    shown = people.shows.get(act.environment, people.shows.get("prod", ()))
    made = _of(people.models, act)
    selected = _plan(people, act, select=(f"gen.{made.name}",))
    named = {**{each.name: each for each in shown}, made.name: made}
    mixed = _in_order(list(named.values()))
    if mixed is not None:
        people.mixed.append(mixed)
    return replace(selected, to=[] if mixed is None else [mixed])


def _in_order(models: list[Made]) -> Models | None:
    """Models, parents first; None where one reads what none of them is."""
    placed: list[Made] = []
    known = {*TABLES}
    while len(placed) < len(models):
        following = [
            each for each in models if each not in placed and known.issuperset(each.parents)
        ]
        if not following:
            return None
        placed += following
        known.update(f"gen.{each.name}" for each in following)
    return tuple(placed)


def _decide(people: People, act: Act) -> Command:
    """Plan the files, where somebody says of added columns that no other row changes by them."""
    shown = {each.name: each for each in people.shows.get(act.environment, ())}
    added = (
        made
        for made in people.models
        if made.columns > shown.get(made.name, made).columns
        and replace(made, columns=shown[made.name].columns) == shown[made.name]
    )
    return _plan(people, act, decisions={each.key: Category.NON_BREAKING for each in added})


def _restate(people: People, act: Act) -> Command:
    name = f"gen.{chosen(people, act).name}"
    return _plan(people, act, restate=(name,), allow_empty=True, **times_of(act))


def times_of(act: Act) -> dict[str, datetime]:
    """The times that a restatement is bounded to; mostly it is not."""
    if act.model % 5 != 1:
        return {}
    return {"start": _begins(act), "end": _begins(act) + timedelta(hours=12)}


def _promote(people: People, act: Act) -> Command:
    if act.other == act.environment:
        return NOTHING
    return Command(
        do=lambda services: apply_plan(
            services, plan_promotion(services, act.environment, act.other), lambda _: None
        ),
        moves=act.other,
        to=[*people.ever.get(act.environment, ())],
    )


def _roll_back(people: People, act: Act) -> Command:
    return Command(
        do=lambda services: apply_plan(
            services, plan_rollback(services, act.environment), lambda _: None
        ),
        moves=act.environment,
        to=[*people.ever.get(act.environment, ())],
    )


def _give_up(people: People, act: Act) -> Command:
    """Go back to what was shown before a promotion that was begun."""
    return Command(
        do=lambda services: give_up_promotion(services, act.environment),
        moves=act.environment,
        to=[*people.ever.get(act.environment, ()), ()],
    )


def _save(people: People, act: Act) -> Command:
    models = people.models

    def do(services: Services) -> None:
        people.saved = plan_environment(services, project(models), act.environment), models

    return Command(do=do)


def _apply_saved(people: People, _: Act) -> Command:
    if people.saved is None:
        return NOTHING
    plan, models = people.saved
    return Command(
        do=lambda services: apply_plan(services, left_of(services, plan)[0], lambda _: None),
        moves=plan.environment,
        to=[models],
    )


def _remove(_: People, act: Act) -> Command:
    if act.environment == "prod":
        return NOTHING
    return Command(
        do=lambda services: remove_environment(services, act.environment), moves=act.environment
    )


def _pause(people: People, act: Act) -> Command:
    name = chosen(people, act).key
    return Command(do=lambda services: pause_models(services, act.environment, [name], reason=""))


def _resume(_: People, act: Act) -> Command:
    return Command(do=lambda services: resume_models(services, act.environment, []))


def _catch_up(people: People, act: Act) -> Command:
    made = chosen(people, act, late=True)

    def do(services: Services) -> None:
        binding = bind_environment(services, act.environment)
        if binding is not None and made.key in binding.graph:
            catch_up(services, binding, made.key)

    return Command(do=do) if made.has_sessions else NOTHING


def _publish(people: People, act: Act) -> Command:
    """What audits refused, all the same."""

    def do(services: Services) -> None:
        binding = bind_environment(services, act.environment)
        keys = [] if binding is None else [binding.key(node.name) for node in binding.graph]
        for work in services.state.failed(keys).values():
            if work.refused_branch:
                audits = [each.name for each in work.audits if each.stops]
                publish(services, people.models, work.intent.work_id, audits)

    return Command(do=do)


def publish(services: Services, files: Models, work_id: str, audits: Sequence[str]) -> None:
    """`vde publish`, with these files."""
    wanted = Accepting(work_id=work_id, audits=tuple(audits), reason="it is right")
    publish_refused(services, lambda: project(files), wanted)


def _evaluate(people: People, act: Act) -> Command:
    """One loaded interval of a model, by hand."""
    made = chosen(people, act)

    def do(services: Services) -> None:
        binding = bind_environment(services, act.environment)
        if binding is None or made.key not in binding.graph:
            return
        key = binding.key(made.key)
        entries = services.state.ledger([key]).get(key, ())
        if entries:
            interval = entries[act.model % len(entries)].interval
            evaluate_range(services, binding, made.key, interval, force=act.model % 2 == 0)

    return Command(do=do) if made.is_by_time else NOTHING


def chosen(people: People, act: Act, *, late: bool = False) -> Made:
    """The model that an act is about."""
    models = people.shows.get(act.environment, people.models)
    found = [each for each in models if each.has_sessions] if late else []
    return _of(found or models, act)


def _of(models: Sequence[Made], act: Act) -> Made:
    return models[act.model % len(models)]


def _running(wanted: Wanted) -> Callable[[People, Act], Command]:
    return lambda _, act: Command(do=lambda services: run(services, act.environment, wanted))


_UPKEEP: Final = Upkeep(snapshots=timedelta(0), orphans=timedelta(0), small_files=2)

_COMMANDS: Final[Mapping[str, Callable[[People, Act], Command]]] = {
    "plan": _plan,
    "forward": lambda people, act: _plan(people, act, forward_only=True),
    "skip": lambda people, act: _plan(people, act, skip_backfill=True),
    "empty": lambda people, act: _plan(people, act, empty_backfill=True),
    "from": lambda people, act: _plan(people, act, start=_begins(act)),
    "until": lambda people, act: _plan(people, act, end=_begins(act)),
    "select": _select,
    "decide": _decide,
    "restate": _restate,
    "run": _running(Wanted.DUE_AND_STALE),
    "run due": _running(Wanted.DUE),
    "run stale": _running(Wanted.STALE),
    "promote": _promote,
    "rollback": _roll_back,
    "give up": _give_up,
    "save": _save,
    "apply saved": _apply_saved,
    "remove": _remove,
    "pause": _pause,
    "resume": _resume,
    "catch up": _catch_up,
    "evaluate": _evaluate,
    "publish": _publish,
    "clean up": lambda *_: Command(do=lambda services: clean_up(services, TIMES)),
    "maintain": lambda *_: Command(do=lambda services: maintain(services, TIMES, _UPKEEP)),
}


def words_of(act: Act, models: Models) -> Words | None:
    """What somebody types who means an act; None where that is no command of `vde`."""
    made = _WORDS.get(act.what)
    return None if made is None else made(act, models)


_PLAN: Final = ("--auto-apply", "--skip-tests")


def _restating(act: Act, models: Models) -> Words:
    return (
        *("plan", act.environment, *_PLAN, "--allow-empty"),
        *("--restate-model", f"gen.{_of(models, act).name}"),
        *(word for name, at in times_of(act).items() for word in (f"--{name}", f"{at}")),
    )


_WORDS: Final[Mapping[str, Callable[[Act, Models], Words]]] = {
    "plan": lambda act, _: ("plan", act.environment, *_PLAN),
    "forward": lambda act, _: ("plan", act.environment, *_PLAN, "--forward-only"),
    "skip": lambda act, _: ("plan", act.environment, *_PLAN, "--skip-backfill"),
    "empty": lambda act, _: ("plan", act.environment, *_PLAN, "--empty-backfill"),
    "from": lambda act, _: ("plan", act.environment, *_PLAN, "--start", f"{_begins(act)}"),
    "until": lambda act, _: ("plan", act.environment, *_PLAN, "--end", f"{_begins(act)}"),
    "select": lambda act, models: (
        *("plan", act.environment, *_PLAN),
        *("--select-model", f"gen.{_of(models, act).name}"),
    ),
    "restate": _restating,
    "run": lambda act, _: ("run", act.environment),
    "run due": lambda act, _: ("run", act.environment, "--no-stale"),
    "run stale": lambda act, _: ("run", act.environment, "--only-stale"),
    "promote": lambda act, _: ("promote", act.environment, act.other, "--auto-apply"),
    "rollback": lambda act, _: ("rollback", act.environment, "--auto-apply"),
    "give up": lambda act, _: ("rollback", act.environment, "--give-up"),
    "pause": lambda act, models: (
        "pause",
        f"gen.{_of(models, act).name}",
        *("--env", act.environment),
    ),
    "resume": lambda act, _: ("resume", "--env", act.environment),
    "remove": lambda act, _: ("invalidate", act.environment),
}
