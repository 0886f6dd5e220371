"""The one layout of model files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

from sqlfmt.api import Mode, format_string
from sqlfmt.exception import SqlfmtError
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.project.audits import without_audits
from vde_dagster.project.macros.builtin import BUILTINS
from vde_dagster.project.macros.tokens import MacroError, find_macros
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


WIDTH: Final = 88
MODEL: Final = "MODEL"
_COMMANDS: Final = ("ADD", "RESET", "SET")
"""Statements whose white space Spark may read as a part of a value."""
_OPENING: Final = ("(", "[")
_AROUND_ITEMS: Final = frozenset("()[],")
_MODE: Final = Mode(line_length=WIDTH)
_NAME: Final = "vde_stand_in_"
_STAND_IN: Final = re.compile(rf"(?:-- |/\* )?{_NAME}(\d+)_*(?: \*/)?")


class NotReadable(Exception):
    """A text is not SQL of the dialect, so it has no layout."""


def format_statements(text: str, *, dialect: str) -> str:
    """The statements of a text in one layout, a blank line between each two.

    A MODEL block is one, in which a list keeps its distance from the name before it.

    Raises:
        NotReadable: The text is not SQL of the dialect, apart from its macros.
    """
    read = Dialect.get_or_raise(dialect)
    try:
        parts = [part.strip() for part in _parts(text, read)]
        laid_out = "\n\n".join(_laid_out(part, read) for part in parts if part)
        same = _words(text, read) == _words(laid_out, read)
    except (SqlglotError, MacroError) as error:
        raise NotReadable(str(error)) from error
    return laid_out if same else text.strip()


def _parts(text: str, dialect: Dialect) -> Iterator[str]:
    """Each statement up to its semicolon, and a comment behind that on its line."""
    start = 0
    for token in dialect.tokenize(text):
        if token.token_type is TokenType.SEMICOLON:
            line, _, _ = text[token.end + 1 :].partition("\n")
            end = token.end + 1 + (len(line) if line.lstrip().startswith("--") else 0)
            yield text[start:end]
            start = end
    yield text[start:]


def _laid_out(statement: str, dialect: Dialect) -> str:
    """One statement, in its layout if sqlfmt has one that keeps all of its words."""
    if _NAME in statement:
        return statement
    originals: list[str] = []
    plain = "".join(_plain(statement, dialect, originals))
    plain, end = (plain[:-1], ";") if statement.endswith(";") else (plain, "")
    try:
        spaced = format_string(plain, _MODE).strip()
    except SqlfmtError:
        return statement
    before, after = dialect.tokenize(plain), dialect.tokenize(spaced)
    if not before or before[0].text.upper() in _COMMANDS or _upper(before) != _upper(after):
        return statement
    spaces = [spaced[old.end + 1 : new.start] for old, new in pairwise(after)]
    if before[0].text.upper() == MODEL:
        near = zip(pairwise(before), spaces, strict=True)
        spaces = [_in_block(old, new, space) for (old, new), space in near]
    words = (plain[token.start : token.end + 1] for token in before)
    written = "".join(chain(*zip(words, [*spaces, ""], strict=True)))
    written = spaced[: after[0].start] + written + spaced[after[-1].end + 1 :]
    last_line = written.rpartition("\n")[2]
    written += f"\n{end}" if "-- " in last_line else end
    written = _STAND_IN.sub(lambda found: originals[int(found[1])], written)
    return written if _words(written, dialect) == _words(statement, dialect) else statement


def _in_block(old: Token, new: Token, space: str) -> str:
    """The space between two tokens of a MODEL block.

    A list keeps its distance from the name before it, and a value of several tokens, such as a
    date without quotes, has none in it.
    """
    together = new.start == old.end + 1
    if new.text in _OPENING:
        return space or " " * (not together)
    within = together and not {old.text, new.text} & _AROUND_ITEMS
    return "" if within and space == " " else space


def _plain(statement: str, dialect: Dialect, originals: list[str]) -> Iterator[str]:
    """The text with names in place of what sqlfmt is not to read; ``originals`` gets that."""
    end, nested = 0, dialect.tokenizer_class.NESTED_COMMENTS
    items = find_macros(dialect.tokenize(statement), spaced=frozenset(BUILTINS))
    for item in [*items, None]:
        tokens = () if item is None else (item,) if isinstance(item, Token) else item.tokens
        start = tokens[0].start if tokens else len(statement)
        gap = statement[end:start]
        for comment in tuple(comments_between(gap, nested=nested)):
            before, _, gap = gap.partition(comment)
            name = _name(comment, originals)
            yield before + (f"-- {name}" if ends_line(comment) else f"/* {name} */")
        yield gap
        if tokens:
            end = tokens[-1].end + 1
            word = statement[start:end]
            kept = isinstance(item, Token) and item.token_type is not TokenType.HINT
            yield word if kept else _name(word, originals)


def _name(original: str, originals: list[str]) -> str:
    """A name about as long as what it stands for."""
    originals.append(original)
    return f"{_NAME}{len(originals) - 1}_".ljust(min(len(original), 40), "_")


def _upper(tokens: Sequence[Token]) -> list[str]:
    return [token.text.upper() for token in tokens]


def _words(text: str, dialect: Dialect) -> Sequence[tuple[str, list[str]]]:
    """Everything but white space: each token with the comments that belong to it."""
    return [(token.text, token.comments) for token in dialect.tokenize(text)]


_PAIRS: Final = {"/*": "*/", "{#": "#}"}
_LINE_MARKS: Final = ("--", "//", "#")


def comments_between(gap: str, *, nested: bool = False) -> Iterator[str]:
    """The comments in a text that otherwise has only spaces, commas and semicolons.

    Args:
        gap: The text between two tokens, or before the first one.
        nested: Whether the dialect has comments in comments.
    """
    index = 0
    while index < len(gap):
        end = _end_of(gap, index, nested)
        if end > index:
            yield gap[index:end].rstrip()
        index = max(end, index + 1)


def _end_of(gap: str, start: int, nested: bool) -> int:
    """Where the comment that starts here ends; ``start`` if none does."""
    for opening, closing in _PAIRS.items():
        if gap.startswith(opening, start):
            return _closed(gap, start, opening, closing, nested)
    if gap.startswith(_LINE_MARKS, start):
        end = gap.find("\n", start)
        return len(gap) if end < 0 else end
    return start


def _closed(gap: str, start: int, opening: str, closing: str, nested: bool) -> int:
    depth, index = 1, start + len(opening)
    while index < len(gap):
        if gap.startswith(closing, index):
            depth -= 1
            index += len(closing)
            if not depth:
                return index
        elif nested and gap.startswith(opening, index):
            depth += 1
            index += len(opening)
        else:
            index += 1
    return len(gap)


def ends_line(comment: str) -> bool:
    """Whether a comment goes to the end of its line."""
    return comment.startswith(_LINE_MARKS)
