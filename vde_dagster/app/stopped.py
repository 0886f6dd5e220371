"""What is told of a plan that could not be carried out whole: all that went wrong, as one error."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

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
from vde_dagster.core.plan import Plan
from vde_dagster.core.stages import awaited, closing_of, left_out

_KINDS: Final = (AuditFailed, EvaluationFailed, SetupError, Refused, Conflict, OutcomeUnknown)
"""Special ones before those that they are, too."""


def stopped(plan: Plan, errors: Sequence[VdeError], failed: Collection[ModelName]) -> VdeError:
    """One error with the texts of all, and what the plan did not do for them.

    It is of the kind that all of them are; where they differ, it is an `EvaluationFailed`.

    Args:
        plan: What was carried out in part.
        errors: At least one.
        failed: The models whose work raised one.
    """
    kinds = (kind for kind in _KINDS if all(isinstance(each, kind) for each in errors))
    texts = dict.fromkeys([*map(str, errors), *_undone(plan, failed)])
    return next(kinds, EvaluationFailed)("\n".join(texts))


def _undone(plan: Plan, failed: Collection[ModelName]) -> Iterator[str]:
    waiting = left_out(plan, failed)
    if waiting:
        yield f"Not filled, since they wait for what failed: {', '.join(map(str, waiting))}."
    if plan.promotes and not awaited(plan, closing_of(plan)).isdisjoint([*failed, *waiting]):
        yield f"No view of {plan.environment} was moved. What was filled stays."
