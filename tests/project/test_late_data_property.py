# ruff: noqa: E501 - rows of tables stay on one line
"""The property ``late_data`` (docs/inside/architecture.md), in SQL and in Python, and its problems."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from itertools import product

import pytest

from tests.project.headers import PYTHON, header_of, python_model, python_text, refused, sql_model
from vde_dagster.core.model.late_data import (
    LateDataMode,
    LateDataPolicy,
    LoadType,
    OnSourceRewrite,
    TrackedSource,
)
from vde_dagster.core.names import ModelName

RANGE = "kind INCREMENTAL_BY_TIME_RANGE (time_column ts)"
RANGE_IN_PYTHON = {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "ts"}
ORDERS, CANCELS = ModelName("raw", "orders"), ModelName("raw", "cancels")
PLAIN = TrackedSource(name=ORDERS)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def stateful(*tracked: TrackedSource) -> LateDataPolicy:
    return LateDataPolicy(mode=LateDataMode.STATEFUL, tracked=tracked)


def test_what_a_policy_does_not_say_is_as_the_design_has_it() -> None:
    found = sql_model(f"{RANGE}, late_data (mode stateful, sources raw.orders)").late_data
    assert found is not None
    (source,) = found.tracked
    assert source.tracked_by == "event_landing_ts"
    assert (source.offset, source.idle_after) == (timedelta(0), None)
    assert found.catchup_threshold is None
    assert found.load_type is LoadType.CHANGED
    assert found.on_source_rewrite is OnSourceRewrite.OVERWRITE
    assert sql_model(RANGE).late_data is None


# Each row: the property in SQL, the argument of the decorator, the policy.
POLICIES: list[tuple[str, Mapping[str, object], LateDataPolicy]] = [
    ("(mode stateful, sources raw.orders)", {"mode": "stateful", "sources": "raw.orders"}, stateful(PLAIN)),
    ("(MODE = 'STATEFUL', Sources := (RAW.Orders,))", {"mode": "Stateful", "sources": ["RAW.Orders"]}, stateful(PLAIN)),
    ("(mode stateful, sources `raw`.`orders`)", {"mode": "stateful", "sources": '"raw"."orders"'}, stateful(PLAIN)),
    ("(mode stateful, sources orders)", {"mode": "stateful", "sources": "orders"}, stateful(TrackedSource(name=ModelName("default", "orders")))),
    # the column of event or landing time
    ("(mode stateful, sources 'raw.orders|Seen_At')", {"mode": "stateful", "sources": "raw.orders|seen_at"}, stateful(TrackedSource(name=ORDERS, tracked_by="seen_at"))),
    ("(mode stateful, sources raw.orders (tracked_by Ts))", {"mode": "stateful", "sources": {"raw.orders": {"tracked_by": "ts"}}}, stateful(TrackedSource(name=ORDERS, tracked_by="ts"))),
    ("(mode stateful, sources raw.orders ())", {"mode": "stateful", "sources": {"raw.orders": {}}}, stateful(PLAIN)),
    # completeness
    ("(mode stateful, sources raw.orders (offset '1 hour', idle_after '1 day 6 hours'))", {"mode": "stateful", "sources": [{"name": "raw.orders", "offset": "1 hour", "idle_after": "30 hours"}]}, stateful(TrackedSource(name=ORDERS, offset=HOUR, idle_after=30 * HOUR))),
    ("(mode stateful, sources raw.orders (offset '0 hours', idle_after '0 days'))", {"mode": "stateful", "sources": {"raw.orders": {"offset": "0 days", "idle_after": "0 days"}}}, stateful(TrackedSource(name=ORDERS, idle_after=timedelta(0)))),
    # several sources, in the order that was written
    ("(mode stateful, sources (raw.orders (offset '1 hour'), 'raw.cancels|ts'))", {"mode": "stateful", "sources": [("raw.orders", {"offset": "1 hour"}), "raw.cancels|ts"]}, stateful(TrackedSource(name=ORDERS, offset=HOUR), TrackedSource(name=CANCELS, tracked_by="ts"))),
    ("(mode stateful, sources (raw.cancels, raw.orders))", {"mode": "stateful", "sources": {"raw.cancels": None, "raw.orders": {}}}, stateful(TrackedSource(name=CANCELS), PLAIN)),
    # how far back, what and how
    ("(mode stateful, sources raw.orders, catchup_threshold '7 days')", {"mode": "stateful", "sources": "raw.orders", "catchup_threshold": "1 week"}, LateDataPolicy(mode=LateDataMode.STATEFUL, tracked=(PLAIN,), catchup_threshold=7 * DAY)),
    ("(mode stateful, sources raw.orders, catchup_threshold '0 days')", {"mode": "stateful", "sources": "raw.orders", "catchup_threshold": "0 hours"}, LateDataPolicy(mode=LateDataMode.STATEFUL, tracked=(PLAIN,), catchup_threshold=timedelta(0))),
    ("(mode stateful, sources raw.orders, catchup_threshold None)", {"mode": "stateful", "sources": "raw.orders", "catchup_threshold": None}, stateful(PLAIN)),
    ("(mode stateful, sources raw.orders, load_type RANGE)", {"mode": "stateful", "sources": "raw.orders", "load_type": "range"}, LateDataPolicy(mode=LateDataMode.STATEFUL, tracked=(PLAIN,), load_type=LoadType.RANGE)),
    ("(mode stateful, sources raw.orders, load_type changed, on_source_rewrite 'overwrite')", {"mode": "stateful", "sources": "raw.orders", "load_type": None, "on_source_rewrite": None}, stateful(PLAIN)),
    ("(on_source_rewrite stop, sources raw.orders, mode stateful)", {"on_source_rewrite": "stop", "sources": "raw.orders", "mode": "stateful"}, LateDataPolicy(mode=LateDataMode.STATEFUL, tracked=(PLAIN,), on_source_rewrite=OnSourceRewrite.STOP)),
]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("sql,python,expected", POLICIES, ids=[row[0] for row in POLICIES])
def test_a_policy_means_the_same_in_sql_and_in_python(
    sql: str, python: Mapping[str, object], expected: LateDataPolicy
) -> None:
    in_sql = sql_model(f"{RANGE}, late_data {sql}")
    in_python = python_model({"kind": RANGE_IN_PYTHON, "late_data": python})
    assert in_sql.late_data == expected
    assert header_of(in_sql).late_data == header_of(in_python).late_data


def test_stateless_mode_is_a_policy_of_sessions() -> None:
    found = sql_model(f"{RANGE}, late_data (mode stateless, sources raw.orders)")
    assert found.late_data == LateDataPolicy(mode=LateDataMode.STATELESS, tracked=(PLAIN,))
    assert found.stateless == found.late_data
    assert (found.warnings, found.unsupported) == ((), ())


@pytest.mark.parametrize(
    "option,sources",
    [
        ("load_type range", "raw.orders"),
        ("offset", "raw.orders (offset '1 hour')"),
        ("idle_after", "raw.orders (idle_after '1 hour')"),
    ],
)
def test_what_decides_nothing_in_stateless_mode_is_refused(option: str, sources: str) -> None:
    of_policy = "" if "raw.orders (" in sources else f", {option}"
    found = sql_model(f"{RANGE}, late_data (mode stateless, sources ({sources}){of_policy})")
    (problem,) = found.unsupported
    assert problem.message.startswith(
        f"{option.split(maxsplit=1)[0]} decides what stateful sessions load"
    )
    assert "mode stateful" in problem.advice


# Bad input. Each part of the property stands on a line of its own: `late_data (` on line 3.
WRONG: list[tuple[str, int, str, str]] = [
    ("()", 3, "late_data needs mode and sources", "late_data (mode stateless, sources (raw.orders))"),
    ("(\nmode stateful)", 3, "late_data needs sources", "sources (raw.orders)"),
    ("(\nsources raw.orders)", 3, "late_data needs mode", "mode stateless"),
    ("(mode stateful,\nsource raw.orders)", 4, "late_data has no option 'source'", "Did you mean sources?"),
    ("(mode stateful, sources raw.orders,\ncatchup_treshold '7 days')", 4, "late_data has no option 'catchup_treshold'", "Did you mean catchup_threshold?"),
    ("(mode stateful, sources raw.orders,\nload_type)", 4, "the option load_type has no value", "Write `load_type ...`."),
    ("(mode stateful, sources raw.orders,\nmode stateless)", 4, "the option 'mode' is given twice", "Remove one."),
    ("(sources raw.orders,\nmode statefull)", 4, "'statefull' is not a known value", "Did you mean stateful?"),
    ("(mode stateful, sources raw.orders,\nload_type all)", 4, "'all' is not a known value", "Known: changed, range."),
    ("(mode stateful, sources raw.orders,\non_source_rewrite fail)", 4, "'fail' is not a known value", "Known: overwrite, stop."),
    ("(mode stateful, sources raw.orders,\ncatchup_threshold 'soon')", 4, "'soon' is not a length of time", "'7 days'"),
    # sources
    ("(mode stateful,\nsources ())", 4, "late_data tracks no source", "Write `sources (raw.orders)`."),
    ("(mode stateful, sources (raw.orders,\na.b.c.d))", 4, "the name 'a.b.c.d' has 4 parts", "Write name, schema.name"),
    ("(mode stateful, sources (raw.orders,\n'raw.or ders'))", 4, "'or ders' in the name 'raw.or ders' is not a plain identifier", "Use letters"),
    ("(mode stateful, sources (raw.orders,\nraw__x.t))", 4, "the schema 'raw__x' has a double underscore", "Use one underscore."),
    ("(mode stateful,\nsources 5)", 4, "'5' in the name '5' is not a plain identifier", "Use letters"),
    ("(mode stateful, sources (raw.orders,\nRaw.Orders))", 4, "the source raw.orders is given twice", "Remove one."),
    ("(mode stateful,\nsources raw.orders|ts)", 4, "raw.orders|ts is not a source with its options", "`raw.orders (tracked_by column)`"),
    ("(mode stateful,\nsources 'raw.orders|a|b')", 4, "'raw.orders|a|b' is not a source with its column", "`'raw.orders|column'`"),
    # options of a source
    ("(mode stateful, sources (raw.orders (\ntracked ts)))", 4, "the source raw.orders has no option 'tracked'", "Did you mean tracked_by?"),
    ("(mode stateful, sources (raw.orders (\nts)))", 4, "the option ts has no value", "Write `ts ...`."),
    ("(mode stateful, sources (raw.orders (tracked_by a,\ntracked_by b)))", 4, "the option 'tracked_by' is given twice", "Remove one."),
    ("(mode stateful, sources (raw.orders (\ntracked_by (a, b))))", 4, "tracked_by has to be one column, not 2", "Write `tracked_by column`."),
    ("(mode stateful, sources (raw.orders (\ntracked_by ())))", 4, "tracked_by has to be one column, not 0", "Write `tracked_by column`."),
    ("(mode stateful, sources (raw.orders (\ntracked_by lower(ts))))", 4, "'lower(ts)' is not a valid column name", "only the name"),
    ("(mode stateful, sources (raw.orders (\noffset 'long')))", 4, "'long' is not a length of time", "'1 hour'"),
    # stateless mode
    ("(mode stateless,\nsources (raw.orders, raw.cancels))", 4, "stateless late_data tracks exactly one source", "one model for each source"),
    ("(mode stateless,\nsources raw.cancels)", 3, "a read of something else than raw.cancels", "Read only that one source"),
]  # fmt: skip


@pytest.mark.parametrize("written,line,words,advice", WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_policy_is_reported_once_at_its_line_with_advice(
    written: str, line: int, words: str, advice: str
) -> None:
    query = "SELECT id, ts FROM raw.orders WHERE ts BETWEEN @start_dt AND @end_dt"
    (problem,) = refused(f"MODEL (name m.x,\n{RANGE},\nlate_data {written}\n);\n{query}")
    assert words in problem.message
    assert advice in problem.advice
    assert problem.place.line == line


PYTHON_WRONG: list[tuple[object, str, str]] = [
    ({}, "late_data needs mode and sources", "late_data (mode"),
    ({"mode": "stateful", "sources": None}, "late_data needs sources", "sources (raw.orders)"),
    ({"mode": "stateful", "sources": []}, "late_data tracks no source", "sources (raw.orders)"),
    ({"mode": True, "sources": "raw.orders"}, "'true' is not a known value", "Known: stateless, stateful."),
    ({"mode": "stateful", "sources": 5}, "'5' in the name '5' is not a plain identifier", "Use letters"),
    ({"mode": "stateful", "sources": {"raw.orders": "ts"}}, "is not a source with its options", "tracked_by column"),
    ({"mode": "stateful", "sources": {"raw.orders": {"idle_after": None}}}, "the option idle_after has no value", "idle_after ..."),
    ({"mode": "stateful", "sources": {"raw.orders": {"ofset": "1 hour"}}}, "has no option 'ofset'", "Did you mean offset?"),
    ({"mode": "stateful", "sources": "raw.orders", "catchup_threshold": timedelta(days=7)}, "the argument 'late_data' cannot be used", "texts, numbers"),
    ({"mode": "stateful", "sources": "raw.orders", "catchup_threshold": 7}, "'7' is not a length of time", "'7 days'"),
    ({"mode": "stateful", "sources": {5: {}}}, "the argument 'late_data' cannot be used", "mappings"),
    ({"mode": "stateless", "sources": "raw.orders"}, "how a Python function uses them is not known", "the model in SQL"),
]  # fmt: skip


@pytest.mark.parametrize("policy,words,advice", PYTHON_WRONG, ids=[str(row[0]) for row in PYTHON_WRONG])  # fmt: skip
def test_a_wrong_policy_of_a_python_model_is_reported_at_its_argument(
    policy: object, words: str, advice: str
) -> None:
    text = python_text({"kind": RANGE_IN_PYTHON, "late_data": policy})
    (problem,) = refused(text, PYTHON)
    assert words in problem.message
    assert advice in problem.advice
    assert text.splitlines()[problem.place.line - 1].startswith("    late_data=")


OTHER_KINDS = (
    "FULL",
    "VIEW",
    "EMBEDDED",
    "MANAGED",
    "INCREMENTAL_BY_PARTITION",
)


@pytest.mark.parametrize(
    "kind,mode",
    [
        *product(OTHER_KINDS, ("stateful", "stateless")),
        ("INCREMENTAL_UNMANAGED", "stateful"),
        ("INCREMENTAL_BY_UNIQUE_KEY (unique_key id, sequence_by ts)", "stateful"),
        ("SCD_TYPE_2_BY_TIME (unique_key id, sequence_by ts)", "stateful"),
    ],
)
def test_other_kinds_have_no_policy(kind: str, mode: str) -> None:
    partitioned = "partitioned_by (id), " if "PARTITION" in kind else ""
    (problem,) = refused(
        f"MODEL (name m.x, {partitioned}kind {kind},\nlate_data (mode {mode}, sources raw.orders));"
        "\nSELECT id, shop, ts FROM raw.orders"
    )
    assert "late_data needs the kind INCREMENTAL_BY_TIME_RANGE" in problem.message
    assert (problem.place.line, problem.advice) == (2, "Use that kind, or remove late_data.")


@pytest.mark.parametrize(
    "kind",
    [
        "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, sequence_by ts)",
        "SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts, sequence_by ts)",
        "SCD_TYPE_2_BY_COLUMN (unique_key id, columns *, sequence_by ts)",
    ],
)
def test_a_keyed_model_says_which_change_of_a_key_is_later(kind: str) -> None:
    query = "SELECT id, ts FROM raw.orders"
    policy = "late_data (mode stateless, sources raw.orders)"
    ordered = kind.replace("updated_at_name ts, ", "")
    assert sql_model(f"kind {ordered}, {policy}", query).stateless is not None
    without = kind.replace(", sequence_by ts", "")
    (problem,) = refused(f"MODEL (name m.x, kind {without},\n{policy});\n{query}")
    assert "needs sequence_by: without it a late row would replace a newer row" in problem.message
    assert problem.place.line == 2


UNMANAGED = """MODEL (name m.x, kind INCREMENTAL_UNMANAGED,
late_data (mode stateless, sources raw.orders));
"""


@pytest.mark.parametrize("where", ["", " WHERE ts BETWEEN @start_ts AND @end_ts AND id > 0"])
def test_an_append_only_model_may_have_a_stateless_policy(where: str) -> None:
    policy = "kind INCREMENTAL_UNMANAGED, late_data (mode stateless, sources raw.orders)"
    found = sql_model(policy, f"SELECT id, ts FROM raw.orders{where}")
    assert found.stateless is not None


def test_an_append_only_model_reads_the_interval_to_bound_a_column_and_for_nothing_else() -> None:
    query = "SELECT id, @end_ds AS day FROM raw.orders WHERE ts BETWEEN @start_ts AND @end_ts"
    (problem,) = refused(UNMANAGED + query)
    assert "loads each new row of the source once, but @end_ds does more" in problem.message
    assert "BETWEEN @start_ts AND @end_ts" in problem.advice
    assert problem.place.line == 2


# What a query must not do, so that its new rows depend on the new rows of its source alone.
NOT_ROW_LOCAL = [
    "SELECT ts, COUNT(*) AS n FROM raw.orders WHERE ts >= @start_dt GROUP BY ts",
    "SELECT MAX(ts) AS ts FROM raw.orders WHERE ts >= @start_dt",
    "SELECT DISTINCT ts FROM raw.orders WHERE ts >= @start_dt",
    "SELECT ts, ROW_NUMBER() OVER (ORDER BY ts) AS n FROM raw.orders WHERE ts >= @start_dt",
    "SELECT ts FROM raw.orders WHERE ts >= @start_dt LIMIT 10",
    "SELECT ts FROM raw.orders WHERE ts >= @start_dt UNION ALL SELECT ts FROM raw.orders",
    "SELECT o.ts FROM raw.orders AS o JOIN raw.cancels AS c ON o.id = c.id AND o.ts >= @start_dt",
    "SELECT ts FROM raw.orders WHERE ts >= @start_dt AND id NOT IN (SELECT id FROM m.x)",
]


@pytest.mark.parametrize("query", NOT_ROW_LOCAL)
def test_stateless_mode_is_refused_where_new_rows_do_not_follow_from_new_rows(query: str) -> None:
    (problem,) = refused(
        f"MODEL (name m.x, {RANGE},\nlate_data (mode stateless, sources raw.orders));\n{query}"
    )
    assert "stateless late_data appends rows one by one" in problem.message
    assert "aggregate in a downstream model" in problem.advice
    assert problem.place.line == 2
    assert sql_model(f"{RANGE}, late_data (mode stateful, sources raw.orders)", query).late_data


def test_all_problems_of_a_policy_are_reported_at_once() -> None:
    lines = [
        f"MODEL (name m.x, {RANGE}, late_data (",
        "mode statefull,",
        "sources (",
        "raw.orders (offset 'long',",
        "idle_after 'longer',",
        "tracked ts),",
        "a.b.c.d,",
        "'raw.cancels|'),",
        "catchup_threshold 'soon',",
        "load_type all,",
        "on_source_rewrite fail,",
        "catchup '1 day'",
        "));",
        "SELECT id, ts FROM raw.orders WHERE ts BETWEEN @start_dt AND @end_dt",
    ]
    found = refused("\n".join(lines))
    assert [each.place.line for each in found] == [2, 4, 5, 6, 7, 8, 9, 10, 11, 12]
