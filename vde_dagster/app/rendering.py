"""The final SQL of a model for any range, on the tables that an environment binds: no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp

from vde_dagster.app.binding import Binding, bind_environment, bind_plan
from vde_dagster.app.interval_report import plan_models
from vde_dagster.app.reading import physical_query, rendered
from vde_dagster.app.world import VdeProject
from vde_dagster.core.graph import Node
from vde_dagster.core.input_ranges import WHOLE, InputRange, TimeAxis, input_ranges
from vde_dagster.core.intervals import Interval
from vde_dagster.core.kind import View
from vde_dagster.core.macros import TimeRange
from vde_dagster.core.model import Query, Window
from vde_dagster.core.names import ModelName
from vde_dagster.core.rendering import replace_tables
from vde_dagster.core.restatement import declared_reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """What an evaluation of one range runs: the query, and the statements around it.

    ``inputs`` are the tables that it reads, each with the range of its rows.
    """

    query: exp.Query
    before: tuple[exp.Expr, ...]
    after: tuple[exp.Expr, ...]
    inputs: Mapping[ModelName, InputRange]


def bind_models(project: VdeProject, environment: str | None) -> Binding:
    """The models that somebody asks about, with the versions that they write to and read from.

    Args:
        project: The project.
        environment: An environment whose own models are meant; the project's files where it is
            None (bound as a plan for production would) or has no models yet.

    Raises:
        ProjectInvalid: The files are needed and something is wrong in them.
    """
    bound = bind_environment(project.services, environment) if environment is not None else None
    return bound or bind_plan(plan_models(project, environment))


def render(
    binding: Binding, node: Node, interval: Interval, execution_time: datetime
) -> Rendering | None:
    """The SQL of evaluating one range of a model; None for a model that has no query.

    A VIEW reads the tables and views of its parents. Everything else reads tables alone: views
    and embedded models stand in it as sub-queries.
    """
    if node.canonical is None or not isinstance(node.model.body, Query):
        return None
    times = TimeRange.of(interval, execution_time=execution_time)
    whole = rendered(binding, node, interval, execution_time)
    axes = {each.name: _axis(each) for each in binding.graph}

    def placed(expression: exp.Query) -> exp.Query:
        return replace_tables(
            expression, lambda name: binding.table(name) if name in binding.graph else None
        )

    is_view = isinstance(node.model.kind, View)
    return Rendering(
        query=physical_query(binding, node, times.last) if is_view else placed(whole),
        before=node.model.body.before,
        after=node.model.body.after,
        inputs=input_ranges(whole, axes=axes),
    )


def inputs_of(
    binding: Binding, node: Node, interval: Interval, rendering: Rendering | None
) -> Mapping[ModelName, InputRange]:
    """What evaluating a range reads of which table; without a query what ``depends_on`` says."""
    if rendering is not None:
        return rendering.inputs
    return {
        parent: WHOLE if window is None else _range_of(binding.graph[parent], interval, window)
        for parent, window in declared_reads(node).items()
    }


def _range_of(parent: Node, interval: Interval, window: Window) -> tuple[Interval, ...]:
    read = Interval(interval.start - window.before, interval.end + window.after)
    return (parent.model.unit.widen(read),)


def _axis(node: Node) -> TimeAxis | None:
    column = node.model.time_column
    return TimeAxis(column=column, unit=node.model.unit) if column is not None else None
