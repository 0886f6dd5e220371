"""Planted defects: mistakes of an engineer in a hurry, each as one change of one file.

A defect is a file ``<area>/<name>.toml`` in this folder::

    mistake = "R8: what is evaluated once more may take all rows out of an interval"
    file = "vde_dagster/core/ledger/rows_lost.py"
    before = '''
        return lost and not allowed
    '''
    after = '''
        return False
    '''
    tests = ["tests/app/evaluate/test_rows_stay.py"]

``before`` are whole lines that the file has once, ``after`` are the lines in their place, and
``tests`` are those that have to fail: files, or tests in them (``file.py::test_name``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]


class DefectInvalid(ValueError):
    """A file of a defect is wrong, or does not fit the code any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One mistake: ``name`` is ``area/name``, the paths are those in the repository."""

    name: str
    mistake: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    @property
    def area(self) -> str:
        """The folder that the defect is in."""
        return self.name.partition("/")[0]

    @property
    def rule(self) -> str | None:
        """The rule that its sentence begins with: R1 to R15."""
        head, colon, _ = self.mistake.partition(":")
        return head if colon and head.startswith("R") and head[1:].isdecimal() else None

    def planted(self, text: str) -> str:
        """The text of its file with the mistake in it.

        Raises:
            DefectInvalid: The lines to replace are not there, or more than once.
        """
        times = text.count(self.before)
        if times != 1:
            raise DefectInvalid(f"{self.name}: {self.file} has the lines to replace {times} times")
        return text.replace(self.before, self.after)


def read_defects(folder: Path = HERE) -> Iterator[Defect]:
    """All defects of a folder, by area and name.

    Raises:
        DefectInvalid: A file has other keys than a defect.
    """
    for path in sorted(folder.glob("*/*.toml")):
        name = f"{path.parent.name}/{path.stem}"
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        wanted = {field.name for field in fields(Defect)} - {"name"}
        if values.keys() != wanted:
            raise DefectInvalid(f"{name}: wrong or missing {sorted(values.keys() ^ wanted)}")
        yield Defect(name=name, **values | {"tests": tuple(values["tests"])})
