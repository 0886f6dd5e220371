"""Random expressions with operators of all levels, over the columns of one small table."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from string import Formatter
from typing import Final

from tests.lakehouse.spark_pairs.edits import Edit, edited


class Shape(Enum):
    """How a query asks for an expression: of each row, or of each group of rows."""

    ROWS = "SELECT {} AS c0 FROM raw.t AS t"
    GROUPS = "SELECT {} AS c0 FROM raw.t AS t GROUP BY g"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two expressions of which one is an edit of the other."""

    shape: Shape
    one: str
    other: str

    @property
    def queries(self) -> tuple[str, str]:
        """The queries of a model of either."""
        return query_of(self.shape, self.one), query_of(self.shape, self.other)


def query_of(shape: Shape, expression: str) -> str:
    """The query that asks for one expression."""
    return shape.value.replace("{}", expression)


COLUMNS: Final[Mapping[str, str]] = {
    "id": "int",
    "g": "int",
    "x": "int",
    "y": "int",
    "k": "int",
    "b": "bigint",
    "c": "decimal(10,2)",
    "f": "double",
    "n": "string",
    "s": "string",
    "w": "string",
    "p": "boolean",
    "q": "boolean",
    "r": "boolean",
    "day": "date",
    "ts": "timestamp",
    "e": "array<int>",
    "st": "struct<userId:int,Name:string>",
    "m": "map<string,int>",
}
"""The table that expressions read; ``n`` has digits, ``k`` small numbers."""

ROWS: Final = """
(0, 1, 1, 3, 0, 10, 1.50, 0.5, '1', 'ab', 'B', true, true, false, DATE'2024-01-31', 3),
(1, 1, 2, 1, 1, -3, -2.25, -1.5, '20', 'Ab', 'a', true, false, true, DATE'2024-02-29', 4),
(2, 1, 3, 2, 2, 7, 0.00, 2.0, '3', 'AB', '', false, true, NULL, DATE'2023-12-31', 5),
(3, 2, -1, 5, 3, NULL, 10.10, 1e10, '07', 'b', 'ab', false, false, true, NULL, 6),
(4, 2, 5, -2, 1, 100, NULL, -0.0, '5', ' a', 'a%', NULL, true, true, DATE'1999-01-01', 7),
(5, 2, 7, 4, 2, 2, 3.33, NULL, '12', 'a%', 'A', true, NULL, false, DATE'2024-01-01', 8),
(6, 3, NULL, 6, 1, 5, 4.00, 3.5, '9', 'a_b', NULL, NULL, false, NULL, DATE'2024-03-10', 9),
(7, 3, 9, NULL, 4, 8, -7.77, 7.25, NULL, NULL, 'zz', false, NULL, true, DATE'2024-07-04', 1),
(8, 3, 4, 7, 3, 6, 12.00, -2.5, '4', '12', '12', true, true, true, DATE'2024-12-25', 2),
(9, 4, 6, 8, 2, 33, 5.55, 9.0, '8', 'Zz', 'zZ', false, true, false, DATE'2000-02-29', 12),
(10, 4, 10, 1, 1, 12, 0.01, 4.5, '2', 'c', 'ab', true, false, NULL, DATE'2024-05-05', 11),
(11, 4, -3, 9, 2, -9, 99.99, 6.75, '6', 'Ä', 'b', NULL, NULL, NULL, DATE'2024-06-30', 10)
"""

TABLE: Final = f"""
SELECT id, g, x, y, k, CAST(b AS BIGINT) AS b, CAST(c AS DECIMAL(10, 2)) AS c,
  CAST(f AS DOUBLE) AS f, n, s, w, p, q, r, day,
  TIMESTAMP'2024-01-30 22:59:01.5' + make_dt_interval(0, z * 7, z) AS ts,
  array(x, y, z) AS e, named_struct('userId', z, 'Name', s) AS st,
  map('a', x, 'A', y, 'userId', z) AS m
FROM VALUES {ROWS} AS v(id, g, x, y, k, b, c, f, n, s, w, p, q, r, day, z)
"""
"""The rows: NULLs, negative numbers, texts of mixed case; few equal ones."""

