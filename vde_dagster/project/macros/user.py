"""A macro that a project's Python file defines: its arguments, and what a call of it gives."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Final, NoReturn

from sqlglot import exp

from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.project.macros.texts import names_of
from vde_dagster.project.macros.tokens import MOST_PARTS, TOO_LARGE, MacroError, Tokens, keyword_of
from vde_dagster.project.modules import line_in
from vde_dagster.runtime.users_code import error_text, running_users_code

Expand = Callable[[Tokens], list[exp.Expr]]


class _FailedIn(MacroError):
    """A function failed, or what it asked for: the message has its name and place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMacro:
    """A function of a project's macro file, by the name under which models call it.

    ``types`` are the annotations of its arguments; ``path`` is relative to the project.
    ``is_told`` says that its first parameter is the evaluator, which no call gives.
    """

    name: str
    function: Callable[..., object]
    path: str
    line: int
    types: Mapping[str, object] = field(default_factory=dict)
    is_told: bool = False

    @property
    def described(self) -> str:
        """The macro with its place, for messages."""
        return f"the macro @{self.name} ({self.path}:{self.line})"

    def call(
        self, arguments: Sequence[Tokens], expand: Expand, evaluator: MacroEvaluator
    ) -> list[object]:
        """What the function returns, as a flat list; NULL as a value is `exp.null()`.

        Args:
            arguments: As written, ``name := value`` for those by name.
            expand: Expands an argument to expressions.
            evaluator: What the function gets as its first argument, if it takes one.

        Raises:
            MacroError: An argument does not fit, or the function fails.
        """
        bound = self._bound(arguments, expand)
        told = (evaluator,) if self.is_told else ()
        try:
            with running_users_code():
                given = _flat(self.function(*told, *bound.args, **bound.kwargs))
                found = list(islice(given, MOST_PARTS + 1))
        except _FailedIn:  # in a macro that this one has expanded
            raise
        except MacroError as error:  # of the evaluator
            line = line_in(Path(self.path), error) or self.line
            message = f"the macro @{self.name} ({self.path}:{line}): {error.message}"
            raise _FailedIn(message, error.advice) from error
        except (Exception, SystemExit) as error:  # whatever a user's function raises
            line = line_in(Path(self.path), error) or self.line
            message = f"the macro @{self.name} failed at {self.path}:{line}: {error_text(error)}"
            raise _FailedIn(message, "Fix the macro, or the arguments of the call.") from error
        if len(found) > MOST_PARTS:
            message = f"{self.described} returns more than {MOST_PARTS:,} expressions"
            raise MacroError(message, TOO_LARGE)
        return found

    def _bound(self, arguments: Sequence[Tokens], expand: Expand) -> inspect.BoundArguments:
        signature = inspect.signature(self.function)
        if self.is_told:
            signature = signature.replace(parameters=[*signature.parameters.values()][1:])
        positional: list[exp.Expr] = []
        named: dict[str, exp.Expr] = {}
        for tokens in arguments:
            name, value = keyword_of(tokens)
            found = expand(value)
            if name is None:
                positional += found
            elif len(found) != 1:
                message = f"the argument {name!r} of @{self.name} is not one expression"
                raise MacroError(message, f"Write `{name} := value`.")
            else:
                named[name] = found[0]
        try:
            bound = signature.bind(*positional, **named)
        except TypeError as error:
            shown = f"Call it as @{self.name}{_shown(signature)}."
            raise MacroError(f"{self.described} has wrong arguments: {error}", shown) from None
        for name, given in bound.arguments.items():
            bound.arguments[name] = self._converted(signature.parameters[name], given)
        return bound

    def _converted(self, parameter: inspect.Parameter, given: object) -> object:
        wanted = self.types.get(parameter.name)
        match given:
            case tuple() if parameter.kind is parameter.VAR_POSITIONAL:
                return tuple(self._value(parameter.name, wanted, each) for each in given)
            case dict() if parameter.kind is parameter.VAR_KEYWORD:
                return {key: self._value(key, wanted, each) for key, each in given.items()}
            case _:
                return self._value(parameter.name, wanted, given)

    def _value(self, name: str, wanted: object, given: object) -> object:
        assert isinstance(given, exp.Expr)
        try:
            return convert(given, wanted)
        except TypeError as error:
            message = f"the argument {name!r} of @{self.name} is {error}, not {given.sql()}"
            raise MacroError(message, f"See {self.path}:{self.line}.") from None


def convert(given: exp.Expr, wanted: object) -> object:
    """An argument as the type of its annotation; unchanged without one, or with an unknown one.

    Raises:
        TypeError: It has another type; the message says which one is expected.
    """
    origin = typing.get_origin(wanted)
    if origin in {types.UnionType, typing.Union}:
        return _any_of(given, typing.get_args(wanted))
    if wanted is list or origin in {list, Sequence}:
        inner = typing.get_args(wanted)
        return [convert(each, inner[0] if inner else None) for each in items_of(given)]
    if isinstance(wanted, type) and issubclass(wanted, exp.Expr):
        return _node(given, wanted)
    if isinstance(wanted, type) and wanted in _SCALARS:
        return _SCALARS[wanted](given.unnest())
    return given


