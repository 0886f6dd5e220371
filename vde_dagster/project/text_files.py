"""Reading text files of a project: regular ones in UTF-8, and none that is too large to be one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

LARGEST_BYTES: Final = 10 * 1024 * 1024
"""The largest file of SQL or YAML, or Python model, that is read; a seed has no limit."""


class NotReadable(ValueError):
    """A file cannot be read as a text of a project; ``advice`` says what to do about it.

    ``seen`` is what can be seen of its text in another encoding.
    """

    def __init__(self, why: str, advice: str, *, seen: str = "") -> None:
        super().__init__(why)
        self.advice, self.seen = advice, seen


def project_text(path: Path) -> str:
    """The text of a file, without its byte order mark.

    Raises:
        NotReadable: It is not a regular file (reading a pipe would wait for a writer), it
            is larger than `LARGEST_BYTES`, or it or its name is not text in UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise NotReadable("the file's name is not UTF-8 text", "Rename it.") from error
    try:
        if not path.is_file() and path.exists():
            raise NotReadable("this is not a regular file", "Replace it with a text file.")
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            limit = LARGEST_BYTES // 1024 // 1024
            raise NotReadable(
                f"the file has {size / 1024 / 1024:,.0f} MB, but the limit is {limit} MB",
                "Put data into a seed or a table, and read it from there.",
            )
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = f"the file cannot be read as UTF-8 text: {error}"
        seen = error.object.decode("latin-1") if isinstance(error, UnicodeDecodeError) else ""
        raise NotReadable(why, "Save it as a text file in UTF-8.", seen=seen) from error
