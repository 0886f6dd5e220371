"""What need not be computed, since nothing that it depends on has changed (rule R2).

Decided from the state and the catalog's metadata, so a step that is reused starts no JVM. The
ledger entries that are kept stay as they were. If one was marked as outdated, or is to cover a
longer time, that is recorded by the same steps as any other unit of work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.cumulative import SequentialBatch
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, source_table
from vde_dagster.app.publish.publishing import record
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerChange,
    LedgerEntry,
    LedgerOperation,
    Trace,
)
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.traces import (
    OneToken,
    Tokens,
    recipe,
    traces,
    why_nondeterministic,
)
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.writes import (
    AppendRows,
    AppendToIntervals,
    KeepHistory,
    MergeRows,
    OverwriteIntervals,
    ReplacePartitions,
    ReplaceTable,
    Write,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.restatement import never_again, why_never_again
from vde_dagster.core.time.intervals import Interval, meets, merge
from vde_dagster.ports.state import Lease

UNCHANGED = "nothing that its rows depend on has changed since they were computed"
FORCED = "it was requested, even if nothing has changed"
FIRST_BUILD = "first build"
"""Why rows are computed of a version that has none, whatever other reasons there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseDecision:
    """What an evaluation keeps, and what it computes.

    ``kept`` are the entries that are kept, by the interval that each covers from now on.
    ``computed`` are the contiguous ranges of all other intervals, and ``reason`` says for people
    why they are computed, or why nothing is. ``traces`` are those of all intervals.
    """

    kept: Mapping[Interval, LedgerEntry]
    computed: tuple[Interval, ...]
    traces: Mapping[Interval, Trace]
    reason: str


def look(
    services: Services,
    binding: Binding,
    node: Node,
    write: Write,
    reading: PinnedReading,
    *,
    force: bool = False,
) -> ReuseDecision:
    """Decide which intervals of a write are kept, and which are computed.

    An interval is kept if it is loaded now and its latest trace has the key of what would be
    computed (rule R2). Outdated ones are kept, too, unless they were asked for: then they have no
    trace any more (`vde_dagster.core.ledger.entries.outdate`). What a model holds that sets
    ``disable_restatement`` is kept in any case.

    Args:
        services: The ports.
        binding: The versions.
        node: A model whose intervals do not depend on each other.
        write: What evaluating it does.
        reading: What that reads.
        force: Whether to compute all of it that may be, even if nothing has changed.
    """
    intervals = _recorded(write)
    why = why_nondeterministic(binding.graph, node.name)
    found = {} if why else traces_of(services, binding, node, write, reading)
    key = binding.key(node.name)
    # a table that is replaced whole has one entry
    times = None if isinstance(write, ReplaceTable) else merge(intervals)
    entries = services.state.entries_within(key, times)
    before = _before(entries, write)
    holding = services.state.holdings([key]).get(key, NOTHING)
    never = never_again(node.model, holding.computed)
    kept = {
        each: entry
        for each in intervals
        if (entry := before.get(each)) is not None
        and (meets(never, each) or (not force and _is_same(entry, found.get(each))))
    }
    left = [each for each in intervals if each not in kept]
    if not left:
        stays = any(meets(never, each) for each in intervals)
        reason = why_never_again(node.model) if stays else UNCHANGED
    elif is_first_build(holding):
        reason = FIRST_BUILD
    elif force:
        reason = FORCED
    else:
        reason = _why_computed(before.get(left[0]), found.get(left[0]), why)
    if isinstance(write, ReplaceTable):
        kept = {_longer(each, entry.interval): entry for each, entry in kept.items()}
    return ReuseDecision(kept=kept, computed=merge(left), traces=found, reason=reason)


def traces_of(
    services: Services, binding: Binding, node: Node, write: Write, reading: PinnedReading
) -> dict[Interval, Trace]:
    """The traces of what is written, by recorded interval; empty if there is none.

    Args:
        services: The ports.
        binding: The versions.
        node: The model.
        write: What is written; see `sequential_traces` for kinds that build on earlier rows.
        reading: What the rows are computed from.
    """
    intervals = _recorded(write)
    if not intervals or why_nondeterministic(binding.graph, node.name):
        return {}
    algorithm = services.algorithm if isinstance(write, ReplaceTable) else ""
    return traces(
        recipe(binding.graph, node.name, algorithm=algorithm),
        reads_of(binding.graph, node.name),
        _tokens(services, binding, reading),
        intervals,
    )