def items_of(given: exp.Expr) -> list[exp.Expr]:
    """The items of an array or a tuple; a value that is neither is its own only item."""
    match given:
        case exp.Array() | exp.Tuple():
            return [each.copy() for each in given.expressions]
        case exp.Paren():
            return [given.this.copy()]
        case _:
            return [given]


def _any_of(given: exp.Expr, choices: Sequence[object]) -> object:
    if isinstance(given, exp.Null) and types.NoneType in choices:
        return None
    wanted: list[str] = []
    for choice in choices:
        if choice is not types.NoneType:
            try:
                return convert(given, choice)
            except TypeError as error:
                wanted.append(str(error))
    raise TypeError(" or ".join(wanted))


def _node(given: exp.Expr, wanted: type[exp.Expr]) -> exp.Expr:
    if isinstance(given, wanted):
        return given
    inner = given.unnest()
    if isinstance(inner, wanted):
        return inner
    parts = [each.copy() for each in inner.parts] if isinstance(inner, exp.Column) else []
    if wanted is exp.Identifier and len(parts) == 1:
        return parts[0]
    if wanted is exp.Table and 1 <= len(parts) <= 3:
        keys = ("this", "db", "catalog")
        return exp.Table(**dict(zip(keys, reversed(parts), strict=False)))
    raise TypeError(f"a {wanted.__name__} of SQL")


def _text(given: exp.Expr) -> str:
    names = names_of(given)
    if isinstance(given, exp.Literal) and given.is_string:
        return given.name
    if names is None:
        raise TypeError("a text")
    return ".".join(names)


def _number(given: exp.Expr) -> Decimal:
    sign = -1 if isinstance(given, exp.Neg) else 1
    literal = given.this if isinstance(given, exp.Neg) else given
    if not isinstance(literal, exp.Literal) or literal.is_string:
        raise TypeError("a number")
    try:
        return sign * Decimal(literal.name)
    except InvalidOperation:
        raise TypeError("a number") from None


def _whole(given: exp.Expr) -> int:
    try:
        number = _number(given)
    except TypeError:
        raise TypeError("a whole number") from None
    if number != number.to_integral_value():
        raise TypeError("a whole number")
    return int(number)


def _flag(given: exp.Expr) -> bool:
    if not isinstance(given, exp.Boolean):
        raise TypeError("TRUE or FALSE")
    return bool(given.this)


_SCALARS: Final[Mapping[type, Callable[[exp.Expr], object]]] = {
    str: _text,
    int: _whole,
    float: lambda given: float(_number(given)),
    bool: _flag,
}


def _flat(returned: object) -> Iterator[object]:
    if isinstance(returned, list | tuple) or inspect.isgenerator(returned):
        for each in returned:
            yield from _flat(each)
    elif returned is not None:
        yield returned


def _shown(signature: inspect.Signature) -> str:
    return f"({', '.join(signature.parameters)})"


_ADVICE: Final = (
    "Return SQL for it: @start_ds and the like for times, @STAR(relation) for columns. The "
    "evaluator has `dialect`, `locals` (what @DEF defines) and `var(name, default)`."
)
_OF_A_RUN: Final = frozenset({"default_catalog", "gateway", "runtime_stage", "this_env"})
"""What SQLMesh has in ``locals`` beside times and definitions."""
_NO_DEFAULT: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroEvaluator:
    """The text that calls a macro: what a macro gets whose first parameter is ``evaluator``.

    Macros are filled in when the project is loaded, so it knows nothing of a run: no times, tables,
    columns of other models, nor a connection. Asking for one is an error that says so.
    """

    dialect: str
    """The dialect of the text, such as ``spark``."""
    locals: Mapping[str, exp.Expr]
    """The values that @DEF has defined before, by lower-case name."""
    variables: Callable[[str], tuple[object, ...]]
    """Finds a variable of the project by its lower-case name; `var` is easier to use."""

    def var(self, name: str, default: object = _NO_DEFAULT) -> object:
        """A variable of the project (``variables`` in vde.yaml), as text, number, flag or list.

        Raises:
            MacroError: There is none, and no default is given.
        """
        found = self.variables(name.lower())
        if found:
            return deepcopy(found[0])
        if default is _NO_DEFAULT:
            advice = f"Declare it under `variables` in vde.yaml, or give a default: var({name!r}, "
            raise MacroError(f"the variable {name!r} is not declared", f"{advice}default).")
        return default

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # what Python itself asks of an object
            raise AttributeError(name)
        raise _of_a_run(f"`evaluator.{name}`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions(Mapping[str, exp.Expr]):
    """The values that @DEF defines in a text, which are expanded when they are asked for."""

    names: frozenset[str]
    value: Callable[[str], exp.Expr]

    def __getitem__(self, name: str) -> exp.Expr:
        key = name.lower()
        if key in self.names:
            return self.value(key)
        if key in TIME_MACROS or key in _OF_A_RUN:
            raise _of_a_run(f"`evaluator.locals` of {name!r}")
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.names))

    def __len__(self) -> int:
        return len(self.names)


def _of_a_run(what: str) -> MacroError:
    message = f"{what} is not available: macros are expanded when the project loads, before a run"
    return MacroError(message, _ADVICE)
