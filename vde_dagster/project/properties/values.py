"""Converts the text of a property to a typed value, and reports what does not fit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Final, TypeVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.dialects import read_sql
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.time.intervals import parse_duration, parse_instant
from vde_dagster.project.defaults import SUPPORTED_DIALECTS, is_dialect
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties.model_block import BRACKETS, Value

E = TypeVar("E", bound=Enum)
_FLAGS: Final = {"true": True, "false": False}
_WORD: Final = re.compile(r"[^\W\d]\w*")


def read_flag(value: Value, what: str, problems: Problems, *, default: bool) -> bool:
    """``true`` or ``false``. ``what`` names the property or option, here and below."""
    found = _FLAGS.get(value.written.lower())
    if found is None:
        message = f"{what} {value.written!r} is neither true nor false"
        problems.add(value.place, message, "Write true or false.")
        return default
    return found


def read_count(
    value: Value, what: str, problems: Problems, *, least: int, most: int = 10**9 - 1
) -> int | None:
    """A whole number within bounds; None (and a problem) for everything else."""
    text = value.written
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else -1
    if not least <= number <= most:
        bounds = f"{least} to {most}" if most <= 1000 else f"at least {least}"
        message = f"{what} {text!r} is not a whole number of {bounds}"
        problems.add(value.place, message, f"Write, for example, {max(least, 1)}.")
        return None
    return number


def read_choice(value: Value, what: str, choices: type[E], problems: Problems) -> E | None:
    """A member of an enumeration by its value."""
    word = value.written.lower()
    found = next((each for each in choices if each.value == word), None)
    if found is None:
        known = [str(each.value) for each in choices]
        message = f"{what} {value.written!r} is not a known value"
        problems.add(value.place, message, suggestion(word, known))
    return found


def read_duration(value: Value, what: str, problems: Problems) -> timedelta | None:
    """A length of time such as ``'7 days'``."""
    try:
        return parse_duration(value.written)
    except (ValueError, OverflowError):
        message = f"{what} {value.written!r} is not a length of time"
        problems.add(value.place, message, "Write it like '7 days' or '1 hour'.")
        return None


def read_start(value: Value, problems: Problems, *, what: str = "start") -> datetime | None:
    """An instant; a date is its midnight in UTC."""
    try:
        return parse_instant(value.written)
    except ValueError:
        message = f"{what} {value.written!r} is not a date"
        problems.add(value.place, message, "Write it like '2024-01-31'.")
        return None


def read_end(value: Value, problems: Problems) -> datetime | None:
    """An exclusive end; a date means the whole day (seed 001)."""
    found = read_start(value, problems, what="end")
    day = found is not None and len(value.written.strip()) <= len("2024-01-31")
    try:
        return found + timedelta(days=1) if found is not None and day else found
    except OverflowError:
        message = f"end {value.written!r} is after the last possible date"
        problems.add(value.place, message, "Leave it out for no end.")
        return None


def read_dialect(value: Value | None, default: str, problems: Problems) -> str:
    """A dialect that SQL may be written in."""
    if value is None:
        return default
    if not is_dialect(value.written):
        problems.add(value.place, f"unknown dialect {value.written!r}", SUPPORTED_DIALECTS)
        return default
    return value.written.lower()


def read_name(value: Value, problems: Problems) -> ModelName | None:
    """The name of a model or source."""
    try:
        return ModelName.parse(value.written)
    except InvalidName as error:
        problems.refuse(value.place, error)
        return None


def read_text(value: Value, what: str, problems: Problems) -> str:
    """A text in quotes, or words without any; empty (and a problem) for a list."""
    bracketed = any(token.token_type in BRACKETS for token in value.tokens)
    strings = [token for token in value.tokens if token.token_type is TokenType.STRING]
    if bracketed or (strings and len(value.tokens) > 1):
        problems.add(
            value.place, f"{what} has to be one text, not {value.raw}", "Write it in quotes."
        )
        return ""
    return value.written


def read_words(value: Value | None, what: str, problems: Problems) -> tuple[str, ...]:
    """The texts of a list, or a single word; each once."""
    words: dict[str, None] = {}
    for item in value.items() if value is not None else ():
        if item.is_word and item.written.strip():
            words[item.written.strip()] = None
        else:
            message = f"{what} {item.raw} is not a single word"
            problems.add(
                item.place, message, "Put commas between words, and quote text with spaces."
            )
    return tuple(words)


def read_columns_of(value: Value, what: str, problems: Problems) -> tuple[str, ...]:
    """Names of columns, in lower case."""
    names: list[str] = []
    for item in value.items():
        name = column_name(item)
        if name is not None:
            names.append(name)
        else:
            message = f"{what} {item.written!r} is not a valid column name"
            problems.add(item.place, message, "Write only the name, such as `order_id`.")
    return tuple(names)


def read_column(value: Value, what: str, problems: Problems) -> str | None:
    """The name of the one column that is given; the first where there are several."""
    names = read_columns_of(value, what, problems)
    if len(value.items()) != 1:
        message = f"{what} has to be one column, not {len(value.items())}"
        problems.add(value.place, message, f"Write `{what} column`.")
    return names[0] if names else None


def column_name(value: Value) -> str | None:
    """The name of a column, in lower case; None for everything else."""
    tokens = value.unquoted().tokens
    if len(tokens) != 1:
        return None
    named = tokens[0].token_type is TokenType.IDENTIFIER or _WORD.fullmatch(tokens[0].text)
    return tokens[0].text.lower() if named else None


def read_expression(value: Value, dialect: str, problems: Problems) -> exp.Expr | None:
    """An expression in a dialect; None (and a problem) if it does not parse."""
    try:
        return read_sql(value.sql, dialect)
    except (*SQL_ERRORS, RecursionError):
        note_unreadable(value, problems)
        return None


def note_unreadable(value: Value, problems: Problems) -> None:
    """Note that a value is not an expression."""
    message = f"{value.sql!r} is not a SQL expression"
    problems.add(value.place, message, "Check the SQL against the model's dialect.")


def check_known(
    given: Iterable[tuple[str, Value]], known: Iterable[str], what: str, problems: Problems
) -> dict[str, Value]:
    """Options by name, without unknown and repeated ones (both are problems)."""
    options = tuple(known)
    found: dict[str, Value] = {}
    for key, value in given:
        if key not in options:
            advice = suggestion(key, options) if options else "It takes no options."
            problems.add(value.place, f"{what} has no option {key!r}", advice)
        elif key in found:
            problems.add(value.place, f"the option {key!r} is given twice", "Remove one.")
        else:
            found[key] = value
    return found


def read_options(items: Iterable[Value], problems: Problems) -> list[tuple[str, Value]]:
    """``key value`` items as pairs, the keys in lower case."""
    pairs: list[tuple[str, Value]] = []
    for item in items:
        rest = item.rest()
        if rest is None:
            message = f"the option {item.raw} has no value"
            problems.add(item.place, message, f"Write `{item.raw} ...`.")
        else:
            pairs.append((item.tokens[0].text.lower(), rest))
    return pairs


def written_value(key: str, value: object, *, path: Path, line: int) -> Value:
    """A Python object as the value of a property, at a line of a file.

    Lists become ``(a, b)``, mappings ``(key value, ...)``, a name with a mapping of its options
    ``name (key value, ...)``. A text is a string, which stands for what is in it.

    Raises:
        TypeError: The object has no such form.
        ValueError: A number in it is too large, or a text has half a character.
    """
    form = _item(value) if isinstance(value, tuple) else _form(value)
    form.encode()
    text = "\n" * (line - 1) + f"{key} {form}"
    return Value(tokens=tuple(Dialect.get_or_raise("").tokenize(text)), text=text, path=path)


def _form(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            raise TypeError(f"{value} is not a finite number")
        case int() | float():
            return repr(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case date():  # an instant, too
            return f"'{value.isoformat()}'"
        case Mapping():
            return f"({', '.join(_pair(key, each) for key, each in value.items())})"
        case Sequence() if not isinstance(value, bytes | bytearray):
            return f"({', '.join(map(_item, value))})"
        case _:
            raise TypeError(f"a {type(value).__name__} is not a text, number, list or mapping")


def _pair(key: object, value: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{key!r} is not an option name")
    return _word(key) if value is None else f"{_word(key)} {_form(value)}"


def _item(value: object) -> str:
    """An item of a list; ``{"name": n, ...}`` and ``(n, {...})`` are a name with its options."""
    match value:
        case Mapping() if "name" in value:
            options = {key: each for key, each in value.items() if key != "name"}
            return _named(value["name"], options)
        case (str() as name, Mapping() as options):
            return _named(name, options)
        case _:
            return _form(value)


def _named(name: object, options: Mapping[str, object]) -> str:
    """A name with its options, as in ``NAME (key value)``."""
    if not isinstance(name, str):
        raise TypeError(f"a name has to be a text, not a {type(name).__name__}")
    return f"{_word(name)} {_form(options)}" if options else _word(name)


def _word(text: str) -> str:
    return text if _WORDS.fullmatch(text) else '"' + text.replace('"', '""') + '"'


_WORDS: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
