"""The models of a project as a graph, parents first, with canonical forms and fingerprints."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from graphlib import CycleError, TopologicalSorter

from sqlglot import exp

from vde_dagster.core.dsha import Column
from vde_dagster.core.errors import Finding, Place, Problem, ProjectInvalid
from vde_dagster.core.fingerprint import Fingerprint, fingerprint
from vde_dagster.core.kind import Embedded, External, ScdType2ByColumn, ScdType2ByTime
from vde_dagster.core.model import Model, Query, SeedRows
from vde_dagster.core.model_fit import misfits
from vde_dagster.core.names import ModelName
from vde_dagster.core.seed_rows import seed_columns
from vde_dagster.core.sql.canonical import (
    UNKNOWN_TYPE,
    CanonicalQuery,
    QueryInvalid,
    canonicalize,
)
from vde_dagster.core.sql.table_names import name_of_table, tables_of
from vde_dagster.core.sql.unresolved import guess, line_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A model in its graph. ``columns`` are what its readers see: names, and types where known.

    A source that nobody declared has none, nor has a model that reads all columns of one: which
    there are is not known (see `vde_dagster.core.sql.canonical.CanonicalQuery`).
    """

    model: Model
    canonical: CanonicalQuery | None
    columns: tuple[Column, ...]
    fingerprint: Fingerprint

    @property
    def name(self) -> ModelName:
        """The model's name."""
        return self.model.name


@dataclass(frozen=True, slots=True)
class Graph:
    """All models by name, in an order in which parents come before their children."""

    nodes: Mapping[ModelName, Node]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __getitem__(self, name: ModelName) -> Node:
        return self.nodes[name]

    def __contains__(self, name: ModelName) -> bool:
        return name in self.nodes


def build_graph(
    models: Iterable[Model],
    *,
    unread: Container[ModelName] = (),
    disabled: Container[ModelName] = (),
) -> Graph:
    """Check how models fit together, and resolve each against its parents.

    Args:
        models: All of them, in any order. A source without columns is one that nobody declared:
            what reads it is resolved as far as that is possible.
        unread: Models whose files could not be read. That others read them is no further problem.
        disabled: Models that the project has and that are switched off.

    Raises:
        ProjectInvalid: Names given twice, parents that nothing declares, cycles, and queries that
            do not fit the columns of their parents: all of them at once.
    """
    every = list(models)
    problems = [*_duplicates(every), *_elsewhere(every)]
    by_name = {model.name: model for model in every}
    problems += _missing_parents(by_name, unread, disabled)
    order, cycles = _ordered(by_name)
    problems += cycles
    nodes: dict[ModelName, Node] = {}
    starts: dict[ModelName, datetime] = {}
    undeclared = {name for name in order if _is_undeclared(by_name[name])}
    for name in order:
        model = by_name[name]
        start = _start_of(model, starts)
        if start is not None:
            starts[name] = start
            model = replace(model, start=start)
        if any(parent not in nodes for parent in model.parents):
            continue  # the problem is above, and was told there
        if not undeclared.isdisjoint(model.parents):
            undeclared.add(name)
        try:
            nodes[name] = _node(model, nodes, undeclared=name in undeclared)
        except QueryInvalid as error:
            problems += [_problem(model, finding) for finding in error.findings]
        except RecursionError:
            message = f"{name}: its query or code is nested too deeply"
            advice = "Split it in several models, or a long chain of operators in several columns."
            problems.append(Problem(place=model.place, message=message, advice=advice))
    if problems:
        raise ProjectInvalid(problems)
    return Graph(nodes)


def _problem(model: Model, finding: Finding) -> Problem:
    place = _place(model, finding.line)
    return Problem(place=place, message=f"{model.name}: {finding.message}", advice=finding.advice)


def _place(model: Model, line: int | None) -> Place:
    """A line of a model's file; lines that a macro's function made up are none of the file."""
    lines = range(model.place.line, model.source.text.count("\n") + 2)
    if line is None or line not in lines:
        return model.place
    return Place(path=model.place.path, line=line)


def _place_of_read(model: Model, parent: ModelName) -> Place:
    """Where a model's query first reads a parent; the model's own where no query does."""
    if not isinstance(model.body, Query):
        return model.place
    tables = tables_of(model.body.expression)
    lines = [line_of(table) for table in tables if name_of_table(table) == parent]
    return _place(model, min((line for line in lines if line is not None), default=None))


def _start_of(model: Model, starts: Mapping[ModelName, datetime]) -> datetime | None:
    """A model's own start, or else the earliest of its parents; None where nobody has one.

    ``starts`` are those of the models above, as far as they have one. Sources have none.
    """
    if isinstance(model.kind, External):
        return None
    if not model.inherits_start:
        return model.start
    return min((starts[parent] for parent in model.parents if parent in starts), default=None)


def _is_undeclared(model: Model) -> bool:
    """Whether a model is a source whose columns nobody declared."""
    return isinstance(model.kind, External) and not model.columns


