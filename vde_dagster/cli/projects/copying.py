"""Copying a packaged project to a folder of the user's, who may edit it from then on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Refused

_RECORD: Final = Path(".vde", "copied.json")
_NOT_COPIED: Final = ("__pycache__", ".vde", ".DS_Store")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy did: ``written`` files, and ``kept`` ones that the user has edited."""

    written: tuple[Path, ...]
    kept: tuple[Path, ...]


def project_files(folder: Path) -> Sequence[Path]:
    """The files of a packaged project, relative to its folder."""
    return [
        path.relative_to(folder)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not set(path.relative_to(folder).parts) & set(_NOT_COPIED)
    ]


def copy_project(source: Path, target: Path) -> Copied:
    """Copy or update a project's files. A file that the user edited stays as it is.

    What was copied is recorded before it is written, so that a copy that was interrupted is
    finished by the next.

    Raises:
        Refused: The folder holds something that was not copied from here; nothing was written.
    """
    record = target / _RECORD
    if target.is_file() or (target.is_dir() and any(target.iterdir()) and not record.is_file()):
        raise Refused(
            f"{target} exists already and was not created by this command; nothing was written",
            advice="Name another folder.",
        )
    ours = {path: (source / path).read_bytes() for path in project_files(source)}
    known = _read(record)
    written: list[Path] = []
    kept: list[Path] = []
    for path, content in ours.items():
        there = _content(target / path)
        if there is None or (there != content and _digest(there) in known.get(str(path), ())):
            written.append(path)
        elif there != content:
            kept.append(path)
    _write(record, known, ours)
    for path in written:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        _replace(target / path, ours[path])
    return Copied(written=tuple(written), kept=tuple(kept))


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(record: Path) -> dict[str, list[str]]:
    """Per file the digests of everything that was ever copied there."""
    with suppress(OSError, ValueError):
        found = json.loads(record.read_text("utf-8"))
        if isinstance(found, dict):
            return {str(path): [str(each) for each in digests] for path, digests in found.items()}
    return {}


def _write(record: Path, known: Mapping[str, list[str]], ours: Mapping[Path, bytes]) -> None:
    digests = dict(known)
    for path, content in ours.items():
        digests[str(path)] = sorted({*digests.get(str(path), ()), _digest(content)})
    record.parent.mkdir(parents=True, exist_ok=True)
    _replace(record, json.dumps(digests, indent=1, sort_keys=True).encode())


def _replace(path: Path, content: bytes) -> None:
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_bytes(content)
    scratch.replace(path)
