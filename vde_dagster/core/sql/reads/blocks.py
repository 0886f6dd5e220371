"""The SELECTs of a query: what each reads, and which others read its rows.

A clause that is not known makes a block *unsound* or a use *opaque*: then nothing is concluded
from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar

from sqlglot import exp

from vde_dagster.core.sql.select_clauses import (
    ENDINGS,
    FromClause,
    FromItem,
    JoinClause,
    SelectClauses,
    clauses_of,
    given,
    is_only_around,
    listed_columns,
    others_of,
    with_of,
)
from vde_dagster.core.sql.table_names import common_table_of

PartT = TypeVar("PartT", bound=exp.Expr)
Body = exp.Select | exp.SetOperation
"""A query without parentheses around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One place that reads the rows of a query.

    In FROM, ``block`` reads them under ``alias``, with columns named ``columns`` if those are
    listed. As an operand of ``operation`` they become its rows. Otherwise the use is opaque.
    """

    block: Block | None = None
    alias: str = ""
    columns: tuple[str, ...] = ()
    operation: exp.SetOperation | None = None


OPAQUE: Final = Use()


@dataclass(slots=True, kw_only=True, eq=False)
class Block:
    """A SELECT with the tables that it names in FROM, by alias in lower case."""

    clauses: SelectClauses
    tables: dict[str, exp.Table] = field(default_factory=dict)
    sound: bool = True


@dataclass(slots=True, kw_only=True)
class Blocks:
    """All blocks of a query, and the uses of each query in it, by the identity of its node.

    ``traceable`` is False where some use of a common table expression may have been missed.
    """

    blocks: list[Block] = field(default_factory=list)
    uses: dict[int, list[Use]] = field(default_factory=dict)
    traceable: bool = True


def blocks_of(query: exp.Query) -> Blocks:
    """Take a query apart. The use of the query itself is opaque.

    Args:
        query: Every column is bound to the alias of its table.
    """
    reader = _Reader()
    reader.query(query, OPAQUE)
    reader.found.traceable &= all(
        id(table) in reader.seen or common_table_of(table) is None
        for table in query.find_all(exp.Table)
        if not isinstance(table.parent, exp.JoinHint)
    )
    return reader.found


_SIDES: Final = ("", "LEFT", "RIGHT", "FULL")
_KINDS: Final = ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI")


def is_understood_join(join: JoinClause) -> bool:
    """Whether a join keeps, drops or completes with NULLs each row by itself."""
    return (
        join.is_by_condition
        and join.node.side in _SIDES
        and join.node.kind in _KINDS
        and not (join.node.kind in ("SEMI", "ANTI") and join.node.side not in ("", "LEFT"))
    )


@dataclass(slots=True)
class _Reader:
    found: Blocks = field(default_factory=Blocks)
    visited: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)

    def query(self, node: exp.Expr, use: Use) -> None:
        """Visit a query with its parentheses, under one use."""
        while isinstance(node, exp.Subquery):
            self.visited.add(id(node))
            self.common_tables(node)
            use = use if is_only_around(node) else OPAQUE
            node = node.this
        if not isinstance(node, exp.Select | exp.SetOperation):
            return
        self.found.uses.setdefault(id(node), []).append(use)
        self.body(node)

    def body(self, node: Body) -> None:
        """Visit a query once, however many read it."""
        if id(node) in self.visited:
            return
        self.visited.add(id(node))
        self.common_tables(node)
        if isinstance(node, exp.SetOperation):
            use = Use(operation=node) if _is_plain(node) else OPAQUE
            self.query(node.this, use)
            self.query(node.expression, use)
        else:
            clauses = clauses_of(node)
            block = Block(clauses=clauses, sound=not clauses.others)
            self.found.blocks.append(block)
            for source in _sources(clauses.from_):
                self.source(block, source)
        for inner in list(own_parts(node, exp.Query)):
            if id(inner) not in self.visited:
                self.query(inner, OPAQUE)

    def common_tables(self, node: exp.Expr) -> None:
        """Visit the common tables that a query defines."""
        with_ = with_of(node)
        for cte in with_.expressions if with_ is not None else ():
            body, _ = _unwrapped(cte.this)
            if body is None:
                self.found.traceable = False
            else:
                self.query(cte.this, OPAQUE)
                self.found.uses[id(body)].clear()  # being defined is no use

    def source(self, block: Block, source: FromItem | JoinClause) -> None:
        """Visit one item of FROM."""
        if isinstance(source, JoinClause):
            block.sound &= is_understood_join(source)
            return
        match source.node:
            case exp.Table() as table:
                self.table(block, source, table)
            case exp.Subquery() as node if isinstance(node.unnest(), exp.Select | exp.SetOperation):
                use = Use(block=block, alias=node.alias.lower(), columns=source.columns)
                block.sound &= not source.others
                self.query(node, use if node.alias else OPAQUE)
            case exp.Subquery() as node:
                block.sound &= not source.others and not node.alias
                self.visited.add(id(node))
            case _:
                pass  # rows of their own: VALUES, EXPLODE and similar ones

    def table(self, block: Block, source: FromItem, node: exp.Table) -> None:
        """Visit a table or a reference to a common one."""
        self.seen.add(id(node))
        plain = not source.others
        cte = common_table_of(node)
        if cte is not None:
            body, is_whole = _unwrapped(cte.this)
            plain &= is_whole and not (isinstance(cte.parent, exp.With) and cte.parent.recursive)
            columns = source.columns or listed_columns(cte)
            use = Use(block=block, alias=source.alias, columns=columns) if plain else OPAQUE
            self.found.uses.setdefault(id(body), []).append(use)
        elif plain and not source.columns:
            block.sound &= source.alias not in block.tables
            block.tables[source.alias] = node


def _is_plain(operation: exp.SetOperation) -> bool:
    """Whether a set operation chooses rows by their values only, without a LIMIT after that."""
    return not (others_of(operation) or given(operation) & (ENDINGS - {"order"}))


def _unwrapped(node: exp.Expr) -> tuple[Body | None, bool]:
    """What is in parentheses, and whether these have no clauses of their own."""
    plain = True
    while isinstance(node, exp.Subquery):
        plain &= is_only_around(node)
        node = node.this
    return (node if isinstance(node, exp.Select | exp.SetOperation) else None), plain


def _sources(from_: FromClause) -> Iterator[FromItem | JoinClause]:
    """All items of FROM and all joins, also inside of parentheses around joins."""
    first = () if from_.first is None else (from_.first,)
    waiting: list[FromItem | JoinClause] = [*first, *from_.joins]
    while waiting:
        source = waiting.pop(0)
        yield source
        if isinstance(source, JoinClause):
            waiting.append(source.item)
        else:
            waiting += source.joins
            waiting += () if source.inside is None else (source.inside,)


def own_parts(query: exp.Expr, kind: type[PartT]) -> Iterator[PartT]:
    """The nodes of a kind inside of a query, without those inside of its sub-queries."""
    walked = query.walk(prune=lambda each: each is not query and isinstance(each, exp.Query))
    return (each for each in walked if each is not query and isinstance(each, kind))
