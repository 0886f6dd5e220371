"""Comparers with a defect each: they do not see one thing that a project's rows follow from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tests.core.planning.changes.proof.claims import Comparer, Differences, compare
from tests.core.planning.changes.proof.projects import BY_TIME, Project, repaired_project
from tests.core.planning.changes.proof.queries import (
    CONSTANTS,
    Compound,
    Projection,
    Query,
    Role,
    Select,
    Style,
    Term,
    map_selects,
)
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.planning.changes.difference import Change, Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """A comparer that makes a known mistake, and what examples are about that show it."""

    comparer: Comparer
    focus: str


def _seeing(change: Callable[[Select], Select]) -> Comparer:
    """The real comparer, shown projects whose SELECTs are changed."""
    return _shown(lambda query: map_selects(query, change))


def _shown(change: Callable[[Query], Query]) -> Comparer:
    def comparer(before: Project, after: Project) -> Differences:
        return compare(*(_changed(each, change) for each in (before, after)))

    return comparer


def _changed(project: Project, change: Callable[[Query], Query]) -> Project:
    models = tuple(replace(each, query=change(each.query)) for each in project.models)
    return repaired_project(replace(project, models=models))


def _no_distinct(select: Select) -> Select:
    return replace(select, distinct=False)


def _union_all(query: Query) -> Query:
    ctes = tuple((name, _union_all(each)) for name, each in query.ctes)
    body = query.body
    if isinstance(body, Compound):
        body = replace(body, kinds=tuple("UNION ALL" for _ in body.kinds))
    return Query(body, ctes)


def _plain_aggregates(select: Select) -> Select:
    """Aggregates of a query without GROUP BY are taken for columns like any other."""
    return select if select.group is not None else _literal(select, Role.AGGREGATE)


def _literal(select: Select, role: Role) -> Select:
    def reported(each: Projection) -> Projection:
        if each.term.role is not role:
            return each
        text = each.term.sql({}).replace("'", "")
        return replace(each, term=Term(f"LENGTH('{text}')", (), each.term.type, Role.LITERAL))

    return replace(select, projections=tuple(map(reported, select.projections)), having=None)


def _numbers_as_text(select: Select) -> Select:
    """Positions in GROUP BY and ORDER BY are read as they stand there, not as what they name."""
    names = select.names
    group, order = select.group, select.order
    if group is not None and group.style is Style.ORDINALS:
        select = _text(_literal(replace(select, group=None), Role.AGGREGATE), group.keys, names)
    if order is not None and order.style is Style.ORDINALS:
        select = _text(replace(select, order=None), order.keys, names)
    return select


def _text(select: Select, keys: tuple[str, ...], names: tuple[str, ...]) -> Select:
    text = ", ".join(str(names.index(key) + 1) for key in keys)
    return replace(select, where=(*select.where, Term(f"'{text}' IS NOT NULL")))


def _lists_as_columns(select: Select) -> Select:
    return _literal(replace(select, unnest=None), Role.EXPLODE)


def _no_filter(select: Select) -> Select:
    return replace(select, where=())


def _left_joins(select: Select) -> Select:
    sources = [replace(each, join=each.join and "LEFT JOIN") for each in select.sources]
    return replace(select, sources=tuple(sources))


def _unread(term: Term) -> Term:
    return replace(
        term,
        refs=tuple(
            CONSTANTS.get(each.type, each) if each.alias != "s" else each for each in term.refs
        ),
    )


def _unread_conditions(select: Select) -> Select:
    """Conditions stand there, but nothing that they read counts."""
    sources = [replace(each, on=tuple(map(_unread, each.on))) for each in select.sources]
    where = tuple(map(_unread, select.where))
    return replace(select, sources=tuple(sources), where=where)


def _unread_windows(select: Select) -> Select:
    projections = [
        replace(each, term=_unread(each.term)) if each.term.role is Role.WINDOW else each
        for each in select.projections
    ]
    qualify = select.qualify
    if qualify is not None and qualify.role is Role.WINDOW:
        qualify = _unread(qualify)
    return replace(select, projections=tuple(projections), qualify=qualify)


def _no_groups(select: Select) -> Select:
    return _literal(replace(select, group=None), Role.AGGREGATE)


def _outer_names_win(query: Query) -> Query:
    """A common table of an inner query is taken for the one of its name further out."""

    def select(each: Select) -> Select:
        sources = [
            replace(source, relation=_outer_names_win(_without(source.relation, query)))
            if isinstance(source.relation, Query)
            else source
            for source in each.sources
        ]
        return replace(each, sources=tuple(sources))

    body = query.body
    if isinstance(body, Select):
        return replace(query, body=select(body))
    return replace(query, body=replace(body, sides=tuple(map(select, body.sides))))


def _without(inner: Query, outer: Query) -> Query:
    known = dict(outer.ctes)
    return replace(inner, ctes=tuple(each for each in inner.ctes if each[0] not in known))


def _timeless(before: Project, after: Project) -> Differences:
    """The column by which rows belong to intervals is taken for one like any other."""
    return compare(*(_full(each) for each in (before, after)))


def _full(project: Project) -> Project:
    models = [
        replace(each, kind="FULL") if each.kind == BY_TIME else each for each in project.models
    ]
    return replace(project, models=tuple(models))


def _own_edit_only(before: Project, after: Project) -> Differences:
    """A directly changed model is judged by its own edit, whatever changed upstream."""
    found = dict(compare(before, after))
    old = {each.name: each for each in before.models}
    for index, model in enumerate(after.models):
        name = next(each for each in found if str(each) == model.name)
        if found[name].change is not Change.DIRECT or model.name not in old:
            continue
        models = [old.get(each.name, each) for each in after.models]
        models[index] = model
        alone = compare(before, repaired_project(replace(after, models=tuple(models))))
        if alone[name].category is Category.NON_BREAKING:
            found |= {each: _harmless(found[each]) for each in found if str(each) > model.name}
    return found


def _harmless(difference: Difference) -> Difference:
    if difference.category is not Category.INDIRECT_BREAKING:
        return difference
    return replace(difference, category=Category.INDIRECT_NON_BREAKING, rebuild=False)


DEFECTS: Mapping[str, Defect] = {
    "DISTINCT does not count": Defect(comparer=_seeing(_no_distinct), focus="distinct"),
    "every set operation is a UNION ALL": Defect(comparer=_shown(_union_all), focus="union"),
    "an aggregate is a column": Defect(comparer=_seeing(_plain_aggregates), focus="constants"),
    "an edit hides those above it": Defect(comparer=_own_edit_only, focus="middle"),
    "positions are numbers": Defect(comparer=_seeing(_numbers_as_text), focus="ordinals"),
    "explode is a function": Defect(comparer=_seeing(_lists_as_columns), focus="lists"),
    "filters do not count": Defect(comparer=_seeing(_no_filter), focus="filters"),
    "every join is a LEFT JOIN": Defect(comparer=_seeing(_left_joins), focus="joins"),
    "conditions read nothing": Defect(comparer=_seeing(_unread_conditions), focus="conditions"),
    "groups do not count": Defect(comparer=_seeing(_no_groups), focus="groups"),
    "windows read nothing": Defect(comparer=_seeing(_unread_windows), focus="windows"),
    "outer names win": Defect(comparer=_shown(_outer_names_win), focus="shadows"),
    "time is a column": Defect(comparer=_timeless, focus="times"),
}
