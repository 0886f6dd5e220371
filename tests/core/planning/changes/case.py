"""How a case of the category tables is written: two projects, and what is expected of each model.

A project maps names to texts; a text without a MODEL block is a query of kind FULL. The sources
raw.t and raw.u are always there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from tests.core.conftest import DEFAULTS, RAW, external
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import DEFAULT_RULES
from vde_dagster.core.planning.changes.difference import Change, DecidedBy, Difference, Rules
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.project.model_files import read_model

ALL: Final = "*"
"""Every column that the model had or has, in place of names."""

HARMLESS: Final = (Category.INDIRECT_NON_BREAKING, Category.METADATA, None)
"""What changes no column of a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The declared columns of a table that others write."""

    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A model's text with the files that belong to it, and the project's variables."""

    text: str
    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, object] = field(default_factory=dict)


Written = str | Text | Source
Project = Mapping[str, Written]


def seed(csv: str, columns: str = "") -> Text:
    """A seed with these rows; ``columns`` are declared ones, such as ``a int, b string``."""
    declared = f", columns ({columns})" if columns else ""
    return Text(text=f"MODEL (kind SEED (path 's.csv'){declared});", files={"s.csv": csv})


def python(body: str, *, columns: str = "k", header: str = "") -> str:
    """A Python model over m.x (unless ``header`` says depends_on) with these string columns."""
    typed = dict.fromkeys(columns.split(), "string")
    reads = "" if "depends_on" in header else "depends_on=['m.x'], "
    return (
        "from vde_dagster import model\n\n"
        f"@model('m.p', {reads}columns={typed!r}, {header})\n"
        f"def p(context):\n    return {body}\n"
    )


def model_of(name: str, written: str | Text) -> Model:
    """A model by the text of its file."""
    given = written if isinstance(written, Text) else Text(text=written)
    declared = "MODEL (" in given.text or "@model(" in given.text
    text = given.text if declared else f"MODEL (kind FULL);\n{given.text}"
    variables = {"variables": json.dumps(given.variables)} if given.variables else {}
    suffix = ".py" if "@model(" in text else ".sql"
    return read_model(
        ModelSource(
            path=Path("models", *name.split(".")).with_suffix(suffix),
            text=text,
            defaults={**DEFAULTS.as_texts(), **variables},
            attachments=given.files,
        )
    )


def graph_of(project: Project) -> Graph:
    """The graph of a project, over raw.t and raw.u."""
    every: dict[str, Written] = {"raw.t": Source(columns=RAW), "raw.u": Source(columns=RAW)}
    every |= project
    return build_graph(_read(name, each) for name, each in every.items())


def _read(name: str, written: Written) -> Model:
    match written:
        case Source(columns=columns):
            return _external(name, tuple(columns.items()))
        case str():
            return _model_of(name, written)
        case Text():
            return model_of(name, written)


@lru_cache(maxsize=64)
def _external(name: str, columns: tuple[tuple[str, str], ...]) -> Model:
    return external(name, dict(columns))


_model_of: Final = lru_cache(maxsize=64)(model_of)
"""Both projects of a case have most of their models in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What must be found of one model.

    ``outcomes`` are the accepted pairs of change and category: mostly one; more where both say the
    same of the rows. ``columns`` are those that may have changed, None where that is left open, as
    are ``rebuild`` and ``undecidable``. Each of ``said`` occurs in the reasons.
    """

    outcomes: tuple[tuple[Change, Category | None], ...]
    rebuild: bool | None
    columns: frozenset[str] | None = None
    said: tuple[str, ...] = ()
    undecidable: bool | None = None
    decided_by: DecidedBy = DecidedBy.AUTOMATIC

    def __call__(self, columns: str | None = None, *said: str) -> Expected:
        """The same of these columns (parted by spaces) and with these words in the reasons."""
        named = self.columns if columns is None else frozenset(columns.split())
        return replace(self, columns=named, said=(*self.said, *said))

    def unlike(self, found: Difference, every: frozenset[str]) -> list[str]:
        """What of a difference is not as expected; ``every`` are the model's columns, ever."""
        wrong = []
        if (found.change, found.category) not in self.outcomes:
            wanted = " or ".join(_outcome(*each) for each in self.outcomes)
            wrong.append(f"{_outcome(found.change, found.category)} in place of {wanted}")
        for what in ("rebuild", "undecidable", "decided_by"):
            wanted_value, value = getattr(self, what), getattr(found, what)
            if wanted_value is not None and value != wanted_value:
                wrong.append(f"{what} is {value}")
        named = every if self.columns is not None and ALL in self.columns else self.columns
        if named is not None and set(found.columns_changed) != named:
            wrong.append(f"columns {sorted(found.columns_changed)} in place of {sorted(named)}")
        reasons = " | ".join(sentences(found.reasons))
        wrong += [f"no {each!r} in {reasons!r}" for each in self.said if each not in reasons]
        return wrong


