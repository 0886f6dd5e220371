"""The tables of tags and metadata keys in Dagster, from the sentences of `keys`."""

from __future__ import annotations

from docs_site.reference_tables import texts_below
from docs_site.tables import table
from vde_dagster.orchestration import keys


def dagster_keys(name: str) -> str:
    """The table of a class of keys: each key, what has it, and its value."""
    owner = getattr(keys, name)
    texts = texts_below(owner).items()
    rows = [(f"`{getattr(owner, field)}`", *text.split(": ", 1)) for field, text in texts]
    return table([("tag" if name.endswith("Tag") else "key"), "on", "value"], rows)
