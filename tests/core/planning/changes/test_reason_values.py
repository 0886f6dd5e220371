"""Each reason of a change has fields, and a sentence that is made of them."""

from __future__ import annotations

import string

import pytest

from tests.core.planning.changes.case import graph_of
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.planning.changes.reason_values import Reason, ReasonKind, sentence, sentences

KIND = ReasonKind
ORDERS, REVENUE = ModelName("staging", "orders"), ModelName("mart", "revenue")


@pytest.mark.parametrize(
    "reason,reported",
    [
        (Reason(kind=KIND.MODEL_ADDED), "new model"),
        (
            Reason(kind=KIND.MODEL_KIND, before="FULL", after="VIEW"),
            "its kind was FULL and is VIEW",
        ),
        (Reason(kind=KIND.COLUMNS_ADDED, columns=("a", "b")), "adds `a`, `b`"),
        (Reason(kind=KIND.COLUMNS_ADDED, columns=tuple("abcde")), "adds `a`, `b`, `c` and 2 more"),
        (
            Reason(kind=KIND.READ_COLUMN_REMOVED, columns=("a",), read_by=(ORDERS, REVENUE)),
            "removes column `a`, read by staging.orders, mart.revenue",
        ),
        (
            Reason(kind=KIND.UNREAD_COLUMNS_CHANGED, columns=("a",)),
            "changes `a`: no model reads it, but readers outside the project may",
        ),
        (
            Reason(kind=KIND.UNREAD_COLUMNS_REMOVED, columns=("a", "b")),
            "removes `a`, `b`: no model reads them, but readers outside the project may",
        ),
        (
            Reason(kind=KIND.UPSTREAM_VALUES, columns=("a",), upstream=ORDERS),
            "reads `a` of staging.orders, whose values may change",
        ),
        (
            Reason(kind=KIND.ROWS, clauses=("WHERE", "joins")),
            "its rows may change: WHERE, joins changed",
        ),
        (Reason(kind=KIND.ROWS), "its rows may change: parts of its query changed"),
        (
            Reason(kind=KIND.FUNCTION_UNKNOWN, function="{columns}"),
            "the effect of the function {columns} on rows is unknown",
        ),
    ],
)
def test_a_reason_is_worded_by_its_fields(reason: Reason, reported: str) -> None:
    assert sentence(reason) == reported
    assert sentences([reason, reason]) == (reported, reported)


@pytest.mark.parametrize("kind", KIND)
def test_every_kind_has_a_name_of_its_own_and_a_sentence_of_fields_that_there_are(
    kind: ReasonKind,
) -> None:
    known = {*Reason.__dataclass_fields__, "them"} - {"kind"}
    parts = list(string.Formatter().parse(kind.text))
    assert {name for _, name, _, _ in parts if name is not None} <= known
    assert kind.value == kind.name.lower()
    assert sum(each.text == kind.text for each in KIND) == 1
    assert "".join(text for text, *_ in parts).strip()


# Found
X, Y = ModelName("m", "x"), ModelName("m", "y")
BEFORE = {"m.x": "SELECT a, b FROM raw.t WHERE a > 1", "m.y": "SELECT b FROM m.x"}
OTHER_B = "SELECT a, a AS b FROM raw.t WHERE a > 1"


WHERE = BEFORE["m.x"]
CHANGED = [
    (WHERE.replace("> 1", "> 2"), X, Reason(kind=KIND.ROWS, clauses=("WHERE",))),
    (WHERE.replace("> 1", "> 2"), Y, Reason(kind=KIND.UPSTREAM_ROWS, upstream=X)),
    (OTHER_B, X, Reason(kind=KIND.READ_COLUMN_CHANGED, columns=("b",), read_by=(Y,))),
    (OTHER_B, Y, Reason(kind=KIND.UPSTREAM_VALUES, columns=("b",), upstream=X)),
    (f"MODEL (kind VIEW);\n{WHERE}", X, Reason(kind=KIND.MODEL_KIND, before="FULL", after="VIEW")),
    (WHERE.replace("a, b", "b, a"), X, Reason(kind=KIND.WRITING)),
]


@pytest.mark.parametrize("after,model,reason", CHANGED)
def test_a_reason_says_in_fields_what_changed(after: str, model: ModelName, reason: Reason) -> None:
    found = compare_graphs(graph_of(BEFORE), graph_of({**BEFORE, "m.x": after}))
    assert reason in found[model].reasons


@pytest.mark.parametrize(
    "header,before,after,kind",
    [
        ("kind FULL, stamp '{}'", "one", "two", KIND.STAMP),
        ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key ({}))", "a", "a, b", KIND.KEY_COLUMNS),
    ],
)
def test_a_reason_has_what_the_header_said(
    header: str, before: str, after: str, kind: ReasonKind
) -> None:
    old, new = (
        graph_of({"m.x": f"MODEL ({header.format(each)});\nSELECT a, b FROM raw.t"})
        for each in (before, after)
    )
    assert Reason(kind=kind, before=before, after=after) in compare_graphs(old, new)[X].reasons
