"""Which inputs of an evaluation are stale themselves, at the times that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vde_dagster.app.binding import Binding
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import look_within
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import why_stale
from vde_dagster.app.staleness.version_behind import late_behind
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.model.counted import units
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import WholeTable
from vde_dagster.core.time.intervals import Interval, common, merge


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleInput:
    """The intervals of an upstream model that are late or changed upstream, and why, for people."""

    node: Node
    intervals: tuple[Interval, ...]
    reason: str

    def __str__(self) -> str:
        return f"{units(self.node.model, self.intervals)} of {self.node.name}: {self.reason}"


def stale_inputs(
    services: Services, binding: Binding, name: ModelName, ranges: Sequence[Interval]
) -> tuple[StaleInput, ...]:
    """The models that a model reads for some ranges and that are stale there, by name.

    Only these models are looked at, and not what is upstream of them. Reads the state and the
    catalog's metadata.
    """
    times = _read_of(services, binding, name, ranges)
    states = InputStates(services=services, graph=binding.graph, snapshots=binding.snapshots)
    return tuple(
        each
        for parent in sorted(times)
        if (each := _looked_at(services, binding, states, parent, times[parent])) is not None
    )


def _read_of(
    services: Services, binding: Binding, name: ModelName, ranges: Sequence[Interval]
) -> dict[ModelName, tuple[Interval, ...]]:
    """The times that are read of each model that is computed from others."""
    reads = reads_of(binding.graph, name)
    parents = [each for each in reads.demands if binding.graph[each].model.kind.follows_upstream]
    loaded = services.state.holdings(binding.key(each) for each in parents)
    found: dict[ModelName, tuple[Interval, ...]] = {}
    for parent in parents:
        recorded = loaded.get(binding.key(parent), NOTHING).recorded
        times: list[Interval] = []
        for each in ranges:
            read = reads.at(each)[parent]
            times += recorded if isinstance(read, WholeTable) else common(read, recorded)
        if times:
            found[parent] = merge(times)
    return found


def _looked_at(
    services: Services,
    binding: Binding,
    states: InputStates,
    name: ModelName,
    times: tuple[Interval, ...],
) -> StaleInput | None:
    node = binding.graph[name]
    if node.model.stateless is not None:
        late = late_behind(services, binding, states, node, times)
        if late is None:
            return None
        whole = merge(map(node.model.unit.widen, late.times))
        return StaleInput(node=node, intervals=whole, reason=late.reason)
    look = look_within(states, name, times)
    if not look.stale:
        return None
    behind = merge(each.entry.interval for each in look.stale)
    return StaleInput(node=node, intervals=behind, reason=why_stale(look))
