"""Texts that a query compares letter by letter with the text of a day, such as ``@end_ds``.

A text that begins with the day and goes on, such as ``2024-01-31T15:00:00``, is behind the text of
that day. Which texts a column has is not known before an evaluation, which looks at them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from sqlglot import exp

from vde_dagster.core.errors import Place
from vde_dagster.core.graph.checks import place_in
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.lineage import branches_of, outputs_of
from vde_dagster.core.graph.render_model import inlined_models
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import schema_of
from vde_dagster.core.sql.compared_bounds import (
    Bound,
    Form,
    bound_of,
    kept_for,
    kind_of,
    values_before,
)
from vde_dagster.core.sql.macros import borders_in
from vde_dagster.core.sql.reads.descriptions import described
from vde_dagster.core.sql.spark.names import KnownTables
from vde_dagster.core.sql.spark.scopes import Scopes
from vde_dagster.core.sql.table_names import model_name_of, query_of
from vde_dagster.core.sql.types import with_types
from vde_dagster.core.sql.unresolved import line_of
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedText:
    """A text of a table that is compared with a day, and where.

    ``table`` is None if the text is not computed from one table alone: then it cannot be looked
    at. ``written`` is the text in terms of that table's columns, ``shown`` as the query has it.
    """

    table: ModelName | None
    written: exp.Expr
    shown: str
    macro: str
    place: Place


def compared_texts(graph: Graph, name: ModelName) -> tuple[ComparedText, ...]:
    """The texts whose rows a model's query leaves out if they are longer than a day's text.

    Views and embedded models upstream are looked through, and their own bounds count, too.
    """
    return graph.once("compared texts", name, lambda: tuple(_compared_texts(graph, graph[name])))


def _compared_texts(graph: Graph, node: Node) -> Iterator[ComparedText]:
    for reader in (*inlined_models(graph, node, views=True), node):
        if reader.canonical is None or not any(borders_in(reader.canonical.expression)):
            continue
        tracer = _Tracer(graph, reader)
        for bound, value in _compared(tracer.query):
            for table, written in tracer.texts(value):
                yield ComparedText(
                    table=table,
                    written=written,
                    shown=described(value),
                    macro=bound.macro,
                    place=place_in(reader.model, line_of(value)),
                )


def _compared(query: exp.Expr) -> Iterator[tuple[Bound, exp.Expr]]:
    """The values that are not kept if they are behind the text of a day."""
    for name, macro in borders_in(query):
        bound = bound_of(name, macro)
        comparison = bound.node.parent
        if comparison is None or bound.form is not Form.TEXT:
            continue
        if bound.pattern != ISO_DATE:
            continue  # a text with a time of day is refused unless its format is declared
        if isinstance(comparison, exp.EQ | exp.NullSafeEQ | exp.In) and True in kept_for(
            comparison
        ):
            is_left = comparison.this is bound.node
            value = comparison.expression if is_left else comparison.this
            yield bound, value
        elif name.startswith("end_"):
            yield from ((bound, each.value) for each in values_before(bound.node, comparison))


_Text = tuple[ModelName | None, exp.Expr]
_Definition = exp.Expr | ModelName | None
"""An expression, or the column of this name in a table; None if it is not known."""


class _Tracer:
    """Follows the texts of a model's query to the tables that have them."""

    def __init__(self, graph: Graph, node: Node) -> None:
        assert node.canonical is not None, "a model without a query compares nothing"
        self.graph = graph
        columns = {parent: graph[parent].columns for parent in node.model.parents}
        self.query = with_types(
            node.canonical.expression.copy(), schema=schema_of(columns, "spark"), dialect="spark"
        )
        self.scopes = Scopes(KnownTables({}))
        self.followed: set[tuple[int, str]] = set()

    def texts(self, value: exp.Expr) -> Iterator[_Text]:
        """The texts that a value may be, without those that are known to be days."""
        if kind_of(value) in (Form.DATE, Form.INSTANT, Form.NUMBER):
            return  # it is compared as what it is: see `vde_dagster.core.sql.interval_ends`
        match value:
            case exp.Column():
                for tracer, made in self.definitions(value):
                    if isinstance(made, exp.Expr):
                        yield from tracer.texts(made)
                    else:
                        yield made, exp.column(value.name, quoted=True)
            case exp.Literal() | exp.Null():
                pass
            case exp.Coalesce() | exp.Greatest() | exp.Least():
                for part in (value.this, *value.expressions):
                    yield from self.texts(part)
            case exp.Paren() | exp.AggFunc() | exp.Filter() | exp.Window():
                yield from self.texts(value.this)
            case exp.Cast() if kind_of(value.this) in (Form.TEXT, Form.DATE):
                yield from self.texts(value.this)
            case _ if not _is_day(value):
                yield self.computed(value)

    def computed(self, value: exp.Expr) -> _Text:
        """A text that is computed row by row, by the columns of the one table that it is of."""
        if value.find(exp.Query, exp.AggFunc, exp.Window, exp.Parameter):
            return None, value
        tables: set[ModelName | None] = set()
        written = exp.Paren(this=value.copy())
        columns = list(written.find_all(exp.Column))
        for column, copy in zip(value.find_all(exp.Column), columns, strict=True):
            made = list(self.definitions(column))
            tracer, definition = made[0] if len(made) == 1 else (self, None)
            if isinstance(definition, exp.Expr):
                table, inner = tracer.computed(definition)
            else:
                table, inner = definition, exp.column(column.name, quoted=True)
            tables.add(table)
            copy.replace(inner.copy())
        return (tables.pop() if len(tables) == 1 else None), written

    def definitions(self, column: exp.Column) -> Iterator[tuple[_Tracer, _Definition]]:
        """What a column is in the queries or the table that it comes from."""
        source = self.scopes.source_of(column)
        if source is not None and query_of(source) is not None:
            yield from self.outputs(source, column.name.lower())
            return
        table = model_name_of(source) if isinstance(source, exp.Table) else None
        node = self.graph[table] if table is not None and table in self.graph else None
        if node is not None and node.canonical is not None and node.model.kind.is_inlined:
            inner = _Tracer(self.graph, node)
            yield from inner.outputs(inner.query, column.name.lower())
        else:
            yield self, table

    def outputs(self, source: exp.Expr, name: str) -> Iterator[tuple[_Tracer, _Definition]]:
        """What a column of a query's rows is in each of its SELECTs."""
        names, query = outputs_of(source), query_of(source) or source
        at = names.index(name) if name in names else len(names)
        if (id(query), name) in self.followed:
            return  # a recursive query meets itself: it adds nothing new
        self.followed.add((id(query), name))
        for select in branches_of(query):
            made = select.selects if isinstance(select, exp.Query) else ()
            yield self, made[at].unalias() if at < len(made) else None
        self.followed.discard((id(query), name))


