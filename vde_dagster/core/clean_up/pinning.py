"""Which Iceberg snapshots of our own tables are named by anything (rules R3 and R12).

A name pins an Iceberg snapshot in one of two ways. *At*: its rows must stay readable. *Since*: what
became of the table after it must stay known as well, since that decides which entries are stale.
Ids of Iceberg snapshots are random numbers, so they are compared whatever table they belong to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntry:
    """What entries of one ledger have in common that one unit of work wrote.

    ``told`` are the inputs of which their traces have tokens, so that these decide by themselves
    whether the entries are stale.
    """

    key: VersionKey
    work_id: str
    told: frozenset[ModelName] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedWork:
    """A unit of work, and the Iceberg snapshots that it names.

    It ``may_publish`` while it is neither done nor abandoned, or if audits refused what it staged,
    which a person may accept. ``own`` are those of its own table: where it began, and what it
    staged. ``inputs`` are what it read of models and sources, ``beside`` what its audits and
    statements read besides.
    """

    work_id: str
    key: VersionKey
    may_publish: bool
    own: tuple[int, ...] = ()
    inputs: Mapping[ModelName, int] = field(default_factory=dict)
    beside: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMark:
    """A high-water mark of a version: up to where a source is known to it."""

    key: VersionKey
    iceberg_snapshot_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Everything in the state that names Iceberg snapshots, at one instant.

    - ``heads`` are those at which ledgers are true, of each version that the state knows: what
      environments show, and what they can go back to.
    - ``works`` are those that entries name, and those that may publish.
    - ``number`` is that of the newest unit of work.
    """

    number: int
    heads: Mapping[VersionKey, int] = field(default_factory=dict)
    entries: tuple[NamedEntry, ...] = ()
    works: tuple[NamedWork, ...] = ()
    marks: tuple[NamedMark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """The Iceberg snapshots that are pinned, each with one reason for people."""

    at: Mapping[int, str]
    since: Mapping[int, str]


def pins(named: Named, *, by_history: Collection[ModelName]) -> Pins:
    """What is pinned.

    Args:
        named: What names Iceberg snapshots.
        by_history: The models whose tables are loaded in parts that no time column tells apart.
            Whether a reader of them is stale follows from the changes of the table, also where it
            has a token: see `vde_dagster.app.inputs.input_moves.InputMoves`.
    """
    at, since = dict[int, str](), dict[int, str]()
    for key, head in named.heads.items():
        at.setdefault(head, f"the ledger of {key.model} refers to it")
    for mark in named.marks:
        why = f"a high-water mark of {mark.key.model} refers to it"
        since.setdefault(mark.iceberg_snapshot_id, why)
    for work in named.works:
        if work.may_publish:
            why = f"a unit of work on {work.key.model} names it"
            for each in (*work.own, *work.beside):
                at.setdefault(each, why)
            for each in work.inputs.values():
                since.setdefault(each, why)
    for key, each in _read(named, by_history):
        since.setdefault(each, f"staleness of {key.model} is decided by it")
    return Pins(at=at, since=since)


def both(one: Pins, other: Pins) -> Pins:
    """What any of two pins; the first has the reason where both do."""
    return Pins(at=_Either(one.at, other.at), since=_Either(one.since, other.since))


class _Either(Mapping[int, str]):
    """Two mappings as one, without copying them."""

    def __init__(self, one: Mapping[int, str], other: Mapping[int, str]) -> None:
        self._one, self._other = one, other

    def __getitem__(self, key: int) -> str:
        return self._one[key] if key in self._one else self._other[key]

    def __iter__(self) -> Iterator[int]:
        yield from self._one
        yield from (each for each in self._other if each not in self._one)

    def __len__(self) -> int:
        return len({*self._one, *self._other})


def _read(named: Named, by_history: Collection[ModelName]) -> Iterator[tuple[VersionKey, int]]:
    """What was read of inputs whose history decides whether an entry is stale."""
    works = {each.work_id: each for each in named.works}
    for entry in named.entries:
        work = works.get(entry.work_id)
        if work is not None:
            for name, each in work.inputs.items():
                if name not in entry.told or name in by_history:
                    yield entry.key, each
