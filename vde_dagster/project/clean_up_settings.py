"""What ``vde.yaml`` says about how long what nobody uses is kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from vde_dagster.core.clean_up.references import DEFAULT_TIMES, Times
from vde_dagster.core.names import PRODUCTION, InvalidName, environment_name
from vde_dagster.core.time.intervals import parse_duration
from vde_dagster.project.schedule_settings import SCHEDULE
from vde_dagster.project.yaml_document import Entry, Reader

NEVER: Final = "never"
_KEYS: Final = ("environments", "grace", "history", "runs", SCHEDULE)


def read_clean_up(entry: Entry | None, environments: Entry | None, reader: Reader) -> Times:
    """How long history, environments and dropped versions are kept.

    Args:
        entry: What is written below ``clean_up``.
        environments: What is written below ``environments``.
        reader: Collects problems.
    """
    if entry is not None:
        reader.known(entry, _KEYS, "clean_up")
    written = entry.children if entry is not None else {}
    expires = _length_or_never(written.get("environments"), DEFAULT_TIMES.environment, reader)
    return Times(
        history=length(written.get("history"), DEFAULT_TIMES.history, reader),
        environment=expires,
        environments=_own(environments, reader),
        grace=length(written.get("grace"), DEFAULT_TIMES.grace, reader),
        runs=_length_or_never(written.get("runs"), DEFAULT_TIMES.runs, reader),
    )


def _own(entry: Entry | None, reader: Reader) -> Mapping[str, timedelta | None]:
    """The times of environments that have one of their own."""
    found: dict[str, timedelta | None] = {}
    for key, child in (entry.children if entry is not None else {}).items():
        written = child.children.get("ttl")
        if written is None:
            continue
        try:
            name = environment_name(key)
        except InvalidName:  # reported with the other settings of environments
            continue
        if name == PRODUCTION:
            message = f"{PRODUCTION} has no ttl, since production never expires"
            reader.add(written.place, message, "Remove this line.")
            continue
        found[name] = _length_or_never(written, DEFAULT_TIMES.environment, reader)
    return found


def _length_or_never(
    entry: Entry | None, default: timedelta | None, reader: Reader
) -> timedelta | None:
    if entry is not None and entry.value == NEVER:
        return None
    return _read(entry, default, reader, f"or `{NEVER}`")


def length(entry: Entry | None, default: timedelta, reader: Reader) -> timedelta:
    """A length of time, or the default if none is written."""
    found = _read(entry, default, reader, "")
    assert found is not None, "there is a default"
    return found


def _read(
    entry: Entry | None, default: timedelta | None, reader: Reader, more: str
) -> timedelta | None:
    text = reader.text(entry, "")
    if entry is None or not text:
        return default
    try:
        return parse_duration(text)
    except ValueError as error:
        advice = f"Write it like `7 days` {more}".strip() + "."
        reader.add(entry.place, str(error), advice)
        return default
