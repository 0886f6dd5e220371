"""What the queries of a project can read, and how they read on when that has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tests.core.planning.changes.proof.queries import (
    CONSTANTS,
    EQUAL,
    INT,
    USING,
    Columns,
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
    map_terms,
)

SOURCE = "raw.t"
"""What is read in place of a model that is no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A SELECT within a query: what it can read, and whether it is a side of a set operation."""

    select: Select
    relations: Relations
    in_compound: bool

    @property
    def columns(self) -> list[Ref]:
        """The columns that its expressions can read."""
        return visible(self.select, self.relations)


def outputs(query: Query, relations: Relations) -> Columns:
    """The columns that a query returns."""
    known = dict(relations)
    for name, each in query.ctes:
        known[name] = outputs(each, known)
    body = query.body if isinstance(query.body, Select) else query.body.sides[0]
    return select_outputs(body, known)


def select_outputs(select: Select, relations: Relations) -> Columns:
    """The columns that a SELECT returns."""
    tables = tables_of(select, relations)
    columns: dict[str, str] = {}
    for each in select.projections:
        if each.term.role is Role.STAR:
            columns |= tables[each.term.refs[0].alias]
        else:
            columns[each.name] = each.term.type
    return columns


def tables_of(select: Select, relations: Relations) -> dict[str, Columns]:
    """The columns of each alias of a SELECT."""
    tables = {each.alias: _columns(each, relations) for each in select.sources}
    return tables if select.unnest is None else {**tables, "v": {"w": INT}}


def _columns(source: Source, relations: Relations) -> Columns:
    found = source.relation
    return relations[found] if isinstance(found, str) else outputs(found, relations)


def visible(select: Select, relations: Relations) -> list[Ref]:
    """The columns that a SELECT can name; those behind a SEMI or ANTI JOIN only its ON can."""
    hidden = {each.alias for each in select.sources if _hides(each)}
    return [
        Ref(alias, column, type_)
        for alias, columns in tables_of(select, relations).items()
        if alias not in hidden
        for column, type_ in columns.items()
    ]


def _hides(source: Source) -> bool:
    return "SEMI" in source.join or "ANTI" in source.join


def map_sites(query: Query, relations: Relations, change: Callable[[Site], Select]) -> Query:
    """A query with each of its SELECTs changed, inner ones first."""
    known = dict(relations)
    ctes: list[tuple[str, Query]] = []
    for name, each in query.ctes:
        ctes.append((name, map_sites(each, known, change)))
        known[name] = outputs(ctes[-1][1], known)

    def changed(select: Select, *, in_compound: bool = False) -> Select:
        sources = tuple(
            replace(each, relation=map_sites(each.relation, known, change))
            if isinstance(each.relation, Query)
            else each
            for each in select.sources
        )
        site = replace(select, sources=sources)
        return change(Site(select=site, relations=known, in_compound=in_compound))

    body = query.body
    if isinstance(body, Select):
        return Query(changed(body), tuple(ctes))
    sides = tuple(changed(each, in_compound=True) for each in body.sides)
    return Query(replace(body, sides=sides), tuple(ctes))


def sites(query: Query, relations: Relations) -> list[Site]:
    """The SELECTs of a query, inner ones first."""
    found: list[Site] = []

    def note(site: Site) -> Select:
        found.append(site)
        return site.select

    map_sites(query, relations, note)
    return found


def with_site(query: Query, relations: Relations, index: int, select: Select) -> Query:
    """A query with another SELECT at one of its sites."""
    passed = -1

    def put(site: Site) -> Select:
        nonlocal passed
        passed += 1
        return select if passed == index else site.select

    return map_sites(query, relations, put)


# Reading on ---------------------------------------------------------------------------------------


def repaired(query: Query, relations: Relations) -> Query:
    """A query that reads, in place of each column that is no more, another one of its type."""
    fixed = map_sites(_existing(query, frozenset(relations)), relations, _repaired)
    if isinstance(fixed.body, Select):
        return fixed
    names = dict.fromkeys(fixed.body.sides[0].names)
    return replace(fixed, body=replace(fixed.body, order=_order(fixed.body.order, names)))


def _existing(query: Query, known: frozenset[str]) -> Query:
    """A query that reads no relation that is unknown."""
    inside, ctes = known, []
    for name, each in query.ctes:
        ctes.append((name, _existing(each, inside)))
        inside |= {name}

    def existing(select: Select) -> Select:
        known = map_terms(select, lambda term: replace(term, reads=_relation(term.reads, inside)))
        sources = tuple(
            replace(
                each,
                relation=_existing(each.relation, inside)
                if isinstance(each.relation, Query)
                else _relation(each.relation, inside),
            )
            for each in known.sources
        )
        return replace(known, sources=sources)

    body = query.body
    if isinstance(body, Select):
        return Query(existing(body), tuple(ctes))
    return Query(replace(body, sides=tuple(map(existing, body.sides))), tuple(ctes))


def _relation(name: str, known: frozenset[str]) -> str:
    return name if not name or name in known else SOURCE


def may_unnest(of: Ref, columns: Sequence[Ref]) -> bool:
    """Whether a list is there, and no other column has the name that its elements get."""
    return of in columns and not any(each.column == "w" and each.alias != "v" for each in columns)


def _repaired(site: Site) -> Select:
    select = site.select
    if select.unnest is not None and not may_unnest(select.unnest, site.columns):
        select = replace(select, unnest=None)
    columns = visible(select, site.relations)
    aliases = {each.alias for each in columns}

    def term(each: Term, known: list[Ref]) -> Term:
        if each.role is Role.STAR:
            return each if each.refs[0].alias in aliases else star(select.sources[0].alias)
        inner = [Ref("s", *item) for item in site.relations.get(each.reads, {}).items()]
        found = (_found(ref, inner if ref.alias == "s" else known) for ref in each.refs)
        refs = tuple(ref for ref in found if ref is not None)
        return replace(each, refs=refs) if len(refs) == len(each.refs) else _NOTHING

    def joined(at: int, source: Source) -> Source:
        so_far = (*select.sources[:at], replace(source, join="JOIN"))
        known = visible(Select(so_far, ()), site.relations)
        nested = at == 1 and len(select.sources) == 2 and not _hides(source)
        on = [each for each in source.on if nested or not each.reads]
        return replace(source, on=tuple(term(each, known) for each in on))

    sources = tuple(joined(at, each) for at, each in enumerate(select.sources))
    fixed = replace(map_terms(select, lambda each: term(each, columns)), sources=sources)
    return _consistent(_joining_by_names(fixed, site.relations), site.relations)


def _joining_by_names(select: Select, relations: Relations) -> Select:
    """A SELECT that joins by names only two tables that have columns of one name."""
    tables = tables_of(select, relations)
    first = tables[select.sources[0].alias].keys()

    def joining(at: int, source: Source) -> Source:
        shared = first & tables[source.alias].keys() if at == 1 else set()
        if source.join.startswith("NATURAL") and not shared:
            return replace(source, join="CROSS JOIN")
        if source.on and source.on[0].text == USING:
            one = {each.column for each in source.on[0].refs}
            if len(one) > 1 or not one <= shared:
                return replace(source, on=(replace(source.on[0], text=EQUAL), *source.on[1:]))
        return source

    return replace(
        select, sources=tuple(joining(at, each) for at, each in enumerate(select.sources))
    )


_NOTHING = Term("CAST(7 AS INT)", (), INT, Role.LITERAL)
"""In place of what reads a list where there is none."""


def star(alias: str) -> Term:
    """All columns of an alias."""
    return Term(f"{alias}.*", (Ref(alias, "*", ""),), "", Role.STAR)


def _found(ref: Ref, columns: list[Ref]) -> Ref | None:
    if not ref.alias or ref in columns:
        return ref
    return next((each for each in columns if each.type == ref.type), CONSTANTS.get(ref.type))


def _consistent(select: Select, relations: Relations) -> Select:
    """A SELECT whose names are unique, and whose clauses name what it returns."""
    starred = {
        name
        for each in select.projections
        if each.term.role is Role.STAR
        for name in tables_of(select, relations)[each.term.refs[0].alias]
    }
    read = [each.column for each in visible(select, relations)]
    twice = {each for each in read if read.count(each) > 1}
    roles: dict[str, Role] = {}
    kept: list[Projection] = []
    for each in select.projections:
        if each.name not in starred:
            refs = tuple(
                CONSTANTS[ref.type] if _dangles(ref, roles, twice) else ref
                for ref in each.term.refs
            )
            kept.append(replace(each, term=replace(each.term, refs=refs)))
            roles[each.name] = each.term.role
    has_one_row = Role.AGGREGATE in roles.values() and select.group is None
    return replace(
        select,
        projections=tuple(kept),
        where=tuple(each for each in select.where if each is not _NOTHING),
        group=_group(select, relations, roles),
        having=_named(select.having, roles, Role.AGGREGATE),
        qualify=None if has_one_row else _named(select.qualify, roles, Role.WINDOW),
        order=_order(select.order, roles),
    )


def _dangles(ref: Ref, names: Mapping[str, object], ambiguous: Collection[str]) -> bool:
    """Whether a reference to the SELECT's own output has lost its column, or may mean another."""
    if ref.alias or ref in CONSTANTS.values():
        return False
    return ref.column not in names or ref.column in ambiguous


