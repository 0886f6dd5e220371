"""Each reason of a change has fields, and a sentence that is made of them."""

from __future__ import annotations

import string

import pytest

from tests.core.planning.changes.case import Project, graph_of
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
            "changes `a`: no model reads it, readers outside may",
        ),
        (
            Reason(kind=KIND.UNREAD_COLUMNS_REMOVED, columns=("a", "b")),
            "removes `a`, `b`: no model reads them, readers outside may",
        ),
        (
            Reason(kind=KIND.UPSTREAM_VALUES, columns=("a",), upstream=ORDERS),
            "reads `a` of staging.orders, which may have other values",
        ),
        (
            Reason(kind=KIND.ROWS, clauses=("WHERE", "joins")),
            "may have other rows: WHERE, joins changed",
        ),
        (Reason(kind=KIND.ROWS), "may have other rows: what its query is made of changed"),
        (
            Reason(kind=KIND.FUNCTION_UNKNOWN, function="{columns}"),
            "what the function {columns} does to rows is not known",
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
X = ModelName("m", "x")
BEFORE = {"m.x": "SELECT a, b FROM raw.t WHERE a > 1", "m.y": "SELECT b FROM m.x"}
KEYED = "MODEL (kind INCREMENTAL_BY_UNIQUE_KEY (unique_key {}));\nSELECT a, b FROM raw.t"


@pytest.mark.parametrize(
    "before,after,model,reason",
    [
        (
            BEFORE,
            BEFORE | {"m.x": "SELECT a, b FROM raw.t WHERE a > 2"},
            "m.x",
            Reason(kind=KIND.ROWS, clauses=("WHERE",)),
        ),
        (
            BEFORE,
            BEFORE | {"m.x": "SELECT a, b FROM raw.t WHERE a > 2"},
            "m.y",
            Reason(kind=KIND.UPSTREAM_ROWS, upstream=X),
        ),
        (
            BEFORE,
            BEFORE | {"m.x": "SELECT a, a AS b FROM raw.t WHERE a > 1"},
            "m.x",
            Reason(kind=KIND.READ_COLUMN_CHANGED, columns=("b",), read_by=(ModelName("m", "y"),)),
        ),
        (
            BEFORE,
            BEFORE | {"m.x": "SELECT a, a AS b FROM raw.t WHERE a > 1"},
            "m.y",
            Reason(kind=KIND.UPSTREAM_VALUES, columns=("b",), upstream=X),
        ),
        (
            BEFORE,
            BEFORE | {"m.x": "MODEL (kind VIEW);\nSELECT a, b FROM raw.t WHERE a > 1"},
            "m.x",
            Reason(kind=KIND.MODEL_KIND, before="FULL", after="VIEW"),
        ),
        (
            BEFORE,
            BEFORE | {"m.x": "SELECT b, a FROM raw.t WHERE a > 1"},
            "m.x",
            Reason(kind=KIND.COLUMN_ORDER, before="a, b", after="b, a"),
        ),
        (
            {"m.x": "MODEL (kind FULL, stamp 'one');\nSELECT a FROM raw.t"},
            {"m.x": "MODEL (kind FULL, stamp 'two');\nSELECT a FROM raw.t"},
            "m.x",
            Reason(kind=KIND.STAMP, before="one", after="two"),
        ),
        (
            {"m.x": KEYED.format("a")},
            {"m.x": KEYED.format("(a, b)")},
            "m.x",
            Reason(kind=KIND.KEY_COLUMNS, before="a", after="a, b"),
        ),
    ],
)
def test_a_reason_says_in_fields_what_changed(
    before: Project, after: Project, model: str, reason: Reason
) -> None:
    found = compare_graphs(graph_of(before), graph_of(after))
    assert reason in found[ModelName.parse(model)].reasons
