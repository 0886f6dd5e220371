"""Finding the line of an author's file at which an engine failed.

An engine names a part of the text that it ran. That text is the author's with other names of tables
and without macros (rule R13), so a position in it is none in the file: the part is found as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import TokenType, tokenize
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token

from vde_dagster.core.errors import Place
from vde_dagster.core.graph.checks import place_in
from vde_dagster.core.model.model import Model, Query
from vde_dagster.core.sql.unresolved import line_of


def place_of_failure(model: Model, fragment: str, ran: Sequence[str]) -> Place:
    """The line of a model's file that has a fragment of what ran; else that of its query.

    Args:
        model: The model.
        fragment: The part of the SQL that an engine names; empty if it names none.
        ran: All SQL that it ran for the model: the query, and the statements around it.
    """
    line = _line_of_fragment(fragment, model.source.text, "\n;\n".join(ran)) if fragment else None
    if line is None and isinstance(model.body, Query):
        line = line_of(model.body.expression)
    return place_in(model, line)


def _line_of_fragment(fragment: str, file: str, ran: str) -> int | None:
    """None where the file has it on no line or on several, or not as often as what ran has it.

    What ran has it more often where a view stands in the query, and a macro may have written it.
    """
    try:
        sought, executed = tokenize(fragment, read="spark"), tokenize(ran, read="spark")
        written = _without_header(tokenize(file, read="spark"))
    except TokenError:  # a file in another dialect, or of Python
        return None
    lines = list(_lines_with(sought, written))
    same = len(lines) == len(list(_lines_with(sought, executed)))
    return lines[0] if same and len(set(lines)) == 1 else None


def _without_header(tokens: list[Token]) -> list[Token]:
    """The tokens behind a MODEL block, where a file has one."""
    if not tokens or tokens[0].text.upper() != "MODEL":
        return tokens
    ends = (at for at, token in enumerate(tokens) if token.token_type is TokenType.SEMICOLON)
    return tokens[next(ends, -1) + 1 :]


def _lines_with(sought: Sequence[Token], tokens: Sequence[Token]) -> Iterator[int]:
    """The line of each place at which tokens are the sought ones, in any case and any quotes."""
    words = [_word(each) for each in sought]
    texts = [_word(each) for each in tokens]
    for start in range(len(texts) - len(words) + 1):
        if texts[start : start + len(words)] == words:
            yield tokens[start].line


def _word(token: Token) -> tuple[bool, str]:
    return token.token_type is TokenType.STRING, token.text.casefold()
