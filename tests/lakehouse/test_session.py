"""The session over the embedded catalog, and what pyiceberg sees of the same file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vde_dagster.core.model.session_settings import HARMLESS
from vde_dagster.lakehouse.spark.session import (
    SparkSettings,
    _session_conf,
    open_session,
    settings_of,
)
from vde_dagster.lakehouse.spark.spark_catalog import embedded_catalog_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


JARS = (Path("/jars/a.jar"), Path("/jars/b.jar"))


@pytest.mark.spark
def test_a_second_request_returns_the_running_session_with_the_new_settings(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "warehouse").mkdir()
    conf = embedded_catalog_conf("second", tmp_path / "second.db", tmp_path / "warehouse")

    again = open_session(SparkSettings(conf=conf), ())

    again.sql("create namespace second.n")
    assert again.sparkContext is spark.sparkContext
    assert [row.namespace for row in again.sql("show namespaces in second").collect()] == ["n"]


@pytest.mark.spark
@pytest.mark.parametrize("value", ["", "a = b, c", "{two: [lines,\n 'ä', 😀]}", "a\0b", "\0"])
def test_what_is_set_in_a_session_is_what_pyspark_says(spark: SparkSession, value: str) -> None:
    spark.conf.set("vde.of_this_test", value)
    try:
        found = settings_of(spark)
        assert found["vde.of_this_test"] == value
        assert found == dict(spark.conf.getAll)
    finally:
        spark.conf.unset("vde.of_this_test")


def test_importing_the_module_loads_no_pyspark() -> None:
    code = "import sys, vde_dagster.lakehouse.spark.session; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "master,local",
    [("local", True), ("local[*]", True), ("local[2,4]", True), ("local-cluster[2,1,1024]", False),
     ("spark://host:7077", False), ("yarn", False)],
)  # fmt: skip
def test_only_local_masters_are_bound_to_the_loopback_address(master: str, local: bool) -> None:
    conf = _session_conf(SparkSettings(master=master), JARS)
    assert ("spark.driver.host" in conf) is local
    assert ("spark.sql.shuffle.partitions" in conf) is local
    assert conf.get("spark.jars") == (None if local else "/jars/a.jar,/jars/b.jar")
    assert conf.get("spark.driver.extraClassPath") == ("/jars/a.jar:/jars/b.jar" if local else None)


@pytest.mark.parametrize(
    "master,partitions",
    [("local", "4"), ("local[1]", "4"), ("local[8]", "8"), ("local[16, 3]", "16"),
     ("local[*]", str(max(4, os.cpu_count() or 1))), ("local[many]", "4")],
)  # fmt: skip
def test_a_local_session_has_as_many_partitions_as_cores_and_at_least_four(
    master: str, partitions: str
) -> None:
    conf = _session_conf(SparkSettings(master=master), JARS)
    assert conf["spark.sql.shuffle.partitions"] == partitions


@pytest.mark.parametrize("master", ["local[*]", "yarn"])
def test_pools_share_tasks_equally_unless_a_user_says_otherwise(master: str) -> None:
    assert _session_conf(SparkSettings(master=master), JARS)["spark.scheduler.mode"] == "FAIR"
    theirs = SparkSettings(master=master, conf={"spark.scheduler.mode": "FIFO"})
    assert _session_conf(theirs, JARS)["spark.scheduler.mode"] == "FIFO"


@pytest.mark.parametrize(
    "key",
    [
        "spark.hadoop.fs.azure.account.key.x.dfs.core.windows.net",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.sql.catalog.lake.credential",
        "spark.sql.catalog.lake.token",
    ],
)
def test_sparks_own_logs_leave_the_values_of_secrets_out(key: str) -> None:
    """Spark looks for the pattern in names of settings; its own lacks some of these."""
    pattern = _session_conf(SparkSettings(), JARS)["spark.redaction.regex"]
    assert re.search(pattern, key)
    assert not re.search(pattern, "spark.sql.shuffle.partitions")


def test_a_users_settings_win_and_lists_are_joined() -> None:
    theirs = {
        "spark.driver.memory": "8g",
        "spark.sql.shuffle.partitions": "200",
        "spark.sql.extensions": "their.Extension",
        "spark.jars": "/theirs.jar,/jars/a.jar",
    }
    conf = _session_conf(SparkSettings(master="yarn", conf=theirs), JARS)
    assert conf["spark.driver.memory"] == "8g"
    assert conf["spark.sql.shuffle.partitions"] == "200"
    assert conf["spark.jars"] == "/jars/a.jar,/jars/b.jar,/theirs.jar"
    assert conf["spark.sql.extensions"].split(",")[1] == "their.Extension"


@pytest.mark.full
def test_a_jvm_that_ends_at_once_says_why_in_a_sentence(tmp_path: Path) -> None:
    code = (
        "from vde_dagster.lakehouse.spark.session import SparkSettings, open_session\n"
        "from vde_dagster.core.errors import SetupError\n"
        "try:\n"
        "    open_session(SparkSettings(conf={'spark.driver.memory': '10'}), ())\n"
        "except SetupError as error:\n"
        "    raise SystemExit(str(error))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "ended before it was ready: " in done.stderr
    assert "Too small maximum heap" in done.stderr
    assert "Check `spark.master` and `spark.conf` in vde.yaml" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.full
@pytest.mark.spark
def test_every_harmless_setting_is_one_of_sparks_or_icebergs(spark: SparkSession) -> None:
    jvm = spark._jvm  # Spark lists no internal settings
    assert jvm is not None
    entries = getattr(jvm, "org.apache.spark.internal.config.ConfigEntry$")
    known = set(entries.__getattr__("MODULE$").knownConfigs().keys())
    iceberg = jvm.java.lang.Class.forName("org.apache.iceberg.spark.SparkSQLProperties")
    known |= {str(each.get(None)) for each in iceberg.getFields()}
    listed = spark.sql("SET -v").collect()
    known |= {each["key"] for each in listed}
    lost = [
        each
        for group in HARMLESS.values()
        for each in group
        if not any(
            key == f"spark.sql.{each}"
            or (each.endswith(".") and key.startswith(f"spark.sql.{each}"))
            for key in known
        )
    ]
    # Catalogs have names, and Hive's settings are listed where Hive is used.
    assert set(lost) <= {"catalog."}
