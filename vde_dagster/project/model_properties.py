"""What the properties of a MODEL block mean. Python models give the same ones as arguments."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.cron import CronInvalid, unit_of
from vde_dagster.core.dsha import Column
from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.intervals import IntervalUnit, parse_instant
from vde_dagster.core.kind import External, Full, IncrementalByTimeRange, Kind, Seed, View
from vde_dagster.core.late_data import LateDataMode, LateDataPolicy, TrackedSource
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.project.configuration import Defaults
from vde_dagster.project.model_block import Value

PROPERTIES: Final = (
    "name",
    "kind",
    "cron",
    "start",
    "owner",
    "description",
    "tags",
    "grain",
    "columns",
    "dialect",
    "late_data",
)
KINDS: Final = ("FULL", "INCREMENTAL_BY_TIME_RANGE", "SEED", "VIEW")


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """A model's properties as values."""

    name: ModelName
    kind: Kind
    cron: str
    unit: IntervalUnit
    start: datetime
    owner: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    grain: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    dialect: str
    late_data: LateDataPolicy | None = None


@dataclass(slots=True)
class Problems:
    """Collects what is wrong with one file."""

    found: list[Problem] = field(default_factory=list)

    def add(self, place: Place, message: str, advice: str = "") -> None:
        """Report a problem."""
        self.found.append(Problem(place=place, message=message, advice=advice))


def suggestion(word: str, known: Iterable[str]) -> str:
    """Advice for a word that is not known."""
    every = list(known)
    close = difflib.get_close_matches(word, every, n=1)
    guess = f"Did you mean {close[0]}? " if close else ""
    return f"{guess}Known: {', '.join(every)}."


def read_properties(
    written: Iterable[tuple[str, Value]],
    *,
    default_name: ModelName | None,
    defaults: Defaults,
    place: Place,
    problems: Problems,
) -> Properties | None:
    """The properties of a block. None (and problems) where one that matters cannot be read."""
    values: dict[str, Value] = {}
    for key, value in written:
        if key not in PROPERTIES:
            problems.add(value.place, f"unknown property {key!r}", suggestion(key, PROPERTIES))
        elif key in values:
            problems.add(value.place, f"the property {key!r} is given twice", "Remove one.")
        elif (rest := value.rest()) is None:
            problems.add(value.place, f"the property {key!r} has no value", f"Write `{key} ...`.")
        elif (extra := _surplus(key, rest)) is not None:
            message = f"{extra.written!r} does not belong to the property {key!r}"
            problems.add(extra.place, message, "Put a comma between two properties.")
            values[key] = rest
        else:
            values[key] = rest
    name = _name(values.get("name"), default_name, place, problems)
    kind = _kind(values.get("kind"), problems)
    cron, unit = _cron(values.get("cron"), defaults.cron, place, problems)
    late_data = _late_data(values.get("late_data"), problems)
    start = _start(values.get("start"), defaults.start, problems)
    if name is None or kind is None:
        return None
    return Properties(
        name=name,
        kind=kind,
        cron=cron,
        unit=unit,
        start=start,
        owner=_text(values, "owner"),
        description=_text(values, "description"),
        tags=_words(values.get("tags")),
        grain=tuple(word.lower() for word in _words(values.get("grain"))),
        columns=_columns(values.get("columns"), problems),
        dialect=_text(values, "dialect").lower() or defaults.dialect,
        late_data=late_data,
    )


def _surplus(key: str, value: Value) -> Value | None:
    """What follows a value that is complete; a forgotten comma would swallow the next property."""
    first, last = value.tokens[0], value.tokens[-1]
    texts = ("cron", "description", "dialect", "owner", "start")
    string = key in texts and first.token_type is TokenType.STRING
    word = key == "kind" and (
        not value.is_group() or value.tokens[1].token_type is not TokenType.L_PAREN
    )
    if first is last or not (string or word):
        return None
    return value.rest()


def _text(values: Mapping[str, Value], key: str) -> str:
    return values[key].written if key in values else ""


def _words(value: Value | None) -> tuple[str, ...]:
    return tuple(item.written for item in value.items()) if value is not None else ()


def _name(
    value: Value | None, default: ModelName | None, place: Place, problems: Problems
) -> ModelName | None:
    if value is None:
        if default is None:
            advice = "Write `name schema.name` in the MODEL block."
            problems.add(place, "the model has no name, and its path gives none", advice)
        return default
    try:
        return ModelName.parse(value.written)
    except InvalidName as error:
        problems.add(value.place, str(error))
        return None


def _kind(value: Value | None, problems: Problems) -> Kind | None:
    if value is None:
        return View()
    options = _options(value, problems) if value.is_group() else {}
    return make_kind(value.head, options, place=value.place, problems=problems)


