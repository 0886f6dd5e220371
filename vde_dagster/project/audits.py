"""A project's own audits: ``AUDIT (name ...); SELECT ...`` in ``audits/`` or after a model's query.

The query returns the rows that fail. ``@this_model`` stands for the staged rows, and ``@name`` for
an argument; all else is the language of models' queries, in the audit's own dialect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from vde_dagster.core.audits.builtins import BLOCKING, BUILTINS, NON_BLOCKING
from vde_dagster.core.audits.values import THIS_MODEL
from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.model.model import AUDITS_FOLDER
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.call_properties import read_argument
from vde_dagster.project.properties.model_block import Value, block_starts, read_block
from vde_dagster.project.properties.values import (
    check_known,
    read_dialect,
    read_flag,
    read_options,
)
from vde_dagster.project.unread import declared_names

FOLDER: Final = AUDITS_FOLDER
_KEYWORD: Final = "AUDIT"
_PROPERTIES: Final = ("name", "dialect", "blocking", "defaults", "description")
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """An audit as its file declares it. ``text`` is its query, which starts at ``query_line``.

    ``defaults`` are values of arguments, as SQL in Spark's dialect.
    """

    name: str
    place: Place
    dialect: str
    blocking: bool = True
    defaults: Mapping[str, str] = field(default_factory=dict)
    text: str
    query_line: int

    @property
    def query_place(self) -> Place:
        """Where its query begins."""
        return Place(path=self.place.path, line=self.query_line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audits:
    """The audits of some files by lower-case name, and what is wrong with the files.

    ``unread`` are names that files with problems seem to declare.
    """

    definitions: Mapping[str, Definition] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    unread: frozenset[str] = frozenset()

    def beside(self, own: Audits) -> Audits:
        """These together with those of one model's file, whose names must differ."""
        taken = [
            Problem(
                place=each.place,
                message=(f"the audit {name} is also declared in {self.definitions[name].place}"),
                advice="Rename one of them.",
            )
            for name, each in own.definitions.items()
            if name in self.definitions
        ]
        return Audits(
            definitions={**self.definitions, **own.definitions},
            problems=(*self.problems, *own.problems, *taken),
            unread=self.unread | own.unread,
        )


def is_audit_file(path: str) -> bool:
    """Whether a path relative to the project is a file of audits."""
    return path.startswith(FOLDER) and path.endswith(".sql")


def load_audits(files: Mapping[str, str], *, dialect: str) -> Audits:
    """The audits that files declare.

    Args:
        files: Texts by path, relative to the project; only files of audits are read.
        dialect: The dialect of audits that name none.
    """
    known = Audits()
    for path in sorted(files):
        if is_audit_file(path):
            known = known.beside(_audits_in(files[path], Path(path), dialect))
    return known


def split_audits(text: str, *, path: Path, dialect: str) -> tuple[str, Audits]:
    """A model's text before its first AUDIT block, and the audits from there on."""
    before, rest = without_audits(text, dialect=dialect)
    if not rest:
        return text, Audits()
    return before, _audits_in("\n" * before.count("\n") + rest, path, dialect)


def without_audits(text: str, *, dialect: str) -> tuple[str, str]:
    """A text before its first AUDIT block, and the rest of it."""
    starts = block_starts(text, dialect, _KEYWORD)
    return (text[: starts[0]], text[starts[0] :]) if starts else (text, "")


def _audits_in(text: str, path: Path, dialect: str) -> Audits:
    problems = Problems()
    found: dict[str, Definition] = {}
    starts = block_starts(text, dialect, _KEYWORD)
    if not starts:
        advice = (
            "Write `AUDIT (name ...); SELECT ...` with a query that selects the rows that "
            "fail, and "
        )
        advice += f"close all quotes; the file is read in {dialect}, the project's dialect."
        problems.add(Place(path=path), "the file has no AUDIT block that can be read", advice)
        return Audits(problems=tuple(problems.found), unread=declared_names(text, path))
    if _tokens(text[: starts[0]], dialect):
        advice = "Start the file with `AUDIT (name ...);`."
        problems.add(Place(path=path), "the file has text before the first AUDIT block", advice)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = "\n" * text[:start].count("\n") + text[start:end]
        try:
            definition = _definition(piece, path, dialect, problems)
        except RecursionError:
            line = 1 + text[:start].count("\n")
            message = "the audit is nested too deeply"
            problems.add(Place(path=path, line=line), message, "Split it into several audits.")
            continue
        if definition is None:
            continue
        if definition.name in found:
            message = f"the audit {definition.name} is declared twice"
            problems.add(definition.place, message, "Rename one of them.")
        found[definition.name] = definition
    unread = declared_names(text, path) if problems.found else frozenset()
    return Audits(definitions=found, problems=tuple(problems.found), unread=unread)


def _definition(text: str, path: Path, dialect: str, problems: Problems) -> Definition | None:
    try:
        block = read_block(text, path=path, dialect=dialect, keyword=_KEYWORD)
    except ProjectInvalid as error:
        problems.found += error.problems
        return None
    if block is None:
        return None
    written = read_options((value for _, value in block.properties), problems)
    values = check_known(written, _PROPERTIES, "an audit", problems)
    if not block.has_rest:
        advice = "Write a SELECT of the rows that fail after the AUDIT block."
        problems.add(block.place, "the audit has no query", advice)
    name = _name(values.get("name"), block.place, problems)
    if name is None or not block.has_rest:
        return None
    own = read_dialect(values.get("dialect"), dialect, problems)
    flag = values.get("blocking")
    return Definition(
        name=name,
        place=block.place,
        dialect=own,
        blocking=flag is None or read_flag(flag, "blocking", problems, default=True),
        defaults=_defaults(values.get("defaults"), own, problems),
        text=text[block.query_offset :],
        query_line=block.query_line,
    )


def _name(value: Value | None, place: Place, problems: Problems) -> str | None:
    if value is None:
        problems.add(place, "the audit has no name", "Write `AUDIT (name positive);`.")
        return None
    name = value.written.lower()
    if not _NAME.fullmatch(name):
        message = f"{value.raw} is not a valid audit name"
        problems.add(value.place, message, "Use letters, digits and underscores.")
        return None
    if name in BUILTINS or name.endswith(NON_BLOCKING):
        reason = "is built in" if name in BUILTINS else f"ends with {NON_BLOCKING}"
        advice = "Choose another name."
        if name not in BUILTINS:
            advice = f"Drop the suffix: {NON_BLOCKING} can be added wherever an audit is called."
        problems.add(value.place, f"the audit's name {name} {reason}", advice)
        return None
    return name


def _defaults(value: Value | None, dialect: str, problems: Problems) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in value.items() if value is not None else ():
        key = item.tokens[0].text.lower()
        if key in (BLOCKING, THIS_MODEL):
            message = f"the argument {key} cannot have a default"
            advice = "Write the property `blocking false`." if key == BLOCKING else "Rename it."
            problems.add(item.place, message, advice)
        elif key in found:
            problems.add(item.place, f"the default of {key!r} is given twice", "Remove one.")
        elif (sql := read_argument(item, dialect, problems)) is not None:
            found[key] = sql
    return found


def _tokens(text: str, dialect: str) -> list[Token] | None:
    """The tokens of a text; None where it cannot be read."""
    try:
        return list(Dialect.get_or_raise(dialect).tokenize(text))
    except (SqlglotError, ValueError):
        return None
