"""What macros may refer to, and the names that are bound where they are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from vde_dagster.core.errors import Problem
from vde_dagster.project.macros.texts import Written
from vde_dagster.project.macros.tokens import MOST_PARTS, TOO_LARGE, Call, MacroError, Tokens
from vde_dagster.project.macros.user import UserMacro

MAX_DEPTH: Final = 40
"""How deep macros may call macros; a cycle ends here, long before Python's stack does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroScope:
    """What a model's macros may refer to.

    ``variables`` are JSON-like values and ``functions`` the macros of the project's Python files,
    both by lower-case name; a macro whose file failed is the problem of that file. ``most_parts``
    is what the statements may have once they are filled in.
    """

    variables: Mapping[str, object]
    functions: Mapping[str, UserMacro | Problem]
    most_parts: int = MOST_PARTS


@dataclass(slots=True)
class Budget:
    """How large the statements of one model may become.

    It is spent by words and signs that are parsed, and by expressions that are copied, so that a
    few lines of macros that multiply each other end with a sentence, and not with the memory.
    """

    most: int = MOST_PARTS
    spent: int = 0

    def spend(self, parts: int) -> None:
        """Take some of it.

        Raises:
            MacroError: There is not as much left.
        """
        self.spent += parts
        if self.spent > self.most:
            message = (
                f"the statements of this model have more than {self.most:,} words and signs "
                "once macros are expanded"
            )
            raise MacroError(message, TOO_LARGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What @DEF defines, and the text that it is a part of.

    ``parameters`` is None for a value, which has no parentheses. ``made_at`` is the line of a text
    that is not part of the file.
    """

    parameters: tuple[str, ...] | None
    body: Tokens
    text: str
    made_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The context in which a text is expanded: bound names, and the depth of calls.

    With ``as_texts`` bound names stand for their text, as they do in a condition.
    """

    bindings: Mapping[str, Written] = field(default_factory=dict)
    depth: int = 0
    as_texts: bool = False

    def binding(self, values: Mapping[str, Written]) -> Frame:
        """This frame with more names bound; they win over those around it."""
        return replace(self, bindings={**self.bindings, **values})

    def called(self, values: Mapping[str, Written], call: Call) -> Frame:
        """The frame of a definition's body, which sees no names around the call.

        Raises:
            MacroError: Calls are nested so deeply that they must be a cycle.
        """
        if self.depth >= MAX_DEPTH:
            message = f"@{call.name} calls itself, or macros are nested more than {MAX_DEPTH} deep"
            raise MacroError(message, "Remove the cycle.")
        return Frame(bindings=values, depth=self.depth + 1)
