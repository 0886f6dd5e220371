"""Running a stateful session: each changed interval is overwritten, all of them in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import traces_of_parts
from vde_dagster.app.evaluate.parent_ledgers import ParentLedgers, read_ledgers
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, read_whole
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.evaluate.units_of_work import run_unit_of_work
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.traces import evaluated_parts
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.input_ranges import InputRange, together
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import Lease


def run_stateful(
    services: Services,
    binding: Binding,
    node: Node,
    session: Load,
    lease: Lease,
    *,
    where_emptied: str,
) -> Evaluated:
    """Overwrite what a decision says, as of one state of all that is read.

    Raises:
        Refused: An interval would lose all of its rows, or something that is read is not loaded.
        EvaluationFailed: The query failed; readers see what they saw before.
    """
    work_id = services.ids.new()
    parts = evaluated_parts(binding.graph, node, session.fill)
    readings = _readings(services, binding, node, parts, session=session, work_id=work_id)
    now = services.clock.now()
    writes = tuple(node.write(each, now) for each in parts)
    prepared = PreparedUnit(
        work_id=work_id,
        interval=Interval(parts[0].start, parts[-1].end),
        readings=readings,
        writes=writes,
        session=session,
        traces=traces_of_parts(services, binding, node, writes, readings),
        where_emptied=where_emptied,
    )
    return run_unit_of_work(services, binding, node, prepared, lease)


def _readings(
    services: Services,
    binding: Binding,
    node: Node,
    parts: Sequence[Interval],
    *,
    session: Load,
    work_id: str,
) -> tuple[PinnedReading, ...]:
    """What each part reads: sources as of the session's marks, models as of one read of ledgers."""
    now = services.clock.now()
    ledgers = _ledgers(services, binding, node, parts)
    pins: dict[ModelName, int | None] = {
        each.name: each.after.iceberg_snapshot_id
        for each in session.sources
        if binding.graph[each.name].model.kind.is_source
    }
    readings: list[PinnedReading] = []
    for number, part in enumerate(parts):
        reading = read_whole(
            services,
            binding,
            node,
            part,
            now,
            source_pins=pins,
            ledgers=ledgers,
            work_id=f"{work_id}_{number}",
        )
        pins |= {name: at for name, at in reading.pinned.items() if name not in ledgers.heads}
        readings.append(reading)
    return tuple(readings)


def _ledgers(
    services: Services, binding: Binding, node: Node, parts: Sequence[Interval]
) -> ParentLedgers:
    reads = reads_of(binding.graph, node.name)
    cells = [cell for each in parts for cell in node.model.unit.cells(each)]
    every = [reads.ranges(Moments.between(each, each)) for each in cells]
    ranges: Mapping[ModelName, InputRange] = {
        name: together(each[name] for each in every) for name in reads.demands
    }
    return read_ledgers(services, binding, ranges)
