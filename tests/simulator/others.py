"""What other programs do to our tables and views; each is one entry of `MEDDLING`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tests.app.generated_models import Made
from tests.app.memory_world import RAW, MemoryWorld
from vde_dagster.app.inspect.status import EnvironmentStatus
from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName, TableName, ViewNaming, environment_view


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """A model's view in an environment, and the table or view that it shows."""

    world: MemoryWorld
    view: TableName
    target: TableName


def meddle(world: MemoryWorld, environment: str, made: Made, how: str) -> TableName | None:
    """Let another program do something to what an environment shows of a model.

    Returns:
        What is not as it should be now; None where nothing was done, or nothing that matters.
    """
    view = environment_view(ModelName("gen", made.name), environment, ViewNaming())
    shown = world.catalog.view(view)
    if shown is None or not shown.target.namespace.startswith("vde__"):
        return None  # there is none, or what another program made of it
    return MEDDLING[how](Ours(world=world, view=view, target=shown.target))


def take_name(world: MemoryWorld, environment: str, made: Made) -> set[TableName]:
    """Let another program make a table where a model's view would be; empty if something is."""
    name = environment_view(made.key, environment, ViewNaming())
    if world.catalog.present({name}):
        return set()
    world.catalog.create_table(name, [Column(name="theirs", type="string")])
    return {name}


def is_named(status: EnvironmentStatus, model: ModelName, touched: TableName) -> bool:
    """Whether a status says that a table or view of a model is not as it should be.

    Of a model with several such faults it names the first one, and the next once that is repaired.
    """
    lost = {each.lost.table for each in status.models if each.lost is not None}
    named = {
        each.node.name
        for each in status.models
        if each.lost is not None or each.due or each.is_unfinished
    }
    return str(touched) in lost or model in {*status.dropped_views, *named}


def _append(ours: Ours) -> TableName | None:
    catalog = ours.world.catalog
    table = catalog.tables.get(ours.target)
    rows = table.rows_at(table.head) if table is not None else ()
    if not rows:
        return None
    catalog.append(ours.target, rows[:1])
    return ours.target


def _delete(ours: Ours) -> TableName | None:
    catalog = ours.world.catalog
    table = catalog.tables.get(ours.target)
    rows = table.rows_at(table.head) if table is not None else ()
    if not rows:
        return None
    catalog.delete(ours.target, rows[1:])
    return ours.target


def _roll_back(ours: Ours) -> TableName | None:
    table = ours.world.catalog.tables.get(ours.target)
    line = table.line(table.head) if table is not None else []
    if len(line) < 2:
        return None
    ours.world.catalog.roll_back(ours.target, line[-1].id)
    return ours.target


def _drop_table(ours: Ours) -> TableName | None:
    if ours.target not in ours.world.catalog.tables:
        return None
    ours.world.catalog.drop_table(ours.target)
    return ours.target


def _drop_view(ours: Ours) -> TableName | None:
    ours.world.catalog.drop_view(ours.view)
    return ours.view


def _drop_physical_view(ours: Ours) -> TableName | None:
    if ours.target not in ours.world.catalog.queries:
        return None
    ours.world.catalog.drop_view(ours.target)
    return ours.target


def _rename_column(ours: Ours) -> TableName | None:
    table = ours.world.catalog.tables.get(ours.target)
    if table is None or table.before_change is not None:
        return None
    if "amount" not in {each.name for each in table.columns}:
        return None
    ours.world.catalog.rename_column(ours.target, "amount", "total")
    return ours.target


def _append_and_compact(ours: Ours) -> TableName | None:
    touched = _append(ours)
    _compact(ours)
    return touched


def _append_and_expire(ours: Ours) -> TableName | None:
    touched = _append(ours)
    _expire(ours)
    return touched


def _replace_view(ours: Ours) -> TableName | None:
    ours.world.catalog.turn_view(ours.view, RAW)
    return ours.view


def _compact(ours: Ours) -> None:
    table = ours.world.catalog.tables.get(ours.target)
    if table is not None and table.head is not None:
        ours.world.catalog.compact(ours.target)


def _expire(ours: Ours) -> None:
    """Forget Iceberg snapshots as Spark's procedure does: those of branches and tags stay."""
    table = ours.world.catalog.tables.get(ours.target)
    if table is not None:
        kept = {table.head, *table.branches.values(), *table.tags.values()}
        table.snapshots = {key: each for key, each in table.snapshots.items() if key in kept}


MEDDLING: Final[Mapping[str, Callable[[Ours], TableName | None]]] = {
    "append": _append,
    "delete": _delete,
    "roll back": _roll_back,
    "drop table": _drop_table,
    "drop view": _drop_view,
    "drop physical view": _drop_physical_view,
    "rename column": _rename_column,
    "append and compact": _append_and_compact,
    "append and expire": _append_and_expire,
    "replace view": _replace_view,
    "compact": _compact,
    "expire": _expire,
}
