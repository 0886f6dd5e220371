"""The file that makes a folder a project, and the folder for what a project makes."""

from __future__ import annotations

from typing import Final

FILE_NAME: Final = "vde.yaml"


HOME: Final = ".vde"
"""The folder of a project in which it keeps what it makes."""
