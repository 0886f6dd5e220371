"""Formats of times that dialects and Spark write alike."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

_PARTS: Final = re.compile(r"(?:%(?:Y|m|d|H|M|S)|[-/:. ]|T)*")


SNOWFLAKE_PARTS: Final = (
    ("YYYY", "%Y"),
    ("HH24", "%H"),
    ("MM", "%m"),
    ("DD", "%d"),
    ("MI", "%M"),
    ("SS", "%S"),
)
"""Snowflake's parts of a time format that sqlglot does not translate."""
_SNOWFLAKE: Final = re.compile(r"(?:YYYY|HH24|MM|DD|MI|SS|[-/:. ])*")


def is_proven_format(text: object) -> bool:
    """Whether a format in sqlglot's codes has only numbers of fixed width and separators."""
    if not isinstance(text, exp.Literal):
        return False
    return bool(_PARTS.fullmatch(text.name) or _SNOWFLAKE.fullmatch(text.name))
