"""The storage of the story answers its own keys alone, so a key that is lost ends the story."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.platform.programs import required
from tests.platform.s3_server import BUCKET, s3_server

pytestmark = pytest.mark.full


def test_only_requests_with_all_three_keys_are_answered(tmp_path: Path) -> None:
    required("moto", "moto is not installed")
    path = f"{BUCKET}/a folder/n=1 %2F/é.txt"
    with s3_server(tmp_path) as storage:
        with storage.files().open_output_stream(path) as stream:
            stream.write(b"x" * 6_000_000)  # in parts
        assert set(storage.contents()) == {path}
        for part in ("key", "secret", "token"):
            others = storage.files(replace(storage.keys, **{part: "another"}))
            with pytest.raises(OSError, match=r"ACCESS_DENIED|FORBIDDEN|403|INVALID_ACCESS"):
                others.open_input_stream(path)
        storage.files().delete_file(path)
        assert storage.contents() == {}
