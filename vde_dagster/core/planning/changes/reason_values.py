"""Reasons of a change as values, and the sentence that people read of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Self

from vde_dagster.core.listing import some
from vde_dagster.core.names import ModelName

_MOST: Final = 3
"""How many names one reason lists; the others are counted."""


class ReasonKind(Enum):
    """What a reason says: its name in JSON documents and saved plans, and its sentence.

    ``text`` goes on after the model's name, with a Reason's fields in braces; ``them`` stands for
    its columns. A kind without a sentence cannot be written.
    """

    MODEL_ADDED = ("model_added", "new model")
    MODEL_REMOVED = ("model_removed", "no longer in the project")
    METADATA = ("metadata", "only metadata changed")
    AUDITS = (
        "audits",
        "its audits changed, for rows written from now on: `vde audit MODEL` checks existing rows",
    )
    METADATA_UPSTREAM = ("metadata_upstream", "only metadata of upstream models changed")
    NOTHING_READ_CHANGED = ("nothing_read_changed", "none of its inputs changed")
    FORWARD_ONLY = (
        "forward_only",
        "forward-only: existing rows stay, and the change applies from now on",
    )
    FORWARD_ONLY_UPSTREAM = (
        "forward_only_upstream",
        "forward-only: it keeps its rows, and new intervals read the changed inputs",
    )
    EQUAL_ROWS = ("equal_rows", "it keeps its table, because the rows turned out to be equal")
    EFFECTIVE_FROM = (
        "effective_from",
        (
            "it applies from {after} on: intervals loaded since then are computed again, "
            "earlier ones only for a late row or a restatement"
        ),
    )
    BOUNDED = (
        "bounded",
        "bounded: it starts at {after}, and is never promoted",
    )
    BOUND_ENDS = ("bound_ends", "no longer bounded: it started at {before}")
    BOUND_STAYS = (
        "bound_stays",
        "its version in {before} starts at {after} and is never promoted; this version is complete",
    )
    PREVIEW = (
        "preview",
        "preview from {after} on, in a separate table that is never promoted",
    )
    PREVIEW_ENDS = (
        "preview_ends",
        "no longer a preview: it was one from {before} on",
    )
    PREVIEW_STAYS = (
        "preview_stays",
        "its version in {before} is a preview from {after} on, which is never promoted",
    )
    DRIFTED = (
        "drifted",
        "some of its rows were computed before a forward-only change: all is computed again",
    )
    GIVEN_BACK = (
        "given_back",
        "the table that it adopted no longer has the rows that it would compute itself",
    )
    HISTORY_ENDS = (
        "history_ends",
        "its table's history is not in the new one: past states cannot be observed again",
    )
    PYTHON = ("python", "its Python code or inputs changed")
    STATEMENTS = (
        "statements",
        "its pre- or post-statements changed, and their effects are not analysed",
    )
    MANAGED = ("managed", "it is managed by the platform, and its changes are not analysed")
    MODEL_KIND = ("model_kind", "its kind was {before} and is {after}")
    KIND_OPTIONS = ("kind_options", "its kind or the kind's options changed")
    PARTITIONS = ("partitions", "the partitions that it replaces changed")
    UNIT = ("unit", "its interval unit changed")
    LATE_DATA = ("late_data", "how it loads late data changed")
    FIRST_INTERVAL = (
        "first_interval",
        "its start, end or interval unit changed, which its query reads",
    )
    WINDOWS = ("windows", "the reads that it declares changed")
    SESSION = (
        "session",
        "Spark session settings that may affect results changed",
    )
    CONTENT = ("content", "its content changed")
    ROWS = ("rows", "its rows may change: {clauses} changed")
    KEY_COLUMNS = ("key_columns", "the columns by which its kind identifies rows changed")
    KEY_VALUES = (
        "key_values",
        "its kind identifies rows by {columns}, whose values may change",
    )
    SOURCE_UNDECLARED = (
        "source_undeclared",
        "the origin of its columns is unknown, because a source is not declared",
    )
    FUNCTION_UNKNOWN = (
        "function_unknown",
        "the effect of the function {function} on rows is unknown",
    )
    COLUMNS_ADDED = ("columns_added", "adds {columns}")
    COLUMNS_REMOVED = ("columns_removed", "removes {columns}")
    COLUMNS_CHANGED = ("columns_changed", "changes {columns}")
    READ_COLUMN_REMOVED = ("read_column_removed", "removes column {columns}, read by {read_by}")
    READ_COLUMN_CHANGED = ("read_column_changed", "changes column {columns}, read by {read_by}")
    UNREAD_COLUMNS_REMOVED = (
        "unread_columns_removed",
        "removes {columns}: no model reads {them}, but readers outside the project may",
    )
    UNREAD_COLUMNS_CHANGED = (
        "unread_columns_changed",
        "changes {columns}: no model reads {them}, but readers outside the project may",
    )
    UPSTREAM_ROWS = ("upstream_rows", "reads {upstream}, whose rows may change")
    UPSTREAM_COLUMN_NAMES = (
        "upstream_column_names",
        "may read every column of {upstream}, whose columns changed",
    )
    UPSTREAM_VALUES = (
        "upstream_values",
        "reads {columns} of {upstream}, whose values may change",
    )
    STORAGE = ("storage", "only how its table is stored changed")
    STAMP = ("stamp", "its stamp changed: its table is rebuilt")
    WRITING = ("writing", "it returns the same rows; only the SQL's wording or order changed")

    _value_: str
    text: str

    def __new__(cls, name: str, text: str) -> Self:
        """A kind whose value is its name."""
        made = object.__new__(cls)
        made._value_ = name
        made.text = text
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a model's change has its category; fields that a kind does not need are empty.

    - ``columns`` are those that it is about, by their names in lower case.
    - ``upstream`` is the model that is read and has changed.
    - ``read_by`` are the models that read the column.
    - ``clauses`` are what of a query changed, as people write it.
    - ``function`` is a function of which nothing is known.
    - ``before`` and ``after`` are what changed, where it is one value, or names with commas.
    """

    kind: ReasonKind
    columns: tuple[str, ...] = ()
    upstream: ModelName | None = None
    read_by: tuple[ModelName, ...] = ()
    clauses: tuple[str, ...] = ()
    function: str = ""
    before: str = ""
    after: str = ""

    @property
    def sentence(self) -> str:
        """The reason for people: see `sentence`."""
        return sentence(self)


def sentence(reason: Reason) -> str:
    """A reason for people: the end of a sentence about the model that changed."""
    return reason.kind.text.format(
        columns=some((f"`{each}`" for each in reason.columns), _MOST),
        them="it" if len(reason.columns) == 1 else "them",
        upstream=reason.upstream,
        read_by=some(reason.read_by, _MOST),
        clauses=some(reason.clauses, _MOST) or "parts of its query",
        function=reason.function,
        before=reason.before,
        after=reason.after,
    )


def sentences(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Reasons for people."""
    return tuple(map(sentence, reasons))
