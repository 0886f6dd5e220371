"""Declaring sources from the catalog's tables, compared with ``external_models.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from vde_dagster.core.names import ModelName, TableName
from vde_dagster.ports.catalog import Catalog, TableState
from vde_dagster.project.file_writing import read_as_written, replace_text
from vde_dagster.project.sources.external_entries import SourceTable, canonical_type
from vde_dagster.project.sources.external_models import Refreshed, refresh

COMMENT = "comment"
"""The table property in which Spark keeps a table's comment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What the catalog has of some sources.

    ``missing`` are those without an Iceberg table. ``untyped`` are tables that cannot be declared,
    with the names of columns whose types Spark has no name for.
    """

    tables: Mapping[ModelName, SourceTable]
    missing: tuple[ModelName, ...]
    untyped: Mapping[ModelName, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What the file would become. ``unread`` are its entries that no model reads; they stay."""

    path: Path
    before: str | None
    refreshed: Refreshed
    survey: Survey
    unread: tuple[ModelName, ...]

    @property
    def changes(self) -> bool:
        """Whether the file would differ."""
        return self.refreshed.text != (self.before or "")

    @property
    def undeclared(self) -> tuple[ModelName, ...]:
        """Sources that models read, and that neither the file nor the catalog knows."""
        unknown = (*self.survey.missing, *self.survey.untyped)
        return tuple(sorted(set(unknown) - set(self.refreshed.declared)))


def survey_sources(catalog: Catalog, names: Iterable[ModelName]) -> Survey:
    """Look each source up in the catalog's metadata."""
    tables: dict[ModelName, SourceTable] = {}
    missing: list[ModelName] = []
    untyped: dict[ModelName, tuple[str, ...]] = {}
    for name in names:
        found = catalog.table(TableName(name.schema, name.name, name.catalog))
        if found is None:
            missing.append(name)
        elif strange := _untyped(found):
            untyped[name] = strange
        else:
            tables[name] = SourceTable(
                columns=found.columns, description=found.properties.get(COMMENT, "")
            )
    return Survey(tables=tables, missing=tuple(missing), untyped=untyped)


def declare_sources(
    catalog: Catalog, path: Path, read: Iterable[ModelName], *, name: str
) -> Declaration:
    """What ``external_models.yaml`` would become; nothing is written.

    Args:
        catalog: Where the sources are.
        path: The file, which may not exist yet.
        read: The sources that models read.
        name: The name of the project's own catalog.

    Raises:
        ProjectInvalid: The file is not a list of sources.
        Refused: The file cannot be read, or is written in a way that cannot be edited.
    """
    names = tuple(read)
    before = read_as_written(path)
    survey = survey_sources(catalog, names)
    refreshed = refresh(before or "", survey.tables, catalog=name, path=Path(path.name))
    return Declaration(
        path=path,
        before=before,
        refreshed=refreshed,
        survey=survey,
        unread=tuple(sorted(set(refreshed.declared) - set(names))),
    )


def write_declaration(declaration: Declaration) -> None:
    """Write the file if it changes.

    Raises:
        Conflict: It was changed meanwhile.
        Refused: It cannot be written.
    """
    if declaration.changes:
        replace_text(declaration.path, declaration.before, declaration.refreshed.text)


def _untyped(table: TableState) -> tuple[str, ...]:
    return tuple(each.name for each in table.columns if canonical_type(each.type) is None)
