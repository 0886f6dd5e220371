"""How the present columns of a source are read at an Iceberg snapshot with another schema.

Iceberg identifies a column by an id and not by its name, and a change of columns makes no Iceberg
snapshot. So rows of an earlier snapshot have the columns that the table has now: one that was added
later is NULL in them, also where another one of its name was dropped before, and a renamed one has
its values under the new name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from vde_dagster.core.model.fingerprint import hash_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaField:
    """A column of a schema, or a field inside of one.

    ``type`` is Spark's, as its SQL reads it. ``fields`` are those of a
    struct, the element of an array, or the key and the value of a map. ``default`` is what rows
    have that are older than the field; None for NULL.
    """

    id: int
    name: str
    type: str
    fields: tuple[SchemaField, ...] = ()
    default: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentColumn:
    """A column that a table has now, and what it was at an earlier Iceberg snapshot.

    ``former`` is its name there, None if it did not exist: then it has its ``default``. ``fields``
    are those inside of it, in order, if anything about them was different; else it is empty.
    """

    name: str
    type: str
    former: str | None
    fields: tuple[PresentColumn, ...] = ()
    default: object = None

    def __str__(self) -> str:
        inside = f"({', '.join(map(str, self.fields))})" if self.fields else ""
        was = f"default {self.default!r}" if self.former is None else f"was {self.former!r}"
        return f"{self.name!r} {was}{inside}"


def present_columns(
    now: Sequence[SchemaField], then: Sequence[SchemaField]
) -> tuple[PresentColumn, ...]:
    """The columns of a schema as an earlier schema has them; empty if they are the same.

    Args:
        now: The table's columns, or the fields of a column.
        then: Those of the Iceberg snapshot.
    """
    if list(map(_shape, now)) == list(map(_shape, then)):
        return ()
    known = {each.id: each for each in then}
    return tuple(_present(each, known.get(each.id)) for each in now)


def _present(now: SchemaField, then: SchemaField | None) -> PresentColumn:
    return PresentColumn(
        name=now.name,
        type=now.type,
        former=None if then is None else then.name,
        fields=() if then is None else present_columns(now.fields, then.fields),
        default=now.default if then is None else None,
    )


def _shape(of: SchemaField) -> tuple[object, ...]:
    """What decides how a column is read; a default only counts where it is missing."""
    return of.id, of.name, of.type, tuple(map(_shape, of.fields))


def replaced(now: Sequence[SchemaField], then: Sequence[SchemaField]) -> tuple[str, ...]:
    """The columns that an earlier schema has under the same name, and which were others there.

    These cannot be seen in names and types. The same is so of a column that was missing if it has a
    default, which may have been another one. Names are compared as Spark does.
    """
    known = {each.name.lower(): each for each in then}
    return tuple(each.name for each in now if _is_other(each, known.get(each.name.lower())))


def _is_other(now: SchemaField, then: SchemaField | None) -> bool:
    if then is None:
        return now.default is not None
    return now.id != then.id or bool(replaced(now.fields, then.fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierSchema:
    """What an Iceberg snapshot with another schema means for who reads it now.

    ``columns`` are empty if all are the same, and ``replaced`` are the names of those that were
    other ones.
    """

    columns: tuple[PresentColumn, ...] = ()
    replaced: tuple[str, ...] = ()

    @classmethod
    def of(cls, now: Sequence[SchemaField], then: Sequence[SchemaField]) -> EarlierSchema:
        """The difference between two schemas."""
        return cls(columns=present_columns(now, then), replaced=replaced(now, then))

    @property
    def marks(self) -> tuple[str, ...]:
        """What a token needs besides names and types, in which these columns are the same."""
        names = frozenset(self.replaced)
        return tuple(str(each) for each in self.columns if each.name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierSchemas:
    """The schemas of a table's Iceberg snapshots.

    ``at`` has that of each one that is known, and nothing at all if all are the same. ``unknown``
    is what a token of another one needs: the present columns that any schema of the table has as
    other ones.
    """

    at: Mapping[int, EarlierSchema] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()

    def columns(self, iceberg_snapshot_id: int | None) -> tuple[PresentColumn, ...]:
        """How the present columns are read at an Iceberg snapshot; empty if they are the same."""
        found = None if iceberg_snapshot_id is None else self.at.get(iceberg_snapshot_id)
        return () if found is None else found.columns

    def marks(self, rows_of: int | None) -> tuple[str, ...]:
        """What the token of an Iceberg snapshot's rows needs besides names and types.

        It is empty unless a column of the same name was another one there, so that tokens stay as
        they are. Rows of None have no values.
        """
        if rows_of is None:
            return ()
        return self.at[rows_of].marks if rows_of in self.at else self.unknown

    def replaced(self, rows_of: int | None) -> bool:
        """Whether a column of the same name was, or may have been, another one at a snapshot."""
        return bool(self.marks(rows_of))

    def identity(self, uuid: str, iceberg_snapshot_id: int | None) -> str:
        """What a table's rows at an Iceberg snapshot belong to: it, with the columns it has now.

        It is the table's uuid, and more only if a column was another one of the same name there.
        """
        marks = self.marks(iceberg_snapshot_id)
        return " ".join([uuid, *([hash_parts(*marks)] if marks else [])])


def uuid_of(identity: str) -> str:
    """The uuid of the table in `EarlierSchemas.identity`."""
    return identity.partition(" ")[0]


SAME: Final = EarlierSchemas()
"""Of a table that has had the same columns at all times."""


def earlier_schemas(
    now: Sequence[SchemaField],
    schemas: Mapping[int, Sequence[SchemaField]],
    snapshots: Iterable[tuple[int, int | None]],
) -> EarlierSchemas:
    """The schemas of a table's Iceberg snapshots, by what became of their columns.

    Args:
        now: The table's columns.
        schemas: All schemas that it knows, by id.
        snapshots: The Iceberg snapshots that it retains, each with the id of its schema, if known.
    """
    found = {number: EarlierSchema.of(now, each) for number, each in schemas.items()}
    if not any(each.columns or each.replaced for each in found.values()):
        return SAME
    others = {name for each in found.values() for name in each.replaced}
    at = {id_: found[number] for id_, number in snapshots if number in found}
    return EarlierSchemas(at=at, unknown=tuple(_unknown(now, others)))


def _unknown(now: Sequence[SchemaField], others: set[str]) -> Iterator[str]:
    return (f"{each.name!r} is {_ids(each)}" for each in now if each.name in others)


def _ids(of: SchemaField) -> str:
    inside = f"({', '.join(map(_ids, of.fields))})" if of.fields else ""
    return f"{of.id}{inside}"
