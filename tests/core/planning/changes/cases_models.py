# ruff: noqa: E501 - rows of tables stay on one line
"""What is no query: headers of models, seeds, sources, Python models, pre- and post-statements."""

from __future__ import annotations

from typing import Final

from tests.core.conftest import RAW
from tests.core.planning.changes.case import (
    ADDED,
    ALL,
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
    UNDECIDABLE,
    UNREAD,
    Case,
    Expected,
    Project,
    Source,
    edit,
    edits,
    of_source,
    python,
    seed,
)

QUERY: Final = "SELECT a, b, c, ts, day FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt"
TIMELESS: Final = "SELECT a, b, c, ts, day FROM raw.t"


def header(name: str, old: str, new: str, expected: Expected, query: str = TIMELESS) -> Case:
    """Another header over one query. What must follow for those that read a and that count."""
    downstream = {ROWS: REACHED_ROWS, BREAKING: REACHED, UNCHANGED: UNCHANGED}
    follows = downstream.get(expected, KEPT)
    if expected.outcomes == METADATA.outcomes:
        follows = METADATA
    counted = REACHED("n") if follows in (REACHED, REACHED_ROWS) else follows
    return edit(
        name,
        f"MODEL ({old});\n{query}",
        f"MODEL ({new});\n{query}",
        expected,
        y=("SELECT a FROM m.x", follows),
        z=("SELECT COUNT(*) AS n FROM m.x", counted),
    )


def timed(name: str, old: str, new: str, expected: Expected) -> Case:
    """The same over a query by time."""
    return header(name, old, new, expected, QUERY)


RANGE: Final = "kind INCREMENTAL_BY_TIME_RANGE (time_column ts)"
KEY: Final = "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key a)"
PARTITION: Final = "kind INCREMENTAL_BY_PARTITION (forward_only false)"
HISTORY: Final = "SCD_TYPE_2_BY_COLUMN (unique_key a, columns (b), forward_only false)"
LAYOUT: Final = NON_BREAKING("")

KINDS = [
    header("a view becomes a table", "kind VIEW", "kind FULL", BREAKING),
    header("a table becomes an embedded query", "kind FULL", "kind EMBEDDED", BREAKING),
    timed("a table is loaded by time", "kind FULL", RANGE, BREAKING),
    timed("a table is loaded by key", "kind FULL", KEY, BREAKING),
    timed("a kind by time becomes one by key", RANGE, KEY, BREAKING),
    header("a table gets a history, whose kind keeps rows by default", "kind FULL", "kind SCD_TYPE_2_BY_COLUMN (unique_key a, columns (b))", BREAKING),
    timed("rows are appended, by a kind that keeps rows by default", "kind FULL", "kind INCREMENTAL_UNMANAGED", BREAKING),
    timed("another column is the time", RANGE, "kind INCREMENTAL_BY_TIME_RANGE (time_column day)", BREAKING),
    timed("another column is the key", KEY, "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key b)", BREAKING),
    timed("the key has one more column", KEY, "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key (a, b))", BREAKING),
    timed("matches are handled otherwise", KEY, "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key a, when_matched (WHEN MATCHED THEN UPDATE SET target.c = source.c))", BREAKING),
    header("a history compares other columns", f"kind {HISTORY}", f"kind {HISTORY.replace('(b)', '(c)')}", BREAKING),
    header("a history ends rows that are gone", f"kind {HISTORY}", f"kind {HISTORY[:-1]}, invalidate_hard_deletes true)", BREAKING),
    timed("other partitions are replaced", f"{PARTITION}, partitioned_by day", f"{PARTITION}, partitioned_by b", BREAKING),
    timed("longer partitions are replaced", f"{PARTITION}, partitioned_by days(ts)", f"{PARTITION}, partitioned_by months(ts)", BREAKING),
    timed("partitions of values become those of days", f"{PARTITION}, partitioned_by ts", f"{PARTITION}, partitioned_by days(ts)", BREAKING),
    timed("partitions are of another number of buckets", f"{PARTITION}, partitioned_by bucket(4, a)", f"{PARTITION}, partitioned_by bucket(8, a)", BREAKING),
    timed("partitions are of longer beginnings", f"{PARTITION}, partitioned_by truncate(1, b)", f"{PARTITION}, partitioned_by truncate(2, b)", BREAKING),
    timed("days of a table by time become months", RANGE, f"{RANGE}, partitioned_by months(ts)", LAYOUT),
    timed("intervals are of another length", RANGE, f"{RANGE}, interval_unit hour", BREAKING),
    timed("late rows are followed", RANGE, f"{RANGE}, late_data (mode stateful, sources 'raw.t|ts')", BREAKING),
    timed("a table by time macros starts on another day", "kind FULL, start '2024-01-01'", "kind FULL, start '2024-02-01'", BREAKING),
    timed("a table by time starts on another day", f"{RANGE}, start '2024-01-01'", f"{RANGE}, start '2024-02-01'", METADATA),
    timed("more is looked at again", RANGE, "kind INCREMENTAL_BY_TIME_RANGE (time_column ts, lookback 2)", METADATA),
    timed("batches are smaller", RANGE, "kind INCREMENTAL_BY_TIME_RANGE (time_column ts, batch_size 2)", METADATA),
]  # fmt: skip

