"""How a person starts the command line: `vde ...`, or `./run vde ...` in the repository."""

from __future__ import annotations

import os
import shlex
from pathlib import Path


def vde(*arguments: str | Path) -> str:
    """A `vde` command, to be copied into the shell that this process was started from."""
    starter = os.environ.get("VDE_RUN")
    words = [*([starter] if starter else []), "vde", *map(str, arguments)]
    return shlex.join(words)
