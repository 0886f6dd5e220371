"""Real processes that clean up: killed at each point, and beside others that plan and go back.

Real SQLite, real Iceberg, no JVM: DuckDB computes the few rows.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.app.faults.clean_up_driver import JANITOR, MAINTAIN, cleaned, planned, services_of
from tests.app.memory_world import there
from tests.depth import is_full
from tests.kept_folder import KeptFolder
from vde_dagster.app.promote.promotion import remove_environment
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import TableName, environment_view

if TYPE_CHECKING:
    from pyiceberg.table import Table

ROOT: Final = Path(__file__).parents[3]
TURNS: Final = 12 if is_full() else 3
PATIENCE: Final = 600.0
SETTINGS: Final = """\
name: kept
clean_up: {history: 0 seconds, grace: 0 seconds, environments: never}
maintain: {snapshots: 0 seconds, small_files: 2}
"""
MODELS: Final = {
    "one": "SELECT {value} AS x",
    "pair": "SELECT {value} AS x UNION ALL SELECT {value} + 1 AS x",
    "total": "SELECT CAST(SUM(x) AS BIGINT) AS x FROM kept.pair",
}


def write(folder: Path, value: int) -> None:
    """Write all models so that they give a value."""
    for name, query in MODELS.items():
        text = f"MODEL (name kept.{name}, kind FULL);\n{query.format(value=value)}\n"
        (folder / "models" / f"{name}.sql").write_text(text, encoding="utf-8")


def rows(value: int) -> dict[str, list[int]]:
    """What the models hold."""
    return {"one": [value], "pair": [value, value + 1], "total": [2 * value + 1]}


def _made(folder: Path) -> None:
    """Production was computed twice and then replaced: there is something to do for both."""
    (folder / "models").mkdir(parents=True)
    (folder / "vde.yaml").write_text(SETTINGS, encoding="utf-8")
    write(folder, 1)
    planned(str(folder))
    write(folder, 2)
    planned(str(folder))
    planned(str(folder), "prod", "kept.*")
    planned(str(folder), "dev")
    services = services_of(VdeProject.load(folder))
    remove_environment(services, "dev")
    cleaned(str(folder), "janitor")


def stray(folder: Path) -> None:
    """A file of an earlier process that never committed."""
    path = folder / "data" / "stray.parquet"
    path.write_bytes(b"x")
    aged([path])


def aged(paths: Iterable[Path]) -> None:
    """Files that were written a month ago."""
    at = (datetime.now(UTC) - timedelta(days=30)).timestamp()
    for each in paths:
        os.utime(each, (at, at))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    folder = tmp_path_factory.mktemp("clean_up") / "project"
    _made(folder)
    return KeptFolder.of(folder)


@pytest.fixture
def folder(kept: KeptFolder) -> Path:
    """Production shows one version of each model, and nothing refers to the ones before.

    In each folder there is an old file of nobody.
    """
    found = kept.put_back()
    for each in sorted(physical(found).values()):
        stray(each)
    return found


@contextmanager
def started(*jobs: Sequence[str | Path]) -> Iterator[list[subprocess.Popen[str]]]:
    """A process for each job; none is left."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.app.faults.clean_up_driver", *map(str, job)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for job in jobs
    ]
    try:
        yield processes
    finally:
        for each in processes:
            each.kill()
            each.communicate()


