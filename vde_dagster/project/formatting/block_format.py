"""The layout of a MODEL block: one property on a line, lists of options indented.

Values stay as they are written, since some of them are hashed as text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.project.formatting.comments import (
    Between,
    comments_between,
    ends_line,
    on_one_line,
)
from vde_dagster.project.properties.model_block import Block, Value

INDENT: Final = "  "
WIDTH: Final = 88
_OPENING: Final = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING: Final = (TokenType.R_PAREN, TokenType.R_BRACKET)
_EXPANDED: Final = (
    "audits",
    "column_descriptions",
    "columns",
    "depends_on",
    "late_data",
    "physical_properties",
    "signals",
)
"""Properties that are lists of names with values; several go on a line each."""
_VERBATIM: Final = ("incremental_predicates", "merge_filter", "when_matched")
"""Options whose value is SQL, in which commas separate no items."""


def format_block(text: str, block: Block, *, path: Path, dialect: str) -> str:
    """A file's MODEL block and the comments before it, laid out; it ends with its semicolon.

    Args:
        text: The whole file.
        block: As read from it.
        path: The file's.
        dialect: In which the block is read.
    """
    read = Dialect.get_or_raise(dialect)
    tokens = [token for token in read.tokenize(text) if token.end < block.query_offset]
    closing = tokens.pop() if tokens[-1].token_type is TokenType.SEMICOLON else None
    layout = _Layout(text=text, nested=read.tokenizer_class.NESTED_COMMENTS)
    before = layout.between(0, tokens[0].start, after_token=False).every
    inner = Value(tokens=tuple(tokens[1:]), text=text, path=path)
    end = closing.start if closing is not None else tokens[-1].end + 1
    beside = (
        *layout.between(tokens[0].end + 1, tokens[1].start).every,
        *layout.between(tokens[-1].end + 1, end).every,
    )
    return "\n".join([*before, f"MODEL {layout.broken(inner, 0, beside, top=True)};"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Lays the values of one text out."""

    text: str
    nested: bool

    def between(self, start: int, end: int, *, after_token: bool = True) -> Between:
        return comments_between(self.text[start:end], after_token=after_token, nested=self.nested)

    def property(self, value: Value, indent: int) -> str:
        """``key value``; the key in lower case, a kind's name in upper case."""
        rest = value.rest()
        if rest is None or value.tokens[0].token_type is TokenType.STRING:
            return value.raw
        key = value.tokens[0].text.lower()
        sign = self.text[value.tokens[0].end + 1 : rest.tokens[0].start]
        if self.between(value.tokens[0].end + 1, rest.tokens[0].start).every:
            return value.raw
        written = self.value(rest, indent, kind=key == "kind", top=True, key=key)
        return f"{key}{f' {sign.strip()}' if sign.strip() else ''} {written}"

    def value(
        self, value: Value, indent: int, *, kind: bool = False, top: bool = False, key: str = ""
    ) -> str:
        """A value on one line if it fits, otherwise with one item of its list on each line."""
        listed = _list_of(value)
        head = _head(value, listed)
        if listed is not None and any(self._gaps(_until(value, listed))):
            return value.raw
        if kind and not value.is_string:
            head = head.upper()
        if listed is None:
            return head
        named = (kind or (top and key in _EXPANDED)) and len(_items(listed)) > 1
        flat = self.flat(listed)
        fits = flat is not None and len(INDENT) * indent + len(head) + len(flat) <= WIDTH
        if flat is not None and (fits or not _items(listed)) and not named:
            return head + flat
        if kind and not head.endswith(" "):
            head += " "
        return head + self.broken(listed, indent)

    def flat(self, value: Value) -> str | None:
        """A list on one line; None if it has a comment or a text of several lines."""
        first, last = value.tokens[0].start, value.tokens[-1].end + 1
        raw = self.text[first:last]
        if "\n" not in raw:
            return None if any(self._gaps(value.tokens)) else raw
        if any(self._gaps(value.tokens)):
            return None
        written = "".join(_joined(value.tokens, self.text))
        return None if "\n" in written else written

    def _gaps(self, tokens: Sequence[Token]) -> Iterator[tuple[str, ...]]:
        for before, after in itertools.pairwise(tokens):
            yield self.between(before.end + 1, after.start).every

    def broken(
        self, value: Value, indent: int, beside: tuple[str, ...] = (), *, top: bool = False
    ) -> str:
        """A list with one item on each line, its comments kept next to the items.

        ``beside`` are comments around the list; they are moved into it.
        """
        opening, closing = value.tokens[0], value.tokens[-1]
        pad = INDENT * (indent + 1)
        lines: list[str] = []
        end, items = opening.end + 1, _items(value)
        for position, item in enumerate(items):
            found = self.between(end, item.tokens[0].start, after_token=position > 0)
            lines = _behind(lines, found.trailing, pad)
            lines += [f"{pad}{each}" for each in found.leading]
            written = self._item(item, indent + 1, top=top)
            lines.append(f"{pad}{written}{',' if position + 1 < len(items) else ''}")
            end = item.tokens[-1].end + 1
        found = self.between(end, closing.start, after_token=bool(items))
        lines = _behind(lines, found.trailing, pad)
        lines += [f"{pad}{each}" for each in (*found.leading, *beside)]
        signs = self.text[opening.start], self.text[closing.start]
        return "\n".join([signs[0], *lines, f"{INDENT * indent}{signs[1]}"])

    def _item(self, item: Value, indent: int, *, top: bool) -> str:
        if top:
            return self.property(item, indent)
        rest, key = item.rest(), item.tokens[0]
        if key.text.lower() in _VERBATIM:
            return item.raw
        if rest is None or _list_of(item) is not None or item.is_string:
            return self.value(item, indent)
        gap = self.text[key.end + 1 : rest.tokens[0].start]
        if not gap or self.between(key.end + 1, rest.tokens[0].start).every:
            return self.value(item, indent)
        written = self.value(rest, indent)
        between = " ".join(["", *gap.split(), ""]) if "\n" in gap else gap
        return self.text[key.start : key.end + 1] + between + written


