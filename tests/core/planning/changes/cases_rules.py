# ruff: noqa: E501 - rows of tables stay on one line
"""Rules by which changes are judged: strict columns, forward only, and what a person decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tests.core.planning.changes.case import (
    ADDED,
    BREAKING,
    FORWARD_ONLY,
    KEPT,
    METADATA,
    NON_BREAKING,
    REACHED,
    REACHED_ROWS,
    REMOVED,
    ROWS,
    UNCHANGED,
    UNREAD,
    Expected,
    decided,
    edit,
    edits,
)
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.planning.changes.difference import DecidedBy, Rules

STRICT: Final = Rules(strict_columns=True)
FORWARD: Final = Rules(forward_only=True)

A, AB, ABC = "SELECT a FROM raw.t", "SELECT a, b FROM raw.t", "SELECT a, b, c FROM raw.t"
LOWER = "SELECT a, LOWER(b) AS b FROM raw.t"
SOME = "SELECT a FROM raw.t WHERE a > 1"


def by_person(expected: Expected) -> Expected:
    """The same, decided by a person."""
    return replace(expected, decided_by=DecidedBy.PERSON, undecidable=None)


STRICTLY = [
    edit("strict: a column that nobody reads is removed", AB, A, BREAKING("b", "`b`"), STRICT, y=("SELECT a FROM m.x", KEPT)),
    edit("strict: a column that nobody reads has other values", AB, LOWER, BREAKING("b", "`b`"), STRICT, y=("SELECT a FROM m.x", KEPT)),
    edit("strict: a column that nobody reads has another name", AB, "SELECT a, b AS k FROM raw.t", BREAKING("b k"), STRICT, y=("SELECT a FROM m.x", KEPT)),
    edit("strict: a column is added", A, AB, NON_BREAKING("b"), STRICT, y=("SELECT a FROM m.x", KEPT)),
    edit("strict: columns stand in another order", AB, "SELECT b, a FROM raw.t", NON_BREAKING(""), STRICT, y=("SELECT a FROM m.x", KEPT)),
    edit("strict: another layout", "MODEL (kind FULL); SELECT a FROM raw.t", "MODEL (kind FULL, partitioned_by a); SELECT a FROM raw.t", NON_BREAKING(""), STRICT, y=("SELECT a FROM m.x", KEPT)),
    edit("strict: a column that is read has other values", AB, LOWER, BREAKING("b", "m.y"), STRICT, y=("SELECT b FROM m.x", REACHED("b")), z=("SELECT a FROM m.x", KEPT)),
    edit("strict: a star downstream of a removed column", AB, A, BREAKING("b"), STRICT, y=("SELECT * FROM m.x", BREAKING("b")), z=("SELECT a FROM m.y", KEPT)),
    edit("not strict: a column that nobody reads is removed", ABC, AB, UNREAD("c", "but readers outside the project may"), y=("SELECT a FROM m.x", KEPT)),
]  # fmt: skip

RANGE = "MODEL (kind INCREMENTAL_BY_TIME_RANGE (time_column ts, forward_only {}));\n"
TIMED = "SELECT a, b, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt"
KEEPS = RANGE.format("true")

FORWARD_ONLY_CASES = [
    edit("forward only: other rows", A, SOME, FORWARD_ONLY, FORWARD, y=("SELECT a FROM m.x", KEPT), z=("SELECT COUNT(*) AS n FROM m.y", KEPT)),
    edit("forward only: a column that is read has other values", AB, LOWER, FORWARD_ONLY, FORWARD, y=("SELECT b FROM m.x", KEPT)),
    edit("forward only: a column is added", A, AB, FORWARD_ONLY, FORWARD, y=("SELECT a FROM m.x", KEPT)),
    edit("forward only: a star downstream has one more column", A, AB, FORWARD_ONLY, FORWARD, y=("SELECT * FROM m.x", FORWARD_ONLY), z=("SELECT a FROM m.y", KEPT)),
    edit("forward only: another owner", "MODEL (kind FULL); " + A, "MODEL (kind FULL, owner me); " + A, METADATA, FORWARD, y=("SELECT a FROM m.x", METADATA)),
    edit("forward only: a view becomes a table", "MODEL (kind VIEW); " + A, "MODEL (kind FULL); " + A, BREAKING, FORWARD, y=("SELECT a FROM m.x", REACHED)),
    edits("forward only: models come and go", FORWARD, x=(A, UNCHANGED), y=("SELECT a FROM m.x", None, REMOVED), z=(None, "SELECT a FROM m.x", ADDED)),
    edit("a kind that keeps rows has other rows", KEEPS + TIMED, KEEPS + TIMED + " AND a > 1", FORWARD_ONLY, y=("SELECT a FROM m.x", KEPT)),
    edit("a kind that keeps rows has one more column", KEEPS + TIMED, KEEPS + TIMED.replace("b, ts", "b, ts, c"), FORWARD_ONLY, y=("SELECT a FROM m.x", KEPT)),
    edit("a kind that keeps rows begins to", RANGE.format("false") + TIMED, KEEPS + TIMED, METADATA, y=("SELECT a FROM m.x", METADATA)),
    edit("a kind that keeps rows by default has other rows", "MODEL (kind INCREMENTAL_UNMANAGED); " + TIMED, "MODEL (kind INCREMENTAL_UNMANAGED); " + TIMED + " AND a > 1", FORWARD_ONLY, y=("SELECT a FROM m.x", KEPT)),
    edit("a kind that keeps rows by default is set not to", "MODEL (kind INCREMENTAL_UNMANAGED (forward_only false)); " + TIMED, "MODEL (kind INCREMENTAL_UNMANAGED (forward_only false)); " + TIMED + " AND a > 1", ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
    edits("only one of two changed parents keeps its rows", x=(KEEPS + TIMED, KEEPS + TIMED.replace("a, b", "a, LOWER(b) AS b"), FORWARD_ONLY), n=("SELECT a, c FROM raw.u", "SELECT a, c * 2 AS c FROM raw.u", BREAKING("c")), y=("SELECT x.b, n.c FROM m.x AS x JOIN m.n AS n ON x.a = n.a", REACHED("c")), z=("SELECT b FROM m.x", KEPT)),
]  # fmt: skip

DECISIONS = [
    edit("a person says that other rows harm nobody", A, SOME, by_person(NON_BREAKING(None)), decided(x=Category.NON_BREAKING), y=("SELECT a FROM m.x", KEPT), z=("SELECT a FROM m.y", KEPT)),
    edit("a person says that a changed column harms nobody", AB, LOWER, by_person(NON_BREAKING(None)), decided(x=Category.NON_BREAKING), y=("SELECT b FROM m.x", KEPT)),
    edit("a person says that an added column is breaking", A, AB, by_person(BREAKING), decided(x=Category.BREAKING), y=("SELECT a FROM m.x", REACHED), z=("SELECT a FROM m.y", REACHED)),
    edit("a person says that another layout is breaking", "MODEL (kind FULL); " + A, "MODEL (kind FULL, partitioned_by a); " + A, by_person(BREAKING), decided(x=Category.BREAKING), y=("SELECT a FROM m.x", REACHED)),
    edit("a person says that other rows are for the future", A, SOME, by_person(FORWARD_ONLY), decided(x=Category.FORWARD_ONLY), y=("SELECT a FROM m.x", KEPT)),
    edit("a person says what is so anyway", A, SOME, by_person(ROWS), decided(x=Category.BREAKING), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a person's choice wins over strict columns", AB, A, by_person(NON_BREAKING("b")), Rules(strict_columns=True, decisions=decided(x=Category.NON_BREAKING).decisions), y=("SELECT a FROM m.x", KEPT)),
    edit("a person's choice wins over forward only", A, SOME, by_person(ROWS), Rules(forward_only=True, decisions=decided(x=Category.BREAKING).decisions), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a person's choice wins over what the kind keeps", KEEPS + TIMED, KEEPS + TIMED + " AND a > 1", by_person(ROWS), decided(x=Category.BREAKING), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a choice for what has not changed is none", A, SOME, ROWS, decided(y=Category.NON_BREAKING), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edits("a choice for an unchanged project is none", decided(x=Category.BREAKING, y=Category.NON_BREAKING), x=(A, UNCHANGED), y=("SELECT a FROM m.x", UNCHANGED)),
    edits("a choice for one of two changed models leaves the other as it is", decided(x=Category.NON_BREAKING), x=(A, SOME, by_person(NON_BREAKING(None))), n=("SELECT a, b FROM raw.u", "SELECT a, LOWER(b) AS b FROM raw.u", BREAKING("b", "m.y")), y=("SELECT x.a, n.b FROM m.x AS x JOIN m.n AS n ON x.a = n.a", REACHED("b")), z=("SELECT a FROM m.x", KEPT)),
    edits("a choice for a model in the middle ends what its own edit does", decided(y=Category.NON_BREAKING), x=(A, "SELECT a, b FROM raw.t", NON_BREAKING("b")), y=("SELECT a FROM m.x", "SELECT a FROM m.x WHERE b = 'p'", by_person(NON_BREAKING(None))), z=("SELECT a FROM m.y", KEPT)),
    edits("a choice where nothing is known", decided(x=Category.NON_BREAKING), x=(A, "SELECT a, foo(b) AS k FROM raw.t", by_person(NON_BREAKING(None))), y=("SELECT a FROM m.x", KEPT)),
]  # fmt: skip

CASES = [*STRICTLY, *FORWARD_ONLY_CASES, *DECISIONS]
