"""Saved plans on disk: writing one, and reading one back (`vde_dagster.app.apply.saved_plans`)."""

from __future__ import annotations

from pathlib import Path

from vde_dagster.app.apply.saved_plans import read_saved, saved_text
from vde_dagster.core.errors import Refused
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_file import is_plan_file
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.file_writing import read_as_written, replace_text


def save_plan(configuration: Configuration, plan: Plan, path: Path) -> None:
    """Write a plan to a file, whole or not at all. Only a saved plan is overwritten.

    Raises:
        Refused: Something else is there, or the file cannot be written.
    """
    before = read_as_written(path)
    if before and not is_plan_file(before):
        raise Refused(
            f"{path} is there and is no saved plan; it stays as it is", advice="Name another file."
        )
    replace_text(path, before, saved_text(configuration, plan))


def load_plan(configuration: Configuration, path: Path) -> Plan:
    """The plan in a file.

    Raises:
        Refused: There is no such file, or it is no plan that can be applied.
    """
    text = read_as_written(path)
    if text is None:
        raise Refused(
            f"there is no file {path}", advice=f"`vde plan ENV --save {path}` writes one."
        )
    return read_saved(configuration, text, name=str(path))
