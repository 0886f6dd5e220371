"""Files and folders of this machine in settings: relative ones are in the project's folder.

A database that depended on where a command is started would be another one for a terminal than for
Dagster, and each would take the other one's tables for nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_FILE_OF_SQLITE: Final = re.compile(
    r"(?P<scheme>sqlite(\+\w+)?:///)(?!/|:memory:|file:|[A-Za-z]:)(?P<file>[^?]+)(?P<options>\?.*)?"
)


def address_in(folder: Path, address: str) -> str:
    """A database's address, with the absolute path of a SQLite file.

    Args:
        folder: The project's, absolute.
        address: One in SQLAlchemy's form; any but those of a relative SQLite file is returned.
    """
    found = _FILE_OF_SQLITE.fullmatch(address)
    if found is None:
        return address
    return f"{found['scheme']}{folder / found['file']}{found['options'] or ''}"


def catalog_in(folder: Path, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a catalog in a database, with the absolute paths of its file and warehouse.

    Args:
        folder: The project's, absolute.
        properties: pyiceberg's own.
    """
    found = dict(properties)
    if "uri" in found:
        found["uri"] = address_in(folder, found["uri"])
    if _is_relative(found.get("warehouse", "")):
        found["warehouse"] = str(folder / found["warehouse"])
    return found


def _is_relative(place: str) -> bool:
    """Whether a place has no scheme, as ``s3://`` or ``file:``, and does not begin at the root."""
    return bool(place) and ":" not in place and not Path(place).is_absolute()
