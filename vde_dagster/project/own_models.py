"""A user's own asset as a model: what it says about its table, read as a Python model says it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import ProjectInvalid, Refused
from vde_dagster.core.model.kinds import Full, IncrementalByTimeRange
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import read_model

_TEXT: Final = """\
from vde_dagster import model

@model({name!r}, **{arguments!r})
def own_asset(context):
    raise NotImplementedError("Dagster computes it")
"""
_NOT_HERE: Final = (
    *("depends_on", "deterministic", "freshness", "late_data", "name", "pre_statements"),
    *("on_additive_change", "on_destructive_change", "post_statements", "retries", "signals"),
    *("concurrency", "stamp", "updates_on"),
)
"""Arguments of a Python model that have another place at an asset, or none."""


def own_model(
    name: ModelName, arguments: Mapping[str, object], *, version: str, defaults: Defaults
) -> Model:
    """The model that stands for an asset: its rows are what the asset returns.

    Args:
        name: The table's name.
        arguments: Those of `vde_dagster.model`; ``columns`` are required.
        version: What the rows follow from apart from data: code, upstream versions, environment.
        defaults: The project's.

    Raises:
        Refused: An argument is wrong or has no effect here; all that is wrong is named.
    """
    useless = [each for each in _NOT_HERE if each in arguments]
    if useless:
        raise Refused(f"an asset that returns rows cannot have {', '.join(useless)}")
    text = _TEXT.format(name=str(name), arguments={**arguments, "retries": 0, "stamp": version})
    source = ModelSource(path=Path("asset.py"), text=text, defaults=defaults.as_texts())
    try:
        found = read_model(source)
    except ProjectInvalid as error:
        said = "; ".join(f"{each.message} ({each.advice})" for each in error.problems)
        raise Refused(said) from error
    if not isinstance(found.kind, Full | IncrementalByTimeRange):
        raise Refused(
            f"an asset that returns rows cannot be of kind {found.kind.keyword}",
            advice="Use FULL or INCREMENTAL_BY_TIME_RANGE.",
        )
    return found
