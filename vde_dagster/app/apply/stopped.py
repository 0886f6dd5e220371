"""The one error of a plan that could not be carried out whole: all that went wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NoReturn

from vde_dagster.core.errors import EvaluationFailed, OutcomeUnknown, VdeError
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.stages import awaited, closing_of, left_out


def raise_stopped(
    plan: Plan, errors: Sequence[VdeError], failed: Collection[ModelName]
) -> NoReturn:
    """Raise one error with the texts of all, and what the plan did not do for them.

    Args:
        plan: What was carried out in part.
        errors: At least one.
        failed: The models whose work raised one.

    Raises:
        VdeError: The only error as it is, where the plan did all else. Of several, one of the kind
            that all of them have in common, an `EvaluationFailed` where they have none; but an
            `OutcomeUnknown` wherever one of them is.
    """
    undone = list(_undone(plan, failed))
    if len(errors) == 1 and not undone:
        raise errors[0]
    texts = dict.fromkeys([*map(str, errors), *undone])
    raise _kind_of(errors)("\n".join(texts)) from errors[0]


def _kind_of(errors: Sequence[VdeError]) -> type[VdeError]:
    if any(isinstance(each, OutcomeUnknown) for each in errors):
        return OutcomeUnknown
    shared = (
        kind for kind in _of_text(type(errors[0])) if all(isinstance(e, kind) for e in errors)
    )
    return next(shared, EvaluationFailed)


def _of_text(kind: type[VdeError]) -> Iterator[type[VdeError]]:
    """The kinds that a kind of error belongs to and that are made of a text, the special first."""
    ours = [each for each in kind.__mro__ if issubclass(each, VdeError)]
    for number, each in enumerate(ours):
        if each is not VdeError and all("__init__" not in vars(base) for base in ours[number:]):
            yield each


def _undone(plan: Plan, failed: Collection[ModelName]) -> Iterator[str]:
    waiting = left_out(plan, failed)
    if waiting:
        yield f"Not filled, since they wait for what failed: {', '.join(map(str, waiting))}."
    if plan.promotes and not awaited(plan, closing_of(plan)).isdisjoint([*failed, *waiting]):
        yield f"No view of {plan.environment} was moved. What was filled stays."
