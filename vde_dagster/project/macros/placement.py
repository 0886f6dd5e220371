"""Replacing a macro by its result, in the tree and in the text.

Each function that changes the tree returns the `Edit` that does the same to the author's text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from vde_dagster.project.macros.edits import Edit, Glue
from vde_dagster.project.macros.tokens import MacroError
from vde_dagster.project.macros.values import identifier_of, names_of, text_of, written_of

_OPEN: Final = (
    exp.Alias,
    exp.Case,
    exp.Distinct,
    exp.Having,
    exp.If,
    exp.Join,
    exp.Lambda,
    exp.Limit,
    exp.Offset,
    exp.Ordered,
    exp.Paren,
    exp.Qualify,
    exp.Tuple,
    exp.Where,
)
"""Parent nodes in which an expression needs no parentheses."""
_OPERATORS: Final = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.AtTimeZone)
_CLAUSES: Final = (exp.Where, exp.Having, exp.Qualify, exp.Limit, exp.Offset, exp.Group, exp.Order)
_AROUND_QUERY: Final = ("with_", "order", "limit", "offset")
_WORD: Final = re.compile(r"\w+")
_TABLE_ADVICE: Final = "Let it give the name of one model or source, or a query."
NO_MEMBERS: Final = "SELECT NULL WHERE FALSE"
"""An empty list for IN: nothing is in it, not even NULL; in the tree the condition is FALSE."""


def put(node: exp.Expr, found: Sequence[exp.Expr]) -> Edit:
    """Replace a leaf (an identifier or variable of a tree) by expressions: none, one or several.

    Several are possible in a list. None removes the projection, condition or item that the leaf
    was. What was a name becomes a name again, quoted if needed.

    Returns:
        The edit of the leaf in the text.

    Raises:
        MacroError: The expressions do not fit there.
    """
    slot = _slot(node)
    found = [each.copy() for each in found]
    if found and (comments := _comments(node, slot)):
        found[0].add_comments(comments)
    if isinstance(slot, exp.Table):
        return _put_table(slot, found)
    if slot is node:
        return _put_name(node, found)
    return _put_expression(slot, found)


def put_union(node: exp.Expr, union: exp.Query) -> None:
    """Replace the SELECT whose only projection a leaf is by a set operation.

    Raises:
        MacroError: The SELECT has parts that a set operation cannot have.
    """
    column = _slot(node)
    select = column.parent
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise MacroError("@UNION is a query of its own", "Write SELECT ... FROM (@UNION(a, b)).")
    for key, value in select.args.items():
        if value and key not in {"expressions", *_AROUND_QUERY}:
            advice = "Write SELECT ... FROM (@UNION(a, b)) and the clause behind it."
            raise MacroError(f"the {key.upper()} behind @UNION belongs to no SELECT", advice)
    for key in _AROUND_QUERY:
        union.set(key, select.args.get(key))
    union.add_comments([*(select.comments or []), *_comments(node, column)])
    select.replace(union)


def _slot(node: exp.Expr) -> exp.Expr:
    """The node that consists of a leaf alone: a column, a table, or the leaf itself."""
    parent = node.parent
    if isinstance(node, exp.Identifier) and node.arg_key == "this":
        if isinstance(parent, exp.Column) and len(parent.parts) == 1:
            return parent
        if isinstance(parent, exp.Table) and parent.args.get("db") is None:
            return parent
    return node


def _comments(node: exp.Expr, slot: exp.Expr) -> list[str]:
    own = [*(node.comments or [])]
    return own if slot is node else [*own, *(slot.comments or [])]


def _put_name(node: exp.Expr, found: Sequence[exp.Expr]) -> Edit:
    text = text_of(found[0]) if len(found) == 1 else None
    if not text:
        message = "a name is needed here, and the macro gives something else"
        raise MacroError(message, "Let it give a name, or a text to make one of.")
    match node:
        case exp.Identifier():
            new: exp.Expr = _identifier(found[0], text)
        case exp.Literal():
            new = exp.Literal(this=text, is_string=node.is_string)
        case _ if _WORD.fullmatch(text):
            new = exp.Var(this=text.upper())
        case _:
            message = f"a word is needed here, and the macro gives {text!r}"
            raise MacroError(message, "Let it give a single word.")
    new.comments = node.comments
    node.replace(new)
    return Edit(written_of(new))


def _identifier(value: exp.Expr, text: str) -> exp.Identifier:
    """A name as it was written, or one made from a text."""
    written = value.this if isinstance(value, exp.Column) else value
    return written.copy() if isinstance(written, exp.Identifier) else identifier_of(text)


def _put_table(table: exp.Table, found: Sequence[exp.Expr]) -> Edit:
    if len(found) != 1:
        message = f"one table is needed here, and the macro gives {_count(found)}"
        raise MacroError(message, _TABLE_ADVICE)
    value = found[0].unnest()
    if isinstance(value, exp.Query):
        inside = isinstance(table.parent, exp.Subquery)
        _put_query(table, value)
        return Edit(written_of(value), wrapped=not inside)
    names = names_of(value)
    if names is None or not 1 <= len(names) <= 3 or not all(names):
        message = "a table is needed here, and the macro gives something else"
        raise MacroError(message, _TABLE_ADVICE)
    keys = ("this", "db", "catalog")
    for key, name in zip(keys, reversed(names), strict=False):
        table.set(key, identifier_of(name))
    text = ".".join(written_of(each) for each in table.parts)
    if isinstance(value, exp.Table) and not table.alias and value.args.get("alias"):
        table.set("alias", value.args["alias"])
        text = f"{text} AS {written_of(value.args['alias'])}"
    return Edit(text)


def _put_query(table: exp.Table, query: exp.Query) -> None:
    if isinstance(table.parent, exp.Subquery):
        table.replace(query)
        return
    subquery = query.subquery(table.alias or None, copy=False)
    alias = table.args.get("alias")
    if alias is not None:
        subquery.set("alias", alias)
    for key in ("joins", "laterals", "pivots", "sample"):
        subquery.set(key, table.args.get(key))
    table.replace(subquery)


def _put_expression(slot: exp.Expr, found: Sequence[exp.Expr]) -> Edit:
    parent = slot.parent
    assert parent is not None
    if any(isinstance(each, exp.Alias) for each in found) and not _may_be_named(slot):
        advice = "Leave the name out of the macro, or the name behind it."
        raise MacroError("what the macro gives has a name, which cannot stand here", advice)
    if isinstance(parent, exp.In) and slot.arg_key in {"field", "expressions"}:
        return _put_members(parent, slot, found)
    if not found:
        return Edit("", glue=tuple(_remove(slot)))
    if isinstance(parent, exp.Ordered):
        return _put_ordered(parent, found)
    if len(found) == 1:
        return _put_one(slot, parent, found[0])
    if isinstance(parent.args.get(slot.arg_key or ""), list):
        slot.replace(list(found))
    elif isinstance(parent, exp.Paren):
        parent.replace(exp.Tuple(expressions=list(found)))
    elif isinstance(parent, exp.Func) and "expressions" in parent.arg_types:
        rest = [*found[1:], *parent.expressions]
        slot.replace(found[0])
        parent.set("expressions", rest)
    else:
        message = f"one expression is needed here, and the macro gives {_count(found)}"
        raise MacroError(message, "Let it give one, or put it where a list stands.")
    return Edit(", ".join(map(written_of, found)))


def _may_be_named(slot: exp.Expr) -> bool:
    """Whether ``... AS name`` is possible in a place."""
    parent = slot.parent
    if parent is None or not isinstance(parent.args.get(slot.arg_key or ""), list):
        return False
    return isinstance(parent, exp.Select | exp.Func) or parent.parent is None


def _put_one(slot: exp.Expr, parent: exp.Expr, value: exp.Expr) -> Edit:
    text = written_of(value)
    if isinstance(value, exp.Query) and not isinstance(value, exp.Subquery):
        if isinstance(parent, exp.Paren):
            parent.replace(value.subquery(copy=False))
        elif isinstance(parent, exp.CTE | exp.Exists) or parent.parent is None:
            slot.replace(value)  # the root is the parent of a whole text
        else:
            slot.replace(value.subquery(copy=False))
            return Edit(text, wrapped=True)
        return Edit(text)
    if isinstance(parent, exp.CTE):
        message = "a query is needed here, and the macro gives an expression"
        raise MacroError(message, "Let it give a SELECT.")
    fits = _fits(value, slot)
    slot.replace(value if fits else exp.Paren(this=value))
    return Edit(text, wrapped=not fits)


def _fits(value: exp.Expr, slot: exp.Expr) -> bool:
    """Whether an expression keeps its meaning in a place without parentheses."""
    if not isinstance(value, _OPERATORS) or isinstance(value, exp.Paren | exp.Dot):
        return True
    parent = slot.parent
    if parent is None or isinstance(parent.args.get(slot.arg_key or ""), list):
        return True
    if isinstance(parent, exp.Interval):
        return isinstance(value, exp.Neg)
    operator = isinstance(parent, (*_OPERATORS, exp.Cast))
    call = isinstance(parent, exp.Func) and not operator
    return call or (isinstance(parent, _OPEN) and not operator) or isinstance(parent, exp.Paren)


def _put_members(parent: exp.In, slot: exp.Expr, found: Sequence[exp.Expr]) -> Edit:
    """Put the members of IN: a list counts as its items, and an empty list as no member."""
    members = [
        item
        for each in found
        for item in (each.expressions if isinstance(each, exp.Array | exp.Tuple) else [each])
    ]
    is_field = slot.arg_key == "field"
    if len(members) == 1 and isinstance(members[0], exp.Query) and len(parent.expressions) < 2:
        text = written_of(members[0])
        parent.set("field", None)
        parent.set("expressions", None)
        query = members[0].unnest()
        parent.set("query", exp.Subquery(this=query))
        return Edit(text, wrapped=is_field and not isinstance(members[0], exp.Subquery))
    text = ", ".join(map(written_of, members))
    if is_field:
        parent.set("field", None)
        parent.set("expressions", members)
    elif members:
        slot.replace(members)
    else:
        slot.pop()
    if parent.expressions:
        return Edit(text, wrapped=is_field) if members else Edit("", glue=(Glue.COMMA,))
    parent.replace(exp.false())
    return Edit(NO_MEMBERS, wrapped=is_field)


def _put_ordered(parent: exp.Ordered, found: Sequence[exp.Expr]) -> Edit:
    """Put items of ORDER BY; those without a direction get the one after the macro."""
    items: list[exp.Expr] = []
    texts: list[str] = []
    for each in found:
        directed = isinstance(each, exp.Ordered) and each.args.get("desc") is not None
        if directed or (isinstance(each, exp.Ordered) and parent.args.get("desc") is None):
            items.append(each)
            texts.append(written_of(each))
        else:
            ordered = parent.copy()
            ordered.set("this", each.this if isinstance(each, exp.Ordered) else each)
            items.append(ordered)
            texts.append(f"{written_of(each)} {_direction(ordered)}".rstrip())
    parent.replace(items if len(items) != 1 else items[0])
    return Edit(", ".join(texts), glue=(Glue.DIRECTION,))


def _direction(ordered: exp.Ordered) -> str:
    """How an item of ORDER BY is sorted, if that is written."""
    desc, first = ordered.args.get("desc"), ordered.args.get("nulls_first")
    if desc is None:
        return ""
    nulls = "" if bool(first) is not bool(desc) else ("FIRST" if first else "LAST")
    return f"{'DESC' if desc else 'ASC'}{f' NULLS {nulls}' if nulls else ''}"


_AROUND: Final[tuple[tuple[type[exp.Expr], Glue], ...]] = (
    (exp.Alias, Glue.ALIAS),
    (exp.Paren, Glue.PARENTHESES),
    (exp.Not, Glue.BEFORE),
    (exp.Neg, Glue.BEFORE),
    (exp.Ordered, Glue.DIRECTION),
)
"""Nodes that are removed when their only child is."""


def _remove(slot: exp.Expr) -> list[Glue]:
    """Remove a node, with what means nothing without it, from the tree and the text."""
    parent = slot.parent
    assert parent is not None
    if isinstance(parent, exp.Connector):
        is_first = slot.arg_key == "this"
        parent.replace((parent.right if is_first else parent.left).copy())
        return [Glue.AFTER if is_first else Glue.BEFORE]
    around = next((glue for kind, glue in _AROUND if isinstance(parent, kind)), None)
    if around is not None:
        return [around, *_remove(parent)]
    if isinstance(parent.args.get(slot.arg_key or ""), list):
        slot.pop()
        if isinstance(parent, _CLAUSES) and not any(parent.args.values()):
            parent.pop()
            return [Glue.CLAUSE]
        if not (parent.expressions or _may_be_empty(parent)):
            what = "no column is left in this SELECT" if isinstance(parent, exp.Select) else ""
            raise MacroError(what or "nothing is left here", "Give @IF another branch.")
        return [Glue.COMMA]
    if isinstance(parent, _CLAUSES):
        parent.pop()
        return [Glue.CLAUSE]
    message = "the macro gives nothing here, where something is needed"
    raise MacroError(message, "Give @IF another branch.")


def _may_be_empty(parent: exp.Expr) -> bool:
    """Whether a list of expressions may become empty; the root may, since a text may vanish."""
    return isinstance(parent, exp.Func | exp.Group) or parent.parent is None


def _count(found: Sequence[exp.Expr]) -> str:
    return f"{len(found)} expressions" if found else "nothing"
