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
    Case(
        name="trap: a harmless edit in the middle does not hide a breaking one upstream",
        before={"m.x": ALL_ROWS, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y", "m.w": "SELECT a FROM m.z"},
        after={"m.x": SOME_ROWS, "m.y": "SELECT a, b FROM m.x", "m.z": "SELECT a FROM m.y", "m.w": "SELECT a FROM m.z"},
        expected={"m.x": ROWS, "m.y": BREAKING("*"), "m.z": REACHED_ROWS, "m.w": REACHED_ROWS},
    ),
    Case(
        name="trap: a harmless edit in the middle does not hide a changed column that is read downstream",
        before={"m.x": B, "m.y": "SELECT a, b FROM m.x", "m.z": "SELECT b FROM m.y", "m.w": "SELECT a FROM m.y"},
        after={"m.x": LOWER, "m.y": "SELECT a, b, c FROM m.x", "m.z": "SELECT b FROM m.y", "m.w": "SELECT a FROM m.y"},
        expected={"m.x": BREAKING("b"), "m.y": BREAKING("b c", "m.z"), "m.z": REACHED("b"), "m.w": KEPT},
    ),
    Case(
        name="trap: an edit of the layout in the middle does not hide a breaking one upstream",
        before={"m.x": ALL_ROWS, "m.y": "MODEL (kind FULL); SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        after={"m.x": SOME_ROWS, "m.y": "MODEL (kind FULL, partitioned_by a); SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        expected={"m.x": ROWS, "m.y": BREAKING("*"), "m.z": REACHED_ROWS},
    ),
    Case(
        name="trap: a harmless edit two models downstream does not hide a breaking one upstream",
        before={"m.x": ALL_ROWS, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y", "m.w": "SELECT a FROM m.z"},
        after={"m.x": SOME_ROWS, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a, 1 AS one FROM m.y", "m.w": "SELECT a FROM m.z"},
        expected={"m.x": ROWS, "m.y": REACHED_ROWS, "m.z": BREAKING("*"), "m.w": REACHED_ROWS},
    ),
    Case(
        name="a harmless edit in the middle stays harmless where it reads nothing that changed",
        before={"m.x": B, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        after={"m.x": LOWER, "m.y": "SELECT a, c FROM m.x", "m.z": "SELECT a FROM m.y"},
        expected={"m.x": UNREAD("b"), "m.y": NON_BREAKING("c"), "m.z": KEPT},
    ),
    Case(
        name="a model in the middle carries a changed column that nobody reads downstream",
        before={"m.x": B, "m.y": "SELECT a, b FROM m.x", "m.z": "SELECT a FROM m.y"},
        after={"m.x": LOWER, "m.y": "SELECT a, b, c FROM m.x", "m.z": "SELECT a FROM m.y"},
        expected={"m.x": BREAKING("b"), "m.y": NON_BREAKING("b c"), "m.z": KEPT},
    ),
    Case(
        name="an added column is used by an added column downstream",
        before={"m.x": "SELECT a FROM raw.t", "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        after={"m.x": "SELECT a, b FROM raw.t", "m.y": "SELECT a, UPPER(b) AS k FROM m.x", "m.z": "SELECT a FROM m.y"},
        expected={"m.x": NON_BREAKING("b"), "m.y": NON_BREAKING("k"), "m.z": KEPT},
    ),
    Case(
        name="an added column chooses rows downstream",
        before={"m.x": "SELECT a FROM raw.t", "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        after={"m.x": "SELECT a, b FROM raw.t", "m.y": "SELECT a FROM m.x WHERE b = 'p'", "m.z": "SELECT a FROM m.y"},
        expected={"m.x": NON_BREAKING("b"), "m.y": ROWS, "m.z": REACHED_ROWS},
    ),
    Case(
        name="a harmless edit upstream of a breaking one reaches nobody else",
        before={"m.x": "SELECT a FROM raw.t", "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y", "m.w": "SELECT a FROM m.x"},
        after={"m.x": "SELECT a, b FROM raw.t", "m.y": "SELECT DISTINCT a FROM m.x", "m.z": "SELECT a FROM m.y", "m.w": "SELECT a FROM m.x"},
        expected={"m.x": NON_BREAKING("b"), "m.y": ROWS, "m.z": REACHED_ROWS, "m.w": KEPT},
    ),
    Case(
        name="both sides of a diamond are edited",
        before={"m.x": B, "m.y": "SELECT a, b FROM m.x", "m.z": "SELECT a, c FROM m.x", "m.w": "SELECT y.a, z.c FROM m.y AS y JOIN m.z AS z ON y.a = z.a", "m.v": "SELECT a FROM m.w"},
        after={"m.x": B, "m.y": "SELECT a, LOWER(b) AS b FROM m.x", "m.z": "SELECT a, c * 2 AS c FROM m.x", "m.w": "SELECT y.a, z.c FROM m.y AS y JOIN m.z AS z ON y.a = z.a", "m.v": "SELECT a FROM m.w"},
        expected={"m.x": UNCHANGED, "m.y": UNREAD("b"), "m.z": BREAKING("c", "m.w"), "m.w": REACHED("c"), "m.v": KEPT},
    ),
    Case(
        name="a filter moves from a model to the one upstream",
        before={"m.x": ALL_ROWS, "m.y": "SELECT a FROM m.x WHERE a > 1", "m.z": "SELECT a FROM m.x"},
        after={"m.x": SOME_ROWS, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.x"},
        expected={"m.x": ROWS, "m.y": EDITED, "m.z": REACHED_ROWS},
    ),
    Case(
        name="two parents change and each reaches other columns",
        before={"m.x": B, "m.y": "SELECT a, b, c FROM raw.u", "m.z": "SELECT x.a, x.b, y.c FROM m.x AS x JOIN m.y AS y ON x.a = y.a", "m.w": "SELECT a FROM m.z"},
        after={"m.x": LOWER, "m.y": "SELECT a, b, c * 2 AS c FROM raw.u", "m.z": "SELECT x.a, x.b, y.c FROM m.x AS x JOIN m.y AS y ON x.a = y.a", "m.w": "SELECT a FROM m.z"},
        expected={"m.x": BREAKING("b", "m.z"), "m.y": BREAKING("c", "m.z"), "m.z": REACHED("b c"), "m.w": KEPT},
    ),
    Case(
        name="a reached model with another owner is reached all the same",
        before={"m.x": ALL_ROWS, "m.y": "MODEL (kind FULL, owner me); SELECT a FROM m.x"},
        after={"m.x": SOME_ROWS, "m.y": "MODEL (kind FULL, owner you); SELECT a FROM m.x"},
        expected={"m.x": ROWS, "m.y": REACHED_ROWS},
    ),
    Case(
        name="a kept model with another owner is kept all the same",
        before={"m.x": B, "m.y": "MODEL (kind FULL, owner me); SELECT a FROM m.x"},
        after={"m.x": LOWER, "m.y": "MODEL (kind FULL, owner you); SELECT a FROM m.x"},
        expected={"m.x": UNREAD("b"), "m.y": KEPT},
    ),
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
    Case(name="a model is added that nobody reads", before={"m.x": B}, after={"m.x": B, "m.y": "SELECT a FROM m.x"}, expected={"m.x": UNCHANGED, "m.y": ADDED}),
    Case(name="a model that nobody read is removed", before={"m.x": B, "m.y": "SELECT a FROM m.x"}, after={"m.x": B}, expected={"m.x": UNCHANGED, "m.y": REMOVED}),
    Case(
        name="a model that leaves rows out is put in the middle",
        before={"m.x": B, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        after={"m.x": B, "m.n": "SELECT a, b FROM m.x WHERE a > 1", "m.y": "SELECT a FROM m.n", "m.z": "SELECT a FROM m.y"},
        expected={"m.x": UNCHANGED, "m.n": ADDED, "m.y": BREAKING("*"), "m.z": REACHED_ROWS},
    ),
    Case(
        name="a model that leaves rows out is taken out of the middle",
        before={"m.x": B, "m.n": "SELECT a, b FROM m.x WHERE a > 1", "m.y": "SELECT a FROM m.n", "m.z": "SELECT a FROM m.y"},
        after={"m.x": B, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        expected={"m.x": UNCHANGED, "m.n": REMOVED, "m.y": BREAKING("*"), "m.z": REACHED_ROWS},
    ),
    Case(
        name="a model that passes everything on is put in the middle",
        before={"m.x": B, "m.y": "SELECT a FROM m.x"},
        after={"m.x": B, "m.n": VIEW + "SELECT * FROM m.x", "m.y": "SELECT a FROM m.n"},
        expected={"m.x": UNCHANGED, "m.n": ADDED, "m.y": EDITED},
    ),
    Case(
        name="another table is read in place of one with the same columns",
        before={"m.x": B, "m.y": "SELECT a FROM m.x", "m.z": "SELECT a FROM m.y"},
        after={"m.x": B, "m.y": "SELECT a FROM raw.u", "m.z": "SELECT a FROM m.y"},
        expected={"m.x": UNCHANGED, "m.y": BREAKING("*"), "m.z": REACHED_ROWS},
    ),
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
    Case(
        name="a common table expression that nobody reads is added",
        before={"m.x": B, "m.y": "SELECT a FROM m.x"},
        after={"m.x": "WITH s AS (SELECT a FROM raw.t) " + B, "m.y": "SELECT a FROM m.x"},
        expected={"m.x": UNCHANGED, "m.y": AT_REST},
    ),
]  # fmt: skip

CASES = [*DEEP, *TWO_EDITS, *VIEWS, *MODELS]
