"""Signals: Python predicates that hold intervals back until something outside is ready.

A signal is a function in a file of ``signals/`` with the decorator. It gets a *batch*, a list of
(start, end) pairs of consecutive interval units, and the arguments that a model gives it. It
returns True for all of them, False for none, or those pairs of the batch that are ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeVar

import sqlglot
from sqlglot import exp

from vde_dagster.core.errors import EvaluationFailed, Problem, Refused
from vde_dagster.core.intervals import Interval, merge
from vde_dagster.core.model import Call, Model
from vde_dagster.project.modules import MarkedFunction, marked_functions
from vde_dagster.project.problems import suggestion

F = TypeVar("F", bound=Callable[..., object])
FOLDER: Final = "signals/"
_MARK: Final = "__vde_signal__"


def signal(name: str | None = None) -> Callable[[F], F]:
    """Declare a function as a signal, under its own name or the given one."""

    def attach(function: F) -> F:
        setattr(function, _MARK, name or function.__name__)
        return function

    return attach


def load_signals(files: Mapping[str, str]) -> tuple[Mapping[str, MarkedFunction], list[Problem]]:
    """The signals in some files, by lower-case name, and what is wrong with the files."""
    return marked_functions(files, _MARK, what="signal")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalAnswer:
    """What a model's signals say about a batch: the units that are ready, merged."""

    ready: tuple[Interval, ...]


def ready_intervals(
    model: Model, units: Sequence[Interval], *, execution_time: datetime
) -> tuple[Interval, ...]:
    """Those of some consecutive units that every signal of a model lets pass, merged.

    The signals' source is what is stored with the model, so an environment runs the predicates
    that it was planned with.

    Raises:
        Refused: A signal does not exist.
        EvaluationFailed: A signal raised, or answered with something else than intervals of the
            batch.
    """
    if not model.signals or not units:
        return merge(units)
    files = {
        path: text for path, text in model.source.attachments.items() if path.startswith(FOLDER)
    }
    functions, problems = load_signals(files)
    if problems:
        raise Refused("\n".join(map(str, problems)))
    ready = list(units)
    for call in model.signals:
        function = functions.get(call.name)
        if function is None:
            raise Refused(
                f"{model.name} names the signal {call.name}, which no file in {FOLDER} declares. "
                f"{suggestion(call.name, sorted(functions))}"
            )
        if ready:
            ready = _answer(model, call, function, ready, execution_time)
    return merge(ready)


def _answer(
    model: Model,
    call: Call,
    function: MarkedFunction,
    units: Sequence[Interval],
    execution_time: datetime,
) -> list[Interval]:
    """What of a batch a signal lets pass."""
    batch = [(unit.start, unit.end) for unit in units]
    given = {key: value_of(sql) for key, sql in call.arguments}
    if function.takes("execution_time"):
        given.setdefault("execution_time", execution_time)
    try:
        answer = function.function(batch, **given)
        passed = set(batch) if answer is True else set() if answer is False else _pairs(answer)
    except (Exception, SystemExit) as error:  # whatever a user's function raises
        message = f"{type(error).__name__}: {error}"
        raise EvaluationFailed(
            f"{model.name}: the signal {call.name} failed at {function.place_of(error)}: "
            f"{message}. Nothing was evaluated."
        ) from error
    strange = passed - set(batch)
    if strange:
        raise EvaluationFailed(
            f"{model.name}: the signal {call.name} ({function.place}) answered with "
            f"{min(strange)}, which is not in the batch. Return True, False or pairs of it."
        )
    return [unit for unit in units if (unit.start, unit.end) in passed]


def _pairs(answer: object) -> set[tuple[datetime, datetime]]:
    if not isinstance(answer, Iterable):
        raise TypeError(f"a signal returns True, False or pairs of its batch, not {answer!r}")
    pairs: set[tuple[datetime, datetime]] = set()
    for each in answer:
        start, end = each
        if not isinstance(start, datetime) or not isinstance(end, datetime):
            raise TypeError(f"{each!r} is no pair of instants")
        pairs.add((start, end))
    return pairs


def value_of(sql: str) -> object:
    """An argument as a Python value: text, number, true or false, nothing, or a list of them.

    Everything else stays the SQL text that it is.
    """
    return _plain(sqlglot.parse_one(sql, dialect="spark"), sql)


def _plain(node: exp.Expr, sql: str) -> object:  # noqa: PLR0911 - one line for each form
    match node:
        case exp.Literal():
            return node.to_py()
        case exp.Boolean():
            return bool(node.this)
        case exp.Null():
            return None
        case exp.Neg(this=exp.Literal(is_string=False) as number):
            return -Decimal(number.name) if "." in number.name else -int(number.name)
        case exp.Tuple() | exp.Array():
            return [_plain(each, each.sql(dialect="spark")) for each in node.expressions]
        case exp.Paren():
            return [_plain(node.this, node.this.sql(dialect="spark"))]
        case exp.Column() if len(node.parts) == 1:
            return node.name
        case _:
            return sql
