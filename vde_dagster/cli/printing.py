"""Where text and JSON go: facts to standard output, progress to standard error."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final, TypeAlias

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

Printed: TypeAlias = "str | Note | RenderableType"
"""What an answer for people is made of."""
CONTRACT: Final = 1
"""Version of every JSON document. Fields may be added to it; none is removed or changed."""

_WIDTH: Final = 120
_WORD: Final = 10
"""The narrowest that a longer cell gets: a date has so many characters."""
_COMMAND: Final = re.compile(r"`(vde [^`]+)`")
_GLUE: Final = "\ue000"
"""Stands for a space where no line may end; no text has it."""


def console(*, err: bool = False) -> Console:
    """A console on standard output or error; 120 wide where that is not a terminal.

    Texts are printed as they are: rows, names and reasons may have brackets and colons, which are
    neither markup nor names of pictures.
    """
    from rich.console import Console

    made = Console(stderr=err, highlight=False, markup=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _WIDTH
    return made


def table(
    *columns: str,
    title: str | None = None,
    right: Collection[str] = (),
    whole: Collection[str] = (),
    rows: Iterable[Sequence[str | Text]] = (),
) -> Table:
    """A table for people.

    Args:
        columns: Its columns.
        title: What stands above it.
        right: The columns of numbers, which are aligned right and have one line.
        whole: The other columns whose cells have one line. In all others long words are broken.
        rows: The cells of each row.
    """
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in columns:
        made.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=name in whole or name in right,
            overflow="fold",
        )
    for row in rows:
        made.add_row(*row)
    return made


def note(text: str) -> None:
    """Tell a person something on standard error."""
    click.echo(text, err=True)


@dataclass(frozen=True, slots=True)
class Note:
    """A text for a person that is not a fact: it goes to standard error."""

    text: str


def print_all(texts: Iterable[Printed]) -> None:
    """Print an answer for people: lines, which end where they end, and tables and trees of rich."""
    for each in texts:
        if isinstance(each, Note):
            note(each.text)
        elif isinstance(each, str):
            click.echo(each)
        else:
            from rich.table import Table
            from rich.text import Text

            out = console()
            if isinstance(each, Table):
                out.width = max(out.width, _narrowest(each))
            out.print(each, soft_wrap=isinstance(each, Text))


def _narrowest(table: Table) -> int:
    """The width below which numbers and names would be cut; a narrower terminal breaks lines."""
    from rich.cells import cell_len

    width = 2
    for column in table.columns:
        widest = max(cell_len(str(each)) for each in (column.header, *column.cells))
        width += 3 + (widest if column.no_wrap else min(widest, _WORD))
    return width


def commands_in(texts: Iterable[str]) -> tuple[str, ...]:
    """The commands that texts name, in backticks, each once."""
    return tuple(dict.fromkeys(each for text in texts for each in _COMMAND.findall(text)))


def named_commands(texts: Iterable[str]) -> Iterator[str]:
    """The lines with the commands that texts of a table name, to be copied: cells break lines.

    Each has a line of its own, however long it is. There are none where no text names one.
    """
    commands = commands_in(texts)
    if commands:
        yield "The commands that are named above:"
        yield "".join(f"  {each}\n" for each in commands)


def glued(text: str) -> str:
    """A text that has no place within a command at which a line could end; see `unglued`."""
    return _COMMAND.sub(lambda found: found[0].replace(" ", _GLUE), text)


def unglued(text: str) -> str:
    """A part of what `glued` gave, as it is printed."""
    return text.replace(_GLUE, " ")


def print_json(document: Mapping[str, object]) -> None:
    """Print one document of results, with the version of its contract first."""
    from vde_dagster.cli.facts import facts

    written = facts({"version": CONTRACT, **document})
    click.echo(json.dumps(written, indent=2, allow_nan=False))


def as_json(value: object) -> object:
    """A cell as JSON: times in ISO-8601 UTC, decimals and what JSON lacks as text."""
    plain: object = str(value)
    match value:
        case None | bool() | int() | str():
            plain = value
        case float():
            plain = value if math.isfinite(value) else str(value)
        case datetime():
            plain = instant(value)
        case date():
            plain = value.isoformat()
        case bytes() | bytearray():
            plain = bytes(value).hex()
        case dict():
            plain = {str(key): as_json(each) for key, each in value.items()}
        case list() | tuple() | set():
            plain = [as_json(each) for each in value]
        case _:
            pass
    return plain


def instant(value: datetime) -> str:
    """A time as ISO-8601 in UTC; one without a zone stays without."""
    return (value.astimezone(UTC) if value.tzinfo else value).isoformat()


def as_text(value: object) -> str:
    """A cell for people: nothing for null, thousands in groups, times without seconds of zero."""
    from vde_dagster.core.time.intervals import format_instant

    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case datetime():
            return format_instant(
                value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
            )
        case _:
            return str(as_json(value))
