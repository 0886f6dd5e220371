"""The SELECTs of a query: what each reads, and by whom its rows are read.

Everything that is looked into is listed here by name. Whatever else a query has makes a block
*unsound* or a use *opaque*: then nothing is concluded from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

Body = exp.Select | exp.SetOperation
"""A query without parentheses around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One place that reads the rows of a query.

    In FROM, ``block`` reads them under ``alias``, with columns named ``columns`` where those are
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

    select: exp.Select
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


@dataclass(frozen=True, slots=True)
class _Cte:
    body: Body
    columns: tuple[str, ...]
    plain: bool


_Ctes = Mapping[str, _Cte]


def blocks_of(query: exp.Query) -> Blocks:
    """Take a query apart. The use of the query itself is opaque.

    Args:
        query: Every column is bound to the alias of its table.
    """
    reader = _Reader()
    reader.query(query, {}, OPAQUE)
    reader.found.traceable &= all(
        table.db or table.name.lower() not in reader.names or id(table) in reader.seen
        for table in query.find_all(exp.Table)
        if not isinstance(table.parent, exp.JoinHint)
    )
    return reader.found


_CLAUSES: Final = frozenset(
    {
        "cluster",
        "distinct",
        "distribute",
        "expressions",
        "from_",
        "group",
        "having",
        "hint",
        "joins",
        "laterals",
        "limit",
        "offset",
        "order",
        "qualify",
        "sort",
        "where",
        "windows",
        "with_",
    }
)
"""The clauses of SELECT that are understood: WHERE is applied to every row that FROM makes."""
_OF_TABLES: Final = frozenset({"this", "alias", "db", "catalog", "joins", "laterals", "hints"})
_OF_PARENTHESES: Final = frozenset({"this", "alias", "with_", "joins", "laterals"})
_WRAPPING: Final = frozenset({"this", "alias", "with_"})
_OF_JOINS: Final = frozenset({"this", "on", "side", "kind", "hint"})
_SIDES: Final = ("", "LEFT", "RIGHT", "FULL")
_KINDS: Final = ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI")


def is_understood_join(join: exp.Join) -> bool:
    """Whether a join keeps, drops or completes with NULLs each row by itself."""
    return (
        _given(join) <= _OF_JOINS
        and join.side in _SIDES
        and join.kind in _KINDS
        and not (join.kind in ("SEMI", "ANTI") and join.side not in ("", "LEFT"))
    )


def _given(node: exp.Expr) -> set[str]:
    return {key for key, value in node.args.items() if value not in (None, False, [], "")}


@dataclass(slots=True)
class _Reader:
    found: Blocks = field(default_factory=Blocks)
    visited: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def query(self, node: exp.Expr, ctes: _Ctes, use: Use) -> None:
        """Visit a query with its parentheses, under one use."""
        while isinstance(node, exp.Subquery):
            self.visited.add(id(node))
            ctes = self.common_tables(node, ctes)
            use = use if _given(node) <= _WRAPPING else OPAQUE
            node = node.this
        if not isinstance(node, exp.Select | exp.SetOperation):
            return
        self.found.uses.setdefault(id(node), []).append(use)
        self.body(node, ctes)

    def body(self, node: Body, ctes: _Ctes) -> None:
        """Visit a query once, whoever reads it."""
        if id(node) in self.visited:
            return
        self.visited.add(id(node))
        ctes = self.common_tables(node, ctes)
        if isinstance(node, exp.SetOperation):
            plain = _given(node) <= {"this", "expression", "distinct", "with_", "order"}
            use = Use(operation=node) if plain else OPAQUE
            self.query(node.this, ctes, use)
            self.query(node.expression, ctes, use)
        else:
            block = Block(select=node, sound=_given(node) <= _CLAUSES)
            self.found.blocks.append(block)
            for source in _sources(node):
                self.source(block, source, ctes)
        for inner in _queries_in(node):
            if id(inner) not in self.visited:
                self.query(inner, ctes, OPAQUE)

    def common_tables(self, node: exp.Expr, ctes: _Ctes) -> _Ctes:
        """The common tables that a query sees: those around it, and its own."""
        with_ = node.args.get("with_")
        if with_ is None:
            return ctes
        recursive = bool(with_.args.get("recursive"))
        known = dict(ctes)
        for cte in with_.expressions:
            body, plain = _unwrapped(cte.this)
            if body is None:
                self.found.traceable = False
                continue
            columns = tuple(each.name.lower() for each in cte.args["alias"].columns)
            entry = _Cte(body, columns, plain and not recursive)
            name = cte.alias.lower()
            self.names.add(name)
            self.query(cte.this, {**known, name: entry} if recursive else known, OPAQUE)
            self.found.uses[id(body)].clear()  # being defined is no use
            known[name] = entry
        return known

    def source(self, block: Block, node: exp.Expr, ctes: _Ctes) -> None:
        """Visit one item of FROM."""
        match node:
            case exp.Table():
                self.table(block, node, ctes)
            case exp.Subquery() if isinstance(node.unnest(), exp.Select | exp.SetOperation):
                columns = _listed(node)
                alias = node.alias.lower()
                use = Use(block=block, alias=alias, columns=columns) if alias else OPAQUE
                block.sound &= _given(node) <= _OF_PARENTHESES
                self.query(node, ctes, use)
            case exp.Subquery():
                block.sound &= _given(node) <= _OF_PARENTHESES and not node.alias
                self.visited.add(id(node))
            case exp.Join():
                block.sound &= is_understood_join(node)
            case _:
                pass  # rows of their own: VALUES, EXPLODE and their like

    def table(self, block: Block, node: exp.Table, ctes: _Ctes) -> None:
        """Visit a table or a reference to a common one."""
        self.seen.add(id(node))
        alias = node.alias_or_name.lower()
        plain = _given(node) <= _OF_TABLES
        cte = ctes.get(node.name.lower()) if not node.db else None
        if cte is not None:
            columns = _listed(node) or cte.columns
            plain &= cte.plain
            use = Use(block=block, alias=alias, columns=columns) if plain else OPAQUE
            self.found.uses[id(cte.body)].append(use)
        elif plain and not _listed(node):
            block.sound &= alias not in block.tables
            block.tables[alias] = node


def _unwrapped(node: exp.Expr) -> tuple[Body | None, bool]:
    """What stands in parentheses, and whether these have no clauses of their own."""
    plain = True
    while isinstance(node, exp.Subquery):
        plain &= _given(node) <= _WRAPPING
        node = node.this
    return (node if isinstance(node, exp.Select | exp.SetOperation) else None), plain


def _listed(node: exp.Expr) -> tuple[str, ...]:
    alias = node.args.get("alias")
    return tuple(each.name.lower() for each in alias.columns) if alias is not None else ()


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    """All items of FROM and all joins, also inside of parentheses around joins."""
    from_ = select.args.get("from_")
    waiting = [*([from_.this] if from_ is not None else []), *(select.args.get("joins") or [])]
    while waiting:
        node = waiting.pop(0)
        yield node
        if isinstance(node, exp.Join):
            waiting.append(node.this)
        elif isinstance(node, exp.Table | exp.Subquery):
            waiting += node.args.get("joins") or []
            if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery):
                waiting.append(node.this)


def _queries_in(node: Body) -> Iterator[exp.Query]:
    """The queries that stand right inside a query, in whatever place."""
    for each in node.walk(prune=lambda inner: inner is not node and isinstance(inner, exp.Query)):
        if each is not node and isinstance(each, exp.Query):
            yield each
