"""Model snapshots: one model at one fingerprint, with the version that its rows live in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from functools import cached_property

from vde_dagster.core.model.fingerprint import Fingerprint
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import (
    VERSION_LENGTH,
    ModelName,
    TableName,
    model_of,
    physical_table,
)


class Category(Enum):
    """What a change does to those who read the model (seed 000, *Change Categorization*)."""

    BREAKING = "breaking"
    NON_BREAKING = "non_breaking"
    FORWARD_ONLY = "forward_only"
    METADATA = "metadata"
    INDIRECT_BREAKING = "indirect_breaking"
    INDIRECT_NON_BREAKING = "indirect_non_breaking"


class DecidedBy(Enum):
    """Who decided: no one yet, a person, whose choice of a category wins and is recorded, or data.

    Data decides about a version: it was adopted, since all that it was computed from is equal to
    what the snapshot reads (rule R6).
    """

    AUTOMATIC = "automatic"
    PERSON = "person"
    DATA = "data"


@dataclass(frozen=True, slots=True, order=True)
class VersionKey:
    """A version of a model: the identity of a physical table, and of what the state knows of it."""

    model: ModelName
    version: str

    def __hash__(self) -> int:
        """By the version alone, which hardly two models share: states are full of these keys."""
        return hash(self.version)

    @property
    def table(self) -> TableName:
        """The physical table or view of this version."""
        return physical_table(self.model, self.version)

    def __str__(self) -> str:
        return f"{self.model}@{self.version[:8]}"


def version_of(physical: TableName) -> VersionKey | None:
    """The version whose table or view would be here; None where there would be none."""
    model = model_of(physical)
    return None if model is None else VersionKey(model, physical.name[-VERSION_LENGTH:])


@dataclass(frozen=True, slots=True, order=True)
class Revision:
    """What an environment showed after one of its promotions; the first has the number 1."""

    environment: str
    number: int

    def __str__(self) -> str:
        return f"revision {self.number} of {self.environment}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """That a version needs nothing from before an instant, and may lack what follows from that.

    It is computed as if its model began ``since``, from what is there of what that reads. No plan
    of production, and no promotion, ever takes such a version: it is shown ``instead_of`` the one
    that the snapshot has everywhere else. It ``is_preview`` if that one is kept by a forward-only
    change, and is another environment's to write (rules R9 and R11).
    """

    since: datetime
    instead_of: str
    is_preview: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelSnapshot:
    """One model at one fingerprint. Stored once, by the first plan that is applied.

    An environment may show it with another ``version`` than the one that it was stored with: with
    one that the environment had before, where that has the same rows; or with one that is
    ``bounded``.

    ``category`` is None for a model that was new; ``decided_by`` says who chose it. ``reasons``
    are for people. ``decided_from`` is the data version of the definition that a person decided
    against, empty where none was. ``drifted`` where it keeps a version whose rows are not those
    that it would compute, because a change was forward-only, or non-breaking by a decision; of a
    bounded snapshot that is said of the version in whose place it is shown.
    """

    name: ModelName
    fingerprint: Fingerprint
    version: str
    category: Category | None
    reasons: tuple[str, ...]
    source: ModelSource
    decided_by: DecidedBy = DecidedBy.AUTOMATIC
    decided_from: str = ""
    drifted: bool = False
    bounded: Bounded | None = None

    @cached_property
    def key(self) -> VersionKey:
        """The version that this snapshot writes to."""
        return VersionKey(self.name, self.version)

    @property
    def is_source(self) -> bool:
        """Whether it is a source, which the project declares and does not compute."""
        return self.source.path.suffix == ".yaml"

    @property
    def is_adopted(self) -> bool:
        """Whether data decided that it has this version (rule R6)."""
        return self.decided_by is DecidedBy.DATA

    @property
    def holds_others(self) -> bool:
        """Whether its version may have rows of earlier definitions; a bounded one has none."""
        return self.drifted and self.bounded is None

    @property
    def unbounded(self) -> ModelSnapshot:
        """The snapshot with the version that it has where nothing is bounded."""
        if self.bounded is None:
            return self
        return replace(self, version=self.bounded.instead_of, bounded=None)

    @property
    def as_stored(self) -> ModelSnapshot:
        """The snapshot as it is stored: without a version that is bounded, or that data decided.

        The latter is true only where and when the data was compared: another environment, or a
        later plan, compares it again.
        """
        found = self.unbounded
        if not found.is_adopted:
            return found
        version = found.fingerprint.version_apart
        return replace(found, version=version, decided_by=DecidedBy.AUTOMATIC)
