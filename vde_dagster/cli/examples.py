"""The packaged examples, copied to a folder of the user's."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from vde_dagster.cli.copying import Copied, copy_project
from vde_dagster.core.errors import Refused

EXAMPLES: Final = ("nyc_flights", "customer_lifecycle")


def copied_example(example: str, folder: Path) -> Copied:
    """Copy an example, or update a copy; files that the user edited stay.

    Raises:
        Refused: The folder holds something else, or this installation lacks the example.
    """
    packaged = files("vde_dagster") / "examples" / example
    if packaged.is_dir():
        with as_file(packaged) as source:
            return copy_project(source, folder)
    source = Path(str(files("vde_dagster"))).parent / "examples" / example
    if not source.is_dir():
        raise Refused(
            "this installation of vde-dagster lacks the example", advice="install it again."
        )
    return copy_project(source, folder)
