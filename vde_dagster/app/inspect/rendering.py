"""The final SQL of a model for any range, on the tables that an environment binds: no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.app.binding import Binding, bind_environment, bind_plan
from vde_dagster.app.evaluate.pinned_reading import over_visible_rows, read_whole
from vde_dagster.app.inputs.completeness import due_of
from vde_dagster.app.inspect.interval_report import plan_models
from vde_dagster.app.services import Project, Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import (
    RenderedModel,
    Statements,
    Target,
    reads_of,
    render_model,
    render_statements,
)
from vde_dagster.core.model.model import Model, Query
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.reads.input_ranges import InputRange
from vde_dagster.core.time.intervals import ALWAYS, Interval, due


def bind_models(project: Project, environment: str | None) -> Binding:
    """The models that a command asks about, with the versions that they write to and read from.

    Args:
        project: The project.
        environment: The environment whose models are meant. For None (bound as in a plan for
            production) or one without models, those of the project's files.

    Raises:
        ProjectInvalid: The files are needed and something is wrong in them.
    """
    bound = bind_environment(project.services, environment) if environment is not None else None
    return bound or bind_plan(plan_models(project, environment))


def render(
    binding: Binding, node: Node, interval: Interval, execution_time: datetime
) -> RenderedModel | None:
    """What evaluating one range of a model runs; None for a model that has no query.

    A VIEW reads the tables and views of its parents. Everything else reads only tables: views and
    embedded models are inlined as sub-queries.

    Raises:
        Refused: It cannot be written in Spark's SQL.
    """
    if not isinstance(node.model.body, Query):
        return None

    target = _target(binding)
    found = render_model(
        binding.graph,
        node.name,
        TimeRange.of(interval, execution_time=execution_time),
        target=lambda _: None,
        inline_views=not node.model.kind.is_view,
    )
    return RenderedModel(
        query=over_visible_rows(binding.graph, found.query).with_tables(target),
        before=tuple(each.with_tables(target) for each in found.before),
        after=tuple(each.with_tables(target) for each in found.after),
    )


def around_function(
    binding: Binding, node: Node, interval: Interval, execution_time: datetime
) -> Statements:
    """The pre- and post-statements of a Python model; none for other models.

    Raises:
        Refused: One cannot be written in Spark's SQL.
    """
    times = TimeRange.of(interval, execution_time=execution_time)
    return render_statements(binding.graph, node.name, times, target=_target(binding))


def _target(binding: Binding) -> Target:
    return lambda name: binding.table(name) if name in binding.graph else None


def whole_units(model: Model, interval: Interval) -> Interval:
    """The range that is evaluated for a given one: whole intervals of the model.

    A FULL model is always computed from its start up to the range's end; a range before its start
    is only widened to whole intervals. Timeless and EMBEDDED models have no intervals, so the range
    stays as given.

    Raises:
        OverflowError: The last of them does not end before the year 10000.
    """
    if model.kind.is_timeless:
        return interval
    whole = model.unit.widen(interval)
    if not model.kind.is_whole:
        return whole
    until = whole.end if model.end is None else min(whole.end, model.end)
    return due(model.start, until, model.unit) or whole


def inputs_of(binding: Binding, node: Node, interval: Interval) -> Mapping[ModelName, InputRange]:
    """The tables that evaluating a range reads, each with the range of its rows."""
    return reads_of(binding.graph, node.name).at(interval)


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
        raise Refused(
            f"{name} is a source, written by other programs", advice="`vde query` reads it."
        )
    if node.model.reads_itself:
        raise Refused(
            f"{name} reads its own rows of the previous interval, so no interval can be computed "
            "separately"
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
            f"{node.name} is not due: its inputs are not complete for a whole {model.unit.value} "
            "yet",
            advice="Load its sources first, or set the time with --start and --end.",
        )
    end = found[-1].end
    if not model.kind.is_by_interval:
        return found[-1]
    return Interval(model.unit.shifted(end, -1), end)
