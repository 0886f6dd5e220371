"""The patterns of ``forward_only`` in ``vde.yaml``: which models are forward-only in every plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.patterns import ModelPattern
from vde_dagster.core.sql.unresolved import guess


def unused_patterns(
    patterns: Mapping[str, Place], models: Sequence[Model], catalog: str
) -> Iterator[Problem]:
    """The patterns that make no model forward-only, with why.

    Args:
        patterns: Those in ``vde.yaml``, each with its place.
        models: All models of the project.
        catalog: The project's own.
    """
    own = [each for each in models if not each.kind.is_source]
    for text, place in patterns.items():
        pattern = ModelPattern.parse(text, catalog=catalog)
        assert pattern is not None, "it was read before"
        meant = [each for each in own if pattern.means(each.name, each.tags, each.source.path)]
        if any(each.kind.is_loaded_again for each in meant):
            continue
        if meant:
            kinds = ", ".join(sorted({each.kind.keyword for each in meant}))
            message = f"{text!r} in forward_only means only models of kind {kinds}"
            advice = "They have no table that an edit keeps, so take it out."
        else:
            message = f"{text!r} in forward_only means no model of this project"
            advice = f"{guess(text, _names(own))}Correct it, or take it out."
        yield Problem(place=place, message=message, advice=advice)


def _names(models: Sequence[Model]) -> list[str]:
    """Everything that a pattern may name."""
    return [
        *(str(each.name) for each in models),
        *dict.fromkeys(f"tag:{tag}" for each in models for tag in each.tags),
        *(f"path:{each.source.path.as_posix()}" for each in models),
    ]
