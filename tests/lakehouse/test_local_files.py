"""Metadata files on this machine: opened without Arrow, and otherwise as Arrow opens them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from vde_dagster.lakehouse.iceberg.local_files import LocalMetadataIO

WAYS = (LocalMetadataIO, PyArrowFileIO)
NAMES = ("0-a.metadata.json", "0-a.gz.metadata.json", "snap-1.avro", "a b%20c.avro", "0.parquet")


@pytest.fixture(params=WAYS, ids=lambda each: each.__name__)
def io(request: pytest.FixtureRequest) -> FileIO:
    found = request.param({})
    assert isinstance(found, FileIO)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_what_one_way_writes_both_read(io: FileIO, tmp_path: Path, name: str) -> None:
    location = f"file://{tmp_path}/t/metadata/{name}"
    with io.new_output(location).create() as stream:
        stream.write(b"some bytes")
    for way in WAYS:
        written = way({}).new_input(location)
        assert written.exists()
        assert len(written) == len(b"some bytes")
        with written.open() as found:
            assert found.read() == b"some bytes"
    assert [each.name for each in (tmp_path / "t" / "metadata").iterdir()] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_replaced_only_if_that_is_wanted(io: FileIO, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"before")
    output = io.new_output(f"file://{tmp_path}/{name}")
    with pytest.raises(FileExistsError):
        output.create()
    assert (tmp_path / name).read_bytes() == b"before"
    with output.create(overwrite=True) as stream:
        stream.write(b"after")
    assert len(output.to_input_file()) == len(b"after")


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_deleted_once_and_then_missed(io: FileIO, tmp_path: Path, name: str) -> None:
    location = f"file://{tmp_path}/{name}"
    (tmp_path / name).write_bytes(b"")
    io.delete(io.new_input(location))
    assert not (tmp_path / name).exists()
    with pytest.raises(FileNotFoundError):
        io.delete(location)
    missing = io.new_input(location)
    assert not missing.exists()
    with pytest.raises(FileNotFoundError, match=r"Failed to open local file|does not exist") as at:
        missing.open()
    assert f"{tmp_path}/{name}" in str(at.value)


@pytest.mark.parametrize("start", ["", "file:", "file://"])
def test_a_place_may_be_written_in_each_way(io: FileIO, tmp_path: Path, start: str) -> None:
    location = f"{start}{tmp_path}/0.metadata.json"
    with io.new_output(location).create() as stream:
        stream.write(b"{}")
    assert (tmp_path / "0.metadata.json").read_bytes() == b"{}"
    assert io.new_input(location).location == location
    assert isinstance(io.new_input(location), PyArrowFile) == isinstance(io, PyArrowFileIO)


@pytest.mark.parametrize(
    "location", ["s3://b/0.metadata.json", "file:///t/0.parquet", "/t/0.parquet", "0.avro"]
)
def test_all_other_files_are_arrows(location: str) -> None:
    properties = {"s3.region": "eu-west-1", "s3.endpoint": "http://127.0.0.1:1"}
    io = LocalMetadataIO(properties)
    assert isinstance(io.new_input(location), PyArrowFile)
    assert isinstance(io.new_output(location), PyArrowFile)


def test_a_path_may_stand_for_a_place_elsewhere() -> None:
    io = LocalMetadataIO({"DEFAULT_SCHEME": "s3", "s3.region": "eu-west-1"})
    assert isinstance(io.new_input("/bucket/0.metadata.json"), PyArrowFile)
