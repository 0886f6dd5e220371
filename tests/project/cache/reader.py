"""A process of its own that reads a project with a cache of models; see `tests.forks`."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

from vde_dagster.project.cache.models import ModelCache
from vde_dagster.project.configuration import read_configuration
from vde_dagster.project.loading import load_files


def tell_fingerprints(line: Connection, folder: Path, cache: Path) -> None:
    """Say each model's name and fingerprint."""
    found = load_files(read_configuration(folder), ModelCache(path=cache, code="this code")).graph
    line.send([(str(node.name), node.fingerprint.digest) for node in found])
