"""Projects of a few models over two sources, as values and as the texts of their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.core.planning.changes.proof.queries import (
    DAY,
    INT,
    LIST,
    TEXT,
    Columns,
    Query,
    Relations,
)
from tests.core.planning.changes.proof.scopes import outputs, repaired, sites

RAW: Mapping[str, Columns] = {
    "raw.t": {"a": INT, "g": INT, "b": TEXT, "day": DAY, "e": LIST},
    "raw.u": {"a": INT, "g": INT, "b": TEXT, "day": DAY},
}
HIDDEN: Columns = {"h1": INT, "h2": TEXT}
"""Columns that the sources' tables have, and that no project declares at first."""
BY_TIME = "INCREMENTAL_BY_TIME_RANGE (time_column day)"
KINDS = ("FULL", "VIEW", "EMBEDDED", BY_TIME)
FIRST, BEHIND = "2024-01-01", "2024-01-04"
BETWEEN_DAYS = "BETWEEN @start_date AND @end_date"
"""The range that models of intervals are evaluated for: three days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model and its properties."""

    name: str
    kind: str
    query: Query
    properties: str = ""

    def text(self) -> str:
        """Its file."""
        header = f"MODEL (name {self.name}, kind {self.kind}{self.properties});"
        return f"{header}\n{self.query.sql({})}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Sources and models, parents first. The columns of sources in ``undeclared`` are not known."""

    sources: Mapping[str, Columns]
    models: tuple[Model, ...]
    undeclared: frozenset[str] = frozenset()

    def texts(self) -> dict[str, str]:
        """The files of the models by their names."""
        return {each.name: each.text() for each in self.models}

    def readers(self, name: str) -> list[str]:
        """The models that read one."""
        return [each.name for each in self.models if f"{name} AS" in each.query.sql({})]

    def relations(self, before: int | None = None) -> Relations:
        """What a model can read: the sources, and the models before it."""
        known = dict(self.sources)
        for each in self.models[:before]:
            known[each.name] = outputs(each.query, known)
        return known

    def with_model(self, index: int, model: Model) -> Project:
        """The project with another model in place of one."""
        models = (*self.models[:index], model, *self.models[index + 1 :])
        return replace(self, models=models)


def repaired_project(project: Project) -> Project:
    """A project that loads: every model reads what there is, those upstream being repaired."""
    known = dict(project.sources)
    models: list[Model] = []
    for each in project.models:
        models.append(repaired_kind(replace(each, query=repaired(each.query, known)), known))
        known[each.name] = outputs(models[-1].query, known)
    return replace(project, models=tuple(models))


def repaired_kind(model: Model, relations: Relations) -> Model:
    """A model whose kind fits its query.

    Intervals need a day that is read and one that is returned; what has no table knows of none.
    """
    if model.kind in ("VIEW", "EMBEDDED") and BETWEEN_DAYS in model.query.sql({}):
        return replace(model, kind="FULL")
    if model.kind != BY_TIME:
        return model
    read = any(
        BETWEEN_DAYS in each.text and each.refs[0].alias
        for site in sites(model.query, relations)
        for each in site.select.where
    )
    fits = read and outputs(model.query, relations).get("day") == DAY
    return model if fits else replace(model, kind="FULL")
