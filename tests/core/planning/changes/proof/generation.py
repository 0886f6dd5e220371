"""Projects of two to five models over random queries, also such that are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.core.planning.changes.proof.projects import (
    BETWEEN_DAYS,
    BY_TIME,
    RAW,
    Model,
    Project,
    repaired_kind,
)
from tests.core.planning.changes.proof.queries import (
    DAY,
    LIST,
    Compound,
    Projection,
    Query,
    Relations,
    Select,
    Source,
    Term,
)
from tests.core.planning.changes.proof.scopes import outputs, repaired, sites, visible
from tests.core.planning.changes.proof.shapes import (
    ALL_OF_X,
    Shape,
    chosen,
    constants,
    daily,
    distinct,
    exploded,
    filtered,
    flat,
    grouped,
    joined,
    limited,
    ordered,
    scan,
    starred,
    totals,
    windowed,
)
from tests.core.planning.changes.proof.terms import Choices

OPERATIONS = ("UNION", "UNION ALL", "EXCEPT", "INTERSECT")


def compound(choices: Choices, relations: Relations, relation: str) -> Query:
    """Set operations over columns of equal types, of one relation or of several."""
    first = replace(scan(choices, relations, relation), bare=False)
    compare = tuple(each for each in first.projections if each.term.type != LIST)
    first = replace(first, projections=compare or (Projection(choices.name(), choices.literal()),))
    starred = choices.chance(10)
    if starred:
        first = replace(first, projections=(ALL_OF_X,))
    sides = [first]
    for _ in range(2 if choices.chance(15) else 1):
        same = starred or choices.chance(40)
        sides.append(_side(choices, relations, relation if same else "", first))
    kinds = tuple(choices.pick(OPERATIONS) for _ in sides[1:])
    order = ordered(choices, first.names) if choices.chance(15) else None
    return Query(Compound(kinds, tuple(sides), order))


def _side(choices: Choices, relations: Relations, relation: str, first: Select) -> Select:
    """A SELECT of the columns of another one, out of one relation or any."""
    source = Source("x", relation or choices.relation(relations))
    columns = visible(Select((source,), ()), relations)
    projections = tuple(
        each if each.name == "*" else Projection(each.name, choices.like(each.term.type, columns))
        for each in first.projections
    )
    return Select((source,), projections, where=filtered(choices, columns, relations, 50))


SIMPLE: Sequence[Shape] = (flat, grouped, distinct, starred, totals, windowed, limited, compound)


def common(choices: Choices, relations: Relations, relation: str) -> Query:
    """A query over a common table, once or twice."""
    inner = choices.pick(SIMPLE)(choices, relations, relation)
    known = {**relations, "c": outputs(inner, relations)}
    if choices.chance(40):
        outer = joined(choices, {"c": known["c"]}, "c")
    else:
        outer = choices.pick(SIMPLE)(choices, known, "c")
    return Query(outer.body, (("c", inner), *outer.ctes))


def nested(choices: Choices, relations: Relations, relation: str) -> Query:
    """A query over a sub-query."""
    inner = choices.pick(SIMPLE)(choices, relations, relation)
    known = {**relations, "c": outputs(inner, relations)}
    outer = choices.pick((flat, grouped, windowed, starred))(choices, known, "c")
    assert isinstance(outer.body, Select)
    return Query(replace(outer.body, sources=(Source("x", inner),), bare=False))


def shadowed(choices: Choices, relations: Relations, relation: str) -> Query:
    """Two common tables of one name, one within the other's reach."""
    hidden = flat(choices, relations, choices.relation(relations))
    around = {**relations, "c": outputs(hidden, relations)}
    inner = flat(choices, relations, relation)
    within = {**around, "c": outputs(inner, around)}
    body = flat(choices, within, "c")
    sub = Query(body.body, (("c", inner),))
    columns = visible(Select((Source("x", sub),), ()), around)
    sources: tuple[Source, ...] = (Source("x", sub),)
    if choices.chance(50):
        right = visible(Select((Source("y", "c"),), ()), around)
        sources = (*sources, Source("y", "c", "LEFT JOIN", (choices.match(columns, right),)))
    return Query(Select(sources, tuple(chosen(choices, columns))), (("c", hidden),))


SHAPES: Sequence[Shape] = (
    flat,
    joined,
    grouped,
    starred,
    distinct,
    compound,
    windowed,
    exploded,
    common,
    nested,
    shadowed,
    limited,
    totals,
    constants,
    daily,
    flat,
    joined,
    grouped,
    flat,
)


def model(
    choices: Choices, relations: Relations, index: int, shapes: Sequence[Shape] = SHAPES
) -> Model:
    """A model that reads what is before it."""
    name = f"m.{'abcdefgh'[index]}"
    shape = choices.pick(shapes)
    query = repaired(shape(choices, relations, choices.relation(relations)), relations)
    kind = choices.pick(("FULL", "FULL", "VIEW", "EMBEDDED", BY_TIME))
    kind = BY_TIME if shape is daily else kind
    if kind == BY_TIME:
        query = bounded(query, relations)
    return repaired_kind(Model(name=name, kind=kind, query=query), relations)


def bounded(query: Query, relations: Relations) -> Query:
    """A query that reads the days of an interval, where it reads days at all."""
    if isinstance(query.body, Compound):
        return query
    top = sites(query, relations)[-1]
    days = [each for each in top.columns if each.type == DAY]
    if not days:
        return query
    where = (Term(f"{{0}} {BETWEEN_DAYS}", (days[0],)), *query.body.where)
    return replace(query, body=replace(query.body, where=where))


def project(choices: Choices) -> Project:
    """Two to five models; two of three projects begin with columns of a source."""
    unknown = frozenset(RAW) if choices.chance(8) else frozenset()
    found = Project(sources=dict(RAW), models=(), undeclared=unknown)
    first = choices.pick(((flat,), (flat,), SHAPES))
    for index in range(choices.pick((2, 3, 3, 3, 4, 5))):
        shapes = SHAPES if index else first
        built = model(choices, found.relations(), index, shapes)
        found = replace(found, models=(*found.models, built))
    return found
