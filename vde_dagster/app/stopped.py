"""The one error of a plan that could not be carried out whole: all that went wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from vde_dagster.core.errors import EvaluationFailed, ProjectInvalid, VdeError
from vde_dagster.core.names import ModelName
from vde_dagster.core.plan import Plan
from vde_dagster.core.stages import awaited, closing_of, left_out


def stopped(plan: Plan, errors: Sequence[VdeError], failed: Collection[ModelName]) -> VdeError:
    """One error with the texts of all, and what the plan did not do for them.

    It is of the most special class that all of them are of; an `EvaluationFailed` where they have
    nothing in common.

    Args:
        plan: What was carried out in part.
        errors: At least one.
        failed: The models whose work raised one.
    """
    texts = dict.fromkeys([*map(str, errors), *_undone(plan, failed)])
    return _class_of(errors)("\n".join(texts))


def _class_of(errors: Sequence[VdeError]) -> type[VdeError]:
    for kind in type(errors[0]).__mro__:
        if not issubclass(kind, VdeError) or kind is VdeError:
            break
        if kind is not ProjectInvalid and all(isinstance(each, kind) for each in errors):
            return kind
    return EvaluationFailed


def _undone(plan: Plan, failed: Collection[ModelName]) -> Iterator[str]:
    waiting = left_out(plan, failed)
    if waiting:
        yield f"Not filled, since they wait for what failed: {', '.join(map(str, waiting))}."
    if plan.promotes and not awaited(plan, closing_of(plan)).isdisjoint([*failed, *waiting]):
        yield f"No view of {plan.environment} was moved. What was filled stays."
