"""One story on each platform that this machine can run: see deploy.md for the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.cli.calling import run_vde
from tests.flights.lakes import OnSpark, on_spark
from tests.lakehouse.java_rest_server import JavaRestServer, own_jvm
from tests.platform.canaries import contents_with, files_with, tables_with
from tests.platform.processes import tell
from tests.platform.programs import LOOPBACK, required
from tests.platform.s3_server import BUCKET, REGION, s3_server
from tests.platform.spark_servers import cluster, connect_server
from tests.platform.told import COMMAND_LINES
from tests.postgres_server import new_database
from tests.worlds.rest_server import serving

pytestmark = [pytest.mark.full, pytest.mark.story, pytest.mark.timeout(3000)]


def told(lake: OnSpark, settings: str = "", **environment: str) -> None:
    """Tell the story of `tests.platform.told` with more settings in vde.yaml."""
    with (lake.folder / "vde.yaml").open("a", encoding="utf-8") as file:
        file.write(settings)
    tell("tests.platform.told", lake.folder, **environment)


def seen_by_others(folder: Path) -> str:
    """The command lines of a run of the story, that of Spark's JVM among them."""
    lines = (folder / COMMAND_LINES).read_text("utf-8")
    assert "org.apache.spark.deploy.SparkSubmit" in lines
    return lines


def test_embedded(tmp_path: Path) -> None:
    told(on_spark(tmp_path / "flights"))


DAGSTER_IN_POSTGRES = """\
telemetry: {enabled: false}
nux: {enabled: false}
storage: {postgres: {postgres_url: {env: STORY_DATABASE}}}
run_coordinator: {module: dagster.core.run_coordinator, class: QueuedRunCoordinator}
run_launcher: {module: vde_dagster, class: VdeRunLauncher}
run_monitoring: {enabled: true}
"""


def in_postgres(project: Path) -> None:
    """Let Dagster keep what it keeps in a database of Postgres."""
    home = project / ".vde" / "dagster"
    home.mkdir(parents=True)
    (home / "dagster.yaml").write_text(DAGSTER_IN_POSTGRES, encoding="utf-8")


def databases_in_files(project: Path) -> list[Path]:
    """The files of SQLite of a catalog, a state or Dagster."""
    home = project / ".vde"
    return [*home.glob("lake.db"), *(home / "dagster").rglob("*.db")]


@pytest.mark.postgres
def test_catalog_state_and_dagster_in_one_postgres(
    tmp_path: Path, postgres_on_loopback: str
) -> None:
    """Its password is in the environment of the processes, and nowhere else."""
    required("dagster_postgres", "dagster-postgres is not installed")
    found = new_database(postgres_on_loopback)
    password = str(make_url(found).password)
    address = "${STORY_DATABASE}"
    lake = on_spark(tmp_path / "flights", uri=address)
    in_postgres(lake.folder)
    told(lake, f"state: {{url: '{address}'}}\n", STORY_DATABASE=found)
    assert databases_in_files(lake.folder) == []
    assert {"iceberg_tables", "vde_ledger", "runs", "event_logs"} <= tables_with(found, "")
    assert tables_with(found, password) == set()
    assert password not in seen_by_others(tmp_path)
    assert files_with(tmp_path, password) == []


@pytest.mark.postgres
def test_a_rest_catalog_and_the_state_in_postgres(
    tmp_path: Path, postgres_on_loopback: str
) -> None:
    """Iceberg's own library answers, in a JVM that is not Spark's."""
    address = new_database(postgres_on_loopback)
    with own_jvm() as gateway, serving(JavaRestServer(tmp_path / "server", gateway)) as server:
        lake = on_spark(tmp_path / "flights", type="rest", uri=server.url)
        told(lake, "state: {url: '${STORY_DATABASE}'}\n", STORY_DATABASE=address)
        moved = ("POST", "/v1/namespaces/staging/views/departures")
        assert server.changes.count(moved) >= 3, "it was promoted, rolled back, and forward again"


def test_spark_connect(tmp_path: Path) -> None:
    """The server knows no catalog: it is told of the embedded one by each session."""
    required("grpc_status", "the packages of the extra `connect` are not installed")
    with connect_server(tmp_path) as address:
        told(on_spark(tmp_path / "flights"), f"spark: {{remote: '{address}'}}\n")


def test_a_standalone_master_with_two_workers(tmp_path: Path) -> None:
    """Each application takes a core of both workers, so that two of them run at once."""
    with cluster(tmp_path) as master:
        settings = f"""
spark:
  master: {master}
  conf:
    spark.driver.host: {LOOPBACK}
    spark.driver.bindAddress: {LOOPBACK}
    spark.cores.max: 2
    spark.executor.memory: 512m
    spark.sql.shuffle.partitions: 4
"""
        told(on_spark(tmp_path / "flights"), settings)


@pytest.mark.postgres
def test_storage_that_speaks_s3_and_databases_of_their_own_for_catalog_state_and_dagster(
    tmp_path: Path, postgres_on_loopback: str
) -> None:
    """Its keys are in the environment of the processes, and nowhere else."""
    required("moto", "moto is not installed")
    required("dagster_postgres", "dagster-postgres is not installed")
    catalog, state, dagster = (new_database(postgres_on_loopback) for _ in range(3))
    with s3_server(tmp_path) as storage:
        own = storage.keys
        keys = {"STORY_KEY": own.key, "STORY_SECRET": own.secret, "STORY_TOKEN": own.token}
        databases = {
            "STORY_CATALOG": catalog,
            "STORY_STATE": state,
            "STORY_DATABASE": dagster,
        }
        lake = on_spark(
            tmp_path / "flights",
            **{
                "uri": "${STORY_CATALOG}",
                "warehouse": f"s3://{BUCKET}/warehouse",
                "s3.endpoint": storage.endpoint,
                "s3.region": REGION,
                "s3.access-key-id": "${STORY_KEY}",
                "s3.secret-access-key": "${STORY_SECRET}",
                "s3.session-token": "${STORY_TOKEN}",
            },
        )
        in_postgres(lake.folder)
        told(lake, "state: {url: '${STORY_STATE}'}\n", **keys, **databases)
        contents = storage.contents()
    assert any(name.endswith(".metadata.json") for name in contents)
    assert databases_in_files(lake.folder) == []
    kept = {"iceberg_tables": catalog, "vde_ledger": state, "event_logs": dagster}
    for table, database in kept.items():
        others = kept.keys() - {table}
        assert table in tables_with(database, "")
        assert not others & tables_with(database, "")
    assert contents_with(contents, *keys.values()) == []
    assert not any(each in seen_by_others(tmp_path) for each in keys.values())
    assert files_with(tmp_path, *keys.values()) == []

    asked = ("query", "SELECT * FROM mart.punctuality", "--project", lake.folder)
    gone = run_vde(*asked, **keys, **databases)
    assert gone.returncode != 0
    said = gone.stdout + gone.stderr
    assert "Traceback" not in said
    assert not any(each in said for each in keys.values()), said
