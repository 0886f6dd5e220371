"""What is said about a table that an edit keeps: that it is kept, and what of it may change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePath

from vde_dagster.core.model.column_rules import (
    DEFAULT_COLUMN_RULES,
    ON_ADDITIVE_CHANGE,
    ON_DESTRUCTIVE_CHANGE,
    ColumnRules,
    OnChange,
)
from vde_dagster.core.model.kinds import Kind
from vde_dagster.core.model.patterns import ModelPattern
from vde_dagster.core.names import ModelName
from vde_dagster.project.defaults import FORWARD_ONLY, Defaults
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.values import read_choice, read_options


def read_forward_only(
    values: Mapping[str, Value],
    kind: Kind | None,
    defaults: Defaults,
    *,
    name: ModelName,
    tags: Collection[str],
    path: PurePath,
) -> bool:
    """Whether a pattern of the project makes a model forward-only.

    It is one of a table that is loaded again, and the option of its kind says nothing else.
    """
    if not defaults.forward_only or kind is None or not kind.is_loaded_again:
        return False
    if FORWARD_ONLY in _options_of(values.get("kind")):
        return False  # the kind has what was said
    patterns = (ModelPattern.parse(e, catalog=defaults.catalog) for e in defaults.forward_only)
    return any(each is not None and each.means(name, tags, path) for each in patterns)


def read_column_rules(
    values: Mapping[str, Value], kind: Kind | None, problems: Problems
) -> ColumnRules:
    """What a model says about columns of its table while that is kept.

    They are properties of a model of any kind whose table is loaded again; an incremental kind
    takes them as its options, too, which is where SQLMesh has them.
    """
    usual = DEFAULT_COLUMN_RULES
    return ColumnRules(
        destructive=_rule(ON_DESTRUCTIVE_CHANGE, values, kind, problems) or usual.destructive,
        additive=_rule(ON_ADDITIVE_CHANGE, values, kind, problems) or usual.additive,
    )


def _rule(
    name: str, values: Mapping[str, Value], kind: Kind | None, problems: Problems
) -> OnChange | None:
    own, option = values.get(name), _options_of(values.get("kind")).get(name)
    value = own or option
    if value is None:
        return None
    if own is not None and option is not None:
        message = f"{name} is given twice, also as an option of the kind"
        problems.add(own.place, message, "Remove one.")
    if kind is not None and not kind.is_loaded_again:
        message = (
            f"{name} has no effect on a model of kind {kind.keyword}, which has no table that an "
            "edit keeps"
        )
        problems.reject(value.place, message, "Leave it out.")
        return None
    return read_choice(value, name, OnChange, problems)


def _options_of(kind: Value | None) -> Mapping[str, Value]:
    """The options of a kind as they are written; what is wrong with them is reported elsewhere."""
    if kind is None:
        return {}
    return dict(read_options(kind.unquoted().group() or (), Problems()))
