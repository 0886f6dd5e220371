"""The packaged examples, copied to a folder of the user's, and the modules in them."""

from __future__ import annotations

import importlib.util
import sys
from importlib.resources import as_file, files
from pathlib import Path
from types import ModuleType

from vde_dagster.cli.copying import Copied, copy_project
from vde_dagster.core.errors import Refused


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


def module_of(path: Path) -> ModuleType:
    """A module of a copied example, such as its landing."""
    name = f"vde_demo_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None, f"{path} is a Python file"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module
