"""Small edits of a text in Spark's SQL: a literal, an argument, an operator, a parenthesis, a name.

They work on words and signs only, so that they also edit what a parser would lose. Whether Spark
accepts the result is not checked.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tests.lakehouse.spark_pairs.words import (
    BRACKETED,
    CLAUSES,
    NAMED_BY_WORD,
    NEIGHBOURS,
    NO_OPERAND,
    OPERATORS,
    PREFIXES,
    REWRITES,
)

_TOKEN: Final = re.compile(
    r"""[rRxX]?'(?:[^'\\]|\\.|'')*' | [rR]?"(?:[^"\\]|\\.|"")*" | `(?:[^`]|``)*`
      | \d+\.\d*(?:[eE][+-]?\d+)?\w* | \.\d+\w* | \d+[eE][+-]?\d+\w* | \w+
      | <=> | >>> | << | >> | <= | >= | <> | != | == | \|\| | :: | -> | => | \S""",
    re.VERBOSE | re.DOTALL,
)
_NAME: Final = re.compile(r"[^\W\d]\w*|`.*`", re.DOTALL)
_TEXT: Final = re.compile(r"[rRxX]?'.*'|[rR]?\".*\"", re.DOTALL)
_NUMBER: Final = re.compile(r"\.?\d.*")


class Edit(Enum):
    """What is edited."""

    PARENTHESIS = "a parenthesis is added, removed or moved"
    SWAP = "two operands or arguments change places"
    OPERATOR = "an operator, a word or a function is replaced by one like it"
    PREFIX = "a sign stands in front of an operand, or no longer does"
    LITERAL = "a literal is another one"
    ARGUMENT = "an argument is dropped or added"
    CASE = "a name or a text is in another case"
    REWRITE = "something is written in words that may mean the same, or nearly"


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a sign, and where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Written:
    """A text and its tokens; ``partner`` has for each bracket the place of the other one."""

    text: str
    tokens: Sequence[Token]
    partner: dict[int, int]

    @staticmethod
    def of(text: str) -> Written:
        """Read a text; brackets that have no partner are signs like others."""
        tokens = [Token(each[0], each.start(), each.end()) for each in _TOKEN.finditer(text)]
        partner, waiting = dict[int, int](), list[int]()
        for at, token in enumerate(tokens):
            if token.text.upper() in _OPENING:
                waiting.append(at)
            elif token.text.upper() in _CLOSING and waiting:
                partner[at] = waiting.pop()
                partner[partner[at]] = at
        return Written(text, tokens, partner)

    def slice(self, first: int, last: int) -> str:
        """The text from one token to another, both within."""
        return self.text[self.tokens[first].start : self.tokens[last].end]

    def replaced(self, *changes: tuple[int, int, str]) -> str:
        """The text with other ones from one token to another; no two of them overlap."""
        text = self.text
        for first, last, new in sorted(changes, reverse=True):
            text = f"{text[: self.tokens[first].start]}{new}{text[self.tokens[last].end :]}"
        return text

    def is_name(self, at: int) -> bool:
        """Whether a word may be a name: of a column, a field, a function."""
        return _NAME.fullmatch(self.tokens[at].text) is not None

    def is_operand(self, at: int) -> bool:
        """Whether a token may be an operand, or the last one of it."""
        token = self.tokens[at].text
        return token.upper() not in NO_OPERAND and _OPERAND.match(token) is not None

    def is_start(self, at: int) -> bool:
        """Whether an operand may start with a token."""
        token, before = self.tokens[at].text, self.tokens[at - 1].text if at else ""
        if before.upper() in {".", "::", "IS", "AS", "DISTINCT"} or (
            at and self.is_operand(at - 1)
        ):
            return False
        return self.is_operand(at) and token not in {")", "]", "["} and not self.is_call(at)

    def is_call(self, at: int) -> bool:
        """Whether an opening bracket is that of a call."""
        before = self.tokens[at - 1].text if at else ""
        return self.tokens[at].text == "(" and (
            (at > 0 and self.is_name(at - 1) and before.upper() not in NO_OPERAND)
            or before.upper() in NAMED_BY_WORD
        )

    def operand_end(self, at: int) -> int:
        """The last token of the operand that starts at one: a call with its arguments, a path."""
        last = self.partner.get(at, at)
        while last + 1 < len(self.tokens):
            token = self.tokens[last + 1].text
            if token in {"(", "["} and last + 1 in self.partner:
                last = self.partner[last + 1]
            elif token in {".", "::"} and last + 2 < len(self.tokens):
                last += 2
            else:
                return last
        return last

    def operand_start(self, at: int) -> int:
        """The first token of the operand that ends at one."""
        first = self.partner.get(at, at)
        while first > 0:
            token, before = self.tokens[first].text, self.tokens[first - 1].text
            if token in {"(", "["} and (self.is_call(first) or token == "["):
                first = self.partner.get(first - 1, first - 1)
            elif before in {".", "::"} and first > 1:
                first = self.partner.get(first - 2, first - 2)
            else:
                return first
        return first

    def groups(self) -> list[int]:
        """The opening brackets around operands: no call's, and none that a word asks for."""
        return [
            at
            for at, token in enumerate(self.tokens)
            if token.text == "(" and at in self.partner and not self.is_call(at)
            if not at or self.tokens[at - 1].text.upper() not in BRACKETED
            if self.tokens[at + 1].text.upper() not in {"SELECT", ")"}
            if len(list(self._listed(at))) == 1
        ]

    def arguments(self) -> list[list[tuple[int, int]]]:
        """The arguments of each call: the first and last token of each."""
        return [
            list(self._listed(at))
            for at in range(len(self.tokens))
            if at in self.partner and self._is_list(at) and self.partner[at] > at + 1
        ]

    def _is_list(self, at: int) -> bool:
        return self.is_call(at) or (at > 0 and self.tokens[at - 1].text.upper() == "IN")

    def _listed(self, opening: int) -> Iterator[tuple[int, int]]:
        first, at = opening + 1, opening + 1
        while at < self.partner[opening]:
            if self.tokens[at].text == ",":
                yield first, at - 1
                first = at + 1
            at = max(at, self.partner.get(at, at)) + 1
        yield first, self.partner[opening] - 1


