"""Columns as the catalog knows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as the catalog knows it. ``type`` is Spark's simple name, for example ``bigint``."""

    name: str
    type: str
    description: str = ""
