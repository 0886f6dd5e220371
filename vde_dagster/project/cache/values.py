"""Values of the core as JSON in the cache: by their declared types, so that no class is named.

Only what differs from its default is written.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import Final

from sqlglot import exp

from vde_dagster.core.codec import Codec
from vde_dagster.core.json_forms import Plain, form, known_name
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.meaning.parts import Read
from vde_dagster.project.cache.trees import Unkept, plain_of, tree_of


@lru_cache(maxsize=65_536)
def _text_of(name: ModelName) -> str:
    """A name as a text that reads as this name again; impossible if a part has a dot inside."""
    text = str(name)
    if text.count(".") not in (1, 2) or known_name(text) != name:
        raise Unkept(text)
    return text


def _read_of(found: tuple[str, str]) -> Read:
    name, column = found
    return Read(known_name(name), column)


def _duration(time: timedelta) -> list[Plain]:
    return [time.days, time.seconds, time.microseconds]


def _timedelta(found: tuple[int, int, int]) -> timedelta:
    days, seconds, microseconds = found
    return timedelta(days, seconds, microseconds)


CODEC: Final = Codec(
    forms={
        exp.Expr: form(plain_of, tree_of),
        ModelName: form(_text_of, known_name),
        Read: form(lambda read: [_text_of(read.model), read.column], _read_of),
        bytes: form(bytes.hex, bytes.fromhex),
        timedelta: form(_duration, _timedelta),
    },
    left_out={Model: ("source", "body")},
    is_checked=False,
    is_sparse=True,
)
"""What is read was written by the same code, and its checksum is right."""
