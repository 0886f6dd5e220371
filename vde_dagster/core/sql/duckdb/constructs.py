"""The one table of expressions that DuckDB may answer; whatever is not in it is Spark's.

Of each is known which types it takes, which one Spark's ANSI mode gives it, and its text in DuckDB.
A row on which the engines differ makes the text fail, so that Spark is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlglot import exp


class NotTheSame(Exception):
    """Something that is not known to mean the same in both engines; the text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """DuckDB's text of an expression, and Spark's type of it; ``written`` is that of a literal."""

    text: str
    type: str
    written: str | None = None


Names = Callable[[exp.Column], Value]
"""What the name of a column stands for."""
_Rule = Callable[[exp.Expr, Names], Value]

_INTEGERS: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""From the narrowest, with their digits as a decimal."""
_NUMBERS: Final = (*_INTEGERS, "double")
_TIMES: Final = ("date", "timestamp", "timestamp_ntz")
GROUPED: Final = (*_INTEGERS, "decimal", "boolean", "string", *_TIMES)
"""Types by whose values rows are told apart; of the two zeros of a double engines show either."""
_PLAIN: Final = (*GROUPED, "double")
_ALIASES: Final = {"timestampntz": "timestamp_ntz", "long": "bigint", "integer": "int"}
_IN_DUCKDB: Final = {"string": "VARCHAR", "timestamp_ntz": "TIMESTAMP"}
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?)?")
_UNITS: Final = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_MOST_TEXT: Final = 50_000
_OF_THE_READER: Final = ("typed", "safe", "big_int", "coalesce")
"""Arguments that say how sqlglot read a part of Spark's SQL."""


def value_of(node: exp.Expr, names: Names) -> Value:
    """An expression for DuckDB.

    Raises:
        NotTheSame: It, or a part of it, is not in the table.
    """
    if isinstance(node, exp.Column):
        return names(node)
    what = node.name.upper() if isinstance(node, exp.Anonymous) else type(node).__name__
    keys, rule = _CONSTRUCTS.get(type(node), ("", None))
    others = {*node.args} - {*keys.split(), *_OF_THE_READER}
    if rule is None or any(node.args[key] for key in others):
        raise NotTheSame(f"{what}{' with ' if rule else ''}{', '.join(others if rule else ())}")
    found = rule(node, names)
    if len(found.text) > _MOST_TEXT:
        raise NotTheSame("an expression that is so large")
    return found


def type_named(written: str) -> str:
    """A type by Spark's simple name.

    Raises:
        NotTheSame: Values of it are left to Spark.
    """
    name = _ALIASES.get(written.lower().strip(), written.lower().strip())
    if found := _DECIMAL.fullmatch(name):
        return _decimal(int(found[1]), int(found[2]))
    if name not in _PLAIN or name == "decimal":
        raise NotTheSame(f"the type {written} is left to Spark")
    return name


def is_among(kind: str, types: Sequence[str]) -> bool:
    """Whether a type is one of these, of which ``decimal`` stands for all decimals."""
    return kind.partition("(")[0] in types


def _decimal(precision: int, scale: int) -> str:
    if not 0 <= scale <= precision <= 38 or precision == 0:
        raise NotTheSame(f"a decimal of {precision} digits is rounded by rules of Spark's own")
    return f"decimal({precision},{scale})"


def _digits(kind: str) -> tuple[int, int]:
    """Precision and scale of a whole number or a decimal."""
    found = _DECIMAL.fullmatch(kind)
    return (int(found[1]), int(found[2])) if found else (_INTEGERS[kind], 0)


def _common(kinds: Iterable[str]) -> str:
    """The type to which Spark widens values that meet."""
    found = "void"
    for kind in kinds:
        if "void" in (found, kind) or found == kind:
            found = kind if found == "void" else found
        elif found in _NUMBERS and kind in _NUMBERS:
            found = max(found, kind, key=_NUMBERS.index)
        elif is_among(found, (*_INTEGERS, "decimal")) and is_among(kind, (*_INTEGERS, "decimal")):
            one, other = _digits(found), _digits(kind)
            scale = max(one[1], other[1])
            found = _decimal(max(one[0] - one[1], other[0] - other[1]) + scale, scale)
        elif "date" in (found, kind) and found in _TIMES and kind in _TIMES:
            found = found if kind == "date" else kind
        else:
            raise NotTheSame(f"a {found} meets a {kind}")
    return found


