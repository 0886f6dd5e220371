"""`vde query` where Spark is not needed: names that nothing has, and what DuckDB answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call, facts
from tests.cli.changing import InMemory, write_files
from tests.cli.conftest import WithoutJava
from tests.cli.promoted import edit, promote
from tests.worlds.engine import MemoryEngine
from vde_dagster.app.inspect import local_answers
from vde_dagster.cli.commands import vde
from vde_dagster.cli.looks import query
from vde_dagster.composition import VdeProject


def test_a_misspelt_model_is_refused_in_one_line_with_the_nearest_name(
    project: Path, without_java: WithoutJava
) -> None:
    promote(project)
    sql = "WITH revenue AS (SELECT * FROM mart.revenu) SELECT * FROM revenue, range(3)"
    done = without_java("query", sql, "--project", project)
    assert done.returncode == 1
    assert done.stderr == (
        "vde: there is no model or table mart.revenu. Did you mean mart.revenue?\n"
    )


def test_every_unknown_name_is_reported_at_once(project: Path, without_java: WithoutJava) -> None:
    promote(project)
    sql = "SELECT * FROM nowhere.x JOIN mart.revenue JOIN elsewhere.y"
    done = without_java("query", sql, "--project", project)
    assert done.returncode == 1
    assert "there is no model or table elsewhere.y, nowhere.x; `vde status` lists" in done.stderr


@pytest.fixture
def plain(project: Path) -> Path:
    """The project with a table that is no model."""
    promote(project)
    catalog = VdeProject.load(project).iceberg_catalog()
    catalog.create_namespace("raw")
    rows = pa.table(
        {
            "id": [2, 1, None],
            "name": ["a, b", 'say "no"', ""],
            "ok": [True, None, False],
            "at": pa.array([datetime(2024, 1, 2, 3, 4, 5, 6, UTC)] * 3, pa.timestamp("us", "UTC")),
            "price": pa.array([Decimal("1.50"), None, Decimal("0.05")], pa.decimal128(5, 2)),
            "words": [["x"], [], None],
        }
    )
    catalog.create_table("raw.plain", rows.schema).append(rows)
    return project


@pytest.mark.full
def test_a_query_is_read_from_standard_input(plain: Path) -> None:
    words = ["query", "-", "--engine", "duckdb", "--format", "csv", "--project", str(plain)]
    done = CliRunner().invoke(vde, words, input="SELECT COUNT(*) AS n\nFROM raw.plain\n")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == "n\n3\n"


def test_a_query_is_answered_without_a_jvm(plain: Path, without_java: WithoutJava) -> None:
    sql = "SELECT id, name FROM raw.plain WHERE id IS NOT NULL ORDER BY id"
    done = without_java("query", sql, "--project", plain, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {
        "version": 1,
        "environment": "prod",
        "engine": "duckdb",
        "columns": ["id", "name"],
        "rows": [[1, 'say "no"'], [2, "a, b"]],
        "more": False,
    }


@pytest.mark.parametrize("output, unread", [("json", "as_table"), ("csv", "as_json")])
def test_many_rows_are_written_in_one_form_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch, output: str, unread: str
) -> None:
    """To make the table of 200,000 rows takes 20 times as long as to write them as JSON."""

    def made(*_: object) -> None:
        raise AssertionError(unread)

    answer = query.Answer(columns=("a",), rows=[(1,)], more=False)
    monkeypatch.setattr(query, "ask", lambda *_, **__: answer)
    monkeypatch.setattr(query if output == "json" else query.Answer, unread, made)
    done = call("query", "SELECT 1 AS a", "--format", output, "--project", project)
    assert done.exit_code == 0, done.stderr


def test_csv_has_nulls_texts_and_times_that_programs_tell_apart(
    plain: Path, without_java: WithoutJava
) -> None:
    sql = "SELECT id, name, ok, at, price FROM raw.plain ORDER BY id"
    done = without_java("query", sql, "--project", plain, "--format", "csv", "--limit", "2")
    assert done.stdout == (
        "id,name,ok,at,price\n"
        ',"",false,2024-01-02T03:04:05.000006+00:00,0.05\n'
        '1,"say ""no""",,2024-01-02T03:04:05.000006+00:00,\n'
    )
    assert done.stderr == "The first 2 rows; --limit shows more.\nAnswered by DuckDB.\n"


