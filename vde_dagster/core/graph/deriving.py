"""What follows from a model and the columns of what it reads: its canonical form and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.model.fingerprint import fingerprint
from vde_dagster.core.model.fit import misfits, unlaid
from vde_dagster.core.model.model import Model, Query, SeedRows
from vde_dagster.core.model.seed_rows import seed_columns
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import UNKNOWN_TYPE, CanonicalQuery, QueryInvalid, canonicalize

if TYPE_CHECKING:
    from vde_dagster.core.graph.graph import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What follows from a model and the columns of what it reads.

    ``data`` and ``metadata`` are these parts of its fingerprint.
    """

    canonical: CanonicalQuery | None
    columns: tuple[Column, ...]
    data: str
    metadata: str

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong with it that a project's files are refused for."""
        return self.canonical is None or not self.canonical.refusals


def derive(
    model: Model, nodes: Mapping[ModelName, Node], *, undeclared: bool, is_flawed: bool
) -> Derived:
    """What follows from a model and from the nodes that it reads.

    Args:
        model: The model.
        nodes: Those upstream of it, by name.
        undeclared: Whether a source upstream has no columns.
        is_flawed: Whether its header has problems, so that only its query is checked.

    Raises:
        QueryInvalid: The model does not fit what it reads, or itself.
    """
    canonical = None
    if isinstance(model.body, Query):
        canonical = canonicalize(
            model.body.expression,
            schemas=_schemas(model, nodes),
            undeclared=undeclared,
            text=model.body.text.query,
            is_stored=True,
        )
    columns = _columns(model, canonical)
    if canonical is not None and not canonical.refusals and not is_flawed:
        typed = [each for each in columns if not undeclared or each.type != UNKNOWN_TYPE]
        findings = list(misfits(model, canonical, typed, list(_embedded(model, nodes))))
        if findings:
            raise QueryInvalid(*findings)
    laid = list(unlaid(model, columns)) if not (is_flawed or model.kind.is_inlined) else []
    if laid:
        raise QueryInvalid(*laid)
    own = fingerprint(model, canonical, ())
    return Derived(canonical=canonical, columns=columns, data=own.data, metadata=own.metadata)


def _schemas(model: Model, nodes: Mapping[ModelName, Node]) -> dict[ModelName, tuple[Column, ...]]:
    """The columns of what a model's query reads; of itself those that it declares."""
    own = {model.name: model.columns} if model.reads_itself else {}
    return own | {parent: nodes[parent].columns for parent in model.parents}


def _embedded(
    model: Model, nodes: Mapping[ModelName, Node]
) -> Iterator[tuple[ModelName, exp.Query]]:
    """The queries of EMBEDDED models that are inlined in a model's own, each once."""
    waiting = list(model.parents)
    seen: set[ModelName] = set()
    while waiting:
        parent = nodes[waiting.pop(0)]
        if parent.name in seen or not parent.model.kind.is_embedded:
            continue
        seen.add(parent.name)
        waiting += parent.model.parents
        if parent.canonical is not None:
            yield parent.name, parent.canonical.expression


def _columns(model: Model, canonical: CanonicalQuery | None) -> tuple[Column, ...]:
    """Declared columns win over inferred types; a seed without any reads every column as text."""
    if canonical is not None and not canonical.columns:
        return ()
    declared = {column.name.lower(): column for column in model.columns}
    own = canonical.columns if canonical is not None else model.columns
    if isinstance(model.body, SeedRows) and not model.columns:
        own = seed_columns(model.body.text)
    names = {each.name.lower() for each in own}
    added = [each for each in model.kind.added_columns.values() if each.name not in names]
    return tuple(_column(each, declared.get(each.name.lower()), model) for each in (*own, *added))


def _column(found: Column, declared: Column | None, model: Model) -> Column:
    """A query's column, with the type that was declared for it and the description for people."""
    given = model.column_descriptions.get(found.name.lower(), "")
    stated = declared.description if declared is not None else ""
    return Column(
        name=found.name,
        type=declared.type if declared is not None else found.type,
        description=given or stated or found.description,
    )
