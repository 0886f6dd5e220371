"""SQL of another tool's project as Spark's, with our macros where the other tool's stood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sqlglot import ErrorLevel, exp, parse, parse_one

from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.project.importing.draft import SparkText

_STAND_IN: Final = re.compile(r"[`\"]?\bvde__(\w+?)\b[`\"]?", re.IGNORECASE)
_SIDE: Final = re.compile(r"__MERGE_(SOURCE|TARGET)__", re.IGNORECASE)
_UNITS: Final = {"YEAR": 0, "MONTH": 1, "WEEK": 2, "DAY": 3, "HOUR": 4, "MINUTE": 5, "SECOND": 6}
"""The places of units among the arguments of MAKE_INTERVAL."""
_NO_NAME: Final = re.compile(r"\W")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class NotTranslated(Exception):
    """SQL that sqlglot cannot read, or cannot write for Spark."""


def plain_name(text: str) -> str:
    """A part of a table's name with underscores for what no name has here."""
    return _NO_NAME.sub("_", text)


def has_plain_names(text: str, dialect: str) -> bool:
    """Whether all tables that a query reads have names without a catalog that need no quotes."""
    return all(
        _PLAIN_NAME.fullmatch(part.name) and not table.catalog
        for tree in _parsed(text, dialect)
        if tree is not None
        for table in tree.find_all(exp.Table)
        for part in table.parts
        if isinstance(part, exp.Identifier)
    )


def spark_text(text: str, dialect: str, *, keeps_catalogs: bool = True) -> SparkText:
    """One statement for Spark, with `plain_name` for each part of a table's name.

    Raises:
        NotTranslated: It has no form there.
    """
    tree = statement(text, dialect)
    for table in tree.find_all(exp.Table):
        if not keeps_catalogs:
            table.set("catalog", None)
        for part in table.parts:
            if isinstance(part, exp.Identifier) and not _PLAIN_NAME.fullmatch(part.name):
                part.replace(exp.to_identifier(plain_name(part.name)))
    return SparkText(original=with_macros(text.strip()), spark=with_macros(_written(tree)))


def statement(text: str, dialect: str) -> exp.Expr:
    """The tree of one statement.

    Raises:
        NotTranslated: sqlglot cannot read it, or it is not one.
    """
    statements = [each for each in _parsed(text, dialect) if each is not None]
    if len(statements) != 1:
        raise NotTranslated(f"there are {len(statements)} statements instead of one")
    return statements[0]


def spark_tree(tree: exp.Expr, dialect: str) -> SparkText:
    """A tree in the dialect that it was read from, and for Spark.

    Raises:
        NotTranslated: It has no form in Spark's SQL.
    """
    original = with_macros(tree.sql(dialect, pretty=True))
    return SparkText(original=original, spark=with_macros(_written(tree)))


def spark_expression(text: str, dialect: str) -> str:
    """An expression or a list in parentheses for a header; plain names lose their quotes.

    SQLMesh calls the sides of a merge ``__MERGE_SOURCE__`` and ``__MERGE_TARGET__``.

    Raises:
        NotTranslated: It has no form in Spark's SQL.
    """
    named = _SIDE.sub(lambda found: found[1].lower(), text)
    try:
        tree = parse_one(named, dialect=dialect)
    except SQL_ERRORS as error:
        raise NotTranslated(_first_line(error)) from error
    return with_macros(_written(_with_plain_names(tree), pretty=False))


def spark_merge(text: str, dialect: str) -> str:
    """WHEN MATCHED clauses for Spark.

    Raises:
        NotTranslated: They have no form in Spark's SQL.
    """
    named = _SIDE.sub(lambda found: found[1].lower(), text.strip().strip("()"))
    merge = f"MERGE INTO a AS target USING b AS source ON TRUE {named}"
    (tree,) = _parsed(merge, dialect)
    clauses = tree.args.get("whens") if tree is not None else None
    if clauses is None:
        raise NotTranslated("it is not a WHEN MATCHED clause")
    return f"({with_macros(_written(_with_plain_names(clauses), pretty=False))})"


def _with_plain_names(tree: exp.Expr) -> exp.Expr:
    """A tree whose names have quotes only where they need them; lists in brackets are tuples."""
    for name in tree.find_all(exp.Identifier):
        if _PLAIN_NAME.fullmatch(name.this):
            name.set("quoted", False)
    return exp.Tuple(expressions=tree.expressions) if isinstance(tree, exp.Array) else tree


def spark_type(text: str, dialect: str) -> str:
    """A type for Spark, in lower case.

    Raises:
        NotTranslated: There is none.
    """
    try:
        return exp.DataType.build(text, dialect=dialect or None).sql("spark").lower()
    except (*SQL_ERRORS, ValueError) as error:
        raise NotTranslated(_first_line(error)) from error


def made_table(text: str, dialect: str) -> str | None:
    """The name of the table or view that a statement makes or drops; None if it does not."""
    try:
        tree = parse_one(text, dialect=dialect)
    except SQL_ERRORS:
        return None
    named = tree.find(exp.Table) if isinstance(tree, exp.Create | exp.Drop) else None
    is_relation = named is not None and tree.args.get("kind") in ("TABLE", "VIEW")
    return ".".join(part.name for part in named.parts) if named and is_relation else None


def _computed_interval(interval: exp.Interval) -> exp.Expr | None:
    """An interval of a computed length, which is a function in Spark; None for any other one."""
    length, unit = interval.this, interval.args.get("unit")
    place = _UNITS.get(unit.name.upper().removesuffix("S")) if isinstance(unit, exp.Var) else None
    if place is None or length is None or isinstance(length, exp.Literal | exp.Neg):
        return None
    zero = exp.Literal.number(0)
    before = [zero.copy() for _ in range(place)]
    return exp.Anonymous(this="MAKE_INTERVAL", expressions=[*before, length.unnest().copy()])


def with_macros(text: str) -> str:
    """A text whose stand-ins are macros again: ``vde__start_ds`` is ``@start_ds``."""
    return _STAND_IN.sub(lambda found: f"@{found[1].lower()}", text)


def quoted(text: str) -> str:
    """A text as a literal of a header, in which a backslash escapes what follows."""
    plain = text.replace("\\'", "'").replace("\\", "\\\\")
    return "'" + plain.replace("'", "''") + "'"


def listed(items: Sequence[str]) -> str:
    """Items of a header: one alone, or several in parentheses."""
    return items[0] if len(items) == 1 else f"({', '.join(items)})"


def word(text: str) -> str:
    """A word of a header, in quotes where it is none."""
    return text if _PLAIN_NAME.fullmatch(text) else quoted(text)


def _parsed(text: str, dialect: str) -> Sequence[exp.Expr | None]:
    try:
        return parse(text, dialect=dialect)
    except SQL_ERRORS as error:
        raise NotTranslated(_first_line(error)) from error


def _written(tree: exp.Expr, *, pretty: bool = True) -> str:
    if isinstance(tree, exp.Command):
        raise NotTranslated(f"`{tree.sql()[:60]}` is a statement that sqlglot does not understand")
    for interval in list(tree.find_all(exp.Interval)):
        if (made := _computed_interval(interval)) is not None:
            interval.replace(made)
    try:
        return tree.sql("spark", pretty=pretty, unsupported_level=ErrorLevel.RAISE)
    except SQL_ERRORS as error:
        raise NotTranslated(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
