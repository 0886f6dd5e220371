"""The job `vde_refresh`: what `vde refresh` does, from the launchpad."""

# No `from __future__ import annotations`: Dagster reads the annotations of an op as objects.
import time
from collections.abc import Iterator
from typing import Final

import dagster as dg
from pydantic import Field

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.catch_up.managed import Freshness, managed_tables, refresh_managed
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.errors import Refused, VdeError
from vde_dagster.orchestration.checks import AuditWatch, check_events
from vde_dagster.orchestration.failures import failures
from vde_dagster.orchestration.known_events import events_of
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.plan_events import done_metadata
from vde_dagster.orchestration.provenance import input_provenance
from vde_dagster.orchestration.step_log import log_units, logged_progress

REFRESH_JOB: Final = "vde_refresh"
_OP: Final = "refresh"


class RefreshConfig(dg.Config):
    """What `vde refresh` takes."""

    explain: bool = Field(default=False, description="Only show what would be rebuilt, and why.")


def build_refresh_job(location: Location) -> dg.JobDefinition | None:
    """The job that rebuilds MANAGED tables that are out of date; None if there is no such model."""
    if not any(node.model.kind.is_refreshed for node in location.binding.graph):
        return None

    @dg.op(
        name=_OP,
        out=dg.Out(dg.Nothing),
        description="Rebuild every MANAGED table whose target lag has passed and whose inputs "
        "changed since.",
    )
    def refresh(context: dg.OpExecutionContext, config: RefreshConfig) -> Iterator[object]:
        with failures():
            yield from _refreshed(context, location, explain=config.explain)

    @dg.job(
        name=REFRESH_JOB,
        description=f"Rebuild MANAGED tables of {location.environment} that are out of date.",
        tags=location.run_tags,
        executor_def=dg.in_process_executor,
    )
    def refresh_job() -> None:
        refresh()

    return refresh_job


def _refreshed(
    context: dg.OpExecutionContext, location: Location, *, explain: bool
) -> Iterator[object]:
    services, environment = location.project.services, location.environment
    binding = bind_environment(services, environment)
    if binding is None:
        raise Refused(
            f"{environment} shows nothing yet",
            advice="Launch vde_plan with `apply: true`, or run `vde plan`.",
        )
    found: list[tuple[Freshness, Evaluated | None]] = []
    if explain:
        found += [(each, None) for each in managed_tables(services, binding)]
    else:
        yield from _rebuilt(context, location, binding, found)
    lines = [_line(*each) for each in found]
    for line in lines:
        context.log.info(line)
    done = [made for _, made in found if made is not None]
    text = "\n".join(f"- {line}" for line in lines)
    said = text or f"{environment} has no MANAGED table that was made."
    yield dg.Output(None, metadata={"vde/tables": dg.MetadataValue.md(said), **done_metadata(done)})


def _rebuilt(
    context: dg.OpExecutionContext,
    location: Location,
    binding: Binding,
    found: list[tuple[Freshness, Evaluated | None]],
) -> Iterator[object]:
    """Rebuild what is due, parents first: an event for each table and each check."""
    services, keys = location.project.services, location.keys(binding)
    nodes = {node.name: node for node in binding.graph if node.model.kind.is_refreshed}
    audits = [AuditWatch.begin(services, binding, name) for name in nodes]
    done: list[Evaluated] = []
    try:
        with logged_progress(context.log, services.engine.progress):
            for freshness, made in refresh_managed(services, binding):
                found.append((freshness, made))
                if made is not None:
                    done.append(made)
                    log_units(context.log, services, binding, [made])
                    node = nodes[freshness.name]
                    parents = [keys[each] for each in node.model.parents]
                    began = time.time() - made.seconds
                    provenance = input_provenance(context.instance, parents, before=began)
                    yield from events_of(
                        context.instance, binding, node, keys, made, provenance=provenance
                    )
    except VdeError:
        yield from check_events(audits, keys, names=location.names(binding))
        raise
    yield from check_events(audits, keys, done, location.names(binding))


def _line(found: Freshness, made: Evaluated | None) -> str:
    if made is not None:
        return f"{found.name}: rebuilt, {made.rows:,} rows, since {found.reason}"
    if found.waits_for:
        return (
            f"{found.name} is not fresh, since {found.reason}, and stays as it is: "
            f"{found.waits_for}"
        )
    state = "would be rebuilt, since" if found.is_stale else "is fresh:"
    return f"{found.name} {state} {found.reason}"
