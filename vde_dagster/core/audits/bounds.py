"""The time bounds by which audits do not look at all rows of an interval."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from vde_dagster.core.audits.arguments import parsed
from vde_dagster.core.audits.values import THIS_MODEL
from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.losses import losses_of_audit
from vde_dagster.core.sql.canonical import QueryInvalid


def unaudited_rows(graph: Graph, node: Node) -> Iterator[Problem]:
    """The bounds in a model's audits, its own ones' queries and conditions, that miss rows."""
    own = {each.call: each for each in node.model.own_audits}
    tables = (node, *(graph[parent] for parent in node.model.parents))
    for call in node.model.audits:
        place = call.place or node.model.place
        if call in own:
            query, start = own[call].query, own[call].place
        else:
            condition = parsed(call).get("condition")
            if condition is None:
                continue
            query, start = exp.select("*").from_(THIS_MODEL).where(condition), None
        try:
            found = list(losses_of_audit(node, _named(query, node), tables))
        except QueryInvalid:
            continue  # Spark says what does not fit when the audit runs, which then never passes
        for each in found:
            where = place if start is None else Place(path=start.path, line=each.line or start.line)
            message = f"the audit {call.name} does not look at all rows: {each.message}"
            yield Problem(place=where, message=message, advice=each.advice)


def _named(query: exp.Query, node: Node) -> exp.Query:
    """A query that reads the audited rows under the name of their model."""
    named = query.copy()
    for table in named.find_all(exp.Table):
        if table.name.lower() == THIS_MODEL and not table.db:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(THIS_MODEL)))
            table.set("this", exp.to_identifier(node.name.name))
            table.set("db", exp.to_identifier(node.name.schema))
            table.set(
                "catalog", exp.to_identifier(node.name.catalog) if node.name.catalog else None
            )
    return named
