"""Finding a model by its name, and what to say if there is none of that name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.core.errors import Refused
from vde_dagster.core.listing import some
from vde_dagster.core.names import InvalidName, ModelName

if TYPE_CHECKING:
    from vde_dagster.core.graph.graph import Graph, Node

ENVIRONMENT: Final = click.option(
    "--env",
    "--environment",
    "environment",
    type=options.environment,
    default=None,
    metavar="ENV",
    help="The models that ENV shows; by default those of the files, as a plan for prod has them.",
)


def chosen(graph: Graph, name: ModelName, *, catalog: str, where: str) -> Node:
    """The model of a name.

    Args:
        graph: The models to choose from.
        name: What somebody wrote.
        catalog: The project's own, which a name may leave out.
        where: What they are the models of, such as ``this project``.

    Raises:
        Refused: There is none; the text names one of a similar name.
    """
    name = name.within(catalog)
    if name in graph:
        return graph[name]
    same = [str(node.name) for node in graph if node.name.name == name.name]
    guess = nearest(str(name), same) or nearest(str(name), (str(node.name) for node in graph))
    advice = f"{guess or 'Its models: '}{_list(graph, guess)}"
    raise Refused(f"{where} has no model {name}", advice=advice)


def parsed(text: str, *, catalog: str) -> ModelName | None:
    """A model's name in the project of this catalog; None where the text is none."""
    try:
        return ModelName.parse(text).within(catalog)
    except InvalidName:
        return None


def nearest(word: str, known: Iterable[str]) -> str:
    """A question that offers what is written nearly like ``word``; empty where nothing is."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"Did you mean {close[0]}?" if close else ""


def _list(graph: Graph, guess: str) -> str:
    if guess:
        return ""
    return f"{some((node.name for node in graph), _LISTED)}."


_LISTED = 20
