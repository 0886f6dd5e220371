"""Bounds are checked once more where only the catalog says what they are compared with.

A bound that leaves out rows of an interval is refused when a project is loaded, where the types of
columns are known. Here they are those of the tables; and of texts that are compared with the text
of a day it is looked up whether all of them are days.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sqlglot import exp

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, input_name, pin
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.services import Services
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.checks import place_in
from vde_dagster.core.graph.compared_texts import ComparedText, compared_texts, looked_at
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.losses import losses
from vde_dagster.core.graph.render_model import inlined_models, with_columns
from vde_dagster.core.ledger.unit_of_work import SqlRows
from vde_dagster.core.model.model import Query
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import UNKNOWN_TYPE
from vde_dagster.core.sql.macros import MICROSECOND
from vde_dagster.core.sql.rendering import spark_text


def check_bounds(services: Services, binding: Binding, node: Node, prepared: PreparedUnit) -> None:
    """Refuse to evaluate a model whose bounds would leave out rows of the interval.

    Raises:
        Refused: They would; nothing was computed.
    """
    reading = prepared.readings[-1]  # all parts read the same, and the last one the newest
    if not isinstance(node.model.body, Query) or not reading.pinned:
        return
    sources = dict(reading.sources)
    graph = with_columns(binding.graph, node, _columns(services, binding, reading))
    for reader in (*inlined_models(graph, node, views=True), graph[node.name]):
        for finding in losses(graph, reader):
            place = place_in(reader.model, finding.line)
            raise Refused(f"{place}: {finding.message}", advice=finding.advice)
    texts = [each for each in compared_texts(graph, node.name) if each.table != node.name]
    pinned = {name: at for name, at in reading.pinned.items() if name in {e.table for e in texts}}
    for text in texts:
        if text.table not in pinned:
            raise _refused(text, "its texts are unknown")
    views = {name: input_name(f"{prepared.work_id}_texts", at) for at, name in enumerate(pinned)}
    tables = pin(services, binding, pinned, pinned, sources=sources)
    inputs = {views[name]: table for name, table in tables.items()}
    looks = {
        looked_at(text, exp.to_table(views[text.table]), *_days(node, prepared, text)): text
        for text in reversed(texts)
        if text.table is not None
    }
    for query, text in looks.items():
        rows = SqlRows(sql=spark_text(query))
        _, others = services.engine.preview(rows, inputs, (), model=str(node.name), limit=1)
        if others:
            raise _refused(text, f"{text.table} has {others[0][0]!r}, which is not a day")


def _columns(
    services: Services, binding: Binding, reading: PinnedReading
) -> dict[ModelName, Sequence[Column]]:
    """The columns of the tables that are read, as far as the catalog or the state has others."""
    columns: dict[ModelName, Sequence[Column]] = {
        name: table.columns for name, table in reading.sources.items()
    }
    untyped = {
        binding.key(name): name
        for name in reading.pinned
        if name not in columns
        and any(each.type == UNKNOWN_TYPE for each in binding.graph[name].columns)
    }
    if untyped:
        holdings = services.state.holdings(untyped)
        columns.update((untyped[key], each.columns) for key, each in holdings.items())
    return columns


def _days(node: Node, prepared: PreparedUnit, text: ComparedText) -> tuple[date, date]:
    """The first and the last day with which a text is compared."""
    begin, end = prepared.interval.start, prepared.interval.end - MICROSECOND
    if text.macro.startswith("start_"):
        return begin.date(), end.date()
    if len(prepared.readings) > 1:
        return (node.model.unit.following(begin) - MICROSECOND).date(), end.date()
    return end.date(), end.date()


def _refused(text: ComparedText, why: str) -> Refused:
    return Refused(
        f"{text.place}: `{text.shown}` is compared with @{text.macro} letter by letter, and {why}: "
        "rows of the interval would be left out",
        advice=f"If its texts start with a day like 2024-01-31, write `{text.shown} >= @start_ds "
        f"AND {text.shown} < CAST(DATE_ADD(@end_date, 1) AS STRING)`; otherwise make it a "
        "date, and write `BETWEEN @start_date AND @end_date`.",
    )
