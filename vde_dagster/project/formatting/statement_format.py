"""The layout of statements: sqlglot's, with macros and comments exactly as they are written.

For layout, names stand in for macros and comments are taken out. Then macros replace their names
and comments return to their tokens. If the new text does not parse to the same tree with the same
comments, the statement stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError, UnsupportedError
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.sql.dialects import is_spark
from vde_dagster.core.sql.spark.column_words import WORDS, words_in
from vde_dagster.core.sql.spark.reading import signs_in
from vde_dagster.project.formatting.comments import (
    as_inline,
    comments_between,
    ends_with_line,
)
from vde_dagster.project.formatting.statement_pieces import (
    NotReadable,
    Piece,
    parse_pieces,
    plain_name,
    read_pieces,
    unused_prefix,
)
from vde_dagster.project.macros.tokens import MacroError, too_deep

_ROUNDS: Final = 4
"""sqlglot adds parentheses around some values, so the second layout may differ from the first."""


def format_statements(text: str, *, dialect: str) -> str:
    """The statements of a text in one layout, a blank line between each two.

    Raises:
        NotReadable: The text is no SQL of the dialect, apart from its macros.
    """
    read = Dialect.get_or_raise(dialect)
    nested = read.tokenizer_class.NESTED_COMMENTS
    prefix = unused_prefix(text)
    try:
        if too_deep(read.tokenize(text)) is not None:
            raise NotReadable("its structs are nested too deeply")
        pieces = read_pieces(text, read, prefix)
    except (SqlglotError, MacroError) as error:
        raise NotReadable(str(error)) from error
    if not pieces:
        return "\n".join(comments_between(text, after_token=False, nested=nested).every)
    written: list[str] = []
    current: list[Piece] = []
    for piece in pieces:
        if piece.token.token_type is not TokenType.SEMICOLON:
            current.append(piece)
            continue
        if current:
            statement = _statement(text, current, read, prefix)
            last = read_pieces(statement, read, prefix)[-1]
            glue = "\n" if ends_with_line((*last.trailing, *last.below)) else ""
            written.append(f"{statement}{glue};")
        current = []
        written = _behind(written, piece)
    if current:
        written.append(_statement(text, current, read, prefix))
    return "\n\n".join(each.strip("\n") for each in written)


def _behind(written: list[str], semicolon: Piece) -> list[str]:
    """Statements, the last one followed by the comments of its semicolon."""
    beside = "".join(f" {each}" for each in _inline((*semicolon.leading, *semicolon.trailing)))
    below = "".join(f"\n{each}" for each in semicolon.below)
    if not written:  # a semicolon without a statement before it
        return [f";{beside}{below}"] if beside or below else []
    return [*written[:-1], f"{written[-1]}{beside}{below}"]


def _statement(text: str, pieces: list[Piece], dialect: Dialect, prefix: str) -> str:
    """One statement laid out, its comments before and behind it included."""
    first, last = pieces[0], pieces[-1]
    written = _settled(text, pieces, dialect, prefix)
    if written is not None:
        return written
    verbatim = "\n".join([*first.leading, text[first.start : last.end].rstrip()])
    behind = "".join(f" {each}" for each in _inline(last.trailing))
    return "\n".join([f"{verbatim}{behind}", *last.below])


def _settled(text: str, pieces: list[Piece], dialect: Dialect, prefix: str) -> str | None:
    """A layout that does not change when it is laid out again; None if there is none."""
    for _ in range(_ROUNDS):
        tree = parse_pieces(pieces, dialect, text)
        if tree.find(exp.Command) is not None:
            return None
        candidates = _laid_out(text, pieces, tree, dialect)
        same = (each for each in candidates if _is_same(each, pieces, text, dialect, prefix))
        written = next(same, None)
        if written is None or written == text:
            return written
        text, pieces = written, read_pieces(written, dialect, prefix)
    return None


def _laid_out(text: str, pieces: list[Piece], tree: exp.Expr, dialect: Dialect) -> Iterator[str]:
    """The possible new texts of a statement, the best one first; none if it has no layout."""
    try:
        sql = _with_bare_words(tree, dialect).sql(
            dialect=dialect, pretty=True, comments=False, normalize_functions=False
        )
        tokens = dialect.tokenize(sql)
    except (SqlglotError, UnsupportedError, ValueError):
        return
    macros = {piece.token.text.upper(): piece for piece in pieces if piece.macro is not None}
    seen = [token.text.upper() for token in tokens if token.token_type is TokenType.VAR]
    if any(seen.count(name) != 1 for name in macros):
        return  # one became part of something else
    words = [_Word(sql, token, macros.get(token.text.upper())) for token in tokens]
    gaps = _gaps(sql, tokens)
    _drop_select(words, gaps)
    _attach(text, pieces, words)
    beside = _joined(words, gaps)
    _move_behind_commas(words)
    yield from dict.fromkeys((_joined(words, gaps), beside))


def _with_bare_words(tree: exp.Expr, dialect: Dialect) -> exp.Expr:
    """A tree that writes words such as CURRENT_DATE with parentheses only if the text does."""
    if not is_spark(dialect):
        return tree
    copy = tree.copy()
    for node, word in list(words_in(copy)):
        if not isinstance(node, exp.Column):
            node.replace(exp.column(word))
    for node in list(copy.find_all(*WORDS)):
        if not node.args.get("this"):
            node.replace(exp.Anonymous(this=WORDS[type(node)].upper()))
    return copy


@dataclass(slots=True)
class _Word:
    """A token of the new text, or the macro in its place, with its comments."""

    sql: str
    token: Token
    piece: Piece | None
    leading: tuple[str, ...] = ()
    trailing: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    @property
    def written(self) -> str:
        if self.piece is not None and self.piece.macro is not None:
            return self.piece.macro
        return self.sql[self.token.start : self.token.end + 1]

    @property
    def key(self) -> str:
        return self.piece.token.text if self.piece is not None else self.written.upper()


def _gaps(sql: str, tokens: Sequence[Token]) -> list[str]:
    """The white space before each token."""
    inner = [sql[before.end + 1 : after.start] for before, after in pairwise(tokens)]
    return ["", *inner]


def _drop_select(words: list[_Word], gaps: list[str]) -> None:
    """Remove the SELECT that was put before each macro that is a query."""
    for at in range(len(words) - 1, 0, -1):
        piece = words[at].piece
        if piece is not None and piece.is_query and words[at - 1].key == "SELECT":
            del words[at - 1]
            del gaps[at]


def _attach(text: str, pieces: Sequence[Piece], words: list[_Word]) -> None:
    """Attach the comments of each piece to the word that it became, or to the one before."""
    if not any(piece.comments for piece in pieces):
        return
    before = [_key(text, piece) for piece in pieces]
    matcher = SequenceMatcher(None, before, [word.key for word in words], autojunk=False)
    places: dict[int, int] = {}
    for start, other, size in matcher.get_matching_blocks():
        places |= {start + step: other + step for step in range(size)}
    last = 0
    for at, piece in enumerate(pieces):
        last = places.get(at, last)
        word = words[last]
        if at in places:
            word.leading += piece.leading
            word.trailing += piece.trailing
            word.below += piece.below
        else:
            word.trailing += piece.comments


def _key(text: str, piece: Piece) -> str:
    return piece.token.text if piece.macro is not None else text[piece.start : piece.end].upper()


def _move_behind_commas(words: Sequence[_Word]) -> None:
    """Move a comment that ends its line behind the comma that would follow it."""
    for word, following in pairwise(words):
        if following.key == "," and not following.leading and ends_with_line(word.trailing):
            following.trailing = (*word.trailing, *following.trailing)
            word.trailing = ()


def _joined(words: Sequence[_Word], gaps: Sequence[str]) -> str:
    """The words with their gaps and comments; a ``--`` comment is always the end of its line."""
    written = ""
    for at, (word, gap) in enumerate(zip(words, gaps, strict=True)):
        breaks = at and "\n" not in gap and (word.leading or _must_break(words[at - 1]))
        written += f"\n{_indent(written)}" if breaks else gap
        indent = _indent(written)
        written += "".join(f"{each}\n{indent}" for each in word.leading) + word.written
        written += "".join(f" {each}" for each in _inline(word.trailing))
        written += "".join(f"\n{each}" for each in word.below)
    return written


def _must_break(word: _Word) -> bool:
    return ends_with_line((*word.trailing, *word.below))


def _indent(written: str) -> str:
    """The spaces at the start of the last line."""
    line = written.rsplit("\n", maxsplit=1)[-1]
    return line[: len(line) - len(line.lstrip())]


def _is_same(
    written: str,
    pieces: Sequence[Piece],
    text: str,
    dialect: Dialect,
    prefix: str,
) -> bool:
    """Whether a new text parses to the same tree, macros and comments."""
    try:
        again = read_pieces(written, dialect, prefix)
        other = parse_pieces(again, dialect, written, comments=True)
        documented = parse_pieces(pieces, dialect, text, comments=True)
    except (SqlglotError, MacroError, NotReadable):
        return False
    names = {
        plain_name(piece.token.text): piece.macro for piece in pieces if piece.macro is not None
    }
    others = {
        plain_name(piece.token.text): piece.macro for piece in again if piece.macro is not None
    }
    if list(names.values()) != list(others.values()):
        return False
    renamed = dict(zip(others, names, strict=True))
    if is_spark(dialect) and _by_spark(pieces, documented) != _by_spark(again, other):
        return False
    return _form(documented, {}) == _form(other, renamed)


def _by_spark(pieces: Sequence[Piece], tree: exp.Expr) -> tuple[object, ...]:
    """What matters to Spark in a text and is not in its tree: signs, words that may be columns."""
    return signs_in([each.token for each in pieces]), sorted(word for _, word in words_in(tree))


def _form(tree: exp.Expr, renamed: dict[str, str]) -> tuple[object, ...]:
    """A tree as values that can be compared: its meaning, and its comments with their places."""
    copy = tree.copy()
    for node in copy.walk():
        name = node.args.get("this")
        if isinstance(name, str):
            node.set("this", renamed.get(plain_name(name), plain_name(name)))
    found = [(_owner(node), each.strip()) for node in copy.walk() for each in node.comments or []]
    return canonical_form(copy), [each for _, each in found], sorted(found)


def _owner(node: exp.Expr) -> str:
    """The kind and the name of the node that a comment belongs to."""
    while isinstance(node, exp.Identifier) and node.parent is not None:
        node = node.parent
    return f"{type(node).__name__} {node.alias_or_name}"


def _inline(comments: Sequence[str]) -> list[str]:
    """Comments one after another, of which only the last one may end its line."""
    inline = [as_inline(each) or each for each in comments[:-1]]
    return [*inline, *comments[-1:]]
