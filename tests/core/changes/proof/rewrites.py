"""Edits of whole queries: set operations, and other ways to write what means the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.core.changes.proof.queries import (
    LIST,
    Compound,
    Projection,
    Query,
    Ref,
    Relations,
    Role,
    Select,
    Source,
    Term,
    map_refs,
    terms_of,
)
from tests.core.changes.proof.scopes import (
    Site,
    map_sites,
    sites,
    star,
    tables_of,
    with_site,
)
from tests.core.changes.proof.shapes import OPERATIONS, flat, kept
from tests.core.changes.proof.terms import Choices

Rewrite = Callable[[Choices, Query, Relations], Query | None]
"""An edit of a query; None where there is nothing of the kind that it changes."""


# Set operations -----------------------------------------------------------------------------------


def change_operation(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """Another set operation."""
    body = query.body
    if not isinstance(body, Compound):
        return None
    kind = choices.pick([each for each in OPERATIONS if each != body.kind])
    return replace(query, body=replace(body, kind=kind))


def add_to_both_sides(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """One more column on both sides of a set operation, mostly at one place."""
    body = query.body
    starred = isinstance(body, Compound) and body.left.has(Role.STAR)
    if not isinstance(body, Compound) or starred or body.right.has(Role.STAR):
        return None
    left, right = (each.columns for each in sites(query, relations)[-2:])
    fits = [each for each in left if each.type != LIST]
    if not fits:
        return None
    added = kept(choices.pick(fits), body.left.names, choices)
    others = [each for each in right if each.type == added.term.type]
    term = choices.literal(added.term.type)
    if others:
        term = Term("{0}", (choices.pick(others),), added.term.type)
    index = choices.number(len(body.left.projections))
    sides = [
        replace(side, projections=(*side.projections[:index], each, *side.projections[index:]))
        for side, each in ((body.left, added), (body.right, Projection(added.name, term)))
    ]
    return replace(query, body=replace(body, left=sides[0], right=sides[1]))


def swap_sides(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """The sides of a set operation the other way around."""
    body = query.body
    if not isinstance(body, Compound) or body.left.names != body.right.names:
        return None
    return replace(query, body=replace(body, left=body.right, right=body.left))


# Other words for the same -------------------------------------------------------------------------


def _at_a_site(
    choices: Choices,
    query: Query,
    relations: Relations,
    change: Callable[[Site], Select | None],
) -> Query | None:
    found = sites(query, relations)
    first = choices.number(len(found) - 1)
    for step in range(len(found)):
        index = (first + step) % len(found)
        select = change(found[index])
        if select is not None:
            return with_site(query, relations, index, select)
    return None


def swap_conditions(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """Conditions that are ANDed, in another order."""

    def swapped(site: Site) -> Select | None:
        where = site.select.where
        return replace(site.select, where=where[::-1]) if len(set(where)) > 1 else None

    return _at_a_site(choices, query, relations, swapped)


def split_between(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """Two comparisons instead of BETWEEN."""
    between, split = "{0} BETWEEN 1 AND 2", "{0} >= 1 AND {0} <= 2"

    def rewritten(site: Site) -> Select | None:
        where = tuple(
            replace(each, text=each.text.replace(between, split)) for each in site.select.where
        )
        return replace(site.select, where=where) if where != site.select.where else None

    return _at_a_site(choices, query, relations, rewritten)


def rename_alias(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """Another alias for what is read."""

    def renamed(site: Site) -> Select | None:
        select, name = site.select, "p"
        aliases = [each.alias for each in select.sources]
        if "x" not in aliases or name in aliases:
            return None

        def ref(each: Ref) -> Ref:
            return replace(each, alias=name) if each.alias == "x" else each

        sources = tuple(
            replace(each, alias=name) if each.alias == "x" else each for each in select.sources
        )
        unnest = ref(select.unnest) if select.unnest is not None else None
        found = map_refs(replace(select, sources=sources, unnest=unnest), ref)
        projections = tuple(
            replace(each, term=star(each.term.refs[0].alias))
            if each.term.role is Role.STAR
            else each
            for each in found.projections
        )
        return replace(found, projections=projections)

    return _at_a_site(choices, query, relations, renamed)


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


def rename_common(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """Another name for a common table."""
    if not query.ctes or _is_subtle(query) or "k" in dict(query.ctes):
        return None
    old, common = query.ctes[-1]

    def renamed(site: Site) -> Select:
        sources = tuple(
            replace(each, relation="k") if each.relation == old else each
            for each in site.select.sources
        )
        return replace(site.select, sources=sources)

    body = map_sites(query, relations, renamed).body
    return Query(body, (*query.ctes[:-1], ("k", common)))


def _is_subtle(query: Query) -> bool:
    """Whether common tables have one name twice, or expressions read them."""
    names = [name for name, _ in query.ctes]

    def inner(select: Select) -> bool:
        reads = any(term.reads in names for term in terms_of(select))
        nested = [each.relation for each in select.sources if isinstance(each.relation, Query)]
        return reads or any(each.ctes or _is_subtle(each) for each in nested)

    body = query.body
    sides = [body] if isinstance(body, Select) else [body.left, body.right]
    twice = len(set(names)) < len(names) or any(each.ctes for _, each in query.ctes)
    return twice or any(map(inner, sides))


def add_unused_common(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """A common table that nothing reads."""
    if "unused" in dict(query.ctes):
        return None
    unused = flat(choices, relations, choices.relation(relations))
    return replace(query, ctes=(("unused", unused), *query.ctes))


def wrap(choices: Choices, query: Query, relations: Relations) -> Query | None:
    """All columns of the query as a sub-query."""
    return Query(Select((Source("x", query),), (Projection("*", star("x")),)))
