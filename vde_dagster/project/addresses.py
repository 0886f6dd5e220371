"""Whether settings name a database and a catalog that there are, told at their lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from vde_dagster.project.local_places import address_in
from vde_dagster.project.yaml_document import Entry, Reader

_STATES: Final = re.compile(r"(sqlite|postgresql)(\+\w+)?:")
_CATALOGS: Final = ("bigquery", "dynamodb", "glue", "hive", "in-memory", "rest", "sql")
"""pyiceberg's own names (`pyiceberg.catalog.CatalogType`), without importing it."""


def state_address(entry: Entry | None, folder: Path, reader: Reader) -> str:
    """The address of the state, with an absolute path; empty where none is written.

    One that begins like no address of a state is reported, unless it is from outside of the file:
    whoever opens it says what is wrong without showing it.
    """
    address = address_in(folder, reader.text(entry, ""))
    if entry is not None and address and not (entry.from_outside or _STATES.match(address)):
        message = "this is not the address of a database that can hold the state"
        reader.add(entry.place, message, "Write sqlite:///FILE.db or postgresql://USER@HOST/NAME.")
    return address


def check_catalog_type(properties: Entry | None, reader: Reader) -> None:
    """Report a type of catalog that pyiceberg does not know."""
    entry = properties.children.get("type") if properties is not None else None
    written = reader.text(entry, "").lower()
    if entry is not None and written and written not in _CATALOGS:
        message = f"there is no type of catalog named {written!r}"
        reader.add(entry.place, message, f"Write one of {', '.join(_CATALOGS)}.")
