"""What a process is given in private: it finds the text, others do not, and nothing is left."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.lakehouse.spark.jvm import private_files, properties_text

TEXT = "first=1\nsecond=é\n"


def read(path: str, descriptors: list[int]) -> str:
    done = subprocess.run(
        ["cat", path, path], capture_output=True, check=True, pass_fds=descriptors
    )
    return done.stdout.decode()


def test_a_process_can_read_it_more_than_once() -> None:
    with private_files() as private:
        path = private.path("settings", TEXT)
        assert read(path, private.descriptors) == TEXT * 2


def test_it_has_no_name_on_linux_and_is_gone_afterwards() -> None:
    with private_files() as private:
        path = private.path("settings", TEXT)
        assert list(private.folder.iterdir()) == []
        (descriptor,) = private.descriptors
        assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o600
    assert not Path(path).exists()
    assert not private.folder.exists()


def test_elsewhere_it_is_a_file_that_its_owner_alone_can_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    with private_files() as private:
        path = private.path("settings", TEXT)
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
        assert stat.S_IMODE(private.folder.stat().st_mode) == 0o700
        assert read(path, private.descriptors) == TEXT * 2
    assert not private.folder.exists()


def loaded(text: str) -> dict[str, str]:
    """A file of properties as Java's documentation says that it is read."""
    found = {}
    for line in text.splitlines():
        parts, escaped, key = [""], False, None
        for letter in line:
            if escaped:
                parts[-1] += {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}.get(letter, letter)
                escaped = False
            elif letter == "\\":
                escaped = True
            elif letter in "=: " and key is None:
                key = parts[-1]
                parts.append("")
            else:
                parts[-1] += letter
        assert key is not None
        assert not line.startswith((" ", "#", "!"))
        assert not parts[-1].startswith(" ") or "\\ " in line
        found[key] = parts[-1]
    return found


@given(st.dictionaries(st.text("ab.#!=: \\", min_size=1), st.text("ab #!=:\\\n\r\t\fé")))
def test_settings_are_read_as_they_were(settings: dict[str, str]) -> None:
    assert loaded(properties_text(settings)) == settings
