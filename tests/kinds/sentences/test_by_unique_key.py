"""INCREMENTAL_BY_UNIQUE_KEY: what a model may say, sentence by sentence.

What happens to rows is tested in `tests.lakehouse.kinds.test_by_unique_key`.
"""

from __future__ import annotations

from datetime import date

import pytest
from sqlglot import exp

from tests.app.memory_world import MemoryWorld
from tests.core.written_project import problems_of
from tests.kinds.sentences.projects import (
    built,
    fill,
    graph_of,
    inputs_of,
    instant,
    node_of,
    problems,
    read,
    refusal,
    rows_of,
    span,
    sql_of,
)
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.kinds import IncrementalByUniqueKey
from vde_dagster.core.model.writes import ChangeOrder
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import WHOLE
from vde_dagster.core.time.schedule import missing

EXAMPLE = """MODEL (
  name demo.incremental_by_unique_key_example,
  kind INCREMENTAL_BY_UNIQUE_KEY (
    unique_key id
  ),
  start '2020-01-01',
  cron '@daily',
);
SELECT id, item_id, event_date FROM raw.rows
WHERE event_date BETWEEN @start_date AND @end_date
"""
NAME = ModelName("demo", "incremental_by_unique_key_example")


def kind_of(options: str) -> IncrementalByUniqueKey:
    kind = read(EXAMPLE.replace("unique_key id", options)).kind
    assert isinstance(kind, IncrementalByUniqueKey)
    return kind


def with_options(options: str) -> str:
    return EXAMPLE.replace("unique_key id", f"unique_key id, {options}")


def clauses(options: str) -> list[str]:
    return [each.sql("spark") for each in kind_of(f"unique_key id, {options}").when_matched]


def condition(options: str) -> str:
    found = kind_of(f"unique_key id, {options}").merge_filter
    assert found is not None
    return found.sql("spark")


# The key


def test_it_needs_a_unique_key() -> None:
    text = EXAMPLE.replace("unique_key id", "lookback 1")
    assert refusal(text) == "the kind INCREMENTAL_BY_UNIQUE_KEY needs unique_key"


@pytest.mark.parametrize("written", ["id", "(id)", "[id]", "'id'", "ID", "`id`"])
def test_the_key_is_named_in_the_kind(written: str) -> None:
    assert kind_of(f"unique_key {written}").unique_key == ("id",)


def test_a_key_may_have_several_columns() -> None:
    assert kind_of("unique_key (id, item_id)").unique_key == ("id", "item_id")


def test_a_key_may_be_an_expression() -> None:
    alone = kind_of("unique_key COALESCE(id, item_id)")
    assert alone.unique_key == ("COALESCE(id, item_id)",)
    mixed = kind_of("unique_key (COALESCE(`id`, 0), YEAR(event_date))")
    assert mixed.unique_key == ("COALESCE(id, 0)", "YEAR(event_date)")


def test_a_key_of_what_the_query_does_not_return_is_refused() -> None:
    (found,) = problems(EXAMPLE.replace("unique_key id", "unique_key (id, COALESCE(nr, 0))"))
    assert found.message == "the unique_key column 'nr' is not among the columns"
    assert "no column" in refusal(EXAMPLE.replace("unique_key id", "unique_key (id, 1)"))


@pytest.mark.parametrize("written", ["id::nonsense", "CAST(id AS nothing) || item_id"])
def test_a_key_that_spark_cannot_have_is_refused(written: str) -> None:
    text = EXAMPLE.replace("unique_key id", f"unique_key ({written})")
    (found,) = problems(text.replace("cron", "dialect duckdb, cron"))
    assert "is not a SQL expression" in found.message


# Time


def test_it_may_filter_what_it_reads_by_time() -> None:
    data = [[str(day), "0", "", "", f"2024-10-{day:02}"] for day in range(1, 8)]
    found = rows_of(EXAMPLE, start="2024-10-02", end="2024-10-05", data={"raw.rows": data})
    assert [row[0] for row in found] == [2, 3, 4]


@pytest.mark.full
@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo"])
def test_its_time_macros_are_utc_whatever_the_zone_of_the_cron(zone: str) -> None:
    text = EXAMPLE.replace("cron '@daily'", f"cron '@daily', cron_tz '{zone}'")
    text = text.replace("BETWEEN @start_date AND @end_date", "BETWEEN @start_dt AND @end_dt")
    (due,) = missing(read(text), (), instant("2020-01-03T16:00"))  # after midnight in all three
    assert due == span("2020-01-01", "2020-01-03")
    found = sql_of(text, start=due.start.isoformat()[:10], end=due.end.isoformat()[:10])
    first, last = "2020-01-01 00:00:00+00:00", "2020-01-02 23:59:59.999999+00:00"
    assert f"BETWEEN CAST('{first}' AS TIMESTAMP) AND CAST('{last}' AS TIMESTAMP)" in found


