"""The state of a world, which answers a question again without asking the database again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import Engine, event

from vde_dagster.ports.state import State
from vde_dagster.state.sql_state import SqlState

_REMEMBERED: Final = frozenset(
    {
        *("accepted", "adopted", "changed_since", "digests", "drifted", "entries_within"),
        *("environment", "environments", "failed", "heads", "holdings", "identity"),
        *("drops", "last_looks", "ledger", "marks", "newest_computed", "open_work", "owners"),
        *("pauses", "pending", "revision", "sessions", "snapshots", "sums", "unfinished"),
        *("versions", "work", "works"),
    }
)
"""Questions whose answers depend on nothing but what is stored: on no clock and no lease."""

_TABLE: Final = re.compile(r"\bvde_\w+")


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a question was answered, and how often each table it read had been written then."""

    answer: Any
    written: dict[str, int]


class _Tables:
    """How often the tables of a database were written, and which were read."""

    def __init__(self) -> None:
        self.written: Counter[str] = Counter()
        self.read: set[str] = set()

    def note(self, _connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        """Note a statement before it is executed."""
        tables = _tables(statement)
        self.read |= tables
        if not statement.startswith(("SELECT", "WITH")):
            self.written.update(tables)


class Remembered:
    """A `vde_dagster.ports.state.State` whose answers are remembered while their tables stay.

    Half of a step's time went into the same statements over the same rows. Which tables a question
    reads, and which ones another call writes, is seen from their statements.
    """

    def __init__(self, state: State) -> None:
        assert isinstance(state, SqlState)
        self._state = state
        self._known: dict[object, _Answer] = {}
        self._tables = _tables_of(state._database.engine)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._state, name)
        return self._question(method) if name in _REMEMBERED else method

    def _question(self, method: Any) -> Any:
        def asked(*given: Any, **named: Any) -> Any:
            args = [_lasting(each) for each in given]
            key = (method.__name__, *args, *sorted(named.items()))
            known = self._known.get(key)
            written = self._tables.written
            if known is None or any(written[table] != of for table, of in known.written.items()):
                self._tables.read = set()
                answer = method(*args, **named)
                known = _Answer(answer, {table: written[table] for table in self._tables.read})
                self._known[key] = known
            return known.answer

        return asked


@cache
def _tables_of(engine: Engine) -> _Tables:
    """The tables of an engine, which several states have after each other."""
    tables = _Tables()
    event.listen(engine, "before_cursor_execute", tables.note)
    return tables


@cache
def _tables(statement: str) -> frozenset[str]:
    return frozenset(_TABLE.findall(statement))


def _lasting(given: Any) -> Any:
    """An argument that can be read twice and compared."""
    is_many = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    return tuple(given) if is_many and not isinstance(given, tuple) else given