def _options(value: Value, problems: Problems) -> dict[str, str]:
    options: dict[str, str] = {}
    for item in value.items():
        rest = item.rest()
        if rest is None:
            problems.add(item.place, f"the option {item.written!r} has no value")
        else:
            options[item.tokens[0].text.lower()] = rest.written
    return options


def make_kind(
    keyword: str, options: Mapping[str, str], *, place: Place, problems: Problems
) -> Kind | None:
    """A kind from its keyword and options; None (and a problem) where they do not fit."""
    makers: dict[str, tuple[tuple[str, ...], Callable[..., Kind]]] = {
        "INCREMENTAL_BY_TIME_RANGE": (("time_column",), IncrementalByTimeRange),
        "FULL": ((), Full),
        "VIEW": ((), View),
        "SEED": (("path",), Seed),
        "EXTERNAL": ((), External),
    }
    if keyword not in makers or keyword == "EXTERNAL":
        advice = (
            "Declare sources in external_models.yaml."
            if keyword == "EXTERNAL"
            else suggestion(keyword, KINDS)
        )
        problems.add(place, f"unknown kind {keyword}", advice)
        return None
    needed, maker = makers[keyword]
    unknown = [key for key in options if key not in needed]
    for key in unknown:
        advice = suggestion(key, needed) if needed else "It takes no options."
        problems.add(place, f"the kind {keyword} has no option {key!r}", advice)
    missing = [key for key in needed if key not in options]
    for key in missing:
        problems.add(place, f"the kind {keyword} needs {key}", f"Write {keyword} ({key} ...).")
    if unknown or missing:
        return None
    chosen = {key: options[key] for key in needed}
    if "time_column" in chosen:
        chosen["time_column"] = chosen["time_column"].lower()
    return maker(**chosen)


def _cron(
    value: Value | None, default: str, place: Place, problems: Problems
) -> tuple[str, IntervalUnit]:
    cron = value.written if value is not None else default
    try:
        return cron, unit_of(cron)
    except CronInvalid as error:
        problems.add(value.place if value is not None else place, str(error))
        return cron, IntervalUnit.DAY


def _start(value: Value | None, default: datetime, problems: Problems) -> datetime:
    if value is None:
        return default
    try:
        return parse_instant(value.written)
    except ValueError:
        problems.add(
            value.place, f"start {value.written!r} is no date", "Write it like '2024-01-31'."
        )
        return default


def _columns(value: Value | None, problems: Problems) -> tuple[Column, ...]:
    columns: list[Column] = []
    for item in value.items() if value is not None else ():
        rest = item.rest()
        if rest is None:
            message = f"the column {item.written!r} has no type"
            problems.add(item.place, message, "Write `name type`.")
        else:
            name, written = item.tokens[0].text.lower(), rest.written.lower()
            if any(column.name == name for column in columns):
                problems.add(item.place, f"the column {name!r} is given twice", "Remove one.")
            if not is_type(written):
                advice = "Write a Spark type, such as bigint, string or timestamp."
                problems.add(rest.place, f"{written!r} is no type of a column", advice)
            columns.append(Column(name=name, type=written))
    return tuple(columns)


def is_type(text: str) -> bool:
    """Whether Spark has a type of this name."""
    try:
        found = exp.DataType.build(text, dialect="spark")
    except (SqlglotError, ValueError, RecursionError):
        return False
    return not found.is_type(exp.DataType.Type.UNKNOWN, exp.DataType.Type.USERDEFINED)


def _late_data(value: Value | None, problems: Problems) -> LateDataPolicy | None:
    if value is None:
        return None
    parts = {item.tokens[0].text.lower(): item for item in value.items()}
    for key, item in parts.items():
        if key not in ("mode", "sources"):
            problems.add(
                item.place, f"late_data has no option {key!r}", suggestion(key, ("mode", "sources"))
            )
    mode = parts["mode"].rest() if "mode" in parts else None
    sources = parts["sources"].rest() if "sources" in parts else None
    if mode is None or mode.written.lower() != LateDataMode.STATELESS.value:
        place = (mode or value).place
        problems.add(place, "late_data needs `mode stateless`, the only mode so far")
        return None
    names: list[ModelName] = []
    for item in sources.items() if sources is not None else ():
        try:
            names.append(ModelName.parse(item.written))
        except InvalidName as error:
            problems.add(item.place, str(error))
    if len(names) != 1:
        problems.add(value.place, "late_data in stateless mode tracks exactly one source")
        return None
    return LateDataPolicy(
        mode=LateDataMode.STATELESS, tracked=tuple(TrackedSource(name=name) for name in names)
    )