def _node(model: Model, nodes: Mapping[ModelName, Node], *, undeclared: bool) -> Node:
    """A model, resolved against its parents; ``undeclared``: some source above has no columns."""
    parents = [nodes[parent] for parent in model.parents]
    canonical = None
    if isinstance(model.body, Query):
        canonical = canonicalize(
            model.body.expression,
            dialect=model.body.dialect,
            schemas={parent.name: parent.columns for parent in parents},
            undeclared=undeclared,
        )
    columns = _columns(model, canonical)
    if canonical is not None:
        typed = [each for each in columns if not undeclared or each.type != UNKNOWN_TYPE]
        findings = list(misfits(model, canonical, typed, list(_embedded(model, nodes))))
        if findings:
            raise QueryInvalid(*findings)
    return Node(
        model=model,
        canonical=canonical,
        columns=columns,
        fingerprint=fingerprint(model, canonical, (parent.fingerprint for parent in parents)),
    )


def _embedded(
    model: Model, nodes: Mapping[ModelName, Node]
) -> Iterator[tuple[ModelName, exp.Query]]:
    """The queries of EMBEDDED models that stand in a model's own, each once."""
    waiting = list(model.parents)
    seen: set[ModelName] = set()
    while waiting:
        parent = nodes[waiting.pop(0)]
        if parent.name in seen or not isinstance(parent.model.kind, Embedded):
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
    added = [each for each in _validity(model) if each.name not in names]
    return tuple(_column(each, declared.get(each.name.lower()), model) for each in (*own, *added))


def _validity(model: Model) -> tuple[Column, ...]:
    """The two columns that SCD_TYPE_2 adds to those of the query (seed 001, *SCD Type 2*)."""
    kind = model.kind
    if not isinstance(kind, ScdType2ByTime | ScdType2ByColumn):
        return ()
    names = (kind.valid_from_name, kind.valid_to_name)
    return tuple(Column(name=name, type=kind.time_data_type) for name in names)


def _column(found: Column, declared: Column | None, model: Model) -> Column:
    """A query's column, with the type that was declared for it and the description for people."""
    given = model.column_descriptions.get(found.name.lower(), "")
    stated = declared.description if declared is not None else ""
    return Column(
        name=found.name,
        type=declared.type if declared is not None else found.type,
        description=given or stated or found.description,
    )


def _duplicates(models: Sequence[Model]) -> Iterator[Problem]:
    first: dict[ModelName, Model] = {}
    for model in models:
        other = first.setdefault(model.name, model)
        if other is not model:
            yield Problem(
                place=model.place,
                message=f"the name {model.name} is taken by {other.place}",
                advice="Give one of them another name.",
            )


def _elsewhere(models: Sequence[Model]) -> Iterator[Problem]:
    """Names in other catalogs. Views, pinned reads and publishing work in the project's own."""
    advice = (
        "Leave the catalog out where it is the project's own (`catalog.name` in vde.yaml). Another "
        "catalog's rows have to be loaded into a table of this one by whoever writes it."
    )
    for model in models:
        if model.name.catalog:
            message = f"{model.name} lies in another catalog, {model.name.catalog}"
            yield Problem(place=model.place, message=message, advice=advice)
        for parent in model.parents:
            if parent.catalog:
                message = f"{model.name} reads {parent} from another catalog, {parent.catalog}"
                yield Problem(place=_place_of_read(model, parent), message=message, advice=advice)


def _missing_parents(
    models: Mapping[ModelName, Model],
    unread: Container[ModelName],
    disabled: Container[ModelName],
) -> Iterator[Problem]:
    known = {str(name) for name in models}
    for model in models.values():
        for parent in model.parents:
            if parent in models or parent in unread or parent.catalog:
                continue
            if parent in disabled:
                yield Problem(
                    place=_place_of_read(model, parent),
                    message=f"{model.name} reads {parent}, which is disabled",
                    advice=f"Take `enabled false` out of {parent}, or disable {model.name}, too.",
                )
                continue
            close = guess(str(parent), sorted(known))
            otherwise = f"{close}If not, declare" if close else "Declare"
            yield Problem(
                place=_place_of_read(model, parent),
                message=f"{model.name} reads {parent}, which is neither a model of this project "
                "nor a declared source",
                advice=f"{otherwise} it with its columns in external_models.yaml.",
            )


def _ordered(
    models: Mapping[ModelName, Model],
) -> tuple[tuple[ModelName, ...], tuple[Problem, ...]]:
    """Names in dependency order, the same for the same project, and the cycles that prevent one."""
    edges = {
        name: sorted(parent for parent in models[name].parents if parent in models)
        for name in sorted(models)
    }
    problems: list[Problem] = []
    while True:
        try:
            return tuple(TopologicalSorter(edges).static_order()), tuple(problems)
        except CycleError as error:
            cycle: list[ModelName] = error.args[1]
            problems.append(_circle(cycle, _place_of_read(models[cycle[0]], cycle[-2])))
            edges[cycle[1]] = [each for each in edges[cycle[1]] if each != cycle[0]]


def _circle(cycle: Sequence[ModelName], place: Place) -> Problem:
    """A way from a model back to itself, told as who reads whom."""
    if len(set(cycle)) == 1:
        return Problem(
            place=place,
            message=f"{cycle[0]} reads itself, and this version does not evaluate models that do",
            advice="Take what it needs from the models above it, such as with a window over all of "
            "their rows. If another table of that name is meant, give the model another name.",
        )
    way = " reads ".join(str(name) for name in reversed(cycle))
    return Problem(
        place=place,
        message=f"models read each other in a circle: {way}",
        advice="Take one of these reads out, or split a model in two.",
    )


def sources(graph: Graph) -> tuple[ModelName, ...]:
    """The tables that the models read and that none of them writes."""
    return tuple(node.name for node in graph if isinstance(node.model.kind, External))
