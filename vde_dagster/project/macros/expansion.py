"""Expanding the macros of a text: text in, text out, in every dialect.

All that no macro touches stays to the letter. What a macro gives is put at its place by the words
around it (see `placing`); only whole statements, arguments of Python's macros and conditions are
parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.errors import Problem
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.project.macros.placing import Change, Place
from vde_dagster.project.macros.scope import Budget, Definition, Frame, MacroScope
from vde_dagster.project.macros.texts import (
    Piece,
    Written,
    expression_of,
    is_plain,
    name_of,
    read_part,
    text_of,
    written_of,
)
from vde_dagster.project.macros.tokens import (
    NUL,
    Call,
    MacroError,
    Name,
    Reference,
    Tokens,
    find_macros,
    in_place_of,
    own_parameters,
    with_comments_behind,
)
from vde_dagster.project.macros.user import Definitions, MacroEvaluator, UserMacro
from vde_dagster.project.problems import suggestion


@dataclass(frozen=True, slots=True)
class Builtin:
    """A macro of the language: how it is called, what it gives, and what writes it.

    ``write`` gets whether the macro is a whole statement; it raises MacroError.
    """

    usage: str
    about: str
    write: Callable[[Expander, Call, Frame, bool], list[Written]]


_PART_OF_BUDGET: Final = 4
"""How many characters count as a word or sign."""


@dataclass(slots=True)
class Expander:
    """Expands the statements of one text. It notes which variables and files they used.

    ``words`` are the texts that values put in quotes. ``made_at`` is the line of what is not part
    of the file, such as the text that a macro in Python returns.

    ``unknown`` are all macros that do not exist, or whose file failed; then no result is of use.
    """

    dialect: Dialect
    text: str
    scope: MacroScope
    builtins: Mapping[str, Builtin]
    made_at: int | None = None
    definitions: dict[str, Definition] = field(default_factory=dict)
    used_variables: set[str] = field(default_factory=set)
    used_files: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    unknown: list[MacroError] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)

    def expand(self, tokens: Tokens, frame: Frame, *, is_statement: bool = False) -> list[Written]:
        """The texts that some tokens stand for, mostly one.

        Raises:
            MacroError: A macro cannot be expanded.
        """
        if not tokens:
            raise MacroError("an argument is empty", "Remove a comma, or add the missing argument.")
        self.budget.spend(len(tokens))
        items = find_macros(tokens, spaced=frozenset(self.builtins))
        if len(items) == 1 and isinstance(items[0], Call) and not _stays(items[0]):
            return self._given(items[0], frame, is_statement=is_statement)
        shown = [_shown(each) for each in items]
        bound = self._bound_places(shown, frame)
        changes: list[Change] = []
        for at, item in enumerate(items):
            if isinstance(item, Name):
                changes.append(Change(at, at, (self._name(item, frame),)))
            elif (isinstance(item, Call) and not _stays(item)) or at in bound:
                found = (
                    self._given(item, frame)
                    if isinstance(item, Call)
                    else [self._bound(shown[at].text.lower(), frame)]
                )
                with self._at(shown[at] if isinstance(item, Token) else item.tokens[0]):
                    changes.append(Place(shown, at, self.dialect).put(found))
        last = tokens[-1].end + 1
        end = last if is_statement else with_comments_behind(self.text, tokens)
        whole = self._edited(tokens[0].start, end, shown, changes)
        is_open = "--" in self.text[last:end]
        return [(*whole, Piece("\n", whole[-1].line, is_made=True)) if is_open else whole]

    @contextmanager
    def _at(self, token: Token) -> Iterator[None]:
        """Errors get the place of a token, unless that is in no file."""
        before = len(self.unknown)
        try:
            yield
        except MacroError as error:
            raise self._placed(error, token) from error
        finally:
            for each in self.unknown[before:]:
                self._placed(each, token)

    def _placed(self, error: MacroError, token: Token) -> MacroError:
        return error.at(token) if self.made_at is None else error

    def _given(self, call: Call, frame: Frame, *, is_statement: bool = False) -> list[Written]:
        with self._at(call.tokens[0]):
            return self.evaluate(call, frame, is_statement=is_statement)

    def _edited(
        self, start: int, end: int, shown: Sequence[Token], changes: Sequence[Change]
    ) -> Written:
        """The text from an offset to another one, with these changes."""
        pieces: list[Piece] = []
        for change in changes:
            first = shown[change.first].start
            if first < start:
                message = "two macros that expand to nothing are next to each other"
                error = MacroError(message, "Give one of them another branch.")
                raise self._placed(error, shown[change.first])
            pieces += [self._piece(start, first), *change.text]
            start = shown[change.last].end + 1
        return (*pieces, self._piece(start, end))

    def _piece(self, start: int, end: int) -> Piece:
        text = self.text[start:end]
        if self.made_at is not None:
            return Piece(text, self.made_at, is_made=True)
        return Piece(text, self.text.count("\n", 0, start) + 1)

    def _bound_places(self, shown: Sequence[Token], frame: Frame) -> set[int]:
        """Where bound names stand: not as a call, and not as a parameter of a lambda of SQL."""
        if not frame.bindings:
            return set()
        own = own_parameters(shown)
        return {
            at
            for at, token in enumerate(shown)
            if token.end - token.start + 1 == len(token.text)
            and token.text.lower() in frame.bindings
            and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
            and not (at + 1 < len(shown) and shown[at + 1].token_type in _NOT_BEHIND)
            and at not in own.get(token.text.lower(), ())
        }

    def one(self, tokens: Tokens, frame: Frame, *, what: str) -> Written:
        """The single text that some tokens stand for. Raises as `expand` does."""
        found = self.expand(tokens, frame)
        if len(found) != 1:
            message = f"{what} has to be one expression, not {len(found)}"
            raise MacroError(message, "Write one expression there.")
        return found[0]

    def trees(self, tokens: Tokens, frame: Frame) -> list[exp.Expr]:
        """The expressions that some tokens stand for. Raises as `expand` does, or as a parser."""
        return [self.tree(each) for each in self.expand(tokens, frame)]

    def tree(self, written: Written) -> exp.Expr:
        """What a text means. Raises what a parser raises."""
        return read_part(written, self.dialect)

    def made(self, expression: exp.Expr, call: Call) -> Written:
        """The text of an expression in the place of a call."""
        for node in expression.find_all(exp.Literal, exp.Identifier):
            self.words.add(node.name)
        return self.made_text(written_of(expression, self.dialect), call)

    def made_text(self, text: str, call: Call) -> Written:
        """A text in the place of a call."""
        self.budget.spend(1 + len(text) // _PART_OF_BUDGET)
        return (Piece(text, self.made_at or call.tokens[0].line, is_made=True),)

    def evaluate(self, call: Call, frame: Frame, *, is_statement: bool) -> list[Written]:
        """The result of a macro. Raises as `expand` does."""
        if call.arguments is None:
            return [self._value(call, frame)]
        if call.name in self.builtins:
            return self.builtins[call.name].write(self, call, frame, is_statement)
        if (definition := self.definitions.get(call.name)) is not None:
            return self._defined(definition, call, frame, is_statement=is_statement)
        match self.scope.functions.get(call.name):
            case UserMacro() as function:
                return self._user(function, call, frame, is_statement=is_statement)
            case Problem() as cause:
                return [self._unknown(call, cause)]
        if call.name in self.scope.variables or call.name in TIME_MACROS:
            raise MacroError(f"@{call.name} takes no arguments", f"Write @{call.name}.")
        return [self._unknown(call)]

    def variable(self, name: str, call: Call) -> Written | None:
        """A project variable's value; None if there is none of this name."""
        plain = self._plain(name)
        if not plain:
            return None
        return self.made(expression_of(plain[0], what=f"the variable {name!r}"), call)

    def _value(self, call: Call, frame: Frame) -> Written:
        """What ``@name`` stands for."""
        name = call.name
        if name in TIME_MACROS:
            return self.made_text(f"@{name}", call)
        if name in frame.bindings:
            return self._bound(name, frame)
        definition = self.definitions.get(name)
        if definition is not None and definition.parameters is None:
            inner = frame.called({}, call)
            what = f"the value that @DEF gives to @{name}"
            return self._inside(definition).one(definition.body, inner, what=what)
        if isinstance(function := self.scope.functions.get(name), Problem):
            return self._unknown(call, function)
        if definition is not None or name in self.builtins or function is not None:
            message = f"@{name} needs arguments in parentheses"
            raise MacroError(message, f"Write @{name}(...).")
        found = self.variable(name, call)
        return self._unknown(call) if found is None else found

    def _inside(self, definition: Definition) -> Expander:
        """For the body of a definition; it shares what this one notes."""
        return replace(self, text=definition.text, made_at=definition.made_at)

    def _unknown(self, call: Call, cause: Problem | None = None) -> Written:
        """Note a macro that does not exist; returns what stands in its place meanwhile."""
        known = {*TIME_MACROS, *self.builtins, *self.definitions, *self.scope.functions}
        advice = suggestion(call.name, sorted(known | set(self.scope.variables)))
        message = f"unknown macro @{call.name}"
        error = MacroError(message, advice, cause=cause)
        self.unknown.append(self._placed(error, call.tokens[0]))
        return self.made_text(call.name, call)

    def _bound(self, name: str, frame: Frame) -> Written:
        value = frame.bindings[name]
        self.budget.spend(1 + len(text_of(value)) // _PART_OF_BUDGET)
        if not frame.as_texts:
            return value
        tree = self.tree(value)
        text = name_of(tree) if isinstance(tree, exp.Column) else None
        if text is None:
            return value
        return (Piece(exp.Literal.string(text).sql(self.dialect), value[0].line, is_made=True),)

    def _defined(
        self, definition: Definition, call: Call, frame: Frame, *, is_statement: bool
    ) -> list[Written]:
        names = definition.parameters
        if names is None:
            message = f"@{call.name} takes no arguments"
            raise MacroError(message, f"Define it as @DEF({call.name}, x -> ...).")
        found = [each for tokens in call.arguments or () for each in self.expand(tokens, frame)]
        if len(found) != len(names):
            shown = ", ".join(names)
            message = f"@{call.name} takes {len(names)} arguments ({shown}), but {len(found)} are"
            raise MacroError(f"{message} given", f"Write @{call.name}({shown}).")
        values = dict(zip(names, found, strict=True))
        inner = frame.called(values, call)
        body = self._inside(definition)
        return body.expand(definition.body, inner, is_statement=is_statement)

    def _user(
        self, macro: UserMacro, call: Call, frame: Frame, *, is_statement: bool
    ) -> list[Written]:
        self.used_files.add(macro.path)
        inner = frame.called({}, call)
        found: list[Written] = []
        evaluator = self._evaluator(call, inner)
        given = call.arguments or ()
        for value in macro.call(given, lambda each: self.trees(each, frame), evaluator):
            if isinstance(value, str):
                found += self._text(value, macro, call, inner, is_statement=is_statement)
            else:
                tree = expression_of(value, what=f"what {macro.described} returns")
                found.append(self.made(tree, call))
        return found

    def _evaluator(self, call: Call, frame: Frame) -> MacroEvaluator:
        """What a macro of a Python file may ask about this text."""
        return MacroEvaluator(
            dialect=type(self.dialect).__name__.lower(),
            locals=Definitions(
                names=frozenset(k for k, d in self.definitions.items() if d.parameters is None),
                value=lambda name: self.tree(
                    self._value(Call(name=name, tokens=call.tokens), frame)
                ),
            ),
            variables=self._plain,
        )

    def _plain(self, name: str) -> tuple[object, ...]:
        """The value of a project's variable as Python has it; empty if there is none."""
        self.used_variables.add(name)
        return (self.scope.variables[name],) if name in self.scope.variables else ()

    def _text(
        self, text: str, macro: UserMacro, call: Call, frame: Frame, *, is_statement: bool
    ) -> list[Written]:
        """SQL text from a user's macro, with the macros in it expanded."""
        if NUL in text:
            message = f"{macro.described} returns a text with a NUL character"
            raise MacroError(message, "Remove the character in the macro.")
        inner = replace(self, text=text, made_at=self.made_at or call.tokens[0].line)
        try:
            tokens = tuple(self.dialect.tokenize(text))
            found = inner.expand(tokens, frame, is_statement=is_statement)
            for each in found:
                self.tree(each)
        except SQL_ERRORS as error:
            message = f"{macro.described} returns invalid SQL: {first_line(error)}"
            raise MacroError(message, "Return SQL in the model's dialect.") from error
        return found

    def _name(self, name: Name, frame: Frame) -> Piece:
        """An identifier with its references filled in, whatever the values contain."""
        with self._at(name.tokens[0]):
            parts = [e if isinstance(e, str) else self._part(e, name, frame) for e in name.parts]
            text = "".join(parts)
            if not text or NUL in text:
                message = "a name is empty, or contains a NUL character"
                raise MacroError(message, "Change the values of the variables in the name.")
        quoted = name.quoted or not self._is_name(text)
        self.words.add(text)
        made = exp.to_identifier(text, quoted=quoted).sql(self.dialect)
        return Piece(made, self.made_at or name.tokens[0].line, is_made=True)

    def _part(self, part: Reference, name: Name, frame: Frame) -> str:
        found = self._value(Call(name=part.name, tokens=name.tokens), frame)
        text = name_of(self.tree(found))
        if text is None:
            message = f"@{{{part.name}}} is part of a name, but its value is not a text"
            raise MacroError(message, "Give the variable a text or a single name.")
        return text

    def _is_name(self, text: str) -> bool:
        """Whether a text may stand as a name without quotes."""
        parser = self.dialect.parser_class
        if not is_plain(text) or text.upper() in parser.NO_PAREN_FUNCTION_PARSERS:
            return False
        tokens, names = self.dialect.tokenize(text), parser.ID_VAR_TOKENS
        return len(tokens) == 1 and tokens[0].token_type in {TokenType.VAR, *names}


_NOT_BEHIND: Final = (TokenType.L_PAREN, TokenType.STRING)
"""What stands behind the name of a function, and behind the type of a literal."""


def _stays(call: Call) -> bool:
    """Whether a macro stays in the text until a query is rendered."""
    return call.arguments is None and call.name in TIME_MACROS


def _shown(item: Token | Call | Name) -> Token:
    """One token for each item."""
    return item if isinstance(item, Token) else in_place_of(item.tokens, TokenType.VAR, "@")
