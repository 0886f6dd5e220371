"""Writing a unit test from live rows: it passes, and says what the model does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.app.unit_tests.shop import engines, shop
from vde_dagster.app.unit_tests.creating import Wanted, create_test
from vde_dagster.app.unit_tests.running import Outcome, run_tests
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.project.unit_tests.loading import load_unit_tests

DAY = Interval(datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 3, tzinfo=UTC))
NOW = datetime(2024, 1, 5, 10, 30, tzinfo=UTC)
LIVE = (
    ("id", "at", "amount", "labels"),
    (
        (1, datetime(2024, 1, 2, 10, tzinfo=UTC), Decimal("10.00"), ["null", "~", " a: b", "7"]),
        (2, datetime(2024, 1, 2, 11, 0, 0, 5, tzinfo=UTC), Decimal("11.50"), [None]),
        (3, None, None, None),
    ),
)


def wanted(model: str, interval: Interval | None = None, **queries: str) -> Wanted:
    return Wanted(
        name="test_it",
        model=ModelName.parse(model),
        interval=interval,
        execution_time=NOW,
        queries={ModelName.parse(name.replace("__", ".")): sql for name, sql in queries.items()},
    )


class Live:
    """Answers every query with the live rows, and remembers the query."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        self.asked.append(sql)
        return LIVE


@pytest.mark.full
def test_a_created_test_passes_and_has_the_rows_of_its_interval(tmp_path: Path) -> None:
    files, live = shop(tmp_path), Live()
    made = create_test(files.configuration, files.graph, wanted("mart.daily", DAY), live, engines())
    assert live.asked == ["SELECT `id`, `at`, `amount`, `labels` FROM `raw`.`events`"]
    assert (made.inputs, made.rows) == ({ModelName("raw", "events"): 3}, 1)
    (tmp_path / "tests" / "t.yaml").write_text(made.text, encoding="utf-8")
    loaded = load_unit_tests(files.configuration, files.graph)
    assert [each.test.interval for each in loaded] == [DAY]
    assert [each.test.execution_time for each in loaded] == [NOW]
    (done,) = run_tests(loaded, engines())
    assert done.outcome is Outcome.PASSED
    row = ["- day: 2024-01-02", "amount: 21.50", "made_on: 2024-01-05"]
    assert [line.strip() for line in made.text.splitlines()][-7:-4] == row


def test_rows_of_the_interval_are_asked_for_where_the_table_tells_the_time(tmp_path: Path) -> None:
    files = shop(tmp_path)
    asked: list[str] = []

    def fetch(sql: str) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        asked.append(sql)
        return ("day", "amount", "made_on"), ()

    made = create_test(
        files.configuration, files.graph, wanted("mart.total", DAY), fetch, engines()
    )
    assert made.rows == 1
    assert "FROM `mart`.`daily` WHERE `day` >= CAST('2024-01-02' AS DATE)" in asked[0]


def test_texts_that_look_like_something_else_stay_what_they_are(tmp_path: Path) -> None:
    files = shop(tmp_path)
    made = create_test(files.configuration, files.graph, wanted("mart.labels"), Live(), engines())
    assert (made.rows, "labels: 4\n" in made.text, "vars" in made.text) == (3, True, False)


def test_a_query_replaces_the_live_rows(tmp_path: Path) -> None:
    files, live = shop(tmp_path), Live()
    query = "SELECT * FROM raw.events WHERE id < 4"
    asked = wanted("mart.labels", raw__events=query)
    create_test(files.configuration, files.graph, asked, live, engines())
    assert live.asked == [query]
    with pytest.raises(Refused, match=r"mart.labels does not read raw.other"):
        create_test(
            files.configuration,
            files.graph,
            wanted("mart.labels", raw__other=query),
            live,
            engines(),
        )
