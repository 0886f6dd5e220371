"""The properties that name something with arguments: audits, signals, and parents with windows."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from enum import Enum
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

from vde_dagster.core.audits.arguments import Form
from vde_dagster.core.audits.builtins import BUILTINS, base_name
from vde_dagster.core.model.model import Call
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.dialects import is_spark, read_sql
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.spark.unreadable import unreadable
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


class Texts(Enum):
    """What a text in a Python file stands for.

    A word in quotes is none, as people write it who take it for SQL, and neither is a bound that
    would be SQL over the model's rows.
    """

    SQL = "sql"
    ITSELF = "itself"
    WORD = "word"
    BOUND = "bound"


def read_audits(
    value: Value | None, dialect: str, columns: Collection[str], problems: Problems
) -> tuple[Call, ...]:
    """Audits: ``name``, or ``name (argument := SQL, ...)``.

    In Python a text is a text, but for arguments that stand for columns and conditions.
    """
    return _calls(value, dialect, problems, texts_of=_texts_of, columns=columns)


def read_signals(value: Value | None, dialect: str, problems: Problems) -> tuple[Call, ...]:
    """Signals: ``name``, or ``name (argument := value, ...)``. In Python texts are themselves."""
    return _calls(value, dialect, problems, texts_of=lambda _name, _key: Texts.ITSELF)


def _texts_of(name: str, key: str) -> Texts:
    """What the text of an argument of an audit stands for in Python.

    The argument of an audit of the project is like that of the built-in ones if its name says so.
    """
    audit = BUILTINS.get(base_name(name))
    if audit is None:
        return Texts.SQL if _OF_COLUMNS.fullmatch(key) else Texts.BOUND
    form = next((each.form for each in audit.parameters if each.name == key), None)
    match form:
        case Form.VALUES | Form.TEXTS:
            return Texts.WORD
        case Form.VALUE:
            return Texts.BOUND
        case _:
            return Texts.SQL


_OF_COLUMNS: Final = re.compile(r"(\w+_)?(columns?|conditions?|criteria)|blocking")


def _calls(
    value: Value | None,
    dialect: str,
    problems: Problems,
    *,
    texts_of: Callable[[str, str], Texts],
    columns: Collection[str] = (),
) -> tuple[Call, ...]:
    calls: list[Call] = []
    for item in value.items() if value is not None else ():
        name, group = item.written if item.is_string else item.name, item.group()
        if not _NAME.fullmatch(name) or (item.after_name() is not None and group is None):
            message = f"{item.raw} is not a name with arguments"
            problems.add(item.place, message, "Write `name (argument := value)`.")
            continue
        arguments: dict[str, str] = {}
        written: dict[str, str] = {}
        before = len(problems.found)
        for each in group or ():
            key = each.tokens[0].text.lower()
            texts = texts_of(name.lower(), key)
            if key in arguments:
                problems.add(each.place, f"the argument {key!r} is given twice", "Remove one.")
            elif (sql := read_argument(each, dialect, problems, texts, columns)) is not None:
                arguments[key] = sql
                text = _written(each.rest(), texts) if is_spark(dialect) else None
                if text is not None:
                    written[key] = text
                    for wrong in unreadable(_query(text)) if texts is Texts.SQL else ():
                        message = f"Spark SQL does not have {wrong.message}"
                        problems.reject(each.place, message, wrong.advice)
        given, own = tuple(sorted(arguments.items())), tuple(sorted(written.items()))
        if len(problems.found) > before:
            continue  # with problems here, missing arguments are not reported
        calls.append(Call(name=name.lower(), arguments=given, written=own, place=item.place))
    return tuple(calls)


def _query(text: str) -> str:
    """An argument in a query. How a list is written is ours, what is in it is Spark's."""
    is_list = isinstance(sqlglot.parse_one(text, dialect="spark"), exp.Array | exp.Tuple)
    if not is_list or text[0] not in "([":
        return f"SELECT {text}"
    return f"SELECT ARRAY({text[1:-1].rstrip().removesuffix(',')}\n)"


