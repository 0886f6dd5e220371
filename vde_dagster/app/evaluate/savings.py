"""What was not computed: summed up from the ledger, so nothing here starts Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from vde_dagster.app.binding import Binding, bind_environment, existing
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.savings import Saved, total_saved
from vde_dagster.core.names import ModelName


class SavingKind(Enum):
    """Why an environment need not compute what it shows: it kept it, or another one did it."""

    KEPT = "kept"
    SHARED = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What an environment shows of a model and did not compute since some time."""

    environment: str
    model: ModelName
    kind: SavingKind
    saved: Saved


def saved_by(node: Node, entries: Sequence[LedgerEntry]) -> Saved:
    """What is saved by keeping entries of a model with rows."""
    return Saved.by(entries, by_interval=node.model.kind.is_by_interval)


def left_as_it_is(services: Services, binding: Binding, done: Iterable[Evaluated]) -> Saved:
    """What an environment's versions have loaded and a run did not compute."""
    keys = [binding.key(node.name) for node in binding.graph if node.model.kind.stores_rows]
    computed = {
        (unit.key, entry.interval.start): entry
        for unit in done
        if unit.key in keys
        for entry in unit.entries
        if entry.work_id == unit.work_id and not unit.reused
    }
    loaded = services.state.loaded(keys).values()
    whole = total_saved(saved for version in loaded for saved in version.values())
    return whole - Saved.by(list(computed.values()), by_interval=False)


def savings(
    services: Services, environment: str | None = None, *, since: datetime
) -> tuple[Saving, ...]:
    """What one environment, or each of them, shows and did not compute since some time.

    Raises:
        Refused: There is no such environment.
    """
    names = services.state.environments()
    if environment is not None:
        names = (existing(services, environment).name,)
    return tuple(saving for name in names for saving in _savings(services, name, since))


def _savings(services: Services, environment: str, since: datetime) -> Iterator[Saving]:
    binding = bind_environment(services, environment)
    if binding is None:
        return
    nodes = [node for node in binding.graph if node.model.kind.stores_rows]
    keys = {node.name: binding.key(node.name) for node in nodes}
    before = services.state.loaded(keys.values(), before=since)
    ever = services.state.loaded(keys.values())
    for node in sorted(nodes, key=lambda node: str(node.name)):
        key = keys[node.name]
        kept = [saved for by, saved in before.get(key, {}).items() if by == environment]
        shared = [saved for by, saved in ever.get(key, {}).items() if by != environment]
        for kind, parts in ((SavingKind.KEPT, kept), (SavingKind.SHARED, shared)):
            if parts:
                saved = total_saved(parts)
                yield Saving(
                    environment=environment,
                    model=node.name,
                    kind=kind,
                    saved=saved if node.model.kind.is_by_interval else replace(saved, time=None),
                )
