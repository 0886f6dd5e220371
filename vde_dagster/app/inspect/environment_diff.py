"""What differs between two environments: definitions, versions, and what these hold.

It is read from the state alone: rows are compared by their recorded D-SHAs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.promote.promotion import shown_environment
from vde_dagster.app.services import Services
from vde_dagster.core.graph.bounded import bounded_graph
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.planning.changes.difference import Change, Difference
from vde_dagster.core.time.intervals import Interval, common, merge, subtract
from vde_dagster.ports.state import Environment


class Rows(Enum):
    """How the rows of two versions compare where both are computed.

    - ``SAME_TABLE``: both environments show one table.
    - ``EQUAL``: every interval that both hold has one D-SHA, and so the same rows.
    - ``DIFFERENT``: some interval has two, so other rows or other columns.
    - ``NOT_COMPARED``: a view or a new table has none, the intervals are cut otherwise, or rows
      were hashed in two ways.
    """

    SAME_TABLE = "one table"
    EQUAL = "equal rows"
    DIFFERENT = "other rows"
    NOT_COMPARED = "rows not compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDiff:
    """One model in two environments.

    ``before`` or ``after`` is None where an environment lacks it. ``rows`` compare what both hold,
    ``different`` are the intervals with other rows, ``not_compared`` those whose D-SHAs do not
    compare, ``only_before`` and ``only_after`` are held by one alone.
    """

    node: Node
    difference: Difference
    before: ModelSnapshot | None
    after: ModelSnapshot | None
    rows: Rows
    different: tuple[Interval, ...] = ()
    not_compared: tuple[Interval, ...] = ()
    only_before: tuple[Interval, ...] = ()
    only_after: tuple[Interval, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether both environments show one definition and one version of it."""
        return self.difference.change is Change.NONE and self.rows is Rows.SAME_TABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDiff:
    """Two environments, and every model of them: parents first, then those of ``before`` alone."""

    before: Environment
    after: Environment
    models: tuple[ModelDiff, ...]


def diff_environments(services: Services, before: str, after: str) -> EnvironmentDiff:
    """Compare what two environments show. Starts no Spark.

    Raises:
        Refused: There is no such environment.
    """
    one, other = shown_environment(services, before), shown_environment(services, after)
    old = stored_graph(one.snapshots, services.models)
    new = stored_graph(other.snapshots, services.models)
    found = compare_graphs(bounded_graph(old, {}), bounded_graph(new, {}))
    names = [name for name in found if not _node(old, new, name).model.kind.is_source]
    ledgers = services.state.ledger(_different_keys(one, other, names))
    return EnvironmentDiff(
        before=one,
        after=other,
        models=tuple(
            _compared(_node(old, new, name), found[name], one, other, ledgers) for name in names
        ),
    )


def _node(old: Graph, new: Graph, name: ModelName) -> Node:
    return (new if name in new else old)[name]


def _different_keys(
    one: Environment, other: Environment, names: Sequence[ModelName]
) -> Iterator[VersionKey]:
    for name in names:
        before, after = one.snapshots.get(name), other.snapshots.get(name)
        if before is not None and after is not None and before.key != after.key:
            yield from (before.key, after.key)


def _compared(
    node: Node,
    difference: Difference,
    one: Environment,
    other: Environment,
    ledgers: Mapping[VersionKey, Sequence[LedgerEntry]],
) -> ModelDiff:
    before, after = one.snapshots.get(node.name), other.snapshots.get(node.name)
    if before is None or after is None:
        return ModelDiff(
            node=node,
            difference=difference,
            before=before,
            after=after,
            rows=Rows.NOT_COMPARED,
        )
    if before.key == after.key:
        return ModelDiff(
            node=node, difference=difference, before=before, after=after, rows=Rows.SAME_TABLE
        )
    old, new = _digests(ledgers.get(before.key, ())), _digests(ledgers.get(after.key, ()))
    if not node.model.kind.stores_rows:  # the digest of a view follows from what it reads
        old, new = {}, {}
    comparable = {each for each in old.keys() & new.keys() if old[each][0] == new[each][0]}
    different = merge(each for each in comparable if old[each] != new[each])
    return ModelDiff(
        node=node,
        difference=difference,
        before=before,
        after=after,
        rows=Rows.DIFFERENT if different else _equal(old, new, comparable),
        different=different,
        not_compared=subtract(common(merge(old), merge(new)), merge(comparable)),
        only_before=subtract(merge(old), merge(new)),
        only_after=subtract(merge(new), merge(old)),
    )


def _equal(
    old: Mapping[Interval, object], new: Mapping[Interval, object], compared: Set[Interval]
) -> Rows:
    """Whether all that both hold was compared; it was found to be equal."""
    both = common(merge(old), merge(new))
    return Rows.EQUAL if both and both == merge(compared) else Rows.NOT_COMPARED


def _digests(entries: Sequence[LedgerEntry]) -> dict[Interval, tuple[str, str]]:
    """What each interval's rows were hashed with, and to what."""
    return {
        each.interval: (each.algorithm, each.digest)
        for each in entries
        if each.status is EntryStatus.COMPUTED
    }