def _is_day(value: exp.Expr) -> bool:
    """Whether a text is written as a day, or cut to the length of one."""
    match value:
        case exp.TimeToStr():
            return value.text("format").replace("strict", "") == ISO_DATE
        case exp.Substring(this=_) if value.text("start") == "1":
            return value.text("length") == _LENGTH
        case exp.Left():
            return value.text("expression") == _LENGTH
        case _:
            return False


_LENGTH: Final = str(len("2024-01-31"))


def looked_at(compared: ComparedText, table: exp.Table, first: date, last: date) -> exp.Select:
    """The query of texts of an interval that are not read, since they are not written as days.

    Its ranges leave files out by the bounds of their columns.

    Args:
        compared: What is compared.
        table: What its table is read as.
        first: The first day that ends an interval.
        last: The last one.
    """
    text, year = compared.written, str(last.year)
    behind = exp.and_(text > str(first), text < str(last + _DAY))
    elsewhere = exp.and_(text >= f"{year}.", text < str(last.year + 1))
    shorter = text.isin(year, str(last)[:7])
    is_day = exp.RegexpLike(this=text.copy(), expression=exp.convert(_WRITTEN))
    return (
        exp.select(exp.cast(text.copy(), "string").as_("text"))
        .from_(table)
        .where(exp.not_(is_day), exp.or_(behind, elsewhere, shorter))
    )


_WRITTEN: Final = f"^{TimeFormat(ISO_DATE).expression}$"
_DAY: Final = timedelta(days=1)
