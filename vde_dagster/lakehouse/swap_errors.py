"""How a swap of views over REST ends where it does not change all of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from vde_dagster.core.errors import OutcomeUnknown, Refused, VdeError
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.rest_requests import Answer
from vde_dagster.lakehouse.view_metadata import Json
from vde_dagster.lakehouse.view_requests import highest_number
from vde_dagster.ports.catalog import SwapOvertaken


@dataclass(slots=True)
class Outcomes:
    """What became of the views of a swap so far.

    ``unknown`` has those that were asked to be changed by a request that may still be carried out.
    """

    every: int = 0
    done: list[TableName] = field(default_factory=list)
    unknown: list[TableName] = field(default_factory=list)


def overtaken(name: TableName, found: Json) -> SwapOvertaken:
    """A view has a higher number than a swap that would change it.

    Args:
        name: The view's.
        found: Its metadata.
    """
    what = f"somebody else changed the view {name} meanwhile"
    return SwapOvertaken(what, highest=highest_number(found))


def given_up(name: TableName, answer: Answer | VdeError | None) -> VdeError:
    """A view is not changed although that was asked for several times; the last answer says why."""
    if isinstance(answer, VdeError):
        return answer
    said = f" ({answer.status}: {answer.said})" if answer is not None else ""
    return Refused(
        f"the catalog refuses to change the view {name}{said}",
        advice="See the catalog's own log for why.",
    )


def cut(error: VdeError, outcomes: Outcomes) -> VdeError:
    """An error of a swap, with how much of it was done, and of what that is not known.

    If it is not known of a view, it is an `OutcomeUnknown`, whatever became of another one; but who
    was overtaken is told so, since going above the higher number settles both.
    """
    advice = error.advice
    if not (isinstance(error, Refused) and advice):  # then that has to be done first
        if outcomes.done:
            advice = "doing it again changes the others."
        elif outcomes.unknown:
            advice = "doing it again is safe"
    message = f"{error.message}; {_so_far(outcomes, isinstance(error, OutcomeUnknown))}"
    if isinstance(error, SwapOvertaken):
        return SwapOvertaken(message, advice=advice, highest=error.highest)
    kind = OutcomeUnknown if outcomes.unknown else type(error)
    return kind(message, advice=advice)


def _so_far(outcomes: Outcomes, is_unknown: bool) -> str:
    if outcomes.done:
        known = f"{len(outcomes.done)} of {outcomes.every} views had been changed by then"
    elif outcomes.unknown or is_unknown:
        known = "no other view was changed"
    else:
        known = "nothing was changed"
    return "; ".join([*_not_known(outcomes.unknown), known])


def _not_known(names: Collection[TableName]) -> list[str]:
    if not names:
        return []
    were = "was" if len(names) == 1 else "were"
    return [f"it is not known whether {', '.join(map(str, sorted(names)))} {were} changed"]
