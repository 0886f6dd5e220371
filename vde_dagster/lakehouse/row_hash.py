"""The sums of row hashes under their former address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vde_dagster.core.dsha import DEFAULT_ALGORITHM, RowSum
from vde_dagster.lakehouse import digest

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def row_sums(frame: DataFrame, group: Column | None = None) -> Mapping[object, RowSum]:
    """See `vde_dagster.lakehouse.digest.row_sums`."""
    return digest.row_sums(frame, DEFAULT_ALGORITHM, group)
