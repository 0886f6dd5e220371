"""Choosing unit tests by what a user writes: a file, a name, or a pattern of names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from vde_dagster.core.errors import Refused
from vde_dagster.core.unit_tests.definition import UnitTest

_FILES = (".yaml", ".yml")


def chosen_tests(tests: Sequence[UnitTest], wanted: Sequence[str]) -> tuple[UnitTest, ...]:
    """The tests that are asked for, in their own order; all of them if nothing is.

    Args:
        tests: All tests.
        wanted: ``tests/revenue.yaml``, ``tests/revenue.yaml::test_name``, or a test's name; in
            each part, ``*`` stands for any characters.

    Raises:
        Refused: There is no such test; the text names one of a similar name.
    """
    for text in wanted:
        if not any(_is_meant(each, text) for each in tests):
            known = [name for each in tests for name in (each.name, each.identity)]
            close = difflib.get_close_matches(text, known, n=1)
            guess = f"Did you mean {close[0]}?" if close else "`vde test` runs all of them."
            raise Refused(f"no unit test is named {text}", advice=guess)
    return tuple(
        each for each in tests if not wanted or any(_is_meant(each, text) for text in wanted)
    )


def _is_meant(test: UnitTest, text: str) -> bool:
    file, found, name = text.rpartition("::")
    if not found and text.endswith(_FILES):
        file, name = text, "*"
    return fnmatchcase(test.name, name) and (not file or _is_in(test, file))


def _is_in(test: UnitTest, written: str) -> bool:
    """Whether a test's file is meant: by its path from any folder above it, or by its name."""
    path = test.place.path.as_posix()
    file = written.removeprefix("./")
    return fnmatchcase(path, file) or path.endswith(f"/{file}") or file.endswith(f"/{path}")
