"""Iceberg's metadata files on this machine, opened without Arrow.

Importing Arrow's way to open files takes longer than a command that reads metadata alone: it loads
pandas. pyiceberg reads and writes all files by the class that a catalog's property ``py-io-impl``
names; the embedded catalog, whose files are on this machine, names the one below.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import urlparse

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream

_METADATA: Final = (".metadata.json", ".avro")
"""How names of metadata files, manifests and lists of manifests end."""
_PLAIN: Final = re.compile(r"file://(/[^?#\t\r\n]*)")
"""How catalogs write a file here: none of its characters means something else in an address."""
_ELSEWHERE: Final = ("DEFAULT_SCHEME", "DEFAULT_NETLOC")
"""Properties with which pyiceberg takes a path without a scheme for one on another machine."""


class LocalMetadataIO(FileIO):
    """Opens metadata files by their path; Arrow opens all others, so rows are read as ever."""

    def new_input(self, location: str) -> InputFile:
        """A file to read."""
        path = self._path(location)
        return self._others.new_input(location) if path is None else _LocalFile(location, path)

    def new_output(self, location: str) -> OutputFile:
        """A file to write."""
        path = self._path(location)
        return self._others.new_output(location) if path is None else _LocalFile(location, path)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file.

        Raises:
            FileNotFoundError: There is none.
        """
        named = location if isinstance(location, str) else location.location
        path = self._path(named)
        if path is None:
            self._others.delete(named)
        else:
            Path(path).unlink()

    def _path(self, location: str) -> str | None:
        """The path of a metadata file here, as pyiceberg finds it; None for another file."""
        if not location.endswith(_METADATA):
            return None
        if plain := _PLAIN.fullmatch(location):
            return plain[1]
        if location.startswith("/") and not any(each in self.properties for each in _ELSEWHERE):
            return location
        parsed = urlparse(location)
        is_here = parsed.scheme == "file" and parsed.path.endswith(_METADATA)
        return f"{parsed.netloc}{parsed.path}" if is_here else None

    @cached_property
    def _others(self) -> FileIO:
        from pyiceberg.io.pyarrow import PyArrowFileIO

        return PyArrowFileIO(self.properties)


class _LocalFile(InputFile, OutputFile):
    """A file on this machine.

    To open a small one by a `Path` takes twice as long, and a promotion of many views opens many.
    """

    def __init__(self, location: str, path: str) -> None:
        super().__init__(location)
        self._path = path

    def __len__(self) -> int:
        return Path(self._path).stat().st_size

    def exists(self) -> bool:
        """Whether there is such a file."""
        return Path(self._path).exists()

    def open(self, seekable: bool = True) -> InputStream:
        """Open it for reading; it is sought in either case.

        Raises:
            FileNotFoundError: There is none. It is said as pyiceberg says it of other files.
        """
        try:
            return open(self._path, "rb")  # noqa: PTH123 - see above
        except FileNotFoundError as error:
            what = f"Cannot open file, does not exist: {self.location}"
            raise FileNotFoundError(what) from error

    def create(self, overwrite: bool = False) -> OutputStream:
        """Open it for writing; folders that are missing are made."""
        mode: Final = "wb" if overwrite else "xb"
        try:
            return open(self._path, mode)  # noqa: PTH123 - see above
        except FileNotFoundError:
            path = Path(self._path)
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.open(mode)

    def to_input_file(self) -> InputFile:
        """The same file, to read."""
        return self
