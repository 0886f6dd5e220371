"""Tokens of what is read, keys of what follows from it, and what may differ for equal inputs."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tests.core.ledger.ledger_entries import entry_of
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.dsha import RowSum, dsha, total
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerChange,
    LedgerEntry,
    LedgerMismatch,
    LedgerOperation,
    Trace,
    apply_changes,
    outdate,
)
from vde_dagster.core.ledger.traces import (
    LedgerTokens,
    OneToken,
    recipe,
    source_token,
    traces,
    why_nondeterministic,
)
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import WHOLE
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model

START = datetime(2024, 1, 1, tzinfo=UTC)
COLUMNS = (Column(name="day", type="date"), Column(name="n", type="bigint"))
RAW, BASE, X = ModelName("raw", "t"), ModelName("m", "base"), ModelName("m", "x")


def day(number: int, last: int | None = None) -> Interval:
    return Interval(
        START + timedelta(days=number),
        START + timedelta(days=(number if last is None else last) + 1),
    )


def entry(
    number: int, rows: RowSum | None = None, *, columns: tuple[Column, ...] = COLUMNS
) -> LedgerEntry:
    loaded = RowSum(rows=number + 1, sum=number**40 % 2**128) if rows is None else rows
    return entry_of(day(number), loaded, columns=columns, digest=dsha(loaded, columns))


# Tokens
DAYS = [entry(number) for number in range(10)]


@pytest.mark.parametrize("first,last", [(0, 0), (0, 9), (3, 3), (3, 7), (9, 9)], ids=str)
def test_the_token_of_a_range_is_the_dsha_of_its_rows(first: int, last: int) -> None:
    expected = dsha(total(each.rows for each in DAYS[first : last + 1]), COLUMNS)
    assert LedgerTokens(DAYS).of((day(first, last),)) == expected


def test_the_token_of_a_whole_table_is_its_dsha_however_it_is_cut() -> None:
    rows = total(each.rows for each in DAYS)
    whole = replace(DAYS[0], interval=day(0, 40), rows=rows)
    assert LedgerTokens(DAYS).of(WHOLE) == dsha(rows, COLUMNS) == LedgerTokens([whole]).of(WHOLE)


def test_an_entry_that_lies_in_a_range_in_part_counts_as_a_whole() -> None:
    hours = Interval(day(2).start + timedelta(hours=5), day(2).start + timedelta(hours=6))
    assert LedgerTokens(DAYS).of((hours,)) == LedgerTokens(DAYS).of((day(2),))


def test_what_borders_on_a_range_is_no_part_of_it() -> None:
    neighbours = [DAYS[1], DAYS[3]]
    assert LedgerTokens([*DAYS[:2], DAYS[2]]).of((day(2),)) == LedgerTokens(DAYS).of((day(2),))
    assert LedgerTokens(neighbours).of((day(2),)) == LedgerTokens([]).of((day(2),))


CHANGES = {
    "rows": lambda each: replace(each, rows=each.rows + RowSum(rows=0, sum=1)),
    "a row twice": lambda each: replace(each, rows=each.rows + RowSum(rows=1, sum=0)),
    "a column's type": lambda each: replace(
        each, columns=(COLUMNS[0], Column(name="n", type="int"))
    ),
    "a column": lambda each: replace(each, columns=COLUMNS[:1]),
    "the algorithm": lambda each: replace(each, algorithm="another/1"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_token_changes_with_what_lies_in_its_range_and_with_nothing_else(what: str) -> None:
    changed = [*DAYS[:4], CHANGES[what](DAYS[4]), *DAYS[5:]]
    before, after = LedgerTokens(DAYS), LedgerTokens(changed)
    for read in ((day(4),), (day(3, 6),), WHOLE):
        assert before.of(read) != after.of(read)
    for other in ((day(3),), (day(5, 9),)):
        assert before.of(other) == after.of(other)


def test_what_a_table_says_about_its_columns_is_no_content() -> None:
    reported = tuple(replace(each, description="told") for each in COLUMNS)
    upper = (Column(name="DAY", type="DATE"), COLUMNS[1])
    for columns in (reported, upper):
        other = [replace(each, columns=columns) for each in DAYS]
        assert LedgerTokens(other).of((day(1, 4),)) == LedgerTokens(DAYS).of((day(1, 4),))


def test_status_and_who_wrote_are_no_content() -> None:
    other = [
        replace(each, status=EntryStatus.OUTDATED, work_id="v", iceberg_snapshot_id=9)
        for each in DAYS
    ]
    assert LedgerTokens(other).of(WHOLE) == LedgerTokens(DAYS).of(WHOLE)


def test_rows_under_several_schemas_have_one_token() -> None:
    wider = (*COLUMNS, Column(name="x", type="int"))
    mixed = [*DAYS[:5], *(replace(each, columns=wider) for each in DAYS[5:])]
    tokens = LedgerTokens(mixed)
    assert tokens.of((day(0, 4),)) == LedgerTokens(DAYS).of((day(0, 4),))
    swapped = [replace(each, columns=wider) for each in DAYS[:5]] + DAYS[5:]
    assert (
        len({tokens.of(WHOLE), LedgerTokens(swapped).of(WHOLE), LedgerTokens(DAYS).of(WHOLE)}) == 3
    )


def test_random_ranges_have_the_tokens_that_adding_up_gives() -> None:
    chosen = random.Random(5)
    for _ in range(50):
        loaded = [
            entry(number, RowSum(rows=chosen.randrange(9), sum=chosen.randrange(2**128)))
            for number in sorted(chosen.sample(range(60), 40))
        ]
        borders = sorted(chosen.sample(range(60), 4))
        read = tuple(day(a, b - 1) for a, b in list(pairwise(borders))[::2])
        inside = [each for each in loaded if any(part.contains(each.interval) for part in read)]
        nothing = LedgerTokens([]).of(read)
        expected = dsha(total(each.rows for each in inside), COLUMNS) if inside else nothing
        assert LedgerTokens(loaded).of(read) == expected


def test_a_source_has_another_token_for_other_rows_columns_and_tables() -> None:
    tokens = [
        source_token("u", COLUMNS, 5),
        source_token("u", COLUMNS, 6),
        source_token("u", COLUMNS, None),
        source_token("v", COLUMNS, 5),
        source_token("u", COLUMNS[:1], 5),
        source_token("u", COLUMNS, 5, marks=("'n' default None",)),
        source_token("u", COLUMNS, 5, marks=("'n' was 'm'",)),
    ]
    assert len(set(tokens)) == len(tokens)
    assert source_token("u", COLUMNS, 5, marks=()) == tokens[0]
    assert OneToken("t").of(WHOLE) == OneToken("t").of((day(3),)) == "t"


# Keys
RANGE = "kind INCREMENTAL_BY_TIME_RANGE (time_column day)"
BASE_TEXT = f"MODEL (name m.base, {RANGE});\nSELECT day, n FROM raw.t WHERE day = @start_date"
SHOWN = "MODEL (name m.shown, kind VIEW);\nSELECT day, n * 2 AS n FROM m.base"


def graph_of(
    *texts: str, path: str = "models/m/{}.sql", others: tuple[ModelSource, ...] = ()
) -> Graph:
    source = external_source(
        RAW,
        {"day": "date", "n": "bigint"},
        place=Place(path=Path("external_models.yaml")),
        defaults=Defaults(start=START),
    )
    written = [
        ModelSource(
            path=Path(path.format(f"x{number}")),
            text=text,
            defaults=Defaults(start=START).as_texts(),
        )
        for number, text in enumerate(texts)
    ]
    return build_graph(read_model(each) for each in (source, *others, *written))


def keys_of(graph: Graph, loaded: list[LedgerEntry], *days: Interval) -> dict[Interval, str]:
    reads = reads_of(graph, X)
    tokens = {name: LedgerTokens(loaded) for name in reads.demands}
    found = traces(recipe(graph, X), reads, tokens, days)
    return {interval: each.key for interval, each in found.items()}


BY_DAY = f"MODEL (name m.x, {RANGE});\nSELECT day, n FROM m.base WHERE day = @start_date"


def test_an_interval_has_another_key_where_what_it_reads_has_changed() -> None:
    graph = graph_of(BASE_TEXT, BY_DAY)
    before = keys_of(graph, DAYS, *(day(number) for number in range(10)))
    changed = [*DAYS[:4], CHANGES["rows"](DAYS[4]), *DAYS[5:]]
    after = keys_of(graph, changed, *(day(number) for number in range(10)))
    assert [each for each in before if before[each] != after[each]] == [day(4)]
    assert len(set(before.values())) == 10


def test_a_window_is_read_where_the_query_reads_it() -> None:
    looks_back = BY_DAY.replace(
        "day, n FROM m.base WHERE day =",
        "MAX(day) AS day, SUM(n) AS n FROM m.base WHERE day >= @start_date - INTERVAL 2 DAYS "
        "AND day <=",
    )
    graph = graph_of(BASE_TEXT, looks_back)
    changed = [*DAYS[:4], CHANGES["rows"](DAYS[4]), *DAYS[5:]]
    days = [day(number) for number in range(10)]
    before, after = keys_of(graph, DAYS, *days), keys_of(graph, changed, *days)
    assert [each for each in days if before[each] != after[each]] == [day(4), day(5), day(6)]


FULL = "MODEL (name m.x, kind FULL);\nSELECT SUM(n) AS n FROM m.base"
OTHERS = {
    "the query": FULL.replace("SUM(n)", "SUM(n + 1)"),
    "the types": FULL.replace("kind FULL", "kind FULL, columns (n int)"),
    "the storage": FULL.replace("kind FULL", "kind FULL, storage_format orc"),
    "a macro": FULL + " WHERE day < @end_date",
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_definition_has_another_key(what: str) -> None:
    one, other = graph_of(BASE_TEXT, FULL), graph_of(BASE_TEXT, OTHERS[what])
    assert keys_of(one, DAYS, day(0, 9)) != keys_of(other, DAYS, day(0, 9))


def test_what_describes_a_model_is_no_part_of_its_key() -> None:
    one = graph_of(BASE_TEXT, FULL)
    other = graph_of(BASE_TEXT, FULL.replace("kind FULL", "kind FULL, owner 'me', cron '@hourly'"))
    assert keys_of(one, DAYS, day(0, 9)) == keys_of(other, DAYS, day(0, 9))


def test_a_whole_table_has_one_key_for_all_times_unless_it_has_time_macros() -> None:
    graph = graph_of(BASE_TEXT, FULL)
    assert len(set(keys_of(graph, DAYS, day(0, 8), day(0, 9)).values())) == 1
    timed = graph_of(BASE_TEXT, OTHERS["a macro"])
    assert len(set(keys_of(timed, DAYS, day(0, 8), day(0, 9)).values())) == 2


def test_a_view_is_looked_through_to_tables_and_its_query_counts() -> None:
    through = FULL.replace("m.base", "m.shown")
    one = graph_of(BASE_TEXT, SHOWN, through)
    other = graph_of(BASE_TEXT, SHOWN.replace("* 2", "* 3"), through)
    assert set(reads_of(one, X).demands) == {BASE}
    assert keys_of(one, DAYS, day(0, 9)) != keys_of(other, DAYS, day(0, 9))


def test_what_the_target_had_and_how_rows_are_hashed_count_where_they_are_given() -> None:
    graph = graph_of(BASE_TEXT, FULL)
    made_of = recipe(graph, X)
    keys = {
        made_of.key(day(0), {BASE: "t"}),
        made_of.key(day(0), {BASE: "t"}, target="d"),
        recipe(graph, X, algorithm="a").key(day(0), {BASE: "t"}),
        made_of.key(day(0), {BASE: "u"}),
        made_of.key(day(0), {RAW: "t"}),
    }
    assert len(keys) == 5


# What may differ for equal inputs
NONDETERMINISTIC = [
    ("SELECT day, RAND() AS n FROM m.base", "RAND()"),
    ("SELECT day, UUID() AS n FROM m.base", "UUID()"),
    ("SELECT CURRENT_DATE AS day, n FROM m.base", "CURRENT_DATE"),
    ("SELECT day, n FROM m.base WHERE day < NOW()", "may return another result"),
    ("SELECT day, n FROM m.base LIMIT 5", "LIMIT without ORDER BY"),
    ("SELECT * FROM (SELECT day, n FROM m.base LIMIT 5)", "LIMIT without ORDER BY"),
    ("SELECT day, n FROM m.base WHERE day <= @execution_date", "when it is run"),
    ("SELECT day, mine(n) AS n FROM m.base", "an unknown function"),
    ("SELECT day, FIRST(n) AS n FROM m.base GROUP BY day", "FIRST"),
    ("SELECT day, n FROM m.base TABLESAMPLE (5 PERCENT)", "another result"),
    ("SELECT day, ROW_NUMBER() OVER (PARTITION BY day) AS n FROM m.base", "ROW_NUMBER"),
    *(
        (f"SELECT day, {call} AS n FROM m.base", "may return another result")
        for call in (
            *("current_database()", "current_schema()", "current_catalog()", "current_timezone()"),
            *("current_user()", "user()", "session_user()"),
            *("CAST('now' AS TIMESTAMP)", "DATE 'today'", "TO_DATE('Tomorrow')"),
            *("TRY_CAST(' yesterday ' AS DATE)", "TIMESTAMP_NTZ 'NOW'", "r'today'"),
            *("CAST('today Europe/Berlin' AS TIMESTAMP)", "CAST('now+01:00' AS TIMESTAMP)"),
        )
    ),
    ("SELECT day, n FROM m.base WHERE day < 'today'", "'today' may return another result"),
]  # fmt: skip
STEADY = [
    "SELECT day, n FROM m.base",
    "SELECT day, SUM(n) AS n FROM m.base GROUP BY day ORDER BY day LIMIT 5",
    "SELECT day, n FROM m.base WHERE day BETWEEN @start_date AND @end_date",
    "SELECT day, ROW_NUMBER() OVER (PARTITION BY day ORDER BY n) AS n FROM m.base",
    "SELECT day, CAST('epoch' AS DATE) AS e FROM m.base WHERE day > '2024-01-01'",
    "SELECT day, n FROM m.base WHERE n IN ('nowhere', 'today is fine', 'not now')",
    "SELECT b.day, COUNT(DISTINCT b.n) AS n FROM m.base AS b JOIN raw.t USING (day) GROUP BY b.day",
]


@pytest.mark.parametrize(
    "query,reported", NONDETERMINISTIC, ids=[each for each, _ in NONDETERMINISTIC]
)
def test_a_query_that_may_give_something_else_next_time_is_reported(
    query: str, reported: str
) -> None:
    graph = graph_of(BASE_TEXT, f"MODEL (name m.x, kind FULL);\n{query}")
    assert reported in why_nondeterministic(graph, X)


@pytest.mark.parametrize("query", STEADY)
def test_a_query_that_follows_from_what_it_reads_is_not(query: str) -> None:
    graph = graph_of(BASE_TEXT, f"MODEL (name m.x, kind FULL);\n{query}")
    assert why_nondeterministic(graph, X) == ""


@pytest.mark.parametrize("kind", ["VIEW", "EMBEDDED"])
def test_a_random_value_in_a_query_that_is_inlined_is_reported_with_its_name(kind: str) -> None:
    upstream = f"MODEL (name m.shown, kind {kind});\nSELECT day, RAND() AS n FROM m.base"
    downstream = "MODEL (name m.x, kind FULL);\nSELECT day, n FROM m.shown"
    assert "m.shown" in why_nondeterministic(graph_of(BASE_TEXT, upstream, downstream), X)
    stored = graph_of(BASE_TEXT, upstream.replace(kind, "FULL"), downstream)
    assert why_nondeterministic(stored, X) == "", "a table's rows are what they are"


def test_pre_and_post_statements_may_do_anything() -> None:
    text = "MODEL (name m.x, kind FULL);\nSET a = 1;\nSELECT day, n FROM m.base"
    assert "statements" in why_nondeterministic(graph_of(BASE_TEXT, text), X)


@pytest.mark.parametrize("argument,steady", [("", False), ("deterministic=True,", True)])
def test_a_function_is_taken_at_its_word(argument: str, steady: bool) -> None:
    text = (
        "from vde_dagster import model\n"
        f"@model('m.x', columns={{'n': 'bigint'}}, depends_on=['raw.t'], {argument})\n"
        "def run(context):\n    return context.table('raw.t')\n"
    )
    graph = graph_of(text, path="models/m/{}.py")
    assert (why_nondeterministic(graph, X) == "") is steady
    keys = keys_of(graph, DAYS, day(0, 8), day(0, 9))
    assert len(set(keys.values())) == 2, "it is given its interval"


def test_a_promise_of_a_function_changes_no_row() -> None:
    text = (
        "from vde_dagster import model\n"
        "@model('m.x', columns={'n': 'bigint'}, depends_on=['raw.t'])\n"
        "def run(context):\n    return context.table('raw.t')\n"
    )
    one = graph_of(text, path="models/m/{}.py")[X].fingerprint
    promised = text.replace("['raw.t'])", "['raw.t'], deterministic=True)")
    other = graph_of(promised, path="models/m/{}.py")[X].fingerprint
    assert one.data == other.data
    assert one.metadata != other.metadata


# The ledger
TRACE = Trace(key="k", inputs={RAW: "t"})
TRACED = replace(DAYS[0], trace=TRACE)


def kept(was: Interval, becomes: Interval, rows: RowSum) -> LedgerChange:
    return LedgerChange(operation=LedgerOperation.KEEP, interval=becomes, rows=rows, kept=was)


@pytest.mark.parametrize(
    "loaded,change",
    [
        ([TRACED], kept(day(1), day(1), TRACED.rows)),
        ([TRACED], kept(day(0), day(0), RowSum(rows=99))),
        ([replace(TRACED, status=EntryStatus.EMPTY)], kept(day(0), day(0), TRACED.rows)),
    ],
    ids=["not loaded", "other rows", "never computed"],
)
def test_only_what_is_loaded_can_be_kept(loaded: list[LedgerEntry], change: LedgerChange) -> None:
    with pytest.raises(LedgerMismatch, match="kept"):
        apply_changes(loaded, [change], columns=COLUMNS, work_id="w", iceberg_snapshot_id=2)


def test_what_is_kept_stands_as_computed_with_all_that_it_was() -> None:
    outdated = outdate([TRACED], [day(0)], reason="restated")
    (after,) = apply_changes(
        outdated,
        [kept(day(0), day(0, 3), TRACED.rows)],
        columns=(),
        work_id="another",
        iceberg_snapshot_id=7,
    )
    assert after == replace(TRACED, interval=day(0, 3))


def test_r2_what_is_to_be_computed_again_has_no_trace() -> None:
    (again,) = outdate([TRACED], [day(0)], reason="restated", rebuilt=True)
    assert (again.status, again.trace) == (EntryStatus.OUTDATED, None)
    (looked_at,) = outdate([TRACED], [day(0)], reason="restated")
    assert looked_at.trace == TRACE


def test_cells_of_other_units_have_traces_of_their_own() -> None:
    graph = graph_of(BASE_TEXT, BY_DAY)
    cells = list(IntervalUnit.DAY.cells(day(0, 4)))
    found = keys_of(graph, DAYS, *cells)
    assert list(found) == cells


# What follows from what else is evaluated with it
ALONE = "SELECT day, n FROM m.shown WHERE day BETWEEN @start_ds AND @end_ds"
RUNNING = "SELECT day, SUM(n) OVER (ORDER BY day) AS n FROM raw.t WHERE day >= @start_ds"


def why_together(query: str, options: str = "") -> str:
    source = external_source(
        ModelName("raw", "e"),
        {"at": "timestamp", "loaded": "timestamp", "n": "bigint"},
        place=Place(path=Path("external_models.yaml")),
        defaults=Defaults(start=START),
    )
    shown = SHOWN.replace("m.base", "raw.t")
    kind = RANGE.replace("time_column day", f"time_column day{options}")
    graph = graph_of(shown, f"MODEL (name m.x, {kind});\n{query}", others=(source,))
    return why_nondeterministic(graph, X)


def test_rows_of_a_day_that_are_the_same_alone_and_in_a_batch_can_be_kept() -> None:
    assert why_together(ALONE) == ""


@pytest.mark.parametrize(
    "options,is_kept",
    [
        (", batch_size 1", True),
        (", batch_size 2", False),
        (", independent true", True),
        (", independent false", False),
    ],
)
def test_days_that_are_evaluated_by_themselves_or_declared_independent_can_be_kept(
    options: str, is_kept: bool
) -> None:
    assert (why_together(RUNNING, options) == "") is is_kept


def test_what_stands_in_the_way_of_keeping_days_is_named_with_what_helps() -> None:
    assert why_together(RUNNING) == (
        "the rows of one day may depend on what else is evaluated with it: `SUM(t.n) OVER "
        "(ORDER BY t.day)` looks at rows of several days. `batch_size 1` in its kind computes "
        "each one separately; `independent true` there declares that they do not depend on "
        "others"
    )


def test_a_declared_independence_does_not_make_a_random_result_certain() -> None:
    query = "SELECT day, RAND() AS n FROM raw.t WHERE day >= @start_ds"
    assert "RAND()" in why_together(query, ", independent true")