def _outcome(change: Change, category: Category | None) -> str:
    return f"{change.value}/{category.value if category else 'none'}"


def _one(change: Change, category: Category | None, *, rebuild: bool) -> Expected:
    columns: frozenset[str] | None = frozenset() if category in HARMLESS else None
    sure = False if category in (*HARMLESS, Category.NON_BREAKING) else None
    return Expected(
        outcomes=((change, category),), rebuild=rebuild, columns=columns, undecidable=sure
    )


BREAKING: Final = _one(Change.DIRECT, Category.BREAKING, rebuild=True)
NON_BREAKING: Final = _one(Change.DIRECT, Category.NON_BREAKING, rebuild=True)
FORWARD_ONLY: Final = replace(
    _one(Change.DIRECT, Category.FORWARD_ONLY, rebuild=False), undecidable=None
)
METADATA: Final = _one(Change.METADATA, Category.METADATA, rebuild=False)
REACHED: Final = _one(Change.INDIRECT, Category.INDIRECT_BREAKING, rebuild=True)
KEPT: Final = _one(Change.INDIRECT, Category.INDIRECT_NON_BREAKING, rebuild=False)
UNCHANGED: Final = _one(Change.NONE, None, rebuild=False)
ADDED: Final = replace(_one(Change.ADDED, None, rebuild=True), columns=None)
REMOVED: Final = replace(_one(Change.REMOVED, None, rebuild=False), columns=None)

ROWS: Final = replace(BREAKING(ALL), undecidable=False)
"""Other rows, and that is certain."""
UNREAD: Final = NON_BREAKING(None, "no model reads")
"""A column goes or has other values, and nobody in the project reads it."""
REACHED_ROWS: Final = REACHED(ALL)
"""Other rows because of what is upstream."""
REBUILT: Final = replace(BREAKING, outcomes=(*BREAKING.outcomes, *REACHED.outcomes))
"""Other rows or values; whether its own query counts as another depends on how stars are read."""
UNDECIDABLE: Final = replace(BREAKING, undecidable=True)
"""Breaking because nothing is known."""
EDITED: Final = replace(
    BREAKING, outcomes=(*BREAKING.outcomes, *NON_BREAKING.outcomes), undecidable=None
)
"""Its own query is another; whether its rows are too is not known from its columns alone."""
AT_REST: Final = replace(KEPT, outcomes=(*KEPT.outcomes, *UNCHANGED.outcomes))
"""Nothing reaches it; that something upstream was edited may show, or not."""
REFACTORED: Final = replace(
    NON_BREAKING(""), outcomes=(*NON_BREAKING.outcomes, *UNCHANGED.outcomes), rebuild=None
)
"""Another text for the same rows and columns; whether that shows is left open."""


def of_source(expected: Expected) -> Expected:
    """The same of a table that others write: whether it counts as rebuilt is left open."""
    return replace(expected, rebuild=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Two projects and what is expected of their models, by name; others are left open."""

    name: str
    before: Project
    after: Project
    expected: Mapping[str, Expected]
    rules: Rules = DEFAULT_RULES


def edits(
    name: str,
    rules: Rules = DEFAULT_RULES,
    **models: tuple[Written | None, Expected] | tuple[Written | None, Written | None, Expected],
) -> Case:
    """Models that are edited, and others: ``x=(before, after, expected)``, ``y=(text, expected)``.

    A model is not there where None stands in place of its text.
    """
    before, after = (
        {f"m.{key}": text for key, each in models.items() if isinstance(text := each[at], Written)}
        for at in (0, -2)
    )
    expected = {f"m.{key}": each[-1] for key, each in models.items()}
    return Case(name=name, before=before, after=after, expected=expected, rules=rules)


def edit(
    name: str,
    old: Written,
    new: Written,
    expected: Expected,
    rules: Rules = DEFAULT_RULES,
    **downstream: tuple[Written, Expected],
) -> Case:
    """One edited model, m.x, and untouched ones: ``y=(text, expected)`` is m.y."""
    return edits(name, rules, x=(old, new, expected), **downstream)


def decided(**categories: Category) -> Rules:
    """A person's choice: ``x=Category.BREAKING`` is one for m.x."""
    return Rules(decisions={ModelName("m", name): each for name, each in categories.items()})
