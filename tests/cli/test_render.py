"""`vde render`: SQL for any range and environment, without Spark."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.landed import kept_project
from tests.cli.promoted import edit
from tests.kept_folder import KeptFolder

EVENTS = Path("models", "staging", "events.sql")
SCORES = """from vde_dagster import model


@model(
    "mart.scores",
    depends_on={"staging.events": {"before": "2 days"}, "raw.events": None},
    columns={"at": "timestamp"},
    pre_statements=["DROP TABLE m.a"],
    post_statements=["SET a = @VAR('b', 5)"],
    kind={"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "at"},
)
def scores(context):
    return context.table("staging.events")
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    return kept_project(tmp_path_factory.mktemp("render") / "landed")


@pytest.fixture
def landed(template: KeptFolder) -> Path:
    """Models of every sort, built to prod."""
    return template.put_back()


def rendered(folder: Path, *arguments: str) -> dict[str, Any]:
    return document("render", *arguments, "--project", folder)


def literals(sql: str) -> set[str]:
    return {each.name for each in sqlglot.parse_one(sql, read="spark").find_all(exp.Literal)}


def tables(sql: str, dialect: str = "spark") -> set[str]:
    found = sqlglot.parse_one(sql, read=dialect).find_all(exp.Table)
    return {f"{each.db}.{each.name}" for each in found}


def versions(folder: Path, environment: str = "prod") -> dict[str, str]:
    done = call("environments", "--project", folder, "--format", "json")
    shown = {each["name"]: each["models"] for each in json.loads(done.stdout)["environments"]}
    found = shown[environment]
    assert isinstance(found, dict)
    return found


def write(folder: Path, name: str, kind: str, query: str) -> None:
    """Add a model of the schema mart."""
    text = f"MODEL (name mart.{name}, kind {kind});\n{query}\n"
    (folder / "models" / "mart" / f"{name}.sql").write_text(text)


def physical(name: str, version: str) -> str:
    schema, table = name.split(".")
    return f"vde__{schema}.{schema}__{table}__{version}"


@pytest.mark.full
def test_the_contract_of_the_json_document(landed: Path) -> None:
    facts = rendered(
        landed,
        "mart.daily",
        *("--start", "2024-01-01", "--end", "2024-01-02", "--execution-time", "2024-02-01T10:00"),
    )
    assert " ".join(facts) == (
        "version model kind environment table table_version start end execution_time dialect "
        "original sql before after python csv inputs"
    )
    made = versions(landed)
    assert facts["version"] == 1
    assert facts["table_version"] == made["mart.daily"]
    assert facts["table"] == physical("mart.daily", made["mart.daily"])
    assert (facts["start"], facts["end"]) == (
        "2024-01-01T00:00:00+00:00",
        "2024-01-03T00:00:00+00:00",
    )
    assert facts["execution_time"] == "2024-02-01T10:00:00+00:00"
    assert (facts["before"], facts["after"], facts["python"], facts["csv"]) == ([], [], None, None)
    assert facts["inputs"] == [
        {
            "model": "staging.events",
            "table": physical("staging.events", made["staging.events"]),
            "ranges": [{"start": "2024-01-01T00:00:00+00:00", "end": "2024-01-03T00:00:00+00:00"}],
        }
    ]
    assert tables(facts["sql"]) == {facts["inputs"][0]["table"]}


HOURLY, DAILY, MONTHLY = "staging.events", "mart.daily", "mart.monthly"
WHOLE, PEOPLE = "mart.whole", "mart.people"
ZONED, CUT = "2024-01-01T00:00:00+02:00", "2024-01-05T05:10"
OF_DAYS = "SELECT day FROM mart.daily WHERE day BETWEEN @start_date AND @end_date"
BY_DAY = "INCREMENTAL_BY_TIME_RANGE (time_column day)"
WIDENED, AT_ONCE = "is not aligned", "a FULL model is built whole, from its start"
# Its start is 2024-01-01, the default of the project; the end of mart.whole is 2024-01-11.
RANGES = [
    # A range is that of whole units: hours of staging.events, days of mart.daily.
    (HOURLY, "", "1970-01-01T00", "1970-01-02T00", ""),
    (HOURLY, "--start 2024-01-05", "2024-01-05T00", "2024-01-06T00", ""),
    (HOURLY, "--end 2024-01-05", "2024-01-05T00", "2024-01-06T00", ""),
    (HOURLY, "--end 2024-01-05T06:00", "2024-01-05T00", "2024-01-05T06", ""),
    (HOURLY, "--end 2024-01-05T00:00", "2024-01-04T00", "2024-01-05T00", ""),
    (HOURLY, "--start 2024-01-05T06:00", "2024-01-05T06", "2024-01-06T00", ""),
    (HOURLY, "--start 2024-01-01 --end 2024-01-01", "2024-01-01T00", "2024-01-02T00", ""),
    (HOURLY, f"--start {ZONED} --end 2024-01-01T00:00Z", "2023-12-31T22", "2024-01-01T00", ""),
    (
        HOURLY,
        f"--start {CUT} --end 2024-01-05T07:00",
        "2024-01-05T05",
        "2024-01-05T07",
        WIDENED,
    ),
    (
        HOURLY,
        f"--start {CUT} --end 2024-01-05T05:20",
        "2024-01-05T05",
        "2024-01-05T06",
        WIDENED,
    ),
    (DAILY, f"--start {CUT} --end 2024-01-06T00:00:01", "2024-01-05T00", "2024-01-07T00", WIDENED),
    (DAILY, "--start 2024-01-05", "2024-01-05T00", "2024-01-06T00", ""),
    (PEOPLE, "--end 2024-01-05T05:00", "2024-01-05T00", "2024-01-05T05", ""),
    (MONTHLY, "--start 2024-02-10", "2024-02-01T00", "2024-03-01T00", WIDENED),
    (MONTHLY, "", "1970-01-01T00", "1970-01-02T00", ""),
    # A FULL model has all time from its start to the end that was asked for.
    (WHOLE, "--start 2024-01-05", "2024-01-01T00", "2024-01-06T00", AT_ONCE),
    (WHOLE, "--end 2024-01-05T05:00", "2024-01-01T00", "2024-01-06T00", AT_ONCE),
    (WHOLE, "--start 2023-12-01 --end 2024-01-05", "2024-01-01T00", "2024-01-06T00", AT_ONCE),
    (WHOLE, "--start 2024-01-01 --end 2024-01-31", "2024-01-01T00", "2024-01-11T00", AT_ONCE),
    (WHOLE, "--start 2024-01-01 --end 2024-01-05", "2024-01-01T00", "2024-01-06T00", ""),
    (WHOLE, "--start 2023-12-01", "2023-12-01T00", "2023-12-02T00", ""),
]


@pytest.mark.full
@pytest.mark.parametrize("name, arguments, start, end, note", RANGES)
def test_the_range_that_is_rendered(
    landed: Path, name: str, arguments: str, start: str, end: str, note: str
) -> None:
    write(landed, "whole", "FULL, end '2024-01-10'", OF_DAYS)
    write(landed, "monthly", f"{BY_DAY}, cron '@monthly'", OF_DAYS)
    done = call("render", name, *arguments.split(), "--project", landed, "--format", "json")
    facts = json.loads(done.stdout)  # the note is no part of it
    assert (facts["start"], facts["end"]) == (f"{start}:00:00+00:00", f"{end}:00:00+00:00")
    assert [each for each in (WIDENED, AT_ONCE) if each in done.stderr] == ([note] if note else [])
    texts = sorted(literals(facts["sql"]))
    last = datetime.fromisoformat(end) - timedelta(microseconds=1)
    if name == HOURLY:
        assert {f"{start[:10]} {start[11:]}:00:00+00:00", f"{last}+00:00"} <= {*texts}
    elif name in (MONTHLY, WHOLE):
        assert {start[:10], f"{last:%Y-%m-%d}"} <= {*texts}


@pytest.mark.full
def test_what_was_asked_for_is_said_where_it_is_widened(landed: Path) -> None:
    hours = ("--start", CUT, "--end", "2024-01-05T07:00")
    done = call("render", HOURLY, *hours, "--project", landed)
    assert "2024-01-05 05:10 to 2024-01-05 07:00 is not aligned" in done.stderr
    assert isinstance(sqlglot.parse_one(done.stdout, read="spark"), exp.Query)


@pytest.mark.full
def test_what_is_printed_is_sql_that_reads_the_physical_tables(landed: Path) -> None:
    done = call("render", "mart.totals", "--project", landed)
    assert done.exit_code == 0
    made = versions(landed)
    assert tables(done.stdout) == {physical("mart.daily", made["mart.daily"])}
    assert "-- mart.totals of prod for [1970-01-01, 1970-01-02)" in done.stderr


@pytest.mark.full
def test_an_environment_that_does_not_exist_has_the_versions_of_a_plan(landed: Path) -> None:
    made = versions(landed)
    shared = rendered(landed, "mart.daily", "--env", "dev")
    assert (shared["environment"], shared["table_version"]) == ("dev", made["mart.daily"])
    edit(landed / EVENTS, "amount AS amount", "amount * 2 AS amount")
    planned = call("plan", "dev", "--project", landed, "--format", "json", "--no-apply")
    changes = {each["name"]: each["version"] for each in json.loads(planned.stdout)["changes"]}
    edited = rendered(landed, "mart.daily", "--env", "dev")
    assert changes["staging.events"] != made["staging.events"]
    assert tables(edited["sql"]) == {physical("staging.events", changes["staging.events"])}
    assert edited["table_version"] == changes["mart.daily"]


@pytest.mark.full
def test_an_environment_shows_its_own_models_whatever_the_files_say(landed: Path) -> None:
    before = rendered(landed, "staging.events", "--env", "prod")
    (landed / EVENTS).write_text("SELECT FROM")
    after = rendered(landed, "staging.events", "--environment", "prod")
    assert {**after, "execution_time": None} == {**before, "execution_time": None}
    assert call("render", "staging.events", "--project", landed).exit_code == 1


@pytest.mark.full
def test_statements_stand_around_the_query(landed: Path) -> None:
    text = (landed / EVENTS).read_text()
    head, query = text.split(");\n", 1)
    assert query.startswith("SELECT")
    (landed / EVENTS).write_text(
        f"{head});\nSET x.y = 'z';\n{query.rstrip()};\nCACHE TABLE raw.events;\n"
    )
    facts = rendered(landed, "staging.events")
    assert [each.split()[0] for each in facts["before"]] == ["SET"]
    assert [each.split()[0] for each in facts["after"]] == ["CACHE"]
    printed = call("render", "staging.events", "--project", landed).stdout
    order = [printed.index(word) for word in ("SET", "SELECT", "CACHE")]
    assert order == sorted(order)
    assert printed.count(";\n") == 3


def test_statements_have_literals_and_physical_tables_too(landed: Path) -> None:
    swept = (
        "DELETE FROM raw.swept WHERE day IN (SELECT day FROM mart.daily WHERE day < @start_date)"
    )
    write(landed, "swept", "FULL", f"{swept};\nSELECT COUNT(*) AS days FROM mart.daily;")
    (before,) = rendered(landed, "mart.swept", "--start", "2024-01-05")["before"]
    assert "2024-01-01" in literals(before)  # the model's start, as it is FULL
    assert tables(before) == {
        physical("mart.daily", versions(landed)["mart.daily"]),
        "raw.swept",
    }


@pytest.mark.full
def test_the_authors_text_is_printed_to_the_letter(landed: Path) -> None:
    """R13: what is shown is what runs."""
    text = "SELECT  days ,amount -- both\nfrom {} WHERE to_char(days, '999') <> ''"
    write(landed, "checked", "FULL", text.format("mart.totals"))
    done = call("render", "mart.checked", "--project", landed)
    name = physical("mart.totals", versions(landed)["mart.totals"]).replace(".", "`.`")
    assert done.stdout == f"{text.format(f'`{name}` AS `totals`')}\n"


def test_another_dialect(landed: Path) -> None:
    facts = rendered(landed, "staging.events", "--dialect", "duckdb")
    assert facts["dialect"] == "duckdb"
    assert "TIMESTAMPTZ" in facts["sql"]
    assert tables(facts["sql"], "duckdb") == {"raw.events"}


def test_a_model_of_another_dialect_is_shown_in_both_texts(landed: Path) -> None:
    query = "SELECT day::TEXT AS d FROM mart.daily"
    write(landed, "translated", "FULL, dialect duckdb", query)
    done = call("render", "mart.translated", "--project", landed)
    assert f"-- sqlglot translated it from duckdb:\n-- {query}\n" in done.stderr
    assert "CAST(`day` AS STRING)" in done.stdout
    facts = rendered(landed, "mart.translated")
    assert facts["original"]["dialect"] == "duckdb"
    assert facts["original"]["sql"] == query
    planned = call("plan", "--no-apply", "--project", landed)
    assert planned.exit_code == 0, planned.output
    assert "sqlglot translated this from duckdb to Spark SQL" in planned.stderr


def test_a_python_model_says_its_function_what_it_reads_and_its_statements(landed: Path) -> None:
    (landed / "models" / "mart" / "scores.py").write_text(SCORES)
    done = call("render", "mart.scores", "--project", landed)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == (
        "DROP TABLE m.a;\n\n"
        "mart.scores is a Python model: `scores` in models/mart/scores.py returns its rows. "
        "It reads raw.events, staging.events.\n\n"
        "SET a = 5;\n"
    )
    facts = rendered(landed, "mart.scores", "--start", "2024-01-10")
    assert facts["sql"] is None
    assert facts["python"] == {"path": "models/mart/scores.py", "function": "scores"}
    assert (facts["before"], facts["after"]) == (["DROP TABLE m.a"], ["SET a = 5"])
    raw, staging = facts["inputs"]
    assert (raw["model"], raw["table"], raw["ranges"]) == ("raw.events", "raw.events", None)
    assert staging["ranges"] == [
        {"start": "2024-01-08T00:00:00+00:00", "end": "2024-01-11T00:00:00+00:00"}
    ]


def test_a_seed_says_its_file(project: Path) -> None:
    done = call("render", "staging.orders", "--project", project)
    assert (done.exit_code, done.stdout.strip()) == (
        0,
        "staging.orders is a seed: its rows are those of seeds/orders.csv.",
    )
    facts = rendered(project, "staging.orders")
    assert (facts["sql"], facts["csv"], facts["inputs"]) == (None, "seeds/orders.csv", [])


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (["raw.events"], 1, "raw.events is a source, written outside"),
        (
            ["mart.monthly", "--start", "9999-12-01", "--end", "9999-12-30"],
            2,
            "outside the supported dates",
        ),
        ([], 2, "Missing argument"),
        (["mart.daily", "--dialect", "klingon"], 2, "'klingon' is not a dialect"),
        (["mart.daily", "--start", "2024-01-02", "--end", "2024-01-01"], 2, "not after --start"),
        (["mart.daily", "--start", "9999-12-31"], 2, "outside the supported dates"),
        (["mart.daily", "--end", "0001-01-01T00:00"], 2, "outside the supported dates"),
        (["mart.daily", "--execution-time", "now"], 2, "'now' is not a valid date or time"),
    ],
)
def test_wrong_input(landed: Path, arguments: list[str], code: int, said: str) -> None:
    write(landed, "monthly", f"{BY_DAY}, cron '@monthly'", OF_DAYS)
    done = call("render", *arguments, "--project", landed)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in " ".join(done.stderr.split())