NUMBER, FRACTION, BOOLEAN, FLAG, TEXT = "number", "fraction", "boolean", "flag", "text"
LEVELS = "levels"
NESTED, TOTAL, ANY_TOTAL, WINDOW = "nested", "total", "any_total", "window"
"""What kinds of expressions there are, by their types and by where they may stand."""

_OPERANDS: Final[Mapping[str, Sequence[str]]] = {
    NUMBER: (
        *("x", "y", "k", "id", "b", "n", "1", "2", "3", "x", "y", "k", "t.x", "e[0]", "st.userId"),
        *("m['a']", "m['userId']", "-1", "10L", "size(e)", "n::int", "t.st.userId"),
    ),
    LEVELS: ("x", "y", "k", "id", "n", "3", "x::string", "-1::string", "-y", "~x", "x::bigint"),
    FRACTION: ("f", "c", "x", "k", "1.5", "2", "b", "0.25", "n::double", "c::double", "y"),
    BOOLEAN: ("p", "q", "r", "x < y", "true", "s IS NULL", "x = y", "s = 'a'", "p = q", "r <=> q"),
    FLAG: ("p", "q", "r", "true", "(x > y)", "(s = w)", "p", "q"),
    TEXT: ("s", "w", "n", "'a'", "'B'", "st.Name", "s", "w", "x", "y", "x::string", "day"),
}
_CALLS: Final[Mapping[str, Sequence[str]]] = {
    NUMBER: (
        *("length({text})", "coalesce({number}, {number})", "abs({number})", "CAST(n AS INT)"),
        "CASE WHEN {boolean} THEN {number} ELSE {number} END",
        "CASE {number} WHEN {number} THEN {number} END",
        *("if({boolean}, {number}, {number})", "greatest({number}, {number})", "year(day)"),
        *("named_struct('userId', {number}).userId", "struct({number} AS v, y AS w).v"),
        *("aggregate(e, 0, (a, v) -> a + {lambda})", "element_at(e, 1)", "datediff(day, ts::date)"),
        *("array({number}, {number})[0]", "nullif({number}, {number})", "{number}::bigint"),
        *("try_cast({text} AS INT)", "pmod({number}, 3)", "(SELECT {number})", "{boolean}::int"),
        *("({number})", "({number})", "({number})"),
    ),
    FRACTION: (
        *(
            "round({fraction}, 1)",
            "abs({fraction})",
            "({fraction})",
            "{number} / 4",
            "sqrt(abs(f))",
        ),
        *(
            "coalesce({fraction}, {number})",
            "CAST({number} AS DECIMAL(10, 2))",
            "floor({fraction})",
        ),
        *("if({boolean}, {fraction}, f)", "{number}::double"),
    ),
    BOOLEAN: (
        *("{number} BETWEEN {number} AND {number}", "{number} IN (1, {number}, 3)"),
        *("{text} LIKE 'a%'", "{text} RLIKE '^a'", "{text} ILIKE 'A%'", "{number} IS NOT NULL"),
        *("{number} < {number}", "{number} >= {number}", "{number} <=> {number}"),
        *(
            "{number} <> {number}",
            "{text} = {text}",
            "{text} <=> {text}",
            "exists(e, v -> {truth})",
        ),
        *("array_contains(e, {number})", "{flag} IS TRUE", "{flag} IS NOT DISTINCT FROM q"),
        *("{number} NOT IN (1, 2)", "{text} NOT LIKE '%b'", "{number} NOT BETWEEN 1 AND {number}"),
        *("coalesce({boolean}, {boolean})", "{text} IN ('a', 'A', {text})", "isnull({number})"),
        *(
            "({boolean})",
            "({boolean})",
            "{flag} = {flag}",
            "{flag} <=> {flag}",
            "{fraction} > {fraction}",
        ),
    ),
    FLAG: ("({boolean})", "isnull({text})", "coalesce({boolean}, false)"),
    TEXT: (
        *("upper({text})", "concat({text}, {text})", "substring({text}, k, 2)", "({text})"),
        *("CASE WHEN {boolean} THEN {text} ELSE {text} END", "coalesce({text}, {text})"),
        *("replace({text}, 'a', 'b')", "concat_ws('-', {text}, {text})", "-{number}::string"),
        *("CAST({number} AS STRING)", "date_format(ts, 'yyyy-MM-dd')", "trim({text})"),
        *("to_json(named_struct('userId', {number}))", "{flag}::string", "lpad({text}, 4, '0')"),
        *("to_json(map('A', {number}, 'b', {number}))", "date_trunc('MONTH', ts)::string"),
        *("regexp_replace({text}, '[A-Z]', '_')", "split({text}, 'b')[0]", "to_json(st)"),
        *("to_csv(struct({number} AS U, {text} AS v))", "to_json(struct({number} AS Id))"),
    ),
    NESTED: (
        *("named_struct('userId', {number}, 'Name', {text})", "struct({number} AS Id, s AS name)"),
        *(
            "map('Key', {number}, 'key', {number})",
            "array({number}, {number})",
            "struct(x, {text})",
        ),
        *(
            "transform(e, v -> {lambda})",
            "filter(e, v -> {truth})",
            "sort_array(array({number}, y))",
        ),
        *("map_keys(map(id, {number}))", "from_json(to_json(st), 'userId INT, Name STRING')"),
        *("transform(e, (v, i) -> v - i * {lambda})", "reduce(e, 0, (a, v) -> a - v)"),
        *("from_json('{{\"A\": 1, \"a\": 2}}', 'A INT')", "arrays_zip(e, array({number}, y, 3))"),
        *("CAST(st AS STRUCT<Id: BIGINT, Label: STRING>)", "map_filter(m, (a, v) -> {truth})"),
        *(
            "zip_with(e, e, (a, v) -> a * {lambda})",
            "st",
            "str_to_map(concat('Z:', {text}), ',', ':')",
        ),
    ),
    TOTAL: (
        *("sum({number})", "count(*)", "count({number})", "max({number})", "avg({number})"),
        *("sum({number}) FILTER (WHERE {boolean})", "min({number})", "count(DISTINCT {number})"),
        *("sum(DISTINCT {number})", "count_if({boolean})", "percentile({number}, 0.5)"),
        *("percentile_cont(0.25) WITHIN GROUP (ORDER BY {number})", "sum({fraction})"),
    ),
    ANY_TOTAL: (
        *(
            "min({text})",
            "bool_or({boolean})",
            "max_by(s, id)",
            "sort_array(collect_list({number}))",
        ),
        *("listagg(s) WITHIN GROUP (ORDER BY id)", "to_json(max(named_struct('V', {number})))"),
        *("max(struct({number} AS V, id))", "listagg(s, '-') WITHIN GROUP (ORDER BY id DESC)"),
    ),
    WINDOW: (
        "sum({number}) OVER (PARTITION BY g ORDER BY id)",
        "sum({number}) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        "count(*) OVER (PARTITION BY {boolean})",
        "row_number() OVER (PARTITION BY g ORDER BY {number}, id)",
        "rank() OVER (PARTITION BY g ORDER BY {number} DESC)",
        "lag({number}, 1) OVER (ORDER BY id)",
        "max({number}) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)",
        "first_value({number}) OVER (PARTITION BY g ORDER BY id)",
        "avg({number}) OVER (ORDER BY x RANGE BETWEEN 2 PRECEDING AND CURRENT ROW)",
        "ntile(2) OVER (PARTITION BY g ORDER BY id)",
    ),
}
_SIGNS: Final[Mapping[str, Sequence[str]]] = {
    NUMBER: (
        *("+", "-", "*", "&", "|", "^", "<<", ">>"),
        *("% 7 +", "div 3 *", "||", "+", "-", "&", "|"),
    ),
    LEVELS: ("+", "-", "*", "||", "||", "&", "|", "^", "<<", ">>"),
    FRACTION: ("+", "-", "*", "/ 4 +", "% 7 -", "||"),
    BOOLEAN: ("AND", "OR", "AND", "OR", "AND NOT", "OR NOT"),
    FLAG: ("=", "<=>", "<>", "!="),
    TEXT: ("||",),
    TOTAL: ("+", "-", "||", "*"),
    WINDOW: ("+", "-", "||", "*"),
}
_BEFORE: Final[Mapping[str, Sequence[str]]] = {
    NUMBER: ("-", "~", "+", "- -"),
    FRACTION: ("-", "+"),
    BOOLEAN: ("NOT", "NOT NOT", "!"),
}
_BEHIND: Final[Mapping[str, Sequence[str]]] = {
    NUMBER: ("::string", "::bigint", "::int"),
    FRACTION: ("::double", "::decimal(12, 3)"),
    FLAG: ("::int", "::string", " IS NULL"),
    TEXT: ("::string",),
}
_KINDS: Final = (
    *(NUMBER, NUMBER, NUMBER, NUMBER, FRACTION, BOOLEAN, BOOLEAN, BOOLEAN, FLAG, TEXT, TEXT),
    *(NESTED, NESTED, TOTAL, ANY_TOTAL, WINDOW, LEVELS, LEVELS, LEVELS, LEVELS),
)
_GROUPED: Final = frozenset((TOTAL, ANY_TOTAL))
_ONLY_CALLS: Final = frozenset((TOTAL, ANY_TOTAL, WINDOW, NESTED))
_EDITS: Final = (
    *(Edit.PARENTHESIS,) * 4,
    *Edit,
    Edit.SWAP,
    Edit.OPERATOR,
    Edit.OPERATOR,
    Edit.CASE,
)


