"""Why a plan cannot be applied: all reasons at once, before anything is written for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.app.evaluate.evolution import readers_of_views
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import look_at
from vde_dagster.app.plan.catalog_look import look_at_versions, lost_for, taken_names
from vde_dagster.app.services import VALID_TO, Services, valid_to_of
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.schema_changes import ColumnIncompatible, ColumnWidened, described
from vde_dagster.core.ledger.stored_types import fits, holds
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.kept_tables import column_findings, identity_findings
from vde_dagster.core.planning.pauses import PausedModel
from vde_dagster.core.planning.plan import Gap, LostTable, Plan
from vde_dagster.core.planning.plan_text import listed
from vde_dagster.core.planning.setting_aside import needing_lost
from vde_dagster.core.planning.stages import EmptyBackfill, WorkStage, work_stages
from vde_dagster.core.planning.workload import find_gaps, why_never_empty
from vde_dagster.core.time.intervals import Interval, format_instant, merge
from vde_dagster.core.time.schedule import due_interval
from vde_dagster.ports.state import Environment


def check_plan(services: Services, plan: Plan) -> None:
    """Refuse a plan that cannot be applied. Reads the state, writes nothing.

    Raises:
        Refused: A table of it is missing, or it would change a kept table's schema in a way that
            cannot be done in place or that its model does not allow, record as empty what cannot be
            empty, create a view whose name is taken, or show less than is shown now; the text names
            all models.
        Conflict: It cannot, since the janitor dropped what it counts on.
    """
    work = work_stages(plan)
    own = services.state.environment(plan.environment)
    held = held_now(services, plan, own)
    look = look_at_versions(services, plan.graph, plan.snapshots, held.loaded)
    lost = lost_for(services, plan.environment, look)
    found = [
        *_lost_problems(services, plan, lost),
        *taken_names(services, plan),
        *identity_findings(plan, _computed(plan, held)),
        *_schema_problems(plan),
        *(str(each) for each in column_findings(plan) if each.refuses),
        *_view_problems(services, plan),
        *_empty_problems(plan, work),
        *_loss_problems(plan),
        *_expired_problems(services, plan),
        *_pause_problems(plan),
        *gap_problems(plan, _unpaused(plan, gaps_after(plan, held, work))),
    ]
    if found:
        refuse_dropped(services, plan)
        raise Refused("\n".join([*found, "Nothing was changed.", *_way_out(own)]))


def _way_out(shown: Environment | None) -> Iterator[str]:
    """How an environment goes on that no plan was applied to since a promotion was started."""
    if shown is not None and shown.promoting:
        yield (
            f"An earlier promotion of {shown.name} was started and is not finished: `vde "
            f"rollback {shown.name} --give-up` gives it up."
        )


def refuse_dropped(services: Services, plan: Plan) -> None:
    """Refuse a plan that counts on rows that were dropped since it was made (rule R12).

    Raises:
        Conflict: It does.
    """
    counted_on = {
        plan.snapshots[change.name].key
        for change in plan.changes
        if change.reuse is not None and change.name in plan.snapshots
    }
    dropped = counted_on - services.state.holdings(counted_on).keys()
    if dropped:
        raise Conflict(
            "the janitor dropped the table of "
            f"{', '.join(sorted(str(e.model) for e in dropped))} since this plan was made, "
            "because nothing showed it. Nothing was computed",
            advice=plan.again,
        )


def _lost_problems(services: Services, plan: Plan, lost: Iterable[LostTable]) -> Iterator[str]:
    """What is lost, and the plan neither computes again nor leaves as it is; and what needs it."""
    known = {each.name: each for each in plan.lost_tables}
    needing = needing_lost(plan, services.naming.catalog)
    expected = {each.name for each in plan.rebuilds} | (set() if needing else known.keys())
    restated = {each.name for each in plan.changes if each.restated}
    expected |= {e.name for e in lost if e.lacks_files and e.name in restated - known.keys()}
    yield from lost_problems(plan, [known.get(e.name, e) for e in lost if e.name not in expected])
    if needing and plan.base_revision:
        waits = "waits" if len(needing) == 1 else "wait"
        does, without = "plan changes", "exclude the change with --select-model"
        if plan.paced:  # a run has no such option
            does, without = "run recomputes", "leave it out of --restate-model"
        yield (
            f"The {does} {listed(needing)}, which {waits} for that: {without}, and the rest is "
            "done."
        )


def what_stayed_undone(plan: Plan) -> Iterator[Refused]:
    """The error of a plan or run that left out models whose tables are lost; none without them."""
    if plan.lost_tables:
        what = lost_problems(plan, plan.lost_tables)
        yield Refused("\n".join([*what, "Downstream models wait, and nothing else does."]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What is loaded by now of a plan's versions, and of those that its environment shows.

    ``shown`` is None if nothing is shown, or if the plan may show less than that.
    """

    shown: Environment | None
    loaded: Mapping[VersionKey, Holding]


