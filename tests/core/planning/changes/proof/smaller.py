"""The smallest revisions that show what is wrong, for people to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from tests.core.planning.changes.proof.projects import Project, repaired_project
from tests.core.planning.changes.proof.queries import Query, Select, map_selects
from tests.core.planning.changes.proof.revisions import Revisions


def smallest(revisions: Revisions, fails: Callable[[Revisions], bool]) -> Revisions:
    """Revisions of which nothing can be left out without hiding what fails."""
    while True:
        found = next(
            (each for each in _smaller(revisions) if _is_less(each, revisions, fails)), None
        )
        if found is None:
            return revisions
        revisions = found


def _is_less(each: Revisions, than: Revisions, fails: Callable[[Revisions], bool]) -> bool:
    return len(repr(each)) < len(repr(than)) and fails(each)


def _smaller(revisions: Revisions) -> Iterator[Revisions]:
    before, after = revisions.before, revisions.after
    names = {each.name: None for each in (*before.models, *after.models)}
    for name in names:
        yield _with(revisions, _without(before, name), _without(after, name))
    for name in names:
        yield _with(revisions, before, _taken(after, name, before))
        yield _with(revisions, _taken(before, name, after), after)
    for name in names:
        for change in _cuts(revisions, name):
            yield _with(revisions, _changed(before, name, change), _changed(after, name, change))


def _with(revisions: Revisions, before: Project, after: Project) -> Revisions:
    return replace(revisions, before=repaired_project(before), after=repaired_project(after))


def _without(project: Project, name: str) -> Project:
    return replace(project, models=tuple(each for each in project.models if each.name != name))


def _taken(project: Project, name: str, other: Project) -> Project:
    """A project with a model as the other revision has it."""
    found = {each.name: each for each in other.models}
    models = tuple(found.get(name, each) if each.name == name else each for each in project.models)
    return replace(project, models=models)


def _changed(project: Project, name: str, change: Callable[[Query], Query]) -> Project:
    models = tuple(
        replace(each, query=change(each.query)) if each.name == name else each
        for each in project.models
    )
    return replace(project, models=models)


def _cuts(revisions: Revisions, name: str) -> Iterator[Callable[[Query], Query]]:
    """What can be cut out of a model, in both revisions alike."""
    queries = [
        each.query
        for project in (revisions.before, revisions.after)
        for each in project.models
        if each.name == name
    ]
    columns: dict[str, None] = {}

    def note(select: Select) -> Select:
        columns.update(dict.fromkeys(select.names))
        return select

    for query in queries:
        map_selects(query, note)
    for column in columns:
        yield _on_selects(partial(_without_column, column))
    yield _on_selects(lambda select: replace(select, where=select.where[1:]))
    yield _on_selects(lambda select: replace(select, where=select.where[:-1]))
    yield _on_selects(lambda select: replace(select, having=None))
    yield _on_selects(lambda select: replace(select, qualify=None))
    yield _on_selects(lambda select: replace(select, order=None))
    yield _on_selects(lambda select: replace(select, distinct=False))
    yield _on_selects(lambda select: replace(select, sources=select.sources[:1]))
    yield lambda query: replace(query, ctes=query.ctes[:-1])


def _on_selects(change: Callable[[Select], Select]) -> Callable[[Query], Query]:
    return lambda query: map_selects(query, change)


def _without_column(name: str, select: Select) -> Select:
    left = tuple(each for each in select.projections if each.name != name)
    return replace(select, projections=left) if left else select
