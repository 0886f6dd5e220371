"""Generated models over hourly events, in SQL and Python, with which times each one reads.

What a model reads is declared next to its query, not derived from it: windows in hours, or a whole
table. Every query gives the same rows of an interval in any batch, so that a build from scratch has
the rows that any order of work should have ended with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from random import Random
from typing import Final

from tests.app.generated_python import IN_PYTHON, code_of
from tests.app.generated_sql import KINDS, QUERIES
from tests.app.memory_world import RAW_COLUMNS, SOURCE, START, declared_source, graph_of
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import IntervalUnit

OTHERS: Final = ModelName("raw", "others")
HOUR: Final = timedelta(hours=1)
SIGNAL: Final = """
import os
from datetime import datetime

from vde_dagster import signal


@signal()
def landed(batch):
    until = datetime.fromisoformat(os.environ["VDE_TEST_LANDED"])
    return [(start, end) for start, end in batch if end <= until]
"""
"""A signal that holds intervals back which end after what the process's environment says."""


class Form(Enum):
    """What a generated model does with what it reads."""

    COPY = "rows of its interval"
    RECENT = "rows of its interval with those of some hours before"
    AHEAD = "rows of its interval with those of an hour after"
    SUMS = "a row for each interval"
    JOIN = "rows of its interval with another parent's of the hour"
    UNION = "rows of two parents"
    LOOKUP = "rows of its interval, with sums over all rows of another parent"
    CHANCE = "rows of its interval, by a nondeterministic query"
    SESSIONS = "late rows of a source by sessions"
    RUNNING = "the sum so far, by its own row of the interval before"
    KEPT = "rows of its interval, never restated"
    FULL = "all rows"
    FULL_UNTIL = "all rows up to the end of its interval"
    VIEW = "a view"
    EMBEDDED = "a query within others"
    BY_KEY = "a row for each key"
    BY_PARTITION = "rows by partition"
    UNMANAGED = "rows that are added"
    ADDED_LATE = "rows that are added, late ones by sessions"
    SEED = "rows of a file"
    HISTORY = "a history"
    HISTORY_BY_TIME = "a history of what carries the time of its last change"
    CHANGES = "the last change of each key"
    VERSIONS = "a history of changes, by a column"
    VERSIONS_BY_TIME = "a history of changes"


VERSIONED: Final = {Form.VERSIONS, Form.VERSIONS_BY_TIME}
ORDERED: Final = {Form.CHANGES, *VERSIONED}
"""Forms to which each row is a change of a key; some changes delete theirs, and are not shown."""
SEQUENTIAL: Final = {Form.BY_KEY, Form.BY_PARTITION, Form.UNMANAGED, *ORDERED}
LOOKED_THROUGH: Final = {Form.VIEW, Form.EMBEDDED}
WHOLE_TABLES: Final = {Form.FULL, Form.FULL_UNTIL}
HISTORIES: Final = {Form.HISTORY, Form.HISTORY_BY_TIME}
ONLY_AT_THE_END: Final = {*HISTORIES, Form.KEPT}
"""Forms whose rows depend on when they were computed, so that nothing else reads them here."""
KEEPING_BY_THEMSELVES: Final = {
    *HISTORIES,
    *VERSIONED,
    *(Form.BY_PARTITION, Form.UNMANAGED, Form.ADDED_LATE),
}
"""Forms of forward-only kinds: only rows computed after an edit are by the new definition."""

BY_SESSIONS: Final = {Form.SESSIONS, Form.ADDED_LATE, *ORDERED}
"""Forms that take late rows of a source as they come, and not rows of models."""