def _behind(lines: list[str], comments: tuple[str, ...], pad: str) -> list[str]:
    """Lines with comments after the last one, or on lines below it if they cannot go there."""
    if not comments:
        return lines
    written = on_one_line(comments)
    if lines and written is not None and not ends_line(lines[-1].strip()):
        return [*lines[:-1], f"{lines[-1]} {written}"]
    return [*lines, *(f"{pad}{each}" for each in comments)]


def _items(value: Value) -> tuple[Value, ...]:
    return value.items() if len(value.tokens) > 2 else ()


def _list_of(value: Value) -> Value | None:
    """The list that a value is, or that follows its name."""
    if value.tokens[0].token_type in _OPENING:
        return value if value.items() != (value,) else None
    return value.after_name() if value.group() is not None else None


def _head(value: Value, listed: Value | None) -> str:
    """The text before the list; all of the value if it has none."""
    if listed is None:
        return value.raw
    head = value.text[value.tokens[0].start : listed.tokens[0].start]
    return f"{head.rstrip()} " if head != head.rstrip() else head


def _until(value: Value, listed: Value) -> tuple[Token, ...]:
    """The tokens of a value up to the start of its list."""
    return value.tokens[: len(value.tokens) - len(listed.tokens) + 1]


def _joined(tokens: Sequence[Token], text: str) -> Iterator[str]:
    """Tokens on one line: a line break is one space, none next to parentheses or before commas."""
    for before, after in itertools.pairwise(tokens):
        yield text[before.start : before.end + 1]
        gap = text[before.end + 1 : after.start]
        close = before.token_type in _OPENING or after.token_type in _CLOSING
        tight = close or after.token_type is TokenType.COMMA
        yield gap if "\n" not in gap else "" if tight else " "
    yield text[tokens[-1].start : tokens[-1].end + 1]
