"""The one error of a plan that was applied only in part: all that went wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NoReturn

from vde_dagster.core.errors import (
    AuditFailed,
    Conflict,
    EvaluationFailed,
    OutcomeUnknown,
    Refused,
    SetupError,
    VdeError,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.stages import awaited, closing_of, filled_by, left_out


def raise_stopped(
    plan: Plan,
    errors: Sequence[VdeError],
    failed: Collection[ModelName],
    not_begun: Collection[ModelName] = (),
    *,
    is_promoted: bool = False,
) -> NoReturn:
    """Raise one error with the texts of all, and what the plan did not do for them.

    Args:
        plan: The plan that was applied in part.
        errors: At least one.
        failed: The models whose work raised one.
        not_begun: Those that wait for none of these, and were not to begin after a failure.
        is_promoted: Whether the environment shows the plan all the same.

    Raises:
        VdeError: The error itself, if it is the only one and the plan did all else. For several,
            an `OutcomeUnknown` if one of them is; else an error of the kind that they have in
            common, or an `EvaluationFailed`.
    """
    undone = list(_undone(plan, failed, not_begun))
    if is_promoted and (undone or all(isinstance(each, AuditFailed) for each in errors)):
        undone.append(f"{plan.environment} shows this plan: all that it waited for was filled.")
    if len(errors) == 1 and not undone:
        raise errors[0]
    texts = dict.fromkeys([*map(str, errors), *undone])
    raise _kind_of(errors)("\n".join(texts)) from errors[0]


def _kind_of(errors: Sequence[VdeError]) -> type[VdeError]:
    if any(isinstance(each, OutcomeUnknown) for each in errors):
        return OutcomeUnknown
    kinds = (SetupError, Refused, Conflict, AuditFailed)
    return next((k for k in kinds if all(isinstance(e, k) for e in errors)), EvaluationFailed)


def _undone(
    plan: Plan, failed: Collection[ModelName], not_begun: Collection[ModelName]
) -> Iterator[str]:
    waiting = left_out(plan, failed)
    if waiting:
        yield f"Not filled, because they wait for failed models: {', '.join(map(str, waiting))}."
    if not_begun:
        names = ", ".join(map(str, not_begun))
        yield f"Not started, because nothing starts after a failure: {names}."
    stopped = [*failed, *waiting, *not_begun]
    if plan.promotes and not awaited(plan, closing_of(plan), filled_by(plan)).isdisjoint(stopped):
        yield f"No view of {plan.environment} was moved. Filled intervals stay."
