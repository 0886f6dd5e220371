"""Texts for a process that we start, in files that no other user can read.

On Linux such a file has no name, only a number that the process inherits: nothing is left of it,
however both processes end. Elsewhere it lies in a folder of this user alone until it is read.
A program that we write is kept, and no other user can change it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


class PrivateFiles:
    """Files for one process, made by `private_files`.

    ``folder`` is a folder of this user alone, ``descriptors`` are what the process has to inherit
    (``pass_fds``).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.descriptors: list[int] = []

    def path(self, name: str, text: str) -> str:
        """Where that process will find a text."""
        if hasattr(os, "memfd_create"):  # on Linux
            descriptor = os.memfd_create(name, 0)
            self.descriptors.append(descriptor)
            os.fchmod(descriptor, 0o600)
            _write(os.dup(descriptor), text)
            return f"/proc/self/fd/{descriptor}"
        file = self.folder / name
        _write(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), text)
        return str(file)


@contextmanager
def private_files() -> Iterator[PrivateFiles]:
    """Files for a process that reads them before the end of the ``with`` block."""
    folder = Path(tempfile.mkdtemp(prefix="vde-"))
    files = PrivateFiles(folder)
    try:
        yield files
    finally:
        for each in files.descriptors:
            os.close(each)
        shutil.rmtree(folder, ignore_errors=True)


def replace_program(file: Path, text: str) -> None:
    """Put a script there that this user alone can read, change and run, unless it is there already.

    Whoever runs it meanwhile has the whole old or the whole new one.

    Raises:
        OSError: It cannot be written.
    """
    if _has(file, text):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.parent.chmod(0o700)
    descriptor, written = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    try:
        _write(descriptor, text)
        Path(written).chmod(0o700)
        Path(written).replace(file)
    except BaseException:
        Path(written).unlink(missing_ok=True)
        raise


def _has(file: Path, text: str) -> bool:
    """Whether a program is there already, and this user's own that nobody else may change."""
    try:
        found = file.stat()
        mode = stat.S_IMODE(found.st_mode)
        return mode == 0o700 and found.st_uid == os.getuid() and file.read_bytes() == text.encode()
    except OSError:
        return False


def properties_text(settings: Mapping[str, str]) -> str:
    """Settings in the form of Java's properties files."""
    return "".join(
        f"{_escaped(key, ' :=')}={_escaped(value, '')}\n" for key, value in settings.items()
    )


def _escaped(text: str, separators: str) -> str:
    known = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    known |= {each: f"\\{each}" for each in separators}
    escaped = "".join(known.get(each, each) for each in text)
    return f"\\{escaped}" if escaped.startswith((" ", "#", "!")) else escaped


def _write(descriptor: int, text: str) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(text.encode())
