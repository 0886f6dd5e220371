"""Statements about versions, and about other pairs of values: one for all of them.

Who adds references to versions, and who decides that there are none, exclude each other (R12):
SQLite lets one writer in at a time. On Postgres it is an advisory lock until the end of the
transaction, which those who add references share. It is taken before any row is locked.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Executable,
    FromClause,
    Row,
    Subquery,
    Text,
    and_,
    bindparam,
    delete,
    literal_column,
    select,
    tuple_,
)

from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.clean_up import BeingDropped
from vde_dagster.state import codec, schema
from vde_dagster.state.database import sql_function
from vde_dagster.state.sqlite_file import take_lock

_Lines: Final = sql_function(
    Text(),
    on_sqlite="json_each('[' || replace({0}, char(10), ',') || ']')",
    # Postgres knows how many rows these are: of a list in JSON it would assume a hundred.
    on_postgres="unnest(string_to_array(CAST({0} AS TEXT), chr(10)))",
)
"""The lines of a text, a row each: lists in JSON."""
_TextAt: Final = sql_function(
    Text(),
    on_sqlite="json_extract({0}, '$[{1}]')",
    on_postgres="(CAST({0} AS JSON) ->> {1})",
)
"""The text at a place of a list in JSON: of the list and the place, from 0 on."""


_PAIRS: Final[BindParameter[str]] = bindparam("pairs", type_=Text)


def pairs(left: ColumnElement[str], right: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether two columns are one of the pairs that a statement is executed with: `of_pairs`.

    They are one parameter, however many there are: a statement with a parameter for each value is
    built again for each number of them, which takes longer than running it.
    """
    return tuple_(left, right).in_(select(*_texts()))


def given(left: str, right: str) -> Subquery:
    """The pairs that a statement is executed with as rows of it, with these names of columns.

    A condition with `pairs` reads every row of a pair. A statement that is joined with the pairs
    can look up one row of each, such as the newest unit of work of a version.
    """
    columns = (text.label(name) for text, name in zip(_texts(), (left, right), strict=True))
    return select(*columns).subquery("wanted")


def _texts() -> tuple[ColumnElement[str], ColumnElement[str]]:
    """Both texts of each pair that a statement is executed with."""
    lines = _Lines(_PAIRS).table_valued("value").alias("value")  # Postgres names the column so, too
    value = lines.c.value
    return _TextAt(value, literal_column("0")), _TextAt(value, literal_column("1"))


def of_pairs(
    connection: Connection, statement: Executable, values: Iterable[tuple[str, str]]
) -> Sequence[Row[Any]]:
    """The rows of a statement with `pairs` or `given`, which is only executed for some values."""
    wanted = list(dict.fromkeys(values))
    return connection.execute(statement, in_pairs(wanted)).all() if wanted else ()


def of_versions(
    connection: Connection, statement: Executable, keys: Iterable[VersionKey]
) -> Sequence[Row[Any]]:
    """The rows of a statement with `pairs` or `given` of models and versions."""
    return of_pairs(connection, statement, map(encoded, keys))


def encoded(key: VersionKey) -> tuple[str, str]:
    """A version as the texts of its model's name and its own."""
    return codec.encode_model(key.model), key.version


def of_version(key: VersionKey) -> dict[str, object]:
    """The columns of a version; also the parameters of a statement about it."""
    return {"model": codec.encode_model(key.model), "version": key.version}


def key_of(row: Row[*tuple[Any, ...]]) -> VersionKey:
    """The version in a row."""
    return VersionKey(codec.decode_model(row.model), row.version)


def is_of(table: FromClause, key: VersionKey) -> ColumnElement[bool]:
    """Whether rows are of a version."""
    return and_(table.c.model == codec.encode_model(key.model), table.c.version == key.version)


def is_alike(
    left: FromClause, right: FromClause, names: Iterable[str] = ("model", "version")
) -> ColumnElement[bool]:
    """Whether rows are of the same version, or have the same in other columns."""
    return and_(*(left.c[name] == right.c[name] for name in names))


def in_pairs(values: Collection[tuple[str, str]]) -> dict[str, str]:
    """The parameter of a statement with `pairs` or `given`."""
    lines = (f"[{_quoted(left)}, {_quoted(right)}]" for left, right in values)
    return {"pairs": "\n".join(lines)}


_quoted: Final = json.JSONEncoder().encode
"""A text as JSON has it; to write each pair as a list would take ten times as long."""


_LOCK: Final = 0x7664655F72656673
_tombstones = schema.tombstones
_TOMBSTONES: Final = select(_tombstones.c.model, _tombstones.c.version, _tombstones.c.dropping)
_CLEAR: Final = delete(_tombstones).where(pairs(_tombstones.c.model, _tombstones.c.version))


def while_adding(connection: Connection) -> None:
    """Until the end of this transaction no other decides that a version is unreachable."""
    take_lock(connection, _LOCK, shared=True)


def while_deciding(connection: Connection) -> None:
    """Until the end of this transaction no other adds a reference to a version."""
    take_lock(connection, _LOCK)


def refer(connection: Connection, keys: Iterable[VersionKey]) -> None:
    """Refer to versions: their tombstones go.

    Raises:
        BeingDropped: One of them is being dropped.
    """
    named = set(map(encoded, keys))
    # There are few tombstones, and mostly none.
    rows = [row for row in connection.execute(_TOMBSTONES) if (row.model, row.version) in named]
    dropping = sorted({row.model for row in rows if row.dropping})
    if dropping:
        raise BeingDropped(
            f"an unused version of {', '.join(dropping)} is being dropped. Nothing was changed",
            advice="run `vde janitor` to finish that, then retry.",
        )
    if rows:
        connection.execute(_CLEAR, in_pairs(sorted((row.model, row.version) for row in rows)))
