"""The address of a Spark Connect server in `vde.yaml`."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.secrets import STARS, without_secrets
from vde_dagster.project.configuration import Configuration, read_configuration

TOKEN = "0123456789abcdef"


def written(folder: Path, remote: str) -> Configuration:
    (folder / "vde.yaml").write_text(f"name: shop\nspark:\n  remote: {remote}\n")
    return read_configuration(folder)


def test_an_address_is_a_secret_and_none_is_none(tmp_path: Path) -> None:
    address = f"sc://spark.example.com:443/;use_ssl=true;token={TOKEN}"
    remote = written(tmp_path, address).spark.remote
    assert remote is not None
    assert (remote.reveal(), repr(remote)) == (address, STARS)
    assert TOKEN not in without_secrets(f"refused: {TOKEN}")
    (tmp_path / "vde.yaml").write_text("name: shop\n")
    assert read_configuration(tmp_path).spark.remote is None


@pytest.mark.parametrize(
    "remote,why",
    [
        ("local[2]", "it does not begin with sc://"),
        ("spark://master:7077", "it does not begin with sc://"),
        (f"sc://spark.example.com;token={TOKEN}", "its host or its port cannot be read"),
        (f"sc://spark.example.com/;token={TOKEN}=", "a parameter is one name=value"),
    ],
)
def test_what_is_no_address_is_refused_with_its_line(tmp_path: Path, remote: str, why: str) -> None:
    with pytest.raises(ProjectInvalid, match=rf"vde\.yaml:3: spark\.remote is .*{why}") as caught:
        written(tmp_path, remote)
    assert TOKEN not in str(caught.value)
