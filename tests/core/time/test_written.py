"""Times as people write them: a date as an end means the whole day."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from vde_dagster.core.time.written import written_end, written_instant


@pytest.mark.parametrize(
    "text, start, end",
    [
        ("2013-01-04", datetime(2013, 1, 4, tzinfo=UTC), datetime(2013, 1, 5, tzinfo=UTC)),
        (" 2013-01-04 ", datetime(2013, 1, 4, tzinfo=UTC), datetime(2013, 1, 5, tzinfo=UTC)),
        (
            "2013-01-04T06:00+01:00",
            datetime(2013, 1, 4, 5, tzinfo=UTC),
            datetime(2013, 1, 4, 5, tzinfo=UTC),
        ),
    ],
)
def test_a_date_as_an_end_is_the_whole_day(text: str, start: datetime, end: datetime) -> None:
    assert written_instant(text) == start
    assert written_end(text) == end


@pytest.mark.parametrize("text", ["soon", "", "2013-02-30"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    for read in (written_instant, written_end):
        with pytest.raises(
            ValueError, match=r"is not a valid date or time; write it like 2013-01-04$"
        ):
            read(text)


def test_the_last_day_of_all_has_no_end() -> None:
    with pytest.raises(ValueError, match="'9999-12-31' is the last possible day"):
        written_end("9999-12-31")
