"""Pre- and post-statements of a query or function, over the evaluation's inputs and result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, pin
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import Statements, render_model, render_statements
from vde_dagster.core.ledger.unit_of_work import Input
from vde_dagster.core.model.model import PythonFunction, Query
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.time.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementTexts:
    """Statements as texts of Spark's SQL, and the tables that they read by temporary names.

    ``own_name`` is the one under which they read the model's own rows: the published ones before
    the query, the staged ones after it.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=dict)
    own_name: str = ""


def statements_of(
    services: Services,
    binding: Binding,
    node: Node,
    interval: Interval,
    *,
    readings: Sequence[PinnedReading],
    execution_time: datetime,
    work_id: str,
) -> StatementTexts:
    """The pre- and post-statements of a model for one unit of work; None if it has none.

    They run once, whatever the number of its parts. A model that the evaluation reads is read at
    the same Iceberg snapshot, and others as they are now.

    Args:
        services: The ports.
        binding: Which version of each model is read.
        node: The model.
        interval: What the unit of work evaluates.
        readings: What its parts read.
        execution_time: When it was asked for.
        work_id: Makes the names of temporary views unique.

    Raises:
        Refused: A statement cannot be written in Spark's SQL, or reads what does not exist.
    """
    body = node.model.body
    if not isinstance(body, Query | PythonFunction) or not (body.before or body.after):
        return StatementTexts()
    before, after = _rendered(binding, node, interval, execution_time)
    own_name = f"vde_{work_id}_own"
    read = {name for each in (*before, *after) for name in each.tables}
    names = sorted(name for name in read - {node.name} if name in binding.graph)
    tables = [name for name in names if not _is_view(binding, name)]
    known = {name: pinned for each in readings for name, pinned in each.pinned.items()}
    sources = {name: state for each in readings for name, state in each.sources.items()}
    inputs = pin(services, binding, tables, known, sources=sources)
    shown = {
        name: TableName("", f"vde_{work_id}_beside_{index}") for index, name in enumerate(tables)
    }
    targets = {name: shown.get(name) or binding.table(name) for name in names}
    targets[node.name] = TableName("", own_name)
    return StatementTexts(
        before=tuple(each.with_tables(targets.get).text for each in before),
        after=tuple(each.with_tables(targets.get).text for each in after),
        inputs={shown[name].name: each for name, each in inputs.items()},
        own_name=own_name,
    )


def _is_view(binding: Binding, name: ModelName) -> bool:
    """Whether a model has no rows of its own. It is no parent of the reader, or it were inlined."""
    return binding.graph[name].model.kind.is_inlined


def _rendered(
    binding: Binding, node: Node, interval: Interval, execution_time: datetime
) -> Statements:
    """The statements for an interval over models' names; views are inlined down to tables."""
    times = TimeRange.of(interval, execution_time=execution_time)
    if isinstance(node.model.body, PythonFunction):
        return render_statements(binding.graph, node.name, times, target=lambda _: None)
    found = render_model(binding.graph, node.name, times, target=lambda _: None)
    return found.before, found.after
