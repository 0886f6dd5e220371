"""What an audit asks of staged rows, and what it found: values that every engine understands.

An audit reads the staged rows under the name ``this_model``, and other tables under the names of
their models. Engines put other names in place of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from vde_dagster.core.names import ModelName

THIS_MODEL: Final = "this_model"
"""The name under which an audit reads the staged rows."""
OWN_PREFIX: Final = "_vde_"
"""What the names of columns begin with that an audit adds to those of the rows."""
SAMPLE_ROWS: Final = 20
"""How many failing rows are kept of an audit."""
MOST_SAMPLE_ROWS: Final = 1000
MOST_CHARACTERS: Final = 200
"""The length up to which a value of a failing row is kept."""

Scalar = str | int | float | bool | None
"""A value of a failing row as JSON has it; all that is not a number or boolean is a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EachRow:
    """A row fails where ``fails`` is true of it; NULL is not true."""

    fails: exp.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """All rows fail together where ``fails`` is true of their figures.

    ``figures`` are aggregates by name; ``fails`` names them as columns. What fails is one row, that
    of the figures.
    """

    figures: tuple[tuple[str, exp.Expr], ...]
    fails: exp.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """A row fails where another one has the same key; NULL is the same as NULL."""

    key: tuple[exp.Expr, ...]
    condition: exp.Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingRows:
    """The rows of a query fail, whatever it takes to find them."""

    query: exp.Query


Check = EachRow | Total | Unique | FailingRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """An audit as one model calls it, for one range of time: nothing in it is left open.

    ``arguments`` are SQL, as the model's author wrote them. ``reads`` are the models and
    sources whose tables ``check`` names besides the staged rows. Where it is not ``blocking`` it
    only warns.
    """

    name: str
    arguments: tuple[tuple[str, str], ...] = ()
    blocking: bool = True
    check: Check
    reads: tuple[ModelName, ...] = ()

    def __str__(self) -> str:
        given = ", ".join(f"{key} := {value}" for key, value in self.arguments)
        return f"{self.name} ({given})" if given else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What an audit found: how many rows fail, the first of them, and a text for people.

    ``sample`` has at most as many rows as were asked for (`SAMPLE_ROWS`), each with a value for
    each of ``columns``. An audit of totals has one failing row, that of its figures.
    """

    name: str
    arguments: tuple[tuple[str, str], ...] = ()
    blocking: bool = True
    failing: int
    columns: tuple[str, ...] = ()
    sample: tuple[tuple[Scalar, ...], ...] = ()
    message: str

    @property
    def passed(self) -> bool:
        """Whether no row fails."""
        return self.failing == 0

    @property
    def stops(self) -> bool:
        """Whether nothing may be published because of it."""
        return self.blocking and not self.passed
