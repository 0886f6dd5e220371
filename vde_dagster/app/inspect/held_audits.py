"""What the audits of a model find among the rows that its version holds now. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.pinned_reading import visible_text
from vde_dagster.app.services import Services
from vde_dagster.core.audits.binding import audits_of
from vde_dagster.core.audits.queries import held_queries
from vde_dagster.core.audits.results import failed, passed
from vde_dagster.core.audits.values import Audit, AuditResult
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.time.intervals import Interval, common

Asked = tuple[tuple[str, ...], Sequence[tuple[object, ...]]]
Ask = Callable[[str, Collection[TableName], int], Asked]
"""Answers a query in Spark's dialect: the tables that it reads, and at most how many rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAudits:
    """The results in the order of the model's audits.

    ``interval`` is the time that they are about, and what the time macros of audits stood for.
    """

    node: Node
    interval: Interval
    results: tuple[AuditResult, ...]

    @property
    def stops(self) -> bool:
        """Whether a blocking audit finds bad rows."""
        return any(each.stops for each in self.results)


def audit_held(
    services: Services,
    ask: Ask,
    binding: Binding,
    name: ModelName,
    interval: Interval | None,
    *,
    limit: int,
) -> HeldAudits:
    """Run all audits of a model on the rows that its version holds.

    Args:
        services: The ports.
        ask: Who answers queries.
        binding: The version of each model.
        name: The one that is audited.
        interval: Only rows of this time; None for all.
        limit: At most how many bad rows are shown of each audit.

    Raises:
        Refused: The model has no rows of its own, or none are loaded, or they are not known by
            time and an interval is given.
        EvaluationFailed: An audit's query failed.
    """
    node = binding.node(name)
    kind = node.model.kind
    if kind.is_source or kind.is_embedded:
        raise Refused(f"{name} is {kind.keyword}: it stores no rows to audit")
    key = binding.key(name)
    written = services.state.holdings([key]).get(key, NOTHING).written
    if not written:
        raise Refused(f"{name} is not loaded yet in {binding.environment}")
    if interval is not None and node.time_axis is None:
        raise Refused(
            f"the rows of {name} do not belong to intervals", advice="Omit --start and --end."
        )
    asked = interval or Interval(written[0].start, written[-1].end)
    hidden = node.model.kind.hidden_rows
    conditions = [_inside(node, interval)] if interval is not None else []
    conditions += [hidden.visible] if hidden is not None else []
    inside = exp.and_(*conditions) if conditions else None
    times = TimeRange.of(asked, execution_time=services.clock.now())
    processed = common(written, (asked,))
    audits = audits_of(binding.graph, name, times, processed=processed)
    tables = {each: binding.table(each) for audit in audits for each in audit.reads}
    graph, table = binding.graph, key.table
    results = tuple(
        _result(ask, audit, table, tables, inside, graph=graph, limit=limit) for audit in audits
    )
    return HeldAudits(node=node, interval=asked, results=results)


def _inside(node: Node, interval: Interval) -> exp.Expr:
    axis = node.time_axis
    assert axis is not None, f"the rows of {node.name} belong to intervals"
    column = exp.column(exp.to_identifier(axis.column, quoted=True))
    return within(column, interval, time_type=axis.type, time_format=axis.format)


def _result(
    ask: Ask,
    audit: Audit,
    rows: TableName,
    tables: dict[ModelName, TableName],
    inside: exp.Expr | None,
    *,
    graph: Graph,
    limit: int,
) -> AuditResult:
    texts = {each: visible_text(graph, each, tables[each]) for each in audit.reads}
    count, query = held_queries(audit, rows, texts, inside)
    read = {rows, *(tables[each] for each in audit.reads)}
    ((number,),) = ask(count, read, 1)[1]
    failing = int(str(number))
    if not failing:
        return passed(audit)
    columns, sample = ask(query, read, limit)
    found = failed(audit, failing, columns, sample)
    counted = "1 bad row" if failing == 1 else f"{failing:,} bad rows"
    return replace(found, message=f"the audit {audit} finds {counted}")
