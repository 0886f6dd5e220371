"""The files of a dbt project's target folder, as one value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vde_dagster.project.importing.draft import NotImportable

_MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What dbt wrote of a project.

    Args:
        manifest: With compiled code; of the full form, if there are two.
        incremental: The models' texts in which `is_incremental()` is true; None if they are not
            known.
        catalog: The columns of what was built, with types, by node.
        seeds: The texts of seeds, by node.
    """

    manifest: Mapping[str, Any]
    incremental: Mapping[str, str] | None
    catalog: Mapping[str, Mapping[str, str]]
    seeds: Mapping[str, str]


def read_target(
    folder: Path, incremental: Path | None = None, catalog: Path | None = None
) -> Target:
    """Read a target folder, or what `dbt_forms` wrote.

    Args:
        folder: It has manifest.json, or the folders `full` and `incremental`.
        incremental: The manifest of the incremental form, or its folder.
        catalog: The file that `dbt docs generate` writes; by default the folder's, if there.

    Raises:
        NotImportable: A file is missing, or is none of dbt's.
    """
    full = folder / "full" if (folder / "full" / _MANIFEST).is_file() else folder
    if incremental is None and full != folder:
        incremental = folder / "incremental"
    manifest = _document(full / _MANIFEST)
    if "nodes" not in manifest or "sources" not in manifest:
        raise NotImportable(f"{full / _MANIFEST} is not a dbt manifest")
    catalog = catalog or folder / "catalog.json"
    return Target(
        manifest=manifest,
        incremental=_texts(incremental) if incremental else None,
        catalog=_columns(_document(catalog)) if catalog.is_file() else {},
        seeds=manifest.get("files") or _seeds(manifest, folder),
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        advice = "Name the folder that dbt, or the script of `vde import script dbt`, wrote."
        raise NotImportable(f"{path} cannot be read: {error}", advice=advice) from error
    return found if isinstance(found, dict) else {}


def _texts(path: Path) -> dict[str, str]:
    nodes = _document(path / _MANIFEST if path.is_dir() else path).get("nodes", {})
    return {name: text for name, node in nodes.items() if (text := node.get("compiled_code"))}


def _columns(catalog: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    tables = {**catalog.get("sources", {}), **catalog.get("nodes", {})}
    return {
        name: {
            column: about["type"]
            for column, about in sorted(table["columns"].items(), key=lambda each: each[1]["index"])
        }
        for name, table in tables.items()
    }


def _seeds(manifest: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """The files of seeds, where the manifest says or in the project around the folder."""
    found: dict[str, str] = {}
    for name, node in manifest["nodes"].items():
        if node["resource_type"] == "seed":
            for root in (node.get("root_path") or ".", folder.absolute().parent):
                path = Path(root) / node["original_file_path"]
                if path.is_file():
                    found.setdefault(name, path.read_text("utf-8"))
    return found
