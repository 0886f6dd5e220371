"""The one layout of model files."""

from __future__ import annotations

from pathlib import Path

from sqlglot.errors import SqlglotError

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.project.audits import without_audits
from vde_dagster.project.formatting.statement_format import NotReadable, format_statements
from vde_dagster.project.properties.model_block import Block, read_block


def format_model(text: str, *, path: Path, dialect: str) -> str:
    """The same model in one layout: its MODEL block, then its statements.

    Both get sqlfmt's white space. Words, signs, macros and comments stay as they are written, and
    so do audits and what sqlfmt would change more of. Formatting twice changes nothing more.

    Args:
        text: The whole file.
        path: The file's; a Python model's text is returned as it is.
        dialect: The project's, in which a block is read. The block may name another one.

    Returns:
        The new text; the old one if it cannot be read.
    """
    if path.suffix != ".sql":
        return text
    try:
        block = read_block(text, path=path, dialect=dialect)
        offset = block.query_offset if block is not None else 0
        head = format_statements(text[:offset], dialect=dialect)
        rest, audits = without_audits(text[offset:], dialect=dialect)
        statements = format_statements(rest, dialect=_dialect_of(block, dialect))
    except (ProjectInvalid, NotReadable, SqlglotError, ValueError, RecursionError):
        return text
    written = "\n\n".join(part for part in (head, statements, audits.strip()) if part)
    return f"{written}\n" if written else text


def _dialect_of(block: Block | None, default: str) -> str:
    for key, value in block.properties if block is not None else ():
        rest = value.rest()
        if key == "dialect" and rest is not None:
            return rest.written.lower()
    return default