def answer(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the process ended without an answer"
    return json.loads(line)


def physical(folder: Path) -> dict[str, Path]:
    """The folders of physical tables, by their names."""
    warehouse = VdeProject.load(folder).configuration.warehouse
    layer = [each for each in warehouse.iterdir() if each.name.startswith("vde__")]
    return {each.name: each for above in layer for each in above.iterdir() if files_in(each)}


def files_in(folder: Path) -> set[Path]:
    return {each for each in folder.rglob("*") if each.is_file()}


def table_of(folder: Path, name: TableName) -> Table:
    return VdeProject.load(folder).iceberg_catalog().load_table((name.namespace, name.name))


def shown(folder: Path) -> dict[str, TableName]:
    """The tables that production's views show."""
    project = VdeProject.load(folder)
    names = {
        environment_view(node.name, "prod", project.configuration.naming): node.name.name
        for node in project.files.graph
    }
    found = project.services.catalog.views(names)
    return {names[view]: each.target for view, each in found.items()}


def read(folder: Path) -> dict[str, list[int]]:
    """What readers of production see."""
    return {
        name: sorted(table_of(folder, table).scan().to_arrow().column("x").to_pylist())
        for name, table in shown(folder).items()
    }


def named_by(table: Table) -> set[Path]:
    """The files that a table names, as pyiceberg's own tables of metadata say it."""
    metadata = table.metadata
    every = [
        *(each.manifest_list for each in metadata.snapshots),
        *table.inspect.all_manifests().column("path").to_pylist(),
        *table.inspect.all_files().column("file_path").to_pylist(),
        *(each.metadata_file for each in metadata.metadata_log),
        table.metadata_location,
    ]
    return {Path(each.removeprefix("file://")) for each in every}


def assert_sound(folder: Path, value: int) -> None:
    """Readers see one version whole; each Iceberg snapshot that the ledger names can be read."""
    assert read(folder) == rows(value)
    services = services_of(VdeProject.load(folder))
    environment = there(services.state.environment("prod"))
    keys = [each.key for each in environment.snapshots.values()]
    for key, entries in services.state.ledger(keys).items():
        for each in entries:
            assert each.iceberg_snapshot_id is not None
            assert services.catalog.stays(key.table, each.iceberg_snapshot_id)
    assert planned(str(folder)) == []


def assert_clean(folder: Path) -> None:
    """Nothing is there but what production shows, and of that nothing but what it names."""
    tables = {each.name: each for each in shown(folder).values()}
    layer = physical(folder)
    assert layer.keys() == tables.keys()
    for name, table in tables.items():
        found = table_of(folder, table)
        assert "vde.expiring" not in found.metadata.properties
        assert set(found.metadata.refs) == {"main"}
        assert files_in(layer[name]) == named_by(found)
    state = VdeProject.load(folder).services.state
    assert state.drops() == ()
    assert state.references().tombstones == {}
    assert state.references().known == {
        each.key for each in _snapshots(folder) if not each.is_source
    }


def _snapshots(folder: Path) -> list[Any]:
    environment = there(VdeProject.load(folder).services.state.environment("prod"))
    return list(environment.snapshots.values())


SHORT: Final = {
    ("janitor", "in the middle of the files"),
    ("maintain", "after the announcement"),
    ("maintain", "in the middle of the files"),
}


@pytest.mark.full
@pytest.mark.parametrize(
    "what, point",
    [
        pytest.param(what, point, marks=() if (what, point) in SHORT else pytest.mark.full)
        for what, points in (("janitor", JANITOR), ("maintain", MAINTAIN))
        for point in points
    ],
)
def test_r12_who_is_killed_at_any_point_leaves_what_the_next_pass_ends(
    folder: Path, what: str, point: str
) -> None:
    with started(("die", folder, what, point)) as (dead,):
        dead.communicate(timeout=PATIENCE)
        assert dead.returncode == -signal.SIGKILL, f"it did not come to the point {point}"
    assert read(folder) == rows(2)
    cleaned(str(folder), what)
    other = "maintain" if what == "janitor" else "janitor"
    cleaned(str(folder), other)
    assert_clean(folder)
    assert_sound(folder, 2)
    before = {each: each.stat().st_mtime_ns for each in files_in(folder / ".vde" / "warehouse")}
    cleaned(str(folder), what)
    after = {each: each.stat().st_mtime_ns for each in files_in(folder / ".vde" / "warehouse")}
    assert after == before, "nothing is left to do"


RACES: Final = {
    "janitor and apply": ("janitor", "apply"),
    "maintain and apply": ("maintain", "apply"),
    "janitor and rollback": ("janitor", "rollback", "apply"),
    "maintain and rollback": ("maintain", "rollback", "apply", "restate"),
    "two janitors": ("janitor", "janitor", "apply"),
    "two maintenances": ("maintain", "maintain", "restate"),
    "all": ("janitor", "maintain", "rollback", "apply", "restate"),
}


@pytest.mark.full
@pytest.mark.parametrize(
    "race", [pytest.param(each, marks=() if each == "all" else pytest.mark.full) for each in RACES]
)
def test_r12_whoever_cleans_up_beside_others_never_drops_what_is_reachable(
    folder: Path, tmp_path: Path, race: str
) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns(".vde"))
    (other / ".vde").symlink_to(folder / ".vde", target_is_directory=True)
    write(other, 3)
    workers = str(len(RACES[race]))
    jobs = [("work", folder, what, str(TURNS), other, workers) for what in RACES[race]]
    with started(*jobs) as processes:
        for each in processes:
            assert answer(each) == "ready"
        for each in processes:
            assert each.stdin is not None
            each.stdin.write("\n")
            each.stdin.flush()
        ended = [(what, answer(each)) for what, each in zip(RACES[race], processes, strict=True)]
    allowed = {"done", "Conflict", "Refused", "BeingDropped", "LeaseLost", "TableMoved"}
    for what, found in ended:
        assert set(found) <= allowed, (what, found)
        assert "done" in found, (what, found)
    # A plan computes again what is gone, so this comes before the next one.
    assert read(folder) in [rows(value) for value in (1, 2, 3)]
    planned(str(folder))
    assert_sound(folder, 2)
    for _ in range(2):
        cleaned(str(folder), "janitor")
    for table in physical(folder).values():
        aged(files_in(table))  # those of commits in which somebody else came first
    cleaned(str(folder), "maintain")
    for table in physical(folder).values():
        aged(files_in(table))
    cleaned(str(folder), "maintain")
    assert_clean(folder)
    assert_sound(folder, 2)
