"""Edits of whole queries: set operations, and other ways to write what means the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.core.planning.changes.proof.generation import OPERATIONS
from tests.core.planning.changes.proof.queries import (
    LIST,
    Compound,
    Group,
    Projection,
    Query,
    Ref,
    Relations,
    Role,
    Select,
    Source,
    Style,
    Term,
    terms_of,
)
from tests.core.planning.changes.proof.scopes import (
    Site,
    map_sites,
    sites,
    star,
    tables_of,
    with_site,
)
from tests.core.planning.changes.proof.shapes import kept
from tests.core.planning.changes.proof.terms import Choices

Rewrite = Callable[[Choices, Query, Relations], Query | None]
"""An edit of a query; None where there is nothing of the kind that it changes."""


# Set operations -----------------------------------------------------------------------------------


def change_operation(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """Another set operation."""
    body = query.body
    if not isinstance(body, Compound):
        return None
    kind = choices.pick([each for each in OPERATIONS if each != body.kinds[0]])
    return replace(query, body=replace(body, kinds=(kind, *body.kinds[1:])))


def add_to_all_sides(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """One more column on all sides of a set operation, at one place."""
    body = query.body
    if not isinstance(body, Compound) or any(side.has(Role.STAR) for side in body.sides):
        return None
    found = sites(query, relations)[-len(body.sides) :]
    fits = [each for each in found[0].columns if each.type != LIST]
    if not fits:
        return None
    added = kept(choices.pick(fits), body.sides[0].names, choices)
    index = choices.number(len(body.sides[0].projections))
    sides: list[Select] = []
    for site in found:
        term = choices.like(added.term.type, site.columns) if sides else added.term
        old = site.select.projections
        new = Projection(added.name, term)
        sides.append(replace(site.select, projections=(*old[:index], new, *old[index:])))
    return replace(query, body=replace(body, sides=tuple(sides)))


def turn_sides(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """The sides of a set operation the other way around."""
    body = query.body
    if not isinstance(body, Compound) or len({side.names for side in body.sides}) > 1:
        return None
    return replace(query, body=replace(body, sides=body.sides[::-1]))


# Other words for the same -------------------------------------------------------------------------


def _at_a_site(
    choices: Choices, query: Query, relations: Relations, change: Callable[[Site], Select | None]
) -> Query | None:
    found = sites(query, relations)
    first = choices.number(len(found) - 1)
    for step in range(len(found)):
        index = (first + step) % len(found)
        select = change(found[index])
        if select is not None:
            return with_site(query, relations, index, select)
    return None


def spell_out_star(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """Every column by its name instead of a star."""

    def spelled(site: Site) -> Select | None:
        if not site.select.has(Role.STAR) or site.in_compound:
            return None
        tables = tables_of(site.select, site.relations)
        projections: list[Projection] = []
        for each in site.select.projections:
            if each.term.role is not Role.STAR:
                projections.append(each)
                continue
            alias = each.term.refs[0].alias
            for name, type_ in tables[alias].items():
                projections.append(Projection(name, Term("{0}", (Ref(alias, name, type_),), type_)))
        return replace(site.select, projections=tuple(projections))

    return _at_a_site(choices, query, relations, spelled)


def inline_common(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """Sub-queries in place of a common table, wherever that is read."""
    if not query.ctes or _is_subtle(query):
        return None
    name, common = query.ctes[-1]

    def inlined(site: Site) -> Select:
        sources = tuple(
            replace(each, relation=common) if each.relation == name else each
            for each in site.select.sources
        )
        return replace(site.select, sources=sources)

    return replace(map_sites(query, relations, inlined), ctes=query.ctes[:-1])


def extract_common(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """A common table in place of a sub-query."""
    body = query.body
    if not isinstance(body, Select) or not isinstance(body.sources[0].relation, Query):
        return None
    if "k" in dict(query.ctes):
        return None
    first = body.sources[0]
    assert isinstance(first.relation, Query)
    sources = (replace(first, relation="k"), *body.sources[1:])
    return Query(replace(body, sources=sources), (*query.ctes, ("k", first.relation)))


def _is_subtle(query: Query) -> bool:
    """Whether common tables have one name twice, or expressions read them."""
    names = [name for name, _ in query.ctes]

    def inner(select: Select) -> bool:
        reads = any(term.reads in names for term in terms_of(select))
        nested = [each.relation for each in select.sources if isinstance(each.relation, Query)]
        return reads or any(each.ctes or _is_subtle(each) for each in nested)

    body = query.body
    sides = [body] if isinstance(body, Select) else body.sides
    twice = len(set(names)) < len(names) or any(each.ctes for _, each in query.ctes)
    return twice or any(map(inner, sides))


def wrap(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """All columns of the query as a sub-query."""
    return Query(Select((Source("x", query),), (Projection("*", star("x")),)))


def lift_condition(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """A condition around the query that stood in it: the same unless something is between."""
    body = query.body
    if not isinstance(body, Select) or not body.where or body.where[-1].reads:
        return None
    output = {each.term.refs[0]: each.name for each in body.projections if each.term.text == "{0}"}
    condition = body.where[-1]
    if any(each not in output for each in condition.refs):
        return None
    refs = tuple(Ref("x", output[each], each.type) for each in condition.refs)
    inner = replace(query, body=replace(body, where=body.where[:-1]))
    around = Select((Source("x", inner),), (Projection("*", star("x")),))
    return Query(replace(around, where=(replace(condition, refs=refs),)))


def sink_condition(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """A condition in a sub-query that stood around it: the same unless something is between."""
    body = query.body
    inner = body.sources[0].relation if isinstance(body, Select) else None
    if not isinstance(body, Select) or not isinstance(inner, Query) or not body.where:
        return None
    if not isinstance(inner.body, Select) or body.where[-1].reads:
        return None
    own = {each.name: each.term for each in inner.body.projections if each.term.text == "{0}"}
    condition = body.where[-1]
    if any(each.alias != "x" or each.column not in own for each in condition.refs):
        return None
    refs = tuple(own[each.column].refs[0] for each in condition.refs)
    where = (*inner.body.where, replace(condition, refs=refs))
    within = replace(inner, body=replace(inner.body, where=where))
    sources = (replace(body.sources[0], relation=within), *body.sources[1:])
    return replace(query, body=replace(body, where=body.where[:-1], sources=sources))


def group_instead(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """GROUP BY all columns instead of DISTINCT."""

    def grouped(site: Site) -> Select | None:
        select = site.select
        plain = all(each.term.role is Role.PLAIN for each in select.projections)
        if not select.distinct or not plain or select.group is not None or select.qualify:
            return None
        return replace(select, distinct=False, group=Group(Style.ORDINALS, select.names))

    return _at_a_site(choices, query, relations, grouped)


def turn_comparison(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """The sides of a comparison the other way around, the operator with them or not."""

    def turned(site: Site) -> Select | None:
        batches = {"{0} < {1}": choices.pick(("{1} > {0}", "{1} < {0}")), "{0} > 1": "1 < {0}"}
        batches |= {"{0} = {1}": "{1} = {0}", "{0} = 1": "1 = {0}"}
        where = tuple(
            replace(each, text=batches.get(each.text, each.text)) for each in site.select.where
        )
        sources = tuple(
            replace(one, on=tuple(replace(on, text=batches.get(on.text, on.text)) for on in one.on))
            for one in site.select.sources
        )
        found = replace(site.select, where=where, sources=sources)
        return found if found != site.select else None

    return _at_a_site(choices, query, relations, turned)
