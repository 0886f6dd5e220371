# ruff: noqa: E501 - rows of tables stay on one line
"""What reads columns that it does not name, and what gives another outcome each time."""

from __future__ import annotations

from tests.core.planning.changes.case import (
    ALL,
    BREAKING,
    KEPT,
    METADATA,
    NON_BREAKING,
    REACHED,
    REACHED_ROWS,
    REBUILT,
    ROWS,
    UNREAD,
    edit,
    edits,
)

FEW, MORE = "SELECT a, c FROM raw.t", "SELECT a, c, b FROM raw.t"
ADDS_B = NON_BREAKING("b", "adds", "`b`")
B, LOWER = "SELECT a, b, c FROM raw.t", "SELECT a, LOWER(b) AS b, c FROM raw.t"

STARS = [
    edit("COUNT(*) counts rows, whatever columns they have", FEW, MORE, ADDS_B, y=("SELECT COUNT(*) AS n FROM m.x", KEPT), z=("SELECT a, COUNT(*) OVER () AS n FROM m.x", KEPT)),
    edit("different rows are counted by all their columns", FEW, MORE, ADDS_B, y=("SELECT COUNT(DISTINCT *) AS n FROM m.x", REBUILT("n")), z=("SELECT n FROM m.y", REACHED("n"))),
    edit("rows in which nothing is missing are counted by all their columns", FEW, MORE, ADDS_B, y=("SELECT COUNT(x.*) AS n FROM m.x AS x", REBUILT("n")), z=("SELECT n FROM m.y", REACHED("n"))),
    edit("a hash of all columns has one more", FEW, MORE, ADDS_B, y=("SELECT a, HASH(*) AS h FROM m.x", REBUILT("h")), z=("SELECT h FROM m.y", REACHED("h")), w=("SELECT a FROM m.y", KEPT)),
    edit("a struct of all columns has one more", FEW, MORE, ADDS_B, y=("SELECT a, STRUCT(*) AS s FROM m.x", REBUILT("s")), z=("SELECT s FROM m.y", REACHED("s")), w=("SELECT a FROM m.y", KEPT)),
    edit("a text of all columns of one table has one more", FEW, MORE, ADDS_B, y=("SELECT x.a, TO_JSON(STRUCT(x.*)) AS s FROM m.x AS x JOIN raw.u AS u ON x.a = u.a", REBUILT("s")), z=("SELECT s FROM m.y", REACHED("s"))),
    edit("a text of all columns of the other table has not", FEW, MORE, ADDS_B, y=("SELECT x.a, TO_JSON(STRUCT(u.*)) AS s FROM m.x AS x JOIN raw.u AS u ON x.a = u.a", KEPT)),
    edit("a struct of all columns holds the changed one", B, LOWER, BREAKING("b", "m.y"), y=("SELECT a, STRUCT(*) AS s FROM m.x", REACHED("s")), z=("SELECT a FROM m.y", KEPT)),
    edit("rows are chosen by a hash of all columns", FEW, MORE, ADDS_B, y=("SELECT a FROM m.x WHERE HASH(*) % 10 = 1", REBUILT(ALL))),
    edit("NATURAL JOIN joins by the added column, too", "SELECT a FROM raw.t", "SELECT a, b FROM raw.t", ADDS_B, y=("SELECT u.c FROM m.x AS x NATURAL JOIN raw.u AS u", REBUILT(ALL)), z=("SELECT COUNT(*) AS n FROM m.y", REACHED("n"))),
    edit("NATURAL JOIN does not join by a column that the other table lacks", "SELECT a FROM raw.t", "SELECT a, b AS k FROM raw.t", NON_BREAKING("k"), y=("SELECT u.c FROM m.x AS x NATURAL JOIN raw.u AS u", KEPT)),
    edit("a pivot groups by the added column, too", B, "SELECT a, b, c, day FROM raw.t", NON_BREAKING("day"), y=("SELECT a, p FROM m.x PIVOT (SUM(c) FOR b IN ('p' AS p, 'q' AS q))", REBUILT(ALL)), z=("SELECT COUNT(*) AS n FROM m.y", REACHED("n"))),
    edit("a pivot of named columns does not group by the added one", B, "SELECT a, b, c, day FROM raw.t", NON_BREAKING("day"), y=("SELECT a, p FROM (SELECT a, b, c FROM m.x) PIVOT (SUM(c) FOR b IN ('p' AS p, 'q' AS q))", KEPT)),
    edit("different rows of a star have one more column", FEW, MORE, ADDS_B, y=("SELECT DISTINCT * FROM m.x", ROWS), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edit("a union of different rows of stars has one more column", FEW, MORE, ADDS_B, y=("SELECT * FROM m.x UNION SELECT * FROM m.x", ROWS), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edit("a union of all rows of stars has one more column", FEW, MORE, ADDS_B, y=("SELECT * FROM m.x UNION ALL SELECT * FROM m.x", NON_BREAKING("b")), z=("SELECT a FROM m.y", KEPT)),
    edit("a star in a common table expression has one more column that is not returned", FEW, MORE, ADDS_B, y=("WITH s AS (SELECT DISTINCT * FROM m.x) SELECT a FROM s", REBUILT(ALL)), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edit("groups by all plain columns of a star have one more", FEW, MORE, ADDS_B, y=("SELECT *, COUNT(*) AS n FROM m.x GROUP BY ALL", ROWS), z=("SELECT n FROM m.y", REACHED_ROWS)),
    edit("positions count the columns of a star", "SELECT a, c FROM raw.t", "SELECT b, a, c FROM raw.t", ADDS_B, y=("SELECT * FROM m.x ORDER BY 1, 2 LIMIT 3", ROWS), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edit("EXISTS looks at no column of its star", B, LOWER, UNREAD("b"), y=("SELECT u.a FROM raw.u AS u WHERE EXISTS (SELECT * FROM m.x AS x WHERE x.a = u.a)", KEPT)),
]  # fmt: skip

CHANCE = [
    edit("a random column has other values when its table is rebuilt", "SELECT a, RAND() AS r FROM raw.t", "SELECT a, b, RAND() AS r FROM raw.t", BREAKING("b r", "`r`", "m.y"), y=("SELECT r FROM m.x", REACHED("r")), z=("SELECT a FROM m.x", KEPT)),
    edit("a random column that nobody reads harms nobody", "SELECT a, UUID() AS id FROM raw.t", "SELECT a, b, UUID() AS id FROM raw.t", NON_BREAKING("b id"), y=("SELECT a FROM m.x", KEPT)),
    edit("a column of the moment has other values when its table is rebuilt", "SELECT a, CURRENT_TIMESTAMP() AS loaded FROM raw.t", "SELECT a, b, CURRENT_TIMESTAMP() AS loaded FROM raw.t", BREAKING("b loaded"), y=("SELECT a FROM m.x WHERE loaded > '2024-01-01'", REACHED_ROWS), z=("SELECT a FROM m.x", KEPT)),
    edit("a nondeterministic number is counted on", "SELECT a, MONOTONICALLY_INCREASING_ID() AS id FROM raw.t", "SELECT a, b, MONOTONICALLY_INCREASING_ID() AS id FROM raw.t", BREAKING("b id"), y=("SELECT MAX(id) AS m FROM m.x", REACHED("m")), z=("SELECT a FROM m.x", KEPT)),
    edit("rows that a limit takes in no order are others when its table is rebuilt", "SELECT a FROM raw.t LIMIT 3", "SELECT a, b FROM raw.t LIMIT 3", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS), z=("SELECT b FROM raw.u WHERE a IN (SELECT a FROM m.x)", REACHED_ROWS)),
    edit("rows that a limit inside takes in no order are others", "SELECT s.a FROM (SELECT a, b FROM raw.t LIMIT 3) AS s", "SELECT s.a, s.b FROM (SELECT a, b FROM raw.t LIMIT 3) AS s", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("rows that are chosen at random are others", "SELECT a FROM raw.t WHERE RAND() < 0.5", "SELECT a, b FROM raw.t WHERE RAND() < 0.5", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a sample has other rows", "SELECT a FROM raw.t TABLESAMPLE (10 PERCENT)", "SELECT a, b FROM raw.t TABLESAMPLE (10 PERCENT)", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a random value in a common table expression stays random", "WITH s AS (SELECT a, b, RAND() AS r FROM raw.t) SELECT a FROM s WHERE r < 0.5", "WITH s AS (SELECT a, b, RAND() AS r FROM raw.t) SELECT a, b FROM s WHERE r < 0.5", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a downstream model that is rebuilt has other random values", B, LOWER, BREAKING("b"), y=("SELECT a, b, UUID() AS id FROM m.x", REACHED("b id")), z=("SELECT id FROM m.y", REACHED("id")), w=("SELECT a FROM m.y", KEPT)),
    edit("a downstream model that is kept has the same random values", B, LOWER, UNREAD("b"), y=("SELECT a, UUID() AS id FROM m.x", KEPT), z=("SELECT id FROM m.y", KEPT)),
    edits("another layout gives other random values", x=("MODEL (kind FULL); SELECT a, RAND() AS r FROM raw.t", "MODEL (kind FULL, stamp 'again'); SELECT a, RAND() AS r FROM raw.t", BREAKING("r")), y=("SELECT r FROM m.x", REACHED("r")), z=("SELECT a FROM m.x", KEPT)),
    edits("another owner leaves the random values", x=("MODEL (kind FULL); SELECT a, RAND() AS r FROM raw.t", "MODEL (kind FULL, owner me); SELECT a, RAND() AS r FROM raw.t", METADATA), y=("SELECT r FROM m.x", METADATA)),
]  # fmt: skip

CASES = [*STARS, *CHANCE]
