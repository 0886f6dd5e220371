"""Signals: Python predicates that hold intervals back until something outside is ready.

A signal is a function in a file of ``signals/`` with the decorator. It gets a *batch*, a list of
(start, end) pairs of consecutive interval units, and the arguments that a model gives it. It
returns True for all of them, False for none, or those pairs of the batch that are ready.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import sqlglot
from sqlglot import exp

from vde_dagster.core.errors import EvaluationFailed, Place, Problem, Refused
from vde_dagster.core.model.model import SIGNALS_FOLDER, Call, Model
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.project.modules import F, MarkedFunction, marked_functions, marking
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.unread import declared_names
from vde_dagster.runtime.users_code import error_text, running_users_code

FOLDER: Final = SIGNALS_FOLDER
_MARK: Final = "__vde_signal__"


def signal(name: str | None = None) -> Callable[[F], F]:
    """Declare a function as a signal.

    It is called with a batch, a list of (start, end) pairs, and by name with the arguments that a
    model gives, and ``execution_time`` where it has such a parameter.

    Args:
        name: The function's own if None.

    Raises:
        TypeError: It was written without parentheses, or the name is not a text.
    """
    return marking(_MARK, "signal", name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """The signals of some files, by lower-case name, and what is wrong with the files.

    ``unread`` are names that files that failed seem to declare.
    """

    functions: Mapping[str, MarkedFunction] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    unread: frozenset[str] = frozenset()

    def files_of(self, calls: Iterable[Call], place: Place, problems: Problems) -> Collection[str]:
        """The files of the signals that a model names; unknown ones are problems at its place."""
        files: set[str] = set()
        for call in calls:
            function = self.functions.get(call.name)
            if function is not None:
                files.add(function.place.path.as_posix())
            elif call.name not in self.unread:
                known = sorted(self.functions)
                advice = suggestion(call.name, known) if known else f"Declare it in {FOLDER}."
                problems.add(place, f"no file in {FOLDER} declares the signal {call.name}", advice)
        return files


def load_signals(files: Mapping[str, str]) -> Signals:
    """The signals that files declare.

    Args:
        files: Texts by path, relative to the project; only files of signals are read.
    """
    own = {path: text for path, text in files.items() if path.startswith(FOLDER)}
    functions, problems = marked_functions(own, _MARK, what="signal")
    failed = {each.place.path.as_posix() for each in problems}
    unread = frozenset().union(*(declared_names(own[path], Path(path)) for path in failed))
    return Signals(functions=functions, problems=tuple(problems), unread=unread)


def ready_intervals(
    model: Model, units: Sequence[Interval], *, execution_time: datetime
) -> tuple[Interval, ...]:
    """The consecutive units that every signal of a model lets pass, merged.

    The signals' source is stored with the model, so an environment runs the predicates that it was
    planned with.

    Raises:
        Refused: A signal does not exist.
        EvaluationFailed: A signal raised, or answered with something else than intervals of the
            batch.
    """
    if not model.signals or not units:
        return merge(units)
    loaded = load_signals(model.source.attachments)
    if loaded.problems:
        raise Refused("\n".join(map(str, loaded.problems)))
    ready = list(units)
    for call in model.signals:
        function = loaded.functions.get(call.name)
        if function is None:
            raise Refused(
                f"{model.name} uses the signal {call.name}, which no file in {FOLDER} declares",
                advice=suggestion(call.name, sorted(loaded.functions)),
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
    """The intervals of a batch that a signal lets pass."""
    batch = [(unit.start, unit.end) for unit in units]
    given = {key: value_of(sql) for key, sql in call.arguments}
    if function.takes("execution_time"):
        given.setdefault("execution_time", execution_time)
    try:
        with running_users_code():
            answer = function.function(batch, **given)
        passed = set(batch) if answer is True else set() if answer is False else _pairs(answer)
    except (Exception, SystemExit) as error:  # whatever a user's function raises
        raise EvaluationFailed(
            f"{model.name}: the signal {call.name} failed at {function.place_of(error)}: "
            f"{error_text(error)}. Nothing was evaluated."
        ) from error
    strange = passed - set(batch)
    if strange:
        raise EvaluationFailed(
            f"{model.name}: the signal {call.name} ({function.place}) returned "
            f"{min(strange)}, which is not in the batch",
            advice="Return True, False or pairs of the batch.",
        )
    return [unit for unit in units if (unit.start, unit.end) in passed]


def _pairs(answer: object) -> set[tuple[datetime, datetime]]:
    if not isinstance(answer, Iterable):
        raise TypeError(f"a signal has to return True, False or pairs of its batch, not {answer!r}")
    pairs: set[tuple[datetime, datetime]] = set()
    for each in answer:
        start, end = each
        if not isinstance(start, datetime) or not isinstance(end, datetime):
            raise TypeError(f"{each!r} is not a pair of datetimes")
        pairs.add((start, end))
    return pairs


def value_of(sql: str) -> object:
    """An argument as a Python value: text, number, boolean, None, or a list of them.

    Everything else stays the SQL text that it is.
    """
    return _plain(sqlglot.parse_one(sql, dialect="spark"), sql)


def _plain(node: exp.Expr, sql: str) -> object:
    match node:
        case exp.Tuple() | exp.Array():
            return [_plain(each, each.sql(dialect="spark")) for each in node.expressions]
        case exp.Paren():
            return [_plain(node.this, node.this.sql(dialect="spark"))]
        case exp.Column() if len(node.parts) == 1:
            return node.name
    try:
        return node.to_py()
    except ValueError:
        return sql
