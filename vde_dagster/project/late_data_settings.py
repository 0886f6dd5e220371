"""What ``vde.yaml`` says about late data: where sessions and high-water marks are listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vde_dagster.core.names import InvalidName, ModelName, TableName
from vde_dagster.project.problems import message_and_advice
from vde_dagster.project.yaml_document import Entry, Reader

_SESSIONS: Final = "sessions_table"
_MARKS: Final = "high_watermarks_table"
_DEFAULT_SESSIONS: Final = TableName("vde_meta", "late_sessions")
_DEFAULT_MARKS: Final = TableName("vde_meta", "high_watermarks")


@dataclass(frozen=True, slots=True, kw_only=True)
class LateDataSettings:
    """The tables in the project's catalog in which people query sessions and marks."""

    sessions: TableName = _DEFAULT_SESSIONS
    marks: TableName = _DEFAULT_MARKS


def read_late_data(entry: Entry | None, catalog: str, reader: Reader) -> LateDataSettings:
    """The names of the tables, with what is wrong with them reported.

    Args:
        entry: What is written below ``late_data``.
        catalog: The name of the project's catalog.
        reader: Collects problems.
    """
    default = LateDataSettings()
    if entry is None:
        return default
    reader.known(entry, (_MARKS, _SESSIONS), "late_data")
    written = dict(_names(entry, catalog, reader))
    found = LateDataSettings(
        sessions=written.get(_SESSIONS, default.sessions), marks=written.get(_MARKS, default.marks)
    )
    if found.sessions == found.marks:
        message = f"sessions and high-water marks cannot both be listed in {found.marks}"
        reader.add(entry.place, message, "Name two tables.")
    return found


def _names(entry: Entry, catalog: str, reader: Reader) -> Iterator[tuple[str, TableName]]:
    for key in (_SESSIONS, _MARKS):
        text = reader.text(entry.children.get(key), "")
        if not text:
            continue
        place = entry.children[key].place
        try:
            name = ModelName.parse(text).within(catalog)
        except InvalidName as error:
            reader.add(place, *message_and_advice(error))
            continue
        if name.catalog:
            message = f"{name} is in another catalog than the project's, {catalog}"
            reader.add(place, message, "Name a table of the project's catalog.")
            continue
        yield key, TableName(name.schema, name.name)