OWN_ROWS = [
    edit("the key by which rows are merged is computed otherwise", f"MODEL ({KEY}); SELECT a, c FROM raw.t", f"MODEL ({KEY}); SELECT a % 10 AS a, c FROM raw.t", BREAKING(ALL), y=("SELECT c FROM m.x", REACHED_ROWS), z=("SELECT COUNT(*) AS n FROM m.x", REACHED("n"))),
    edit("the time by which rows are kept is computed otherwise", f"MODEL ({RANGE}); SELECT a, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", f"MODEL ({RANGE}); SELECT a, ts + INTERVAL 1 DAY AS ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS), z=("SELECT COUNT(*) AS n FROM m.x", REACHED("n"))),
    edit("the column by which a history is kept is computed otherwise", f"MODEL (kind {HISTORY}); SELECT a, b, c FROM raw.t", f"MODEL (kind {HISTORY}); SELECT a, LOWER(b) AS b, c FROM raw.t", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS), z=("SELECT COUNT(*) AS n FROM m.x", REACHED("n"))),
    edit("the column by which partitions are replaced is computed otherwise", f"MODEL ({PARTITION}, partitioned_by day); SELECT a, day FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", f"MODEL ({PARTITION}, partitioned_by day); SELECT a, DATE_ADD(day, 1) AS day FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a column other than the time is computed otherwise", f"MODEL ({RANGE}); SELECT a, b, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", f"MODEL ({RANGE}); SELECT a, LOWER(b) AS b, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", UNREAD("b"), y=("SELECT a, ts FROM m.x", KEPT)),
    edit("a column is added to the time", f"MODEL ({RANGE}); SELECT a, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", f"MODEL ({RANGE}); SELECT a, b, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", NON_BREAKING("b"), y=("SELECT a, ts FROM m.x", KEPT)),
    edit("the key of the downstream model depends on the changed column", "SELECT a, c FROM raw.t", "SELECT a + 1 AS a, c FROM raw.t", BREAKING("a", "m.y"), y=(f"MODEL ({KEY}); SELECT a, c FROM m.x", REACHED_ROWS), z=("SELECT c FROM m.y", REACHED_ROWS)),
    edit("the time of the downstream model depends on the changed column", "SELECT a, ts, day FROM raw.t", "SELECT a, ts + INTERVAL 1 DAY AS ts, day FROM raw.t", BREAKING("ts", "m.y"), y=("MODEL (kind INCREMENTAL_BY_TIME_RANGE (time_column ts)); SELECT a, ts FROM m.x WHERE day BETWEEN @start_date AND @end_date", REACHED_ROWS), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edit("the history of the downstream model compares the changed column", "SELECT a, b, c FROM raw.t", "SELECT a, LOWER(b) AS b, c FROM raw.t", BREAKING("b", "m.y"), y=(f"MODEL (kind {HISTORY}); SELECT a, b, c FROM m.x", REACHED_ROWS), z=("SELECT valid_from FROM m.y", REACHED_ROWS)),
    edit("time macros of a query are others", f"MODEL ({RANGE}); {QUERY}", f"MODEL ({RANGE}); {QUERY.replace('@start_dt', '@start_dt - INTERVAL 1 DAY')}", ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a column says another time", "SELECT a, @start_ds AS d FROM raw.t", "SELECT a, @end_ds AS d FROM raw.t", BREAKING("d", "m.y"), y=("SELECT d FROM m.x", REACHED("d")), z=("SELECT a FROM m.x", KEPT)),
]  # fmt: skip

LAYOUTS = [
    header("a table is partitioned", "kind FULL", "kind FULL, partitioned_by b", LAYOUT),
    header("a table is partitioned otherwise", "kind FULL, partitioned_by (bucket(8, a))", "kind FULL, partitioned_by (bucket(16, a))", LAYOUT),
    timed("a table by time has one more partition column", RANGE, f"{RANGE}, partitioned_by (b)", LAYOUT),
    header("a table is sorted", "kind FULL", "kind FULL, clustered_by (b)", LAYOUT),
    header("files have another format", "kind FULL", "kind FULL, storage_format orc", LAYOUT),
    header("files have other properties", "kind FULL", "kind FULL, physical_properties (write.target-file-size-bytes = 1)", LAYOUT),
    header("a table has another stamp", "kind FULL, stamp 'one'", "kind FULL, stamp 'two'", LAYOUT),
    edits("another layout upstream of a Python model", x=("MODEL (kind FULL); SELECT a FROM raw.t", "MODEL (kind FULL, partitioned_by a); SELECT a FROM raw.t", LAYOUT), p=(python("context.table('m.x')"), KEPT)),
    edits("another layout and one more column", x=("MODEL (kind FULL); SELECT a FROM raw.t", "MODEL (kind FULL, partitioned_by a); SELECT a, b FROM raw.t", NON_BREAKING("b")), y=("SELECT a FROM m.x", KEPT)),
    edits("another layout and other rows", x=("MODEL (kind FULL); SELECT a FROM raw.t", "MODEL (kind FULL, partitioned_by a); SELECT a FROM raw.t WHERE a > 1", ROWS), y=("SELECT a FROM m.x", REACHED_ROWS)),
]  # fmt: skip

PEOPLE = [
    header("another owner", "kind FULL, owner me", "kind FULL, owner you", METADATA),
    header("another description", "kind FULL", "kind FULL, description 'All of them'", METADATA),
    header("other tags", "kind FULL, tags (a)", "kind FULL, tags (a, b)", METADATA),
    header("a table is due at another hour", "kind FULL, cron '@daily'", "kind FULL, cron '30 6 * * *'", METADATA),
    header("an audit is added", "kind FULL", "kind FULL, audits (not_null (columns := (a)))", METADATA(None, "its audits changed, for rows written from now on")),
    header("a key is named for people", "kind FULL", "kind FULL, grain a", METADATA),
    header("a column is described", "kind FULL", "kind FULL, column_descriptions (a = 'the key')", METADATA),
    header("words of the header stand in another order", "kind FULL, owner me, tags (a, b)", "TAGS (b, a), OWNER 'me', KIND full", UNCHANGED),
    edit("a comment on a column", "SELECT a, b FROM raw.t", "SELECT a, -- the key\n b FROM raw.t", METADATA, y=("SELECT a FROM m.x", METADATA), z=("SELECT 1 AS one FROM m.y", METADATA)),
    edits("another owner and other rows", x=("MODEL (kind FULL, owner me); SELECT a FROM raw.t", "MODEL (kind FULL, owner you); SELECT a FROM raw.t WHERE a > 1", ROWS), y=("SELECT a FROM m.x", REACHED_ROWS)),
]  # fmt: skip

SEEDS = [
    edit("a seed has one more column", seed("a,b\n1,p\n2,q\n"), seed("a,b,c\n1,p,x\n2,q,y\n"), NON_BREAKING("c", "`c`"), y=("SELECT a FROM m.x", KEPT), z=("SELECT * FROM m.x", NON_BREAKING("c"))),
    edit("a seed has one more column in front", seed("a,b\n1,p\n"), seed("k,a,b\n9,1,p\n"), NON_BREAKING("k"), y=("SELECT a, b FROM m.x", KEPT)),
    edit("a seed has one more row", seed("a,b\n1,p\n"), seed("a,b\n1,p\n2,q\n"), ROWS, y=("SELECT a FROM m.x", REACHED_ROWS), z=("SELECT COUNT(*) AS n FROM m.x", REACHED("n"))),
    edit("a seed has a row twice", seed("a,b\n1,p\n"), seed("a,b\n1,p\n1,p\n"), ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a seed has one row less and one more column", seed("a,b\n1,p\n2,q\n"), seed("a,b,c\n1,p,x\n"), ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a cell of a seed is another", seed("a,b\n1,p\n2,q\n"), seed("a,b\n1,p\n2,r\n"), BREAKING("b", "m.y"), y=("SELECT b FROM m.x", REACHED("b")), z=("SELECT a FROM m.x", KEPT), w=("SELECT COUNT(*) AS n FROM m.x", KEPT)),
    edit("a cell of a seed that nobody reads is another", seed("a,b\n1,p\n2,q\n"), seed("a,b\n1,p\n2,r\n"), UNREAD("b"), y=("SELECT a FROM m.x", KEPT)),
    edit("cells of a seed change places", seed("a,b\n1,p\n2,q\n"), seed("a,b\n1,q\n2,p\n"), BREAKING(None, "m.y"), y=("SELECT a, b FROM m.x", REACHED)),
    edit("a column of a seed that nobody reads is removed", seed("a,b\n1,p\n"), seed("a\n1\n"), UNREAD("b", "`b`"), y=("SELECT a FROM m.x", KEPT)),
    edit("columns of a seed stand in another order", seed("a,b\n1,p\n2,q\n"), seed("b,a\np,1\nq,2\n"), NON_BREAKING(""), y=("SELECT a FROM m.x", KEPT)),
    edit("a column of a seed has another name", seed("a,b\n1,p\n"), seed("a,k\n1,p\n"), UNREAD("b k"), y=("SELECT a FROM m.x", KEPT)),
    edit("a column of a seed has another type", seed("a,b\n1,p\n", "a int, b string"), seed("a,b\n1,p\n", "a bigint, b string"), BREAKING("a", "m.y"), y=("SELECT a FROM m.x", REACHED("a")), z=("SELECT b FROM m.x", KEPT)),
]  # fmt: skip


def source(name: str, old: dict[str, str], new: dict[str, str], **expected: Expected) -> Case:
    """Other columns of raw.t above m.y, which reads a, m.z, which reads b, and a star, m.w."""
    models: Project = {"m.y": "SELECT a FROM raw.t", "m.z": "SELECT COUNT(b) AS n FROM raw.t", "m.w": "SELECT * FROM raw.t", "m.v": "SELECT a FROM m.w"}  # fmt: skip
    wanted = {f"m.{key}": each for key, each in expected.items() if key != "t"}
    return Case(
        name=name,
        before={"raw.t": Source(columns=old), **models},
        after={"raw.t": Source(columns=new), **models},
        expected={"raw.t": expected["t"], **wanted},
    )


AB: Final = {"a": "int", "b": "string"}
ABC: Final = {**AB, "c": "double"}

SOURCES = [
    source("a source has one more column", AB, ABC, t=of_source(NON_BREAKING("c", "`c`")), y=KEPT, z=KEPT, w=NON_BREAKING("c"), v=KEPT),
    source("a column of a source goes that a star reads", ABC, AB, t=of_source(BREAKING("c", "`c`", "m.w")), y=KEPT, z=KEPT, w=UNREAD("c"), v=KEPT),
    source("a column of a source has another type", AB, {"a": "int", "b": "int"}, t=of_source(BREAKING("b", "m.z")), y=KEPT, z=REACHED("n"), w=REACHED("b"), v=KEPT),
    Case(
        name="a column of a source goes that nobody reads",
        before={"raw.t": Source(columns=ABC), "m.y": "SELECT a FROM raw.t"},
        after={"raw.t": Source(columns=AB), "m.y": "SELECT a FROM raw.t"},
        expected={"raw.t": of_source(UNREAD("c", "`c`")), "m.y": KEPT},
    ),
    Case(
        name="columns of a source stand in another order",
        before={"raw.t": Source(columns=AB), "m.y": "SELECT a FROM raw.t", "m.z": "SELECT * FROM raw.t"},
        after={"raw.t": Source(columns={"b": "string", "a": "int"}), "m.y": "SELECT a FROM raw.t", "m.z": "SELECT * FROM raw.t"},
        expected={"raw.t": of_source(NON_BREAKING("")), "m.y": KEPT, "m.z": NON_BREAKING("")},
    ),
    Case(
        name="a source is declared that nobody reads",
        before={"m.y": "SELECT a FROM raw.t"},
        after={"m.y": "SELECT a FROM raw.t", "raw.n": Source(columns=RAW)},
        expected={"raw.n": of_source(ADDED), "m.y": UNCHANGED},
    ),
    Case(
        name="a source is no longer declared",
        before={"m.y": "SELECT a FROM raw.t", "raw.n": Source(columns=RAW)},
        after={"m.y": "SELECT a FROM raw.t"},
        expected={"raw.n": REMOVED, "m.y": UNCHANGED},
    ),
]  # fmt: skip

P: Final = python("context.table('m.x')")
IN_OTHER_LINES: Final = P.replace("(context)", "( context )").replace(
    "('m.x')", '(\n        "m.x"\n    )'
)


def above_python(name: str, old: str, new: str, x: Expected, p: Expected) -> Case:
    """An edit of m.x, which a Python model, m.p, reads, and a reader of that, m.q."""
    downstream = {"m.p": P, "m.q": "SELECT k FROM m.p"}
    return Case(
        name=name,
        before={"m.x": old, **downstream},
        after={"m.x": new, **downstream},
        expected={"m.x": x, "m.p": p, "m.q": p},
    )


PYTHON = [
    edits("the code of a Python model is another, and all downstream is reached", x=("SELECT a FROM raw.t", UNCHANGED), p=(P, python("context.table('m.x').distinct()"), UNDECIDABLE(ALL)), q=("SELECT k FROM m.p", REACHED_ROWS)),
    edits("a Python model has one more column", x=("SELECT a FROM raw.t", UNCHANGED), p=(P, python("context.table('m.x')", columns="k l"), UNDECIDABLE), q=("SELECT k FROM m.p", REACHED)),
    edits("a Python model may read more of what is upstream", x=("SELECT a FROM raw.t", UNCHANGED), p=(python("context.table('m.x')", header="depends_on={'m.x': {'before': '1 day'}}"), python("context.table('m.x')", header="depends_on={'m.x': {'before': '2 days'}}"), UNDECIDABLE)),
    edits("a Python model is written in other lines", x=("SELECT a FROM raw.t", UNCHANGED), p=(P, IN_OTHER_LINES, UNCHANGED), q=("SELECT k FROM m.p", UNCHANGED)),
    edits("a Python model has another owner", x=("SELECT a FROM raw.t", UNCHANGED), p=(P, python("context.table('m.x')", header="owner='me'"), METADATA), q=("SELECT k FROM m.p", METADATA)),
    above_python("a Python model downstream of other rows", "SELECT a FROM raw.t", "SELECT a FROM raw.t WHERE a > 1", ROWS, REACHED),
    above_python("a Python model downstream of a changed column", "SELECT a, b FROM raw.t", "SELECT a, LOWER(b) AS b FROM raw.t", BREAKING("b", "m.p"), REACHED),
    above_python("a Python model downstream of an added column", "SELECT a FROM raw.t", "SELECT a, b FROM raw.t", NON_BREAKING("b"), REACHED),
    above_python("a Python model downstream of a removed column", "SELECT a, b FROM raw.t", "SELECT a FROM raw.t", BREAKING("b", "`b`", "m.p"), REACHED),
    above_python("a Python model downstream of columns in another order", "SELECT a, b FROM raw.t", "SELECT b, a FROM raw.t", EDITED, REACHED),
    above_python("a Python model downstream of another owner", "MODEL (kind FULL, owner me); SELECT a FROM raw.t", "MODEL (kind FULL, owner you); SELECT a FROM raw.t", METADATA, METADATA),
    edits("a Python model downstream of a kept model is kept", n=("SELECT a, b FROM raw.t", "SELECT a, LOWER(b) AS b FROM raw.t", UNREAD("b")), x=("SELECT a FROM m.n", KEPT), p=(P, KEPT)),
    edits("a query becomes a Python model", x=("SELECT a FROM raw.t", UNCHANGED), p=("SELECT b AS k FROM raw.t", P, UNDECIDABLE), q=("SELECT k FROM m.p", REACHED)),
]  # fmt: skip

STATEMENTS = [
    edit("a statement in front of the query is added", "MODEL (kind FULL); SELECT a FROM raw.t", "MODEL (kind FULL); CACHE TABLE raw.t; SELECT a FROM raw.t", UNDECIDABLE, y=("SELECT a FROM m.x", REACHED)),
    edit("a statement behind the query is another", "MODEL (kind FULL); SELECT a FROM raw.t; UNCACHE TABLE raw.t", "MODEL (kind FULL); SELECT a FROM raw.t; UNCACHE TABLE raw.u", UNDECIDABLE, y=("SELECT a FROM m.x", REACHED)),
    edit("a statement is removed and a column added", "MODEL (kind FULL); CACHE TABLE raw.t; SELECT a FROM raw.t", "MODEL (kind FULL); SELECT a, b FROM raw.t", UNDECIDABLE, y=("SELECT a FROM m.x", REACHED)),
    edit("a column is added, and a pre-statement stays", "MODEL (kind FULL); CACHE TABLE raw.t; SELECT a FROM raw.t", "MODEL (kind FULL); CACHE TABLE raw.t; SELECT a, b FROM raw.t", NON_BREAKING("b"), y=("SELECT a FROM m.x", KEPT)),
]  # fmt: skip

CASES = [
    *KINDS,
    *OWN_ROWS,
    *LAYOUTS,
    *PEOPLE,
    *SEEDS,
    *SOURCES,
    *PYTHON,
    *STATEMENTS,
]
