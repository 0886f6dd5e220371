"""Where time goes, as spans of OpenTelemetry: nothing happens without an exporter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from opentelemetry import trace
from opentelemetry.context import Context

__all__ = ["Context", "each_in_span", "span", "span_of_threads", "spent_on"]

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
_TRACER: Final = trace.get_tracer("vde_dagster")


@contextmanager
def span(name: str, context: Context | None = None) -> Iterator[trace.Span]:
    """Say what this thread spends its time on.

    Of an error only its type is reported: its text may contain a secret.

    Args:
        name: What it is.
        context: Of the span around it, where another thread began that.
    """
    with _TRACER.start_as_current_span(
        name, context, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except BaseException as error:
            current.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise


@contextmanager
def span_of_threads(name: str, **attributes: str) -> Iterator[Context]:
    """A span around those of several threads; yields the context that these take."""
    around = _TRACER.start_span(name, attributes={f"vde.{k}": v for k, v in attributes.items()})
    try:
        yield trace.set_span_in_context(around)
    finally:
        around.end()


def each_in_span(
    name: str, steps: Iterable[T], work: Callable[[T], str], context: Context
) -> Iterator[T]:
    """The same steps, each in a span: what the caller does with a step is not in there.

    Args:
        name: Of the spans.
        steps: Each is done when it is asked for.
        work: The id of the unit of work that a step did.
        context: Of the span around them.
    """
    remaining = iter(steps)
    while True:
        with span(name, context) as current:
            step = next(remaining, None)
            if step is not None:
                current.set_attribute("vde.work_id", work(step))
        if step is None:
            return
        yield step


def spent_on(name: str) -> Callable[[type[T]], type[T]]:
    """Let each public method of a class be a span."""

    def decorate(decorated: type[T]) -> type[T]:
        for method_name, method in list(vars(decorated).items()):
            if inspect.isfunction(method) and not method_name.startswith("_"):
                setattr(decorated, method_name, _spent(method, f"{name} {method_name}"))
        return decorated

    return decorate


def _spent(method: Callable[P, R], name: str) -> Callable[P, R]:
    @wraps(method)
    def spent(*args: P.args, **kwargs: P.kwargs) -> R:
        with span(name):
            return method(*args, **kwargs)

    return spent
