"""What is due of one model, decided from it and what is upstream of it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.inputs.completeness import complete_times_of, holdings_of, tracked_times
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import sources
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import DEFAULT_OPTIONS
from vde_dagster.core.planning.plan import NO_TRACKED
from vde_dagster.core.planning.workload import workloads
from vde_dagster.core.time.intervals import Interval, meets, merge
from vde_dagster.project.signals import ready_intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What a plan of the environment would say of a model.

    ``missing`` is what it would evaluate, since it is not loaded. ``complete_to`` is when all that
    the model reads is complete up to, None where nothing of it is there yet. ``inputs`` says the
    same of each model and source upstream.
    """

    missing: tuple[Interval, ...]
    complete_to: datetime | None
    inputs: Mapping[ModelName, datetime | None]


def due_of(
    services: Services,
    binding: Binding,
    name: ModelName,
    *,
    alone: bool = False,
    asked: Interval | None = None,
    seen: Seen | None = None,
) -> Due:
    """What is due of a model in the environment that runs these versions. Starts no Spark.

    Args:
        services: The ports.
        binding: The versions.
        name: The model.
        alone: Whether what upstream models lack is not evaluated before.
        asked: What a person asks for of it, whatever its signals hold back.
        seen: What was read already of it and of what is upstream.
    """
    seen = seen or Seen.above(services, binding, [name])
    graph = binding.graph.above([name])
    snapshots = {each: binding.snapshots[each] for each in graph.nodes}
    now, tables = seen.now, {each: seen.source(each) for each in sources(graph)}
    holdings = holdings_of(services, binding.environment, snapshots, seen.holdings, seen.owners)
    if alone:
        holdings = replace(holdings, writes=holdings.writes & {name})

    def ready(model: Model, units: Sequence[Interval]) -> tuple[Interval, ...]:
        passing = [each for each in units if model.name == name and asked and meets([asked], each)]
        held = [each for each in units if each not in passing]
        now = services.execution_time
        return merge([*passing, *ready_intervals(model, held, execution_time=now)])

    sessions = tracked_times(services, graph, tables)
    complete_to = complete_times_of(services, graph, now, holdings, tables, sessions=sessions)
    work = workloads(
        graph,
        holdings,
        DEFAULT_OPTIONS,
        now=now,
        complete_to=complete_to,
        ready=ready,
    )
    own = sessions.get(name, NO_TRACKED)
    missing = work[name].missing if name in work else ()
    return Due(missing=missing, complete_to=complete_to[name], inputs={**complete_to, **own.times})
