"""Words and signs of Spark's SQL: which stand between operands, and which are easily confused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

PREFIXES: Final = ("-", "~", "NOT", "+", "!")
OPERATORS: Final = frozenset(
    (
        *("+", "-", "*", "/", "%", "||", "&", "|", "^", "<<", ">>", ">>>"),
        *("=", "==", "<=>", "<>", "!=", "<", ">", "<=", ">="),
        *("DIV", "AND", "OR", "LIKE", "RLIKE", "ILIKE"),
    )
)
"""What stands between two operands."""

_ALIKE: Final[Sequence[Sequence[str]]] = (
    ("+", "-", "*", "||"),
    ("*", "/", "%", "DIV", "+"),
    ("&", "|", "^"),
    ("<<", ">>", ">>>"),
    ("<", "<=", ">", ">="),
    ("=", "<=>", "<>"),
    ("AND", "OR"),
    ("LIKE", "ILIKE", "RLIKE"),
    ("ASC", "DESC"),
    ("FIRST", "LAST"),
    ("ROWS", "RANGE"),
    ("PRECEDING", "FOLLOWING"),
    ("INNER", "LEFT", "RIGHT", "FULL"),
    ("UNION", "INTERSECT", "EXCEPT"),
    ("INT", "BIGINT", "SMALLINT", "STRING", "DOUBLE"),
    ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"),
    ("DAY", "MONTH", "YEAR", "HOUR"),
    ("COUNT", "SUM", "AVG", "MIN", "MAX"),
    ("COLLECT_LIST", "COLLECT_SET", "ARRAY_AGG"),
    ("STDDEV", "STDDEV_POP", "VARIANCE", "VAR_POP"),
    ("COVAR_POP", "COVAR_SAMP", "CORR"),
    ("PERCENTILE_CONT", "PERCENTILE_DISC"),
    ("PERCENTILE", "PERCENTILE_APPROX", "APPROX_PERCENTILE"),
    ("BOOL_AND", "BOOL_OR", "ANY", "EVERY", "SOME"),
    ("RANK", "DENSE_RANK", "ROW_NUMBER"),
    ("PERCENT_RANK", "CUME_DIST"),
    ("LAG", "LEAD"),
    ("UPPER", "LOWER", "INITCAP"),
    ("LTRIM", "RTRIM", "TRIM", "BTRIM"),
    ("LPAD", "RPAD"),
    ("LEFT", "RIGHT"),
    ("FLOOR", "CEIL", "ROUND", "BROUND"),
    ("GREATEST", "LEAST"),
    ("COALESCE", "IFNULL", "NVL", "NULLIF"),
    ("EXPLODE", "EXPLODE_OUTER"),
    ("POSEXPLODE", "POSEXPLODE_OUTER"),
    ("INLINE", "INLINE_OUTER"),
    ("ARRAY_UNION", "ARRAY_INTERSECT", "ARRAY_EXCEPT"),
    ("ARRAY_MIN", "ARRAY_MAX"),
    ("EXISTS", "FORALL"),
    ("MAP_KEYS", "MAP_VALUES"),
    ("TRANSFORM_KEYS", "TRANSFORM_VALUES"),
    ("DATE_ADD", "DATE_SUB"),
    ("DATE_FORMAT", "TO_CHAR"),
    ("FROM_UTC_TIMESTAMP", "TO_UTC_TIMESTAMP"),
    ("SHIFTLEFT", "SHIFTRIGHT", "SHIFTRIGHTUNSIGNED"),
    ("SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN"),
    ("LN", "LOG", "LOG10", "LOG2", "LOG1P"),
    ("MD5", "SHA", "SHA1"),
    ("BASE64", "UNBASE64"),
    ("HEX", "UNHEX"),
    ("STRUCT", "ARRAY"),
    ("TO_DATE", "TO_TIMESTAMP"),
    ("CAST", "TRY_CAST"),
    ("TRUE", "FALSE", "NULL"),
    ("IS", "IS NOT"),
    ("BETWEEN", "NOT BETWEEN"),
    ("IN", "NOT IN"),
    ("DISTINCT", "ALL", ""),
    ("IGNORE", "RESPECT"),
)


def _neighbours() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for row in _ALIKE:
        for each in row:
            found.setdefault(each, []).extend(other for other in row if other != each)
    found.pop("")
    return found


NEIGHBOURS: Final = _neighbours()
"""For a word or sign, those that may stand in its place."""

NAMED_BY_WORD: Final = frozenset(("IF", "LEFT", "RIGHT", "EXISTS", "ANY", "SOME", "ARRAY", "MAP"))
"""Words of the language that are names of functions, too."""

NO_OPERAND: Final = frozenset(
    (
        *("SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "ORDER", "BY", "HAVING", "LIMIT", "AS"),
        *("AND", "OR", "NOT", "IN", "LIKE", "RLIKE", "ILIKE", "BETWEEN", "IS", "DIV"),
        *("WHEN", "THEN", "ELSE", "OVER", "PARTITION", "ROWS", "RANGE", "PRECEDING", "FOLLOWING"),
        *("WITHIN", "FILTER", "USING", "ON", "JOIN", "UNION", "EXCEPT", "INTERSECT", "VALUES"),
        *("ASC", "DESC", "NULLS", "INTERVAL", "WITH", "LATERAL", "VIEW", "PIVOT", "UNPIVOT"),
        *("UNBOUNDED", "CURRENT", "ROW", "FIRST", "LAST", "ESCAPE", "FOR", "BOTH", "TRAILING"),
    )
)
"""Words between, before or behind operands: none is one."""

BRACKETED: Final = frozenset(("OVER", "GROUP", "FILTER", "IN", "VALUES", "USING", "PIVOT", "AS"))
"""Words behind which brackets are asked for."""

CLAUSES: Final = (
    NO_OPERAND
    - {"AND", "OR", "NOT", "IN", "BETWEEN", "IS", "DIV"}
    - {
        *("LIKE", "RLIKE", "ILIKE", "ESCAPE", "OVER", "FILTER", "WITHIN", "GROUP", "INTERVAL"),
        *("DISTINCT", "FROM"),
    }
)
"""Words that separate a query's clauses, so that parentheses around operands have none."""

