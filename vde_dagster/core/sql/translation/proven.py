"""Refuses parts of other dialects that were not run on Spark and compared.

A part is named by sqlglot's class with the arguments that are given, since an argument that Spark's
function does not have would silently be left out. What is in no list is refused on loading.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from vde_dagster.core.errors import Refused
from vde_dagster.core.sql.dialects import SPARKS, is_spark
from vde_dagster.core.sql.spark.operator_levels import mixtures
from vde_dagster.core.sql.translation.proven_parts import PROVEN
from vde_dagster.core.sql.translation.time_texts import is_proven_format
from vde_dagster.core.sql.translation.times import CUTS, DIFFERENCES
from vde_dagster.core.sql.written_parts import text_in

Unproven = tuple[exp.Expr, Refused]
"""A part of a query, and why it is not translated."""

SUPPORTED: Final = (*SPARKS, *sorted(PROVEN))
"""Every dialect that a model may be written in."""


def is_supported(dialect: str) -> bool:
    """Whether models may be written in a dialect."""
    return dialect.lower() in SUPPORTED


def unproven(
    query: exp.Expr, *, dialect: str, functions: Collection[str] = ()
) -> Iterator[Unproven]:
    """The parts of a query without a proven translation from its dialect to Spark's.

    Args:
        query: As parsed, with every parenthesis that was written.
        dialect: The one that it was written in.
        functions: Those that the model's own pre-statements create, in lower case.
    """
    source = Dialect.get_or_raise(dialect)
    if is_spark(source):
        return
    name = type(source).__name__.lower()
    known = PROVEN.get(name, frozenset())
    yield from mixtures(query, name)
    for node in query.walk():
        if _is_structure(node) or _is_own(node, functions):
            continue
        part = part_of(node)
        if part not in known and _unit_of(node) and _is_known_by_unit(part, known):
            yield node, _refused_unit(node, name)
        elif part not in known or _is_cut_before_order(node):
            yield node, _refused(node, name)
        elif (text := node.args.get("format")) is not None and not is_proven_format(text):
            yield node, _refused_format(node, name)


def unproven_parts(
    part: exp.Expr, *, dialect: str, functions: Collection[str] = ()
) -> Iterator[Unproven]:
    """As `unproven`, of a statement or an expression: its functions, operators and types only."""
    for node, why in unproven(part, dialect=dialect, functions=functions):
        if isinstance(node, _VALUES):
            yield node, why


def functions_made(statements: Iterable[exp.Expr]) -> frozenset[str]:
    """The names of the functions that statements create, in lower case."""
    made = (each for each in statements if isinstance(each, exp.Create))
    functions = (each.this for each in made if (each.kind or "").upper() == "FUNCTION")
    return frozenset(each.this.name.lower() for each in functions)


def part_of(node: exp.Expr) -> str:
    """The name of a part of SQL in the lists: its class and the arguments that are given."""
    if isinstance(node, exp.Anonymous):
        return f"{node.name.upper()}(){_unit_of(node)}"
    if isinstance(node, exp.DataType):
        return f"type {node.this.value if isinstance(node.this, exp.DType) else node.this}"
    if isinstance(node, exp.Extract):
        return f"Extract {node.name.upper()}"
    if isinstance(node, exp.TsOrDsAdd) and _letters(node) == len("ADD_MONTHS"):
        return "ADD_MONTHS()"  # Redshift's own, which sqlglot reads as DATEADD; the last day stays
    given = ",".join(sorted(key for key, value in node.args.items() if _is_given(key, value)))
    if isinstance(node, exp.Bracket):
        given = given.replace("offset,", "")
    return f"{type(node).__name__}({given}){_unit_of(node)}"


def _unit_of(node: exp.Expr) -> str:
    """The unit by which times are cut or counted, which belongs to a part's name."""
    if isinstance(node, exp.Anonymous) and node.name.upper() == "DATE_PART" and node.expressions:
        return f" {node.expressions[0].name.upper()}"
    unit = node.args.get("unit")
    if unit is None or not isinstance(node, (*CUTS, *DIFFERENCES, exp.TimestampDiff, exp.LastDay)):
        return ""
    name = unit.name.upper().removesuffix("S")
    return f" WEEK({name})" if isinstance(unit, exp.WeekStart) else f" {name}"


