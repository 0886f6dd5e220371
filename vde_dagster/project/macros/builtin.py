"""The macros of the language: @VAR, @IF, @EACH, @DEF, @STAR and @UNION."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.sql.macros import TIME_MACROS, time_macro_in_text
from vde_dagster.core.sql.star_macro import UnionKind, star_call, union_query
from vde_dagster.project.macros.conditions import NotConstant, is_true
from vde_dagster.project.macros.expansion import Builtin, Expander
from vde_dagster.project.macros.scope import Definition, Frame
from vde_dagster.project.macros.texts import Written
from vde_dagster.project.macros.tokens import (
    Call,
    MacroError,
    Tokens,
    group_of,
    keyword_of,
    lambda_of,
    split_commas,
    word_of,
)
from vde_dagster.project.macros.user import items_of
from vde_dagster.project.macros.values import name_of, names_of
from vde_dagster.project.problems import suggestion


def _var(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    given = _arguments(call, 1, 2, "@VAR('name') or @VAR('name', default)")
    written = expander.one(given[0], replace(frame, as_texts=True), what="the name in @VAR")
    name = name_of(expander.tree(written))
    if not name:
        raise MacroError("the name in @VAR is no text", "Write @VAR('name').")
    found = expander.variable(name.lower(), call)
    if found is not None:
        return [found]
    if len(given) == 2:
        return [expander.one(given[1], frame, what="the default of @VAR")]
    known = sorted(expander.scope.variables)
    advice = suggestion(name.lower(), known) if known else "The project has no variables. "
    advice = f"{advice} Or give a default: @VAR('{name}', default)."
    raise MacroError(f"there is no variable {name!r}", advice.replace("  ", " "))


def _if(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    given = _arguments(call, 2, 3, "@IF(condition, then) or @IF(condition, then, else)")
    written = expander.one(given[0], replace(frame, as_texts=True), what="the condition of @IF")
    condition = expander.tree(written)
    _refuse_times(condition)
    try:
        holds = is_true(condition)
    except NotConstant as error:
        part = error.part.sql(dialect=expander.dialect)
        message = f"the condition of @IF is decided before the query runs, but `{part}` {error.why}"
        advice = "Use CASE WHEN for what differs by row or by interval; write texts in quotes."
        raise MacroError(message, advice) from None
    if holds:
        return expander.expand(given[1], frame, is_statement=is_statement)
    if len(given) < 3:
        return []
    return expander.expand(given[2], frame, is_statement=is_statement)


def _refuse_times(condition: exp.Expr) -> None:
    """Refuse a condition that differs by interval, also if its time macro is in quotes."""
    for node in condition.walk():
        text = node.name if isinstance(node, exp.Literal) and node.is_string else ""
        if time_macro_in_text(text) is not None:
            why = f"'{text}' is a text, in which no macro is filled in"
        elif isinstance(node, exp.Parameter) and node.name.lower() in TIME_MACROS:
            why = f"@{node.name.lower()} is another value for each interval"
        else:
            continue
        advice = "For a value use CASE WHEN; for a condition join both with AND and OR."
        message = f"the condition of @IF is decided when the project is loaded, but {why}"
        raise MacroError(message, advice)


def _each(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    usage = "@EACH([a, b], x -> expression)"
    items, body = _arguments(call, 2, 2, usage)
    function = lambda_of(body)
    if function is None:
        raise MacroError("the second argument of @EACH is a function", f"Write {usage}.")
    parameters, tokens = function
    found: list[Written] = []
    for item in _items(expander, items, frame, call):
        values = [item] if len(parameters) == 1 else _parts(expander, item, call)
        if len(values) != len(parameters):
            message = f"@EACH takes items of {len(parameters)} values here, not of {len(values)}"
            raise MacroError(message, "Write @EACH([(a, 1), (b, 2)], (x, y) -> ...).")
        inner = frame.binding(dict(zip(parameters, values, strict=True)))
        found += expander.expand(tokens, inner, is_statement=is_statement)
    return found


def _items(expander: Expander, tokens: Tokens, frame: Frame, call: Call) -> list[Written]:
    """The items of a list: in brackets, in parentheses, of an array, or a single one."""
    lists = _bracketed(expander, tokens)
    if lists is not None:
        within, inner = lists
        return [item for each in split_commas(inner) for item in within.expand(each, frame)]
    found = expander.expand(tokens, frame)
    return _parts(expander, found[0], call) if len(found) == 1 else found


def _parts(expander: Expander, item: Written, call: Call) -> list[Written]:
    """The items of an array or a tuple; a value that is neither is its own only item."""
    tree = expander.tree(item)
    if not isinstance(tree, exp.Array | exp.Tuple | exp.Paren):
        return [item]
    return [expander.made(each, call) for each in items_of(tree)]


def _bracketed(expander: Expander, tokens: Tokens) -> tuple[Expander, Tokens] | None:
    """The tokens in a list's brackets, also if the dialect reads brackets as quotes."""
    inner = group_of(tokens)
    first = tokens[0] if tokens else None
    if inner is None and first is not None and first.token_type is TokenType.IDENTIFIER:
        is_list = len(tokens) == 1 and "," in first.text and expander.text[first.start] == "["
        within = replace(expander, text=first.text, made_at=expander.made_at or first.line)
        return (within, tuple(expander.dialect.tokenize(first.text))) if is_list else None
    if inner is None or (inner and inner[0].token_type in {TokenType.SELECT, TokenType.WITH}):
        return None
    return expander, inner


