"""What a macro in Python may ask about the text that calls it, under the names of SQLMesh."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Final, NoReturn

from sqlglot import exp

from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.project.macros.tokens import MacroError

_ADVICE: Final = (
    "Return SQL that asks for it: @start_ds and the like for times, @STAR(relation) for columns. "
    "The evaluator has `dialect`, `locals` (what @DEF defines) and `var(name, default)`."
)
_OF_A_RUN: Final = frozenset({"default_catalog", "gateway", "runtime_stage", "this_env"})
"""What SQLMesh has in ``locals`` beside times and definitions."""
_NO_DEFAULT: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroEvaluator:
    """The text that calls a macro: what a macro gets whose first parameter is ``evaluator``.

    Macros are filled in when the project is loaded, so it knows nothing of a run: no times, tables,
    columns of other models, nor a connection. Asking for one is an error that says so.

    Attributes:
        dialect: The dialect of the text, such as ``spark``.
        locals: What @DEF has defined before, by lower-case name.
    """

    dialect: str
    locals: Mapping[str, exp.Expr]
    variables: Callable[[str], tuple[object, ...]]

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
            raise MacroError(f"the project has no variable {name!r}", f"{advice}default).")
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
    message = f"{what} is not there: macros are filled in when the project is loaded, before a run"
    return MacroError(message, _ADVICE)
