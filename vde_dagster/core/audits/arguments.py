"""The arguments of an audit: what each parameter accepts, and what is wrong with those given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Final

import sqlglot
from sqlglot import exp

from vde_dagster.core.audits.written import items_of_text, leaf
from vde_dagster.core.errors import Finding
from vde_dagster.core.model.model import Call
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.macros import TIME_MACROS, TimeRange
from vde_dagster.core.sql.places import placed
from vde_dagster.core.sql.spark.functions import AGGREGATES, GENERATORS
from vde_dagster.core.sql.unresolved import guess


class Form(Enum):
    """What a parameter accepts; the value is its wording for people."""

    COLUMN = "a column, or an expression over columns"
    COLUMNS = "columns in parentheses, such as (id, shop)"
    VALUE = "a value"
    VALUES = "values in parentheses, such as ('a', 'b'), none of them NULL"
    TEXTS = "texts in parentheses, such as ('a%', 'b%')"
    STEP = "a number, or an interval such as INTERVAL '1' DAY"
    NUMBER = "a number"
    COUNT = "a whole number, 0 or more"
    FRACTION = "a number from 0 to 1"
    CONDITION = "a condition on a row"
    CONDITIONS = "conditions in parentheses, such as (a > 0, b < a)"
    FLAG = "true or false"
    TABLE = "the name of a model or source"


_LISTS: Final = (Form.COLUMNS, Form.VALUES, Form.TEXTS, Form.CONDITIONS)
_OVER_COLUMNS: Final = (Form.COLUMN, Form.COLUMNS, Form.CONDITION, Form.CONDITIONS)
_SUMMED: Final = (exp.AggFunc, exp.Window, exp.Query, exp.Subquery, exp.Explode, exp.UDTF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a built-in audit. ``of_source`` is about the rows of another table."""

    name: str
    form: Form
    required: bool = True
    of_source: bool = False


class Given:
    """Arguments that fit their parameters. Each expression that they return is a copy."""

    def __init__(self, values: Mapping[str, exp.Expr]) -> None:
        self._values = values

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def one(self, name: str) -> exp.Expr:
        """The value of a parameter."""
        found = self._values[name].copy()
        return exp.paren(found) if isinstance(found, exp.Binary | exp.Not) else found

    def many(self, name: str) -> list[exp.Expr]:
        """The items of a list."""
        return [each.copy() for each in _items(self._values[name])]

    def flag(self, name: str, *, default: bool) -> bool:
        """A flag, or its default."""
        return bool(self._values[name].this) if name in self else default

    @property
    def condition(self) -> exp.Expr | None:
        """Which rows an audit is about; None for all."""
        return self.one("condition") if "condition" in self else None

    def where(self, fails: exp.Expr) -> exp.Expr:
        """A condition that is true of a row that the audit is about and that fails."""
        return exp.and_(self.condition, fails)


def parsed(call: Call) -> dict[str, exp.Expr]:
    """The arguments of a call as trees.

    Raises:
        ValueError: One is not SQL. Those of a project's files have been parsed before.
    """
    try:
        return {name: sqlglot.parse_one(sql, dialect="spark") for name, sql in call.arguments}
    except SQL_ERRORS as error:
        raise ValueError(f"an argument of {call.name} is not valid SQL") from error


def given_to(
    name: str, arguments: Mapping[str, exp.Expr], parameters: Sequence[Parameter]
) -> tuple[Given, list[Finding]]:
    """The arguments of an audit by its parameters, and all that is wrong with them."""
    wrong: list[Finding] = []
    values: dict[str, exp.Expr] = {}
    known = {each.name: each for each in parameters}
    for key, value in arguments.items():
        if key not in known:
            message = f"the audit {name} has no argument {key!r}"
            wrong.append(Finding(message=message, advice=suggested(key, known)))
        elif (reason := _unfit(value, known[key].form)) is not None:
            message = f"the argument {key!r} of the audit {name} is {known[key].form.value}"
            wrong.append(Finding(message=f"{message}; {reason}", advice=_advice_for(known[key])))
        else:
            values[key] = value
    if all(key in known for key in arguments):  # else a name is misspelt, and nothing missing
        missing = [each for each in parameters if each.required and each.name not in arguments]
        for each in missing:
            message = f"the audit {name} needs the argument {each.name!r}, {each.form.value}"
            advice = f"Write `{name} ({each.name} := ...)`."
            wrong.append(Finding(message=message, advice=advice))
    return Given(values), wrong


