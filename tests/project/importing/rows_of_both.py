"""A project that was imported, built, and its rows beside those of the other tool."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.cli.calling import run_vde

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def edited(path: Path, start: str, end: str, text: str) -> None:
    """Replace what a file has from one text up to another."""
    whole = path.read_text()
    first = whole.index(start)
    last = whole.index(end, first)
    path.write_text(whole[:first] + text + whole[last:])


def comparable(rows: Sequence[Mapping[str, Any]]) -> Counter[tuple[tuple[str, object], ...]]:
    """Rows as a multiset: times without their zone, numbers to nine digits."""
    return Counter(
        tuple(sorted((name, _comparable(value)) for name, value in row.items())) for row in rows
    )


def _comparable(value: object) -> object:
    """A value as both tools show it: decimals may be texts, and times may have a zone."""
    if value is None or isinstance(value, bool):
        return value
    try:
        return f"{float(str(value)):.9g}"
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(str(value)).replace(tzinfo=None)
    except ValueError:
        return value


def rows_of_ours(folder: Path, model: str) -> list[dict[str, Any]]:
    """The rows of a model here; in a process of its own, since a session knows one catalog."""
    words = ("query", f"SELECT * FROM {model}", "--limit", "100000", "--format", "json")
    done = run_vde(*words, "--project", folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def built(folder: Path, **environment: str) -> None:
    """Plan and apply; in a process of its own, since a session knows one catalog of a name."""
    done = run_vde("plan", "prod", "--auto-apply", "--project", folder, **environment)
    assert done.returncode == 0, done.stderr


def assert_same_rows(folder: Path, theirs: Rows) -> None:
    for model, rows in theirs.items():
        assert comparable(rows_of_ours(folder, model)) == comparable(rows), model
