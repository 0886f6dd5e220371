"""What a direct change of a model does to its readers (seed 000, *Change Categorization*)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from vde_dagster.core.graph.graph import Node
from vde_dagster.core.model.fingerprint import loading_parts, statement_parts
from vde_dagster.core.model.model import PythonFunction
from vde_dagster.core.model.snapshot import Category, DecidedBy
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Rules
from vde_dagster.core.planning.changes.flow import Flow, row_columns, row_parts
from vde_dagster.core.planning.changes.reason_values import Reason, ReasonKind
from vde_dagster.core.planning.changes.reasons import Readers, why_rows_differ
from vde_dagster.core.sql.meaning.functions import is_unknown
from vde_dagster.core.sql.meaning.parts import EVERY


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A category with its reasons.

    ``equal`` where a table is kept because its rows were found to be equal.
    """

    category: Category
    reasons: tuple[Reason, ...]
    decided_by: DecidedBy = DecidedBy.AUTOMATIC
    undecidable: bool = False
    equal: bool = False

    @property
    def ends_here(self) -> bool:
        """Whether what changed counts as unchanged for the model's readers."""
        person = self.decided_by is DecidedBy.PERSON
        by_person = person and self.category is Category.NON_BREAKING
        return self.equal or by_person or self.category is Category.FORWARD_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """Which parts of a model's flow differ: its rows, and columns by their names in lower case.

    ``order`` has the names of all columns, those that are missing last.
    """

    order: tuple[str, ...]
    rows: bool
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    @classmethod
    def between(cls, old: Flow, new: Flow) -> Delta:
        """What differs between the flows of one model. Unknown columns are one, named ``*``."""
        before = {**old.columns, EVERY: old.unknown}
        after = {**new.columns, EVERY: new.unknown}
        rows = old.rows != new.rows
        open_ended = not rows and before[EVERY] != after[EVERY]
        names = [name for name in new.columns if name in old.columns]
        differing = [name for name in names if old.columns[name] != new.columns[name]]
        removed = tuple(name for name in old.columns if name not in new.columns)
        return cls(
            order=(*new.columns, EVERY, *removed),
            rows=rows,
            added=tuple(name for name in new.columns if name not in old.columns),
            removed=removed,
            changed=(*differing, *([EVERY] if open_ended else [])),
        )

    def __bool__(self) -> bool:
        return bool(self.rows or self.added or self.removed or self.changed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are added or removed, or may have other values: all in other rows."""
        if self.rows:
            return tuple(name for name in self.order if name != EVERY)
        found = {*self.changed, *self.added, *self.removed}
        return tuple(name for name in self.order if name in found)


def direct_verdict(
    before: Node,
    after: Node,
    delta: Delta,
    *,
    upstream: tuple[Reason, ...],
    readers: Readers,
    rules: Rules,
) -> Verdict:
    """The category of a model whose own data hash changed.

    Args:
        before: The model as it was.
        after: The model as it is.
        delta: What of it differs, its parents' changes with it.
        upstream: What of its parents it follows from that changed.
        readers: Who reads each model.
        rules: How changes are judged.
    """
    verdict = _automatic(before, after, delta, upstream=upstream, readers=readers, rules=rules)
    chosen = rules.decisions.get(after.name)
    if chosen is not None:
        return replace(verdict, category=chosen, decided_by=DecidedBy.PERSON)
    if not _goes_forward(before, after, rules):
        return verdict
    reason = Reason(kind=ReasonKind.FORWARD_ONLY)
    return Verdict(category=Category.FORWARD_ONLY, reasons=(*verdict.reasons, reason))


def _goes_forward(before: Node, after: Node, rules: Rules) -> bool:
    if after.name in rules.settled:
        return rules.settled[after.name]
    if before.model.kind.keyword != after.model.kind.keyword:
        return False
    return rules.forward_only or after.model.goes_forward


def _automatic(
    before: Node,
    after: Node,
    delta: Delta,
    *,
    upstream: tuple[Reason, ...],
    readers: Readers,
    rules: Rules,
) -> Verdict:
    unclear = _undecidable(before, after)
    if unclear is not None:
        return Verdict(category=Category.BREAKING, reasons=(unclear, *upstream), undecidable=True)
    own = list(_own_rows(before, after, delta)) if delta.rows else []
    lost = list(_lost(after.name, delta, readers, strict=rules.strict_columns))
    reasons = [*own, *(reason for reason, _ in lost)]
    if delta.added:
        reasons.append(Reason(kind=ReasonKind.COLUMNS_ADDED, columns=delta.added))
    breaking = delta.rows or any(breaks for _, breaks in lost)
    reasons += upstream if delta.rows or delta.changed else ()
    unknown = tuple(_unknown(before, after)) if delta.rows else ()
    return Verdict(
        category=Category.BREAKING if breaking else Category.NON_BREAKING,
        reasons=(*reasons, *unknown) or _harmless(before, after),
        undecidable=bool(unknown),
    )


def _unknown(before: Node, after: Node) -> Iterator[Reason]:
    """Why it is not known whether a changed query returns the same rows.

    A column may come from several places, or the change adds a function that is not known: it may
    make rows, or count them.
    """
    queries = [each.canonical for each in (before, after) if each.canonical is not None]
    if not all(query.is_bound for query in queries):
        yield Reason(kind=ReasonKind.SOURCE_UNDECLARED)
    old, new = (_unknown_functions(node) for node in (before, after))
    for name in sorted(new - old):
        yield Reason(kind=ReasonKind.FUNCTION_UNKNOWN, function=name)


def _unknown_functions(node: Node) -> set[str]:
    if node.canonical is None:
        return set()
    calls = node.canonical.expression.find_all(exp.Anonymous)
    return {call.name.lower() for call in calls if is_unknown(call)}


def _undecidable(before: Node, after: Node) -> Reason | None:
    """Why it is not known at all what a change does."""
    old, new = before.model.body, after.model.body
    if isinstance(old, PythonFunction) or isinstance(new, PythonFunction):
        return None if _only_storage(before, after) else Reason(kind=ReasonKind.PYTHON)
    if statement_parts(before.model) != statement_parts(after.model):
        return Reason(kind=ReasonKind.STATEMENTS)
    if after.model.kind.is_refreshed:
        return Reason(kind=ReasonKind.MANAGED)
    return None


def _only_storage(before: Node, after: Node) -> bool:
    """Whether a model in Python differs in its table's layout or its stamp alone."""
    return (
        before.model.columns == after.model.columns
        and isinstance(before.model.body, PythonFunction)
        and isinstance(after.model.body, PythonFunction)
        and row_parts(before.model) == row_parts(after.model)
    )


_LOADING: Final = {
    "kind": ReasonKind.KIND_OPTIONS,
    "partitions": ReasonKind.PARTITIONS,
    "unit": ReasonKind.UNIT,
    "late_data": ReasonKind.LATE_DATA,
    "range": ReasonKind.FIRST_INTERVAL,
    "windows": ReasonKind.WINDOWS,
    "session": ReasonKind.SESSION,
}
"""Which reason each of `loading_parts` is."""


def _own_rows(before: Node, after: Node, delta: Delta) -> Iterator[Reason]:
    """Why a model's own edit may change its rows; nothing where only its parents' do."""
    was, now = before.model.kind.keyword, after.model.kind.keyword
    if was != now:
        yield Reason(kind=ReasonKind.MODEL_KIND, before=was, after=now)
        return
    old, new = loading_parts(before.model), loading_parts(after.model)
    for name, kind in _LOADING.items():
        if old[name] != new[name]:
            is_plain = kind is ReasonKind.UNIT
            yield Reason(
                kind=kind,
                before=old[name] if is_plain else "",
                after=new[name] if is_plain else "",
            )
    if _rows_part(before) != _rows_part(after):
        yield why_rows_differ(before, after)
    keys = [row_columns(node.model, delta.order) for node in (before, after)]
    if keys[0] != keys[1]:
        was, now = (", ".join(each) for each in keys)
        yield Reason(kind=ReasonKind.KEY_COLUMNS, before=was, after=now)
    elif changed_keys := tuple(name for name in keys[1] if name in delta.changed):
        yield Reason(kind=ReasonKind.KEY_VALUES, columns=changed_keys)


def _rows_part(node: Node) -> object:
    return node.canonical.meaning.rows if node.canonical is not None else node.model.body


def _lost(
    name: ModelName, delta: Delta, readers: Readers, *, strict: bool
) -> Iterator[tuple[Reason, bool]]:
    """What removed and changed columns mean to who reads them, and whether it is breaking."""
    removed = {column: readers.of_removed(name, column) for column in delta.removed}
    known = {column for column in delta.order if column != EVERY}
    changed = {column: readers.of_changed(name, column, known) for column in delta.changed}
    kinds = (
        (removed, ReasonKind.READ_COLUMN_REMOVED, _REMOVED[delta.rows]),
        (changed, ReasonKind.READ_COLUMN_CHANGED, _CHANGED[delta.rows]),
    )
    for read_by, of_read, of_unread in kinds:
        for column, found in read_by.items():
            if found:
                yield Reason(kind=of_read, columns=(column,), read_by=tuple(found)), True
        unread = tuple(column for column, found in read_by.items() if not found)
        if unread:
            yield Reason(kind=of_unread, columns=unread), strict


_REMOVED: Final = {True: ReasonKind.COLUMNS_REMOVED, False: ReasonKind.UNREAD_COLUMNS_REMOVED}
_CHANGED: Final = {True: ReasonKind.COLUMNS_CHANGED, False: ReasonKind.UNREAD_COLUMNS_CHANGED}
"""The reasons of columns that no model reads, by whether the rows may change, too."""


def _harmless(before: Node, after: Node) -> tuple[Reason, ...]:
    """What a change is that leaves rows and values as they are."""
    old, new = before.model, after.model
    found = []
    if old.storage != new.storage or old.kind != new.kind:
        found.append(Reason(kind=ReasonKind.STORAGE))
    if old.stamp != new.stamp:
        found.append(Reason(kind=ReasonKind.STAMP, before=old.stamp, after=new.stamp))
    return tuple(found) or (Reason(kind=ReasonKind.WRITING),)
