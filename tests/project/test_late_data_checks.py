# ruff: noqa: E501 - rows of tables stay on one line
"""Sources that ``late_data`` names and no session could follow are refused when they are loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.written_project import problems_of
from tests.project.repositories import write
from vde_dagster.project.loading import load_project

SOURCES = """
- name: raw.events
  columns: {id: bigint, at: timestamp}
- name: raw.others
  columns: {id: bigint, at: timestamp, day: string}
"""
FACT = """MODEL (name a.fact, kind INCREMENTAL_BY_TIME_RANGE (time_column at));
SELECT id, at FROM raw.events WHERE at BETWEEN @start_ts AND @end_ts
"""
SEEN = "MODEL (name a.seen, kind VIEW);\nSELECT id, at FROM a.fact\n"
TIMED = "SELECT id, at FROM {} WHERE at BETWEEN @start_ts AND @end_ts"
WHOLE = "SELECT t.id, CAST(@start_ts AS TIMESTAMP) AS at FROM {} AS t"


def project(folder: Path, late: str, query: str) -> Path:
    kind = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
    files = {
        "vde.yaml": "name: p\ndefaults: {start: 2024-01-01, cron: '@hourly'}\n",
        "external_models.yaml": SOURCES,
        "models/fact.sql": FACT,
        "models/seen.sql": SEEN,
        "models/m.sql": f"MODEL (name a.m, kind {kind},\nlate_data ({late}));\n{query}\n",
    }
    return write(folder, files)


@pytest.mark.parametrize(
    "late,query,said",
    [
        ("mode stateless, sources (a.fact)", TIMED.format("a.fact"), "follows a table that is written outside the project, but a.fact is a model of this project"),
        ("mode stateful, sources (raw.others)", WHOLE.format("a.fact"), "raw.others, which is not read"),
        ("mode stateful, sources (a.seen)", WHOLE.format("a.seen"), "a.seen, which is a view of this project"),
        ("mode stateful, sources (a.fact (offset '1 hour'))", WHOLE.format("a.fact"), "a.fact is a model of this project, so its completeness is known"),
        ("mode stateful, sources (a.fact (idle_after '1 hour'))", WHOLE.format("a.fact"), "a.fact is a model of this project"),
        ("mode stateful, sources ('raw.others|day')", WHOLE.format("raw.others"), "tracks raw.others by day, a string, which cannot be compared with an interval"),
        ("mode stateful, sources (raw.events)", WHOLE.format("raw.events"), "tracks raw.events by event_landing_ts, which is not one of its columns"),
    ],
)  # fmt: skip
def test_it_is_refused_with_its_line(tmp_path: Path, late: str, query: str, said: str) -> None:
    (problem,) = problems_of(lambda: load_project(project(tmp_path, late, query)))
    assert said in problem.message
    assert (problem.place.path.name, problem.place.line) == ("m.sql", 2)


@pytest.mark.full
@pytest.mark.parametrize(
    "late,query",
    [
        ("mode stateful, sources (a.fact)", WHOLE.format("a.fact")),
        ("mode stateful, sources ('raw.events|at')", WHOLE.format("raw.events")),
        ("mode stateful, sources (raw.events)", TIMED.format("raw.events")),
    ],
)
def test_what_a_session_can_follow_is_taken(tmp_path: Path, late: str, query: str) -> None:
    assert load_project(project(tmp_path, late, query)).warnings == ()


FUNCTION = """from vde_dagster import model


@model(
    "a.m",
    kind={{"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "at"}},
    columns={{"id": "bigint", "at": "timestamp"}},
    depends_on={reads},
    late_data={{"mode": "stateful", "sources": "{source}"}},
)
def m(context):
    return context.table("raw.events")
"""


def with_function(folder: Path, source: str, reads: object) -> Path:
    """The project with a Python model in place of the query."""
    made = project(folder, "mode stateful, sources (a.fact)", WHOLE.format("a.fact"))
    (made / "models/m.sql").unlink()
    (made / "models/m.py").write_text(FUNCTION.format(source=source, reads=reads))
    return made


@pytest.mark.parametrize(
    "source,said",
    [
        ("raw.events", "by event_landing_ts, which is not one of its columns"),
        ("raw.others|day", "tracks raw.others by day, a string"),
        ("a.seen", "a.seen, which is a view of this project"),
    ],
)
def test_what_a_function_cannot_be_given_by_its_time_is_refused(
    tmp_path: Path, source: str, said: str
) -> None:
    reads = sorted({"raw.events", source.partition("|")[0]})
    made = with_function(tmp_path, source, reads)
    problems = problems_of(lambda: load_project(made))
    (problem,) = (each for each in problems if said in each.message)
    assert (problem.place.path.name, problem.place.line) == ("m.py", 9)
    others = [each.message for each in problems if each is not problem]
    assert all("is a Python model and reads the VIEW a.seen" in each for each in others)


@pytest.mark.parametrize(
    "reads", [["raw.events"], {"raw.events": {"before": "1 hour"}}], ids=["alone", "a window"]
)
def test_a_function_may_have_sessions(tmp_path: Path, reads: object) -> None:
    made = with_function(tmp_path, "raw.events|at", reads)
    assert load_project(made).warnings == ()
