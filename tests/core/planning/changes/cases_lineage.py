# ruff: noqa: E501 - rows of tables stay on one line
"""How far a change goes down: over several models, past edits in the middle, through views."""

from __future__ import annotations

from tests.core.planning.changes.case import (
    ADDED,
    AT_REST,
    BREAKING,
    EDITED,
    KEPT,
    METADATA,
    NON_BREAKING,
    REACHED,
    REACHED_ROWS,
    REMOVED,
    ROWS,
    UNCHANGED,
    UNREAD,
    Case,
    edit,
    edits,
)

B, LOWER = "SELECT a, b, c FROM raw.t", "SELECT a, LOWER(b) AS b, c FROM raw.t"
ALL_ROWS, SOME_ROWS = B, "SELECT a, b, c FROM raw.t WHERE a > 1"
VIEW = "MODEL (kind VIEW);\n"
EMBEDDED = "MODEL (kind EMBEDDED);\n"

DEEP = [
    edit("a changed column goes down under other names until it chooses rows", B, LOWER, BREAKING("b", "m.y"), y=("SELECT a, b AS k FROM m.x", REACHED("k")), z=("SELECT a, k AS q FROM m.y", REACHED("q")), w=("SELECT a FROM m.z WHERE q = 'p'", REACHED_ROWS), v=("SELECT a FROM m.z", KEPT)),
    edit("a changed column is carried down and read by nobody at the end", B, LOWER, BREAKING("b"), y=("SELECT a, b FROM m.x", REACHED("b")), z=("SELECT a, b FROM m.y", REACHED("b")), w=("SELECT a FROM m.z", KEPT), v=("SELECT a, COUNT(*) AS n FROM m.w GROUP BY a", KEPT)),
    edit("what no longer depends on the changed column keeps all that is downstream", B, LOWER, BREAKING("b"), y=("SELECT a, b FROM m.x", REACHED("b")), z=("SELECT a FROM m.y", KEPT), w=("SELECT a FROM m.z", KEPT), v=("SELECT a FROM m.w WHERE a > 1", KEPT)),
    edit("one side of a diamond is reached", B, LOWER, BREAKING("b"), y=("SELECT a, b FROM m.x", REACHED("b")), z=("SELECT a, c FROM m.x", KEPT), w=("SELECT y.a, y.b, z.c FROM m.y AS y JOIN m.z AS z ON y.a = z.a", REACHED("b")), v=("SELECT y.a, z.c FROM m.y AS y JOIN m.z AS z ON y.a = z.a", KEPT)),
    edit("a diamond joins by the changed column", B, LOWER, BREAKING("b"), y=("SELECT a, b FROM m.x", REACHED("b")), z=("SELECT b, c FROM m.x", REACHED("b")), w=("SELECT y.a, z.c FROM m.y AS y JOIN m.z AS z ON y.b = z.b", REACHED_ROWS)),
    edit("other rows go down over four models", ALL_ROWS, SOME_ROWS, ROWS, y=("SELECT a FROM m.x", REACHED_ROWS), z=("SELECT a FROM m.y", REACHED_ROWS), w=("SELECT COUNT(*) AS n FROM m.z", REACHED("n")), v=("SELECT n FROM m.w", REACHED("n"))),
    edit("a count over all rows is one row, whatever it counts", ALL_ROWS, SOME_ROWS, ROWS, y=("SELECT COUNT(*) AS n, MAX(a) AS m FROM m.x", REACHED("n m")), z=("SELECT 1 AS one FROM m.y", KEPT), w=("SELECT u.a FROM raw.u AS u CROSS JOIN m.y AS y", KEPT), v=("SELECT a FROM raw.u WHERE a < (SELECT n FROM m.y)", REACHED_ROWS)),
    edit("a count over all rows may be no row where HAVING chooses", ALL_ROWS, SOME_ROWS, ROWS, y=("SELECT COUNT(*) AS n FROM m.x HAVING COUNT(*) > 1", REACHED_ROWS), z=("SELECT 1 AS one FROM m.y", REACHED_ROWS)),
    edit("a count over no group is as many rows as there are groups", ALL_ROWS, SOME_ROWS, ROWS, y=("SELECT COUNT(*) AS n FROM m.x GROUP BY a", REACHED_ROWS), z=("SELECT 1 AS one FROM m.y", REACHED_ROWS)),
    edit("one value of other rows is joined to each row", ALL_ROWS, SOME_ROWS, ROWS, y=("SELECT u.a, s.m FROM raw.u AS u CROSS JOIN (SELECT MAX(c) AS m FROM m.x) AS s", REACHED("m")), z=("SELECT a FROM m.y", KEPT)),
    edit("one value of other rows is a column", ALL_ROWS, SOME_ROWS, ROWS, y=("SELECT a, (SELECT MAX(c) FROM m.x) AS m FROM raw.u", REACHED("m")), z=("SELECT a FROM m.y", KEPT)),
    edit("other rows are looked up", ALL_ROWS, SOME_ROWS, ROWS, y=("SELECT a FROM raw.u WHERE a IN (SELECT a FROM m.x)", REACHED_ROWS), z=("SELECT u.a FROM raw.u AS u WHERE NOT EXISTS (SELECT 1 FROM m.x)", REACHED_ROWS)),
    edit("other rows are joined to the outer side", ALL_ROWS, SOME_ROWS, ROWS, y=("SELECT u.a FROM raw.u AS u LEFT JOIN m.x AS x ON u.a = x.a", REACHED_ROWS)),
    edit("other rows are one branch of a union", ALL_ROWS, SOME_ROWS, ROWS, y=("SELECT a FROM raw.u UNION ALL SELECT a FROM m.x", REACHED_ROWS)),
    edit("other rows are counted through a window", ALL_ROWS, SOME_ROWS, ROWS, y=("SELECT a, COUNT(*) OVER () AS n FROM m.x", REACHED_ROWS)),
    edit("a recursive query starts from the changed column", B, "SELECT a + 1 AS a, b, c FROM raw.t", BREAKING("a"), y=("WITH RECURSIVE r AS (SELECT a, 1 AS n FROM m.x UNION ALL SELECT a + 1, n + 1 FROM r WHERE n < 3) SELECT a, n FROM r", REACHED)),
    edit("a recursive query starts from another column", B, LOWER, UNREAD("b"), y=("WITH RECURSIVE r AS (SELECT a, 1 AS n FROM m.x UNION ALL SELECT a + 1, n + 1 FROM r WHERE n < 3) SELECT a, n FROM r", KEPT)),
    edit("a recursive query ends by the changed column", B, "SELECT a, b, c + 1 AS c FROM raw.t", BREAKING("c"), y=("WITH RECURSIVE r AS (SELECT a, c FROM m.x UNION ALL SELECT a + 1, c - 1 FROM r WHERE c > 0 AND a < 9) SELECT a FROM r", REACHED_ROWS)),
]  # fmt: skip

