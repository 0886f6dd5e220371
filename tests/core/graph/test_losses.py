# ruff: noqa: E501 - rows of tables stay on one line
"""Time bounds that leave out rows of an interval: refused, with the bound to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from tests.core.written_project import problems_in, write_project
from vde_dagster.core.errors import Problem

BY_TIME = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
BY_KEY = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"
BY_KEY_ALONE = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, batch_size 1)"
ALONE = "INCREMENTAL_BY_TIME_RANGE (time_column at, batch_size 1)"
APPENDED = "INCREMENTAL_UNMANAGED"
HISTORY = "SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at)"
FULL = "FULL"
SOURCES = """
- name: raw.t
  columns: {id: int, ts: timestamp, ntz: timestamp_ntz, day: date, text: string, seconds: bigint, f: double}
- name: raw.u
  columns: {id: int, ts: timestamp}
"""


def problems(
    folder: Path, query: str, kind: str = BY_TIME, cron: str = "@daily", **others: str
) -> list[Problem]:
    models = {"x": f"MODEL (name m.x, kind {kind}, cron '{cron}');\n{query}", **others}
    files = {f"models/m/{name}.sql": text for name, text in models.items()}
    write_project(folder, SOURCES, files)
    return problems_in(folder)


def where(condition: str) -> str:
    return f"SELECT id, ts AS at\nFROM raw.t\nWHERE {condition}"


WHOLE_TS = "`t.ts BETWEEN @start_dt AND @end_dt`, or `t.ts <= @end_dt`"
REFUSED = [
    ("ts BETWEEN @start_date AND @end_date", BY_TIME, "first instant of the last day", WHOLE_TS),
    ("ts >= @start_date AND ts < @end_date", BY_TIME, "@end_date is the last day of the interval, so `<`", WHOLE_TS),
    ("ts < @end_ts", FULL, "the last microsecond of the interval", WHOLE_TS),
    ("ts <= @end_date", FULL, "first instant of the last day", WHOLE_TS),
    ("ts <= CAST(@end_ts AS DATE)", HISTORY, "first instant of the last day", WHOLE_TS),
    ("NOT (ts > TIMESTAMP(@end_ds))", BY_KEY, "first instant of the last day", WHOLE_TS),
    ("@end_date > ts", APPENDED, "@end_date is the last day of the interval, so `<`", "`t.ts BETWEEN @start_dt AND @end_dt`, which"),
    ("(ts) - INTERVAL 1 DAY <= @end_date", BY_KEY, "first instant of the last day", "<= @end_dt`"),
    ("COALESCE(ts, TIMESTAMP '2024-01-01') <= @end_date", BY_KEY, "has a time of day", "<= @end_dt`"),
    ("CAST(day AS TIMESTAMP) + INTERVAL 5 HOURS <= @end_date", BY_KEY, "has a time of day", "<= @end_dt`"),
    ("ntz BETWEEN @start_date AND @end_date", BY_TIME, "has a time of day", "`t.ntz BETWEEN @start_dtntz AND @end_dtntz`"),
    ("day >= @start_ds AND day < @end_ds", BY_TIME, "the last day of the interval, so `<`", "`t.day BETWEEN @start_date AND @end_date`"),
    ("day < @end_ts", BY_KEY, "so `<` would leave out the rows of `t.day`", "`t.day <= @end_date`"),
    ("text BETWEEN @start_ts AND @end_ts", BY_TIME, "letter by letter", "`CAST(t.text AS TIMESTAMP) BETWEEN @start_dt AND @end_dt`"),
    ("text <= @end_ts", BY_KEY, "letter by letter", "`CAST(t.text AS TIMESTAMP) <= @end_dt`"),
    ("text < @end_ds", BY_KEY, "the last day of the interval, so `<`", "`t.text <= @end_ds`"),
    ("CAST(ts AS STRING) <= @end_ds", BY_KEY, "has a time of day", "`t.ts <= @end_dt`"),
    ("DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm') <= @end_ds", BY_KEY, "has a time of day", "<= @end_dt`"),
    ("seconds >= @start_epoch AND seconds < @end_epoch", BY_TIME, "last whole second of the interval", "`value < @end_epoch + 1`"),
    ("hour(ts) < @end_hour AND ts <= @end_dt", BY_TIME, "last whole hour of the interval", "`value < @end_hour + 1`"),
    # what is lost between two units, or in several of them at once
    ("ts > @start_dt AND ts <= @end_dt", BY_TIME, "`>` would leave out the rows of `t.ts` at @start_dt", WHOLE_TS),
    ("day > @start_date AND day <= @end_date", BY_KEY_ALONE, "`>` would leave out the rows of `t.day`", "`t.day BETWEEN @start_date AND @end_date`"),
    ("seconds > @start_epoch AND seconds <= @end_epoch", BY_KEY, "`>` would leave out", "`value >= @start_epoch`"),
    ("ts BETWEEN @start_dt AND @end_dt AND ntz + INTERVAL 1 DAY BETWEEN @start_dt - INTERVAL 7 DAYS AND @end_dt - INTERVAL 8 DAYS", BY_KEY, "leave out rows if each day is evaluated alone", "`ntz BETWEEN @start_dtntz AND @end_dtntz`"),
    ("ts BETWEEN @start_dt - INTERVAL 7 DAYS AND @end_dt - INTERVAL 8 DAYS", BY_KEY, "leave out rows if each day is evaluated alone", "by the same time"),
    ("ts BETWEEN @start_dt - INTERVAL 7 DAYS AND @end_dt - INTERVAL 8 DAYS", BY_TIME, "leave out rows if each day is evaluated alone", "by the same time"),
    ("DATE_TRUNC('month', ts) BETWEEN @start_date AND @end_date", BY_TIME, "in which the interval may start", WHOLE_TS),
    ("day = @start_ds", BY_TIME, "equals @start_ds in one unit", "`t.day BETWEEN @start_date AND @end_date`. Or set `batch_size 1`"),
    ("DATE_TRUNC('week', ts) = @start_date", BY_KEY_ALONE, "in one unit of time only", "`t.ts BETWEEN @start_dt AND @end_dt`."),
    ("day IN (@start_date, @end_date)", BY_KEY, "equals @start_date in one unit", "`batch_size 1`"),
    ("ts >= @start_dt AND ts < @start_dt + INTERVAL 1 DAY", BY_TIME, "if several days are evaluated together", "`batch_size 1`"),
    ("ts BETWEEN @end_dt - INTERVAL 1 HOUR AND @end_dt", BY_KEY, "if several days are evaluated together", "`batch_size 1`"),
    # what is behind the start, where nothing else ends
    ("day > @start_date", BY_KEY, "`>` would leave out the rows of `t.day`", "BETWEEN @start_date"),
    ("ts > @start_dt", HISTORY, "`>` would leave out the rows of `t.ts`", WHOLE_TS),
    ("seconds > UNIX_TIMESTAMP(@start_dt)", BY_KEY, "`>` would leave out", "`t.seconds >= @start_epoch"),
    # equal to what is made of a macro
    ("YEAR(ts) = YEAR(@start_date)", BY_TIME, "equals @start_date in one unit", "`t.ts BETWEEN @start_dt AND @end_dt`"),
    ("text = DATE_FORMAT(@start_date, 'yyyyMMdd')", BY_TIME, "equals @start_date in one unit", "`t.text BETWEEN DATE_FORMAT(@start_date, 'yyyyMMdd') AND DATE_FORMAT(@end_date, 'yyyyMMdd')`"),
    ("text LIKE CONCAT(@start_ds, '%')", BY_KEY, "equals @start_ds in one unit", "`t.text BETWEEN"),
    ("text IN (REPLACE(@start_ds, '-', ''))", BY_KEY, "equals @start_ds in one unit", "`t.text BETWEEN REPLACE(@start_ds"),
    ("NOT (day <> @start_date)", BY_KEY, "equals @start_date in one unit", "`t.day BETWEEN @start_date AND @end_date`"),
    ("DATE_TRUNC('month', ts) < @end_date", FULL, "the last day of the interval, so `<`", WHOLE_TS),
    ("DATE_TRUNC('month', ts) >= @start_date", "FULL, start '2024-01-15'", "in which the interval may start", WHOLE_TS),
    ("DATE_TRUNC('month', ts) = @start_dt", BY_KEY, "equals @start_dt in one unit", "`t.ts BETWEEN @start_dt AND @end_dt`"),
    # bounds that are written as a text or counted
    ("text >= DATE_FORMAT(@start_date, 'yyyyMMdd') AND text < DATE_FORMAT(@end_date, 'yyyyMMdd')", BY_TIME, "the last day of the interval, so `<`", "`t.text BETWEEN DATE_FORMAT(@start_date, 'yyyyMMdd')"),
    ("id >= CAST(DATE_FORMAT(@start_date, 'yyyyMMdd') AS INT) AND id < CAST(DATE_FORMAT(@end_date, 'yyyyMMdd') AS INT)", BY_TIME, "the last day of the interval, so `<`", "`t.id BETWEEN CAST"),
    ("f BETWEEN UNIX_TIMESTAMP(@start_dt) AND UNIX_TIMESTAMP(@end_dt)", BY_KEY, "left out", "`t.f >= @start_epoch AND t.f < @end_epoch + 1`"),
    ("seconds < UNIX_TIMESTAMP(@end_dt)", BY_KEY, "leave out", "`t.seconds >= @start_epoch AND t.seconds < @end_epoch + 1`"),
    ("seconds <= UNIX_TIMESTAMP(@end_ds, 'yyyy-MM-dd')", FULL, "left out", "`t.seconds >= @start_epoch"),
    ("id < UNIX_DATE(@end_date)", FULL, "leave out", ""),
    # a text that is written in another way than the macro
    ("DATE_FORMAT(ts, 'yyyyMMdd') BETWEEN @start_ds AND @end_ds", BY_TIME, "letter by letter", WHOLE_TS),
    ("DATE_FORMAT(ts, 'yyyy-MM') BETWEEN @start_ds AND @end_ds", BY_KEY, "letter by letter", WHOLE_TS),
    ("DATE_FORMAT(ts, 'yyyy-MM') BETWEEN @start_date AND @end_date", BY_KEY, "in which the interval may start", WHOLE_TS),
    ("FROM_UNIXTIME(seconds) <= @end_ds", BY_KEY, "has a time of day", "`CAST("),
    # coarse values
    ("CAST(DATE_TRUNC('month', ts) AS DATE) BETWEEN @start_date AND @end_date", BY_KEY, "in which the interval may start", WHOLE_TS),
    ("TRUNC(day, 'MM') BETWEEN @start_date AND @end_date", BY_KEY, "in which the interval may start", "`t.day BETWEEN @start_date AND @end_date`"),
    ("COALESCE(DATE_TRUNC('month', ts), ts) BETWEEN @start_dt AND @end_dt", BY_KEY, "in which the interval may start", ""),
    ("TO_DATE(text, 'yyyyMM') >= @start_date", BY_KEY, "in which the interval may start", ""),
    # what is appended twice
    ("DATE_TRUNC('month', ts) BETWEEN @start_dt - INTERVAL 1 DAY AND @end_dt", BY_KEY, "left out", "@start_dt"),
    ("seconds >= @start_epoch", APPENDED, "appended again", "Bound it by @start_epoch and @end_epoch."),
    ("ts >= @start_dt", APPENDED, "appended again", "BETWEEN @start_dt AND @end_dt"),
    ("ts BETWEEN @start_dt AND @end_date + INTERVAL 1 DAY", APPENDED, "appended again", "BETWEEN @start_dt AND @end_dt"),
]  # fmt: skip


@pytest.mark.parametrize("condition,kind,message,advice", REFUSED)
def test_bounds_that_lose_rows_are_refused_with_their_line_and_the_bound_to_write(
    tmp_path: Path, condition: str, kind: str, message: str, advice: str
) -> None:
    (problem,) = problems(tmp_path, where(condition), kind)
    assert (str(problem.place.path), problem.place.line) == ("models/m/x.sql", 4)
    assert message in problem.message
    assert advice in problem.advice


WHOLE = [
    ("ts BETWEEN @start_ts AND @end_ts", BY_TIME),
    ("ts BETWEEN @start_dt AND @end_dt", APPENDED),
    ("CAST(ts AS DATE) BETWEEN @start_ds AND @end_ds", APPENDED),
    ("TO_DATE(ts) BETWEEN @start_date AND @end_date", BY_TIME),
    ("CAST(CAST(ts AS DATE) AS TIMESTAMP) <= @end_date", BY_KEY),
    ("CAST(day AS TIMESTAMP) + INTERVAL 2 DAYS <= @end_date", BY_KEY),
    ("ts >= @start_date AND ts < @end_date + INTERVAL 1 DAY", APPENDED),
    ("ts BETWEEN @start_date AND @end_date + INTERVAL 1 DAY", BY_TIME),
    ("ts >= @start_ds", BY_TIME),
    ("ts <= @end_dt", FULL),
    ("day = @end_date", FULL),
    ("day = @start_ds", ALONE),
    ("DATE_FORMAT(ts, 'yyyy-MM-dd') = @end_ds", ALONE),
    ("day >= @start_dt AND day < @end_dt", BY_TIME),
    ("text BETWEEN @start_ds AND @end_ds", BY_TIME),
    ("text BETWEEN @start_dt AND @end_dt", BY_TIME),
    ("CAST(text AS TIMESTAMP) BETWEEN @start_ts AND @end_ts", BY_TIME),
    ("DATE_FORMAT(ts, 'yyyy-MM-dd') BETWEEN @start_ds AND @end_ds", BY_TIME),
    ("hour(ts) BETWEEN @start_hour AND @end_hour AND ts BETWEEN @start_dt AND @end_dt", BY_TIME),
    ("ts BETWEEN @start_dt - INTERVAL 7 DAYS AND @end_dt", BY_KEY),
    ("ts BETWEEN @start_dt - INTERVAL 7 DAYS AND @end_dt - INTERVAL 7 DAYS", APPENDED),
    ("ts BETWEEN DATE_TRUNC('month', @start_dt) AND @end_dt", BY_TIME),
    # which rows of a second column are taken does not make the first one's twice
    ("ts BETWEEN @start_dt AND @end_dt AND ntz >= @start_dtntz - INTERVAL 7 DAYS", APPENDED),
    # a time that is added to or taken from the end is the author's word
    ("ts <= @end_dt - INTERVAL 30 MINUTES", BY_KEY),
    ("ts <= @end_date - INTERVAL 1 DAY", FULL),
    # the end of a validity is the first instant behind it
    ("ntz > @start_dtntz AND ts <= @end_dt", FULL),
    ("day < @end_date + INTERVAL 1 DAY AND ntz > @start_dtntz AND ts <= @end_dt", HISTORY),
    # what is no row's time
    ("ts <= @end_dt AND CURRENT_DATE() > @start_date", BY_KEY),
    ("ts BETWEEN @start_dt AND @end_dt AND (@start_ds = '2024-01-01' OR f > 1)", BY_TIME),
    ("ts BETWEEN @start_dt AND @end_dt AND (DATE '2024-05-01' > @start_date OR f > 1)", BY_TIME),
    ("ts <= @end_dt AND id IN (SELECT id FROM raw.u WHERE ts <= @end_dt)", BY_KEY),
    ("ts <= @end_dt AND (CASE WHEN ts >= @start_dt THEN 1 ELSE 2 END) = id", BY_KEY),
    # equal where it is evaluated alone
    ("YEAR(ts) = YEAR(@start_date) AND MONTH(ts) = MONTH(@start_date)", ALONE),
    # by a format or a number that is the value's own
    ("text BETWEEN DATE_FORMAT(@start_date, 'yyyyMMdd') AND DATE_FORMAT(@end_date, 'yyyyMMdd')", BY_TIME),
    ("DATE_FORMAT(ts, 'yyyyMMdd') BETWEEN DATE_FORMAT(@start_dt, 'yyyyMMdd') AND DATE_FORMAT(@end_dt, 'yyyyMMdd')", BY_TIME),
    ("DATE_FORMAT(ts, 'yyyy-MM') BETWEEN DATE_FORMAT(@start_dt, 'yyyy-MM') AND DATE_FORMAT(@end_dt, 'yyyy-MM')", BY_TIME),
    ("id BETWEEN CAST(DATE_FORMAT(@start_date, 'yyyyMMdd') AS INT) AND CAST(DATE_FORMAT(@end_date, 'yyyyMMdd') AS INT)", BY_TIME),
    ("seconds BETWEEN UNIX_TIMESTAMP(@start_dt) AND UNIX_TIMESTAMP(@end_dt)", BY_KEY),
    ("DATE_TRUNC('month', ts) BETWEEN DATE_TRUNC('month', @start_dt) AND @end_dt", BY_TIME),
    ("TRUNC(day, 'MM') <= @end_date", FULL),
    ("DATE_TRUNC('month', ts) >= @start_date AND DATE_TRUNC('month', ts) < @end_dt", FULL),
    # what begins behind an interval is left to the author
    ("ts > @end_date", FULL),
]  # fmt: skip


@pytest.mark.parametrize("condition,kind", WHOLE)
def test_bounds_that_lose_nothing_are_taken(tmp_path: Path, condition: str, kind: str) -> None:
    assert problems(tmp_path, where(condition), kind) == []


@pytest.mark.parametrize(
    "unit,refused", [("week", True), ("quarter", True), ("month", False), ("day", False)]
)
def test_weeks_begin_at_the_start_of_no_month(tmp_path: Path, unit: str, refused: bool) -> None:
    query = where(f"DATE_TRUNC('{unit}', ts) BETWEEN @start_date AND @end_date")
    assert bool(problems(tmp_path, query, BY_KEY, cron="@monthly")) == refused


def test_a_text_of_a_declared_format_is_not_compared_with_another_one(tmp_path: Path) -> None:
    parent = (
        "MODEL (name m.p, kind INCREMENTAL_BY_TIME_RANGE (time_column (d, 'yyyyMMdd')));\n"
        "SELECT id, DATE_FORMAT(ts, 'yyyyMMdd') AS d FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt"
    )
    query = "SELECT id, TO_DATE(d, 'yyyyMMdd') AS at FROM m.p WHERE "
    (problem,) = problems(tmp_path / "a", f"{query} d BETWEEN @start_ds AND @end_ds", p=parent)
    assert "writes a time as %Y%m%d" in problem.message
    (whole,) = ADVISED.findall(problem.advice)[:1]
    assert problems(tmp_path / "b", query + whole.replace("p.d", "d"), p=parent) == []


ADVISED = re.compile("`([^`]*@[^`]*)`")
VALUES = """
ts|ntz|day|text|seconds|f|DATE(ts)|DATE_TRUNC('day', ts)|DATE_TRUNC('month', ts)|DATE_TRUNC('hour', ts)
CAST(ts AS STRING)|TRUNC(day, 'MM')|DATE_FORMAT(ts, 'yyyy-MM-dd')|DATE_FORMAT(ts, 'yyyyMMdd')
CAST(day AS TIMESTAMP)|CAST(DATE_TRUNC('month', ts) AS DATE)|YEAR(ts)
""".strip()
BOUNDS = """
{v} BETWEEN @start_{f} AND @end_{f}|{v} >= @start_{f} AND {v} < @end_{f}|{v} = @start_{f}|{v} <= @end_{f}|{v} > @start_{f}
""".strip()
FORMS = ("date", "ds", "dt", "ts", "dtntz", "epoch", "millis")
KINDS = [
    (BY_TIME, "@daily"),
    (BY_KEY, "@monthly"),
    (BY_TIME, "@hourly"),
    (FULL, "@daily"),
    (APPENDED, "@daily"),
]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(value, marks=[pytest.mark.full] if number % 4 else [])
        for number, value in enumerate(re.split("[|\n]", VALUES))
    ],
)
def test_what_a_refusal_advises_is_accepted(tmp_path: Path, value: str) -> None:
    written = {
        f"x{number}": (bound.format(v=value, f=form), kind)
        for number, (form, bound, kind) in enumerate(product(FORMS, BOUNDS.split("|"), KINDS))
        if (form in ("epoch", "millis")) == (value in ("seconds", "f"))
    }
    advised = {}
    for at, problem in enumerate(_problems_of(tmp_path / "a", written)):
        _, kind = written[problem.place.path.stem]
        assert "batch_size" not in problem.advice or kind[0] in (BY_TIME, BY_KEY)
        for place, condition in enumerate(ADVISED.findall(problem.advice)):
            told = condition.replace("t.", "").replace("value", value)
            advised[f"y{at}_{place}"] = (told, kind)
    assert advised
    again = _problems_of(tmp_path / "b", advised)
    assert [(each.message, advised[each.place.path.stem]) for each in again] == []


def _problems_of(folder: Path, written: Mapping[str, tuple[str, tuple[str, str]]]) -> list[Problem]:
    texts = {
        name: f"MODEL (name m.{name}, kind {kind}, cron '{cron}');\n{where(condition)}"
        for name, (condition, (kind, cron)) in written.items()
    }
    return problems(folder, "SELECT 1 AS id, CURRENT_TIMESTAMP() AS at", FULL, **texts)


MERGED = [
    "SELECT id FROM (SELECT DISTINCT id FROM raw.t WHERE ts <= @end_dt) WHERE id > 3",
    "SELECT id, n FROM (SELECT id, COUNT(*) AS n FROM raw.t WHERE ts <= @end_dt GROUP BY id)",
    "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts DESC) AS n FROM raw.t WHERE ts <= @end_dt) WHERE n = 1",
]  # fmt: skip


@pytest.mark.parametrize("query", MERGED)
def test_rows_that_a_query_merges_are_not_those_of_other_intervals(
    tmp_path: Path, query: str
) -> None:
    assert problems(tmp_path, query, APPENDED) == []


def test_the_line_is_that_of_the_bound_in_a_common_table(tmp_path: Path) -> None:
    query = (
        "WITH a AS (\n  SELECT id, ts AS moment FROM raw.t\n), b AS (\n"
        "  SELECT id, moment FROM a\n  WHERE moment > @start_dt AND moment <= @end_dt\n)\n"
        "SELECT id, moment AS at FROM b"
    )
    (problem,) = problems(tmp_path, query)
    assert problem.place.line == 6
    assert "`>` would leave out the rows of `a.moment`" in problem.message


def test_bounds_in_joins_and_sub_queries_count(tmp_path: Path) -> None:
    query = (
        "SELECT t.id, t.ts AS at\nFROM raw.t AS t\n"
        "JOIN raw.u AS u ON t.id = u.id AND u.ts <= @end_ds\n"
        "WHERE t.ts BETWEEN @start_dt AND @end_dt\n"
        "AND t.id IN (SELECT id FROM raw.u WHERE ts < @end_date)"
    )
    found = problems(tmp_path, query)
    assert [each.place.line for each in found] == [4, 6]


def test_an_embedded_model_is_refused_at_its_own_line(tmp_path: Path) -> None:
    embedded = (
        "MODEL (name m.e, kind EMBEDDED);\nSELECT id, ts FROM raw.t\nWHERE ts BETWEEN @start_ds"
        " AND @end_ds"
    )
    (problem,) = problems(tmp_path, "SELECT id, ts AS at FROM m.e", e=embedded)
    assert (str(problem.place.path), problem.place.line) == ("models/m/e.sql", 3)


@pytest.mark.parametrize("written,whole", [("yyyy-MM-dd HH:mm:ss", True), ("yyyy-MM-dd HH", False)])
def test_a_text_whose_format_is_declared_is_compared_as_that(
    tmp_path: Path, written: str, whole: bool
) -> None:
    parent = (
        f"MODEL (name m.p, kind INCREMENTAL_BY_TIME_RANGE (time_column (at, '{written}')), cron "
        f"'@hourly');\nSELECT id, DATE_FORMAT(ts, '{written}') AS at FROM raw.t\n"
        "WHERE ts BETWEEN @start_dt AND @end_dt"
    )
    query = "SELECT id, CAST(at AS TIMESTAMP) AS at FROM m.p WHERE at BETWEEN @start_ts AND @end_ts"
    assert (problems(tmp_path, query, p=parent) == []) == whole


def test_hours_of_the_day_are_no_range_of_several_days(tmp_path: Path) -> None:
    query = where(
        "hour(ts) BETWEEN @start_hour AND @end_hour AND day BETWEEN @start_date AND @end_date"
    )
    found = problems(tmp_path / "a", query, cron="@hourly")
    assert ["hour of the day" in each.message for each in found] == [True, True]
    assert problems(tmp_path / "b", query, ALONE, cron="@hourly") == []


def test_an_hourly_model_bounded_by_dates_reads_more_and_loses_nothing(tmp_path: Path) -> None:
    query = where("CAST(ts AS DATE) BETWEEN @start_ds AND @end_ds")
    assert problems(tmp_path / "a", query, cron="@hourly") == []
    (problem,) = problems(tmp_path / "b", query, APPENDED, cron="@hourly")
    assert "each interval of a day would append" in problem.message


MADE = """
DATE_TRUNC('hour', ts)|timestamp_seconds(seconds)|window(ts, '1 hour').start|
make_timestamp(2024, 1, 1, id, 0, 0)|to_utc_timestamp(ts, 'Europe/Berlin')|MAX_BY(ts, id) OVER ()|
convert_timezone('UTC', 'Europe/Berlin', ntz)|try_to_timestamp(text)|to_timestamp_ntz(text)
"""
DATES = ["TRUNC(day, 'MM')", "try_to_date(text)", "make_date(2024, 1, id)"]


@pytest.mark.parametrize("made", [each.strip() for each in MADE.split("|")])
@pytest.mark.parametrize("kind", [BY_TIME, BY_KEY, HISTORY, APPENDED, FULL])
def test_a_time_that_another_model_makes_is_known_as_a_time(
    tmp_path: Path, made: str, kind: str
) -> None:
    parent = f"MODEL (name m.p, kind FULL);\nSELECT id, {made} AS h FROM raw.t"
    query = "SELECT id, h AS at FROM m.p WHERE h BETWEEN @start_ds AND @end_ds"
    (problem,) = problems(tmp_path, query, kind, p=parent)
    assert "first instant of the last day" in problem.message


@pytest.mark.parametrize("made", DATES)
def test_a_date_that_another_model_makes_has_no_time_of_day(tmp_path: Path, made: str) -> None:
    parent = f"MODEL (name m.p, kind FULL);\nSELECT id, {made} AS h FROM raw.t"
    assert problems(tmp_path / "a", "SELECT h FROM m.p WHERE h <= @end_date", FULL, p=parent) == []
    (problem,) = problems(tmp_path / "b", "SELECT h FROM m.p WHERE h < @end_date", FULL, p=parent)
    assert "the last day of the interval, so `<`" in problem.message


def test_rows_of_a_time_made_in_a_common_table_are_not_left_out(tmp_path: Path) -> None:
    query = (
        "WITH a AS (SELECT id, DATE_TRUNC('hour', ts) AS h, COUNT(*) AS n FROM raw.t GROUP BY 1, 2)"
        "\nSELECT id, h AS at FROM a WHERE h BETWEEN @start_ds AND @end_ds"
    )
    assert [each.place.line for each in problems(tmp_path, query)] == [3]


@pytest.mark.parametrize("value", ["day", "DATE_TRUNC('day', ts)", "(CAST(ts AS DATE))"])
def test_an_hourly_model_loses_what_is_later_on_a_day_than_its_first_hour(
    tmp_path: Path, value: str
) -> None:
    query = where(f"{value} BETWEEN @start_dt AND @end_dt")
    (problem,) = problems(tmp_path / "a", query, cron="@hourly")
    assert "in which the interval may start" in problem.message
    assert "BETWEEN @start_date AND @end_date`" in problem.advice
    assert problems(tmp_path / "b", query, cron="@daily") == []


@pytest.mark.parametrize(
    "condition, advice",
    [
        ("ts BETWEEN @start_date AND @end_dt", "`t.ts BETWEEN @start_dt AND @end_dt`"),
        ("day BETWEEN @start_date AND @end_date", "`cron '@daily'`"),
        ("day BETWEEN @start_ts AND @end_ts", "`cron '@daily'`"),
        ("text BETWEEN @start_ds AND @end_ds", "`cron '@daily'`"),
        ("text BETWEEN @start_date AND @end_date + INTERVAL 1 DAY", "`cron '@daily'`"),
    ],
)
def test_hourly_intervals_would_append_the_rows_of_a_day_again(
    tmp_path: Path, condition: str, advice: str
) -> None:
    (problem,) = problems(tmp_path / "hourly", where(condition), APPENDED, cron="@hourly")
    assert "each interval of a day would append" in problem.message
    assert advice in problem.advice
    is_range = "BETWEEN" in advice
    advised = where(advice.strip("`") if is_range else condition)
    cron = "@hourly" if is_range else "@daily"
    assert problems(tmp_path / "advised", advised, APPENDED, cron=cron) == []
    counts = f"SELECT COUNT(*) AS n, @execution_ts AS counted_at FROM raw.t WHERE {condition}"
    assert problems(tmp_path / "counts", counts, APPENDED, cron="@hourly") == []


TS = "ts BETWEEN @start_dt AND @end_dt"


@pytest.mark.parametrize("pruned", ["day BETWEEN @start_date AND @end_date", "text >= @start_ds"])
def test_a_day_that_only_narrows_a_range_of_times_repeats_nothing(
    tmp_path: Path, pruned: str
) -> None:
    query = where(f"{TS} AND {pruned}")
    assert problems(tmp_path, query, APPENDED, cron="@hourly") == []


# fmt: off
OF_PARTITIONS = [
    ("months(at)", "ts AS at", TS, "@daily", "a month of at"),
    ("id, months(at)", "ts AS at", TS, "@daily", "a month of at"),
    ("days(at)", "ts AS at", TS, "@hourly", "a day of at"),
    ("day", "CAST(ts AS DATE) AS day", TS, "@hourly", "a day of day"),
    ("months(day)", "day", "day BETWEEN @start_date AND @end_date", "@daily", "a month of day"),
    ("days(at)", "ts AS at", "ts BETWEEN @start_dt - INTERVAL 1 SECOND AND @end_dt", "@daily", "a day of at"),
    ("days(at)", "ts + INTERVAL 9 HOURS AS at", TS, "@daily", "a day of at"),
    ("days(at)", "ts AS at", TS, "@daily", ""),
    ("months(at)", "ts AS at", TS, "@monthly", ""),
    ("months(at), days(at)", "ts AS at", TS, "@daily", ""),
    ("days(at)", "ts AS at", "ts BETWEEN @start_dt - INTERVAL 1 DAY AND @end_dt", "@daily", ""),
    ("days(at)", "ts + INTERVAL 9 HOURS AS at", "ts + INTERVAL 9 HOURS BETWEEN @start_dt AND @end_dt", "@daily", ""),
    # the partitions may well be made of what is bounded, in ways that are not known
    ("id", "ts AS at", TS, "@daily", ""),
    ("months(at), day", "ts AS at, day", TS, "@daily", ""),
    ("months(day)", "day, ts AS at", TS, "@daily", ""),
    # these bound which partitions are replaced
    ("months(at)", "ts AS at", f"id IN (SELECT id FROM raw.u WHERE {TS})", "@daily", ""),
    ("months(at)", "ts AS at", f"TRUNC(ts, 'MONTH') IN (SELECT TRUNC(ts, 'MONTH') FROM raw.t WHERE {TS})", "@daily", ""),
]
# fmt: on


# fmt: off
DAYS = "day BETWEEN @start_date AND @end_date"
MADE_OF_ANOTHER = [
    ("{} AS at", "ts + INTERVAL 9 HOURS", TS, "@daily"),
    ("{} AS at", "ts - INTERVAL 1 DAY", TS, "@hourly"),
    ("{} AS at", "ts - INTERVAL 9 HOURS", "DATE(ts) BETWEEN @start_date AND @end_date", "@daily"),
    ("{} AS at", "ts + INTERVAL 9 HOURS", "ts BETWEEN @start_dt - INTERVAL 1 HOUR AND @end_dt", "@daily"),
    ("{} AS at", "ntz + INTERVAL 9 HOURS", "ntz BETWEEN @start_dtntz AND @end_dtntz", "@daily"),
    ("DATE({}) AS at", "ts + INTERVAL 9 HOURS", TS, "@daily"),
    ("{} AS at", "CAST(day AS TIMESTAMP) + INTERVAL 30 HOURS", DAYS, "@daily"),
    ("{} AS at", "DATE_ADD(day, 1)", DAYS, "@daily"),
    ("DATE_TRUNC('month', {}) AS at", "ts + INTERVAL 9 HOURS", TS, "@monthly"),
    ("DATE_FORMAT({}, 'yyyy-MM-dd') AS at", "ts + INTERVAL 9 HOURS", TS, "@daily"),
    ("CAST(DATE({}) AS STRING) AS at", "ts - INTERVAL 9 HOURS", TS, "@daily"),
]
COARSE = [
    ("DATE_TRUNC('{}', ts) AS at", "month", TS, "@daily", "@monthly"),
    ("DATE_TRUNC('{}', ts) AS at", "day", TS, "@hourly", "@daily"),
    ("CAST(DATE_TRUNC('{}', day) AS DATE) AS at", "month", DAYS, "@daily", "@monthly"),
    ("DATE_TRUNC('{}', ts) AS at", "quarter", TS, "@monthly", "@yearly"),
    ("DATE_TRUNC('{}', ts) AS at", "week", TS, "@monthly", ""),
]
# fmt: on


@pytest.mark.parametrize("kind", [BY_TIME, ALONE])
@pytest.mark.parametrize("select, made, condition, cron", MADE_OF_ANOTHER)
def test_a_time_column_that_is_made_of_another_time_is_to_be_compared_itself(
    tmp_path: Path, select: str, made: str, condition: str, cron: str, kind: str
) -> None:
    query = f"SELECT id, {select.format(made)}\nFROM raw.t\nWHERE {condition}"
    (problem,) = problems(tmp_path / "written", query, kind, cron)
    low, high = re.findall(r"is derived.*, from (@\w+) to (@\w+)", problem.advice)[0]
    advised = query.replace(condition, f"{made} BETWEEN {low} AND {high}")
    assert problems(tmp_path / "advised", advised, kind, cron) == []


NUMBER = "INCREMENTAL_BY_TIME_RANGE (time_column (at, 'yyyyMMddHH'))"


@pytest.mark.parametrize("made, is_whole", [("ts", True), ("ts + INTERVAL 9 HOURS", False)])
def test_a_number_that_writes_a_time_is_followed_as_the_time(
    tmp_path: Path, made: str, is_whole: bool
) -> None:
    written = f"CAST(DATE_FORMAT({made}, 'yyyyMMddHH') AS BIGINT)"
    query = f"SELECT id, {written} AS at\nFROM raw.t\nWHERE {TS}"
    found = problems(tmp_path, query, NUMBER, "@hourly")
    advice = ["Compare the time from which at is derived" in each.advice for each in found]
    assert advice == ([] if is_whole else [True])


@pytest.mark.parametrize("select, grain, condition, cron, advised", COARSE)
def test_a_time_column_in_longer_units_than_the_models_is_to_be_made_in_its_own(
    tmp_path: Path, select: str, grain: str, condition: str, cron: str, advised: str
) -> None:
    query = f"SELECT id, {select.format(grain)}\nFROM raw.t\nWHERE {condition}"
    (problem,) = problems(tmp_path / "written", query, BY_TIME, cron)
    (unit,) = re.findall(r"Truncate at by the (\w+) or finer", problem.advice)
    finer = query.replace(f"'{grain}'", f"'{unit}'")
    assert problems(tmp_path / "finer", finer, BY_TIME, cron) == []
    assert re.findall("`cron '(.*)'`", problem.advice) == [advised] * bool(advised)
    if advised:
        assert problems(tmp_path / "longer", query, BY_TIME, advised) == []


@pytest.mark.parametrize("by, select, condition, cron, partition", OF_PARTITIONS)
def test_bounds_that_take_a_part_of_a_partition_lose_its_other_rows(
    tmp_path: Path, by: str, select: str, condition: str, cron: str, partition: str
) -> None:
    kind = f"INCREMENTAL_BY_PARTITION, partitioned_by ({by})"
    query = f"SELECT id, {select}\nFROM raw.t\nWHERE {condition}"
    found = problems(tmp_path / "written", query, kind, cron)
    assert len(found) == bool(partition), found
    for problem in found:
        assert (
            f"a part of a partition, which is {partition} and is replaced whole" in problem.message
        )
        assert problem.place.line == 4
    for problem in found:
        if "+" in select:  # the column is made of another time than the one that is compared
            made = select.removesuffix(" AS at")
            low, high = re.findall(r"is derived.*, from (.*) to (@\w+)", problem.advice)[0]
            advised = f"{made} BETWEEN {low} AND {high}"
        else:
            (advised,) = re.findall("`(.* BETWEEN .*)`", problem.advice)
        query = query.replace(condition, advised)
        assert problems(tmp_path / "advised", query, kind, cron) == []
