"""MANAGED tables are kept fresh here: neither Spark nor Iceberg does it by itself (seed 001).

A sensor or a command refreshes those that are older than their target lag and whose inputs changed
since. Checking reads the state and the catalog's metadata, and starts no Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.changed_inputs import changed_inputs
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.evaluate.parent_ledgers import gaps_of, read_ledgers
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.model.kinds.managed import target_lag
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.time.intervals import ALWAYS, format_instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """Whether a MANAGED table is to be rebuilt, and why, for people.

    ``changed`` are the models and sources that it reads and that have other rows since. ``token``
    identifies the last result and these rows: it differs once either changes. A stale table may
    have to wait for its inputs: ``waits_for`` says for which, and is empty if it need not.
    """

    name: ModelName
    is_stale: bool
    reason: str
    token: str = ""
    changed: tuple[ModelName, ...] = ()
    waits_for: str = ""

    @property
    def is_due(self) -> bool:
        """Whether it is to be rebuilt, and can be."""
        return self.is_stale and not self.waits_for


def managed_tables(services: Services, binding: Binding) -> tuple[Freshness, ...]:
    """How fresh each MANAGED table is that this environment may write, parents first.

    A table that was never built is left to a plan, and not included.
    """
    nodes = [node for node in binding.graph if node.model.kind.is_refreshed]
    return tuple(_looked_at(services, binding, nodes))


def _looked_at(services: Services, binding: Binding, nodes: Sequence[Node]) -> Iterator[Freshness]:
    keys = [binding.key(node.name) for node in nodes]
    owners, ledger = services.state.owners(keys), services.state.ledger(keys)
    pauses = services.state.pauses(binding.environment) if nodes else {}
    for node, key in zip(nodes, keys, strict=True):
        if ledger.get(key) and may_write(binding.environment, owners.get(key)):
            found = _freshness(services, binding, node, ledger[key][-1])
            pause = pauses.get(node.name)
            yield found if pause is None else replace(found, waits_for=f"it is {pause}")


def refresh_managed(
    services: Services, binding: Binding
) -> Iterator[tuple[Freshness, Evaluated | None]]:
    """Rebuild stale MANAGED tables, parents first, since a rebuilt one may make others stale.

    Each is yielded when it is done; with None if there was nothing to do, or if it waits for a
    model that is to be evaluated first. The other tables are rebuilt all the same.

    Raises:
        Conflict: Another process writes one of them right now.
        Refused: One cannot be evaluated in the current state.
        EvaluationFailed: Its query failed; readers see what they saw before.
    """
    for node in [each for each in binding.graph if each.model.kind.is_refreshed]:
        for found in _looked_at(services, binding, [node]):
            yield found, evaluate(services, binding, found.name, ALWAYS) if found.is_due else None


def _freshness(services: Services, binding: Binding, node: Node, entry: LedgerEntry) -> Freshness:
    found = _staleness(services, binding, node, entry)
    if not found.is_stale:
        return found
    ranges = reads_of(binding.graph, node.name).ranges(Moments.between(ALWAYS, ALWAYS))
    gaps = gaps_of(binding, node, ranges, read_ledgers(services, binding, ranges), ALWAYS.end)
    return replace(found, waits_for="; ".join(gaps))


def _staleness(services: Services, binding: Binding, node: Node, entry: LedgerEntry) -> Freshness:
    work_id = entry.work_id
    work = services.state.work(work_id)
    if work is None or work.finished_at is None:
        reason = "it is not known when it was built"
        return Freshness(name=node.name, is_stale=True, reason=reason, token=work_id)
    fresh_until = work.finished_at + target_lag(node.model.storage)
    if services.clock.now() < fresh_until:
        reason = f"its target lag lasts until {_instant_text(fresh_until)}"
        return Freshness(name=node.name, is_stale=False, reason=reason, token=work_id)
    read, since = work.intent.inputs, work.started_at
    changed = dict(changed_inputs(services, binding, read, since=since))
    same = _same_rows(services, binding, node, entry, changed)
    changed = {name: rows for name, rows in changed.items() if name not in same}
    if changed:
        reason = f"{', '.join(map(str, changed))} changed since {_instant_text(work.finished_at)}"
    else:
        reason = f"what it reads has not changed since {_instant_text(work.finished_at)}"
    return Freshness(
        name=node.name,
        is_stale=bool(changed),
        reason=reason,
        token=":".join([work_id, *map(str, changed.values())]),
        changed=tuple(changed),
    )


def _same_rows(
    services: Services,
    binding: Binding,
    node: Node,
    entry: LedgerEntry,
    names: Collection[ModelName],
) -> set[ModelName]:
    """The models that were written since, but still have the rows that were read of them.

    If only these were written, a rebuild would keep the table (rule R2), which stayed stale.
    """
    if entry.trace is None or not names:
        return set()
    every = reads_of(binding.graph, node.name).ranges(Moments.between(ALWAYS, ALWAYS))
    ranges = {name: each for name, each in every.items() if name in names}
    known, now = entry.trace.inputs, read_ledgers(services, binding, ranges).tokens
    return {name for name, each in now.items() if each.of(ranges[name]) == known.get(name)}


def _instant_text(instant: datetime) -> str:
    return f"{format_instant(instant.replace(microsecond=0))} UTC"
