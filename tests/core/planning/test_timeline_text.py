"""A timeline as text: a bar for each row, with a letter for what its time went to."""

from __future__ import annotations

from dataclasses import replace

from tests.core.planning.test_timeline import carried_out
from vde_dagster.core.planning.timeline_text import LETTERS, WORDS, timeline_lines
from vde_dagster.core.spans import Kind

# 11 s in 44 letters: four for each second.
WIDTH = 44 + len("before models") + 9 + 5


def test_each_bar_shows_when_what_was_done() -> None:
    first, *bars, legend, longest = timeline_lines(carried_out(), width=WIDTH, most=40)
    assert first == (
        f"Plan {carried_out().plan_id[:8]} of prod, Dagster run 51b2a7f0: "
        "2026-11-26 08:10:02 UTC, 11.0 s, up to 2 models at once"
    )
    assert bars == [
        f"{' ' * 16}0 s{' ' * 35}11.0 s",
        f"* before models |{'ssss':<44}|    1.0 s",
        f"* mart.a        |{'    SSSSSSSSSSSScccc':<44}|    4.0 s",
        f"* mart.b        |{'    ................SSSSSSSS':<44}|    2.0 s",
        f"* mart.both     |{' ' * 28}{'JJSSSSSSSSSS':<16}|    3.0 s",
        f"* after models  |{'cccc':>44}|    1.0 s",
    ]
    assert legend == (
        ". waiting for room 4.0 s; J starting Java and Spark 0.5 s; S Spark 7.5 s; "
        "c the catalog 2.0 s; s the state 1.0 s"
    )
    assert longest == (
        "* decided how long it took: before models, then mart.a, then mart.b, then mart.both, "
        "then after models"
    )


def test_long_lists_are_cut_and_say_so() -> None:
    found = list(timeline_lines(carried_out(), width=WIDTH, most=2))
    assert [line[:9] for line in found[2:4]] == ["* mart.a ", "* mart.b "]
    assert found[4] == "3 more took less time."


def test_a_name_that_is_too_long_keeps_its_end_and_a_bar_some_width() -> None:
    row = carried_out().rows[1]
    name = f"{'long_' * 20}.the_end"
    alone = replace(carried_out(), rows=(replace(row, name=name),))
    found = list(timeline_lines(alone, width=10, most=9))
    assert found[2].startswith("* …")
    assert found[2].split("|")[0].endswith("_.the_end ")
    assert len(found[2].split("|")[1]) == 20


def test_a_failure_is_named_behind_its_bar() -> None:
    rows = [replace(row, error="EvaluationFailed") for row in carried_out().rows[1:2]]
    found = list(timeline_lines(replace(carried_out(), rows=tuple(rows)), width=WIDTH, most=9))
    assert found[2].endswith("4.0 s  EvaluationFailed")


def test_every_kind_has_a_letter_of_its_own_and_words() -> None:
    assert set(LETTERS) == set(WORDS) == set(Kind)
    assert len(set(LETTERS.values())) == len(Kind)
