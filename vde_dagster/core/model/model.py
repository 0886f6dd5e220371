"""A model as a value: what a file of the project says, checked, before any fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.deferred import Deferred
from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.model.column_rules import DEFAULT_COLUMN_RULES, ColumnRules
from vde_dagster.core.model.kinds import Kind
from vde_dagster.core.model.late_data import LateDataMode, LateDataPolicy
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import macros_in
from vde_dagster.core.sql.table_names import tables_as_of
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.core.time.windows import Window

AUDITS_FOLDER: Final = "audits/"
"""The folder of the files of audits in a project, and among the attachments of a model."""
SIGNALS_FOLDER: Final = "signals/"
"""The folder of the files of signals in a project, and among the attachments of a model."""


SESSION: Final = "session"
"""The name of the settings of Spark's session among a source's defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """The text that a model was read from: enough to read the same model again anywhere.

    ``text`` is the whole file (for a source declared in ``external_models.yaml``, its entry as
    JSON), ``path`` is relative to the project, ``defaults`` are the project's settings that the
    text alone does not hold, and ``attachments`` are files that belong to it, by relative path.
    """

    path: Path
    text: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    attachments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorsText:
    """The statements of a body in Spark's SQL: what runs (R13).

    They are as they were written, or sqlglot's translation of the ``original`` statements.

    Macros are replaced at their places, but for time macros, and for @STAR and @UNION, which are
    calls (see `vde_dagster.core.sql.star_macro`). ``catalog`` is the project's own, which may stand
    in names.
    """

    catalog: str
    query: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    original: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Deferred):
    """A SQL model's statements as Spark reads them, time macros unresolved.

    ``before`` and ``after`` are the pre- and post-statements. ``text`` is what runs, ``dialect``
    the one that it was written in. ``timed`` says whether one of them has a time macro, ``as_of``
    whether the query reads a table as of a version or a time; None if that was not determined, see
    `is_timed` and `reads_as_of`.
    """

    expression: exp.Query
    dialect: str
    before: tuple[exp.Expr, ...] = ()
    after: tuple[exp.Expr, ...] = ()
    text: AuthorsText
    timed: bool | None = field(default=None, init=False, compare=False, repr=False)
    as_of: bool | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def is_timed(self) -> bool:
        """Whether a statement has a time macro; a kept query knows without its syntax trees."""
        if self.timed is not None:
            return self.timed
        every = (*self.before, self.expression, *self.after)
        return any(any(macros_in(each)) for each in every)

    @property
    def reads_as_of(self) -> bool:
        """Whether a table is read as of a version or a time; a kept query knows that, too."""
        return bool(tables_as_of(self.expression)) if self.as_of is None else self.as_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonFunction:
    """A Python model: the module's source, and the function in it to call with a context.

    ``variables`` are the project's variables that the function may read. ``before`` and ``after``
    are the pre- and post-statements; ``text`` is what runs of them. ``deterministic`` if the
    function promises equal rows for equal inputs and the same interval. ``imports`` are the modules
    and distributions that its code imports, each with a digest of its source or its version.
    ``modules`` are those of them that lie in the project: their texts by path.
    """

    source: str
    function: str
    variables: Mapping[str, object] = field(default_factory=dict)
    before: tuple[exp.Expr, ...] = ()
    after: tuple[exp.Expr, ...] = ()
    text: AuthorsText = AuthorsText(catalog="")
    deterministic: bool = False
    imports: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRows:
    """A seed's CSV text; the header names the columns."""

    text: str


