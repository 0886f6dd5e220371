"""What becomes of a SQLMesh project, by what SQLMesh itself said of the one in `sqlmesh_shop`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from vde_dagster.core.names import ModelName
from vde_dagster.project.importing.draft import Draft, Group
from vde_dagster.project.importing.sqlmesh_project import sqlmesh_draft
from vde_dagster.project.importing.writing import files_of
from vde_dagster.project.loading import load_for_comparison

HERE = Path(__file__).parent
WRITTEN = HERE / "sqlmesh_shop.json"


@cache
def shop() -> Draft:
    document = json.loads(WRITTEN.read_text())
    return sqlmesh_draft(document, name="shop", today=date(2026, 1, 31))


def text_of(path: str) -> str:
    return " ".join(files_of(shop())[path].split())


def said(group: Group, path: str) -> list[str]:
    return [each.message for each in shop().remarks if each.group is group and each.path == path]


@dataclass(frozen=True)
class Imported:
    folder: Path
    stdout: str


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    folder = tmp_path_factory.mktemp("imported") / "shop"
    done = call("import", "sqlmesh", "--from", WRITTEN, "--to", folder)
    assert done.exit_code == 0, done.stderr
    return Imported(folder, done.stdout)


def test_the_project_loads_and_what_is_to_be_edited_is_named(imported: Imported) -> None:
    graph = load_for_comparison(imported.folder).graph
    assert ModelName.parse("core.orders_north") in graph
    assert ModelName.parse("marts.ranking") in graph
    report = (imported.folder / "IMPORT.md").read_text()
    assert "The project loads" in report
    for group in Group:
        assert f"## {group.value} (" in report
    named = [line.strip() for line in imported.stdout.splitlines() if line.startswith("  ")]
    assert named == ["models/core/late.sql", "models/marts/ranking.py"]


def test_the_unit_tests_pass_that_sqlmesh_runs(imported: Imported) -> None:
    done = call("test", "--project", imported.folder)
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "2 unit tests: 2 passed" in done.stdout


def test_every_file_and_setting_is_carried_over_or_named() -> None:
    document = json.loads(WRITTEN.read_text())
    named = {each.path for each in shop().remarks} | set(files_of(shop()))
    carried = {
        "config.yaml",  # by its settings
        "models/core/history.sql",
        "macros/shared.py",
    }
    for path in set(document["files"]) - named - carried:
        name = path.rpartition("/")[2].removesuffix(".py")
        assert any(name in each for each in named), path
    settings = " ".join(each.message for each in shop().remarks if each.path == "config")
    for key in ("project", "gateways", "physical_schema_mapping"):
        assert key in settings


def test_macros_are_filled_in_and_time_macros_stay() -> None:
    query = text_of("models/core/orders.sql")
    assert "CAST(amount * 100 AS BIGINT) AS cents" in query
    assert "region IN ('north', 'south')" in query
    assert "ordered_at BETWEEN @start_dt AND @end_dt" in query
    assert "order_id AS order_id, /* the key */" in query
    assert said(Group.CHANGED, "models/core/orders.sql") == [
        "macros were expanded: @EACH @cents @regions"
    ]


def test_time_macros_of_jinja_stay_even_in_quotes() -> None:
    query = text_of("models/core/log.sql")
    assert "@start_ds AS day" in query
    assert "CAST(@execution_ts AS TIMESTAMP_NTZ) AS loaded_at" in query
    assert "BETWEEN @start_ts AND @end_ts AND amount >= 10" in query


def test_a_macro_that_computes_with_the_time_is_left_to_a_person() -> None:
    (remark,) = said(Group.EDIT, "models/core/late.sql")
    assert "2001-02-03" in remark


def test_other_dialects_are_translated_and_both_texts_are_shown(imported: Imported) -> None:
    assert "IF(c.is_gone, 'gone', 'there') AS state" in text_of("models/core/people.sql")
    assert "DATE_FORMAT(ordered_at, 'yyyyMMdd')" in text_of("models/core/orders.sql")
    report = (imported.folder / "IMPORT.md").read_text()
    assert "IFF(c.is_gone, 'gone', 'there') AS state" in report
    assert "### core.stock" not in report


def test_spark_sql_stays_to_the_letter() -> None:
    query = "SELECT /*+ REPARTITION(3) */ region, count(*) AS pieces -- as it was written"
    assert query in text_of("models/core/stock.sql")


def test_kinds_and_their_options() -> None:
    assert (
        "kind INCREMENTAL_BY_TIME_RANGE ( batch_size 7, lookback 2, "
        "time_column (order_day, '%Y%m%d') )"
    ) in text_of("models/core/orders.sql")
    merged = text_of("models/core/customers.sql")
    assert "unique_key (customer_id, COALESCE(name, ''))" in merged
    assert "WHEN MATCHED AND source.is_gone THEN DELETE" in merged
    assert "UPDATE SET target.name = source.name, target.changed_at = source" in merged
    assert "merge_filter target.changed_at >= @start_ts" in merged
    history = text_of("models/core/history.sql")
    for option in ("columns (name, city)", "valid_from_name begins", "invalidate_hard_deletes"):
        assert option in history
    # SQLMesh restates such a model never, unless it is told to.
    assert "disable_restatement true" in text_of("models/core/log.sql")


def test_options_without_a_counterpart_are_named() -> None:
    messages = said(Group.MISSING, "models/core/orders.sql")
    for what in ("auto_restatement_cron", "batch_concurrency", "allow_partials", "virtual_update"):
        assert any(what in each for each in messages), what
    assert any("audit valid_http_method (column := region)" in each for each in messages)


def test_a_model_that_reads_itself_is_stateful() -> None:
    assert "late_data (mode stateful, sources (core.orders))" in text_of("models/core/total.sql")
    assert said(Group.LOOK, "models/core/total.sql")


def test_a_view_that_python_reads_becomes_a_table() -> None:
    assert "kind FULL" in text_of("models/core/people.sql")
    assert said(Group.CHANGED, "models/core/people.sql")


def test_blueprints_become_models_of_their_own() -> None:
    assert "region = 'north'" in text_of("models/core/orders_north.sql")
    assert "region = 'south'" in text_of("models/core/orders_south.sql")


def test_seeds_become_plain_csv_with_types() -> None:
    files = files_of(shop())
    assert files["seeds/codes.csv"] == "code,since\na,2024-01-02\n,2024-01-03\n"
    assert files["seeds/cities.csv"] == "city,people\nbern,140000\n"
    assert "columns (city string, people bigint)" in text_of("models/core/cities.sql")
    assert said(Group.CHANGED, "models/core/codes.sql")


def test_an_audit_of_one_model_reads_what_was_staged() -> None:
    text = text_of("audits/whole_shares.sql")
    assert "FROM @this_model AS ranking WHERE share <> ROUND(share, @places)" in text
    assert "defaults (places := 2), blocking false" in text
    assert "AUDIT ( name above );" in text_of("models/core/orders.sql")
    assert any("nobody" in each for each in said(Group.MISSING, "audits/whole_shares.sql"))


def test_python_keeps_the_authors_function_and_calls_it() -> None:
    text = text_of("models/marts/ranking.py")
    assert "import sqlmesh" not in text
    assert "from sqlmesh" not in text
    assert "to_column" not in text
    assert "from models.marts._shared import shares" in text
    assert "def execute( context, end: datetime, minimum: int = 0" in text
    assert "execute(context, end=context.end - timedelta(microseconds=1))" in text
    assert "'share': 'decimal(5, 2)'" in text
    lines = {
        each.line: each.message
        for each in shop().remarks
        if each.group is Group.EDIT and each.path == "models/marts/ranking.py"
    }
    assert set(lines) == {28, 30}


def test_python_that_others_import_comes_along() -> None:
    files = files_of(shop())
    assert files["macros/shared.py"] == "RANKS = (1, 2)\n"
    assert "def shares(" in files["models/marts/_shared.py"]
    assert "def exported(batch, folder: str):" in files["signals/signals.py"]
    assert files["signals/signals.py"].startswith("from pathlib import Path\n")


def test_what_all_models_share_is_in_the_settings() -> None:
    settings: dict[str, Any] = dict(shop().settings)
    assert settings["defaults"] == {"start": "2024-01-01"}
    assert settings["variables"] == {"minimum": 10, "regions": ["north", "south"]}
    assert "start" not in text_of("models/core/total.sql").partition("SELECT")[0]


def test_a_folder_that_has_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    done = call("import", "sqlmesh", "--from", WRITTEN, "--to", tmp_path)
    assert done.exit_code == 1
    assert "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_what_no_script_wrote_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[1]")
    done = call("import", "sqlmesh", "--from", tmp_path / "other.json", "--to", tmp_path / "new")
    assert done.exit_code == 1
    assert "sqlmesh_dump.py" in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_python_without_sqlmesh_is_named(tmp_path: Path) -> None:
    done = call("import", "sqlmesh", tmp_path, "--to", tmp_path / "new")
    assert done.exit_code == 1
    assert "SQLMesh is not installed in the environment of" in done.stderr
