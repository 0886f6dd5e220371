"""Expanding the macros of a text: parse around them, then put their results into the tree.

A macro becomes one token that no text can contain. The parser reads it as a name, so that any
dialect's grammar decides where it may be; afterwards the nodes that it became are replaced. A
macro whose value is a literal or a name becomes that token at once, as if a person had typed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.errors import Problem
from vde_dagster.core.sql.dialects import is_spark, reads_parameters
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.core.sql.spark.lambdas import bind_lambdas
from vde_dagster.core.sql.spark.reading import spark_tokens, with_spark_precedence
from vde_dagster.core.sql.translation.interval_sums import with_closed_sums
from vde_dagster.project.macros.edits import Edit, edited
from vde_dagster.project.macros.evaluator import Definitions, MacroEvaluator
from vde_dagster.project.macros.placement import put, put_union
from vde_dagster.project.macros.scope import (
    Budget,
    Definition,
    Frame,
    MacroScope,
    Position,
    position_of,
)
from vde_dagster.project.macros.tokens import (
    Call,
    MacroError,
    Name,
    Reference,
    Tokens,
    find_macros,
    in_from,
    in_place_of,
    is_call_of,
)
from vde_dagster.project.macros.trees import (
    MARK,
    NUL,
    check_texts,
    is_in,
    is_own,
    placeholders,
    places_of,
    reached,
    size_of,
)
from vde_dagster.project.macros.user import UserMacro
from vde_dagster.project.macros.values import (
    atoms_of,
    expression_of,
    is_plain,
    text_of,
    with_written,
    written_of,
)
from vde_dagster.project.problems import suggestion

_PRODUCTIONS: Final[Mapping[Position, type[exp.Expr]]] = {
    Position.EXPRESSION: exp.Expr,
    Position.ORDERED: exp.Ordered,
}
Builtin = Callable[["Expander", Call, Frame, Position], list[exp.Expr]]
"""A macro of the language; it raises MacroError."""


_Edits = list[tuple[int, int, Edit]]


@dataclass(slots=True)
class Expander:
    """Expands the statements of one text. It notes which variables and files they used.

    Each expression that it gives knows its own text (`written_of`): what the author wrote, with the
    macros in it replaced at their places. ``stars`` are the nodes of @STAR and @UNION, which stand
    in these texts as `@star_0` and so on.

    ``unknown`` are all macros that do not exist, or whose file failed; then no result is of use.
    """

    dialect: Dialect
    text: str
    scope: MacroScope
    builtins: Mapping[str, Builtin]
    definitions: dict[str, Definition] = field(default_factory=dict)
    used_variables: set[str] = field(default_factory=set)
    used_files: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    stars: list[exp.Expr] = field(default_factory=list)
    unknown: list[MacroError] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)

    def statement(self, tokens: Tokens) -> list[exp.Expr]:
        """The statements that one statement of the text becomes: none, one or several.

        Raises:
            MacroError: A macro cannot be expanded.
            ParseError: What is around the macros is no SQL of the dialect.
        """
        return self.expand(tokens, Frame(), Position.STATEMENT)

    def expand(
        self, tokens: Tokens, frame: Frame, position: Position = Position.EXPRESSION
    ) -> list[exp.Expr]:
        """The expressions that some tokens stand for, mostly one. Raises as `statement` does."""
        if not tokens:
            raise MacroError("an argument is empty", "Take a comma away, or write what is missing.")
        self.budget.spend(len(tokens))
        edits: _Edits = []
        prepared = self._prepared(tokens, frame, edits)
        holder = exp.Tuple(expressions=[self._parse(prepared, position)])
        check_texts(holder, prepared, {id(token) for token in tokens})
        self._bind(holder, frame, tokens, edits)
        whole: Sequence[exp.Expr] | None = None
        for leaf in list(placeholders(holder)):
            if not is_in(leaf, holder):
                continue
            call = self.calls[int(leaf.name.removeprefix(MARK))]
            try:
                found = self.evaluate(call, frame, position_of(leaf, holder, position))
                for error in self.unknown:
                    error.at(call.tokens[0])
                if is_call_of("union", call) and isinstance(found[0], exp.Query):
                    put_union(leaf, found[0])
                    edit = Edit(written_of(found[0]), wrapped=in_from(call, prepared))
                else:
                    edit = put(leaf, found)
                if len(call.tokens) == len(tokens):
                    whole = found
                else:
                    edits.append((call.tokens[0].start, call.tokens[-1].end, edit))
            except MacroError as error:
                raise error.at(call.tokens[0]) from error
        bind_lambdas(holder)
        given = [each.pop() for each in list(holder.expressions)]
        if whole is None and self.is_kept and len(given) == 1:
            with_written(given[0], edited(self.text, tokens, edits))
        return given

    @property
    def is_kept(self) -> bool:
        """Whether the author's text is what runs: its dialect is Spark's, or one like it."""
        return is_spark(self.dialect)

    def one(self, tokens: Tokens, frame: Frame, *, what: str) -> exp.Expr:
        """The single expression that some tokens stand for. Raises as `statement` does."""
        found = self.expand(tokens, frame)
        if len(found) != 1:
            message = f"{what} is one expression, not {len(found)}"
            raise MacroError(message, "Write one expression in its place.")
        return found[0]

    def evaluate(self, call: Call, frame: Frame, position: Position) -> list[exp.Expr]:
        """The result of a macro in a position. Raises as `statement` does."""
        if call.arguments is None:
            return [self._value(call, frame)]
        if call.name in self.builtins:
            return self.builtins[call.name](self, call, frame, position)
        if (definition := self.definitions.get(call.name)) is not None:
            return self._defined(definition, call, frame, position)
        match self.scope.functions.get(call.name):
            case UserMacro() as function:
                return self._user(function, call, frame, position)
            case Problem() as cause:
                return [self._unknown(call, cause)]
        if call.name in self.scope.variables or call.name in TIME_MACROS:
            raise MacroError(f"@{call.name} takes no arguments", f"Write @{call.name}.")
        return [self._unknown(call)]

    def variable(self, name: str) -> exp.Expr | None:
        """A project variable's value; None if there is none of this name."""
        plain = self._plain(name)
        if not plain:
            return None
        found = expression_of(plain[0], what=f"the variable {name!r}")
        self.budget.spend(size_of(found))
        return found

    def _value(self, call: Call, frame: Frame) -> exp.Expr:
        """What ``@name`` stands for."""
        name = call.name
        if name in TIME_MACROS:
            return exp.Parameter(this=exp.var(name))
        if name in frame.bindings:
            return self._bound(name, frame)
        definition = self.definitions.get(name)
        if definition is not None and definition.parameters is None:
            inner = frame.called({}, call)
            what = f"what @DEF gives to @{name}"
            return replace(self, text=definition.text).one(definition.body, inner, what=what)
        if isinstance(function := self.scope.functions.get(name), Problem):
            return self._unknown(call, function)
        if definition is not None or name in self.builtins or function is not None:
            message = f"@{name} is called with arguments in parentheses"
            raise MacroError(message, f"Write @{name}(...).")
        found = self.variable(name)
        return self._unknown(call) if found is None else found

    def _unknown(self, call: Call, cause: Problem | None = None) -> exp.Expr:
        """Note a macro that does not exist; returns what stands in its place meanwhile."""
        known = {*TIME_MACROS, *self.builtins, *self.definitions, *self.scope.functions}
        advice = suggestion(call.name, sorted(known | set(self.scope.variables)))
        message = f"unknown macro @{call.name}"
        self.unknown.append(MacroError(message, advice, token=call.tokens[0], cause=cause))
        return exp.column(call.name)

    def _bound(self, name: str, frame: Frame) -> exp.Expr:
        value = frame.bindings[name]
        text = text_of(value) if frame.as_texts and isinstance(value, exp.Column) else None
        self.budget.spend(size_of(value))
        return value.copy() if text is None else exp.Literal.string(text)

    def _defined(
        self, definition: Definition, call: Call, frame: Frame, position: Position
    ) -> list[exp.Expr]:
        names = definition.parameters
        if names is None:
            message = f"@{call.name} takes no arguments"
            raise MacroError(message, f"Define it as @DEF({call.name}, x -> ...).")
        found = [each for tokens in call.arguments or () for each in self.expand(tokens, frame)]
        if len(found) != len(names):
            shown = ", ".join(names)
            message = f"@{call.name} takes {len(names)} arguments ({shown}), and {len(found)} are"
            raise MacroError(f"{message} given", f"Write @{call.name}({shown}).")
        values = dict(zip(names, found, strict=True))
        inner = replace(self, text=definition.text)  # it shares what this one notes
        return inner.expand(definition.body, frame.called(values, call), position)

    def _user(
        self, macro: UserMacro, call: Call, frame: Frame, position: Position
    ) -> list[exp.Expr]:
        self.used_files.add(macro.path)
        inner = frame.called({}, call)
        found: list[exp.Expr] = []
        evaluator = self._evaluator(call, inner)
        given = call.arguments or ()
        for value in macro.call(given, lambda each: self.expand(each, frame), evaluator):
            if isinstance(value, str):
                found += self._text(value, macro, inner, position)
            else:
                found.append(expression_of(value, what=f"what {macro.described} returns"))
        return found

    def _evaluator(self, call: Call, frame: Frame) -> MacroEvaluator:
        """What a macro of a Python file may ask about this text."""
        return MacroEvaluator(
            dialect=type(self.dialect).__name__.lower(),
            locals=Definitions(
                names=frozenset(k for k, d in self.definitions.items() if d.parameters is None),
                value=lambda name: self._value(Call(name=name, tokens=call.tokens), frame),
            ),
            variables=self._plain,
        )

    def _plain(self, name: str) -> tuple[object, ...]:
        """The value of a project's variable as Python has it; empty if there is none."""
        self.used_variables.add(name)
        return (self.scope.variables[name],) if name in self.scope.variables else ()

    def _text(
        self, text: str, macro: UserMacro, frame: Frame, position: Position
    ) -> list[exp.Expr]:
        """SQL text from a user's macro, with the macros in it expanded."""
        if NUL in text:
            message = f"{macro.described} returns a text with a NUL character"
            raise MacroError(message, "Take the character out in the macro.")
        before = len(self.unknown)
        try:
            inner = replace(self, text=text)
            return inner.expand(tuple(self.dialect.tokenize(text)), frame, position)
        except MacroError as error:
            error.token = None
            raise
        except SQL_ERRORS as error:
            message = f"{macro.described} returns what is no SQL: {first_line(error)}"
            raise MacroError(message, "Return SQL of the model's dialect.") from error
        finally:
            for each in self.unknown[before:]:
                each.token = None  # it stands in that text, which is in no file

    def _prepared(self, tokens: Tokens, frame: Frame, edits: _Edits) -> list[Token]:
        """The tokens that the parser sees; notes which of them the author did not write."""
        prepared: list[Token] = []
        for item in find_macros(tokens, spaced=frozenset(self.builtins)):
            inner = [*self._prepare(item, frame, edits)]
            before = prepared[-1].token_type if prepared else None
            if is_call_of("union", item) and before in {TokenType.FROM, TokenType.JOIN}:
                inner.insert(0, in_place_of(inner[:1], TokenType.L_PAREN, "("))
                inner.append(in_place_of(inner[-1:], TokenType.R_PAREN, ")"))
            prepared += inner
        return prepared

    def _prepare(self, item: Token | Call | Name, frame: Frame, edits: _Edits) -> Sequence[Token]:
        """The tokens that the parser sees for an item."""
        if isinstance(item, Token):
            return (item,)
        first, last = item.tokens[0].start, item.tokens[-1].end
        try:
            if isinstance(item, Name):
                name = self._name(item, frame)
                quoted = name.token_type is TokenType.IDENTIFIER
                identifier = exp.to_identifier(name.text, quoted=quoted)
                edits.append((first, last, Edit(written_of(identifier))))
                return (name,)
            timed = item.arguments is None and item.name in TIME_MACROS
            if timed and reads_parameters(type(self.dialect)):
                return item.tokens
            if not timed and (item.arguments is None or item.name == "var"):
                (value,) = self.evaluate(item, frame, Position.EXPRESSION)
                if (atoms := atoms_of(value, like=item.tokens)) is not None:
                    edits.append((first, last, Edit(written_of(value))))
                    return atoms
        except MacroError as error:
            raise error.at(item.tokens[0]) from error
        return self._placeholder(item)

    def _placeholder(self, call: Call) -> Sequence[Token]:
        self.calls.append(call)
        token = in_place_of(call.tokens, TokenType.VAR, f"{MARK}{len(self.calls) - 1}")
        token.comments = call.comments
        if not is_call_of("union", call):
            return (token,)
        return (in_place_of(call.tokens[:1], TokenType.SELECT, "SELECT"), token)

    def _name(self, name: Name, frame: Frame) -> Token:
        """An identifier with its references filled in: one token, whatever the values contain."""
        texts: list[str] = []
        for part in name.parts:
            if not isinstance(part, Reference):
                texts.append(part)
                continue
            value = text_of(self._value(Call(name=part.name, tokens=name.tokens), frame))
            if value is None:
                message = f"@{{{part.name}}} stands in a name, and its value is no text"
                raise MacroError(message, "Give the variable a text or a single name.")
            texts.append(value)
        text = "".join(texts)
        if not text or NUL in text:
            message = "a name is empty, or has a NUL character in it"
            raise MacroError(message, "Give the variables in the name other texts.")
        kind = TokenType.VAR if not name.quoted and self._is_name(text) else TokenType.IDENTIFIER
        token = in_place_of(name.tokens, kind, text)
        token.comments = [each for inner in name.tokens for each in inner.comments]
        return token

    def _is_name(self, text: str) -> bool:
        """Whether a text may stand as a name without quotes."""
        parser = self.dialect.parser_class
        if not is_plain(text) or text.upper() in parser.NO_PAREN_FUNCTION_PARSERS:
            return False
        tokens, names = self.dialect.tokenize(text), parser.ID_VAR_TOKENS
        return len(tokens) == 1 and tokens[0].token_type in {TokenType.VAR, *names}

    def _parse(self, tokens: Sequence[Token], position: Position) -> exp.Expr:
        """One tree: parsed as the position requires or, if that fails, as a statement."""
        kind = _PRODUCTIONS.get(position)
        try:
            return self._tree(tokens, kind)
        except ParseError as error:
            if kind is None:
                raise
            try:
                return self._tree(tokens, None)
            except ParseError as other:
                raise max(error, other, key=reached) from None

    def _tree(self, tokens: Sequence[Token], kind: type[exp.Expr] | None) -> exp.Expr:
        parser = self.dialect.parser()
        taken = spark_tokens(tokens, self.text) if self.is_kept else list(tokens)
        if kind is None:
            found = parser.parse(taken, self.text)
        else:
            found = parser.parse_into(kind, taken, self.text)
        if len(found) != 1 or found[0] is None:
            raise ParseError("there is nothing but a comment")
        tree = with_closed_sums(found[0])
        return with_spark_precedence(tree, taken) if self.is_kept else tree

    def _bind(self, holder: exp.Expr, frame: Frame, tokens: Tokens, edits: _Edits) -> None:
        """Put the values of bound names where the names stand in a tree."""
        if not frame.bindings:
            return
        for leaf in list(holder.find_all(exp.Identifier, exp.Var)):
            name = leaf.name.lower()
            if name in frame.bindings and not leaf.args.get("quoted") and not is_own(leaf, name):
                places = places_of(leaf, tokens)
                edit = put(leaf, [self._bound(name, frame)])
                edits += [(start, end, edit) for start, end in places]
