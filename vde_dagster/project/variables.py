"""The variables of a project or of a unit test, as its YAML file gives them."""

from __future__ import annotations

import re
from typing import Final

from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.project.yaml_document import Entry, Reader

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")


def read_variables(entry: Entry | None, reader: Reader) -> dict[str, object]:
    """Variables for macros and Python models: texts, numbers, flags, lists and nothing."""
    if entry is not None and not entry.is_mapping:
        reader.add(entry.place, "variables is a mapping of names to values", "Write `name: value`.")
        return {}
    found: dict[str, object] = {}
    for key, child in (entry.children if entry else {}).items():
        name = key.lower()
        if not _NAME.fullmatch(name) or name in TIME_MACROS:
            message = f"{key!r} is no name of a variable"
            reader.add(child.place, message, "Use letters, digits and _, and no time macro's name.")
        elif name in found:
            reader.add(child.place, f"the variable {name!r} is given twice", "Remove one of them.")
        else:
            found[name] = reader.plain(child)
            if (inner := _mapping_in(child)) is not None:
                advice = "Give each of its values a name of its own, or write a list."
                reader.add(inner.place, f"the variable {name!r} has a mapping in it", advice)
    return found


def _mapping_in(entry: Entry) -> Entry | None:
    """The first mapping in a value: nothing that a macro could put in a query."""
    if entry.tag == "map":
        return entry
    return next(filter(None, map(_mapping_in, entry.items)), None)
