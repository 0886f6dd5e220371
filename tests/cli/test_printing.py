"""Cells as JSON and as text."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from vde_dagster.cli.printing import (
    as_json,
    as_text,
    commands_in,
    console,
    named_commands,
    print_all,
    table,
)

NEW_YORK = timezone(timedelta(hours=-5))


@pytest.mark.parametrize(
    "value,written,read",
    [
        (None, None, ""),
        (True, True, "yes"),
        (1234567, 1234567, "1,234,567"),
        (0.1, 0.1, "0.1"),
        (float("nan"), "nan", "nan"),
        (float("-inf"), "-inf", "-inf"),
        (Decimal("10.00"), "10.00", "10.00"),
        (date(2013, 1, 4), "2013-01-04", "2013-01-04"),
        (datetime(2013, 1, 4, 5, tzinfo=UTC), "2013-01-04T05:00:00+00:00", "2013-01-04 05:00"),
        (datetime(2013, 1, 4, tzinfo=NEW_YORK), "2013-01-04T05:00:00+00:00", "2013-01-04 05:00"),
        (datetime(2013, 1, 4, 5), "2013-01-04T05:00:00", "2013-01-04 05:00"),
        (b"\x01\xff", "01ff", "01ff"),
        ([1, Decimal(2)], [1, "2"], "[1, '2']"),
        ({"a": date(2013, 1, 4)}, {"a": "2013-01-04"}, "{'a': '2013-01-04'}"),
    ],
)
def test_a_cell(value: object, written: object, read: str) -> None:
    assert as_json(value) == written
    json.dumps(as_json(value), allow_nan=False)
    assert as_text(value) == read


def test_texts_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    text = "[/path] is [red] and [bold]:star: of ['a']"
    console().print(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_a_narrow_terminal_cuts_no_name_no_number_and_no_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    row = ("core.flights_by_carrier", "1,234,567,890,123", "late on 2024-01-01", "x" * 25)
    columns = ("model", "rows", "why", "plan")
    print_all([table(*columns, right=("rows",), whole=("model",), rows=[row])])
    shown = capsys.readouterr().out
    assert [each for each in (*row[:2], "2024-01-01") if each not in shown] == []
    assert shown.count("x") == 25
    assert "…" not in shown


LONG = f"vde plan dev --restate-model mart.{'x' * 200}"
TEXTS = [f"lost. Run `{LONG}`: it helps; `day` is a column", f"`{LONG}`, or `vde unlock`", "none"]


def test_the_commands_of_a_table_are_printed_once_each_on_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert commands_in(TEXTS) == (LONG, "vde unlock")
    print_all(named_commands(TEXTS))
    assert capsys.readouterr().out.splitlines() == [
        "The commands that are named above:",
        f"  {LONG}",
        "  vde unlock",
        "",
    ]
    print_all(named_commands(["none", "`day`"]))
    assert capsys.readouterr().out == ""
