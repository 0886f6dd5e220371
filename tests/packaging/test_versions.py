"""docs/reference/versions.md says what pyproject.toml and the code say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from vde_dagster.lakehouse.spark import jars, java

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "reference" / "versions.md").read_text("utf-8")
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FOR_DEVELOPERS: Final = {"build", "docs", "release", "test"}
"""Extras that no user needs; one that does not exist is harmless."""


def rows(heading: str) -> dict[str, str]:
    """The first two cells of each row of the table below a heading."""
    part = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    table = re.findall(r"^\| (.+?) \| (.+) \|$", part, flags=re.MULTILINE)
    return {name.strip("`"): text.strip("`") for name, text in table[2:]}


SUPPORTED: Final = rows("Supported versions")


def required(package: str) -> SpecifierSet:
    (found,) = (
        need.specifier for need in map(Requirement, PROJECT["dependencies"]) if need.name == package
    )
    return found


@pytest.mark.parametrize(
    "what,package",
    [
        ("Dagster", "dagster"),
        ("Spark", "pyspark"),
        ("pyiceberg", "pyiceberg"),
        ("SQLGlot", "sqlglot"),
    ],
)
def test_ranges_are_those_of_the_dependencies(what: str, package: str) -> None:
    assert SpecifierSet(SUPPORTED[what]) == required(package)


def test_each_version_of_python_is_listed() -> None:
    listed = SUPPORTED["Python"].split(", ")
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert listed == [f"3.{each}" for each in range(30) if f"3.{each}" in allowed]
    prefix = "Programming Language :: Python :: "
    classified = [each.removeprefix(prefix) for each in PROJECT["classifiers"] if prefix in each]
    assert listed == classified


def test_java_and_icebergs_jars_are_those_of_the_code() -> None:
    assert SUPPORTED["Java"] == f"{java.MINIMUM_VERSION} or newer"
    iceberg = SUPPORTED["Iceberg in Spark"]
    _, artifact, version = jars.ICEBERG_SPARK_RUNTIME.split(":")
    assert (version, jars.ICEBERG_AWS_BUNDLE.split(":")[2]) == (iceberg, iceberg)
    of_spark = re.fullmatch(r"iceberg-spark-runtime-([\d.]+)_[\d.]+", artifact)
    assert of_spark
    assert f"{of_spark[1]}.0" in required("pyspark")
    assert len(SUPPORTED) == 7, "each row is compared"


def test_commands_to_copy_name_the_same_jars() -> None:
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text("utf-8")
    written = set(re.findall(r"\borg\.[\w.]+:[\w.-]+:[\d.]+\d", page))
    assert written == {jars.ICEBERG_SPARK_RUNTIME, jars.POSTGRESQL_JDBC}


def test_each_extra_for_users_has_a_row() -> None:
    extras = PROJECT["optional-dependencies"].keys()
    assert rows("Extras").keys() == extras - FOR_DEVELOPERS


def test_each_extra_that_a_text_names_exists() -> None:
    texts = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("vde_dagster/**/*.py")]
    named = {
        extra.strip()
        for path in texts
        for found in re.findall(r"vde-dagster\[([^]]+)\]", path.read_text("utf-8"))
        for extra in found.split(",")
    }
    assert {"postgres", "otel"} <= named <= PROJECT["optional-dependencies"].keys()
