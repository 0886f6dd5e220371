"""The page of all commands, from what click knows of them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from docs_site.tables import escaped, filled, table
from vde_dagster.cli.commands import COMMANDS, vde

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD: Final = Path(__file__).with_name("commands.md")
"""What the page has before the first command."""
OF_EVERY_COMMAND: Final = frozenset({"--project", "--debug"})
"""Options that the head of the page has once."""


def command_page() -> str:
    """The page in Markdown: all commands in the order of `vde --help`, each with its options."""
    root = click.Context(vde, info_name="vde")
    rows = [(f"[`vde {name}`](#vde-{name})", text) for name, text in COMMANDS.items()]
    head = HEAD.read_text("utf-8").replace("../docs/reference/", "")
    parts = [filled(head, {"commands": lambda: table(["command", ""], rows)})]
    for name in vde.list_commands(root):
        parts += _section(vde.get_command(root, name), name, root)
    return "\n\n".join(parts)


def _section(command: click.Command | None, name: str, above: click.Context) -> Iterator[str]:
    """A command's heading, usage, help and options, then the same of the commands below it."""
    assert command is not None
    context = click.Context(command, info_name=name, parent=above)
    path = context.command_path
    yield f"{'#' * len(path.split())} `{path}` {{ #{path.replace(' ', '-')} }}"
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    yield f"```console\n$ {usage}\n```"
    yield escaped(inspect.cleandoc(command.help or ""))
    options = [each for each in command.params if isinstance(each, click.Option)]
    shown = [each for each in options if not each.hidden and OF_EVERY_COMMAND.isdisjoint(each.opts)]
    if shown:
        yield table(["option", ""], [_option_row(each, context) for each in shown])
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _section(command.get_command(context, below), below, context)


def _option_row(option: click.Option, context: click.Context) -> tuple[str, str]:
    value = "" if option.is_flag or option.count else f" {option.make_metavar(context)}"
    names = ", ".join(f"`{each}{value}`" for each in (*option.opts, *option.secondary_opts))
    about = [escaped(" ".join((option.help or "").split()))]
    if option.multiple and "Repeatable" not in about[0]:
        about.append("Repeatable.")
    if option.required:
        about.append("Required.")
    if default := option.get_help_extra(context).get("default"):
        about.append(f"Default: `{default}`.")
    return names, " ".join(about)
