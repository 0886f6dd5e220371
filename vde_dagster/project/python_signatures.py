"""Whether an object with the @model decorator can be called as an evaluation calls it."""

from __future__ import annotations

import inspect
from typing import Final

_ADVICE: Final = (
    "Write `def {}(context)`, and return a data frame; start, end and execution_time are "
    "attributes of the context."
)


def why_no_model(value: object, name: str) -> tuple[str, str] | None:
    """Why calling ``value(context)`` gives no data frame, with advice; None if it may.

    Args:
        value: The decorated object.
        name: Its name in the module.
    """
    why = _why(value)
    return (f"{name} {why}", _ADVICE.format(name)) if why is not None else None


def _why(value: object) -> str | None:
    if inspect.isclass(value) or not callable(value):
        return "is no function, so it cannot return the model's rows"
    if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
        return "is async, and a model's function is called and not awaited"
    if inspect.isgeneratorfunction(value):
        return "has a `yield` in it, and a model's function returns all rows at once"
    try:
        # A wrapped function is not the one that is called.
        inspect.signature(value, follow_wrapped=False).bind(None)
    except ValueError:  # written in C without a signature
        return None
    except TypeError as error:
        return f"cannot be called with the context alone: {error}"
    return None
