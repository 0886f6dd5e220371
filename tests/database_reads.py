"""What a piece of code asks of the state's database: statements, and what these read.

On SQLite that is the number of steps of its virtual machine, of which a row that is looked at takes
some; on Postgres it is the number of rows that scans have looked at. Both are the same each time.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Engine, event

from vde_dagster.ports.state import State
from vde_dagster.state.sql_state import SqlState

_READS: Final = ("SELECT", "WITH")
_SCANNED: Final = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")


@dataclass
class Reads:
    """How often each statement was executed, and what it read."""

    times: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)

    @property
    def statements(self) -> int:
        """How many statements were executed."""
        return sum(self.times.values())

    @property
    def total(self) -> int:
        """What all statements read."""
        return sum(self.read.values())

    def add(self, statement: str, read: int) -> None:
        """Count one statement."""
        self.times[statement] = self.times.get(statement, 0) + 1
        self.read[statement] = self.read.get(statement, 0) + read

    def above(self, other: Reads) -> str:
        """The statements that read more than in another run, for people."""
        more = {each: self.read[each] - other.read.get(each, 0) for each in self.read}
        most = sorted(more, key=lambda each: -more[each])[:3]
        return "\n".join(f"{more[each]:+,} in {' '.join(each.split())}" for each in most)


def reads_of(state: State, run: Callable[[], object]) -> Reads:
    """What a piece of code asks of a state on SQLite or Postgres, in this thread."""
    assert isinstance(state, SqlState), "the state of each world is a database"
    engine = state._database.engine
    count = _on_postgres if engine.dialect.name == "postgresql" else _on_sqlite
    with count(engine) as found:
        run()
    return found


@contextmanager
def _on_sqlite(engine: Engine) -> Iterator[Reads]:
    found, steps, counted = Reads(), 0, list[sqlite3.Connection]()
    began: dict[str, int] = {}

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    def end() -> None:
        for statement, at in began.items():
            found.add(statement, steps - at)
        began.clear()

    def before(_c: object, cursor: Any, statement: str, *_: object) -> None:
        end()  # rows are fetched until the next statement
        if cursor.connection not in counted:
            counted.append(cursor.connection)
            cursor.connection.set_progress_handler(step, 1)
        began[statement] = steps

    event.listen(engine, "before_cursor_execute", before)
    try:
        yield found
    finally:
        end()
        event.remove(engine, "before_cursor_execute", before)
        for connection in counted:
            connection.set_progress_handler(None, 1)


@contextmanager
def _on_postgres(engine: Engine) -> Iterator[Reads]:
    found = Reads()

    def before(_c: object, cursor: Any, statement: str, parameters: object, *_: object) -> None:
        read = 0
        if statement.lstrip().startswith(_READS):
            with cursor.connection.cursor() as beside:
                beside.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
                (explained,) = beside.fetchone()
            plans = json.loads(explained) if isinstance(explained, str) else explained
            read = _scanned(plans[0]["Plan"])
        found.add(statement, read)

    event.listen(engine, "before_cursor_execute", before)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", before)


def _scanned(plan: Mapping[str, Any]) -> int:
    """The rows that a plan's scans looked at, whether they were taken or not."""
    below: int = sum(_scanned(each) for each in plan.get("Plans", ()))
    if "Scan" not in plan["Node Type"] or "Relation Name" not in plan:
        return below
    own: int = sum(plan.get(each, 0) for each in _SCANNED)
    loops: float = plan["Actual Loops"]
    return below + round(own * loops)
