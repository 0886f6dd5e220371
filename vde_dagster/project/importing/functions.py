"""Functions that a translation for Spark gives another meaning, or that Spark lacks."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace
from typing import Final

from sqlglot import exp, parse

from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.project.importing.draft import Draft, Group, Remark

_MACRO: Final = re.compile(r"@(\w+)")
_CALLED: Final = re.compile(r"(\w+)\(")
_OF_SQL: Final = {
    *("any_value", "array_agg", "case", "cast", "exists", "explode_outer", "extract", "filter"),
    *("if", "in", "interval", "map", "nullif", "rank", "row_number", "struct", "try_cast"),
    *("bigint", "binary", "boolean", "date", "decimal", "double", "float", "int", "smallint"),
    *("string", "timestamp", "tinyint", "zip_with"),
}
"""Names before a parenthesis in SQL that Spark's list of functions lacks."""
_DIFFERING: Final = {
    "duckdb": {
        "dayofweek": "1 is Sunday, not 0",
        "weekday": "0 is Monday, not Sunday",
        "isodow": "sqlglot writes another day: use `WEEKDAY(x) + 1`",
        "dow": "1 is Sunday, not 0",
        "dayname": "names have three letters",
        "monthname": "names have three letters",
        "round": "a DOUBLE is rounded half up by its decimal text: 36.205 becomes 36.21",
        "regexp_replace": "all matches are replaced, even without 'g'",
        "datediff": "it counts whole months, not month boundaries",
        "date_diff": "it counts whole months, not month boundaries",
        "list": "NULLs and the order are lost: use `SORT_ARRAY(COLLECT_LIST(x))`",
        "array_agg": "NULLs and the order are lost: use `SORT_ARRAY(COLLECT_LIST(x))`",
        "arg_max": "rows whose value is NULL are not ignored",
        "arg_min": "rows whose value is NULL are not ignored",
        "max_by": "rows whose value is NULL are not ignored",
        "min_by": "rows whose value is NULL are not ignored",
        "list_distinct": "NULL counts",
        "len": "for a list, use SIZE",
        "listagg": "Spark has no window form: use `ARRAY_JOIN(COLLECT_LIST(x) OVER w, ',')`",
        "string_agg": "Spark has no window form: use `ARRAY_JOIN(COLLECT_LIST(x) OVER w, ',')`",
        "quantile_cont": "write `PERCENTILE(x, p)`",
        "percentile_cont": "it is approximate",
        "log": "it is the natural logarithm: use LOG10",
        "hash": "the hash is another one",
        "typeof": "types have other names",
        "epoch_ms": "for a time, use UNIX_MILLIS",
        "generate_series": "use `EXPLODE(SEQUENCE(a, b, step))` in a SELECT",
        "range": "use `EXPLODE(SEQUENCE(a, b, step))` in a SELECT, without the end",
        "strftime": "%V (a week) is unknown, and %j has no leading zeros",
        "json": "for a text, `x -> '$.a'` is GET_JSON_OBJECT(x, '$.a'), without a cast",
        "time zone": "for a time without a zone, it converts in the other direction",
        "interval": "a date plus an interval is a date, not a timestamp",
        "time_bucket": "Spark does not have it",
        "unpivot": "rewrite it for Spark",
        "pivot": "rewrite it for Spark",
    },
}
"""Words of a dialect that sqlglot's Spark is known to give another meaning, as was measured."""


_WORDS: Final = ("dow", "json", "time zone", "interval", "pivot", "unpivot")
"""Those that are not functions."""
_END: Final = r"(?!\w)"
_CALL: Final = r"\s*\("


def differing(text: str, dialect: str) -> list[tuple[str, str]]:
    """Words in a text whose translation is known to mean something else, and what it means."""
    return [
        (name, what)
        for name, what in _DIFFERING.get(dialect, {}).items()
        if re.search(rf"(?<!\w){name}{_END if name in _WORDS else _CALL}", text, re.IGNORECASE)
    ]


def with_unknown_functions(draft: Draft, known: Container[str]) -> Draft:
    """A draft that says which functions of its queries Spark may lack.

    Args:
        draft: The draft.
        known: The names of Spark's functions, in lower case.
    """
    remarks = [
        Remark(
            group=Group.LOOK,
            path=model.path,
            model=model.name,
            message=f"Spark may not have the function {name}",
        )
        for model in draft.models
        if model.query is not None
        for name in unknown_functions(model.query.spark, known)
    ]
    return replace(draft, remarks=(*draft.remarks, *remarks))


def unknown_functions(spark: str, known: Container[str]) -> list[str]:
    """The functions in a query for Spark that neither it nor SQL itself is known to have."""
    try:
        (tree,) = parse(without_macros(spark), dialect="spark")
    except (*SQL_ERRORS, ValueError):
        return []
    names = {
        found[1].lower()
        for node in (tree.find_all(exp.Func) if tree is not None else ())
        if (found := _CALLED.match(node.sql("spark")))
    }
    return sorted(name.upper() for name in names - _OF_SQL if name not in known)


def without_macros(text: str) -> str:
    """A text with names in place of its macros."""
    return _MACRO.sub(r"vde__\1", text)
