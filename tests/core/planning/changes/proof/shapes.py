"""Random SELECTs of one shape or another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.core.planning.changes.proof.projects import RAW
from tests.core.planning.changes.proof.queries import (
    DAY,
    INT,
    LIST,
    USING,
    Group,
    Order,
    Projection,
    Query,
    Ref,
    Relations,
    Role,
    Select,
    Source,
    Style,
    Term,
)
from tests.core.planning.changes.proof.scopes import may_unnest, star, visible
from tests.core.planning.changes.proof.terms import AGGREGATES, PLAIN, WINDOWS, Choices

Shape = Callable[[Choices, Relations, str], Query]
"""A query that reads one relation, and maybe others."""
JOINS = ("LEFT JOIN", "JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
ALL_OF_X = Projection("*", star("x"))


def kept(ref: Ref, taken: Sequence[str], choices: Choices) -> Projection:
    """A column as it is, under its own name where that is free."""
    name = ref.column if ref.column not in taken else choices.name()
    return Projection(name, Term("{0}", (ref,), ref.type))


def chosen(choices: Choices, columns: Sequence[Ref], most: int = 4) -> list[Projection]:
    """Some columns as they are, most of a source's, and maybe one that is computed."""
    found: list[Projection] = []
    for each in choices.some(columns, most):
        found.append(kept(each, [one.name for one in found], choices))
    if choices.chance(35):
        term = choices.form(PLAIN, columns, Role.PLAIN)
        found += [Projection(choices.name(), term)] if term is not None else []
    return found


def flat(choices: Choices, relations: Relations, relation: str) -> Query:
    """Columns of one relation, maybe filtered."""
    return Query(scan(choices, relations, relation))


def scan(choices: Choices, relations: Relations, relation: str) -> Select:
    """Columns of one relation, maybe filtered, and maybe one that is made of another."""
    source = Source("x", relation)
    columns = visible(Select((source,), ()), relations)
    projections = chosen(choices, columns, 5 if relation in RAW else 3)
    numbers = [Ref("", each.name, INT) for each in projections if each.term.type == INT]
    if numbers and choices.chance(8):
        term = Term("{0} + 1", (choices.pick(numbers),))
        projections.append(Projection(choices.name(), term))
    return Select(
        (source,),
        tuple(projections),
        where=filtered(choices, columns, relations, 40),
        bare=choices.chance(15),
    )