@pytest.mark.parametrize(
    "sql, why",
    [
        ("SELECT soundex(name) AS s FROM raw.plain", "soundex"),
        ("SELECT words FROM raw.plain", "the column words"),
        ("SELECT 1 / (id - 1) AS q FROM raw.plain", "a division by zero"),
    ],
)
def test_duckdb_alone_says_why_it_cannot_answer(
    plain: Path, without_java: WithoutJava, sql: str, why: str
) -> None:
    done = without_java("query", sql, "--engine", "duckdb", "--project", plain)
    assert done.returncode == 1
    assert "DuckDB cannot answer this as Spark would" in done.stderr
    assert why in done.stderr
    assert "Leave out --engine duckdb" in done.stderr


def test_settings_that_decide_what_expressions_are_leave_everything_to_spark(
    plain: Path, without_java: WithoutJava
) -> None:
    """Without ANSI a small decimal is another text, for one; nobody compared all the others."""
    settings = plain / "vde.yaml"
    yaml = settings.read_text()
    for key, value, is_left in (
        ("spark.sql.ansi.enabled", "false", True),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ", True),
        ("spark.sql.ansi.enabled", "true", False),
        ("spark.sql.shuffle.partitions", "8", False),
    ):
        settings.write_text(f"{yaml}spark: {{conf: {{{key}: '{value}'}}}}\n")
        sql = "SELECT name FROM raw.plain"
        done = without_java("query", sql, "--engine", "duckdb", "--project", plain)
        assert done.returncode == (1 if is_left else 0), (key, done.stderr)
        assert (f"would: vde.yaml sets {key}" in done.stderr) == is_left


def test_rows_that_are_too_many_for_memory_go_to_spark(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_answers, "MOST_BYTES", 10)
    sql = "SELECT id FROM raw.plain"
    done = call("query", sql, "--engine", "duckdb", "--project", plain)
    assert "MiB of files" in done.stderr


def test_a_table_whose_columns_changed_since_its_last_rows_goes_to_spark(
    plain: Path, without_java: WithoutJava
) -> None:
    table = VdeProject.load(plain).iceberg_catalog().load_table("raw.plain")
    with table.update_schema() as update:
        update.rename_column("id", "old").rename_column("price", "id")
    sql = "SELECT id FROM raw.plain"
    done = without_java("query", sql, "--engine", "duckdb", "--project", plain)
    assert "raw.plain has deleted rows or changed columns, which only Spark reads" in done.stderr


def test_spark_reads_the_versions_of_one_promotion_although_another_one_comes_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing = InMemory(write_files(tmp_path / "changing"), MemoryWorld()).serve(monkeypatch)
    changing.land((0.5, 10), (5.5, 5), until=24)
    promote = ("plan", "--auto-apply", "--project", changing.folder)
    assert call(*promote).exit_code == 0
    for model, old, new in (("total", "COUNT(*)", "1 + COUNT(*)"), ("best", "MAX(", "2 * MAX(")):
        edit(changing.folder / "models" / f"{model}.sql", old, new)
    fetch, sql = MemoryEngine.fetch, "SELECT events, best FROM mart.total CROSS JOIN mart.best"
    asked = ("query", sql, "--engine", "spark", "--project", changing.folder)
    before = facts(*asked)["rows"]

    def promoted_first(
        engine: MemoryEngine, query: str, *, limit: int
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        done = call(*promote)
        assert done.exit_code == 0, done.stderr
        return fetch(engine, query, limit=limit)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryEngine, "fetch", promoted_first)
        assert facts(*asked)["rows"] == before
    ((events, best),) = before
    assert facts(*asked)["rows"] == [[events + 1, 2 * best]]
