"""The physical view of a VIEW: replaced only if its definition would differ (seed 001, *VIEW*).

The definition depends on the rendered query and the columns of what that reads. Whether the view
still exists is read from the catalog's metadata, without Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.pinned_reading import physical_query
from vde_dagster.app.evaluate.reuse import FIRST_BUILD
from vde_dagster.app.evaluate.spelled_columns import check_spelling
from vde_dagster.app.evaluate.units_of_work import failing_in_its_file
from vde_dagster.app.publish.publishing import record
from vde_dagster.app.services import Services
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed, Refused
from vde_dagster.core.graph.embedded import embedded_upstream, stored_parents
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.dsha import RowSum, combined_dsha
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerChange,
    LedgerDigests,
    LedgerEntry,
    LedgerOperation,
    Trace,
)
from vde_dagster.core.ledger.savings import Saved
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.fingerprint import hash_parts
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import ALWAYS
from vde_dagster.ports.state import Lease

_STANDS: Final = "the view is up to date"


def make_view(
    services: Services, binding: Binding, node: Node, lease: Lease, *, force: bool
) -> Evaluated:
    """Create the physical view. Readers see it once an environment's view points at it.

    A view whose definition would be the same is left alone; the rows that it shows may differ.
    """
    started = services.clock.now()
    key = binding.key(node.name)
    parents = _loaded_parents(services, binding, node)
    query = physical_query(binding, node, services.execution_time).text
    trace = _trace(services, binding, node, query, parents)
    before = services.state.ledger([key]).get(key, ())
    stands = not force and _stands(services, key, before, trace)
    embedded = embedded_upstream(binding.graph, node.name)
    reads = [binding.graph[name].fingerprint.data for name in embedded]
    reads += [each for parent in parents.values() for each in parent.digests]
    digest = combined_dsha([node.fingerprint.data, *reads])
    entries = before
    is_recorded = stands and (before[0].digest, before[0].status) == (digest, EntryStatus.COMPUTED)
    if not is_recorded:

        def columns() -> tuple[Column, ...]:
            comment = node.model.description
            kept = before[0].columns if stands else None
            with failing_in_its_file(node.model, query):
                return kept or services.engine.create_view(key.table, query, comment=comment)

        change = LedgerChange(
            operation=LedgerOperation.REPLACE_ALL,
            interval=ALWAYS,
            rows=RowSum(),
            digest=digest,
            trace=trace,
        )
        entries = _recorded(services, binding.environment, key, change, columns, lease=lease)
    return Evaluated(
        work_id=entries[-1].work_id,
        key=key,
        interval=ALWAYS,
        entries=entries,
        seconds=(services.clock.now() - started).total_seconds(),
        saved=Saved(intervals=1) if stands else None,
        reason=_STANDS if stands else "" if before else FIRST_BUILD,
        reused=stands,
    )


def _recorded(
    services: Services,
    environment: str,
    key: VersionKey,
    change: LedgerChange,
    columns: Callable[[], tuple[Column, ...]],
    *,
    lease: Lease,
) -> tuple[LedgerEntry, ...]:
    """Record the intent, create the view with ``columns``, and record what that returns."""
    work_id = services.ids.new()
    intent = Intent(
        work_id=work_id,
        key=key,
        environment=environment,
        intervals=(ALWAYS,),
        inputs={},
        base=None,
        execution_time=services.execution_time,
    )
    services.state.record_intent(intent, lease=lease)
    try:
        made = columns()
    except EvaluationFailed as error:
        services.state.abandon(work_id, reason=str(error), lease=lease)
        raise
    publication = Publication(iceberg_snapshot_id=None, changes=(change,), columns=made)
    services.state.record_staged(work_id, publication, lease=lease)
    return record(services, environment, key, work_id, publication, lease=lease)


def _loaded_parents(
    services: Services, binding: Binding, node: Node
) -> dict[ModelName, LedgerDigests]:
    """What is loaded of the models that a view reads, as of one moment: others may write them.

    Raises:
        Refused: One is not loaded, so there is no table or view to read.
    """
    stored = stored_parents(binding.graph, node.name)
    keys = {n: binding.key(n) for n in stored if not binding.graph[n].model.kind.is_source}
    found = services.state.digests(keys.values())
    unmade = [str(name) for name, key in keys.items() if key not in found]
    if unmade:
        raise Refused(f"{node.name} is a view over {', '.join(unmade)}, not loaded yet.")
    return {name: found[key] for name, key in keys.items()}


def _trace(
    services: Services,
    binding: Binding,
    node: Node,
    query: str,
    loaded: Mapping[ModelName, LedgerDigests],
) -> Trace:
    """What the definition of a physical view depends on: its text, and its inputs' columns.

    Args:
        services: The ports.
        binding: The versions.
        node: The model, a VIEW.
        query: The view's query over physical tables.
        loaded: What is loaded of the models that it reads, with their columns.
    """
    columns = {name: each.last.columns for name, each in loaded.items()}
    others = [name for name in stored_parents(binding.graph, node.name) if name not in columns]
    sources = {name: there for name in others if (there := services.source(name)) is not None}
    check_spelling(binding.graph, node, query, sources)
    columns |= {name: source.columns for name, source in sources.items()}
    typed = (
        f"{name} {each.name} {each.type}".lower()
        for name in sorted(columns)
        for each in columns[name]
    )
    return Trace(key=hash_parts("view", node.fingerprint.data, query, *typed), inputs={})


def _stands(
    services: Services, key: VersionKey, before: Sequence[LedgerEntry], trace: Trace
) -> bool:
    """Whether a physical view exists with the definition that it would get."""
    loaded = before[0].trace if before else None
    same = loaded is not None and loaded.key == trace.key
    return same and key.table in services.catalog.taken([key.table])