_BY_TIME: Final = (
    set(Form)
    - SEQUENTIAL
    - LOOKED_THROUGH
    - WHOLE_TABLES
    - {*HISTORIES, Form.ADDED_LATE, Form.SEED}
)
_TWO_PARENTS: Final = {Form.JOIN, Form.UNION, Form.LOOKUP}
_KEEPING_IDS: Final = {
    *(Form.COPY, Form.CHANCE, Form.RECENT, Form.AHEAD, Form.JOIN, Form.LOOKUP, Form.KEPT),
    *LOOKED_THROUGH,
}
"""Forms whose rows have an id and time of their own where those have that they read first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A generated model.

    ``hours`` is how far RECENT looks back, ``lookback`` how many intervals are computed again, and
    ``plus`` and ``columns`` are what edits have changed so far. ``late`` is whether late rows are
    followed by sessions in stateful mode, and an audit refuses amounts above ``most``. A signal
    holds it back where it ``waits``. It ``begins`` and ``ends`` so many hours after START, and
    ``layout`` is what its table is partitioned by, where it says so. It is written ``in_python`` or
    in SQL. Rows with amounts up to ``above`` are left out, and ``same`` counts edits that change no
    row. Late rows further back than ``threshold`` hours wait for a person, where there is one. What
    is late is loaded by ``ranges``, and a session ``stops`` where loaded rows of a source changed.
    Changes are taken in ``any_time``, also those of hours that are not over.
    """

    name: str
    form: Form
    parents: tuple[str, ...]
    daily: bool = False
    hours: int = 0
    lookback: int = 0
    plus: int = 0
    columns: int = 0
    late: bool = False
    most: int | None = None
    waits: bool = False
    begins: int = 0
    ends: int | None = None
    layout: str = ""
    in_python: bool = False
    above: int | None = None
    same: int = 0
    threshold: int = 0
    ranges: bool = False
    stops: bool = False
    any_time: bool = False

    def may_be_in_python(self, models: Sequence[Made]) -> bool:
        """Whether it can be written in Python.

        Functions read no views and embedded queries. What builds on itself has to bound what it
        reads, which a function cannot where it reads a source.
        """
        views = {f"gen.{each.name}" for each in models if each.form in LOOKED_THROUGH}
        bounded = {f"gen.{each.name}" for each in models if each.is_by_time}
        if self.above is not None or self.same:
            return False
        if self.form in SEQUENTIAL and not bounded.issuperset(self.parents):
            return False
        return self.form.name in IN_PYTHON and views.isdisjoint(self.parents)

    @property
    def path(self) -> str:
        """The name of its file."""
        return f"{self.name}.py" if self.in_python else f"{self.name}.sql"

    @property
    def key(self) -> ModelName:
        """Its name in a project."""
        return ModelName("gen", self.name)

    @property
    def unit(self) -> IntervalUnit:
        """The length of its intervals."""
        return IntervalUnit.DAY if self.daily else IntervalUnit.HOUR

    @property
    def is_by_time(self) -> bool:
        """Whether its rows belong to intervals that are computed independently."""
        return self.form in _BY_TIME

    @property
    def has_sessions(self) -> bool:
        """Whether its late rows are loaded by sessions."""
        return self.late or (self.form in BY_SESSIONS and not self.parents[0].startswith("gen."))

    @property
    def files(self) -> dict[str, str]:
        """The files that belong to its MODEL file, by path."""
        if self.form is Form.SEED:
            lines = (
                f"{id_},{START + id_ * HOUR:%Y-%m-%d %H:%M:%S},{amount}"
                for id_, amount in self.rows
            )
            return {f"{self.name}.csv": "\n".join(("id,at,amount", *lines)) + "\n"}
        return {"signals/waiting.py": SIGNAL} if self.waits else {}

    @property
    def rows(self) -> tuple[tuple[int, int], ...]:
        """Ids and amounts of the rows of a SEED's file."""
        return tuple((id_, 10 * id_ + self.plus) for id_ in range(1 + self.plus % 3, 6))

    @property
    def text(self) -> str:
        """Its file."""
        if self.in_python:
            return code_of(
                self.form.name,
                self.parents,
                {"name": f"gen.{self.name}", **self._arguments},
                hours=self.hours,
                daily=self.daily,
                plus=self.plus,
                more=self.columns,
            )
        if self.form is Form.SEED:
            columns = "id bigint, at timestamp, amount bigint"
            path = f"kind SEED (path '{self.name}.csv')"
            return f"MODEL (name gen.{self.name}, {path}, columns ({columns}))"
        core = QUERIES.get(self.form.name, QUERIES["COPY"])
        names = {"p": self.parents[0], "q": self.parents[-1]}
        names["own"] = f"gen.{self.name}"
        query = core.format(**names, n=self.hours, unit=self.unit.name, at="at")
        if self.any_time:
            query = query.partition(" WHERE ")[0]
        more = "".join(f", CAST({at} AS BIGINT) AS more{at}" for at in range(self.columns))
        if self.form in BY_SESSIONS:
            amount = f"amount + {' + '.join([str(self.plus), *['0'] * self.same])} AS amount{more}"
            return f"{self._header};\n{query.replace('amount', amount, 1)}"
        outer = "SELECT id, at, CAST(amount + {} AS BIGINT) AS amount{} FROM ({}) AS core"
        added = " + ".join([str(self.plus), *["0"] * self.same])
        most = "" if self.above is None else f" WHERE core.amount > {self.above}"
        return f"{self._header};\n{outer.format(added, more, query)}{most}"

    @property
    def _header(self) -> str:
        if self.form in LOOKED_THROUGH:
            return f"MODEL (name gen.{self.name}, kind {KINDS[self.form.name]})"
        found = self._arguments
        for name in {"cron", "start", "end"} & found.keys():
            found[name] = f"'{found[name]}'"
        if self.layout.startswith("id,"):
            found["partitioned_by"] = f"({self.layout})"
        if self.has_sessions:
            tracked = (each.split("|") for each in self._tracked)
            sources = [f"{e[0]} (tracked_by {e[1]})" if e[1:] else e[0] for e in tracked]
            mode = "stateful" if self.late else "stateless"
            more = "".join(f", {name} '{value}'" for name, value in self._late_options.items())
            found["late_data"] = f"(mode {mode}, sources ({', '.join(sources)}){more})"
        if self.form is Form.RUNNING:
            more = "".join(f", more{at} bigint" for at in range(self.columns))
            found["columns"] = f"(id bigint, at timestamp, amount bigint{more})"
        if self.most is not None:
            found["audits"] = f"(accepted_range (column := amount, max_v := {self.most}))"
        if self.waits:
            found["signals"] = "(landed ())"
        return f"MODEL (name gen.{self.name}, {', '.join(f'{n} {v}' for n, v in found.items())})"

    @property
    def _arguments(self) -> dict[str, object]:
        """Its properties but for its name, as a decorator is given them."""
        by_time = f"INCREMENTAL_BY_TIME_RANGE (time_column at{self._options})"
        kind = KINDS.get(self.form.name, by_time)
        found: dict[str, object] = {"kind": kind.replace("{options}", self._options)}
        found["cron"] = "@daily" if self.daily else "@hourly"
        if self.form is Form.BY_PARTITION:
            found["partitioned_by"] = f"{'days' if self.daily else 'hours'}(at)"
        elif self.layout:
            found["partitioned_by"] = self.layout
        if self.begins:
            found["start"] = f"{START + self.begins * HOUR:%Y-%m-%d %H:%M}"
        if self.ends is not None:
            found["end"] = f"{START + self.ends * HOUR:%Y-%m-%d %H:%M}"
        if self.has_sessions:
            mode = "stateful" if self.late else "stateless"
            late = {"mode": mode, "sources": [*self._tracked], **self._late_options}
            found["late_data"] = late
        if self.most is not None:
            found["audits"] = [("accepted_range", {"column": "amount", "max_v": self.most})]
        if self.waits:
            found["signals"] = ["landed"]
        windows = {each: self._declared(each) for each in dict.fromkeys(self.parents)}
        if self.in_python:
            found["depends_on"] = windows
        return found

    @property
    def _late_options(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if self.threshold:
            found["catchup_threshold"] = f"{self.threshold} hours"
        if self.ranges:
            found["load_type"] = "range"
        if self.stops:
            found["on_source_rewrite"] = "stop"
        return found

    @property
    def _tracked(self) -> Iterator[str]:
        yield from (f"{each}|at" if self.late else each for each in dict.fromkeys(self.parents))

    def _declared(self, parent: str) -> Mapping[str, str] | None:
        is_by_time = self.late or parent.startswith("gen.")
        window = self.window(parent) if is_by_time else None
        return None if window is None else {"before": f"{window[0] // HOUR} hours"}

    @property
    def _options(self) -> str:
        options = f", lookback {self.lookback}" if self.lookback else ""
        return options + (", disable_restatement true" if self.form is Form.KEPT else "")

    def window(self, parent: str) -> tuple[timedelta, timedelta] | None:
        """How far an interval reads of a parent before and after itself; None for all of it."""
        if self.form in WHOLE_TABLES | HISTORIES:
            return None
        if self.form is Form.LOOKUP and parent == self.parents[-1]:
            return None
        before = self.hours * HOUR if self.form is Form.RECENT else timedelta()
        return before, HOUR if self.form is Form.AHEAD else timedelta()


@lru_cache(maxsize=100)
def project(models: tuple[Made, ...]) -> Graph:
    """The graph of some generated models over the two sources."""
    others = declared_source(OTHERS, RAW_COLUMNS)
    files = {each.path: each.files for each in models}
    return graph_of({each.path: each.text for each in models}, others, files=files)


_ANY: Final = (
    *(Form.COPY, Form.RECENT, Form.AHEAD, Form.SUMS, Form.CHANCE, Form.JOIN, Form.UNION),
    *(Form.LOOKUP, Form.FULL, Form.FULL_UNTIL, Form.VIEW, Form.VIEW, Form.EMBEDDED),
    *(Form.BY_KEY, Form.BY_PARTITION, Form.UNMANAGED, Form.SESSIONS, Form.KEPT, Form.HISTORY),
    *(Form.CHANGES, *sorted(ORDERED, key=lambda form: form.name)),
)
_FIRST: Final = tuple(each for each in _ANY if each not in ONLY_AT_THE_END)


def generated(chance: Random, counts: Sequence[int] = range(2, 7)) -> tuple[Made, ...]:
    """Some models over the sources and each other, parents first; as many as one of ``counts``."""
    made: list[Made] = []
    count = chance.choice(counts)
    while len(made) < count:
        form = chance.choice(_ANY if made else _FIRST)
        readable = [each for each in made if each.form not in ONLY_AT_THE_END]
        names = [f"gen.{each.name}" for each in readable]
        names = [*names, *names, *names, str(SOURCE), str(OTHERS)]
        names = [each for each in names if may_read(form, each, made)]
        parents = [chance.choice(names) for _ in range(1 + (form in _TWO_PARENTS))]
        if form is Form.SESSIONS:
            parents = [str(SOURCE)]
            if any(each.form is Form.SESSIONS for each in made):
                continue
        made.append(
            Made(
                name=f"m{len(made)}",
                form=form,
                parents=tuple(parents),
                daily=form is Form.BY_KEY or (chance.random() < 0.4 and form is not Form.SESSIONS),
                hours=chance.choice((1, 2, 5)) if form is Form.RECENT else 0,
                lookback=chance.choice((0, 0, 1, 2)) if form in (Form.COPY, Form.SUMS) else 0,
            )
        )
    return tuple(made)


def is_bounded(name: str, models: Sequence[Made]) -> bool:
    """Whether a table can be read by time: a source, or a model with intervals."""
    found = next((each for each in models if f"gen.{each.name}" == name), None)
    if found is None or found.is_by_time:
        return True
    return found.form in LOOKED_THROUGH and is_bounded(found.parents[0], models)


def may_read(form: Form, name: str, models: Sequence[Made]) -> bool:
    """Whether a model of a form may read a table."""
    if form in ORDERED:
        return _has_changes(name, models)
    return form not in SEQUENTIAL or is_bounded(name, models)


def _has_changes(name: str, models: Sequence[Made]) -> bool:
    """Whether rows of a table with one id and time are one row, as in sources: changes have no
    order otherwise."""
    found = next((each for each in models if f"gen.{each.name}" == name), None)
    if found is None or found.form in (Form.SUMS, Form.RUNNING):
        return True
    return found.form in _KEEPING_IDS and _has_changes(found.parents[0], models)


def downstream(model: Made, models: Sequence[Made]) -> Iterator[Made]:
    """A model and all that is downstream of it."""
    names = {f"gen.{model.name}"}
    for each in models:
        if each.name == model.name or not names.isdisjoint(each.parents):
            names.add(f"gen.{each.name}")
            yield each


def edited(model: Made, *, breaking: bool) -> Made:
    """An edit of a model: with other rows, or with one more column."""
    if breaking:
        return replace(model, plus=model.plus + 1)
    return replace(model, columns=model.columns + 1)