_WRITTEN: Final = (
    Form.COLUMN,
    Form.COLUMNS,
    Form.CONDITION,
    Form.CONDITIONS,
    Form.VALUE,
    Form.VALUES,
    Form.STEP,
)
_PLAIN: Final = (exp.Boolean, exp.Column, exp.Literal, exp.Null)


def as_written(
    given: Given, call: Call, parameters: Sequence[Parameter], times: TimeRange
) -> Given:
    """The same arguments, but expressions as their author wrote them, which is what runs.

    Args:
        given: The arguments of a call, which fit.
        call: The call.
        parameters: The parameters of its audit.
        times: What time macros in the arguments stand for.
    """
    forms = {each.name: each.form for each in parameters}
    values = {name: given.one(name) for name, _ in call.arguments}
    for name, text in call.written:
        if forms.get(name) in _WRITTEN:
            values[name] = _written(values[name], text, forms[name] in _LISTS, times)
    return Given(values)


def _written(value: exp.Expr, text: str, is_list: bool, times: TimeRange) -> exp.Expr:
    items = _items(value) if is_list else [value]
    texts = items_of_text(text) if is_list else [text]
    leaves = [
        item if isinstance(item, _PLAIN) else leaf(placed(each, catalog="").with_times(times))
        for item, each in zip(items, texts, strict=True)
    ]
    return exp.Tuple(expressions=leaves) if is_list else leaves[0]


def suggested(word: str, known: Iterable[str]) -> str:
    """Advice for a word that is not known."""
    every = sorted(known)
    return f"{guess(word, every)}Known: {', '.join(every)}."


def table_name(node: exp.Expr) -> ModelName:
    """The model or source that an argument names.

    Raises:
        InvalidName: It is not a name.
    """
    if not isinstance(node, exp.Column | exp.Dot):
        raise InvalidName(
            f"{node.sql('spark')} is not a valid name", advice="write it as schema.name"
        )
    return ModelName.of([each.name for each in node.parts])


def number(node: exp.Expr) -> Decimal | None:
    """A literal number; None for everything else."""
    sign, literal = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    if not isinstance(literal, exp.Literal) or literal.is_string:
        return None
    return sign * Decimal(literal.name)


def over_rows(node: exp.Expr) -> exp.Expr | None:
    """A part of an expression that reads or makes more than one row; None if there is none.

    Such are aggregates, windows, sub-queries and generators.
    """
    for each in node.walk():
        called = each.name.lower() if isinstance(each, exp.Anonymous) else ""
        if isinstance(each, _SUMMED) or called in AGGREGATES or called in GENERATORS:
            return each
    return None


def _items(node: exp.Expr) -> list[exp.Expr]:
    match node:
        case exp.Tuple() | exp.Array():
            return list(node.expressions)
        case exp.Paren():
            return [node.this]
        case _:
            return [node]


def _advice_for(parameter: Parameter) -> str:
    if parameter.form in _OVER_COLUMNS:
        return (
            "Write it over the columns of one row, without a sub-query, an aggregate or a "
            "window; for those write your own audit in audits/."
        )
    return f"Write `{parameter.name} := ...` with {parameter.form.value}."


def _unfit(node: exp.Expr, form: Form) -> str | None:
    """Why a node does not fit a parameter; None where it does."""
    items = _items(node) if form in _LISTS else [node]
    if not items:
        return "it is empty"
    return next((why for each in items if (why := _why_not(each, form)) is not None), None)


def _why_not(node: exp.Expr, form: Form) -> str | None:
    found = number(node)
    match form:
        case Form.NUMBER:
            fits = found is not None
        case Form.COUNT:
            fits = found is not None and found >= 0 and found == int(found)
        case Form.FRACTION:
            fits = found is not None and 0 <= found <= 1
        case Form.FLAG:
            fits = isinstance(node, exp.Boolean)
        case Form.TEXTS:
            fits = isinstance(node, exp.Literal) and node.is_string
        case Form.VALUES if isinstance(node, exp.Null):
            return "it contains NULL, which no value equals"
        case Form.TABLE:
            try:
                table_name(node)
            except InvalidName as error:
                return str(error)
            return None
        case _:
            return _why_no_row_expression(node, form)
    return None if fits else f"{node.sql('spark')} is not"


def _why_no_row_expression(node: exp.Expr, form: Form) -> str | None:
    if (summed := over_rows(node)) is not None:
        return f"{summed.sql('spark')} needs other rows"
    for each in node.walk():
        if isinstance(each, exp.Parameter) and each.name.lower() not in TIME_MACROS:
            return f"@{each.name} is not a time macro"
    if form in _OVER_COLUMNS and node.find(exp.Column, exp.Dot) is None:
        return f"{node.sql('spark')} does not name a column"
    return None
