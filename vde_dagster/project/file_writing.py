"""Rewriting a user's file atomically, and never over what another program wrote meanwhile."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from vde_dagster.core.errors import Conflict, Refused


def read_as_written(path: Path) -> str | None:
    """A file's text with its own line ends and byte order mark; None if there is no file.

    Raises:
        Refused: It is not a regular file (reading a pipe would wait for a writer), not
            UTF-8 text, or cannot be read.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise Refused(f"{path} is not a regular file", advice="Name a text file.")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path} cannot be read as UTF-8 text: {error}") from error


def replace_text(path: Path, before: str | None, after: str) -> None:
    """Replace a file by another text in one step, keeping its permissions.

    Args:
        path: The file; a symbolic link is followed.
        before: What was read from it (`read_as_written`); None where there was no file.
        after: The new text.

    Raises:
        Conflict: Another program wrote the file meanwhile; it is unchanged.
        Refused: The file cannot be written.
    """
    target = path.resolve()
    if read_as_written(target) != before:
        raise Conflict(
            f"{path} was changed by another program meanwhile and was not overwritten",
            advice=("Run the command again."),
        )
    scratch = target.with_name(f".{uuid.uuid4().hex}")  # longer names may be too long
    try:
        scratch.write_bytes(after.encode("utf-8"))
        if before is not None:
            shutil.copymode(target, scratch)
        scratch.replace(target)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise Refused(f"{path} cannot be written: {error.strerror}") from error
