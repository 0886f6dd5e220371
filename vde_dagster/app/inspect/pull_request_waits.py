"""Which models of a pull request's environment only another environment can build."""

from __future__ import annotations

from collections.abc import Collection

from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.inspect.interval_report import waiting_models
from vde_dagster.app.plan.waiting import Reason, Wait
from vde_dagster.app.services import Services
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pull_request import PullRequest, UnbuiltModel


def unbuilt_models(services: Services, request: PullRequest) -> tuple[UnbuiltModel, ...]:
    """The models that wait for what another environment owns, and those that wait for these.

    A version that the request's target shows already does not count: the request does not change
    it. Upstream models come first. Writes nothing, except to finish a promotion.

    Raises:
        Refused: There is no environment of the request.
        Conflict: Another process is promoting it right now.
    """
    plan = plan_run(services, request.environment)
    target = services.state.environment(request.target)
    shown = {each.key for each in target.snapshots.values()} if target is not None else set()
    found: dict[str, UnbuiltModel] = {}
    for name, waits in waiting_models(services, plan):
        held = [each for each in waits if _is_elsewhere(each, found)]
        if held and plan.snapshots[name].key not in shown:
            found[str(name)] = _unbuilt(name, held)
    return tuple(found.values())


def _is_elsewhere(wait: Wait, found: Collection[str]) -> bool:
    return wait.reason is Reason.ENVIRONMENT or wait.name in found


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
