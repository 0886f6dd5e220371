"""What differs between the rows that two environments show of a model.

Recorded D-SHAs are compared first: what is equal by them is not read, unless another program has
written to one of the tables since. Of all other rows those that belong to each other by a key are
compared value by value; without a key, or where rows of a table share one, each row counts as a
whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.inspect.environment_diff import (
    EnvironmentDiff,
    ModelDiff,
    Rows,
    diff_environments,
)
from vde_dagster.app.publish.foreign_writes import head_damage
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import shown_naming
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.stored_types import is_nested, is_widening, same_layout
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, TableName, environment_view
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.sql.row_comparison import (
    AFTER,
    BEFORE,
    Comparison,
    changed,
    joined_counts,
    only_in,
    repeated_keys,
    rows_of,
    whole_counts,
    whole_sample,
)
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.ports.state import Environment

RowValues = Sequence[tuple[object, ...]]
Ask = Callable[[exp.Query, Mapping[ModelName, TableName], int], RowValues]
"""Answers a query of `row_comparison`: the views that its two names stand for, and at most how many
rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDiff:
    """A column that only one side has, or that has two types; ``old`` or ``new`` may be None."""

    name: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRow:
    """A row of both: its key, and the values that differ, before and after, by column."""

    key: tuple[object, ...]
    values: Mapping[str, tuple[object, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDiff:
    """How many rows differ, and some of them.

    Without ``keys`` a changed row counts as removed and added. ``repeated`` are keys that several
    rows share, before and after, each with the number of its rows: then there are no ``keys``.
    ``not_compared`` are columns whose values do not compare.
    """

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    before: int
    after: int
    added: int
    removed: int
    changed: int = 0
    by_column: Mapping[str, int]
    added_rows: RowValues
    removed_rows: RowValues
    changed_rows: tuple[ChangedRow, ...] = ()
    repeated: tuple[RowValues, RowValues] = ((), ())
    asked_keys: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDiff:
    """One model in two environments.

    ``rows`` is None if they are known to be equal without being read; ``why`` says how. ``read``
    are the times whose rows were compared, None for all of them.
    """

    before: Environment
    after: Environment
    node: Node
    why: str
    columns: tuple[ColumnDiff, ...]
    read: tuple[Interval, ...] | None = None
    rows: RowDiff | None = None

    @property
    def is_equal(self) -> bool:
        """Whether both have the same columns and rows."""
        found = self.rows
        differs = found is not None and (found.added or found.removed or found.changed)
        unknown = found is not None and bool(found.not_compared)
        return not (self.columns or differs or unknown)


def diff_table(
    services: Services,
    ask: Ask,
    before: str,
    after: str,
    model: ModelName,
    *,
    on: Sequence[str] = (),
    limit: int,
) -> TableDiff:
    """Compare the rows that two environments show of a model.

    Args:
        services: The ports.
        ask: Who answers queries.
        before: The canonical name of an environment.
        after: Of another one.
        model: The model.
        on: The columns of a key; by default the model's grain, or the unique key of its kind.
        limit: At most how many rows of each sort are shown.

    Raises:
        Refused: There is no such environment, or one of them lacks the model, or its rows.
        Conflict: A table was written to, or a view moved, meanwhile, so what was counted is not of
            one state.
    """
    found = diff_environments(services, before, after)
    different = next((each for each in found.models if each.node.name == model), None)
    if different is None or different.before is None or different.after is None:
        lacking = before if different is None or different.before is None else after
        raise Refused(f"{lacking} has no model {model}", advice=f"`vde diff {before} {after}`.")
    one = _view(services, found.before, model)
    other = _view(services, found.after, model)
    whole = TableDiff(
        before=found.before,
        after=found.after,
        node=different.node,
        why="",
        columns=tuple(_columns(one.columns, other.columns)),
    )
    keys = (different.before.key, different.after.key)
    if different.rows is Rows.SAME_TABLE:
        return replace(whole, why="both show the same table")
    is_known = different.node.model.kind.stores_rows and _are_as_recorded(services, keys)
    if is_known and _is_equal_by_digest(services, different, keys):
        return replace(whole, why="every interval has the same D-SHA in both")
    read = _to_read(services, found, different) if is_known else None
    comparison, left_out = _comparison(different.node, one.columns, other.columns, on, read)
    heads = _heads(services, (one, other))
    views = {BEFORE: one.name, AFTER: other.name}
    rows = _compared(lambda query, most: ask(query, views, most), comparison, limit)
    if [_view(services, each, model) for each in (found.before, found.after)] != [one, other]:
        raise Conflict(f"{model} was promoted in the meantime", advice="Compare again.")
    if _heads(services, (one, other)) != heads:
        raise Conflict(f"{model} was written to in the meantime", advice="Compare again.")
    return replace(whole, read=read, rows=replace(rows, not_compared=left_out))


def _view(services: Services, environment: Environment, model: ModelName) -> ViewDefinition:
    name = environment_view(model, environment.name, shown_naming(services, environment))
    view = services.catalog.view(name)
    if view is None:
        raise Refused(
            f"{environment.name} has no view of {model}: it is not loaded, or the environment "
            "shows only models that differ from prod",
            advice=f"`vde intervals {environment.name}` shows what is loaded.",
        )
    return view


def _columns(old: Sequence[Column], new: Sequence[Column]) -> list[ColumnDiff]:
    """Columns that differ, in the order of the new ones, and then those that are missing."""
    before = {each.name.lower(): each for each in old}
    after = {each.name.lower(): each for each in new}
    found = []
    for name, each in {**after, **before}.items():
        types = [side[name].type if name in side else None for side in (before, after)]
        if None in types or not same_layout(str(types[0]), str(types[1])):
            found.append(ColumnDiff(name=each.name, old=types[0], new=types[1]))
    return found


def _are_as_recorded(services: Services, keys: tuple[VersionKey, VersionKey]) -> bool:
    """Whether readers find the rows that D-SHAs were recorded of, and none of other programs."""
    heads = services.state.heads(keys)
    return all(head_damage(services, key, heads.get(key)) is None for key in keys)


def _is_equal_by_digest(
    services: Services, different: ModelDiff, keys: tuple[VersionKey, VersionKey]
) -> bool:
    """Whether all that both tables show was hashed, to the same."""
    if different.rows is not Rows.EQUAL or different.only_before or different.only_after:
        return False
    held = services.state.holdings(keys)
    return all(not held[key].outdated for key in keys)


def _to_read(
    services: Services, found: EnvironmentDiff, different: ModelDiff
) -> tuple[Interval, ...] | None:
    """The times whose rows may differ; None for all, where rows are not known by time."""
    sides = [(found.before, different.before), (found.after, different.after)]
    graphs = [stored_graph(each.snapshots, services.models) for each, _ in sides]
    nodes = [graph[different.node.name] for graph in graphs]
    axes = {(node.time_axis, node.model.kind.is_partitioned) for node in nodes}
    if len(axes) > 1 or not nodes[0].model.kind.is_partitioned or nodes[0].time_axis is None:
        return None
    keys = [snapshot.key for _, snapshot in sides if snapshot is not None]
    outdated = [each for held in services.state.holdings(keys).values() for each in held.outdated]
    known = (different.different, different.not_compared)
    alone = (different.only_before, different.only_after)
    return merge(each for part in (*known, *alone, outdated) for each in part) or None


_NEVER_EQUAL: Final = ("map<", "variant", "interval")


def _comparison(
    node: Node,
    old: Sequence[Column],
    new: Sequence[Column],
    on: Sequence[str],
    read: tuple[Interval, ...] | None,
) -> tuple[Comparison, tuple[str, ...]]:
    """What is compared, and the columns of both whose values do not compare."""
    before = {each.name.lower(): each.type for each in old}
    common = [each for each in new if each.name.lower() in before]
    left_out = tuple(
        each.name for each in common if not _compares(before[each.name.lower()], each.type)
    )
    columns = tuple(each.name for each in common if each.name not in left_out)
    if not columns:
        raise Refused(f"{node.name} has no comparable column that both sides have")
    spelled = {each.lower(): each for each in columns}
    unknown = [each for each in on if each.lower() not in spelled]
    if unknown:
        raise Refused(
            f"{node.name} does not have the column {', '.join(unknown)} in both environments",
            advice=f"They share: {', '.join(columns)}.",
        )
    keys = next((k for k in (tuple(on), *_own_keys(node)) if _are(k, spelled)), ())
    inside = None
    if read is not None and node.time_axis is not None:
        axis = node.time_axis
        column = exp.column(exp.to_identifier(axis.column, quoted=True))
        parts = [
            within(column, each, time_type=axis.type, time_format=axis.format) for each in read
        ]
        inside = exp.or_(*parts)
    named = tuple(spelled[each.lower()] for each in keys)
    return Comparison(keys=named, columns=columns, inside=inside), left_out


def _are(keys: Sequence[str], spelled: Mapping[str, str]) -> bool:
    return bool(keys) and all(each.lower() in spelled for each in keys)


def _own_keys(node: Node) -> list[tuple[str, ...]]:
    """The grains that the model declares, and the key by which its kind writes."""
    unique = getattr(node.model.kind, "unique_key", ())
    return [*node.model.grains, tuple(unique)]


def _compares(old: str, new: str) -> bool:
    is_wider = is_widening(old, new) or is_widening(new, old)
    is_equal = same_layout(old, new) or (is_wider and not is_nested(new))
    return is_equal and not any(each in f"{old} {new}".lower() for each in _NEVER_EQUAL)


def _compared(
    ask: Callable[[exp.Query, int], RowValues], comparison: Comparison, limit: int
) -> RowDiff:
    sides, asked = (BEFORE, AFTER), tuple[str, ...]()
    repeated: tuple[RowValues, RowValues] = ((), ())
    before, after = (_number(ask(rows_of(comparison, each), 1)[0][0]) for each in sides)
    if comparison.keys:
        one, other = (ask(repeated_keys(comparison, each), limit) for each in sides)
        if one or other:
            repeated, asked = (one, other), comparison.keys
            comparison = replace(comparison, keys=())
    counts, sample = (joined_counts, only_in) if comparison.keys else (whole_counts, whole_sample)
    added, removed, *others = map(_number, ask(counts(comparison), 1)[0])
    altered, *columns = others or [0]
    shown = ask(changed(comparison), limit) if altered else ()
    by_column = dict(zip(comparison.values, columns, strict=False))
    return RowDiff(
        keys=comparison.keys,
        columns=comparison.columns,
        before=before,
        after=after,
        added=added,
        removed=removed,
        changed=altered,
        by_column={name: count for name, count in by_column.items() if count},
        added_rows=ask(sample(comparison, AFTER), limit) if added else (),
        removed_rows=ask(sample(comparison, BEFORE), limit) if removed else (),
        changed_rows=tuple(_changed_row(comparison, each) for each in shown),
        repeated=repeated,
        asked_keys=asked,
    )


def _changed_row(comparison: Comparison, row: tuple[object, ...]) -> ChangedRow:
    first, count = len(comparison.keys), len(comparison.values)
    old, new = row[first : first + count], row[first + count :]
    pairs = zip(comparison.values, old, new, strict=True)
    return ChangedRow(
        key=row[:first],
        values={name: (one, other) for name, one, other in pairs if not _is_same(one, other)},
    )


def _is_same(one: object, other: object) -> bool:
    """Whether two values are equal to the query that compared them: NaN is to NaN."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return one == other


def _number(value: object) -> int:
    assert isinstance(value, int), f"{value!r} is a number of rows"
    return value


def _heads(services: Services, views: Sequence[ViewDefinition]) -> list[int | None]:
    """The Iceberg snapshots that views show; None for those over a view."""
    tables = [services.catalog.table(each.target) for each in views]
    return [None if each is None else each.iceberg_snapshot_id for each in tables]