def test_it_needs_no_filter_by_time() -> None:
    text, _, _ = EXAMPLE.partition("WHERE")
    node = node_of(text)
    assert node.model.warnings == ()
    assert [each.name for each in node.columns] == ["id", "item_id", "event_date"]
    read_of = inputs_of(text, start="2024-01-01", end="2024-01-02")
    assert read_of == {ModelName("raw", "rows"): WHOLE}
    by_time = text.replace("BY_UNIQUE_KEY", "BY_TIME_RANGE")
    with pytest.raises(ProjectInvalid, match="needs a filter on the time"):
        graph_of(by_time.replace("unique_key id", "time_column event_date"))


def test_the_first_load_of_the_example_reads_from_its_start_to_the_last_day() -> None:
    found = sql_of(EXAMPLE, start="2020-01-01", end="2024-10-31")
    assert "BETWEEN CAST('2020-01-01' AS DATE) AND CAST('2024-10-30' AS DATE)" in found
    assert found.count("WHERE") == 1  # rows belong to no interval, so nothing is filtered behind


def a_source() -> MemoryWorld:
    world = MemoryWorld()
    days = [date(2019, 12, 31), date(2020, 1, 1), date(2023, 12, 31), date(2024, 1, 1)]
    fill(world, "raw.rows", [(n, 10 * n, "x", "y", day) for n, day in enumerate(days)])
    return world


@pytest.mark.full
def test_the_first_load_of_the_example_makes_the_whole_table() -> None:
    world = a_source()
    assert built(world, EXAMPLE) == [(str(NAME), span("2020-01-01", "2024-01-01"))]
    rows = [(1, 10, date(2020, 1, 1)), (2, 20, date(2023, 12, 31))]
    assert world.rows(str(NAME)) == rows
    assert built(world, EXAMPLE, environment="dev") == []
    assert world.rows(f"{NAME.schema}__dev.{NAME.name}") == rows


# When a key is there already


def test_without_when_matched_no_clause_is_written() -> None:
    assert kind_of("unique_key id").when_matched == ()


def test_when_matched_says_what_happens_to_rows_that_match() -> None:
    found = clauses(
        "when_matched (WHEN MATCHED THEN UPDATE SET target.item_id = "
        "COALESCE(source.item_id, target.item_id))"
    )
    assert found == [
        "WHEN MATCHED THEN UPDATE SET target.item_id = COALESCE(source.item_id, target.item_id)"
    ]


def test_there_may_be_several_clauses_which_keep_their_order() -> None:
    found = clauses(
        "when_matched (WHEN MATCHED AND source.item_id IS NULL THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET target.item_id = source.item_id)"
    )
    assert found == [
        "WHEN MATCHED AND source.item_id IS NULL THEN DELETE",
        "WHEN MATCHED THEN UPDATE SET target.item_id = source.item_id",
    ]


@pytest.mark.parametrize(
    "clause,column",
    [
        ("WHEN MATCHED THEN UPDATE SET item_id = source.item_id", "item_id"),
        ("WHEN MATCHED THEN UPDATE SET target.item_id = item_id", "item_id"),
        ("WHEN MATCHED AND event_date IS NULL THEN DELETE", "event_date"),
        ("WHEN MATCHED THEN UPDATE SET target.item_id = other.item_id", "other.item_id"),
    ],
)
def test_every_column_of_when_matched_names_its_side(clause: str, column: str) -> None:
    found = refusal(with_options(f"when_matched ({clause})"))
    assert f"the column {column!r}, which may belong to either side" in found


@pytest.mark.parametrize(
    "clause",
    [
        "WHEN NOT MATCHED THEN INSERT *",
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "UPDATE SET target.item_id = source.item_id",
        "DELETE",
    ],
)
def test_when_matched_says_nothing_else(clause: str) -> None:
    assert "when_matched" in refusal(with_options(f"when_matched ({clause})"))


# The merge filter


def test_a_merge_filter_is_one_condition_or_several() -> None:
    one = condition("merge_filter source.item_id IS NULL")
    assert one == "source.item_id IS NULL"
    several = condition(
        "merge_filter source.item_id IS NULL AND target.event_date > DATE_SUB(@start_date, 7)"
    )
    assert "source.item_id IS NULL AND target.event_date >" in several


@pytest.mark.full
@pytest.mark.parametrize(
    "option,column",
    [
        ("when_matched (WHEN MATCHED THEN UPDATE SET target.item = source.item_id)", "item"),
        ("when_matched (WHEN MATCHED THEN UPDATE SET target.item_id = source.yy + 1)", "yy"),
        ("when_matched (WHEN MATCHED AND source.gone THEN DELETE)", "gone"),
        ("merge_filter source.day > target.event_date", "day"),
        ("incremental_predicates ['source.id > 1', 'target.evnt_date > @start_date']", "evnt_date"),
    ],
)
@pytest.mark.parametrize("query", ["SELECT id, item_id, event_date", "SELECT *"])
def test_both_sides_have_the_columns_of_the_model_and_no_others(
    option: str, column: str, query: str
) -> None:
    text = with_options(option).replace("SELECT id, item_id, event_date", query)
    (found,) = problems_of(lambda: graph_of(text))
    name = option.split(maxsplit=1)[0].replace("incremental_predicates", "merge_filter")
    assert f"the {name} column {column!r} is not among" in found.message
    assert "event_date" in found.advice
    assert ("Did you mean event_date?" in found.advice) is (column == "evnt_date")


