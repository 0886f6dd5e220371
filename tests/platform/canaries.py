"""Texts that are planted as secrets, and where they must not turn up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from sqlalchemy import create_engine, inspect


def canary() -> str:
    """A secret that stands nowhere else."""
    return f"canary{uuid4().hex}"


def files_with(folder: Path, *canaries: str) -> list[str]:
    """The files below a folder that have one of some texts in them, and those in their names."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if _is_in(str(path).encode(), canaries) or _is_in(_content(path), canaries)
    ]


def contents_with(contents: Mapping[str, bytes], *canaries: str) -> list[str]:
    """The names of those of some contents that have one of some texts in them."""
    return [name for name, each in contents.items() if _is_in(name.encode() + each, canaries)]


def tables_with(address: str, *canaries: str) -> set[str]:
    """The tables of a Postgres database with a row that has one of some texts in it."""
    engine = create_engine(address)
    try:
        with engine.connect() as connection:
            found: set[str] = set()
            for name in inspect(connection).get_table_names():
                rows = connection.exec_driver_sql(f'SELECT t::text FROM "{name}" AS t')
                if any(_is_in(str(row[0]).encode(), canaries) for row in rows):
                    found.add(name)
            return found
    finally:
        engine.dispose()


def _is_in(content: bytes, canaries: tuple[str, ...]) -> bool:
    return any(each.encode() in content for each in canaries)


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
