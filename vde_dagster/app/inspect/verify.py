"""Computing D-SHAs from storage again, and comparing them with what was recorded (seed 002).

It finds rows that were lost or changed by other programs. It does not protect against deliberate
tampering.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.parent_ledgers import with_heads
from vde_dagster.app.publish.foreign_writes import damage_text, head_damage, readable
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.damage import Unreadable
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.verification import (
    Mismatch,
    Portion,
    as_one,
    compare_intervals,
    compare_whole,
    portions,
)
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.ports.engine import Sought


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was found in one version. ``rows`` counts the rows that were read.

    If another program wrote to the table since it was recorded, ``foreign_write`` says so, with
    advice.
    """

    key: VersionKey
    rows: int
    entries: int
    mismatches: tuple[Mismatch, ...]
    missing_table: bool = False
    foreign_write: str = ""

    @property
    def holds(self) -> bool:
        """Whether everything that could be compared is as recorded, and readers see it."""
        return not (self.mismatches or self.missing_table or self.foreign_write)


def verify(
    services: Services, binding: Binding, names: Sequence[ModelName] | None = None
) -> Iterator[Verified]:
    """Compare the tables of models with the ledger, one after the other.

    Each is compared with what is recorded at that moment, and read at the Iceberg snapshot at
    which that is true, so units of work may publish meanwhile. Writes of other programs are
    reported too, since readers see them. Models that store no rows, or are not loaded yet, are
    skipped.

    Args:
        services: The ports.
        binding: The versions.
        names: The models; None for all of the environment.

    Raises:
        Refused: The environment has no model of a name.
        EvaluationFailed: A table cannot be read.
    """
    nodes = list(binding.graph) if names is None else [binding.node(name) for name in names]
    stored = [node for node in nodes if node.model.kind.stores_rows]
    for node in stored:
        key = binding.key(node.name)
        read = partial(services.state.entries_within, key, None)
        entries, heads = with_heads(services.state, [key], read)
        if entries:
            yield _verified(services, node, key, entries, heads.get(key))


def _verified(
    services: Services,
    node: Node,
    key: VersionKey,
    entries: tuple[LedgerEntry, ...],
    recorded: int | None,
) -> Verified:
    damage = head_damage(services, key, recorded)
    foreign = damage_text(services, key, damage) if damage is not None else ""
    without_rows = Verified(key=key, rows=0, entries=len(entries), mismatches=())
    if isinstance(damage, Unreadable):
        return replace(without_rows, foreign_write=foreign)
    if services.catalog.table(key.table) is None:
        return replace(without_rows, missing_table=True)
    known = portions(entries)
    if node.model.kind.is_sequential:
        known = as_one(known)
    snapshot, rows = readable(services, key, recorded), 0
    if foreign and snapshot is not None and not services.catalog.retains(key.table, snapshot):
        return replace(without_rows, foreign_write=foreign)
    mismatches: list[Mismatch] = []
    for portion in known:
        counted, found = _compared(services, node, key, portion, snapshot, whole=len(known) == 1)
        rows += counted
        mismatches += found
    return Verified(
        key=key,
        rows=rows,
        entries=len(entries),
        mismatches=tuple(mismatches),
        foreign_write=foreign,
    )


def _compared(
    services: Services,
    node: Node,
    key: VersionKey,
    portion: Portion,
    snapshot: int | None,
    *,
    whole: bool,
) -> tuple[int, tuple[Mismatch, ...]]:
    """How many rows of a portion were read, and what is wrong with them.

    If it is the ``whole`` table, rows outside of every recorded interval are found as well.
    """
    axis = node.time_axis
    sought = Sought(
        table=key.table,
        iceberg_snapshot_id=snapshot,
        columns=portion.columns,
        axis=axis,
        intervals=portion.intervals if axis is not None and not whole else None,
    )
    sums = services.engine.sums(sought, algorithm=portion.algorithm)
    counted = sum(each.rows for each in sums.values())
    if axis is None:
        return counted, compare_whole(portion.entries, sums.get(None, RowSum()))
    found = {interval: each for interval, each in sums.items() if interval is not None}
    outside = [each for each in found if each not in set(portion.intervals)]
    extra = tuple(
        Mismatch(interval=each, recorded=RowSum(), found=found[each]) for each in sorted(outside)
    )
    if None in sums:
        extra += (Mismatch(interval=None, recorded=RowSum(), found=sums[None]),)
    return counted, (*compare_intervals(portion.entries, found), *extra)
