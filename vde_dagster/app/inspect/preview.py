"""The rows that a model would return, computed and shown, and written nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.pinned_reading import read_whole
from vde_dagster.app.inputs.due import due_of
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import ALWAYS, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Rows that a model returns for an interval; ``more`` if there are others."""

    interval: Interval
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    more: bool


def preview(
    services: Services,
    binding: Binding,
    name: ModelName,
    interval: Interval | None = None,
    *,
    limit: int,
) -> Preview:
    """Compute a model for an interval from the versions of a binding. Nothing is written.

    Without an interval it is the last one that could be evaluated now, and all of a model that is
    made as a whole. What it reads is read as an evaluation reads it.

    Raises:
        Refused: It is a source, reads its own rows, or what it reads is not loaded or complete.
        EvaluationFailed: The query or function failed.
    """
    node = binding.node(name)
    if node.model.kind.is_source:
        raise Refused(f"{name} is a source: others write it", advice="`vde query` reads it.")
    if node.model.reads_itself:
        raise Refused(
            f"{name} reads its own rows of the interval before, so that none can be computed by "
            "itself"
        )
    asked = interval or last_interval(services, binding, node)
    now, work_id = services.clock.now(), services.ids.new()
    reading = read_whole(services, binding, node, asked, now, work_id=work_id)
    columns, rows = services.engine.preview(
        reading.rows, reading.inputs, node.model.columns, model=str(name), limit=limit + 1
    )
    return Preview(interval=asked, columns=columns, rows=rows[:limit], more=len(rows) > limit)


def last_interval(services: Services, binding: Binding, node: Node) -> Interval:
    """The last interval that everything that a model reads is complete for.

    Raises:
        Refused: There is none.
    """
    model = node.model
    if model.kind.is_timeless:
        return ALWAYS
    complete_to = due_of(services, binding, node.name).complete_to
    found = model.kind.missing(model, (), complete_to) if complete_to is not None else ()
    if not found:
        raise Refused(
            f"{node.name} is not due: nothing that it reads is complete for a whole "
            f"{model.unit.value} yet",
            advice="Load its sources first, or name the time with --start and --end.",
        )
    end = found[-1].end
    if not model.kind.is_by_interval:
        return found[-1]
    return Interval(model.unit.shifted(end, -1), end)
