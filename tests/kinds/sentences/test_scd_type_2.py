"""SCD_TYPE_2_BY_TIME and SCD_TYPE_2_BY_COLUMN: what a model may say, sentence by sentence.

What happens to rows is tested in tests/core/model/test_history.py and in tests/lakehouse/kinds.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.core.written_project import problems_of
from tests.kinds.sentences.projects import (
    columns_of,
    graph_of,
    instant,
    node_of,
    problems,
    read,
    refusal,
    span,
)
from vde_dagster.core.model.kinds import ScdType2, ScdType2ByColumn, ScdType2ByTime
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.restatement import Restatement, RestatementRefused, restate_all
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.time.schedule import batches, missing

BY_TIME = """MODEL (
  name db.menu_items,
  kind SCD_TYPE_2_BY_TIME (
    unique_key id
  ),
  start '2024-01-01'
);
SELECT id, name, price, updated_at, ds FROM raw.menu
"""
BY_COLUMN = """MODEL (
  name db.menu_items,
  kind SCD_TYPE_2_BY_COLUMN (
    unique_key id,
    columns [name, price]
  ),
  start '2024-01-01'
);
SELECT id, name, price, ds FROM raw.menu
"""
NAME = ModelName("db", "menu_items")
BOTH = pytest.mark.parametrize("text", [BY_TIME, BY_COLUMN], ids=["by_time", "by_column"])


def kind_of(text: str) -> ScdType2:
    kind = read(text).kind
    assert isinstance(kind, ScdType2ByTime | ScdType2ByColumn)
    return kind


def by_time(text: str) -> ScdType2ByTime:
    kind = read(text).kind
    assert isinstance(kind, ScdType2ByTime)
    return kind


def by_column(text: str) -> ScdType2ByColumn:
    kind = read(text).kind
    assert isinstance(kind, ScdType2ByColumn)
    return kind


def with_option(text: str, option: str) -> str:
    return text.replace("unique_key id", f"unique_key id, {option}")


def restated(text: str) -> Restatement:
    loaded = {NAME: [span("2024-01-01", "2024-03-01")]}
    return restate_all(graph_of(text), [NAME], span("2024-02-01", "2024-02-02"), loaded)


# The two ways


def test_changes_are_tracked_by_time_or_by_column() -> None:
    assert kind_of(BY_TIME) == ScdType2ByTime(unique_key=("id",))
    assert kind_of(BY_COLUMN) == ScdType2ByColumn(unique_key=("id",), columns=("name", "price"))


def test_by_time_reads_when_a_row_was_last_updated() -> None:
    (found,) = problems(BY_TIME.replace(" updated_at,", ""))
    assert found.message == ("the updated_at column 'updated_at' is not among the columns")


def test_the_column_of_the_last_update_may_have_another_name() -> None:
    text = with_option(BY_TIME, "updated_at_name changed_on")
    assert "'changed_on' is not among" in refusal(text)
    assert by_time(text.replace("updated_at, ds", "changed_on, ds")).updated_at_name == "changed_on"


def test_by_column_needs_no_time_of_the_last_update() -> None:
    assert "updated_at" not in BY_COLUMN
    assert by_column(BY_COLUMN).updated_at_name is None


def test_by_column_compares_the_columns_that_it_names() -> None:
    assert by_column(BY_COLUMN).columns == ("name", "price")
    assert by_column(BY_COLUMN.replace("[name, price]", "name")).columns == ("name",)
    assert by_column(BY_COLUMN.replace("[name, price]", "(price)")).columns == ("price",)
    found = refusal(BY_COLUMN.replace("[name, price]", "[name, prize]"))
    assert found == "the compared column 'prize' is not among the columns"


def test_by_column_must_say_which_columns_it_compares() -> None:
    found = refusal(BY_COLUMN.replace(",\n    columns [name, price]", ""))
    assert found == "the kind SCD_TYPE_2_BY_COLUMN needs columns"


@pytest.mark.parametrize("written", ["*", "[*]", "(*)", "'*'"])
def test_a_star_compares_every_column(written: str) -> None:
    assert by_column(BY_COLUMN.replace("[name, price]", written)).columns == ("*",)


# The key


@BOTH
def test_they_need_a_unique_key(text: str) -> None:
    found = refusal(text.replace("unique_key id", "invalidate_hard_deletes true"))
    assert found.endswith("needs unique_key")


@BOTH
@pytest.mark.parametrize(
    "written,expected",
    [("id", ("id",)), ("'id'", ("id",)), ("(id, name)", ("id", "name")), ("[id]", ("id",))],
)
def test_the_key_is_one_column_or_a_list(
    text: str, written: str, expected: tuple[str, ...]
) -> None:
    assert kind_of(text.replace("unique_key id", f"unique_key {written}")).unique_key == expected


# When a row was valid


@BOTH
def test_two_columns_are_added_to_those_of_the_query(text: str) -> None:
    own = {"id": "bigint", "name": "string", "price": "double", "ds": "date"}
    if text == BY_TIME:
        own["updated_at"] = "timestamp"
    found = columns_of(text)
    assert dict(found) == own | {"valid_from": "timestamp", "valid_to": "timestamp"}
    assert [name for name, _ in found[-2:]] == ["valid_from", "valid_to"]
    reader = (
        "MODEL (name db.current, kind FULL); SELECT id FROM db.menu_items WHERE valid_to IS NULL"
    )
    assert columns_of(text, reader) == [("id", "bigint")]


@BOTH
def test_their_types_may_be_declared_in_the_header(text: str) -> None:
    declared = text.replace("start '2024", "columns (valid_from date, valid_to date), start '2024")
    assert dict(columns_of(declared)).items() >= {"valid_from": "date", "valid_to": "date"}.items()


@BOTH
def test_the_columns_that_are_added_are_named_valid_from_and_valid_to(text: str) -> None:
    kind = kind_of(text)
    assert (kind.valid_from_name, kind.valid_to_name) == ("valid_from", "valid_to")


@BOTH
def test_the_columns_that_are_added_may_have_other_names(text: str) -> None:
    kind = kind_of(with_option(text, "valid_from_name my_valid_from, valid_to_name my_valid_to"))
    assert (kind.valid_from_name, kind.valid_to_name) == ("my_valid_from", "my_valid_to")
    assert "are both 'v'" in refusal(with_option(text, "valid_from_name v, valid_to_name V"))


@BOTH
def test_a_query_does_not_return_the_columns_that_are_added(text: str) -> None:
    (found,) = problems(text.replace("SELECT id", "SELECT ds AS valid_to, id"))
    assert "'valid_to'" in found.message
    assert "valid_to_name" in found.advice
    renamed = with_option(text, "valid_to_name ended")
    assert read(renamed.replace("SELECT id", "SELECT ds AS valid_to, id")).warnings == ()


@BOTH
def test_a_star_does_not_return_them_either(text: str) -> None:
    """raw.menu has a column changed_on."""
    columns = text[text.index("SELECT") : text.index(" FROM raw")]
    starred = text.replace(columns, "SELECT *")
    (found,) = problems_of(lambda: graph_of(with_option(starred, "valid_from_name changed_on")))
    assert "the query returns 'changed_on', which SCD_TYPE_2_BY" in found.message
    assert "valid_from_name" in found.advice
    assert "changed_on" in [name for name, _ in columns_of(starred)]


@BOTH
def test_the_type_of_the_columns_that_are_added_is_timestamp_unless_one_is_given(text: str) -> None:
    assert kind_of(text).time_data_type == "timestamp"
    assert kind_of(with_option(text, "time_data_type DATE")).time_data_type == "date"
    for other in ("int", "soon", "'WHEN'"):
        assert "not a date or timestamp type" in refusal(
            with_option(text, f"time_data_type {other}")
        )


# Options


@BOTH
def test_invalidate_hard_deletes_is_false_unless_the_model_sets_it(text: str) -> None:
    assert kind_of(text).invalidate_hard_deletes is False
    assert kind_of(with_option(text, "invalidate_hard_deletes true")).invalidate_hard_deletes


def test_updated_at_as_valid_from_is_false_unless_the_model_sets_it() -> None:
    assert by_time(BY_TIME).updated_at_as_valid_from is False
    asked = with_option(BY_TIME, "updated_at_as_valid_from true")
    assert by_time(asked).updated_at_as_valid_from is True
    assert node_of(asked).fingerprint.data != node_of(BY_TIME).fingerprint.data


def test_execution_time_as_valid_from_is_false_unless_the_model_sets_it() -> None:
    assert by_column(BY_COLUMN).execution_time_as_valid_from is False
    asked = with_option(BY_COLUMN, "execution_time_as_valid_from true")
    assert by_column(asked).execution_time_as_valid_from is True
    assert node_of(asked).fingerprint.data != node_of(BY_COLUMN).fingerprint.data


def test_by_column_may_name_a_column_to_take_valid_from_from() -> None:
    assert by_column(BY_COLUMN).updated_at_name is None
    assert by_column(with_option(BY_COLUMN, "updated_at_name ds")).updated_at_name == "ds"
    assert "'nowhere' is not among" in refusal(with_option(BY_COLUMN, "updated_at_name nowhere"))


@pytest.mark.parametrize(
    "text,option",
    [
        (BY_TIME, "columns [name]"),
        (BY_TIME, "execution_time_as_valid_from true"),
        (BY_COLUMN, "updated_at_as_valid_from true"),
    ],
)
def test_an_option_of_the_other_way_is_refused(text: str, option: str) -> None:
    assert f"has no option {option.split(maxsplit=1)[0]!r}" in refusal(with_option(text, option))


# Layout


@BOTH
def test_open_rows_lie_apart_from_closed_ones(text: str) -> None:
    """Every transform of Iceberg's puts NULL into a partition of its own."""

    def layout(partitioned_by: str) -> list[str]:
        written = text.replace("start '2024", f"{partitioned_by}start '2024")
        return [str(each) for each in node_of(written).storage.partitioned_by]

    assert layout("") == ["years(valid_to)"]
    assert layout("partitioned_by bucket(4, id), ") == ["bucket(4, id)", "years(valid_to)"]
    own = "partitioned_by (months(valid_to), bucket(4, id)), "
    assert layout(own) == ["months(valid_to)", "bucket(4, id)"]