def sequential_traces(
    services: Services,
    binding: Binding,
    node: Node,
    batches: Sequence[tuple[SequentialBatch, PinnedReading]],
) -> dict[Interval, Trace]:
    """The traces of a sequential kind's intervals, each of which builds on those before it.

    The D-SHA of the table before the first write is part of its key, and the key of each write is
    part of the next one's, since the table's rows in between depend on it. The inputs are those of
    the recorded interval: a lookback evaluates more intervals, which have entries already.

    Args:
        services: The ports.
        binding: The versions.
        node: The model.
        batches: Its writes in order, with what each of them reads: all of them the same Iceberg
            snapshots, and one consistent read of the ledgers.
    """
    if why_nondeterministic(binding.graph, node.name):
        return {}
    made_of, reads = recipe(binding.graph, node.name), reads_of(binding.graph, node.name)
    rebuilds = batches[0][0].operation is LedgerOperation.REPLACE_ALL
    key = binding.key(node.name)
    held = None if rebuilds else services.state.sums([key]).get(key)
    target = "" if held is None else held.dsha
    tokens = _tokens(services, binding, batches[0][1])
    found: dict[Interval, Trace] = {}
    for batch, _ in batches:
        each = traces(made_of, reads, tokens, [batch.evaluated])[batch.evaluated]
        target = made_of.key(batch.evaluated, each.inputs, target=target)
        recorded = traces(made_of, reads, tokens, [batch.recorded])[batch.recorded]
        found[batch.recorded] = replace(recorded, key=target)
    return found


def keeping(kept: Mapping[Interval, LedgerEntry]) -> tuple[LedgerChange, ...]:
    """The ledger changes for entries that are kept; none if these are right already."""
    return tuple(
        LedgerChange(
            operation=LedgerOperation.KEEP, interval=interval, rows=entry.rows, kept=entry.interval
        )
        for interval, entry in kept.items()
        if entry.status is not EntryStatus.COMPUTED or entry.interval != interval
    )


def record_kept(
    services: Services,
    binding: Binding,
    key: VersionKey,
    kept: Mapping[Interval, LedgerEntry],
    reading: PinnedReading,
    *,
    work_id: str,
    lease: Lease,
) -> tuple[LedgerEntry, ...]:
    """Record all that is kept as computed; returns its entries. Nothing is staged.

    Raises:
        LeaseLost: Another process took over the version's lease; nothing was recorded.
    """
    changes = keeping(kept)
    if not changes:
        return tuple(kept.values())
    head = services.state.heads([key]).get(key)
    intent = Intent(
        work_id=work_id,
        key=key,
        environment=binding.environment,
        intervals=merge(kept),
        inputs=reading.pinned,
        base=head,
        execution_time=services.execution_time,
    )
    columns = next(iter(kept.values())).columns
    publication = Publication(iceberg_snapshot_id=head, changes=changes, columns=columns)
    services.state.record_intent(intent, lease=lease)
    services.state.record_staged(work_id, publication, lease=lease)
    recorded = record(services, binding.environment, key, work_id, publication, lease=lease)
    return tuple({**kept, **{each.interval: each for each in recorded}}.values())


def _recorded(write: Write) -> tuple[Interval, ...]:
    """The intervals that a write sets by itself, each of which has an entry of its own."""
    match write:
        case OverwriteIntervals(intervals=intervals, axis=axis):
            return tuple(cell for each in intervals for cell in axis.unit.cells(each))
        case ReplaceTable(interval=interval):
            return (interval,)
        case AppendToIntervals() | MergeRows() | ReplacePartitions() | AppendRows() | KeepHistory():
            return ()
        case unreachable:
            assert_never(unreachable)


def _before(entries: Sequence[LedgerEntry], write: Write) -> dict[Interval, LedgerEntry]:
    """The existing entry of each interval that is written.

    A table that is replaced whole has one entry, whatever its interval.
    """
    if isinstance(write, ReplaceTable):
        return {write.interval: entries[0]} if len(entries) == 1 else {}
    return {each.interval: each for each in entries}


def _longer(asked: Interval, loaded: Interval) -> Interval:
    """The interval that kept rows cover: no less than what they covered before."""
    return loaded if loaded.start <= asked.start and asked.end <= loaded.end else asked


def _is_same(entry: LedgerEntry, trace: Trace | None) -> bool:
    loaded = entry.trace if entry.status is not EntryStatus.EMPTY else None
    return loaded is not None and trace is not None and loaded.key == trace.key


def is_first_build(loaded: Holding) -> bool:
    """Whether a version holds nothing that was computed."""
    return not loaded.written


def _why_computed(before: LedgerEntry | None, trace: Trace | None, nondeterministic: str) -> str:
    """Why an interval is computed, for people; ``nondeterministic`` says why it has no trace."""
    if before is None or before.status is EntryStatus.EMPTY:
        return "it has not been computed yet"
    if trace is None:
        return nondeterministic
    if before.trace is None:
        return before.reason or "it is unknown what its rows were computed from"
    known = before.trace.inputs
    changed = [str(name) for name, token in trace.inputs.items() if known.get(name) != token]
    if changed:
        return f"its inputs from {', '.join(sorted(changed))} have changed"
    return "the query, or how its rows are stored or hashed, has changed"


def _tokens(
    services: Services, binding: Binding, reading: PinnedReading
) -> dict[ModelName, Tokens]:
    """The tokens of everything that is read; for sources, of the Iceberg snapshots read."""
    found: dict[ModelName, Tokens] = dict(reading.tokens)
    for name, pinned in reading.pinned.items():
        if name not in found:
            state = reading.sources.get(name) or source_table(services, binding, name)
            rows_of = state.rows_of
            if pinned is not None and pinned != state.iceberg_snapshot_id:
                rows_of = services.catalog.origin(state.name, pinned)
            found[name] = OneToken(state.token(None if pinned is None else rows_of))
    return found