def pairs(seed: int) -> list[Pair]:
    """An expression and some edits of it; the same for one seed everywhere."""
    choices = random.Random(seed)
    kind = choices.choice(_KINDS)
    shape = Shape.GROUPS if kind in _GROUPED else Shape.ROWS
    one = _expression(choices, kind, 0 if kind == LEVELS else choices.choice((0, 0, 1, 1, 1, 2)))
    edits = [Edit.PARENTHESIS] if kind == LEVELS else _EDITS
    others = dict.fromkeys(_other(choices, one, edits) for _ in range(EDITS))
    return [Pair(shape, one, other) for other in others if other != one]


EDITS: Final = 6
"""So many edits are made of one expression."""


def _other(choices: random.Random, one: str, edits: Sequence[Edit]) -> str:
    other = one
    for _ in range(choices.choice((1, 1, 1, 2))):
        other = edited(other, choices, [choices.choice(edits)])
    return other


def _expression(choices: random.Random, kind: str, depth: int) -> str:
    """Operands with the signs between them, some of them with parentheses around."""
    if depth < 0:
        return choices.choice(_OPERANDS[kind][:4])
    if kind not in _SIGNS:
        return _filled(choices, choices.choice(_CALLS[kind]), depth)
    count = choices.choice((1, 2, 3, 3, 4) if depth else (2, 3, 3, 4))
    text = _operand(choices, kind, depth)
    for _ in range(count - 1):
        text = f"{text} {choices.choice(_SIGNS[kind])} {_operand(choices, kind, depth)}"
    if depth > 0 and choices.random() < 0.5:
        text = edited(text, choices, [Edit.PARENTHESIS])
    return text