def _cast(text: str, kind: str) -> str:
    return f"CAST({text} AS {_IN_DUCKDB.get(kind, kind)})"


def _alike(values: Sequence[Value]) -> list[Value]:
    """Values in their common type; a text in quotes next to a time is read as one."""
    time = next((each.type for each in values if each.type in _TIMES), None)
    read = [
        Value(text=_written_time(each.written, time), type=time)
        if time is not None and each.type == "string" and each.written is not None
        else each
        for each in values
    ]
    kind = _common(each.type for each in read)
    return [v if v.type == kind else Value(text=_cast(v.text, kind), type=kind) for v in read]


def _written_time(written: str, kind: str) -> str:
    utc = written.removesuffix("+00:00")
    text = utc if kind == "timestamp" and " " in utc.replace("T", " ") else written
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise NotTheSame(f"the text {written!r} as a {kind}") from error
    found = _TIME.fullmatch(text)
    if found is None or (kind == "date" and found[1]):
        raise NotTheSame(f"the text {written!r} as a {kind}")
    return _cast(f"'{text}'", kind)


def _values(node: exp.Expr, names: Names, keys: str) -> list[Value]:
    """The values of some arguments, lists among them, in order."""
    given = [node.args.get(key) for key in keys.split()]
    listed = [each if isinstance(each, list) else [each] for each in given]
    return [value_of(each, names) for group in listed for each in group if each is not None]


def _call(
    text: str, takes: Sequence[str], gives: str = "", *, keys: str = "this", alike: bool = False
) -> tuple[str, _Rule]:
    """A construct of one text over its arguments; ``gives`` is the type, or "" that of the first.

    In the text ``rest`` are all arguments but the first, ``all`` are all, ``piped`` with ``||``.
    """

    def rule(node: exp.Expr, names: Names) -> Value:
        values = _values(node, names, keys)
        values = _alike(values) if alike else values
        for each in values:
            if not is_among(each.type, takes):
                raise NotTheSame(f"{type(node).__name__} of a {each.type}")
        if len(values) < (len(keys.split()) if "expressions" not in keys else 2):
            raise NotTheSame(f"{type(node).__name__} of too little")
        texts, kind = [each.text for each in values], gives or values[0].type
        forms = {"rest": ", ".join(texts[1:]), "all": ", ".join(texts), "piped": " || ".join(texts)}
        return Value(text=_cast(text.format(*texts, **forms), kind), type=kind)

    return keys, rule


def _pair(text: str, takes: Sequence[str] = _PLAIN, gives: str = "boolean") -> tuple[str, _Rule]:
    """An operator of two values in their common type."""
    return _call(text, takes, gives, keys="this expression", alike=True)


def _literal(node: exp.Expr, _: Names) -> Value:
    text = node.name
    if "\\" in text or "\0" in text:
        raise NotTheSame("a text with a backslash")
    before, point, after = text.partition(".")
    if node.args.get("is_string"):
        kind = "string"
    elif point and (before + after).isdigit():
        kind = _decimal(max(len((before + after).lstrip("0")), len(after)), len(after))
    elif text.isdigit() and int(text) not in (2**31, 2**63):
        kind = "int" if int(text) < 2**31 else "bigint"
    else:
        raise NotTheSame(f"the number {text}, whose type depends on its sign")
    quoted = text.replace("'", "''")
    return Value(text=_cast(f"'{quoted}'", kind), type=kind, written=text)


def _converted(node: exp.Expr, names: Names) -> Value:
    """CAST, which sqlglot's parser calls TryCast where it was written so."""
    if node.args.get("safe") or node.args["to"].is_type(exp.DataType.Type.TIMESTAMP):
        raise NotTheSame("TRY_CAST or TO_TIMESTAMP")
    value, kind = value_of(node.this, names), type_named(node.args["to"].sql("spark"))
    if value.type == "string" and value.written is not None and kind in _TIMES:
        return Value(text=_written_time(value.written, kind), type=kind)
    text, allowed = value.text, _CASTS.get(value.type.partition("(")[0], ())
    if value.type not in (kind, "void") and not is_among(kind, allowed):
        what = f"a cast from {value.type} to {kind}"
        both = (is_among(each, (*_NUMBERS, "decimal")) for each in (value.type, kind))
        if "string" not in (value.type, kind) and not all(both):
            raise NotTheSame(what)
        text = f"CASE WHEN {text} IS NOT NULL THEN error('{what}') END"  # its type is known alone
    return Value(text=_cast(text, kind), type=kind)


