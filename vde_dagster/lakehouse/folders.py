"""The folder of a table or view in storage: which files are in it, and deleting some.

Arrow is imported by the first folder: it takes as long as all of pyiceberg, and most commands that
have a catalog look into no folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyarrow import fs as arrow
    from pyiceberg.typedef import Properties

_CHECKSUM: Final = ".crc"
"""Hadoop's local file system keeps one of each file `x` beside it, as `.x.crc`."""


class Folder:
    """A folder that a catalog's properties open.

    Args:
        location: Where it is, as metadata has it.
        properties: The catalog's.
    """

    def __init__(self, location: str, properties: Properties) -> None:
        from pyiceberg.io.pyarrow import PyArrowFileIO

        self._properties = properties
        self._io = PyArrowFileIO(properties)
        scheme, host, self.path = self._io.parse_location(location.rstrip("/"), properties)
        self._system = self._io.fs_by_scheme(scheme, host)

    def files(self) -> list[arrow.FileInfo]:
        """All files in it, also in folders below."""
        from pyarrow import fs as arrow

        chosen = arrow.FileSelector(self.path, recursive=True, allow_not_found=True)
        return [each for each in self._system.get_file_info(chosen) if each.is_file]

    def folders(self) -> list[str]:
        """The names of the folders in it, sorted."""
        from pyarrow import fs as arrow

        chosen = arrow.FileSelector(self.path, allow_not_found=True)
        found = self._system.get_file_info(chosen)
        return sorted(each.base_name for each in found if each.type == arrow.FileType.Directory)

    def path_of(self, location: str) -> str:
        """The path of a file as `files` has it."""
        return self._io.parse_location(location, self._properties)[2]

    def has(self, path: str) -> bool:
        """Whether a path lies in it."""
        return path.startswith(f"{self.path}/") and ".." not in PurePosixPath(path).parts

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files, in order; one that is gone already is no error.

        Raises:
            OSError: One cannot be deleted.
        """
        for path in paths:
            with suppress(FileNotFoundError):
                self._system.delete_file(path)

    def remove_empty(self) -> None:
        """Remove the folders in it without any file, and itself; only a local system has any."""
        from pyarrow import fs as arrow

        if isinstance(self._system, arrow.LocalFileSystem):
            folders = [each for each in Path(self.path).rglob("*") if each.is_dir()]
            for folder in [*sorted(folders, reverse=True), Path(self.path)]:
                with suppress(OSError):  # something is in it
                    folder.rmdir()


def with_checksums(paths: Iterable[str]) -> Iterator[str]:
    """Files, each followed by its checksum, which may not be there."""
    for path in paths:
        yield path
        at = PurePosixPath(path)
        yield str(at.with_name(f".{at.name}{_CHECKSUM}"))


def without_checksum(path: str) -> str:
    """The file that a checksum is of; any other file is returned as it is."""
    at = PurePosixPath(path)
    if at.name.startswith(".") and at.suffix == _CHECKSUM:
        return str(at.with_name(at.name[1 : -len(_CHECKSUM)]))
    return path
