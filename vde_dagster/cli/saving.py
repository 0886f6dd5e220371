"""A plan in a file: saving one, and reading one back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from vde_dagster.core.planning.plan import Plan
    from vde_dagster.project.configuration import Configuration

SAVE: Final = click.option(
    "--save",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FILE",
    help="Write the plan to FILE, for `vde apply FILE`, and apply nothing now.",
)


def save_plan(configuration: Configuration, plan: Plan, path: Path) -> None:
    """Write a plan to a file, whole or not at all. Only a saved plan is overwritten.

    Raises:
        Refused: Something else is there, or the file cannot be written.
    """
    from vde_dagster.app.apply.saved_plans import saved_text
    from vde_dagster.core.planning.plan_file import is_plan_file
    from vde_dagster.project.file_writing import read_as_written, replace_text

    before = read_as_written(path)
    if before and not is_plan_file(before):
        raise Refused(
            f"{path} is there and is no saved plan; it stays as it is. Name another file."
        )
    replace_text(path, before, saved_text(configuration, plan))


def load_plan(configuration: Configuration, path: Path) -> Plan:
    """The plan in a file.

    Raises:
        Refused: There is no such file, or it is no plan that can be applied.
    """
    from vde_dagster.app.apply.saved_plans import read_saved
    from vde_dagster.project.file_writing import read_as_written

    text = read_as_written(path)
    if text is None:
        raise Refused(f"there is no file {path}; `vde plan ENV --save {path}` writes one.")
    return read_saved(configuration, text, name=str(path))
