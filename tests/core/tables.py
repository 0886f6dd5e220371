"""Tables of cases that are written as text."""

from __future__ import annotations

import re


def rows(text: str) -> list[tuple[str, ...]]:
    """The rows of a table: cells stand between bars, and a row that goes on is indented.

    A comment begins with ``#``, at the start of a line or after two blanks.
    """
    bare = re.sub(r"(?m)^# .*\n?|  # .*$", "", text.strip("\n"))
    lines = re.sub(r"\n +", " ", bare).splitlines()
    return [tuple(cell.strip() for cell in re.split(r" \|(?= |$)", each)) for each in lines if each]
