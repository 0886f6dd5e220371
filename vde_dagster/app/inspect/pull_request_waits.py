"""Which models of a pull request's environment only another environment can build."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vde_dagster.app.apply.running import look_at_run
from vde_dagster.app.inspect.interval_report import waiting_models
from vde_dagster.app.plan.waiting import Wait
from vde_dagster.app.services import Services
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pull_request import PullRequest, UnbuiltModel


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
