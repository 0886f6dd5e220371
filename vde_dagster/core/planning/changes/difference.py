"""How a model differs between two graphs: the vocabulary of plans and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from vde_dagster.core.model.snapshot import Category, DecidedBy
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.reason_values import Reason

__all__ = ["Change", "DecidedBy", "Difference", "Rules"]


class Change(Enum):
    """Which part of a model's fingerprint changed (seed 000, *Fingerprinting*)."""

    ADDED = "added"
    REMOVED = "removed"
    DIRECT = "direct"
    INDIRECT = "indirect"
    METADATA = "metadata"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How changes are judged.

    ``strict_columns`` makes it breaking to remove or change a column that no model reads, since
    readers outside of the project may. ``forward_only`` lets every direct change keep the version
    that there is, where the kinds allow it. ``decisions`` are the categories that a person chose
    for directly modified models: BREAKING, NON_BREAKING or FORWARD_ONLY. ``settled`` are models
    whose version follows from a snapshot that is stored: True where it is the one that is shown.
    Those of them that are ``equal`` have it because its rows are those of both definitions.
    ``drifted`` are models whose version holds rows that its definition would not give: computing
    one again changes all of its rows.
    """

    strict_columns: bool = False
    forward_only: bool = False
    decisions: Mapping[ModelName, Category] = field(default_factory=dict)
    settled: Mapping[ModelName, bool] = field(default_factory=dict)
    equal: frozenset[ModelName] = frozenset()
    drifted: frozenset[ModelName] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How one model differs, and what follows.

    ``category`` is None for models that are added, removed or unchanged. ``undecidable`` is True
    where the category was not concluded from what the change means, but taken as breaking because
    that is not known. ``rebuild`` says whether the model's rows are computed again.
    ``columns_changed`` are the model's columns that are added, removed, or may have other values,
    by their names before or after, in order; all of them where the rows may change.
    ``drifted`` where a version is kept whose rows are not those that would be computed now.
    """

    name: ModelName
    change: Change
    category: Category | None = None
    reasons: tuple[Reason, ...] = ()
    decided_by: DecidedBy = DecidedBy.AUTOMATIC
    undecidable: bool = False
    rebuild: bool = False
    columns_changed: tuple[str, ...] = ()
    drifted: bool = False

    @property
    def keeps_rows(self) -> bool:
        """Whether the rows that were there are those that would be computed now.

        A model that drifted before and did not change itself keeps rows as good as they were.
        """
        if self.category is Category.INDIRECT_NON_BREAKING:
            return not self.drifted
        return self.change is Change.NONE or self.category is Category.METADATA
