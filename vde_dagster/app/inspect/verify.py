"""Computing D-SHAs from storage again, and comparing them with what was recorded (seed 002).

It finds rows that were lost or changed by other programs. It does not protect against deliberate
tampering.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from vde_dagster.app.binding import Binding, environments_showing
from vde_dagster.app.evaluate.parent_ledgers import with_heads
from vde_dagster.app.plan.catalog_look import replaced_views
from vde_dagster.app.publish.foreign_writes import (
    damage_text,
    damages,
    head_damage,
    lost_originals,
    missing_rows,
    readable,
)
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import shown_naming
from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.damage import ColumnsChanged, ColumnsGone, Unreadable
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnDropped, schema_changes
from vde_dagster.core.ledger.stored_types import holds
from vde_dagster.core.ledger.verification import (
    Mismatch,
    Portion,
    as_one,
    compare_intervals,
    compare_whole,
    portions,
    recorded_by,
)
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import PRODUCTION, ModelName, TableName
from vde_dagster.ports.catalog import TableState
from vde_dagster.ports.engine import Sought


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was found in one version. ``rows`` counts the rows that were read.

    If another program wrote to the table since it was recorded, or its files are missing,
    ``foreign_write`` says so, with advice.
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
        EvaluationFailed: A table whose files are all there cannot be read.
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
    if isinstance(damage, Unreadable | ColumnsChanged | ColumnsGone):  # nothing to compare with
        return replace(without_rows, foreign_write=foreign)
    if services.catalog.table(key.table) is None:
        return replace(without_rows, missing_table=True)
    lacking = missing_rows(services, key, recorded)
    if lacking is not None:  # a read would fail at the first of these files
        said = damage_text(services, key, lacking, model=node.model)
        return replace(without_rows, foreign_write=said)
    known = portions(entries)
    if node.model.kind.is_sequential:
        known = as_one(known)
    snapshot, rows = readable(services, key, recorded).iceberg_snapshot_id, 0
    if foreign and snapshot and services.catalog.columns_at(key.table, snapshot) is None:
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
    if axis is not None:
        axis = replace(axis, unit=recorded_by(portion.entries, axis.unit))
    sought = Sought(
        table=key.table,
        iceberg_snapshot_id=snapshot,
        columns=portion.columns,
        axis=axis,
        intervals=portion.intervals if axis is not None and not whole else None,
        hidden_rows=node.model.kind.hidden_rows,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """What was found of the table of a model's version, or of a source.

    Attributes:
        node: The model or source.
        table: The table that was looked at.
        is_gone: Whether there is none although rows were recorded, or a source is declared.
        foreign_write: Says that another program wrote to it or removed it; empty if none did. It is
            not asked of sources, which others write.
        schema: How its columns differ from those that were recorded or declared, for people. More
            columns than those are no difference.
    """

    node: Node
    table: TableName
    is_gone: bool = False
    foreign_write: str = ""
    schema: tuple[str, ...] = ()


def look_at_tables(
    services: Services, binding: Binding, names: Iterable[ModelName]
) -> Iterator[TableLook]:
    """Look at the tables of these models and sources, one after the other; no JVM is started.

    Models without rows of their own are left out. Of a version without rows there is nothing to
    find.

    Raises:
        Exception: What the catalog or the storage raises if metadata cannot be read.
    """
    nodes = [binding.graph[name] for name in names if name in binding.graph]
    keys = [binding.key(node.name) for node in nodes if node.model.kind.stores_rows]
    holdings, heads = services.state.holdings(keys), services.state.heads(keys)
    for node in nodes:
        if node.model.kind.is_source:
            yield _source(services, node)
        elif node.model.kind.stores_rows:
            key = binding.key(node.name)
            yield _version(services, node, key, holdings.get(key), heads.get(key))


def damaged_tables(services: Services) -> Iterator[str]:
    """What is wrong with the tables and views that environments show, and what ends it."""
    every = [*map(services.state.environment, services.state.environments())]
    shown = [each for each in every if each is not None and not each.promoting]
    keys = {e.key for each in every if each is not None for e in each.snapshots.values()}
    heads = services.state.heads(sorted(keys))
    damaged = damages(services, heads)
    damaged |= lost_originals(services, {e: heads[e] for e in heads if e not in damaged})
    for key, damage in damaged.items():
        yield damage_text(services, key, damage)
    sound = services.state.holdings(keys).keys() - damaged.keys()
    there = services.catalog.present([key.table for key in sound])
    gone = sorted(key for key in sound if key.table not in there)
    owners = services.state.owners(gone) if gone else {}
    for key in gone:
        showing = next(environments_showing(services, key), None)
        owner = owners.get(key, showing.name if showing is not None else PRODUCTION)
        yield f"{key.model}: {key.table} is missing. `vde run {owner}` rebuilds it."
    sound -= {*gone}
    for each in shown:
        for name in replaced_views(services, each, sound, naming=shown_naming(services, each)):
            yield (
                f"the view of {name} in {each.name} is missing, or another program replaced it. "
                f"`vde run {each.name}` creates it; first drop what another program created in "
                "its place."
            )


def _source(services: Services, node: Node) -> TableLook:
    name, found = node.name, services.source(node.name)
    return TableLook(
        node=node,
        table=TableName(name.schema, name.name, name.catalog),
        is_gone=found is None,
        schema=_differences(found.columns, node.columns, "declared") if found is not None else (),
    )


def _version(
    services: Services, node: Node, key: VersionKey, holding: Holding | None, head: int | None
) -> TableLook:
    if holding is None:
        return TableLook(node=node, table=key.table)
    damage = head_damage(services, key, head)
    foreign = damage_text(services, key, damage) if damage is not None else ""
    is_readable = not isinstance(damage, Unreadable)
    table = services.catalog.table(key.table) if is_readable else None
    return TableLook(
        node=node,
        table=key.table,
        is_gone=table is None,
        foreign_write=foreign,
        schema=_differences(table.columns, _lost(table, holding), "recorded") if table else (),
    )


def _lost(table: TableState, holding: Holding) -> list[Column]:
    """The recorded columns that a table lacks, or of whose values it does not hold all."""
    there = {each.name.lower(): each.type for each in table.columns}
    return [
        each
        for each in holding.columns
        if each.name.lower() not in there or not holds(there[each.name.lower()], each.type)
    ]


def _differences(actual: Sequence[Column], wanted: Sequence[Column], how: str) -> tuple[str, ...]:
    return tuple(
        f"it lacks the column {each.column} ({each.type}), which is {how}"
        if isinstance(each, ColumnAdded)
        else f"{each.column} is {each.before}, and {each.after} is {how}"
        for each in schema_changes(actual, wanted)
        if not isinstance(each, ColumnDropped)
    )
