"""Generated models in Python: the rows of their forms by loops over the tables they declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ROWS: Final[Mapping[str, str]] = {
    "COPY": "((row['id'], row['at'], row['amount']) for row in mine)",
    "FULL": "((row['id'], row['at'], row['amount']) for row in first)",
    "RECENT": "((id_, at, len(same) * sum(row['amount'] for row in first if at - {n} * HOUR < "
    "row['at'] <= at)) for (id_, at), same in by(mine, lambda row: (row['id'], row['at'])))",
    "SUMS": "((len(rows), at, sum(row['amount'] for row in rows)) "
    "for at, rows in by(mine, lambda row: row['at'].replace({floor}minute=0, second=0, "
    "microsecond=0)))",
    "LOOKUP": "((row['id'], row['at'], row['amount'] + sum(other['amount'] % 7 for other in last "
    "if None not in (row['id'], other['id']) and other['id'] % 3 == row['id'] % 3)) "
    "for row in mine)",
    "BY_KEY": "((key, max(row['at'] for row in rows), sum(row['amount'] for row in rows)) "
    "for key, rows in by(mine, lambda row: row['id'] and row['id'] % 3 or None))",
}
_SAME: Final = {"KEPT": "COPY"}
IN_PYTHON: Final = frozenset({*_ROWS, *_SAME})
"""The names of the forms that may be written in Python."""
_CODE: Final = """\
from datetime import timedelta

import pyarrow as pa

from vde_dagster import model

HOUR = timedelta(hours=1)
COLUMNS = {{"id": pa.int64(), "at": pa.timestamp("us", "UTC"), "amount": pa.int64()}}


def by(rows, key):
    groups = {{}}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups.items()


@model({arguments})
def rows_of(context):
    first, last = (context.table(name).toArrow().to_pylist() for name in {parents!r})
    mine = [row for row in first if context.start <= row["at"] < context.end]
    made = [(id_, at, amount + {plus}) for id_, at, amount in {rows}]
    columns = [list(column) for column in zip(*made)] or [[], [], []]
    columns += [[int(at.timestamp()) for at in columns[1]] for _ in range({more})]
    types = [*COLUMNS.values(), *[pa.int64()] * {more}]
    names = [*COLUMNS, *(f"more{{number}}" for number in range({more}))]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types)]
    return pa.Table.from_arrays(arrays, names=names)
"""


def code_of(
    form: str,
    parents: tuple[str, ...],
    properties: Mapping[str, object],
    *,
    hours: int,
    daily: bool,
    plus: int,
    more: int,
) -> str:
    """The file of a model of a form, with the arguments of its decorator."""
    columns = {"id": "bigint", "at": "timestamp", "amount": "bigint"}
    columns |= {f"more{number}": "bigint" for number in range(more)}
    arguments = {**properties, "columns": columns}
    rows = _ROWS[_SAME.get(form, form)].format(n=hours, floor="hour=0, " if daily else "")
    return _CODE.format(
        arguments=", ".join(f"{name}={value!r}" for name, value in arguments.items()),
        parents=(parents[0], parents[-1]),
        plus=plus,
        rows=rows,
        more=more,
    )
