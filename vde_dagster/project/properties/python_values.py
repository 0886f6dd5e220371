"""Python objects written as the values of a MODEL block, so that both are read by the same code."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Final

from sqlglot.dialects.dialect import Dialect

from vde_dagster.project.properties.model_block import Value

_MOST_BITS: Final = 1024  # far more than any column can have; Python refuses to write huge ones


def written_value(key: str, value: object, *, path: Path, line: int) -> Value:
    """A Python object as the value of a property, at a line of a file.

    Lists become ``(a, b)``, mappings ``(key value, ...)``, a name with a mapping of its options
    ``name (key value, ...)``. A text is a string, which stands for what is in it.

    Raises:
        TypeError: The object has no such form.
    """
    form = _item(value) if isinstance(value, tuple) else _form(value)
    try:
        form.encode()
    except UnicodeEncodeError:
        raise TypeError("a text in it has a surrogate, which is half a character") from None
    text = "\n" * (line - 1) + f"{key} {form}"
    return Value(tokens=tuple(Dialect.get_or_raise("").tokenize(text)), text=text, path=path)


def _form(value: object) -> str:  # noqa: PLR0911 - one line for each form
    match value:
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() <= _MOST_BITS:
            return repr(value)
        case int():
            raise TypeError(f"a number of {value.bit_length()} bits is too large")
        case float() if math.isfinite(value):
            return repr(value)
        case float():
            raise TypeError(f"{value} is no finite number")
        case str():
            return "'" + value.replace("'", "''") + "'"
        case date():  # an instant, too
            return f"'{value.isoformat()}'"
        case Mapping():
            return f"({', '.join(_pair(key, each) for key, each in value.items())})"
        case Sequence() if not isinstance(value, bytes | bytearray):
            return f"({', '.join(map(_item, value))})"
        case _:
            raise TypeError(f"a {type(value).__name__} is no text, number, list or mapping")


def _pair(key: object, value: object) -> str:
    if not isinstance(key, str):
        small = isinstance(key, int) and key.bit_length() <= _MOST_BITS
        shown = repr(key) if small else f"a {type(key).__name__}"
        raise TypeError(f"{shown} is no name of an option")
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
        raise TypeError(f"a name is a text, and not a {type(name).__name__}")
    return f"{_word(name)} {_form(options)}" if options else _word(name)


def _word(text: str) -> str:
    return text if _WORDS.fullmatch(text) else '"' + text.replace('"', '""') + '"'


_WORDS: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