def held_now(services: Services, plan: Plan, own: Environment | None) -> Held:
    """What is loaded by now, in one look at the state.

    Args:
        services: The ports.
        plan: The plan.
        own: What its environment shows; for a new one it is what production shows.
    """
    shown = (own or services.state.environment(PRODUCTION)) if plan.refuses_loss else None
    every = (*plan.snapshots.values(), *(shown.snapshots.values() if shown is not None else ()))
    return Held(shown=shown, loaded=services.state.holdings(each.key for each in every))


def gaps_after(plan: Plan, held: Held, work: Iterable[WorkStage] = ()) -> tuple[Gap, ...]:
    """What is shown now and will not be loaded when the work is done.

    This is checked for production, and if the option ``no_gaps`` asks for it. The option
    ``accept_loss`` accepts that the last units of a coarser interval unit are not over yet.

    Args:
        plan: The plan.
        held: What is shown and loaded.
        work: What is done first.
    """
    if held.shown is None:
        return ()
    kept = {each.model for each in work if not isinstance(each, EmptyBackfill)}
    filled = {each.name: each.to_evaluate for each in plan.backfills if each.name in kept}
    loaded: Mapping[ModelName, tuple[Interval, ...]] = {
        name: (*computed, *filled.get(name, ())) for name, computed in _computed(plan, held).items()
    }
    gaps = find_gaps(plan.graph, held.shown.snapshots, plan.snapshots, held.loaded, loaded)
    accepts = plan.options.accept_loss
    return tuple(gap for gap in gaps if not accepts or _next_due(plan, gap) is None)


def _computed(plan: Plan, held: Held) -> dict[ModelName, tuple[Interval, ...]]:
    """What a plan's versions hold by now."""
    loaded = held.loaded
    return {name: loaded.get(each.key, NOTHING).computed for name, each in plan.snapshots.items()}


def gap_problems(plan: Plan, gaps: Iterable[Gap]) -> Iterator[str]:
    """Texts about models that would show less than they do, one for each reason."""
    by_advice: dict[str, list[Gap]] = {}
    for gap in gaps:
        by_advice.setdefault(_advice_for(plan, gap), []).append(gap)
    for advice, found in by_advice.items():
        lacking = "; ".join(f"{gap.name} ({', '.join(map(str, gap.intervals))})" for gap in found)
        yield (
            f"{plan.environment} shows intervals that the new versions have not loaded: {lacking}. "
            f"{advice}"
        )


def _advice_for(plan: Plan, gap: Gap) -> str:
    """Why intervals are not loaded that are shown, and what to do."""
    if plan.options.skip_backfill:
        return "Omit --skip-backfill, so that they are filled first."
    until = _next_due(plan, gap)
    if until is None:
        return "Their inputs are not complete up to that time: load their sources and plan again."
    model = plan.graph[gap.name].model
    finer = "" if plan.taken is not None else ", or write a finer `interval_unit` or another `cron`"
    return (
        f"By its cron ({model.cron}) and its interval unit ({model.unit.value}), intervals from "
        f"{format_instant(until)} on are not due yet: plan again once they are{finer}. To show "
        "less until then, plan with --accept-loss."
    )


