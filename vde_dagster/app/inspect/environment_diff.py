"""What differs between two environments: definitions, versions, and what these hold.

It is read from the state alone: rows are compared by their recorded D-SHAs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.promote.promotion import shown_environment
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node, bounded_graph
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
    models = [
        ModelDiff(
            node=node,
            difference=difference,
            before=one.snapshots.get(name),
            after=other.snapshots.get(name),
            rows=Rows.NOT_COMPARED,
        )
        for name, difference in found.items()
        if not (node := (new if name in new else old)[name]).model.kind.is_source
    ]
    pairs = [(each.before.key, each.after.key) for each in models if each.before and each.after]
    different = {key for pair in pairs for key in pair if pair[0] != pair[1]}
    ledgers = services.state.ledger(different)
    return EnvironmentDiff(
        before=one, after=other, models=tuple(_compared(each, ledgers) for each in models)
    )


def _compared(model: ModelDiff, ledgers: Mapping[VersionKey, Sequence[LedgerEntry]]) -> ModelDiff:
    """The same, with how the rows compare of what both environments have."""
    before, after = model.before, model.after
    if before is None or after is None:
        return model
    if before.key == after.key:
        return replace(model, rows=Rows.SAME_TABLE)
    old, new = _digests(ledgers.get(before.key, ())), _digests(ledgers.get(after.key, ()))
    if not model.node.model.kind.stores_rows:  # the digest of a view follows from what it reads
        old, new = {}, {}
    comparable = {each for each in old.keys() & new.keys() if old[each][0] == new[each][0]}
    different = merge(each for each in comparable if old[each] != new[each])
    both, compared = common(merge(old), merge(new)), merge(comparable)
    equal = Rows.EQUAL if both and both == compared else Rows.NOT_COMPARED
    return replace(
        model,
        rows=Rows.DIFFERENT if different else equal,
        different=different,
        not_compared=subtract(both, compared),
        only_before=subtract(merge(old), merge(new)),
        only_after=subtract(merge(new), merge(old)),
    )


def _digests(entries: Sequence[LedgerEntry]) -> dict[Interval, tuple[str, str]]:
    """What each interval's rows were hashed with, and to what."""
    return {
        each.interval: (each.algorithm, each.digest)
        for each in entries
        if each.status is EntryStatus.COMPUTED
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """One promotion, compared with the one before it.

    ``versions`` are models that show another version since, ``definitions`` those of the others
    whose definition is another one. Of one that has left the history, and of the first one after
    those, nothing of this is known.
    """

    shown: Environment
    added: tuple[ModelName, ...]
    removed: tuple[ModelName, ...]
    versions: tuple[ModelName, ...]
    definitions: tuple[ModelName, ...]

    def bounded(self, *, previews: bool) -> tuple[ModelName, ...]:
        """The models that show a version since that begins later: previews, or all others."""
        return tuple(
            name
            for name in sorted((*self.added, *self.versions))
            if (bound := self.shown.snapshots[name].bounded) and bound.is_preview == previews
        )


def history(services: Services, environment: str, *, limit: int) -> Iterator[Promoted]:
    """The last promotions of an environment, newest first; none if there is no such environment."""
    newest = services.state.environment(environment)
    if newest is None:
        return
    later = newest
    for number in range(newest.revision - 1, max(newest.revision - limit, 0) - 1, -1):
        before = services.state.environment(environment, revision=number) if number else None
        yield _promoted(later, before)
        if before is None:
            return
        later = before


def _promoted(later: Environment, before: Environment | None) -> Promoted:
    """A revision and the one before it; None if there is none."""
    is_known = not later.is_forgotten and not (before is not None and before.is_forgotten)
    if not is_known:
        return Promoted(shown=later, added=(), removed=(), versions=(), definitions=())
    return _differences(later, before.snapshots if before is not None else {})


def _differences(shown: Environment, before: Mapping[ModelName, ModelSnapshot]) -> Promoted:
    now = shown.snapshots
    both = sorted(now.keys() & before.keys())
    moved = tuple(name for name in both if now[name].version != before[name].version)
    return Promoted(
        shown=shown,
        added=tuple(sorted(now.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - now.keys())),
        versions=moved,
        definitions=tuple(
            name
            for name in both
            if name not in moved and now[name].fingerprint != before[name].fingerprint
        ),
    )