TWO_EDITS = [
    edits("trap: a harmless edit in the middle does not hide a breaking one upstream", x=(ALL_ROWS, SOME_ROWS, ROWS), y=("SELECT a FROM m.x", "SELECT a, b FROM m.x", BREAKING("*")), z=("SELECT a FROM m.y", REACHED_ROWS), w=("SELECT a FROM m.z", REACHED_ROWS)),
    edits("trap: a harmless edit in the middle does not hide a changed column that is read downstream", x=(B, LOWER, BREAKING("b")), y=("SELECT a, b FROM m.x", "SELECT a, b, c FROM m.x", BREAKING("b c", "m.z")), z=("SELECT b FROM m.y", REACHED("b")), w=("SELECT a FROM m.y", KEPT)),
    edits("trap: an edit of the layout in the middle does not hide a breaking one upstream", x=(ALL_ROWS, SOME_ROWS, ROWS), y=("MODEL (kind FULL); SELECT a FROM m.x", "MODEL (kind FULL, partitioned_by a); SELECT a FROM m.x", BREAKING("*")), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edits("trap: a harmless edit two models downstream does not hide a breaking one upstream", x=(ALL_ROWS, SOME_ROWS, ROWS), y=("SELECT a FROM m.x", REACHED_ROWS), z=("SELECT a FROM m.y", "SELECT a, 1 AS one FROM m.y", BREAKING("*")), w=("SELECT a FROM m.z", REACHED_ROWS)),
    edits("a harmless edit in the middle stays harmless where it reads nothing that changed", x=(B, LOWER, UNREAD("b")), y=("SELECT a FROM m.x", "SELECT a, c FROM m.x", NON_BREAKING("c")), z=("SELECT a FROM m.y", KEPT)),
    edits("a model in the middle carries a changed column that nobody reads downstream", x=(B, LOWER, BREAKING("b")), y=("SELECT a, b FROM m.x", "SELECT a, b, c FROM m.x", NON_BREAKING("b c")), z=("SELECT a FROM m.y", KEPT)),
    edits("an added column is used by an added column downstream", x=("SELECT a FROM raw.t", "SELECT a, b FROM raw.t", NON_BREAKING("b")), y=("SELECT a FROM m.x", "SELECT a, UPPER(b) AS k FROM m.x", NON_BREAKING("k")), z=("SELECT a FROM m.y", KEPT)),
    edits("an added column chooses rows downstream", x=("SELECT a FROM raw.t", "SELECT a, b FROM raw.t", NON_BREAKING("b")), y=("SELECT a FROM m.x", "SELECT a FROM m.x WHERE b = 'p'", ROWS), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edits("a harmless edit upstream of a breaking one reaches nobody else", x=("SELECT a FROM raw.t", "SELECT a, b FROM raw.t", NON_BREAKING("b")), y=("SELECT a FROM m.x", "SELECT DISTINCT a FROM m.x", ROWS), z=("SELECT a FROM m.y", REACHED_ROWS), w=("SELECT a FROM m.x", KEPT)),
    edits("both sides of a diamond are edited", x=(B, UNCHANGED), y=("SELECT a, b FROM m.x", "SELECT a, LOWER(b) AS b FROM m.x", UNREAD("b")), z=("SELECT a, c FROM m.x", "SELECT a, c * 2 AS c FROM m.x", BREAKING("c", "m.w")), w=("SELECT y.a, z.c FROM m.y AS y JOIN m.z AS z ON y.a = z.a", REACHED("c")), v=("SELECT a FROM m.w", KEPT)),
    edits("a filter moves from a model to the one upstream", x=(ALL_ROWS, SOME_ROWS, ROWS), y=("SELECT a FROM m.x WHERE a > 1", "SELECT a FROM m.x", EDITED), z=("SELECT a FROM m.x", REACHED_ROWS)),
    edits("two parents change and each reaches other columns", x=(B, LOWER, BREAKING("b", "m.z")), y=("SELECT a, b, c FROM raw.u", "SELECT a, b, c * 2 AS c FROM raw.u", BREAKING("c", "m.z")), z=("SELECT x.a, x.b, y.c FROM m.x AS x JOIN m.y AS y ON x.a = y.a", REACHED("b c")), w=("SELECT a FROM m.z", KEPT)),
    edits("a reached model with another owner is reached all the same", x=(ALL_ROWS, SOME_ROWS, ROWS), y=("MODEL (kind FULL, owner me); SELECT a FROM m.x", "MODEL (kind FULL, owner you); SELECT a FROM m.x", REACHED_ROWS)),
    edits("a kept model with another owner is kept all the same", x=(B, LOWER, UNREAD("b")), y=("MODEL (kind FULL, owner me); SELECT a FROM m.x", "MODEL (kind FULL, owner you); SELECT a FROM m.x", KEPT)),
]  # fmt: skip

VIEWS = [
    edit("a view in the middle is looked through by columns", B, LOWER, BREAKING("b"), y=(VIEW + "SELECT a, b FROM m.x", REACHED("b")), z=("SELECT a FROM m.y", KEPT), w=("SELECT b FROM m.y", REACHED("b"))),
    edit("a view in the middle is looked through by rows", ALL_ROWS, SOME_ROWS, ROWS, y=(VIEW + "SELECT a, b FROM m.x", REACHED_ROWS), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edit("an embedded model in the middle is looked through by columns", B, LOWER, BREAKING("b"), y=(EMBEDDED + "SELECT a, b FROM m.x", REACHED("b")), z=("SELECT a FROM m.y", KEPT), w=("SELECT b FROM m.y", REACHED("b"))),
    edit("a column of a view has other values", VIEW + B, VIEW + LOWER, BREAKING("b"), y=("SELECT a FROM m.x", KEPT), z=("SELECT b FROM m.x", REACHED("b"))),
    edit("a column is added to an embedded model", EMBEDDED + "SELECT a FROM raw.t", EMBEDDED + "SELECT a, b FROM raw.t", NON_BREAKING("b"), y=("SELECT a FROM m.x", KEPT), z=("SELECT * FROM m.x", NON_BREAKING("b"))),
    edit("an embedded model has other rows", EMBEDDED + ALL_ROWS, EMBEDDED + SOME_ROWS, ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a view of a view keeps all downstream where nothing reaches it", B, LOWER, UNREAD("b"), y=(VIEW + "SELECT a FROM m.x", KEPT), z=(VIEW + "SELECT * FROM m.y", KEPT), w=("SELECT a FROM m.z", KEPT)),
]  # fmt: skip

MODELS = [
    edits("a model is added that nobody reads", x=(B, UNCHANGED), y=(None, "SELECT a FROM m.x", ADDED)),
    edits("a model that nobody read is removed", x=(B, UNCHANGED), y=("SELECT a FROM m.x", None, REMOVED)),
    edits("a model that leaves rows out is put in the middle", x=(B, UNCHANGED), y=("SELECT a FROM m.x", "SELECT a FROM m.n", BREAKING("*")), z=("SELECT a FROM m.y", REACHED_ROWS), n=(None, "SELECT a, b FROM m.x WHERE a > 1", ADDED)),
    edits("a model that leaves rows out is taken out of the middle", x=(B, UNCHANGED), n=("SELECT a, b FROM m.x WHERE a > 1", None, REMOVED), y=("SELECT a FROM m.n", "SELECT a FROM m.x", BREAKING("*")), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edits("a model that passes everything on is put in the middle", x=(B, UNCHANGED), y=("SELECT a FROM m.x", "SELECT a FROM m.n", EDITED), n=(None, VIEW + "SELECT * FROM m.x", ADDED)),
    edits("another table is read in place of one with the same columns", x=(B, UNCHANGED), y=("SELECT a FROM m.x", "SELECT a FROM raw.u", BREAKING("*")), z=("SELECT a FROM m.y", REACHED_ROWS)),
    Case(
        name="a model gets another name",
        before={"m.x": B, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        after={"m.n": B, "m.y": "SELECT a FROM m.n", "m.z": "SELECT a FROM m.y"},
        expected={"m.x": REMOVED, "m.n": ADDED, "m.y": EDITED},
    ),
    Case(
        name="nothing changes",
        before={"m.x": B, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        after={"m.x": "select  A, `b`, t.c from RAW.t as t", "m.y": "SELECT (a) AS a FROM m.x", "m.z": "SELECT a FROM m.y;"},
        expected={"raw.t": UNCHANGED, "raw.u": UNCHANGED, "m.x": UNCHANGED, "m.y": UNCHANGED, "m.z": UNCHANGED},
    ),
    Case(
        name="a change of another branch reaches nobody",
        before={"m.x": ALL_ROWS, "m.y": "SELECT a FROM raw.u", "m.z": "SELECT a FROM m.y"},
        after={"m.x": SOME_ROWS, "m.y": "SELECT a FROM raw.u", "m.z": "SELECT a FROM m.y"},
        expected={"m.x": ROWS, "m.y": UNCHANGED, "m.z": UNCHANGED, "raw.t": UNCHANGED},
    ),
    Case(
        name="a comment goes down as metadata",
        before={"m.x": B, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        after={"m.x": B + " -- all of them", "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        expected={"raw.t": UNCHANGED, "m.x": METADATA, "m.y": METADATA, "m.z": METADATA},
    ),
    edits("a common table expression that nobody reads is added", x=(B, "WITH s AS (SELECT a FROM raw.t) " + B, UNCHANGED), y=("SELECT a FROM m.x", AT_REST)),
]  # fmt: skip

CASES = [*DEEP, *TWO_EDITS, *VIEWS, *MODELS]