def _next_due(plan: Plan, gap: Gap) -> datetime | None:
    """When the interval begins that is not due yet, if a gap is of nothing else."""
    model = plan.graph[gap.name].model
    due = due_interval(model, plan.now) if plan.now is not None else None
    until = due.end if due is not None else model.start
    return None if model.kind.is_timeless or gap.intervals[0].start < until else until


def _expired_problems(services: Services, plan: Plan) -> Iterator[str]:
    """Restated intervals of which a source has lost rows, so that they would lose some (rule R8).

    All of them are compared, since what was lost before the last look counts as well.
    What a stateless session loads is restated as of its mark, when the source had them.
    """
    restated = [each for each in plan.changes if each.restated]
    if plan.options.allow_empty or not restated:
        return
    state = services.state
    states = InputStates(services=services, graph=plan.graph, snapshots=plan.snapshots)
    for change in restated:
        model = plan.graph[change.name].model
        if model.stateless is not None or (change.behind and change.behind.has_times):
            continue
        key = plan.snapshots[change.name].key
        look = look_at(plan.graph, states, change.name, state.entries_within(key, change.restated))
        gone = merge(each.entry.interval for each in look.expired)
        if gone:
            later = "P" if model.kind.restates_whole else "Restate it from a later --start on, or p"
            sources = dict.fromkeys(name for each in look.expired for name in each.inputs)
            yield (
                f"{change.name} cannot be computed again without losing rows: "
                f"{', '.join(map(str, sources))} no longer has the rows at the start of "
                f"{', '.join(map(str, gone))}. {later}lan with --allow-empty: these intervals "
                "then have only the remaining rows."
            )


def _pause_problems(plan: Plan) -> Iterator[str]:
    """New versions that would be shown although a pause keeps them from being computed."""
    for name, paused in _kept_from(plan).items():
        pause = paused.pause
        what = "it is" if name == pause.model else f"it waits for {pause.model}, which is"
        yield (
            f"{plan.environment} would show another version of {name}, which is not computed: "
            f"{what} {pause}. Resume it (`{pause.resume}`), or exclude the change with "
            "--select-model."
        )


def _kept_from(plan: Plan) -> dict[ModelName, PausedModel]:
    """The models whose view would move to a version that a pause keeps from being computed.

    This is checked for production, and if the option ``no_gaps`` asks for it.
    """
    if not (plan.refuses_loss and plan.pauses):
        return {}
    views = frozenset(plan.views)
    moved = {
        change.name
        for change in plan.changes
        if change.name in views and change.version != change.previous_version
    }
    return {
        name: paused
        for paused in plan.pauses
        for name in (paused.pause.model, *paused.waiting)
        if name in moved
    }


def _unpaused(plan: Plan, gaps: Iterable[Gap]) -> Iterator[Gap]:
    """The gaps that have another reason than a pause, which is named by itself."""
    named = _kept_from(plan)
    return (gap for gap in gaps if gap.name not in named)


def _empty_problems(plan: Plan, work: Iterable[WorkStage]) -> Iterator[str]:
    for stage in work:
        is_empty = isinstance(stage, EmptyBackfill)
        if is_empty and (why := why_never_empty(plan.graph[stage.model].model)):
            yield (
                f"{stage.model} cannot be recorded as empty: {why}. Exclude it with "
                "--select-model, or plan without --empty-backfill."
            )


def sources_without_time(services: Services, plan: Plan) -> tuple[ModelName, ...]:
    """The sources that the project's clock waits for; none if it had a time for the plan."""
    if plan.now is not None:
        return ()
    return tuple(
        name for name in services.clock_sources if valid_to_of(services.source(name)) is None
    )


