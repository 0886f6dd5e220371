"""Small projects as files in a folder, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from vde_dagster.core.errors import Problem, ProjectInvalid
from vde_dagster.project.loading import load_project


def write_project(folder: Path, sources: str, files: Mapping[str, str]) -> None:
    """A project over these declared sources, with other files by their paths."""
    settings = {"vde.yaml": "name: p\ndefaults:\n  start: 2024-01-01\n"}
    for path, text in {**settings, "external_models.yaml": sources, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def problems_of(load: Callable[[], object]) -> tuple[Problem, ...]:
    """What is wrong with what cannot be loaded."""
    with pytest.raises(ProjectInvalid) as caught:
        load()
    return caught.value.problems


def problems_in(folder: Path) -> list[Problem]:
    """What keeps a project from being loaded."""
    try:
        load_project(folder)
    except ProjectInvalid as error:
        return list(error.problems)
    return []
