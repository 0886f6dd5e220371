"""The size of the code by package: lines of code, Python's tokens in them, files.

A line of code has a token that is no comment and no docstring; so has what is counted as a token.
"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.measuring import Settings

_ROOT: Final = Path(__file__).parents[1]
_NO_CODE: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Size(NamedTuple):
    """Of some files."""

    lines: int
    tokens: int
    files: int


def size_of(folder: Path) -> Size:
    """The size of all Python files in a folder."""
    counts = [_counts(path) for path in folder.rglob("*.py")]
    lines, tokens = (sum(each) for each in zip(*counts, strict=True)) if counts else (0, 0)
    return Size(lines=lines, tokens=tokens, files=len(counts))


def _counts(path: Path) -> tuple[int, int]:
    """Lines of code and tokens of a file."""
    docstrings = set(_docstrings(ast.parse(path.read_bytes())))
    with tokenize.open(path) as file:
        tokens = [
            each
            for each in tokenize.generate_tokens(file.readline)
            if each.type not in _NO_CODE and each.start not in docstrings
        ]
    lines = {line for each in tokens for line in range(each.start[0], each.end[0] + 1)}
    return len(lines), len(tokens)


def _docstrings(module: ast.Module) -> Iterator[tuple[int, int]]:
    """Where texts begin that are statements by themselves."""
    for node in ast.walk(module):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=line, col_offset=column):
                yield line, column


def main(_: Settings) -> None:
    """Print the sizes of the package's parts, of the package, and of the tests."""
    package = _ROOT / "vde_dagster"
    parts = sorted(each for each in package.iterdir() if any(each.glob("*.py")))
    print(f"{'':24} {'lines':>8} {'tokens':>9} {'files':>6}")
    for folder in (*parts, package, _ROOT / "tests"):
        size = size_of(folder)
        name = folder.relative_to(_ROOT)
        print(f"{name!s:24} {size.lines:8,} {size.tokens:9,} {size.files:6,}")
