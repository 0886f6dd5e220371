"""The properties that name something with arguments: audits, signals, and parents with windows."""

from __future__ import annotations

import re
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

from vde_dagster.core.model.model import Call
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.dialects import is_spark
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.text import closed
from vde_dagster.core.time.windows import Window
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.values import (
    check_known,
    note_unreadable,
    read_duration,
    read_expression,
    read_options,
)

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_audits(value: Value | None, dialect: str, problems: Problems) -> tuple[Call, ...]:
    """Audits: ``name``, or ``name (argument := SQL, ...)``. In Python their texts are SQL."""
    return _calls(value, dialect, problems, sql_texts=True)


def read_signals(value: Value | None, dialect: str, problems: Problems) -> tuple[Call, ...]:
    """Signals: ``name``, or ``name (argument := value, ...)``. In Python texts are themselves."""
    return _calls(value, dialect, problems, sql_texts=False)


def _calls(
    value: Value | None, dialect: str, problems: Problems, *, sql_texts: bool
) -> tuple[Call, ...]:
    calls: list[Call] = []
    for item in value.items() if value is not None else ():
        name, group = item.written if item.is_string else item.name, item.group()
        if not _NAME.fullmatch(name) or (item.after_name() is not None and group is None):
            message = f"{item.raw} is no name with arguments"
            problems.add(item.place, message, "Write `name (argument := value)`.")
            continue
        arguments: dict[str, str] = {}
        written: dict[str, str] = {}
        before = len(problems.found)
        for each in group or ():
            key = each.tokens[0].text.lower()
            if key in arguments:
                problems.add(each.place, f"the argument {key!r} is given twice", "Remove one.")
            elif (sql := read_argument(each, dialect, problems, sql_texts=sql_texts)) is not None:
                arguments[key] = sql
                text = _written(each.rest()) if sql_texts and is_spark(dialect) else None
                if text is not None:
                    written[key] = text
        given, own = tuple(sorted(arguments.items())), tuple(sorted(written.items()))
        if len(problems.found) > before:
            continue  # with problems here, missing arguments are not reported
        calls.append(Call(name=name.lower(), arguments=given, written=own, place=item.place))
    return tuple(calls)


def read_argument(item: Value, dialect: str, problems: Problems, *, sql_texts: bool) -> str | None:
    """An argument's value, as SQL in Spark's dialect.

    In Python a text is SQL if ``sql_texts``, and else a literal.
    """
    rest = item.rest()
    if rest is None and not item.in_python:
        problems.add(item.place, f"the argument {item.raw} has no value", "Write `name := value`.")
        return None
    found = _node(rest, dialect, problems, sql_texts=sql_texts) if rest else exp.null()
    if found is None:
        return None
    normalized = normalize_identifiers(found, dialect=dialect)
    for identifier in normalized.find_all(exp.Identifier):
        identifier.set("quoted", not _NAME.fullmatch(identifier.name))
    text = normalized.sql(dialect="spark", comments=False)
    if _is_read_again(text):
        return text
    note_unreadable(rest or item, problems)
    return None


def _is_read_again(sql: str) -> bool:
    """Whether an argument can be read as it is kept: sqlglot takes texts that it cannot write."""
    try:
        sqlglot.parse_one(sql, dialect="spark")
    except (*SQL_ERRORS, RecursionError):
        return False
    return True


def _written(value: Value | None) -> str | None:
    """An argument as its author wrote it; None if Python code built it from several values."""
    if value is None:
        return None
    if not value.in_python:
        return value.raw
    items = value.items()
    texts = [each.written if each.is_string else None for each in items]
    if items == (value,):
        return texts[0]
    known = [each for each in texts if each is not None]
    return f"({', '.join(map(closed, known))})" if len(known) == len(texts) else None


def _node(value: Value, dialect: str, problems: Problems, *, sql_texts: bool) -> exp.Expr | None:
    if value.is_string and not (value.in_python and sql_texts):
        return exp.Literal.string(value.written)
    items = value.items()
    if not value.in_python or items == (value,):
        return read_expression(value, dialect, problems)
    nodes = [_node(each, dialect, problems, sql_texts=sql_texts) for each in items]
    return exp.Tuple(expressions=[each for each in nodes if each is not None])


def read_depends_on(value: Value | None, problems: Problems) -> dict[ModelName, Window | None]:
    """Parents that the model names itself, each perhaps with its window (docs/models.md)."""
    found: dict[ModelName, Window | None] = {}
    for item in value.items() if value is not None else ():
        try:
            name = ModelName.parse(item.written if item.is_string else item.name)
        except InvalidName as error:
            problems.refuse(item.place, error)
            continue
        group = item.group()
        if not item.is_string and item.after_name() is not None and group is None:
            message = f"{item.raw} is no parent with a window"
            problems.add(item.place, message, "Write `raw.orders (before '30 days')`.")
        elif name in found:
            problems.add(item.place, f"the parent {name} is given twice", "Remove one.")
        else:
            found[name] = _window(name, group, problems) if group is not None else None
    return found


def _window(name: ModelName, group: tuple[Value, ...], problems: Problems) -> Window:
    pairs = read_options(group, problems)
    options = check_known(pairs, ("before", "after"), f"the window of {name}", problems)
    lengths = {key: read_duration(each, key, problems) for key, each in options.items()}
    return Window(**{key: each for key, each in lengths.items() if each is not None})
