"""Plain English: `python -m tests.packaging.language FILES...` prints what is wrong with files."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MOST_WORDS: Final = 40
INSTEAD: Final = {
    r"\b(?:is|are|was|were|be|been|being) told\b(?! from| apart)": "reported, known, configured",
    r"\b(?:it|that|which|tables?|rows?|files?|state|ledger) st(?:ands?|ood)\b(?! for)": "is",
    r"\b(?:rows|files|tables?) (?:lie|lies|lay)\b": "is, are stored",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\banew\b": "again, rebuilt",
    r"\b(?:somebody|nobody|whoever)\b": "the actor: a user, another process, no environment",
    r"(?<!there\s)\b(?:is|are|was|were) no (?!\w+er\b|more|less|differen|change)\w+": "is not a",
    r"\bnot there\b": "missing, not found",
    r"\b(?:models|runs|processes|threads) at once\b": "concurrently",
    r"\bbook(?:ed|ings?)\b": "recorded",
    r"\bkept as (?:it is|they are)\b": "reused, unchanged",
    r"\bmay be others?\b": "may change",
    r"\bwhat (?:is|was) (?:late|changed|stale)\b": "late inputs, missing rows",
    r"\bbrought along\b": "imported",
    r"\bbegun\b": "started",
    r"\bto its end\b": "until it finishes",
    r"\bin its way\b": "blocks it",
    r"\b(?:is|are) at it\b": "is working on it",
    r"(?<!-)\bgone\b": "missing, dropped, expired",
}
"""Forms, as patterns without regard to case, and what to write instead."""

_FORMS: Final = re.compile(
    "|".join(f"({each})" for each in INSTEAD).replace(" ", r"\s+"), re.IGNORECASE
)
_FENCE: Final = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_SKIPPED: Final = re.compile(
    r"^\s*(?:\||#{1,6}\s|</?[a-zA-Z!]|:::|[-*_]{3,}\s*$|\[[^]]+\]:\s|!!!|\?\?\?|===)"
)
_ITEM: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_END: Final = re.compile(r"(?<=[.!?])[\"”)*_]*\s+(?=[\"“(\[*_]*[A-Z0-9`])")


def words_of_list(text: str) -> Iterator[tuple[int, str, str]]:
    """The forms of the list in a text: line, the words, and what to write instead."""
    for found in _FORMS.finditer(text):
        instead = list(INSTEAD.values())[(found.lastindex or 0) - 1]
        yield text.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), instead


def prose(page: str) -> str:
    """A page of Markdown with its lines, but without code."""
    page = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), page)
    return re.sub(r"(`+)(?:.|\n)+?\1", lambda found: "`x`" + "\n" * found[0].count("\n"), page)


def sentences(page: str) -> list[str]:
    """The sentences of a page's paragraphs and list items; a span of code is one word."""
    blocks, block = [""], ""
    for line in [*prose(page).splitlines(), ""]:
        if not line.strip() or line.startswith("    ") or _SKIPPED.match(line) or _ITEM.match(line):
            blocks, block = [*blocks, block], ""
        if not _SKIPPED.match(line) and not line.startswith("        "):
            block = f"{block} {_ITEM.sub('', line).lstrip('> ')}".strip()
    plain = (re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", each) for each in blocks)
    return [part for each in plain for part in _END.split(each) if length(part) > 2]


def length(sentence: str) -> int:
    """The number of its words."""
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


def wrong(path: Path) -> Iterator[str]:
    """What the list says of a file, each with its line."""
    text = path.read_text("utf-8")
    if not _FORMS.search(text):
        return
    texts = [(1, prose(text))]
    if path.suffix == ".py":
        values = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Constant)]
        texts = [(each.lineno, each.value) for each in values if isinstance(each.value, str)]
    for first, each in texts:
        for line, found, instead in words_of_list(each):
            yield f"{path}:{first + line - 1}: {found!r}: write {instead}"


def too_long(path: Path) -> Iterator[str]:
    """The sentences of a page with more than `MOST_WORDS` words."""
    for each in sentences(path.read_text("utf-8")):
        if length(each) > MOST_WORDS:
            yield f"{path}: {length(each)} words: {each}"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        print(*wrong(path), *(too_long(path) if path.suffix == ".md" else ()), sep="\n", end="")