def _named(term: Term | None, roles: Mapping[str, Role], wanted: Role) -> Term | None:
    """A condition on a projection, while that has the role that the clause wants."""
    if term is None or term.role is wanted:
        return term
    return term if [roles.get(ref.column) for ref in term.refs] == [wanted] else None


def _group(select: Select, relations: Relations, names: Mapping[str, object]) -> Group | None:
    """GROUP BY what is left of its keys, by names of the result only where these are clear."""
    group = select.group
    if group is None:
        return None
    keys = tuple(key for key in group.keys if key in names)
    if not keys:
        return Group(Style.ALL, ())
    read = visible(select, relations)
    own = {each.name: each.term for each in select.projections}
    unclear = len(select.sources) > 1 or any(
        each.column == key and any(ref.column != key for ref in own[key].refs)
        for each in read
        for key in keys
    )
    literal = any(own[key].role is Role.LITERAL for key in keys)
    style = group.style
    if style is Style.OUTPUTS and unclear:
        style = Style.ORDINALS
    if style not in (Style.OUTPUTS, Style.ORDINALS, Style.ALL) and literal:
        style = Style.ORDINALS
    return Group(style, keys)


def _order(order: Order | None, names: Mapping[str, object]) -> Order | None:
    """An order by what is left of its keys and, so that it stays total, all further columns."""
    if order is None or order.style is Style.ALL:
        return order
    kept = [key for key in order.keys if key in names]
    if order.style is Style.ORDINALS:
        return replace(order, keys=tuple(kept)) if kept else None
    return replace(order, keys=(*kept, *(name for name in names if name not in kept)))
