"""Jobs of one step, which do what a command of `vde` does."""

# No `from __future__ import annotations`: Dagster reads the annotations of an op as objects.
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import dagster as dg

from vde_dagster.orchestration.assets.metadata import Metadata
from vde_dagster.orchestration.failures import failures

C = TypeVar("C", bound=dg.Config)


def one_step_job(
    name: str,
    do: Callable[[dg.OpExecutionContext, C, Metadata], Iterable[object] | None],
    config: type[C],
    *,
    step: str,
    description: str,
    tags: Mapping[str, str],
) -> dg.JobDefinition:
    """A job whose only step does something, and shows metadata, also where it fails.

    Args:
        name: The job's.
        do: What the step does. It may yield events, and adds to the metadata that it is given.
        config: What it takes from the launchpad.
        step: The step's name.
        description: What it does, for people.
        tags: The job's.
    """

    def run(context: dg.OpExecutionContext, config: dg.Config) -> Iterator[object]:
        shown: Metadata = {}
        with failures(shown):
            yield from do(context, config, shown) or ()  # type: ignore[arg-type]
        yield dg.Output(None, metadata=shown)

    run.__annotations__["config"] = config
    op = dg.op(name=step, out=dg.Out(dg.Nothing), description=description)(run)

    @dg.job(name=name, description=description, tags=tags, executor_def=dg.in_process_executor)
    def job() -> None:
        op()

    return job
