"""Words and signs of Spark's SQL: which stand between operands, and which are easily confused."""

from __future__ import annotations

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
"""Words that part a query, so that no parentheses around operands hold one."""
