"""The names of the file that makes a folder a project, and of its folder for state and caches."""

from __future__ import annotations

from typing import Final

FILE_NAME: Final = "vde.yaml"


HOME: Final = ".vde"
"""The folder of a project for its state and caches."""