def _def(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    name_tokens, body = _arguments(call, 2, 2, "@DEF(name, expression)")
    name = word_of(name_tokens)
    if not is_statement:
        raise MacroError("@DEF is a statement of its own", "Write it before the query, with a `;`.")
    if name is None:
        raise MacroError("the first argument of @DEF is a name", "Write @DEF(name, expression).")
    if name in TIME_MACROS or name in expander.builtins:
        raise MacroError(f"@{name} is a macro of the language", "Choose another name.")
    function = lambda_of(body)
    parameters, body = (None, body) if function is None else function
    expander.definitions[name] = Definition(
        parameters=parameters, body=body, text=expander.text, made_at=expander.made_at
    )
    return []


def _star(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    usage = "@STAR(relation, alias, except := [a, b], prefix := 'p_', suffix := '_s')"
    values: dict[str, list[exp.Expr]] = {}
    places = iter(("relation", "alias"))
    for tokens in call.arguments or ():
        key, value = keyword_of(tokens)
        key = _STAR_KEYS.get(key, key) if key is not None else next(places, None)
        if key not in _STAR_OPTIONS or key in values:
            raise MacroError("@STAR cannot be called so", f"Write {usage}.")
        inner = replace(frame, as_texts=key != "relation")
        values[key] = [expander.tree(each) for each in _items(expander, value, inner, call)]
    texts = {key: [name_of(each) for each in values.get(key, [])] for key in _STAR_OPTIONS[1:]}
    names = [names_of(each) for each in values.get("relation", [])]
    single = all(len(texts[key]) <= 1 for key in ("alias", "prefix", "suffix"))
    if len(names) != 1 or names[0] is None or not single:
        raise MacroError("@STAR needs the name of a relation", f"Write {usage}.")
    if any(text is None for found in texts.values() for text in found):
        raise MacroError("an option of @STAR is no name or text", f"Write {usage}.")
    known = {key: [text or "" for text in found] for key, found in texts.items()}
    node = star_call(
        names[0],
        alias=next(iter(known["alias"]), ""),
        excluded=known["except"],
        prefix=next(iter(known["prefix"]), ""),
        suffix=next(iter(known["suffix"]), ""),
    )
    return [expander.made(node, call)]


_STAR_OPTIONS: Final = ("relation", "alias", "except", "prefix", "suffix")
_STAR_KEYS: Final = {"exclude": "except", "except_": "except"}


def _union(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    usage = "@UNION('all', a, b) or @UNION('distinct', a, b)"
    found = [each for tokens in call.arguments or () for each in expander.trees(tokens, frame)]
    kind = UnionKind.ALL
    if found and isinstance(found[0], exp.Literal) and found[0].is_string:
        word = found.pop(0).name.lower()
        if word not in {each.value for each in UnionKind}:
            raise MacroError(f"@UNION is 'all' or 'distinct', not {word!r}", f"Write {usage}.")
        kind = UnionKind(word)
    names = [names_of(each) for each in found]
    relations = [each for each in names if each is not None]
    if not relations or len(relations) != len(names):
        raise MacroError("@UNION needs the names of relations", f"Write {usage}.")
    return [expander.made(union_query(relations, kind=kind), call)]


def _arguments(call: Call, least: int, most: int, usage: str) -> tuple[Tokens, ...]:
    given = call.arguments or ()
    if not least <= len(given) <= most:
        raise MacroError(f"@{call.name.upper()} has {len(given)} arguments", f"Write {usage}.")
    return given


BUILTINS: Final[Mapping[str, Builtin]] = {
    "def": _def,
    "each": _each,
    "if": _if,
    "star": _star,
    "union": _union,
    "var": _var,
}
