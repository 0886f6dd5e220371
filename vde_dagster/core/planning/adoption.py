"""Whether a version has the rows that a model would compute from its parents' rows (rule R6).

"Unchanged input data into an unchanged deterministic operation produces unchanged output data"
(seed 002): where the parents' code changed and their data did not, the model's
existing version is as good as a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry, loaded_dshas
from vde_dagster.core.ledger.staleness import read_by_a_unit
from vde_dagster.core.ledger.traces import LedgerTokens, Recipe, recipe, why_nondeterministic
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.resolution import view_versions
from vde_dagster.core.sql.reads.input_ranges import InputRange, Reads, WholeTable
from vde_dagster.core.time.intervals import Interval, meets, merge


def compared_parents(graph: Graph, name: ModelName) -> tuple[ModelName, ...]:
    """The models with rows that a model reads, also through views; sources are left out.

    What a source got since the existing version was computed has nothing to do with the edit: the
    version is as up to date with it as it was.
    """
    read = read_by_a_unit(graph, graph[name])
    return tuple(each for each in read if not graph[each].model.kind.is_source)


def reads_changed_source(before: Graph, after: Graph, name: ModelName) -> bool:
    """Whether a model reads a source whose declaration has changed.

    Then its rows may differ for another reason than the edits of other models.
    """
    return any(
        each not in before or before[each].fingerprint.data != after[each].fingerprint.data
        for each in read_by_a_unit(after, after[name])
        if after[each].model.kind.is_source
    )


def with_snapshot(plan: Plan, snapshot: ModelSnapshot) -> Plan:
    """A plan in which a model has another version, and views of it those that follow from that."""
    found = view_versions(plan.graph, {**plan.snapshots, snapshot.name: snapshot})
    changes = tuple(
        replace(each, version=found[each.name].version) if each.name in found else each
        for each in plan.changes
    )
    return replace(plan, snapshots=found, changes=changes)


def has_equal_rows(
    graph: Graph,
    name: ModelName,
    entries: Sequence[LedgerEntry],
    loaded: Mapping[ModelName, Sequence[LedgerEntry]],
    *,
    is_sequential: bool,
) -> bool:
    """Whether all that a version holds is what a model would compute of the same intervals.

    Each interval was computed by the same operation (own data hash, query with views inlined,
    columns), and of each parent from rows with the D-SHA, and so the schema, that the parent holds
    now. What is not known is not equal.

    Args:
        graph: The models, with the parents as they were edited.
        name: The model.
        entries: The ledger of the version.
        loaded: The ledgers of the parents' versions: those of `compared_parents`.
        is_sequential: Whether the model's kind builds each interval on what the table held.
    """
    if not entries or any(each.status is not EntryStatus.COMPUTED for each in entries):
        return False
    if why_nondeterministic(graph, name):
        return False
    if not _are_of(_Operation.of(graph, name, entries), entries, is_sequential=is_sequential):
        return False
    reads = reads_of(graph, name)
    parents = {parent: _Parent.of(each) for parent, each in loaded.items()}
    return all(_reads_the_same(entry, reads, parents) for entry in entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parent:
    """What a parent holds, and the times for which its rows do not count as computed."""

    tokens: LedgerTokens
    doubtful: tuple[Interval, ...]

    @classmethod
    def of(cls, entries: Sequence[LedgerEntry]) -> _Parent:
        doubtful = merge(
            each.interval for each in entries if each.status is not EntryStatus.COMPUTED
        )
        return cls(tokens=LedgerTokens(entries), doubtful=doubtful)

    def token(self, read: InputRange) -> str | None:
        """The token of a range; None where some of its rows are not computed ones."""
        if isinstance(read, WholeTable):
            is_doubtful = bool(self.doubtful)
        else:
            is_doubtful = any(meets(self.doubtful, each) for each in read)
        return None if is_doubtful else self.tokens.of(read)


def _reads_the_same(entry: LedgerEntry, reads: Reads, parents: Mapping[ModelName, _Parent]) -> bool:
    ranges = reads.at(entry.interval)
    known = entry.trace.inputs if entry.trace is not None else {}
    return ranges.keys() == known.keys() and all(
        parent not in ranges or found.token(ranges[parent]) == known[parent]
        for parent, found in parents.items()
    )


def _are_of(operation: _Operation, entries: Sequence[LedgerEntry], *, is_sequential: bool) -> bool:
    """Whether each entry was computed by an operation from what its trace says."""
    targets = _targets(entries) if is_sequential else ("" for _ in entries)
    return all(
        entry.trace is not None
        and entry.trace.key in operation.keys(entry, entry.trace.inputs, target)
        for entry, target in zip(entries, targets, strict=True)
    )


def _targets(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    """What is in the key of each entry of a kind that builds on what the table held.

    That is nothing at first, then the D-SHA of all that was there before its unit of work, and
    within one the key of the interval before.
    """
    yield ""
    for (last, entry), loaded in zip(pairwise(entries), loaded_dshas(entries), strict=False):
        if last.work_id == entry.work_id:
            yield last.trace.key if last.trace is not None else ""
        else:
            yield loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    """What a model does to its inputs, as a part of its entries' keys.

    For a model that is computed as a whole that includes the algorithm that hashes its rows.
    """

    recipes: Mapping[str, Recipe]

    @classmethod
    def of(cls, graph: Graph, name: ModelName, entries: Iterable[LedgerEntry]) -> _Operation:
        """The operation of a model, for the algorithms of these entries."""
        algorithms = dict.fromkeys(("", *(each.algorithm for each in entries)))
        return cls(recipes={each: recipe(graph, name, algorithm=each) for each in algorithms})

    def keys(
        self, entry: LedgerEntry, inputs: Mapping[ModelName, str], target: str
    ) -> frozenset[str]:
        """The keys that an entry may have."""
        return frozenset(
            self.recipes[each].key(entry.interval, inputs, target=target)
            for each in ("", entry.algorithm)
        )
