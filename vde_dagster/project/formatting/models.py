"""The one layout of model files."""

from __future__ import annotations

from pathlib import Path

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.project.audits import without_audits
from vde_dagster.project.formatting.block_format import format_block
from vde_dagster.project.formatting.statement_format import NotReadable, format_statements
from vde_dagster.project.properties.model_block import Block, read_block


def format_model(text: str, *, path: Path, dialect: str) -> str:
    """The same model in one layout: its MODEL block, then its statements.

    Each property is on its own line, indented by two spaces. Statements get sqlfmt's white space;
    their words, signs, macros and comments stay as they are written, and so do audits and a
    statement of which sqlfmt would change more. Formatting twice changes nothing more.

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
        head = format_block(text, block, path=path, dialect=dialect) if block is not None else ""
        own = _dialect_of(block, dialect)
        rest = text[block.query_offset :] if block is not None else text
        rest, audits = without_audits(rest, dialect=dialect)
        statements = format_statements(rest, dialect=own)
    except (ProjectInvalid, NotReadable, SqlglotError, ValueError, RecursionError):
        return text
    if block is not None and not _same_block(text, head, block, dialect):
        return text
    written = "\n\n".join(part for part in (head, statements, audits.strip()) if part)
    return f"{written}\n" if written else text


def _dialect_of(block: Block | None, default: str) -> str:
    for key, value in block.properties if block is not None else ():
        rest = value.rest()
        if key == "dialect" and rest is not None:
            return rest.written.lower()
    return default


def _same_block(text: str, head: str, block: Block, dialect: str) -> bool:
    """Whether a block has the same tokens as before, apart from the case of words."""
    read = Dialect.get_or_raise(dialect)
    before = [each.text.upper() for each in read.tokenize(text[: block.query_offset])]
    after = [each.text.upper() for each in read.tokenize(head)]
    return [each for each in before if each != ";"] == [each for each in after if each != ";"]
