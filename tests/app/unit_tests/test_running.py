"""Running unit tests: which query runs over which rows, and on which engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.unit_tests.shop import engines, results
from vde_dagster.app.unit_tests.running import AnsweredBy, Engines, Outcome

EVENTS = """
    raw.events:
    - {id: 1, at: 2024-01-02 10:00, amount: 10}
    - {id: 2, at: 2024-01-02 11:00, amount: 11.5}
    - {id: 3, at: 2024-01-02 12:00, amount: 9.99}
    - {id: 4, at: 2024-01-01 12:00, amount: 20}
"""


def test_a_test_sees_what_an_evaluation_of_its_interval_writes(tmp_path: Path) -> None:
    """The query reads the day before, too, and an evaluation leaves its rows out."""
    done = results(
        tmp_path,
        f"""
whole:
  model: mart.daily
  inputs: {EVENTS}
  outputs:
    query:
    - {{day: 2024-01-02, amount: 21.5, made_on: 2024-01-05}}
    ctes:
      large: {{partial: true, rows: [{{amount: 10}}, {{amount: 11.5}}, {{amount: 20}}]}}
  vars: {{start: 2024-01-02, end: 2024-01-02, execution_time: 2024-01-05 10:00}}
wrong:
  model: mart.daily
  inputs: {EVENTS}
  outputs:
    query:
    - {{day: 2024-01-02, amount: 21.5, made_on: 2024-01-05}}
    - {{day: 2024-01-01, amount: 20, made_on: 2024-01-05}}
  vars: {{start: 2024-01-02, end: 2024-01-02, execution_time: 2024-01-05 10:00}}
""",
    )
    assert done["whole"].outcome is Outcome.PASSED, done["whole"]
    ((what, found),) = done["wrong"].differences
    assert (what, found.expected, found.actual, found.missing[0].place.line) == ("query", 2, 1, 29)


def test_views_that_are_not_given_are_computed_and_given_ones_are_not(tmp_path: Path) -> None:
    done = results(
        tmp_path,
        """
computed:
  model: mart.total
  inputs: {mart.daily: [{day: 2024-01-01, amount: 1}, {day: 2024-01-02, amount: 2.25}]}
  outputs: {query: [{days: 2, amount: 3.25}]}
given:
  model: mart.total
  inputs: {mart.ranked: [{amount: 5}]}
  outputs: {query: [{days: 1, amount: 5}]}
queried:
  model: mart.total
  inputs: {mart.ranked: {query: "SELECT DATE '2024-01-01' AS day, 2.5 AS amount"}}
  outputs: {query: [{days: 1, amount: 2.5}]}
nothing:
  model: mart.total
  inputs: {mart.ranked: []}
  outputs: {query: [{days: 0}]}
""",
    )
    assert {name: each.outcome for name, each in done.items()} == dict.fromkeys(
        ["computed", "given", "queried", "nothing"], Outcome.PASSED
    ), done
    assert {each.answered_by for each in done.values()} == {AnsweredBy.DUCKDB}


def test_the_order_counts_where_the_query_orders_its_rows(tmp_path: Path) -> None:
    rows = "[{amount: 1, day: 2024-01-01}, {amount: 2, day: 2024-01-02}]"
    done = results(
        tmp_path,
        f"""
ordered:
  model: mart.ranked
  inputs: {{mart.daily: {rows}}}
  outputs: {{query: [{{amount: 2, day: 2024-01-02}}, {{amount: 1, day: 2024-01-01}}]}}
reordered:
  model: mart.ranked
  inputs: {{mart.daily: {rows}}}
  outputs: {{query: {rows}}}
""",
    )
    assert done["ordered"].outcome is Outcome.PASSED
    assert done["reordered"].differences[0][1].reordered


LABELS = """
counted:
  model: mart.labels
  inputs: {raw.events: [{id: 1, labels: [a, b]}, {id: 2, labels: []}]}
  outputs: {query: [{id: 1, labels: 2}, {id: 2, labels: 0}]}
"""


def test_what_is_not_known_to_mean_the_same_is_left_to_the_engine(tmp_path: Path) -> None:
    done = results(tmp_path, LABELS)["counted"]
    assert (done.outcome, done.answered_by) == (Outcome.PASSED, AnsweredBy.SPARK), done


def test_without_an_engine_such_a_test_is_not_run(tmp_path: Path) -> None:
    nobody = Engines(engine=None, quick=engines().quick)
    done = results(tmp_path, LABELS, nobody)["counted"]
    assert (done.outcome, done.answered_by) == (Outcome.NOT_RUN, AnsweredBy.NONE)


@pytest.mark.full
def test_a_test_that_fails_in_a_part_is_known_to_fail_though_the_rest_is_not_run(
    tmp_path: Path,
) -> None:
    """The query needs the engine, its common table expression does not."""
    text = """
wrong:
  model: mart.tagged
  inputs: {raw.events: [{id: 1, amount: 11, labels: [a]}]}
  outputs: {query: [{id: 1, labels: 1}], ctes: {large: [{id: 2}]}}
right:
  model: mart.tagged
  inputs: {raw.events: [{id: 1, amount: 11, labels: [a]}]}
  outputs: {query: [{id: 1, labels: 1}], ctes: {large: [{id: 1}]}}
"""
    done = results(tmp_path, text, Engines(engine=None, quick=engines().quick))
    assert (done["wrong"].outcome, done["right"].outcome) == (Outcome.FAILED, Outcome.NOT_RUN)
    assert [what for what, _ in done["wrong"].differences] == ["large"]


def test_without_duckdb_all_are_run_by_the_engine(tmp_path: Path) -> None:
    done = results(tmp_path, LABELS, Engines(engine=engines().engine))["counted"]
    assert (done.outcome, done.answered_by) == (Outcome.PASSED, AnsweredBy.SPARK)


def test_a_query_that_fails_is_an_error_and_the_next_test_is_run(tmp_path: Path) -> None:
    done = results(
        tmp_path,
        """
broken:
  model: mart.total
  inputs: {mart.ranked: {query: SELECT 1 AS other}}
  outputs: {query: []}
fine:
  model: mart.total
  inputs: {mart.ranked: []}
  outputs: {query: [{days: 0}]}
""",
    )
    assert done["broken"].outcome is Outcome.ERROR
    assert done["broken"].error.startswith("mart.total: ")
    assert done["fine"].outcome is Outcome.PASSED


def test_a_model_that_reads_itself_finds_no_rows_unless_they_are_given(tmp_path: Path) -> None:
    shop_tests = """
first:
  model: mart.running
  inputs: {mart.daily: [{day: 2024-01-02, amount: 2}]}
  outputs: {query: [{day: 2024-01-02, amount: 2}]}
  vars: {start: 2024-01-02, end: 2024-01-02}
second:
  model: mart.running
  inputs:
    mart.daily: [{day: 2024-01-02, amount: 2}]
    mart.running: [{day: 2024-01-01, amount: 5}]
  outputs: {query: [{day: 2024-01-02, amount: 7}]}
  vars: {start: 2024-01-02, end: 2024-01-02}
"""
    done = results(tmp_path, shop_tests)
    assert [each.outcome for each in done.values()] == [Outcome.PASSED] * 2, done
