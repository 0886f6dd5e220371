# ruff: noqa: E501 - rows of tables stay on one line
"""What is no query: seeds, sources, Python models, and pre- and post-statements."""

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

CASES = [*SEEDS, *SOURCES, *PYTHON, *STATEMENTS]
