"""Git repositories for tests, whatever a person's git configuration is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

AS_SOMEBODY = {
    "GIT_AUTHOR_NAME": "Somebody",
    "GIT_AUTHOR_EMAIL": "somebody@example.com",
    "GIT_COMMITTER_NAME": "Somebody",
    "GIT_COMMITTER_EMAIL": "somebody@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder; what it prints, without the line's end."""
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=os.environ | AS_SOMEBODY,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.rstrip("\n")


def new_repository(folder: Path) -> Path:
    """An empty repository whose branch is ``main``."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def write(folder: Path, files: Mapping[str, str | bytes | None]) -> Path:
    """Write files, or remove those of None."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def commit(folder: Path, files: Mapping[str, str | bytes | None] | None = None) -> str:
    """Commit everything in a repository, after files were written; the commit's hash."""
    write(folder, files or {})
    git(folder, "add", "--all", "--force", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "one")
    return git(folder, "rev-parse", "HEAD")