_OPENING: Final = frozenset(("(", "[", "CASE"))
_CLOSING: Final = frozenset((")", "]", "END"))
_OPERAND: Final = re.compile(r"[\w'\"`()\]]|\.\d")


def edited(text: str, choices: random.Random, edits: Sequence[Edit]) -> str:
    """A text with one random edit of these kinds; the same where there is none that it takes."""
    written = Written.of(text)
    for edit in choices.sample(edits, len(edits)):
        found = _EDITS[edit](written, choices)
        if found is not None and found != text:
            return found
    return text


def _parenthesis(written: Written, choices: random.Random) -> str | None:
    how = choices.choice(("add", "add", "remove", "move"))
    if how == "add" or not written.groups():
        return _wrapped(written, choices)
    opening = choices.choice(written.groups())
    closing = written.partner[opening]
    bare = written.replaced((opening, opening, " "), (closing, closing, " "))
    return bare if how == "remove" else _wrapped(Written.of(bare), choices)


def _wrapped(written: Written, choices: random.Random) -> str | None:
    """Parentheses around some operands that follow one another, with the signs between them."""
    starts = [
        at for at in range(len(written.tokens)) if written.is_start(at) or _is_prefix(written, at)
    ]
    for _ in range(_TRIES):
        if not starts:
            return None
        first = choices.choice(starts)
        ends = list(_ends(written, first))
        if ends:
            last = choices.choice(ends)
            return written.replaced((first, last, f"({written.slice(first, last)})"))
    return None


def _ends(written: Written, first: int) -> Iterator[int]:
    """Where parentheses that open before a token may close."""
    at = first
    while at < len(written.tokens) and at - first < _LONGEST:
        token = written.tokens[at].text
        if token == "," or token.upper() in _CLOSING or token.upper() in CLAUSES:
            return
        at = max(at, written.partner.get(at, at))
        ends = written.is_operand(at) and not _is_called(written, at)
        if ends and (at > first or _binds(written, at)):
            yield at
        at += 1


def _binds(written: Written, at: int) -> bool:
    """Whether parentheses around one word are next to something that binds tighter than signs."""
    around = written.tokens[max(at - 1, 0) : at + 2 : 2]
    return any(each.text.upper() in {*PREFIXES, "::", "[", "."} for each in around)


def _is_prefix(written: Written, at: int) -> bool:
    return written.tokens[at].text.upper() in PREFIXES and not (at and written.is_operand(at - 1))


def _is_called(written: Written, at: int) -> bool:
    return at + 1 < len(written.tokens) and written.is_call(at + 1)


_LONGEST: Final = 24
_TRIES: Final = 5


