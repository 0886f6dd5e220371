"""The types of single settings in ``vde.yaml``: how each is read, and what is said of others."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, cast, dataclass_transform

from pydantic import BeforeValidator, ConfigDict, PlainValidator
from pydantic.dataclasses import dataclass

from vde_dagster.core.connect_address import ConnectAddress
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.dsha import ALGORITHMS
from vde_dagster.core.names import ModelName, environment_name
from vde_dagster.core.time.cron import Cron
from vde_dagster.core.time.intervals import parse_duration, parse_instant
from vde_dagster.project.machine import user
from vde_dagster.runtime.secrets import Secret

T = TypeVar("T")
NEVER: Final = "never"
NAME_ADVICE: Final = "Add a line like `name: my_project`."
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_SIZE: Final = re.compile(r"([0-9]{1,6}) ?(MB|GB)")
_UNITS: Final = {"MB": 1_000_000, "GB": 1_000_000_000}


@dataclass_transform(kw_only_default=True, frozen_default=True)
def section(cls: type[T]) -> type[T]:
    """A class whose fields are the keys of a mapping in ``vde.yaml``, and no others."""
    config = ConfigDict(extra="forbid", hide_input_in_errors=True, arbitrary_types_allowed=True)
    checked: Any = dataclass(frozen=True, slots=True, kw_only=True, config=config)(cls)
    return cast("type[T]", checked)


class InvalidSetting(Refused, ValueError):
    """A text is not a value of a setting; the advice says what to write."""


def written_as(read: Callable[[str], object], advice: str = "") -> PlainValidator:
    """A setting that is one value, read from its text.

    Args:
        read: Raises a ValueError with what is wrong; nothing of a secret is in it.
        advice: What to write instead, unless the error says it itself.
    """

    def validate(written: object) -> object:
        if not isinstance(written, str):
            raise InvalidSetting("a single value is expected here", advice="Write `key: value`.")
        try:
            return read(written)
        except Refused:
            raise
        except (ValueError, OverflowError) as error:
            raise InvalidSetting(str(error), advice=advice) from None

    return PlainValidator(validate)


def _remote(address: str) -> Secret | None:
    if not address:
        return None
    try:
        ConnectAddress.parse(address)
    except ValueError as error:
        raise ValueError(f"spark.remote is no address of a Spark Connect server: {error}") from None
    return Secret(address)


def _age(text: str) -> timedelta | Literal["never"]:
    return NEVER if text == NEVER else parse_duration(text)


def _orphan_age(text: str) -> timedelta:
    if (age := parse_duration(text)) < timedelta(hours=1):
        raise InvalidSetting(
            "orphans is less than an hour: files that are being written would be removed",
            advice="Write what every commit takes less than, as `3 days`.",
        )
    return age


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None or not int(found[1]):
        raise ValueError(f"file_size is a number of MB or GB, and not {text!r}")
    return int(found[1]) * _UNITS[found[2]]


def _start(text: str) -> datetime:
    try:
        return parse_instant(text)
    except ValueError:
        raise ValueError("start is no date") from None


def _pool(text: str) -> str | None:
    if re.search(r"\s", text):
        raise ValueError(f"Dagster has no pool named {text!r}")
    return text or None


def _algorithm(text: str) -> str:
    if text not in ALGORITHMS:
        raise ValueError(f"no D-SHA is computed with {text!r}")
    return text


def _filled_in(text: str) -> str:
    """An environment's name, with who works here for ``{user}``."""
    unknown = [f"{{{name}}}" for name in _PLACEHOLDER.findall(text) if name != "user"]
    if unknown or re.search(r"[{}]", _PLACEHOLDER.sub("", text)):
        what = ", ".join(unknown) or "a single brace"
        raise ValueError(f"{what} stands for nothing in default_environment")
    return environment_name(text.replace("{user}", user()))


def _empty(written: object) -> object:
    return {} if written is None else written


def _several(written: object) -> object:
    return (written,) if isinstance(written, str) else written or ()


EMPTY: Final = BeforeValidator(_empty)
"""A key with nothing behind it is a mapping without keys."""
SEVERAL: Final = BeforeValidator(_several)
"""A list, or the only value of one."""

Text: TypeAlias = Annotated[str, written_as(str)]
OptionalText: TypeAlias = Annotated[str | None, written_as(lambda text: text or None)]
Pool: TypeAlias = Annotated[str | None, written_as(_pool, "Write it without spaces.")]
Algorithm: TypeAlias = Annotated[
    str, written_as(_algorithm, f"Use one of {', '.join(ALGORITHMS)}.")
]
Instant: TypeAlias = Annotated[datetime | None, written_as(_start, "Write it like 2024-01-31.")]
Duration: TypeAlias = Annotated[timedelta, written_as(parse_duration, "Write it like `7 days`.")]
Age: TypeAlias = Annotated[
    timedelta | Literal["never"], written_as(_age, f"Write it like `7 days` or `{NEVER}`.")
]
"""A length of time, or for ever."""
OrphanAge: TypeAlias = Annotated[timedelta, written_as(_orphan_age, "Write it like `7 days`.")]
FileSize: TypeAlias = Annotated[int, written_as(_size, "Write it like `128 MB`.")]
Schedule: TypeAlias = Annotated[
    str | None, written_as(lambda text: Cron.parse(text).text if text else None)
]
Table: TypeAlias = Annotated[ModelName, written_as(ModelName.parse)]
EnvironmentName: TypeAlias = Annotated[str, written_as(environment_name)]
DefaultEnvironment: TypeAlias = Annotated[
    str, written_as(_filled_in, "Known: {user}, as in `default_environment: dev_{user}`.")
]
Remote: TypeAlias = Annotated[
    Secret | None,
    written_as(
        _remote,
        "Write sc://host:port, with parameters behind it as in sc://host:port/;use_ssl=true.",
    ),
]
Address: TypeAlias = Annotated[
    Secret | None, written_as(lambda text: Secret(text) if text else None)
]
"""A database's, with a password in it."""
