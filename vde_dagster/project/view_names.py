"""Finds models whose views in environments could be confused with those of other models.

Which names these are depends on ``environment_suffix_target``: after a schema the environment's
name is always recognized, after a model's name only if that has no double underscore itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vde_dagster.core.errors import Problem
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import SuffixTarget, ViewNaming, why_ambiguous


def ambiguous_names(models: Sequence[Model], naming: ViewNaming) -> Iterator[Problem]:
    """The models that cannot have views of their own, and the sources that have a view's name."""
    if naming.target is not SuffixTarget.TABLE:
        return
    shown = [each for each in models if each.kind.is_physical]
    for model in shown:
        if (why := why_ambiguous(model.name, naming)) is not None:
            yield Problem(
                place=model.place,
                message=f"{model.name} {why}, but its views are named like "
                f"{model.name}__dev (environment_suffix_target: table)",
                advice="Rename the model, or set environment_suffix_target to schema.",
            )
    names = {(each.name.schema, each.name.name): each.name for each in shown}
    for source in models:
        head, _, rest = source.name.name.partition("__")
        shadowed = names.get((source.name.schema, head))
        if source.kind.is_source and rest and shadowed is not None:
            yield Problem(
                place=source.place,
                message=f"the source {source.name} has the name of a view of {shadowed} in the "
                f"environment {rest} (environment_suffix_target: table)",
                advice="Rename the model, or set environment_suffix_target to schema.",
            )
