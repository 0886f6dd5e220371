"""How many rows a pull request's environment has of each model, beside the one it is for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vde_dagster.app.apply.running import look_at_run
from vde_dagster.app.inspect.environment_diff import ModelDiff, Rows, diff_environments
from vde_dagster.app.inspect.interval_report import waiting_models
from vde_dagster.app.plan.waiting import Wait
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.entries import LedgerSum
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan_text import bound_text, counted_ranges
from vde_dagster.core.planning.pull_request import ComparedRows, PullRequest, UnbuiltModel


def compared_rows(services: Services, request: PullRequest) -> tuple[ComparedRows, ...]:
    """The models of which both environments show different tables, read from the state alone.

    Raises:
        Refused: There is no such environment.
    """
    if not services.state.revision(request.target):
        return ()  # the request is the first one: there is nothing to compare with
    found = diff_environments(services, request.target, request.environment)
    different = [each for each in found.models if each.rows is not Rows.SAME_TABLE]
    shown = [each for model in different for each in (model.before, model.after) if each]
    totals = services.state.sums({each.key for each in shown})
    return tuple(
        ComparedRows(
            model=str(each.node.name),
            before=_rows(each, each.before, totals),
            after=_rows(each, each.after, totals),
            said=_said(each, request),
        )
        for each in different
    )


def _rows(
    model: ModelDiff, shown: ModelSnapshot | None, totals: Mapping[VersionKey, LedgerSum]
) -> int | None:
    if shown is None or not model.node.model.kind.stores_rows:
        return None
    return totals[shown.key].rows if shown.key in totals else 0


def _said(model: ModelDiff, request: PullRequest) -> str:
    if model.before is None:
        return "new"
    if model.after is None:
        return "removed"
    if not model.node.model.kind.stores_rows:
        return "a view, whose rows are not compared"
    said = model.rows.value
    if model.rows is Rows.DIFFERENT:
        said = f"{said} in {counted_ranges(model.node, model.different)}"
    lacking = [
        f"only in {name}: {counted_ranges(model.node, ranges)}"
        for name, ranges in (
            (request.target, model.only_before),
            (request.environment, model.only_after),
        )
        if ranges
    ]
    bounded = model.after.bounded
    bound = [f"{bound_text(bounded)}, and never promoted"] if bounded is not None else []
    return "; ".join([said, *bound, *lacking])


def unbuilt_models(services: Services, request: PullRequest) -> tuple[UnbuiltModel, ...]:
    """The models that wait for what another environment owns, and those that wait for these.

    A version that the request's target shows already does not count: the request does not change
    it. Neither does one of which its owner, who shows it, could compute nothing more now. Upstream
    models come first. Writes nothing.

    Raises:
        Refused: There is no environment of the request.
    """
    plan = look_at_run(services, request.environment)
    target = services.state.environment(request.target)
    shown = {each.key for each in target.snapshots.values()} if target is not None else set()
    waiting = [
        each for each in waiting_models(services, plan) if plan.snapshots[each[0]].key not in shown
    ]
    due = _due_there(services, [wait for _, waits in waiting for wait in waits])
    found: dict[str, UnbuiltModel] = {}
    for name, waits in waiting:
        held = [each for each in waits if _is_elsewhere(name, each, found, due)]
        if held:
            found[str(name)] = _unbuilt(name, held)
    return tuple(found.values())


def _due_there(services: Services, waits: Sequence[Wait]) -> Mapping[str, Collection[ModelName]]:
    """What runs of the environments would compute now that show what they fill."""
    fillers = [each.filler for each in waits if each.filler is not None and each.filler.shows]
    return {
        owner: {change.name for change in look_at_run(services, owner).backfills}
        for owner in sorted({each.environment for each in fillers})
    }


def _is_elsewhere(
    name: ModelName,
    wait: Wait,
    found: Collection[str],
    due: Mapping[str, Collection[ModelName]],
) -> bool:
    if wait.filler is None:
        return wait.name in found
    return not wait.filler.shows or name in due[wait.filler.environment]


def _unbuilt(name: ModelName, waits: list[Wait]) -> UnbuiltModel:
    why = "; ".join(map(str, waits))
    filler = next((each.filler for each in waits if each.filler is not None), None)
    if filler is None:
        return UnbuiltModel(model=str(name), why=why)
    return UnbuiltModel(
        model=str(name),
        why=why,
        environment=filler.environment,
        command=" ".join(("vde", *filler.words)),
        is_shown=filler.shows,
    )