def filtered(
    choices: Choices, columns: Sequence[Ref], relations: Relations, percent: int
) -> tuple[Term, ...]:
    """Conditions of WHERE: none, one or two."""
    wanted = int(choices.chance(percent)) + int(choices.chance(percent // 3))
    return tuple(choices.condition(columns, relations) for _ in range(wanted))


def starred(choices: Choices, relations: Relations, relation: str) -> Query:
    """All columns of one relation, and maybe one that is computed."""
    select = scan(choices, relations, relation)
    term = choices.form(PLAIN, visible(select, relations), Role.PLAIN)
    more = [Projection(choices.name(), term)] if term is not None and choices.chance(40) else []
    return Query(replace(select, projections=(ALL_OF_X, *more)))


def joined(choices: Choices, relations: Relations, relation: str) -> Query:
    """Columns of two or three relations, or of one that is joined with itself."""
    sources = [Source("x", relation)]
    for alias in ("y", "z") if choices.chance(12) else ("y",):
        sources.append(beside(choices, sources, relations, alias))
    columns = visible(Select(tuple(sources), ()), relations)
    where = filtered(choices, columns, relations, 25)
    return Query(Select(tuple(sources), tuple(chosen(choices, columns)), where=where))


def beside(choices: Choices, sources: Sequence[Source], relations: Relations, alias: str) -> Source:
    """One more table of a join: any other, or one that is there already."""
    first = sources[0].relation
    assert isinstance(first, str)
    relation = first if choices.chance(25) else choices.relation(relations)
    if choices.chance(8):
        return Source(alias, relation, choices.pick(("CROSS JOIN", ",", "NATURAL JOIN")))
    left = visible(Select(tuple(sources), ()), relations)
    right = visible(Select((Source(alias, relation),), ()), relations)
    kind = choices.pick(JOINS)
    shared = [(one, two) for one in left for two in right if _is_shared(one, two)]
    if shared and choices.chance(12):
        return Source(alias, relation, kind, (Term(USING, choices.pick(shared)),))
    on = [choices.match(left, right)]
    if choices.chance(30):
        on.append(choices.condition(choices.pick((right, left)), relations))
    return Source(alias, relation, kind, tuple(on))


def _is_shared(one: Ref, other: Ref) -> bool:
    return one.alias == "x" and (one.column, one.type) == (other.column, other.type)


def grouped(choices: Choices, relations: Relations, relation: str) -> Query:
    """Aggregates by one or two columns."""
    select = scan(choices, relations, relation)
    columns = visible(select, relations)
    plain = [each for each in columns if each.type != LIST] or columns
    keys = chosen(choices, plain, 2)
    style = choices.pick(tuple(Style))
    derived = derived_from(choices, keys) if choices.chance(25) else None
    projections = [*keys, *([Projection(choices.name(), derived)] if derived else [])]
    projections += [each for _ in range(1 + choices.number(1)) for each in total(choices, columns)]
    names = [each.name for each in keys]
    if style in (Style.ORDINALS, Style.OUTPUTS) and choices.chance(
        60
    ):  # a constant that an insert can push out
        projections.insert(len(keys), Projection(choices.name(), choices.literal()))
        names.append(projections[len(keys)].name)
    having = None
    if choices.chance(20):
        having = Term("COUNT(*) > 1", (), INT, Role.AGGREGATE)
        last = projections[-1]
        if last.term.type == INT and choices.chance(50):
            having = Term("{0} > 1", (Ref("", last.name, INT),))
    return Query(
        replace(
            select,
            projections=tuple(projections),
            group=Group(style, tuple(names)),
            having=having,
            bare=False,
        )
    )


def derived_from(choices: Choices, keys: Sequence[Projection]) -> Term | None:
    """A function of one column that is grouped by."""
    columns = [each.term.refs[0] for each in keys if each.term.text == "{0}"]
    return choices.form([each for each in PLAIN if len(each[2]) == 1], columns, Role.DERIVED)


def total(choices: Choices, columns: Sequence[Ref]) -> list[Projection]:
    """An aggregate."""
    term = choices.form(AGGREGATES, columns, Role.AGGREGATE)
    return [Projection(choices.name(), term)] if term is not None else []


def constants(choices: Choices, relations: Relations, relation: str) -> Query:
    """Nothing but constants, as many as there are rows."""
    select = scan(choices, relations, relation)
    projections = [Projection(choices.name(), choices.literal())]
    if choices.chance(50):
        projections.append(Projection(choices.name(), choices.literal("string")))
    return Query(replace(select, projections=tuple(projections)))


def totals(choices: Choices, relations: Relations, relation: str) -> Query:
    """One row of aggregates."""
    select = scan(choices, relations, relation)
    columns = visible(select, relations)
    found = [each for _ in range(1 + choices.number(2)) for each in total(choices, columns)]
    having = Term("COUNT(*) > 2", (), INT, Role.AGGREGATE) if choices.chance(20) else None
    return Query(replace(select, projections=tuple(found), having=having))


def distinct(choices: Choices, relations: Relations, relation: str) -> Query:
    """Columns without duplicates."""
    return Query(replace(scan(choices, relations, relation), distinct=True))


def limited(choices: Choices, relations: Relations, relation: str) -> Query:
    """The first rows by all columns."""
    select = scan(choices, relations, relation)
    return Query(replace(select, order=ordered(choices, select.names)))


def ordered(choices: Choices, names: Sequence[str]) -> Order:
    """ORDER BY all columns in some order, mostly with a LIMIT."""
    keys = list(names)
    style = choices.pick((Style.NAMES, Style.ORDINALS, Style.ALL))
    if "*" in keys:
        style, keys = Style.ALL, []
    shift = choices.number(len(keys) - 1) if keys else 0
    limit = 1 + choices.number(3) if choices.chance(80) else None
    descending = style is not Style.ALL and choices.chance(30)
    offset = int(choices.chance(15))
    return Order(style, (*keys[shift:], *keys[:shift]), descending, limit, offset)


def windowed(choices: Choices, relations: Relations, relation: str) -> Query:
    """Columns with a window function, maybe as the filter."""
    select = scan(choices, relations, relation)
    term = choices.form(WINDOWS, visible(select, relations), Role.WINDOW)
    if term is None:
        return Query(select)
    name, qualify = choices.name(), None
    if term.type == INT and choices.chance(45):
        upstream = choices.pick((" = 1", " > 1"))
        qualify = replace(term, text=f"{term.text}{upstream}")
        if choices.chance(50):
            qualify = Term(f"{{0}}{upstream}", (Ref("", name, INT),))
    projections = (*select.projections, Projection(name, term))
    named = choices.chance(15)
    return Query(replace(select, projections=projections, qualify=qualify, bare=False, named=named))


def exploded(choices: Choices, relations: Relations, relation: str) -> Query:
    """A row for each element of a list."""
    lists = [name for name, columns in relations.items() if LIST in columns.values()]
    select = scan(choices, relations, relation if relation in lists else lists[-1])
    columns = visible(select, relations)
    found = next(each for each in columns if each.type == LIST)
    if choices.chance(50) and may_unnest(found, columns):
        unnested = replace(select, unnest=found, bare=False)
        more = kept(Ref("v", "w", INT), select.names, choices)
        return Query(replace(unnested, projections=(*select.projections, more)))
    more = Projection(choices.name(), explode(found))
    return Query(replace(select, projections=(*select.projections, more)))


def explode(found: Ref) -> Term:
    """A row for each element of a list, as a projection."""
    return Term("EXPLODE({0})", (found,), INT, Role.EXPLODE)


def daily(choices: Choices, relations: Relations, relation: str) -> Query:
    """One column of a relation and its day, where it has one."""
    select = scan(choices, relations, relation)
    days = [each for each in visible(select, relations) if each.type == DAY]
    if not days:
        return Query(select)
    day = Projection("day", Term("{0}", (choices.pick(days),), DAY))
    others = [each for each in select.projections if each.name != "day"]
    return Query(replace(select, projections=(*others[:1], day)))
