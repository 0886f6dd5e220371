from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.cron import CronInvalid, unit_of
from vde_dagster.core.intervals import IntervalUnit


@pytest.mark.parametrize(
    "cron,unit",
    [
        ("@hourly", "hour"),
        ("@daily", "day"),
        (" @Daily ", "day"),
        ("@midnight", "day"),
        ("@weekly", "day"),
        ("@monthly", "month"),
        ("@yearly", "year"),
        ("@annually", "year"),
        ("*/5 * * * *", "five_minute"),
        ("*/15 * * * *", "quarter_hour"),
        ("*/30 * * * *", "half_hour"),
        ("0 * * * *", "hour"),
        ("59 * * * *", "hour"),
        ("30 6 * * *", "day"),
        ("0 0 * * 1-5", "day"),
        ("0 0 * * MON,fri", "day"),
        ("0 0 1,15 * *", "day"),
        ("0 0 1 * *", "month"),
        ("0 0 1 */3 *", "month"),
        ("0 0 1 1 *", "year"),
        ("0 0 1 1 1", "day"),  # cron joins day of month and weekday by OR
    ],
)
def test_the_unit_is_not_longer_than_the_time_between_two_ticks(cron: str, unit: str) -> None:
    assert unit_of(cron) is IntervalUnit(unit)


@pytest.mark.parametrize(
    "cron",
    [
        "",
        "daily",
        "@never",
        "* * *",
        "* * * * * *",
        "60 * * * *",
        "0 24 * * *",
        "0 0 32 * *",
        "0 0 0 * *",
        "0 0 1 13 *",
        "0 0 * * 8",
        "0 0 x y z",
        "0 0 * foo *",
        "² * * * *",
        "٣ * * * *",
        "-5 * * * *",
        "0 0 1- * *",
        "*/0 * * * *",
        "0 0 */0 * *",
    ],
)
def test_what_is_no_cron_is_refused_with_examples(cron: str) -> None:
    with pytest.raises(CronInvalid, match="@daily"):
        unit_of(cron)


@given(st.text("0123456789*/-, @adeilny", max_size=20) | st.text(max_size=20))
def test_any_text_is_a_unit_or_refused(text: str) -> None:
    with contextlib.suppress(CronInvalid):
        assert isinstance(unit_of(text), IntervalUnit)
