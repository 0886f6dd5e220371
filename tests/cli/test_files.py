"""Files of our tables that are lost, or cannot be deleted: what is said, and that it helps.

Real Iceberg tables in the embedded catalog; DuckDB computes their few rows, so no JVM starts.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import pytest

from tests.app.faults.arrow_engine import ArrowEngine
from tests.app.faults.clean_up_driver import planned
from tests.app.memory_world import bound
from tests.cli.calling import call
from tests.cli.test_status import advised
from tests.kept_folder import KeptFolder
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.lakehouse.upkeep.reachable import Folder

if TYPE_CHECKING:
    from pyiceberg.table import Table

SETTINGS: Final = """\
name: kept
clean_up: {history: 0 seconds, grace: 0 seconds, environments: never}
maintain: {snapshots: 0 seconds}
"""
MODELS: Final = {
    "pair": "SELECT 1 AS x UNION ALL SELECT 2 AS x",
    "total": "SELECT CAST(SUM(x) AS BIGINT) AS x FROM kept.pair",
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    made = tmp_path_factory.mktemp("files") / "kept"
    (made / "models").mkdir(parents=True)
    (made / "vde.yaml").write_text(SETTINGS, encoding="utf-8")
    for name, query in MODELS.items():
        text = f"MODEL (name kept.{name}, kind FULL);\n{query}\n"
        (made / "models" / f"{name}.sql").write_text(text, encoding="utf-8")
    assert planned(str(made)) == [f"kept.{name}" for name in MODELS]
    return KeptFolder.of(made)


@pytest.fixture
def folder(kept: KeptFolder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in production, whose tables are written by an engine without a JVM."""

    def engine(project: VdeProject) -> ArrowEngine:
        return ArrowEngine(project.iceberg_catalog(), project.state.identity())

    monkeypatch.setattr(VdeProject, "engine", property(engine))
    return kept.put_back()


def given(folder: Path, *words: str, exit_code: int = 0) -> str:
    """What a command says."""
    done = call(*words, "--project", folder)
    assert done.exit_code == exit_code, done.output
    assert "This is a bug" not in done.output
    return done.output


def refused(folder: Path, *words: str) -> str:
    return given(folder, *words, exit_code=1)


def rows(folder: Path) -> list[str]:
    return told(
        folder, "SELECT CAST(x AS BIGINT) AS x FROM kept.pair UNION ALL SELECT x FROM kept.total"
    )


def told(folder: Path, query: str) -> list[str]:
    """The lines that a query gives, sorted."""
    words = ("--engine", "duckdb", "--format", "csv", "--project", folder)
    done = call("query", query, *words)
    assert done.exit_code == 0, done.stderr
    return sorted(done.stdout.splitlines())


def table_of(folder: Path, model: str) -> TableName:
    return bound(VdeProject.load(folder).services).key(ModelName.parse(model)).table


def opened(folder: Path, model: str) -> Table:
    name = table_of(folder, model)
    return VdeProject.load(folder).iceberg_catalog().load_table((name.namespace, name.name))


def place_of(folder: Path, model: str) -> Path:
    """The folder of a model's table."""
    return Path(opened(folder, model).location().removeprefix("file://"))


def delete(folder: Path, model: str, files: str) -> None:
    """Somebody deletes files of a model's table."""
    for path in place_of(folder, model).glob(files):
        path.unlink()


DAMAGE: Final = Path(__file__).parents[2] / "docs/how-to/fix-damage.md"
READING: Final = ("query", "SELECT x FROM kept.pair", "--engine", "duckdb")


@pytest.mark.parametrize(
    "files", ["metadata/*.json", pytest.param("metadata/snap-*.avro", marks=pytest.mark.full)]
)
def test_a_table_whose_metadata_is_lost_comes_back_once_it_is_dropped_as_is_advised(
    folder: Path, files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, name = rows(folder), table_of(folder, "kept.pair")
    delete(folder, "kept.pair", files)
    said = refused(folder, *READING)
    assert "a metadata file of a table or view is missing in storage" in said
    assert "a data file" not in said
    assert "(how-to/fix-damage in the docs shows how)" in said
    assert advised(said) == [["run", "ENV"]]
    recipe = re.search(r'python -c "\n(.*?)"\nvde run prod', DAMAGE.read_text(), flags=re.DOTALL)
    assert recipe is not None
    code = re.sub(r"'vde__[^']+'", repr(f"{name.namespace}.{name.name}"), recipe[1])
    monkeypatch.chdir(folder)
    exec(compile(code, str(DAMAGE), "exec"), {})
    given(folder, "run", "prod")
    assert rows(folder) == before


def test_a_view_whose_metadata_is_lost_is_missed_and_made_again_by_the_next_plan(
    folder: Path,
) -> None:
    before = rows(folder)
    place = VdeProject.load(folder).configuration.warehouse / "kept" / "pair"
    shutil.rmtree(place)
    assert "the view kept.pair, which cannot be read" in refused(folder, *READING)
    status = call("status", "--project", folder)
    assert "Missing or replaced views\n  kept.pair\n" in status.stdout
    assert "up to date" not in status.stdout
    assert "kept.pair" in given(folder, "plan", "prod", "--auto-apply")
    assert rows(folder) == before
    assert "up to date" in given(folder, "status")


@pytest.mark.parametrize(
    "files, lack", [("data/*.parquet", "is missing"), ("metadata/*-m0.avro", "its metadata file")]
)
def test_maintenance_names_the_command_that_says_what_a_table_lacks(
    folder: Path, files: str, lack: str
) -> None:
    delete(folder, "kept.pair", files)
    said = given(folder, "maintain")
    assert "  vde repair kept.pair" in said.splitlines(), "it can be copied"
    assert lack in refused(folder, "repair", "kept.pair")


@contextmanager
def nothing_may_be_deleted() -> Iterator[None]:
    """This user may delete no file of a table; whoever is root always may."""

    def refuse(self: Folder, paths: object) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Folder, "delete", refuse)
        yield