def no_time_text(sources: Collection[object]) -> str:
    """What to do about sources that the project's clock waits for."""
    return (
        f"the project's clock is not set yet: {', '.join(map(str, sources))} "
        f"{'is' if len(sources) == 1 else 'are'} missing or without the table property "
        f"{VALID_TO}.\nLoad the source and set the property to the instant up to which it is "
        "complete, or use the wall clock (`clock: wall` in vde.yaml)."
    )


def lost_problems(plan: Plan, lost: Iterable[LostTable]) -> Iterator[str]:
    """What to do about a plan's tables that were dropped or changed."""
    for each in lost:
        if each.damage:
            yield each.told
            continue
        gone = f"the {each.what} {each.table} of {each.name} is missing: it was dropped outside vde"
        if each.why:
            yield (
                f"{gone}, with its rows, and they are not computed again: {each.why}. Restore "
                f"it, or write another `stamp` in the model{_new_version(plan, each)}"
            )
        elif each.owner:
            yield (
                f"{gone}. It belongs to {each.owner}: plan {each.owner}, which rebuilds it, then "
                "plan again."
            )
        else:
            yield (
                f"{gone} since this plan was made, or the plan does not compute it. Plan again: "
                f"a plan of {plan.environment} computes its rows again, or reports why it cannot."
            )


def _new_version(plan: Plan, lost: LostTable) -> str:
    """How a stamp gives a model a new version: with a decision if its change is forward-only."""
    if plan.options.forward_only or plan.graph[lost.name].model.goes_forward:
        decides = f"--decide {lost.name}=breaking"
        return f" and plan with `{decides}`, because it is forward-only and would keep the table."
    return ", which gives it a new version."


def _loss_problems(plan: Plan) -> Iterator[str]:
    """Versions that would be shown again without rows that are shown now (rule R15)."""
    if not plan.refuses_loss or plan.options.accept_loss:
        return
    for change in plan.changes:
        found = change.behind
        if found is None or not found.lost:
            continue
        behind = f"{found.reason}, and {found.why_lost}"
        yield (
            f"{change.name} would return to its earlier version, and {plan.environment} would "
            f"show less than now of {', '.join(map(str, found.lost))}: "
            f"{found.why_lost if found.reason == found.why_lost else behind}. To keep the rows "
            "shown now, write another `stamp` in the model and plan with --forward-only. To "
            "show the earlier version anyway, plan with --accept-loss; also pass "
            "--skip-backfill if its due intervals cannot be loaded before."
        )


def _schema_problems(plan: Plan) -> Iterator[str]:
    """Changes of kept tables' columns that cannot be done in place.

    A table that holds all values of what is rolled back to stays as it is.
    """
    for change in plan.changes:
        never = [
            each
            for each in change.schema_changes
            if isinstance(each, ColumnIncompatible)
            and not (plan.is_rollback and holds(each.before, each.after))
        ]
        if never:
            yield (
                f"{change.name} keeps its table, and a kept table can only get new columns, new "
                f"struct fields and wider types (rule R11): {', '.join(map(described, never))}. "
                "Give the column another name, or make the change breaking, so that a new table "
                f"is created.{_lost_fields(never)}"
            )


def _lost_fields(changes: Sequence[ColumnIncompatible]) -> str:
    """What else may be done where structs only lack fields that they had."""
    if not any(fits(each.before, each.after) for each in changes):
        return ""
    return " Or keep the missing fields, as NULL of their type: CAST(NULL AS INT) AS b."


def _view_problems(services: Services, plan: Plan) -> Iterator[str]:
    """Types that would be widened in tables that VIEWs read: Spark stores a view's types."""
    for name, views in readers_of_views(services, plan):
        widened = [
            described(each)
            for change in plan.changes
            if change.name == name
            for each in change.schema_changes
            if isinstance(each, ColumnWidened)
        ]
        yield (
            f"{name} keeps its table and {', '.join(widened)}, but the VIEW {', '.join(views)} "
            "reads it: Spark cannot read that view until it is rebuilt. Give the column another "
            "name, make the change breaking, or make the view FULL or EMBEDDED in a separate "
            "plan before this one: users may read the view as long as it exists."
        )
