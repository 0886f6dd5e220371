"""Edits of one SELECT. What reads it is repaired afterwards, so every edited project loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.core.planning.changes.proof.queries import (
    INT,
    LIST,
    USING,
    Group,
    Projection,
    Ref,
    Role,
    Select,
    Source,
    Style,
    Term,
)
from tests.core.planning.changes.proof.scopes import Site, may_unnest, visible
from tests.core.planning.changes.proof.shapes import JOINS, beside, explode, kept, ordered, total
from tests.core.planning.changes.proof.terms import AGGREGATES, PLAIN, WINDOWS, Choices

Edit = Callable[[Choices, Site], Select | None]
"""An edit of a SELECT; None where there is nothing of the kind that it changes."""


def is_flat(select: Select) -> bool:
    """Whether there is a row for each one that is read."""
    return select.group is None and not select.has(Role.AGGREGATE)


# Columns ------------------------------------------------------------------------------------------


def inserted(select: Select, index: int, added: Projection, *, minded: bool = True) -> Select:
    """A SELECT with one more column; ordinals are moved along where somebody minded them."""
    old = select.names
    projections = (*select.projections[:index], added, *select.projections[index:])
    new = tuple(each.name for each in projections)

    def moved(keys: Sequence[str], style: Style) -> tuple[str, ...]:
        stay = minded or style is not Style.ORDINALS
        return tuple(keys) if stay else tuple(new[old.index(key)] for key in keys)

    group, order = select.group, select.order
    return replace(
        select,
        projections=projections,
        group=group and replace(group, keys=moved(group.keys, group.style)),
        order=order and replace(order, keys=moved(order.keys, order.style)),
    )


def add_column(choices: Choices, site: Site) -> Select | None:
    """One more column, at any place."""
    if site.in_compound:
        return None
    added = _addition(choices, site)
    return None if added is None else inserted(site.select, _place(choices, site.select), added)


def _place(choices: Choices, select: Select) -> int:
    return choices.pick((len(select.projections), choices.number(len(select.projections))))


def _addition(choices: Choices, site: Site) -> Projection | None:
    select, columns = site.select, site.columns
    name = choices.name()
    if not is_flat(select):
        keys = [
            each for each in select.projections if select.group and each.name in select.group.keys
        ]
        derived = [each.term.refs[0] for each in keys if each.term.text == "{0}"]
        forms = [each for each in PLAIN if len(each[2]) == 1]
        terms = [
            choices.form(AGGREGATES, columns, Role.AGGREGATE),
            choices.form(forms, derived, Role.DERIVED),
            choices.literal(),
        ]
        term = choices.pick([each for each in terms if each is not None])
        return Projection(name, term)
    terms = [
        choices.form(PLAIN, columns, Role.PLAIN),
        choices.form(WINDOWS, columns, Role.WINDOW) if not select.has(Role.EXPLODE) else None,
        choices.scalar(columns, site.relations),
        choices.literal(),
    ]
    if choices.chance(35) and columns:
        return kept(choices.pick(columns), _taken(site), choices)
    return Projection(name, choices.pick([each for each in terms if each is not None]))


def _taken(site: Site) -> list[str]:
    """Names that a further column cannot have."""
    starred = site.select.has(Role.STAR)
    return [*site.select.names, *(each.column for each in site.columns if starred)]


def add_key(choices: Choices, site: Site) -> Select | None:
    """One more column to group by."""
    select, group = site.select, site.select.group
    plain = [each for each in site.columns if each.type != LIST]
    if group is None or not plain or site.in_compound:
        return None
    key = kept(choices.pick(plain), select.names, choices)
    grown = replace(select, group=replace(group, keys=(*group.keys, key.name)))
    return inserted(grown, _place(choices, select), key)


def add_aggregate(choices: Choices, site: Site) -> Select | None:
    """An aggregate with nothing but constants: from then on there is one row."""
    constant = all(each.term.role is Role.LITERAL for each in site.select.projections)
    if site.select.group is not None or not constant or site.in_compound:
        return None
    return inserted(site.select, _place(choices, site.select), total(choices, site.columns)[0])


def insert_before_ordinals(choices: Choices, site: Site) -> Select | None:
    """A column in front of others whose positions GROUP BY or ORDER BY still names."""
    select = site.select
    group, order = select.group, select.order
    if site.in_compound or not site.columns:
        return None
    added = kept(choices.column(site.columns, "any"), select.names, choices)
    if group is not None and group.style is Style.ORDINALS:
        last = select.names.index(group.keys[-1])
        if select.projections[last].term.role is Role.LITERAL and last + 1 == len(group.keys):
            return inserted(select, last, added, minded=False)
    if order is not None and order.style is Style.ORDINALS and is_flat(select):
        return inserted(select, choices.number(1), added, minded=False)
    return None


def add_explode(choices: Choices, site: Site) -> Select | None:
    """A column that makes a row for each element of a list."""
    select = site.select
    lists = [each for each in site.columns if each.type == LIST]
    fits = is_flat(select) and not select.has(Role.EXPLODE, Role.WINDOW) and not site.in_compound
    if not lists or not fits or select.qualify is not None:
        return None
    added = Projection(choices.name(), explode(choices.pick(lists)))
    return inserted(select, _place(choices, select), added)


def toggle_unnest(choices: Choices, site: Site) -> Select | None:
    """LATERAL VIEW EXPLODE, or none any more."""
    select = site.select
    lists = [each for each in site.columns if each.type == LIST and each.alias == "x"]
    if select.unnest is not None:
        return replace(select, unnest=None)
    if not lists or len(select.sources) > 1:
        return None
    chosen = choices.pick(lists)
    if not may_unnest(chosen, site.columns):
        return None
    return replace(select, unnest=chosen, bare=False)


def remove_column(choices: Choices, site: Site) -> Select | None:
    """One column less."""
    select = site.select
    derived = select.has(Role.DERIVED) and select.group is not None
    keys = select.group.keys if select.group is not None else ()
    free = [each for each in select.projections if not (derived and each.name in keys)]
    if len(select.projections) < 2 or site.in_compound or not free or len(keys) == 1:
        return None
    gone = choices.pick(free)
    left = tuple(each for each in select.projections if each is not gone)
    return replace(select, projections=left)


def change_column(choices: Choices, site: Site) -> Select | None:
    """Another expression of the same type under the same name."""
    select = site.select
    keys = select.group.keys if select.group is not None else ()
    bound = keys if select.has(Role.DERIVED) else ()
    fixed = (Role.STAR, Role.EXPLODE, Role.DERIVED)
    free = [
        each
        for each in select.projections
        if each.term.role not in fixed and each.name not in bound and each.term.type != LIST
    ]
    if not free:
        return None
    old = choices.pick(free)
    new = _other(choices, site, old.term)
    if new is None or new == old.term:
        return None
    projections = [replace(each, term=new) if each is old else each for each in select.projections]
    return replace(select, projections=tuple(projections))


def _other(choices: Choices, site: Site, term: Term) -> Term | None:
    match term.role:
        case Role.LITERAL:
            return choices.literal(term.type)
        case Role.AGGREGATE:
            return choices.form(AGGREGATES, site.columns, term.role, term.type)
        case Role.WINDOW:
            return choices.form(WINDOWS, site.columns, term.role, term.type)
        case _:
            others = [each for each in site.columns if each.type == term.type]
            if others and choices.chance(30):
                return Term("{0}", (choices.pick(others),), term.type)
            return choices.form(PLAIN, site.columns, term.role, term.type)


def rename_column(choices: Choices, site: Site) -> Select | None:
    """Another name for a column."""
    select = site.select
    free = [each for each in select.projections if each.name != "*"]
    if not free or site.in_compound:
        return None
    old, name = choices.pick(free), choices.name()

    def renamed(keys: Sequence[str]) -> tuple[str, ...]:
        return tuple(name if key == old.name else key for key in keys)

    projections = [replace(each, name=name) if each is old else each for each in select.projections]
    return replace(
        select,
        projections=tuple(projections),
        group=select.group and replace(select.group, keys=renamed(select.group.keys)),
        order=select.order and replace(select.order, keys=renamed(select.order.keys)),
    )


def reorder_columns(choices: Choices, site: Site) -> Select | None:
    """The same columns in another order."""
    found = site.select.projections
    if len(found) < 2 or site.in_compound:
        return None
    shift = 1 + choices.number(len(found) - 2)
    return replace(site.select, projections=(*found[shift:], *found[:shift]))


# Rows ---------------------------------------------------------------------------------------------


def change_filter(choices: Choices, site: Site) -> Select | None:
    """One condition more, less, or another one."""
    where = site.select.where
    if not site.columns:
        return None
    added = (choices.condition(site.columns, site.relations),)
    options = [(*where, *added), added, where[1:], where[:-1]] if where else [added]
    return replace(site.select, where=choices.pick(options))


def change_join(choices: Choices, site: Site) -> Select | None:
    """Another kind of join, another condition, or none at all."""
    select = site.select
    if len(select.sources) < 2:
        return None
    one, two = select.sources[0], select.sources[1]
    alone = (one, replace(two, join=""))
    sides = [visible(Select((each,), ()), site.relations) for each in alone]
    match choices.number(5):
        case 0:
            return replace(select, sources=(one, *select.sources[2:]))
        case 1 | 2:
            two = replace(two, on=(choices.match(*sides), *two.on[1:]))
        case _:
            on = two.on or (choices.match(*sides),)
            two = replace(
                two, join=choices.pick([each for each in JOINS if each != two.join]), on=on
            )
    two = two if two.join in JOINS else replace(two, join="JOIN")
    return replace(select, sources=(one, two, *select.sources[2:]))


def add_join(choices: Choices, site: Site) -> Select | None:
    """One more table."""
    select = site.select
    if len(select.sources) > 1 or select.unnest is not None:
        return None
    if not isinstance(select.sources[0].relation, str):
        return None
    joined = beside(choices, select.sources, site.relations, "y")
    return replace(select, sources=(*select.sources, joined))


def swap_tables(choices: Choices, site: Site) -> Select | None:
    """The tables of a join the other way around."""
    sources = site.select.sources
    if len(sources) < 2:
        return None
    one, two = sources[:2]
    turned = (replace(two, join="", on=()), replace(one, join=two.join, on=two.on))
    return replace(site.select, sources=(*turned, *sources[2:]))


def move_condition(choices: Choices, site: Site) -> Select | None:
    """A condition of WHERE that stands in ON, or the other way around."""
    select = site.select
    if len(select.sources) < 2 or not select.sources[1].on:
        return None
    one, two, *rest = select.sources
    if len(two.on) > 1:
        where, on = (*select.where, two.on[-1]), two.on[:-1]
    elif select.where and two.on[0].text != USING:
        where, on = select.where[:-1], (*two.on, select.where[-1])
    else:
        return None
    return replace(select, where=where, sources=(one, replace(two, on=on), *rest))


def change_relation(choices: Choices, site: Site) -> Select | None:
    """Another table in FROM."""
    first = site.select.sources[0]
    other = Source(first.alias, choices.relation(site.relations))
    starred = site.in_compound and site.select.has(Role.STAR)
    if other.relation == first.relation or starred:
        return None
    return replace(site.select, sources=(other, *site.select.sources[1:]))


def change_group(choices: Choices, site: Site) -> Select | None:
    """Other words for GROUP BY, sub-totals or none."""
    group = site.select.group
    if group is None:
        return None
    literal = any(
        each.term.role is Role.LITERAL
        for each in site.select.projections
        if each.name in group.keys
    )
    styles = (Style.ORDINALS, Style.ALL) if literal else tuple(Style)
    return replace(site.select, group=Group(choices.pick(styles), group.keys))


def change_having(choices: Choices, site: Site) -> Select | None:
    """Another condition on groups, or none."""
    select = site.select
    if is_flat(select):
        return None
    if select.having is not None and choices.chance(50):
        return replace(select, having=None)
    upstream = 1 + choices.number(1)
    return replace(select, having=Term(f"COUNT(*) > {upstream}", (), INT, Role.AGGREGATE))


def change_qualify(choices: Choices, site: Site) -> Select | None:
    """Another condition on a window, or none."""
    select = site.select
    if not is_flat(select) or select.has(Role.EXPLODE) or select.unnest is not None:
        return None
    if select.qualify is not None and choices.chance(50):
        return replace(select, qualify=None)
    windows = [each for each in select.projections if each.term.role is Role.WINDOW]
    named = [Ref("", each.name, INT) for each in windows if each.term.type == INT]
    if named and choices.chance(50):
        return replace(select, qualify=Term("{0} > 1", (choices.pick(named),)), bare=False)
    term = choices.form(WINDOWS, site.columns, Role.WINDOW, INT)
    if term is None:
        return None
    return replace(select, qualify=replace(term, text=f"{term.text} > 1"), bare=False)


def toggle_distinct(choices: Choices, site: Site) -> Select | None:
    """DISTINCT, or none any more."""
    return replace(site.select, distinct=not site.select.distinct)


def change_order(choices: Choices, site: Site) -> Select | None:
    """Another LIMIT, another order, or none."""
    select = site.select
    if site.in_compound:
        return None
    if select.order is not None and choices.chance(40):
        return replace(select, order=None)
    return replace(select, order=ordered(choices, select.names))
