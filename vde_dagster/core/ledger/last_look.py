"""What was seen when a version was last compared with what it would be computed from (rule R14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenInput:
    """One input as it was seen.

    ``table`` identifies what was read: the version of a model, or the table of a source with what
    its columns were (`vde_dagster.ports.catalog.TableState.identity`).
    ``number`` is that of the version's last change, see `vde_dagster.core.ledger.holdings.Holding`,
    or the Iceberg snapshot of the source; None for a source without any.
    """

    table: str
    number: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LastLook:
    """A look at all entries of a version. It stays true, whatever is recorded later.

    - ``definition`` identifies what the model reads and how: another one says nothing.
    - ``number`` is that of the version's own last change when the look began. Every entry that was
      there then, apart from those that overlap ``stale``, was fresh with the inputs as they were.
    - ``inputs`` are these, each as it was when the look began, or later.
    """

    definition: str
    number: int
    inputs: Mapping[ModelName, SeenInput] = field(default_factory=dict)
    stale: tuple[Interval, ...] = ()