def _operand(choices: random.Random, kind: str, depth: int) -> str:
    if kind in _ONLY_CALLS or (depth > 0 and choices.random() < 0.4):
        text = _filled(choices, choices.choice(_CALLS[kind]), depth)
    else:
        text = _filled(choices, choices.choice(_OPERANDS[kind]), -1)
    if kind in _BEFORE and choices.random() < 0.2:
        text = f"{choices.choice(_BEFORE[kind])} {text}"
    if kind in _BEHIND and choices.random() < 0.15:
        text = f"{text}{choices.choice(_BEHIND[kind])}"
    return text


def _filled(choices: random.Random, template: str, depth: int) -> str:
    """A call whose places for expressions are filled."""

    places: Mapping[str, Callable[[], str]] = {
        **{
            kind: partial(_expression, choices, kind, depth - 1)
            for kind in (NUMBER, FRACTION, BOOLEAN, FLAG, TEXT)
        },
        "lambda": lambda: choices.choice(("v", "v * 2", "v + x", "v - 1")),
        "truth": lambda: choices.choice(("v > 2", "v = x", "v IS NOT NULL AND v < y", "NOT v > 1")),
    }
    text = ""
    for literal, place in _parts(template):
        text += literal + (places[place]() if place else "")
    return text


def _parts(template: str) -> list[tuple[str, str]]:
    return [(literal, place or "") for literal, place, _, _ in Formatter().parse(template)]