def _swap(written: Written, choices: random.Random) -> str | None:
    calls = [each for each in written.arguments() if len(each) > 1]
    if calls and choices.random() < _OF_CALLS:
        one, other = sorted(choices.sample(choices.choice(calls), 2))
    else:
        places = [
            at
            for at in range(1, len(written.tokens) - 1)
            if written.tokens[at].text.upper() in OPERATORS and written.is_operand(at - 1)
        ]
        if not places:
            return None
        at = choices.choice(places)
        one = (written.operand_start(at - 1), at - 1)
        other = (at + 1, written.operand_end(at + 1))
    return written.replaced((*one, written.slice(*other)), (*other, written.slice(*one)))


_OF_CALLS: Final = 0.4


def _operator(written: Written, choices: random.Random) -> str | None:
    places = [at for at, token in enumerate(written.tokens) if token.text.upper() in NEIGHBOURS]
    if not places:
        return None
    at = choices.choice(places)
    return written.replaced((at, at, choices.choice(NEIGHBOURS[written.tokens[at].text.upper()])))


def _prefix(written: Written, choices: random.Random) -> str | None:
    prefixed = [at for at in range(len(written.tokens) - 1) if _is_prefix(written, at)]
    if prefixed and choices.random() < _OF_CALLS:
        at = choices.choice(prefixed)
        return written.replaced((at, at, " "))
    places = [at for at in range(len(written.tokens)) if written.is_start(at)]
    if not places:
        return None
    at = choices.choice(places)
    return written.replaced((at, at, f"{choices.choice(PREFIXES)} {written.tokens[at].text}"))


def _literal(written: Written, choices: random.Random) -> str | None:
    places = [
        at
        for at, token in enumerate(written.tokens)
        if _NUMBER.fullmatch(token.text) or _TEXT.fullmatch(token.text)
    ]
    if not places:
        return None
    at = choices.choice(places)
    return written.replaced((at, at, _other_literal(written.tokens[at].text, choices)))


def _other_literal(literal: str, choices: random.Random) -> str:
    if _NUMBER.fullmatch(literal):
        ways = (f"{literal}0", f"1{literal}", f"-{literal}", f"{literal}L", f"{literal}.0", "0")
        return choices.choice((*ways, f"'{literal}'"))
    quote, inner = literal[-1], literal[literal.index(literal[-1]) + 1 : -1]
    start = literal[: literal.index(quote) + 1]
    at = choices.randrange(len(inner) + 1)
    ways = (
        inner.swapcase(),
        f"{inner} ",
        f" {inner}",
        f"{inner[:at]}{inner[at + 1 :]}",
        f"{inner[:at]}0{inner[at:]}",
        f"{inner[:at]}{inner[at : at + 1].swapcase()}{inner[at + 1 :]}",
    )
    return f"{start}{choices.choice(ways)}{quote}"


def _argument(written: Written, choices: random.Random) -> str | None:
    calls = written.arguments()
    if not calls:
        return None
    call = choices.choice(calls)
    at = choices.randrange(len(call))
    first, last = call[at]
    if last < first:
        return None
    if choices.random() < _DROPPED and len(call) > 1:
        kept = call[at - 1] if at else call[1]
        ends = (min(first, kept[0]), max(last, kept[1]))
        return written.replaced((*ends, written.slice(*kept)))
    extra = choices.choice(("1", "NULL", "'a'", "true", written.slice(first, last)))
    return written.replaced((first, last, f"{written.slice(first, last)}, {extra}"))


_DROPPED: Final = 0.5


def _case(written: Written, choices: random.Random) -> str | None:
    places = [
        at
        for at, token in enumerate(written.tokens)
        if written.is_name(at) or (_TEXT.fullmatch(token.text) and token.text.swapcase())
    ]
    if not places:
        return None
    at = choices.choice(places)
    token = written.tokens[at].text
    return written.replaced((at, at, choices.choice((token.swapcase(), token.title()))))


def _rewrite(written: Written, choices: random.Random) -> str | None:
    for pattern, new in choices.sample(REWRITES, len(REWRITES)):
        found = list(pattern.finditer(written.text))
        if found:
            at = choices.choice(found)
            return written.text[: at.start()] + at.expand(new) + written.text[at.end() :]
    return None


_EDITS: Final[dict[Edit, Callable[[Written, random.Random], str | None]]] = {
    Edit.PARENTHESIS: _parenthesis,
    Edit.SWAP: _swap,
    Edit.OPERATOR: _operator,
    Edit.PREFIX: _prefix,
    Edit.LITERAL: _literal,
    Edit.ARGUMENT: _argument,
    Edit.CASE: _case,
    Edit.REWRITE: _rewrite,
}