def _case(node: exp.Expr, names: Names) -> Value:
    of, ifs, default = node.args.get("this"), node.args["ifs"], node.args.get("default")
    results = [each.args["true"] for each in ifs] + [default or exp.Null()]
    values = _alike([value_of(each, names) for each in results])
    whens = [value_of(exp.EQ(this=of, expression=e.this) if of else e.this, names) for e in ifs]
    if any(each.type != "boolean" for each in whens):
        raise NotTheSame("CASE by something else than conditions")
    listed = " ".join(f"WHEN {a.text} THEN {b.text}" for a, b in zip(whens, values, strict=False))
    return Value(text=f"CASE {listed} ELSE {values[-1].text} END", type=values[-1].type)


def _if(node: exp.Expr, names: Names) -> Value:
    if node.args.get("false") is None:
        raise NotTheSame("IF without an ELSE value")
    chosen = exp.If(this=node.this, true=node.args["true"])
    return _case(exp.Case(ifs=[chosen], default=node.args["false"]), names)


def _nullif(node: exp.Expr, names: Names) -> Value:
    chosen = exp.If(this=exp.EQ(**node.args), true=exp.Null())
    return _case(exp.Case(ifs=[chosen], default=node.this), names)


def _between(node: exp.Expr, names: Names) -> Value:
    above = exp.GTE(this=node.this, expression=node.args["low"])
    below = exp.LTE(this=node.this, expression=node.args["high"])
    return value_of(exp.And(this=above, expression=below), names)


def _sum_of(sign: str) -> _Rule:
    """``+`` and ``-``: of numbers, or of a time and a written interval of one unit."""
    _, of_numbers = _pair(f"({{}} {sign} {{}})", _NUMBERS, "")

    def rule(node: exp.Expr, names: Names) -> Value:
        by = node.args["expression"]
        if not isinstance(by, exp.Interval):
            return of_numbers(node, names)
        time, unit = value_of(node.this, names), by.text("unit").lower().removesuffix("s")
        units = {"date": ("day", "month"), "timestamp": ("day", "month", "hour", "minute")}
        if unit not in units.get(time.type, ()) or not by.name.isdigit():
            raise NotTheSame("such a sum of a time and an interval")
        text = f"({time.text} {sign} INTERVAL {int(by.name)} {unit})"
        return Value(text=_cast(text, time.type), type=time.type)

    return rule


def _truncated(node: exp.Expr, names: Names) -> Value:
    value, unit = value_of(node.this, names), node.args["unit"].name.lower()
    if value.type not in _TIMES or unit not in _UNITS:
        raise NotTheSame(f"DATE_TRUNC of a {value.type} by {unit}")
    text = f"date_trunc('{unit}', {_cast(value.text, 'timestamp')})"
    return Value(text=_cast(text, "timestamp"), type="timestamp")


def _typeof(node: exp.Expr, names: Names) -> Value:
    return Value(text=f"'{value_of(node.this, names).type}'", type="string")


def _count(node: exp.Expr, names: Names) -> Value:
    distinct = node.this if isinstance(node.this, exp.Distinct) else None
    if isinstance(node.this, exp.Star):
        return Value(text="count(*)", type="bigint")
    what = distinct.expressions if distinct is not None else [node.this]
    value = value_of(what[0], names)
    if distinct is not None and (len(what) > 1 or not is_among(value.type, GROUPED)):
        raise NotTheSame("COUNT of several distinct columns, or of doubles")
    return Value(text=f"count({'DISTINCT ' if distinct else ''}{value.text})", type="bigint")


def _sum(node: exp.Expr, names: Names) -> Value:
    """Of doubles Spark adds in another order, which decides the last digits."""
    value = value_of(node.this, names)
    if not is_among(value.type, (*_INTEGERS, "decimal")):
        raise NotTheSame(f"a sum of {value.type}")
    precision, scale = _digits(value.type)
    kind = "bigint" if value.type in _INTEGERS else _decimal(precision + 10, scale)
    return Value(text=_cast(f"sum({value.text})", kind), type=kind)


