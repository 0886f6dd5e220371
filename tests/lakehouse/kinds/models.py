"""The write of a kind, from the header of a model."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.writes import Write
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import read_model

NAME: Final = ModelName("m", "x")


def write_of(
    kind: str, types: Mapping[str, str], interval: Interval, *, partitioned_by: str = ""
) -> Write:
    """What evaluating an interval of a model of this kind and these columns writes."""
    selects = ", ".join(f"CAST(NULL AS {each}) AS `{name}`" for name, each in types.items())
    layout = f"partitioned_by {partitioned_by}, " if partitioned_by else ""
    text = f"MODEL (name {NAME}, kind {kind}, {layout}start '2024-01-01');\nSELECT {selects}"
    source = ModelSource(path=Path("x.sql"), text=text, defaults=Defaults().as_texts())
    node = build_graph([read_model(source)])[NAME]
    return node.write(interval, datetime.now(interval.start.tzinfo))
