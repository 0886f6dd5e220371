"""How the rows that came differ from those that were expected."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.unit_tests.cells import Raw, WrongValue, read_cell
from vde_dagster.core.unit_tests.definition import Expected, ExpectedRow
from vde_dagster.core.unit_tests.matching import matched

TOLERANCE: Final = 1e-9
"""By how much a DOUBLE may differ, relative to the larger one; near zero by as much at all."""
SINGLE_TOLERANCE: Final = 1e-6
"""The same for a FLOAT, which has about seven digits."""

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The rows that a query or function returned, in their order."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedCell:
    """A column in which a row differs, with both values."""

    column: str
    expected: object
    actual: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRow:
    """A row that came with other values; ``place`` is where it was expected."""

    place: Place
    cells: tuple[ChangedCell, ...]
    same: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingRow:
    """A row that did not come, as it was expected."""

    place: Place
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How rows differ. ``absent`` are expected columns that did not come.

    ``changed`` rows are pairs of an expected row and of the one that is most like it. With
    ``reordered`` all rows came, and a query that orders them returned them in another order.
    """

    expected: int
    actual: int
    absent: tuple[str, ...] = ()
    changed: tuple[ChangedRow, ...] = ()
    missing: tuple[MissingRow, ...] = ()
    unexpected: tuple[Mapping[str, object], ...] = ()
    reordered: bool = False


def difference(expected: Expected, answer: Answer, *, ordered: bool) -> Difference | None:
    """How an answer differs from what is expected; None where it does not.

    Rows are compared as a multiset, NULL equals NULL, numbers by value whatever their types, floats
    within a tolerance, and times as instants. With ``ordered`` the order counts, too.
    """
    table = _Table.of(expected, answer)
    if table.absent:
        return Difference(
            expected=len(expected.rows), actual=len(answer.rows), absent=tuple(table.absent)
        )
    wanted = [(each, table.values(each)) for each in expected.rows]
    found = [tuple(row[at] for at in table.positions) for row in answer.rows]
    partners = _partners([values for _, values in wanted], found, table.same)
    if len(partners) == len(wanted) == len(found):
        in_order = all(
            table.same(values, row) for (_, values), row in zip(wanted, found, strict=True)
        )
        if in_order or not ordered:
            return None
        return Difference(expected=len(wanted), actual=len(found), reordered=True)
    left_over = [each for at, each in enumerate(wanted) if at not in partners]
    taken = set(partners.values())
    extra = [row for to, row in enumerate(found) if to not in taken]
    changed, missing, unexpected = _paired(left_over, extra, table)
    return Difference(
        expected=len(wanted),
        actual=len(found),
        changed=tuple(changed),
        missing=tuple(missing),
        unexpected=tuple(unexpected),
    )


class _Nothing:
    """What a column has that a partly expected row does not name: it equals every value."""


_ANYTHING: Final = _Nothing()


@dataclass(frozen=True, slots=True)
class _Table:
    """The columns that are compared, and where the answer has them."""

    columns: tuple[Column, ...]
    positions: tuple[int, ...]
    absent: tuple[str, ...]
    partial: bool

    @classmethod
    def of(cls, expected: Expected, answer: Answer) -> _Table:
        named = dict.fromkeys(name.lower() for row in expected.rows for name in row.values)
        known = {each.name.lower(): at for at, each in enumerate(answer.columns)}
        positions = tuple(
            at for name, at in known.items() if name in named or not (expected.partial and named)
        )
        return cls(
            columns=tuple(answer.columns[at] for at in positions),
            positions=positions,
            absent=tuple(name for name in named if name not in known),
            partial=expected.partial,
        )

    def values(self, row: ExpectedRow) -> Row:
        """An expected row in the columns' types; what cannot be read so stays as it is written."""
        written = {name.lower(): raw for name, raw in row.values.items()}
        missing: object = _ANYTHING if self.partial else None
        return tuple(
            _read(written[each.name.lower()], each.type)
            if each.name.lower() in written
            else missing
            for each in self.columns
        )

    def same(self, expected: Row, actual: Row) -> bool:
        """Whether a row is the one that is expected."""
        pairs = zip(self.columns, expected, actual, strict=True)
        return all(equal(left, right, kind=column.type) for column, left, right in pairs)

    def differing(self, expected: Row, actual: Row) -> list[ChangedCell]:
        """The columns in which two rows differ."""
        return [
            ChangedCell(column=column.name, expected=left, actual=right)
            for column, left, right in zip(self.columns, expected, actual, strict=True)
            if not equal(left, right, kind=column.type)
        ]

    def named(self, row: Row) -> dict[str, object]:
        """A row by column, without what is not compared."""
        pairs = zip(self.columns, row, strict=True)
        return {column.name: value for column, value in pairs if value is not _ANYTHING}


