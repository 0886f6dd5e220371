"""How a swap of views over REST ends where it does not change all of them."""

from __future__ import annotations

from vde_dagster.core.errors import OutcomeUnknown, Refused, VdeError
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.rest_requests import Answer
from vde_dagster.lakehouse.view_metadata import Json
from vde_dagster.lakehouse.view_requests import highest_number
from vde_dagster.ports.catalog import SwapOvertaken


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


def cut(error: VdeError, done: int, every: int) -> VdeError:
    """An error of a swap, with how much of it was done."""
    advice = error.advice
    if done:
        what = f"{done} of {every} views had been changed by then"
        if not (isinstance(error, Refused) and advice):  # then that has to be done first
            advice = "doing it again changes the others."
    else:
        is_unknown = isinstance(error, OutcomeUnknown)
        what = "no other view was changed" if is_unknown else "nothing was changed"
    message = f"{error.message}; {what}"
    if isinstance(error, SwapOvertaken):
        return SwapOvertaken(message, advice=advice, highest=error.highest)
    return type(error)(message, advice=advice)