def read_argument(
    item: Value,
    dialect: str,
    problems: Problems,
    texts: Texts = Texts.ITSELF,
    columns: Collection[str] = (),
) -> str | None:
    """An argument's value, as SQL in Spark's dialect.

    Args:
        item: The argument with its name.
        dialect: Of its SQL.
        problems: Takes what is wrong.
        texts: What its texts stand for in Python, where ``{"sql": "..."}`` is SQL in any case.
        columns: Of the model, which a text may seem to name.
    """
    rest = item.rest()
    if rest is None and not item.in_python:
        problems.add(item.place, f"the argument {item.raw} has no value", "Write `name := value`.")
        return None
    found = _node(rest, dialect, problems, texts, columns) if rest else exp.null()
    if found is None:
        return None
    normalized = normalize_identifiers(found, dialect="spark")
    for identifier in normalized.find_all(exp.Identifier):
        identifier.set("quoted", not _NAME.fullmatch(identifier.name))
    text = normalized.sql(dialect="spark", comments=False)
    is_bare = isinstance(found, exp.Query) and not isinstance(found, exp.Subquery)
    if not is_bare and _is_read_again(text):
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


def _written(value: Value | None, texts: Texts) -> str | None:
    """An argument as its author wrote it; None if Python code built it from several values."""
    if value is None:
        return None
    if not value.in_python:
        return value.raw
    if (asked := _asked_for(value)) is not None:
        return asked.written
    if texts is not Texts.SQL:
        return None
    items = value.items()
    written = [each.written if each.is_string else None for each in items]
    if items == (value,):
        return written[0]
    known = [each for each in written if each is not None]
    return f"({', '.join(map(closed, known))})" if len(known) == len(written) else None


def _node(
    value: Value, dialect: str, problems: Problems, texts: Texts, columns: Collection[str]
) -> exp.Expr | None:
    if (asked := _asked_for(value)) is not None:
        return read_expression(asked, dialect, problems)
    if value.is_string and not (value.in_python and texts is Texts.SQL):
        if value.in_python and _is_doubtful(value, dialect, texts, columns):
            _refuse_doubtful(value, problems)
        return exp.Literal.string(value.written)
    items = value.items()
    if not value.in_python or items == (value,):
        return read_expression(value, dialect, problems)
    nodes = [_node(each, dialect, problems, texts, columns) for each in items]
    return exp.Tuple(expressions=[each for each in nodes if each is not None])


def _asked_for(value: Value) -> Value | None:
    """The text in ``{"sql": "..."}`` of a Python file, which is SQL; None for everything else."""
    items = value.items()
    if not value.in_python or len(items) != 1 or items == (value,):
        return None
    (item,) = items
    rest = item.rest()
    is_asked = not item.is_string and item.tokens[0].text == "sql"
    return rest if is_asked and rest is not None and rest.is_string else None


def _is_doubtful(value: Value, dialect: str, texts: Texts, columns: Collection[str]) -> bool:
    """Whether a text may be meant as SQL: it is in quotes, or it is a bound that names a column."""
    if texts is Texts.ITSELF:
        return False
    try:
        found = read_sql(value.written, dialect)
    except (*SQL_ERRORS, RecursionError):
        return False
    if isinstance(found, exp.Literal) and found.is_string:
        return True
    return (
        texts is Texts.BOUND
        and not isinstance(found, exp.Alias)
        and any(
            (isinstance(each, _COMPUTED) and not isinstance(each, exp.Connector))
            or (isinstance(each, exp.Column) and each.name.lower() in columns)
            for each in found.walk()
        )
    )


_COMPUTED: Final = (exp.Func, exp.Interval, exp.Parameter)


def _refuse_doubtful(value: Value, problems: Problems) -> None:
    literal = exp.Literal.string(value.written).sql("spark")
    message = f"{value.written!r} is a text in Python, but would be an expression in SQL"
    advice = (
        f'Write {{"sql": {value.written!r}}} for the SQL, or {{"sql": {literal!r}}} for the text.'
    )
    problems.add(value.place, message, advice)


def read_depends_on(value: Value | None, problems: Problems) -> dict[ModelName, Window | None]:
    """Parents that the model names itself, each perhaps with its window (models.md)."""
    found: dict[ModelName, Window | None] = {}
    for item in value.items() if value is not None else ():
        try:
            name = ModelName.parse(item.written if item.is_string else item.name)
        except InvalidName as error:
            problems.refuse(item.place, error)
            continue
        group = item.group()
        if not item.is_string and item.after_name() is not None and group is None:
            message = f"{item.raw} is not a parent with a window"
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
