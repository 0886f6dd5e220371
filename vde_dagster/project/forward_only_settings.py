"""The patterns of ``forward_only`` in ``vde.yaml``: which models are forward-only in every plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.patterns import ModelPattern
from vde_dagster.core.sql.unresolved import guess
from vde_dagster.project.yaml_document import Entry, Reader

_FORMS: Final = "a name (mart.revenue), a pattern (mart.*), tag:NAME or path:FILE"


def read_patterns(entry: Entry | None, catalog: str, reader: Reader) -> dict[str, Place]:
    """The patterns as they are written, each with its place; those that are none are problems."""
    found: dict[str, Place] = {}
    if entry is not None and entry.children:
        reader.add(entry.place, "forward_only is a list of patterns", f"Write {_FORMS} in each.")
        return found
    for each in _listed(entry):
        text = each.value
        if not isinstance(text, str) or each.tag != "str":
            shown = repr(text) if text is not None else "a list"
            message = f"forward_only is a list of patterns, and {shown} is none"
            reader.add(each.place, message, f"Write {_FORMS}; '*' means every model.")
        elif ModelPattern.parse(text, catalog=catalog) is None:
            message = f"{text!r} in forward_only means no models"
            reader.add(each.place, message, f"Write {_FORMS}.")
        else:
            found[text] = each.place
    return found


def _listed(entry: Entry | None) -> Sequence[Entry]:
    if entry is None:
        return ()
    return (entry,) if entry.value is not None else entry.items


def unused_patterns(
    patterns: Mapping[str, Place], models: Sequence[Model], catalog: str
) -> Iterator[Problem]:
    """The patterns that make no model forward-only, with why.

    Args:
        patterns: As `read_patterns` gives them.
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