def test_both_sides_have_columns_behind_a_star() -> None:
    option = "when_matched (WHEN MATCHED THEN UPDATE SET target.region = source.department)"
    text = with_options(option).replace("SELECT id, item_id, event_date", "SELECT *")
    assert len(node_of(text).columns) == 5


def test_a_merge_filter_keeps_its_time_macros() -> None:
    found = kind_of("unique_key id, merge_filter target.event_date >= @start_date").merge_filter
    assert found is not None
    assert [each.name for each in found.find_all(exp.Parameter)] == ["start_date"]


def test_every_column_of_a_merge_filter_names_its_side() -> None:
    found = refusal(with_options("merge_filter event_date > @start_date"))
    assert "merge_filter has the column 'event_date', which may belong to either side" in found


@pytest.mark.parametrize(
    "option",
    [
        "merge_filter target.event_date >= @strat_date",
        "when_matched (WHEN MATCHED AND source.event_date > @strat_date THEN DELETE)",
    ],
)
def test_a_macro_that_nobody_knows_is_refused_there_too(option: str) -> None:
    (found,) = problems(with_options(option))
    assert "@strat_date" in found.message
    assert "start_date" in found.advice


def test_incremental_predicates_of_dbt_are_a_merge_filter() -> None:
    predicates = (
        "incremental_predicates ('DBT_INTERNAL_DEST.event_date > DBT_INTERNAL_SOURCE.event_date', "
        "'DBT_INTERNAL_SOURCE.id > 0')"
    )
    native = "merge_filter target.event_date > source.event_date AND source.id > 0"
    assert condition(predicates) == condition(native)
    assert "mean the same" in refusal(with_options(f"{predicates}, {native}"))


# The order of changes


@pytest.mark.parametrize(
    "written", ["event_date", "(event_date, item_id)", "[event_date, item_id]"]
)
def test_a_sequence_has_one_column_or_several(written: str) -> None:
    found = kind_of(f"unique_key id, sequence_by {written}")
    assert found.sequence_by == ("event_date", "item_id")[: 1 + ("," in written)]
    assert found.order == ChangeOrder(by=found.sequence_by)


@pytest.mark.parametrize(
    "written,values",
    [
        ("(item_id = -1)", (-1,)),
        ("'D' = ITEM_ID", ("D",)),
        ("item_id IN ('D', 'T')", ("D", "T")),
        ("item_id", (True,)),
        ("item_id IS NOT NULL", ()),
    ],
)
def test_a_delete_is_told_by_one_column(written: str, values: tuple[object, ...]) -> None:
    found = kind_of(f"unique_key id, sequence_by event_date, delete_when {written}")
    assert found.hidden_rows == HiddenRows(column="item_id", values=values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "written",
    ["LOWER(item_id) = 'd'", "item_id <> 'I'", "item_id = 1 OR id = 2", "item_id.op = 'D'", "1.5"],
)
def test_a_delete_that_says_more_is_refused(written: str) -> None:
    found = refusal(with_options(f"sequence_by event_date, delete_when ({written})"))
    assert "can only compare one column with constants" in found


def test_a_delete_needs_an_order() -> None:
    assert "delete_when needs sequence_by" in refusal(with_options("delete_when item_id = 1"))


@pytest.mark.parametrize(
    "option",
    [
        "lookback 1",
        "merge_filter target.id > 0",
        "incremental_predicates ('target.id > 0')",
        "when_matched (WHEN MATCHED THEN DELETE)",
    ],
)
def test_an_order_leaves_nothing_to_other_options(option: str) -> None:
    said = "has no meaning with sequence_by, which decides which row replaces another one"
    found = refusal(with_options(f"sequence_by event_date, {option}"))
    assert found == f"{option.split(maxsplit=1)[0]} {said}"


@pytest.mark.parametrize(
    "option,column",
    [("sequence_by evnt_date", "evnt_date"), ("sequence_by id, delete_when x", "x")],
)
def test_an_order_names_columns_of_the_query(option: str, column: str) -> None:
    (found,) = problems(with_options(option))
    assert f"column {column!r} is not among the columns" in found.message


def test_an_order_and_its_direction_of_columns_are_part_of_the_version() -> None:
    options = [
        "sequence_by event_date",
        "sequence_by (event_date, item_id)",
        "sequence_by (item_id, event_date)",
        "sequence_by event_date, delete_when item_id = 1",
        "sequence_by event_date, delete_when item_id = 2",
    ]
    texts = [EXAMPLE, *map(with_options, options)]
    assert len({node_of(text).fingerprint.data for text in texts}) == len(texts)


# Restatement


@pytest.mark.full
def test_another_key_clause_or_filter_is_another_version() -> None:
    versions = {
        node_of(text).fingerprint.data
        for text in (
            EXAMPLE,
            EXAMPLE.replace("unique_key id", "unique_key (id, item_id)"),
            with_options("merge_filter target.event_date >= @start_date"),
            with_options("when_matched (WHEN MATCHED THEN DELETE)"),
        )
    }
    assert len(versions) == 4
