"""Operators, conditions and choices."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.duckdb.casts import converted, meeting
from vde_dagster.core.sql.duckdb.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    VOID,
    NotTheSame,
    SparkType,
    as_decimal,
    common,
    decimal,
)
from vde_dagster.core.sql.duckdb.values import (
    Rule,
    Scope,
    Value,
    alike,
    call,
    cast,
    checked,
    condition,
    fitted,
    number,
    of_type,
    text_literal,
)

_BY_ZERO: Final = "a division by zero"


def _paren(node: exp.Expr, scope: Scope) -> Value:
    found = scope.value(node.this)
    return Value(node=exp.Paren(this=found.node), type=found.type, literal=found.literal)


def _operand(node: exp.Expr) -> exp.Expr:
    return exp.paren(node, copy=False) if isinstance(node, exp.Binary | exp.Unary) else node


def _binary(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return kind(this=_operand(left), expression=_operand(right))


def _logical(node: exp.Expr, scope: Scope) -> Value:
    sides = [scope.value(each) for each in (node.this, node.args["expression"])]
    if any(each.type not in (BOOLEAN, VOID) for each in sides):
        raise NotTheSame("AND or OR of something else than conditions")
    return Value(node=_binary(type(node), *(fitted(each, BOOLEAN) for each in sides)), type=BOOLEAN)


def _not(node: exp.Expr, scope: Scope) -> Value:
    return Value(node=exp.Not(this=exp.paren(condition(node.this, scope))), type=BOOLEAN)


def _compared(node: exp.Expr, scope: Scope) -> Value:
    left, right = meeting(scope.value(node.this), scope.value(node.args["expression"]))
    return Value(node=_binary(type(node), left, right), type=BOOLEAN)


def _is(node: exp.Expr, scope: Scope) -> Value:
    what = node.args["expression"]
    if isinstance(what, exp.Null):
        found = exp.Is(this=_operand(scope.value(node.this).node), expression=exp.Null())
        return Value(node=found, type=BOOLEAN)
    if isinstance(what, exp.Boolean):
        same = exp.NullSafeEQ(this=_operand(condition(node.this, scope)), expression=what.copy())
        return Value(node=same, type=BOOLEAN)
    raise NotTheSame("IS with something else than NULL, TRUE and FALSE")


def _between(node: exp.Expr, scope: Scope) -> Value:
    value, low, high = (scope.value(node.args[each]) for each in ("this", "low", "high"))
    above = _binary(exp.GTE, *meeting(value, low))
    below = _binary(exp.LTE, *meeting(value, high))
    return Value(node=exp.paren(exp.And(this=above, expression=below)), type=BOOLEAN)


def _in(node: exp.Expr, scope: Scope) -> Value:
    value = scope.value(node.this)
    if (query := node.args.get("query")) is not None:
        inner, kinds = scope.rows(query)
        if [value.type] != list(kinds):
            raise NotTheSame("IN with a query of another type")
        found = exp.In(this=_operand(value.node), query=exp.Subquery(this=inner))
        return Value(node=found, type=BOOLEAN)
    if not node.expressions:
        raise NotTheSame("an empty list")
    listed = [scope.value(each) for each in node.expressions]
    is_text = all(each.literal is not None and each.type == STRING for each in listed)
    if is_text and (value.type == DATE or value.type.is_time):
        nodes = [value.node, *(converted(each, value.type) for each in listed)]
    else:
        _, nodes = alike([value, *listed])
    found = exp.In(this=_operand(nodes[0]), expressions=nodes[1:])
    return Value(node=found, type=BOOLEAN)


def _exists(node: exp.Expr, scope: Scope) -> Value:
    inner, _ = scope.rows(node.this)
    return Value(node=exp.Exists(this=inner), type=BOOLEAN)


def _subquery(node: exp.Expr, scope: Scope) -> Value:
    """A query as a value: DuckDB fails as Spark does where it has several rows."""
    inner, kinds = scope.rows(node)
    if len(kinds) != 1:
        raise NotTheSame("a query of several columns as a value")
    return Value(node=exp.Subquery(this=inner), type=kinds[0])


def _like(node: exp.Expr, scope: Scope) -> Value:
    value = of_type(node.this, scope, "string")
    pattern = text_literal(node.args["expression"], scope)
    if "\\" in pattern:
        raise NotTheSame("a pattern with a backslash")
    found = exp.Like(this=_operand(value.node), expression=exp.Literal.string(pattern))
    if node.args.get("negate"):
        return Value(node=exp.Not(this=exp.paren(found, copy=False)), type=BOOLEAN)
    return Value(node=found, type=BOOLEAN)


# -- arithmetic


def _sum(node: exp.Expr, scope: Scope) -> Value:
    """``+`` and ``-`` of numbers, and of a time with a literal interval."""
    right = node.args["expression"]
    if isinstance(right, exp.Interval):
        return _moved(node, right, scope)
    one, other = _decimal_literals(scope.value(node.this), scope.value(right))
    kind = common((one.type, other.type))
    if kind == DOUBLE or kind.is_integer:
        sides = [fitted(each, kind) for each in (one, other)]
        return Value(node=cast(_binary(type(node), *sides), kind), type=kind)
    if not kind.is_decimal:
        raise NotTheSame(f"{type(node).__name__} of {one.type} and {other.type}")
    kind = decimal(kind.precision + 1, kind.scale)
    sides = [cast(each.node, kind) for each in (one, other)]
    return Value(node=cast(_binary(type(node), *sides), kind), type=kind)


def _product(node: exp.Expr, scope: Scope) -> Value:
    one, other = _decimal_literals(scope.value(node.this), scope.value(node.args["expression"]))
    kind = common((one.type, other.type))
    if kind == DOUBLE or kind.is_integer:
        sides = [fitted(each, kind) for each in (one, other)]
        return Value(node=cast(_binary(exp.Mul, *sides), kind), type=kind)
    if not kind.is_decimal:
        raise NotTheSame(f"a product of {one.type} and {other.type}")
    kinds = [as_decimal(each.type) for each in (one, other)]
    result = decimal(sum(each.precision for each in kinds) + 1, sum(each.scale for each in kinds))
    sides = [cast(each.node, of) for each, of in zip((one, other), kinds, strict=True)]
    return Value(node=cast(_binary(exp.Mul, *sides), result), type=result)


def _decimal_literals(one: Value, other: Value) -> tuple[Value, Value]:
    """A whole number that is written next to a decimal has only the digits that it needs."""

    def narrow(value: Value, beside: SparkType) -> Value:
        if not (isinstance(value.literal, int) and beside.is_decimal):
            return value
        kind = decimal(len(str(abs(value.literal))), 0)
        return Value(node=cast(value.node, kind), type=kind)

    return narrow(one, other.type), narrow(other, one.type)


def _quotient(node: exp.Expr, scope: Scope) -> Value:
    """``/`` of doubles and whole numbers, which Spark divides as doubles; zero is an error."""
    sides = [scope.value(each) for each in (node.this, node.args["expression"])]
    kinds = {each.type for each in sides}
    if not all(each == DOUBLE or each.is_exact for each in kinds):
        raise NotTheSame("a quotient of something else than numbers")
    if any(each.is_decimal for each in kinds) and DOUBLE not in kinds:
        raise NotTheSame("a quotient of decimals, which Spark rounds by rules of its own")
    top, bottom = (fitted(each, DOUBLE) for each in sides)
    divided = exp.Div(this=_operand(top), expression=_operand(bottom), typed=False, safe=False)
    return Value(node=_without_zero(bottom, cast(divided, DOUBLE)), type=DOUBLE)


def _whole_quotient(node: exp.Expr, scope: Scope) -> Value:
    """DIV of whole numbers: towards zero, a BIGINT."""
    sides = [scope.value(each) for each in (node.this, node.args["expression"])]
    if not all(each.type.is_integer for each in sides):
        raise NotTheSame("DIV of something else than whole numbers")
    top, bottom = (fitted(each, BIGINT) for each in sides)
    divided = exp.IntDiv(this=_operand(top), expression=_operand(bottom))
    return Value(node=_without_zero(bottom, cast(divided, BIGINT)), type=BIGINT)


def _remainder(node: exp.Expr, scope: Scope) -> Value:
    sides = [scope.value(each) for each in (node.this, node.args["expression"])]
    kind = common(each.type for each in sides)
    if not kind.is_integer:
        raise NotTheSame("a remainder of something else than whole numbers")
    top, bottom = (fitted(each, kind) for each in sides)
    return Value(node=_without_zero(bottom, cast(_binary(exp.Mod, top, bottom), kind)), type=kind)


def _without_zero(bottom: exp.Expr, node: exp.Expr) -> exp.Expr:
    is_zero = exp.EQ(this=_operand(bottom.copy()), expression=number(0))
    return checked(is_zero, _BY_ZERO, node)


def _negative(node: exp.Expr, scope: Scope) -> Value:
    found = scope.value(node.this)
    if not (found.type == DOUBLE or found.type.is_exact):
        raise NotTheSame(f"a minus before a {found.type}")
    literal = -found.literal if isinstance(found.literal, int) else None
    negated = cast(exp.Neg(this=exp.paren(found.node)), found.type)
    return Value(node=negated, type=found.type, literal=literal)


_UNITS: Final = ("SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR")
_OF_DAYS: Final = ("DAY", "MONTH", "YEAR")


def _moved(node: exp.Expr, by: exp.Interval, scope: Scope) -> Value:
    """A time plus or minus a literal interval of one unit."""
    unit = by.args.get("unit")
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    count = by.this.name if isinstance(by.this, exp.Literal) else ""
    found = scope.value(node.this)
    stays_a_day = found.type == DATE and name in _OF_DAYS
    if name not in _UNITS or not count.isdigit() or not (stays_a_day or found.type == TIMESTAMP):
        raise NotTheSame("such a sum of a time and an interval")
    interval = exp.Interval(this=exp.Literal.string(count), unit=exp.Var(this=name))
    moved = type(node)(this=_operand(found.node), expression=interval)
    return Value(node=cast(moved, found.type), type=found.type)


# -- choices


def _case(node: exp.Expr, scope: Scope) -> Value:
    of, conditions, results = node.args.get("this"), [], []
    for each in node.args["ifs"]:
        if of is None:
            conditions.append(condition(each.this, scope))
        else:
            pair = meeting(scope.value(of), scope.value(each.this))
            conditions.append(_binary(exp.EQ, *pair))
        results.append(scope.value(each.args["true"]))
    default = node.args.get("default")
    results.append(scope.value(default) if default is not None else _null())
    kind, nodes = alike(results)
    ifs = [exp.If(this=one, true=two) for one, two in zip(conditions, nodes, strict=False)]
    return Value(node=exp.Case(ifs=ifs, default=nodes[-1]), type=kind)


def _null() -> Value:
    return Value(node=exp.Null(), type=VOID)


def _if(node: exp.Expr, scope: Scope) -> Value:
    results = [scope.value(node.args[each]) for each in ("true", "false") if each in node.args]
    if len(results) < 2 or node.args["false"] is None:
        raise NotTheSame("IF without what holds otherwise")
    kind, (yes, no) = alike(results)
    choice = exp.If(this=condition(node.this, scope), true=yes)
    return Value(node=exp.Case(ifs=[choice], default=no), type=kind)


def _coalesce(node: exp.Expr, scope: Scope) -> Value:
    kind, nodes = alike([scope.value(each) for each in (node.this, *node.expressions)])
    return Value(node=exp.Coalesce(this=nodes[0], expressions=nodes[1:]), type=kind)


def _nullif(node: exp.Expr, scope: Scope) -> Value:
    one, other = scope.value(node.this), scope.value(node.args["expression"])
    kind = common((one.type, other.type))
    if kind == DOUBLE != one.type or VOID in (one.type, other.type):
        raise NotTheSame(f"NULLIF of {one.type} and {other.type}")
    found = call("nullif", fitted(one, kind), fitted(other, kind))
    return Value(node=cast(found, one.type), type=one.type)


def _extreme(name: str) -> Rule:
    def make(node: exp.Expr, scope: Scope) -> Value:
        if not node.expressions:
            raise NotTheSame(f"{name} of one value")
        kind, nodes = alike([scope.value(each) for each in (node.this, *node.expressions)])
        if kind == DOUBLE:
            raise NotTheSame(f"{name} of doubles")
        return Value(node=call(name, *nodes), type=kind)

    return make


OPERATORS: Final[dict[type[exp.Expr], tuple[str, Rule]]] = {
    exp.Paren: ("this", _paren),
    exp.And: ("this expression", _logical),
    exp.Or: ("this expression", _logical),
    exp.Not: ("this", _not),
    **dict.fromkeys(
        (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ),
        ("this expression", _compared),
    ),
    exp.Is: ("this expression", _is),
    exp.Between: ("this low high", _between),
    exp.In: ("this expressions query", _in),
    exp.Exists: ("this", _exists),
    exp.Subquery: ("this", _subquery),
    exp.Like: ("this expression negate", _like),
    exp.Add: ("this expression", _sum),
    exp.Sub: ("this expression", _sum),
    exp.Mul: ("this expression", _product),
    exp.Div: ("this expression", _quotient),
    exp.IntDiv: ("this expression", _whole_quotient),
    exp.Mod: ("this expression", _remainder),
    exp.Neg: ("this", _negative),
    exp.Case: ("this ifs default", _case),
    exp.If: ("this true false", _if),
    exp.Coalesce: ("this expressions", _coalesce),
    exp.Nullif: ("this expression", _nullif),
    exp.Greatest: ("this expressions", _extreme("greatest")),
    exp.Least: ("this expressions", _extreme("least")),
}
"""Each with the arguments that may be given, and how it is translated."""