Body = Query | PythonFunction | SeedRows | None
"""What makes a model's rows; None for a table that others write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An audit or a signal with its arguments, each as SQL in Spark's dialect, by name.

    ``written`` is how the author wrote those that are in Spark's dialect, which is what runs.
    """

    name: str
    arguments: tuple[tuple[str, str], ...] = ()
    written: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def shown_arguments(self) -> tuple[tuple[str, str], ...]:
        """The arguments as people read them: as they were written, else in Spark's dialect."""
        written = dict(self.written)
        return tuple((key, written.get(key, sql)) for key, sql in self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAudit:
    """An audit of the project's own, as a model calls it.

    ``query`` returns the rows that fail. It reads the staged rows as ``this_model`` and others
    under their models' names; arguments stand in it, time macros are unresolved. ``text`` is what
    runs. ``place`` is where the query begins.
    """

    call: Call
    query: exp.Query
    text: AuthorsText
    blocking: bool = True
    place: Place | None = field(default=None, compare=False, repr=False)


class UpdatesOn(Enum):
    """Which of the parents have to change before a model is recomputed by itself."""

    ANY = "any"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model of a project.

    ``start`` is the first instant that the model's intervals may cover, ``end`` the last day's
    exclusive end; where ``inherits_start``, the earliest start of its parents stands in. ``unit``
    is the interval unit, ``cron`` (in the zone ``cron_tz``) when intervals become due.
    ``columns`` are the declared ones, empty where none are declared; ``column_descriptions`` are
    by lower-case name, and win over comments. ``windows`` are those that
    ``depends_on`` declares. ``own_audits`` are those of ``audits`` that are not built in.
    ``freshness`` and ``updates_on`` bound how often it is recomputed by itself because of a change
    upstream; see `vde_dagster.core.graph.freshness`.
    ``retries`` is how often an evaluation that failed is tried again by itself.
    ``concurrency`` is how many models may be evaluated while this one is, itself among them; None
    for any number.
    ``forward_only`` where the project says so of it by a pattern; see `goes_forward`.
    ``column_rules`` say what its table may lose and gain while it is kept.
    ``stamp`` is a text whose change makes another version. ``unsupported`` is what the file asks
    for and this release does not do: loading a project refuses it, a stored model may have it.
    """

    name: ModelName
    kind: Kind
    body: Body
    source: ModelSource
    place: Place
    parents: tuple[ModelName, ...] = ()
    reads_itself: bool = False
    windows: Mapping[ModelName, Window] = field(default_factory=dict)
    unit: IntervalUnit = IntervalUnit.DAY
    cron: str = "@daily"
    cron_tz: str = "UTC"
    start: datetime
    inherits_start: bool = False
    end: datetime | None = None
    columns: tuple[Column, ...] = ()
    column_descriptions: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    grains: tuple[tuple[str, ...], ...] = ()
    references: tuple[tuple[str, ...], ...] = ()
    storage: Storage = field(default_factory=Storage)
    audits: tuple[Call, ...] = ()
    own_audits: tuple[OwnAudit, ...] = ()
    signals: tuple[Call, ...] = ()
    freshness: timedelta | None = None
    updates_on: UpdatesOn = UpdatesOn.ANY
    retries: int = 0
    concurrency: int | None = None
    forward_only: bool = False
    column_rules: ColumnRules = DEFAULT_COLUMN_RULES
    stamp: str = ""
    enabled: bool = True
    late_data: LateDataPolicy | None = None
    warnings: tuple[Problem, ...] = field(default=(), compare=False)
    unsupported: tuple[Problem, ...] = field(default=(), compare=False)

    @property
    def time_column(self) -> str | None:
        """The column by which rows belong to intervals; None for kinds without intervals."""
        return self.kind.time_column

    @property
    def lookback(self) -> int:
        """How many units before each new range are evaluated again."""
        return self.kind.lookback

    @property
    def batch_size(self) -> int | None:
        """At most how many units one evaluation has; None for any number."""
        return self.kind.batch_size

    @property
    def goes_forward(self) -> bool:
        """Whether each edit of the model, and of what it reads, keeps its table and rows."""
        return self.forward_only or self.kind.forward_only

    def declares(self, column: str) -> bool:
        """Whether a person wrote the column's type, so that it is not a guess."""
        return column.lower() in {each.name.lower() for each in self.columns}

    @property
    def stateless(self) -> LateDataPolicy | None:
        """The policy by which sessions append late rows to this model; None for all others."""
        return self._late(LateDataMode.STATELESS)

    @property
    def stateful(self) -> LateDataPolicy | None:
        """The policy by which sessions overwrite what changed; None for all other models."""
        return self._late(LateDataMode.STATEFUL)

    def _late(self, mode: LateDataMode) -> LateDataPolicy | None:
        policy = self.late_data
        return policy if policy is not None and policy.mode is mode else None