_CASTS: Final[Mapping[str, Sequence[str]]] = {
    "boolean": ("string", *_INTEGERS),
    "decimal": ("decimal",),
    **dict.fromkeys(_INTEGERS, (*_NUMBERS, "decimal", "string")),
    **dict.fromkeys(_TIMES, _TIMES),
}
"""The types that each of some types is cast to, besides its own."""
_OTHER_LETTERS: Final = "CASE WHEN strlen({0}) <> length({0}) THEN error('other letters') ELSE "
_EXACT_MEAN: Final = (  # whole numbers whose sum is exact as a double, however they are added
    "CASE WHEN sum(abs(CAST({0} AS HUGEINT))) > 9007199254740992 THEN error('a rounded sum') "
    "ELSE CAST(sum({0}) AS DOUBLE) / nullif(count({0}), 0) END"
)
_QUOTIENT: Final = (
    "CASE WHEN {1} = 0 THEN error('a division by zero') "
    "ELSE CAST({0} AS DOUBLE) / CAST({1} AS DOUBLE) END"
)
_CONSTRUCTS: Final[Mapping[type[exp.Expr], tuple[str, _Rule]]] = {
    exp.Literal: ("this is_string", _literal),
    exp.Boolean: ("this", lambda node, _: Value(text=f"{node.this}", type="boolean")),
    exp.Null: ("", lambda *_: Value(text="NULL", type="void")),
    exp.Paren: ("this", lambda node, names: value_of(node.this, names)),
    exp.And: _pair("({} AND {})", ("boolean",)),
    exp.Or: _pair("({} OR {})", ("boolean",)),
    exp.Not: _call("(NOT {})", ("boolean",)),
    exp.EQ: _pair("({} = {})"),
    exp.NEQ: _pair("({} <> {})"),
    exp.LT: _pair("({} < {})"),
    exp.LTE: _pair("({} <= {})"),
    exp.GT: _pair("({} > {})"),
    exp.GTE: _pair("({} >= {})"),
    exp.NullSafeEQ: _pair("({} IS NOT DISTINCT FROM {})"),
    exp.Is: _pair("({} IS NOT DISTINCT FROM {})"),
    exp.Between: ("this low high", _between),
    exp.In: _call("({} IN ({rest}))", _PLAIN, "boolean", keys="this expressions", alike=True),
    exp.Add: ("this expression", _sum_of("+")),
    exp.Sub: ("this expression", _sum_of("-")),
    exp.Mul: _pair("({} * {})", _NUMBERS, ""),
    exp.Div: _pair(_QUOTIENT, _NUMBERS, "double"),
    exp.Neg: _call("(-{})", (*_NUMBERS, "decimal")),
    exp.Case: ("this ifs default", _case),
    exp.If: ("this true false", _if),
    exp.Nullif: ("this expression", _nullif),
    exp.Coalesce: _call("coalesce({all})", _PLAIN, keys="this expressions", alike=True),
    **dict.fromkeys((exp.Cast, exp.TryCast), ("this to", _converted)),
    exp.Typeof: ("this", _typeof),
    exp.Length: _call("length({})", ("string",), "int"),
    exp.Upper: _call(f"{_OTHER_LETTERS}upper({{0}}) END", ("string",)),
    exp.Lower: _call(f"{_OTHER_LETTERS}lower({{0}}) END", ("string",)),
    exp.Concat: _call("{piped}", ("string",), keys="expressions"),
    exp.DPipe: _call("{piped}", ("string",), keys="this expression"),
    exp.TimestampTrunc: ("this unit", _truncated),
    exp.TsOrDsToDate: _call("{}", _TIMES, "date"),
    exp.Year: _call("year({})", _TIMES, "int"),
    exp.Month: _call("month({})", _TIMES, "int"),
    exp.Day: _call("day({})", _TIMES, "int"),
    exp.Hour: _call("hour({})", ("timestamp", "timestamp_ntz"), "int"),
    exp.Count: ("this", _count),
    exp.CountIf: _call("count(CASE WHEN {} THEN 1 END)", ("boolean",), "bigint"),
    exp.Sum: ("this", _sum),
    exp.Avg: _call(_EXACT_MEAN, tuple(_INTEGERS), "double"),
    exp.Min: _call("min({})", GROUPED),
    exp.Max: _call("max({})", GROUPED),
}
"""Each sort of node, with the arguments that it may have and how it is written."""

CALLED: Final = (
    "avg|cast|coalesce|concat|count|count_if|date_trunc|day|decimal|hour|if|length|lower|max|min|"
    "month|nullif|sum|to_date|typeof|upper|year"
)
"""The functions, by Spark's names: sqlglot reads others as these, which Spark does not have."""
