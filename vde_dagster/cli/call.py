"""One call of a command: on which project, on which of its models, and in which form it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click

from vde_dagster.cli.printing import Note, Printed, print_all, print_json
from vde_dagster.cli.spelling import there, vde
from vde_dagster.core.errors import Refused
from vde_dagster.core.listing import some
from vde_dagster.core.names import InvalidName, ModelName

if TYPE_CHECKING:
    from vde_dagster.app.services import Services
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.graph.graph import Graph, Node

_LISTED: Final = 20


@dataclass(frozen=True, kw_only=True)
class Call:
    """The project's ``folder``, and ``output``, which is json for programs."""

    folder: Path
    output: str

    @cached_property
    def project(self) -> VdeProject:
        """The project; its configuration is read when it is first needed."""
        from vde_dagster.composition import VdeProject

        return VdeProject.load(self.folder)

    @property
    def services(self) -> Services:
        """All ports of the project."""
        return self.project.services

    @property
    def catalog(self) -> str:
        """The name of the project's catalog, which names of models may leave out."""
        return self.project.configuration.catalog.name

    @property
    def is_json(self) -> bool:
        """Whether a program asks."""
        return self.output == "json"

    def answer(
        self,
        document: Mapping[str, object] | Callable[[], Mapping[str, object]],
        texts: Iterable[Printed] = (),
        *,
        otherwise: str = "",
    ) -> None:
        """Print what was found: the document for programs, or else the texts for people.

        ``otherwise`` is said on standard error where there is no text.
        """
        if self.is_json:
            print_json(document() if callable(document) else document)
        else:
            found = [*texts]
            print_all(found or ([Note(otherwise)] if otherwise else []))

    def model(self, graph: Graph, name: ModelName, where: str = "this project") -> Node:
        """The model of a name that a user wrote; ``where`` is what it is to be a model of.

        Raises:
            Refused: There is none; the text names one of a similar name.
        """
        from vde_dagster.core.sql.unresolved import guess

        name = name.within(self.catalog)
        if name in graph:
            return graph[name]
        every = [node.name for node in graph]
        same = [str(each) for each in every if each.name == name.name]
        close = guess(str(name), same) or guess(str(name), [*map(str, every)])
        advice = close.strip() or f"Its models: {some(every, _LISTED)}."
        raise Refused(f"{where} has no model {name}", advice=advice)

    def name(self, text: str) -> ModelName:
        """The name of a model that a text is.

        Raises:
            Refused: It is none.
        """
        try:
            return ModelName.parse(text).within(self.catalog)
        except InvalidName as error:
            message = f"{text!r} is not a valid model name"
            raise Refused(message, advice="write `schema.model`.") from error

    def vde(self, *words: str | Path) -> str:
        """A command on this project, to be copied."""
        return vde(*words, *there(self.folder))

    def end(self, code: int = 1) -> NoReturn:
        """End the command with an exit code."""
        click.get_current_context().exit(code)