def reasons(folder: Path, command: str) -> str:
    """Why a command that cleans up left something; a table breaks these texts in pieces."""
    facts = json.loads(call(command, "--format", "json", "--project", folder).stdout)
    return "\n".join(each["reason"] for each in (*facts["left"], *facts.get("failed", ())))


def lines(folder: Path, command: str) -> list[str]:
    """What a command that cleans up prints, whether it could do all or not."""
    done = call(command, "--project", folder)
    assert "This is a bug" not in done.output
    return done.stdout.splitlines()


def changed(folder: Path) -> None:
    """Production gets another version of each model, and nothing shows the ones before."""
    file = folder / "models" / "pair.sql"
    file.write_text(file.read_text("utf-8").replace("2 AS x", "3 AS x"), encoding="utf-8")
    planned(str(folder))


def layer(folder: Path) -> set[str]:
    """The names of the tables whose folders have files."""
    warehouse = VdeProject.load(folder).configuration.warehouse
    found = warehouse.glob("vde__*/*/**/*")
    return {each.relative_to(warehouse).parts[1] for each in found if each.is_file()}


def test_the_janitor_deletes_what_it_could_not_once_it_may_by_the_command_that_it_names(
    folder: Path,
) -> None:
    changed(folder)
    given(folder, "janitor")
    with nothing_may_be_deleted():
        assert "Permission denied; give this user permission to delete" in reasons(
            folder, "janitor"
        )
        assert "  vde janitor" in lines(folder, "janitor")
        assert call("janitor", "--project", folder).exit_code == 1
    given(folder, "janitor")
    assert layer(folder) == {table_of(folder, f"kept.{name}").name for name in MODELS}


@pytest.mark.parametrize("what", [pytest.param("expired", marks=pytest.mark.full), "stray"])
def test_maintenance_deletes_what_it_could_not_once_it_may_by_the_command_that_it_names(
    folder: Path, what: str
) -> None:
    planned(str(folder), "prod", "kept.pair")
    table = place_of(folder, "kept.pair")
    if what == "stray":
        given(folder, "maintain")
        stray = table / "data" / "stray.parquet"
        stray.write_bytes(b"x")
        at = (datetime.now(UTC) - timedelta(days=30)).timestamp()
        os.utime(stray, (at, at))
    before = set(table.rglob("*.parquet"))
    with nothing_may_be_deleted():
        assert "Permission denied; give this user permission to delete" in reasons(
            folder, "maintain"
        )
        assert "  vde maintain" in lines(folder, "maintain")
    assert set(table.rglob("*.parquet")) == before
    assert "  vde maintain" not in lines(folder, "maintain")
    assert set(table.rglob("*.parquet")) < before


def beside(folder: Path, model: str) -> None:
    """Somebody makes a table of theirs in the folder of ours."""
    catalog, table = VdeProject.load(folder).iceberg_catalog(), opened(folder, model)
    catalog.create_namespace_if_not_exists("backup")
    made = catalog.create_table(("backup", "rows"), table.schema(), location=table.location())
    made.append(table.scan().to_arrow())


def set_apart(folder: Path) -> None:
    """Copy their table to a folder of its own, and drop it, as is advised."""
    catalog = VdeProject.load(folder).iceberg_catalog()
    rows = catalog.load_table(("backup", "rows")).scan().to_arrow()
    catalog.create_table(("backup", "copy"), rows.schema).append(rows)
    catalog.drop_table(("backup", "rows"))


@pytest.mark.parametrize("command", ["maintain", pytest.param("janitor", marks=pytest.mark.full)])
def test_a_folder_with_the_files_of_another_table_is_left_until_that_is_copied_as_is_advised(
    folder: Path, command: str
) -> None:
    beside(folder, "kept.pair")
    before = table_of(folder, "kept.pair").name
    if command == "janitor":
        changed(folder)
        given(folder, command)
    assert "copy backup.rows to another folder, then drop it" in reasons(folder, command)
    assert before in layer(folder)
    set_apart(folder)
    assert "backup.rows" not in reasons(folder, command)
    assert (before in layer(folder)) is (command == "maintain")
    catalog = VdeProject.load(folder).iceberg_catalog()
    copied = catalog.load_table(("backup", "copy")).scan().to_arrow()
    assert sorted(copied.column("x").to_pylist()) == [1, 2]