def _read(raw: Raw, kind: str) -> object:
    try:
        return read_cell(raw, kind)
    except WrongValue:
        return raw


def equal(expected: object, actual: object, *, kind: str = "double") -> bool:
    """Whether two values are the same to a test; ``kind`` is the type of their column."""
    if expected is _ANYTHING:
        return True
    if expected is None or actual is None or isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    match expected, actual:
        case (float() as left, int() | float() | Decimal() as right) | (
            int() | Decimal() as left,
            float() as right,
        ):
            same = _near(float(left), float(right), kind)
        case (datetime(), datetime()):
            same = _instant(expected) == _instant(actual)
        case (Mapping(), Mapping()):
            same = _same_mapping(expected, actual, kind)
        case (list() | tuple(), list() | tuple()):
            same = len(expected) == len(actual) and all(
                equal(left, right, kind=kind) for left, right in zip(expected, actual, strict=True)
            )
        case (int() | Decimal(), int() | Decimal()):
            same = expected == actual
        case _:
            same = type(expected) is type(actual) and expected == actual
    return same


def _same_mapping(
    expected: Mapping[object, object], actual: Mapping[object, object], kind: str
) -> bool:
    keys = {_key(each): each for each in expected}
    others = {_key(each): each for each in actual}
    return keys.keys() == others.keys() and all(
        equal(expected[each], actual[others[key]], kind=kind) for key, each in keys.items()
    )


def _near(left: float, right: float, kind: str) -> bool:
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    far = SINGLE_TOLERANCE if "float" in kind.lower() else TOLERANCE
    return math.isclose(left, right, rel_tol=far, abs_tol=TOLERANCE)


def _instant(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _key(value: object) -> object:
    """What equal values have in common; floats and nested values have only that they are such."""
    match value:
        case bool() | str() | bytes() | None:
            return (type(value).__name__, value)
        case int() | Decimal():
            return Decimal(value)
        case float():
            return "float"
        case datetime():
            return _instant(value)
        case date():
            return value
        case _:
            return "nested"


def _partners(
    wanted: Sequence[Row], found: Sequence[Row], same: Callable[[Row, Row], bool]
) -> dict[int, int]:
    """Which row each expected row is, by their places; as many as there can be."""
    by_key: dict[object, list[int]] = defaultdict(list)
    is_whole = all(value is not _ANYTHING for row in wanted for value in row)
    for to, row in enumerate(found):
        by_key[tuple(map(_key, row)) if is_whole else ()].append(to)
    return matched(
        [
            [to for to in by_key[tuple(map(_key, row)) if is_whole else ()] if same(row, found[to])]
            for row in wanted
        ]
    )


def _paired(
    wanted: Sequence[tuple[ExpectedRow, Row]], found: Sequence[Row], table: _Table
) -> tuple[list[ChangedRow], list[MissingRow], list[Mapping[str, object]]]:
    """Expected rows next to those that are most like them, and what is left on both sides."""
    free = dict(enumerate(found))
    pairs: dict[int, int] = {}
    for _, at, to in sorted(_likeness(wanted, found, table)):
        if at not in pairs and to in free:
            pairs[at] = to
            del free[to]
    changed, missing = [], []
    for at, (row, values) in enumerate(wanted):
        if at in pairs:
            cells = tuple(table.differing(values, found[pairs[at]]))
            names = {each.column for each in cells}
            same = {k: v for k, v in table.named(values).items() if k not in names}
            changed.append(ChangedRow(place=row.place, cells=cells, same=same))
        else:
            missing.append(MissingRow(place=row.place, values=table.named(values)))
    return changed, missing, [table.named(row) for row in free.values()]


_COMPARED: Final = 300
"""Up to how many rows on a side are compared each with each; beyond it they are only listed."""


def _likeness(
    wanted: Sequence[tuple[ExpectedRow, Row]], found: Sequence[Row], table: _Table
) -> Iterator[tuple[int, int, int]]:
    """How many columns differ between two rows, for each pair with at least half of them equal."""
    if max(len(wanted), len(found)) > _COMPARED:
        return
    most = len(table.columns) / 2
    for at, (_, values) in enumerate(wanted):
        for to, row in enumerate(found):
            differing = len(table.differing(values, row))
            if differing <= most:
                yield differing, at, to