_OPERAND: Final = r"((?:\w+\.)*\w+|'[^']*')"


def _rewrites() -> Sequence[tuple[re.Pattern[str], str]]:
    rows = (
        (r"\bNOT @ = @", r"\1 <> \2"),
        (r"\bNOT @ < @", r"\1 >= \2"),
        (r"\b@ <> @", r"NOT \1 = \2"),
        (r"\b@ <> @", r"NOT (\1 <=> \2)"),
        (r"\b@ = @", r"\2 = \1"),
        (r"\b@ = @", r"\1 <=> \2"),
        (r"\b@ < @", r"\2 > \1"),
        (r"\b@ < @", r"\2 < \1"),
        (r"\b@ BETWEEN @ AND @", r"(\1 >= \2 AND \1 <= \3)"),
        (r"\b@ BETWEEN @ AND @", r"(\1 > \2 AND \1 <= \3)"),
        (r"\b@ NOT BETWEEN @ AND @", r"(\1 < \2 OR \1 > \3)"),
        (r"\b@ IN \(@, @, @\)", r"(\1 = \4 OR \1 = \2 OR \1 = \3)"),
        (r"\b@ IN \(@, @\)", r"(\1 = \3 OR \1 = \2)"),
        (r"\b@ IN \(@, @\)", r"\1 IN (\3, \2, \2)"),
        (r"\b@ NOT IN \(@, @\)", r"(\1 <> \2 AND \1 <> \3)"),
        (r"\b@ NOT IN \(@, @\)", r"(\1 <> \2 OR \1 <> \3)"),
        (r"\bif\(@, @, @\)", r"CASE WHEN \1 THEN \2 ELSE \3 END"),
        (r"\bif\(@, @, @\)", r"CASE WHEN \1 THEN \3 ELSE \2 END"),
        (r"\bCASE WHEN @ THEN @ ELSE @ END", r"if(\1, \2, \3)"),
        (r"\bCASE WHEN @ THEN @ ELSE @ END", r"if(NOT \1, \3, \2)"),
        (r"\bCASE @ WHEN @ THEN @ END", r"CASE WHEN \1 = \2 THEN \3 END"),
        (r"\bTHEN @ END", r"THEN \1 ELSE NULL END"),
        (r"\bTHEN @ END", r"THEN \1 ELSE 0 END"),
        (r"\bcount\(\*\)", "count(1)"),
        (r"\bcount\(\*\)", "count(NULL)"),
        (r"\bcoalesce\(@, @\)", r"nvl(\1, \2)"),
        (r"\bcoalesce\(@, @\)", r"nvl2(\1, \1, \2)"),
        (r"\bcoalesce\(@, @\)", r"coalesce(\1, \1, \2)"),
        (r"(ORDER BY id)\)", r"\1 RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"),
        (r"(ORDER BY id)\)", r"\1 ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"),
        (r"(PARTITION BY g)\)", r"\1 ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"),
        (r"\b@::(bigint|int|string|double)", r"CAST(\1 AS \2)"),
        (r"\b@::(bigint|int|string|double)", r"try_cast(\1 AS \2)"),
        (r"\bCAST\(@ AS (\w+)\)", r"\1::\2"),
        (r"\b@ AND @", r"\2 AND \1"),
        (r"\b@ AND @", r"(1 = 1 AND \1) AND \2"),
        (r"\b@ OR @", r"\2 OR \1"),
        (r"\b@ OR @", r"(1 = 0 OR \1) OR \2"),
        (r"\b@ \+ @", r"\2 + \1"),
        (r"\b@ IS NULL", r"isnull(\1)"),
        (r"\b@ IS NULL", r"\1 <=> NULL"),
        (r"\b@ IS NULL", r"\1 = NULL"),
        (r"\b@ IS TRUE", r"\1 = true"),
        (r"\bNOT NOT @", r"\1"),
        (r"\b- - @", r"\1"),
        (r"\bconcat\(@, @\)", r"\1 || \2"),
        (r"\b@ \|\| @", r"concat(\1, \2)"),
        (r"\b@ \|\| @", r"concat_ws('', \1, \2)"),
        (r"\bgreatest\(@, @\)", r"greatest(\2, \1)"),
        (r"\bsum\(@\) FILTER \(WHERE @\)", r"sum(CASE WHEN \2 THEN \1 END)"),
        (r"\bsum\(@\) FILTER \(WHERE @\)", r"sum(CASE WHEN \2 THEN \1 ELSE 0 END)"),
        (r"\bcount_if\(@\)", r"count(*) FILTER (WHERE \1)"),
        (r"\bcount_if\(@\)", r"count(\1)"),
    )
    return [(re.compile(old.replace("@", _OPERAND)), new) for old, new in rows]


REWRITES: Final = _rewrites()
"""Texts and what they may be rewritten to: some means the same, some nearly."""
