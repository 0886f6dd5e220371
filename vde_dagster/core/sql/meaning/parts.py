"""Parts of a meaning: a digest, and what it reads of other models.

The rows of a result are thought of as a set of identities: those that a table has, pairs of them
after a join, groups after GROUP BY. A column is a function of them. Two results with equal digests
of their rows and of some columns have, in these columns, the same rows as often.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vde_dagster.core.names import ModelName

DIGEST_BYTES: Final = 16
ROWS: Final = ""
"""In a `Read`: which rows there are, whatever their values."""
EVERY: Final = "*"
"""In a `Read`: all columns, whatever their names."""

NOTHING: Final[frozenset[Read]] = frozenset()


class Read(NamedTuple):
    """A model, and one of its columns in lower case, `ROWS` or `EVERY`."""

    model: ModelName
    column: str


@dataclass(frozen=True, slots=True)
class MeaningPart:
    """A digest of 16 bytes; ``nondeterministic`` where equal inputs may give another outcome."""

    digest: bytes
    reads: frozenset[Read] = NOTHING
    nondeterministic: bool = False


@dataclass(frozen=True, slots=True)
class RowSet:
    """Rows, and the conditions that are still to be applied to them, in no order.

    Conditions that follow one another are one set: a filter in a sub-query, and the same filter
    around it, are the same.
    """

    base: MeaningPart
    filters: frozenset[MeaningPart] = frozenset()

    @property
    def part(self) -> MeaningPart:
        """These rows as one part."""
        if not self.filters:
            return self.base
        return combined("where", [self.base, *in_order(self.filters)])

    def filtered(self, conditions: Iterable[MeaningPart]) -> RowSet:
        """Those rows for which further conditions are true."""
        return replace(self, filters=self.filters.union(conditions))

    def joined(self, other: MeaningPart) -> RowSet:
        """Each of these rows with each of others; conditions on either are conditions on pairs."""
        return replace(self, base=combined("join", [self.base, other]))

    def then(
        self, step: str, parts: Iterable[MeaningPart] = (), *, nondeterministic: bool = False
    ) -> RowSet:
        """The rows that a step makes of these and of other parts, in their order."""
        made = combined(step, [self.part, *parts])
        return RowSet(replace(made, nondeterministic=True) if nondeterministic else made)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a query returns: rows, and named columns in their order.

    A column named `EVERY` stands for columns that are not known. ``order`` is how the result is
    sorted, which changes no row. ``written`` are the names as a call sees them that takes all
    columns; none where they are not known.
    """

    rows: RowSet
    columns: tuple[tuple[str, MeaningPart], ...]
    order: MeaningPart | None = None
    written: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether there are columns that are not known."""
        return any(name == EVERY for name, _ in self.columns)

    @property
    def values(self) -> list[MeaningPart]:
        """The columns' parts, without their names."""
        return [part for _, part in self.columns]

    def column(self, name: str) -> MeaningPart | None:
        """The column of this name in lower case; None if there is none or several."""
        found = [part for each, part in self.columns if each == name]
        return found[0] if len(found) == 1 else None

    @property
    def digest(self) -> str:
        """A digest of all of it in hexadecimal digits: equal if two queries give equal tables."""
        parts = [self.rows.part, *self.values, *([self.order] if self.order is not None else [])]
        return combined("query", parts, *(name for name, _ in self.columns)).digest.hex()

    def parts(self) -> Iterator[MeaningPart]:
        """Everything that the result depends on."""
        yield self.rows.part
        yield from self.values


def digest_of(label: str, *pieces: bytes) -> bytes:
    """A digest of a label and pieces, each with its length, so that lists are unambiguous."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for piece in (label.encode(), *pieces):
        found.update(b"%d:" % len(piece))
        found.update(piece)
    return found.digest()


def leaf(label: str, *texts: str, reads: Iterable[Read] = ()) -> MeaningPart:
    """A part that consists of no others."""
    return MeaningPart(digest_of(label, *(text.encode() for text in texts)), frozenset(reads))


def combined(label: str, parts: Iterable[MeaningPart], *texts: str) -> MeaningPart:
    """One part of several, in their order."""
    every = list(parts)
    return MeaningPart(
        digest_of(
            f"{label} {len(texts)}",
            *(text.encode() for text in texts),
            *(each.digest for each in every),
        ),
        NOTHING.union(*(each.reads for each in every)),
        any(each.nondeterministic for each in every),
    )


def in_order(parts: Iterable[MeaningPart]) -> list[MeaningPart]:
    """Parts in an order that does not depend on how they are written."""
    return sorted(parts, key=lambda each: each.digest)


ONE_ROW: Final = leaf("one row")
"""The row of a SELECT without FROM, or of aggregates without GROUP BY."""