def _letters(node: exp.Expr) -> int:
    """The length of a function's name as written; 0 if that is not known."""
    start, end = node.meta.get("start"), node.meta.get("end")
    return end - start + 1 if isinstance(start, int) and isinstance(end, int) else 0


def _is_given(key: str, value: object) -> bool:
    return value not in (None, False) and value != [] and key not in _OF_THE_READER


_OF_THE_READER: Final = frozenset({"is_string", "coalesce", "safe", "quoted", "big_int"})
"""Arguments that say how sqlglot read a part, and not what was written."""


def _is_cut_before_order(node: exp.Expr) -> bool:
    """Whether a LIMIT follows DISTINCT ON, whose order is lost when Spark picks its rows."""
    query = node.parent
    cut = query is not None and bool(query.args.get("limit") or query.args.get("offset"))
    return isinstance(node, exp.Distinct) and node.args.get("on") is not None and cut


def _is_structure(node: exp.Expr) -> bool:
    of_another_kind = node.args.get("kind") if isinstance(node, exp.Select) else None
    asof = isinstance(node, exp.Join) and node.method.upper() == "ASOF"
    return isinstance(node, _STRUCTURE) and not (of_another_kind or asof)


def _is_own(node: exp.Expr, functions: Collection[str]) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in functions


def _refused(node: exp.Expr, dialect: str) -> Refused:
    written = text_in(node, dialect)
    advice = (
        "Write it in another way, write the model in Spark's dialect, or make a function of your "
        "own for it with CREATE TEMPORARY FUNCTION in a pre-statement"
        if isinstance(node, exp.Func)
        else "Write it in another way, or write the model in Spark's dialect"
    )
    what = "type" if isinstance(node, exp.DataType) else "function"
    what = what if isinstance(node, exp.Func | exp.DataType) else "part"
    return Refused(
        f"the {what} `{written}` of the dialect {dialect} has no proven translation to Spark",
        advice=f"{advice}.",
    )


def _is_known_by_unit(part: str, known: Collection[str]) -> bool:
    """Whether the part is proven with another unit of time."""
    name = part.partition(" ")[0]
    return any(each.partition(" ")[0] == name for each in known)


def _refused_unit(node: exp.Expr, dialect: str) -> Refused:
    return Refused(
        f"Spark cannot count by{_unit_of(node)} as `{text_in(node, dialect)}` does",
        advice="Write it with a unit that Spark has (weeks begin on Monday there), or write the "
        "model in Spark's dialect.",
    )


def _refused_format(node: exp.Expr, dialect: str) -> Refused:
    return Refused(
        f"the format of `{text_in(node, dialect)}` has no proven translation to Spark",
        advice="Write it with year, month, day, hour, minute and second as numbers of fixed width, "
        "in quotes.",
    )


_VALUES: Final = (exp.Func, exp.Binary, exp.Unary, exp.Predicate, exp.DataType, exp.Interval)
"""Classes of nodes with a value, also in statements that are no queries."""

_STRUCTURE: Final = (
    exp.Alias,
    exp.And,
    exp.Boolean,
    exp.Column,
    exp.CTE,
    exp.DataTypeParam,
    exp.Dot,
    exp.Except,
    exp.From,
    exp.Group,
    exp.Having,
    exp.Identifier,
    exp.Intersect,
    exp.Join,
    exp.Limit,
    exp.Literal,
    exp.Not,
    exp.Null,
    exp.Offset,
    exp.Or,
    exp.Order,
    exp.Ordered,
    exp.Parameter,
    exp.Paren,
    exp.Select,
    exp.Star,
    exp.Subquery,
    exp.Table,
    exp.TableAlias,
    exp.Tuple,
    exp.Union,
    exp.Values,
    exp.Var,
    exp.Where,
    exp.Window,
    exp.WindowSpec,
    exp.With,
)
"""Classes of nodes with one meaning in every dialect: no functions, operators or types."""
