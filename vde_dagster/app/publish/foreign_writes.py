"""The current Iceberg snapshot of a version, and whether it has the recorded rows (rule R4)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from vde_dagster.app.binding import Binding, environments_showing
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, Refused, with_advice
from vde_dagster.core.faults import Fault, fault_of
from vde_dagster.core.ledger.damage import (
    ColumnsChanged,
    Damage,
    LostMetadata,
    TableDropped,
    TableHead,
    advice_for,
    damage_of,
    described,
    files_gone,
)
from vde_dagster.core.ledger.unit_of_work import AsOf, Ending, Intent, Staging
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import PRODUCTION, TableName
from vde_dagster.core.planning.restatement import computed_again
from vde_dagster.ports.state import version_resource


class ForeignWrite(Conflict):
    """A version's table is not as recorded: another program wrote to it, or removed it.

    Nothing is built on such rows, since it is not known what they are.
    """


def head_of(services: Services, key: VersionKey) -> int | None:
    """The Iceberg snapshot that a unit of work on a version starts from; None for no rows yet.

    It is the table's current one: the last recorded one, or a compaction of it. No JVM is started.

    Raises:
        ForeignWrite: The table has other rows or columns than were recorded last.
    """
    recorded = services.state.heads([key]).get(key)
    table, damage = _looked_at(services, key, recorded)
    if damage is not None:
        raise ForeignWrite(
            f"{described(key, damage)}. Nothing was done", advice=advice_on(services, key, damage)
        )
    return table.iceberg_snapshot_id if isinstance(table, TableHead) else None


def damages(
    services: Services, recorded: Mapping[VersionKey, int | None]
) -> dict[VersionKey, Damage]:
    """What is wrong where readers see other rows of versions than were recorded.

    All tables are looked up at once, from metadata alone; files only of tables that an evaluation
    has found to lack some. What a unit of work has published and not recorded yet is not a foreign
    write, and neither is what is left of a version that is being dropped: the plan that needs it
    finishes that first.

    Args:
        services: The ports.
        recorded: The Iceberg snapshots that were recorded last, as was read a moment ago.
    """
    wrong: dict[VersionKey, Damage] = {}
    tables = services.catalog.table_heads([key.table for key in recorded])
    columns = _columns(services, recorded, tables)
    for key, head in recorded.items():
        damage = damage_of(key, head, tables.get(key.table), columns.get(key, ()))
        if damage is not None:
            damage = _now(services, key, head)
        if damage is not None:
            wrong[key] = damage
    for key in _found_damaged(services, recorded.keys() - wrong.keys()):
        damage = missing_rows(services, key, recorded[key])
        if damage is not None:
            wrong[key] = damage
    being_dropped = {each.key for each in services.state.drops()} if wrong else set()
    return {key: damage for key, damage in wrong.items() if key not in being_dropped}


def lost_originals(
    services: Services, recorded: Mapping[VersionKey, int | None]
) -> dict[VersionKey, Damage]:
    """The shallow copies of which files are missing, recorded as such.

    Files are looked for only where the original has not kept the Iceberg snapshot with them.

    Args:
        services: The ports.
        recorded: The Iceberg snapshots that were recorded last.
    """
    heads = services.catalog.table_heads([key.table for key in recorded])
    copies = {
        key: head.original
        for key in recorded
        if isinstance(head := heads.get(key.table), TableHead) and head.original is not None
    }
    originals = services.catalog.table_heads({each.table for each in copies.values()})
    found: dict[VersionKey, Damage] = {}
    for key, each in copies.items():
        head = originals.get(each.table)
        if isinstance(head, TableHead) and each.iceberg_snapshot_id in head.snapshots:
            continue
        damage = missing_rows(services, key, recorded[key])
        if damage is not None:
            owner = services.state.owners([key]).get(key, PRODUCTION)
            record_lost_files(services, owner, key, damage)
            found[key] = damage
    return found


def record_lost_files(
    services: Services, environment: str, key: VersionKey, damage: Damage
) -> None:
    """Record that a version lacks files, until its rows are computed again.

    If another process writes the version by now, it finds out by itself.
    """
    if _found_damaged(services, [key]):
        return
    with (
        suppress(Conflict),
        services.lease(version_resource(key), f"an evaluation in {environment}") as lease,
    ):
        intent = Intent(
            work_id=services.ids.new(),
            key=key,
            environment=environment,
            intervals=(),
            inputs={},
            base=services.state.heads([key]).get(key),
            execution_time=services.clock.now(),
        )
        services.state.record_intent(intent, lease=lease)
        reason = f"{Ending.DAMAGED.value}{described(key, damage)}"
        services.state.abandon(intent.work_id, reason=reason, lease=lease)


def _columns(
    services: Services,
    recorded: Mapping[VersionKey, int | None],
    tables: Mapping[TableName, TableHead | LostMetadata | None],
) -> dict[VersionKey, tuple[str, ...]]:
    """The recorded columns of versions whose recorded Iceberg snapshot has expired."""
    expired = [
        key
        for key, head in recorded.items()
        if isinstance(table := tables.get(key.table), TableHead) and table.has_expired(head)
    ]
    holdings = services.state.holdings(expired) if expired else {}
    return {key: tuple(c.name for c in each.columns) for key, each in holdings.items()}


def _looked_at(
    services: Services, key: VersionKey, recorded: int | None
) -> tuple[TableHead | LostMetadata | None, Damage | None]:
    table = services.catalog.table_heads([key.table]).get(key.table)
    columns = _columns(services, {key: recorded}, {key.table: table})
    return table, damage_of(key, recorded, table, columns.get(key, ()))


def _found_damaged(services: Services, keys: Collection[VersionKey]) -> list[VersionKey]:
    """The versions that an evaluation has found to lack files, and not computed again since."""
    failed = services.state.failed(keys) if keys else {}
    return sorted(key for key, work in failed.items() if work.ending is Ending.DAMAGED)


def head_damage(services: Services, key: VersionKey, recorded: int | None) -> Damage | None:
    """What is wrong with one version, as `damages` finds it; None if nothing is."""
    return damages(services, {key: recorded}).get(key)


def _now(services: Services, key: VersionKey, recorded: int | None) -> Damage | None:
    """What is wrong with a version, if it is wrong while no process publishes or records."""
    while True:
        table, damage = _looked_at(services, key, recorded)
        if damage is None:
            return None
        if isinstance(table, TableHead):
            published = [work.publication for work in services.state.open_work(key)]
            is_ours = any(
                table.has_rows_of(each.iceberg_snapshot_id)
                for each in published
                if each is not None and each.iceberg_snapshot_id in table.snapshots
            )
            if is_ours and not isinstance(damage, ColumnsChanged):
                return None
        now = services.state.heads([key]).get(key)
        if now == recorded:
            return damage
        recorded = now


def missing_rows(services: Services, key: VersionKey, recorded: int | None) -> Damage | None:
    """What a version lacks of its recorded rows: its table, or files; each is looked for."""
    if not services.state.holdings([key]):
        return None
    if not services.catalog.present([key.table]):
        return TableDropped(recorded=recorded)
    at = readable(services, key, recorded).iceberg_snapshot_id
    if recorded is None or at is None:
        return None
    return files_gone(recorded, services.catalog.missing_files(key.table, at))


def damage_text(
    services: Services, key: VersionKey, damage: Damage, model: Model | None = None
) -> str:
    """What is wrong with a version, and what ends it, for people; see `advice_on`."""
    return with_advice(described(key, damage), advice_on(services, key, damage, model=model))


def advice_on(
    services: Services,
    key: VersionKey,
    damage: Damage,
    *,
    environment: str = PRODUCTION,
    model: Model | None = None,
) -> str:
    """What ends it, for people, where the version is owned, or shown if it has no owner.

    If there is neither, that is the given environment. Only the ``model`` says whether its rows
    can be computed again.
    """
    showing = [each.name for each in environments_showing(services, key)]
    # nobody owns what production has moved on from
    owner = services.state.owners([key]).get(key, next(iter(showing), environment))
    is_shown = owner in showing
    shown = owner if is_shown else next(iter(showing), environment)
    again = computed_again(model, owner, is_shown=is_shown) if model is not None else ""
    return advice_for(key, damage, owner=owner, shown=shown, is_shown=is_shown, again=again)


def readable(services: Services, key: VersionKey, recorded: int | None) -> AsOf:
    """How the rows that were recorded at an Iceberg snapshot can be read.

    They are read there. If it has expired, they are read at the table's current one, provided that
    this is a compaction of it.
    """

    def read_at(at: int | None) -> AsOf | None:
        columns = () if at is None else services.catalog.columns_at(key.table, at)
        if columns is None:
            return None
        return AsOf(table=key.table, iceberg_snapshot_id=at, columns=columns)

    found = read_at(recorded)
    if found is None and recorded is not None:
        table = services.catalog.table_heads([key.table]).get(key.table)
        if isinstance(table, TableHead) and table.has_rows_of(recorded):
            found = read_at(table.iceberg_snapshot_id)
    return found or AsOf(table=key.table, iceberg_snapshot_id=recorded)


class DamagedInput(Refused):
    """An evaluation needs a version's table that cannot be read, since files of it are missing."""