# Batches


@BOTH
def test_all_intervals_are_one_batch_unless_a_batch_size_is_given(text: str) -> None:
    model = read(text)
    found = missing(model, (), instant("2024-01-04"))
    assert batches(model, found) == (span("2024-01-01", "2024-01-04"),)


@BOTH
def test_with_a_batch_size_of_one_each_day_follows_the_one_before(text: str) -> None:
    model = read(with_option(text, "batch_size 1"))
    found = batches(model, missing(model, (), instant("2024-01-04")))
    first = instant("2024-01-01")
    days = [first + timedelta(days=each) for each in range(3)]
    assert found == tuple(Interval(each, each + timedelta(days=1)) for each in days)
    assert model.kind.is_sequential


# Restatement


@BOTH
def test_what_they_hold_is_not_restated_unless_the_model_allows_it(text: str) -> None:
    assert kind_of(text).disable_restatement is True
    with pytest.raises(RestatementRefused, match="disable_restatement false"):
        restated(text)


@BOTH
def test_where_it_is_allowed_the_whole_history_is_restated(text: str) -> None:
    allowed = with_option(text, "disable_restatement false")
    assert restated(allowed).ranges == {NAME: (span("2024-01-01", "2024-03-01"),)}


@BOTH
def test_allowing_restatement_and_forbidding_it_again_keeps_the_history(text: str) -> None:
    allowed = with_option(text, "disable_restatement false")
    before, during = node_of(text).fingerprint, node_of(allowed).fingerprint
    assert before.data_version == during.data_version
    assert before.metadata != during.metadata
    with pytest.raises(RestatementRefused):
        restated(allowed.replace(", disable_restatement false", ""))
