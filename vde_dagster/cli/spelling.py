"""How a person starts the command line: `vde ...`, or `./run vde ...` in the repository."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Final


def vde(*arguments: str | Path) -> str:
    """A `vde` command, to be copied into the shell that this process was started from."""
    starter = os.environ.get("VDE_RUN")
    words = [*([starter] if starter else []), "vde", *map(str, arguments)]
    return shlex.join(words)


def there(folder: Path) -> list[str | Path]:
    """How a command names the project's folder: not at all where it is the current one."""
    return [] if folder == Path() else ["--project", folder]


_COMMAND: Final = re.compile(r"`vde ([^`]+)`")


def whole(text: str, folder: Path) -> str:
    """A text whose commands, such as `vde run prod`, can be copied: they name the project.

    What no shell can read stays as it is: a person may have written the text.
    """

    def command(found: re.Match[str]) -> str:
        try:
            words: list[str | Path] = [*shlex.split(found[1])]
        except ValueError:  # a quote without an end
            return found[0]
        if "--project" not in words:
            words += there(folder)
        return f"`{vde(*words)}`"

    return _COMMAND.sub(command, text)