def damaged_input(
    services: Services, binding: Binding, staging: Staging, error: Exception
) -> DamagedInput | None:
    """What an engine's error comes down to, if files of a version that was read are missing.

    Files are looked for only if the error says that one is missing.
    """
    found = fault_of(error)
    if found is None or found.fault not in (Fault.FILE_GONE, Fault.METADATA_GONE):
        return None
    versions = {each.key.table: each.key for each in binding.snapshots.values()}
    for key in (versions[table] for table in _tables_read(staging) if table in versions):
        recorded = services.state.heads([key]).get(key)
        damage = head_damage(services, key, recorded)
        if damage is None:
            damage = missing_rows(services, key, recorded)
            if damage is not None and key != staging.target:
                record_lost_files(services, binding.environment, key, damage)
        if damage is not None:
            model = binding.node(key.model).model
            return DamagedInput(
                f"{described(key, damage)}. {staging.target.model} was not computed",
                advice=advice_on(
                    services, key, damage, environment=binding.environment, model=model
                ),
            )
    return None


def _tables_read(staging: Staging) -> Iterator[TableName]:
    """The tables that a unit of work reads, its own one last."""
    for part in staging.parts:
        yield from (each.table for each in part.inputs.values())
    yield from (each.table for each in staging.audit_inputs.values())
    yield from (each.table for each in staging.statement_inputs.values())
    yield staging.target.table
