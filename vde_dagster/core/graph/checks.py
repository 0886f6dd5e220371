"""Whether models make one graph: each name once, everything that is read is there, no circles."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from vde_dagster.core.errors import Finding, Place, Problem
from vde_dagster.core.model.kinds import Kind
from vde_dagster.core.model.model import Model, PythonFunction, Query
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.table_names import model_name_of, name_of_table, tables_of, written_tables
from vde_dagster.core.sql.unresolved import guess, line_of


def duplicates(models: Sequence[Model]) -> Iterator[Problem]:
    """Names that several models have."""
    first: dict[ModelName, Model] = {}
    for model in models:
        other = first.setdefault(model.name, model)
        if other is not model:
            yield Problem(
                place=model.place,
                message=f"the name {model.name} is taken by {other.place}",
                advice="Give one of them another name.",
            )


def elsewhere(models: Sequence[Model]) -> Iterator[Problem]:
    """Names in other catalogs. Views, pinned reads and publishing work in the project's own."""
    advice = (
        "Omit the catalog if it is the project's own (`catalog.name` in vde.yaml). Load rows of "
        "another catalog into a table of the project's catalog first."
    )
    for model in models:
        if model.name.catalog:
            message = f"{model.name} is in another catalog, {model.name.catalog}"
            yield Problem(place=model.place, message=message, advice=advice)
        for parent in model.parents:
            if parent.catalog:
                message = f"{model.name} reads {parent} from another catalog, {parent.catalog}"
                yield Problem(place=_place_of_read(model, parent), message=message, advice=advice)


def missing_parents(
    models: Mapping[ModelName, Model],
    unread: Container[ModelName],
    disabled: Container[ModelName],
) -> Iterator[Problem]:
    """Reads of what is neither a model nor a source; none of models that could not be read."""
    known = {str(name) for name in models}
    for model in models.values():
        for parent in model.parents:
            if parent in models or parent in unread or parent.catalog:
                continue
            if parent in disabled:
                yield Problem(
                    place=_place_of_read(model, parent),
                    message=f"{model.name} reads {parent}, which is disabled",
                    advice=f"Remove `enabled false` from {parent}, or also disable {model.name}.",
                )
                continue
            close = guess(str(parent), sorted(known - {str(model.name)}))
            otherwise = f"{close}If not, declare" if close else "Declare"
            yield Problem(
                place=_place_of_read(model, parent),
                message=f"{model.name} reads {parent}, which is neither a model of this project "
                "nor a declared source",
                advice=f"{otherwise} it with its columns in external_models.yaml.",
            )


def written_models(models: Mapping[ModelName, Model]) -> Iterator[Problem]:
    """Pre- and post-statements that write a model, which only its own evaluation may do."""
    for model in models.values():
        body = model.body
        statements = (*body.before, *body.after) if isinstance(body, Query | PythonFunction) else ()
        for table in (each for statement in statements for each in written_tables(statement)):
            written = model_name_of(table)
            other = models.get(written) if written is not None else None
            if other is None or other.kind.is_source:
                continue
            whose = "its own rows" if other is model else f"the model {other.name}"
            yield Problem(
                place=place_in(model, line_of(table)),
                message=f"a pre- or post-statement of {model.name} changes {whose}",
                advice="A model may only be written by its own evaluation, or its recorded rows "
                "would be wrong. Do it in the query, or write to a table that is not a "
                "model.",
            )


def views_as_of(models: Mapping[ModelName, Model], order: Sequence[ModelName]) -> Iterator[Problem]:
    """Models that read a VIEW of a table as it was: what they read is pinned as it is (rule R3).

    Args:
        models: By name.
        order: Their names, parents first.
    """
    found: set[ModelName] = set()
    for model in (models[name] for name in order):
        read = [parent for parent in model.parents if parent in found]
        if model.kind.is_view:
            body = model.body
            if read or (isinstance(body, Query) and body.reads_as_of):
                found.add(model.name)
            continue
        for parent in read:
            yield Problem(
                place=_place_of_read(model, parent),
                message=f"{model.name} reads {parent}, a VIEW that reads a table as of a version "
                "or a time",
                advice="Only people can read such a VIEW: a model reads each table as it is when "
                "it is computed.",
            )


def in_order(
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


def lacks_own_columns(model: Model) -> bool:
    """Whether a model reads itself and does not say which columns it has."""
    return model.reads_itself and not model.columns


def unknown_own_columns(models: Iterable[Model]) -> Iterator[Problem]:
    """Models that read themselves and do not say which columns they have."""
    for model in filter(lacks_own_columns, models):
        yield Problem(
            place=_place_of_read(model, model.name),
            message=f"{model.name} reads itself, so its columns must be known before its query "
            "is analysed",
            advice="Declare them all: `columns (account bigint, ...)`.",
        )


def unpinned_reads(model: Model, kinds: Mapping[ModelName, Kind]) -> Finding | None:
    """Why a Python model cannot be evaluated: it reads what is not a table (rule R3).

    Args:
        model: The model.
        kinds: Those of what it reads.
    """
    views = [f"{kinds[each].keyword} {each}" for each in model.parents if kinds[each].is_inlined]
    if not views or not isinstance(model.body, PythonFunction):
        return None
    return Finding(
        message=f"{model.name} is a Python model and reads the {', '.join(views)}, which is not "
        "a table that can be pinned",
        advice="Read its upstream tables instead, or make it FULL.",
    )


def _circle(cycle: Sequence[ModelName], place: Place) -> Problem:
    """A path from a model back to itself, as who reads whom."""
    if len(set(cycle)) == 1:
        return Problem(
            place=place,
            message=(
                f"{cycle[0]} reads itself, which only a SQL model with stateful sessions can do"
            ),
            advice="With `late_data (mode stateful, ...)` each interval reads the previous one. "
            "Otherwise compute it from upstream models, for example with a window over "
            "all of their rows. If you mean another table of that name, rename the model.",
        )
    way = " reads ".join(str(name) for name in reversed(cycle))
    return Problem(
        place=place,
        message=f"models depend on each other in a cycle: {way}",
        advice="Remove one of these reads, or split a model in two.",
    )


def place_in(model: Model, line: int | None) -> Place:
    """A line of a model's file; lines that a macro's function made are not in the file."""
    lines = range(model.place.line, model.source.text.count("\n") + 2)
    if line is None or line not in lines:
        return model.place
    return Place(path=model.place.path, line=line)


def place_of_failure(model: Model, fragment: str, ran: Sequence[str]) -> Place:
    """The line of a model's file that has a fragment of what ran; else that of its query.

    What runs is the author's text with other names of tables and without macros (rule R13), so the
    fragment is looked for as text: it has to be there once, and once in all that ran.

    Args:
        model: The model.
        fragment: The part of the SQL that an engine names; empty if it names none.
        ran: All SQL that it ran for the model: the query, and the statements around it.
    """
    file = model.source.text
    if fragment and file.count(fragment) == sum(each.count(fragment) for each in ran) == 1:
        return place_in(model, file[: file.index(fragment)].count("\n") + 1)
    line = line_of(model.body.expression) if isinstance(model.body, Query) else None
    return place_in(model, line)


def _place_of_read(model: Model, parent: ModelName) -> Place:
    """Where a model's query first reads a parent; the model's own where no query does."""
    if not isinstance(model.body, Query):
        return model.place
    tables = tables_of(model.body.expression)
    lines = [line_of(table) for table in tables if name_of_table(table) == parent]
    return place_in(model, min((line for line in lines if line is not None), default=None))
