"""What the properties of a MODEL block mean. Python models give the same ones as arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.cron import CronInvalid, unit_of
from vde_dagster.core.dsha import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.intervals import EPOCH, IntervalUnit
from vde_dagster.core.kind import Kind
from vde_dagster.core.late_data import LateDataPolicy
from vde_dagster.core.model import Body, Call, Model, ModelSource, Storage, Window
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.project import layout
from vde_dagster.project.configuration import Defaults, is_dialect
from vde_dagster.project.kind_options import read_kind
from vde_dagster.project.late_data_property import check_kind, read_late_data
from vde_dagster.project.model_block import Value
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.values import (
    check_known,
    read_choice,
    read_columns_of,
    read_duration,
    read_end,
    read_flag,
    read_options,
    read_sql,
    read_start,
    read_words,
)

PROPERTIES: Final = (
    "name",
    "kind",
    "cron",
    "cron_tz",
    "start",
    "end",
    "interval_unit",
    "owner",
    "description",
    "tags",
    "grain",
    "grains",
    "references",
    "columns",
    "column_descriptions",
    "dialect",
    *layout.PROPERTIES,
    "audits",
    "signals",
    "depends_on",
    "allow_partials",
    "enabled",
    "stamp",
    "late_data",
)
UNSUPPORTED: Final = (
    "blueprints",
    "default_catalog",
    "formatting",
    "gateway",
    "grants",
    "grants_target_layer",
    "ignored_rules",
    "inline_audits",
    "on_virtual_update",
    "optimize_query",
    "physical_version",
    "project",
    "session_properties",
    "validate_query",
    "virtual_environment_mode",
    "virtual_properties",
)
"""Properties that SQLMesh has and that have no effect here; each is warned of by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """A model's properties as values."""

    name: ModelName
    kind: Kind
    cron: str
    cron_tz: str
    unit: IntervalUnit
    start: datetime
    inherits_start: bool
    end: datetime | None
    owner: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    grains: tuple[tuple[str, ...], ...] = ()
    references: tuple[tuple[str, ...], ...] = ()
    columns: tuple[Column, ...] = ()
    column_descriptions: Mapping[str, str] = field(default_factory=dict)
    dialect: str
    storage: Storage
    audits: tuple[Call, ...]
    signals: tuple[Call, ...]
    depends_on: Mapping[ModelName, Window | None] = field(default_factory=dict)
    allow_partials: bool = False
    enabled: bool = True
    stamp: str = ""
    late_data: LateDataPolicy | None = None


def read_properties(
    written: Iterable[tuple[str, Value]],
    *,
    default_name: ModelName | None,
    defaults: Defaults,
    place: Place,
    problems: Problems,
) -> Properties | None:
    """The properties of a block. None (and problems) where one that matters cannot be read."""
    values = _known(written, problems)
    name = _name(values.get("name"), default_name, place, problems)
    dialect = _dialect(values.get("dialect"), defaults.dialect, problems)
    kind = read_kind(values.get("kind"), dialect, problems)
    cron, unit = _schedule(values, defaults.cron, place, problems)
    late_data = read_late_data(values.get("late_data"), problems)
    storage = layout.read_storage(values, problems)
    start = read_start(values["start"], problems) if "start" in values else defaults.start
    end = read_end(values["end"], problems) if "end" in values else None
    if start is not None and end is not None and end <= start:
        problems.add(values["end"].place, "the model ends before it starts", "Correct one of both.")
    flags = {
        key: read_flag(values[key], problems, default=default) if key in values else default
        for key, default in (("allow_partials", False), ("enabled", True))
    }
    columns = _columns(values.get("columns"), dialect, problems)
    descriptions = _descriptions(values.get("column_descriptions"), problems)
    grains, references = _grains(values, problems), _references(values, problems)
    calls = {key: _calls(values.get(key), dialect, problems) for key in ("audits", "signals")}
    depends_on = _depends_on(values.get("depends_on"), problems)
    if name is None or kind is None:
        return None
    _check_kind(kind, storage, values, place, problems)
    _check_policy(kind, late_data, values, problems)
    return Properties(
        name=name.within(defaults.catalog),
        kind=kind,
        cron=cron,
        cron_tz=_zone(values.get("cron_tz"), problems),
        unit=unit,
        start=start or EPOCH,
        inherits_start=start is None and "start" not in values,
        end=end,
        owner=_text(values, "owner"),
        description=_text(values, "description"),
        tags=read_words(values.get("tags")),
        grains=grains,
        references=references,
        columns=columns,
        column_descriptions=descriptions,
        dialect=dialect,
        storage=storage,
        audits=calls["audits"],
        signals=calls["signals"],
        depends_on={key.within(defaults.catalog): each for key, each in depends_on.items()},
        allow_partials=flags["allow_partials"],
        enabled=flags["enabled"],
        stamp=_text(values, "stamp"),
        late_data=late_data.within(defaults.catalog) if late_data is not None else None,
    )


def _known(written: Iterable[tuple[str, Value]], problems: Problems) -> dict[str, Value]:
    """The values of the properties that are known, each once."""
    values: dict[str, Value] = {}
    for key, value in written:
        rest = value.rest()
        if key in UNSUPPORTED:
            message = f"the property {key!r} is not supported and has no effect"
            problems.warn(value.place, message, "Take it out.")
        elif key not in PROPERTIES:
            problems.add(value.place, f"unknown property {key!r}", suggestion(key, PROPERTIES))
        elif key in values:
            problems.add(value.place, f"the property {key!r} is given twice", "Remove one.")
        elif rest is None:
            problems.add(value.place, f"the property {key!r} has no value", f"Write `{key} ...`.")
        else:
            values[key] = rest
            if (extra := _surplus(key, rest)) is not None:
                message = f"{extra.raw!r} does not belong to the property {key!r}"
                problems.add(extra.place, message, "Put a comma between two properties.")
    return values


_TEXTS: Final = (
    "allow_partials",
    "cron",
    "cron_tz",
    "description",
    "dialect",
    "enabled",
    "end",
    "interval_unit",
    "owner",
    "stamp",
    "start",
)


def _surplus(key: str, value: Value) -> Value | None:
    """What follows a value that is complete; a forgotten comma would swallow the next property."""
    if len(value.tokens) == 1:
        return None
    if key in _TEXTS and value.tokens[0].token_type is TokenType.STRING:
        return value.rest()
    if key in ("kind", "name"):
        after = value.after_name()
        return after if after is not None and (key == "name" or value.group() is None) else None
    return None


def _text(values: Mapping[str, Value], key: str) -> str:
    return values[key].written if key in values else ""


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


def _dialect(value: Value | None, default: str, problems: Problems) -> str:
    if value is None:
        return default
    dialect = value.written.lower()
    if not is_dialect(dialect):
        advice = "Use one that sqlglot knows, such as spark, duckdb or postgres."
        problems.add(value.place, f"unknown dialect {value.written!r}", advice)
        return default
    return dialect


def _schedule(
    values: Mapping[str, Value], default: str, place: Place, problems: Problems
) -> tuple[str, IntervalUnit]:
    """The cron and the interval unit: the cron's own one, or a finer one that is given."""
    value = values.get("cron")
    cron = value.written if value is not None else default
    try:
        unit = unit_of(cron)
    except CronInvalid as error:
        problems.add(value.place if value is not None else place, str(error))
        return cron, IntervalUnit.DAY
    given = values.get("interval_unit")
    wanted = read_choice(given, IntervalUnit, problems) if given is not None else None
    if wanted is None or given is None:
        return cron, unit
    order = list(IntervalUnit)
    if order.index(wanted) > order.index(unit):
        message = f"the interval unit {wanted.value} is longer than the time between two ticks"
        problems.add(given.place, message, f"Use {unit.value} or a finer one, or another cron.")
        return cron, unit
    return cron, wanted


def _zone(value: Value | None, problems: Problems) -> str:
    if value is None:
        return "UTC"
    try:
        return ZoneInfo(value.written).key
    except (KeyError, OSError, ValueError):  # not found, a folder, a path that leads elsewhere
        message = f"unknown time zone {value.written!r}"
        problems.add(value.place, message, "Write it like 'Europe/Berlin'.")
        return "UTC"


def _columns(value: Value | None, dialect: str, problems: Problems) -> tuple[Column, ...]:
    """Declared columns: ``name type``, perhaps with COMMENT 'text'."""
    columns: list[Column] = []
    for item in value.items() if value is not None else ():
        column = _column(item, dialect, problems)
        if column is None:
            continue
        if any(each.name == column.name for each in columns):
            problems.add(item.place, f"the column {column.name!r} is given twice", "Remove one.")
        columns.append(column)
    return tuple(columns)


def _column(item: Value, dialect: str, problems: Problems) -> Column | None:
    rest = item.rest()
    name = item.tokens[0].text.lower()
    if rest is None:
        problems.add(item.place, f"the column {item.written!r} has no type", "Write `name type`.")
        return None
    description, tokens = "", rest.tokens
    if len(tokens) > 2 and tokens[-2].text.upper() == "COMMENT":
        description, tokens = tokens[-1].text, tokens[:-2]
    written = Value(tokens=tokens, text=rest.text, path=rest.path).written
    found = column_type(written, dialect)
    if found is None:
        advice = "Write a Spark type, such as bigint, string or timestamp."
        problems.add(rest.place, f"{written!r} is no type of a column", advice)
        return None
    return Column(name=name, type=found, description=description)


def column_type(text: str, dialect: str = "spark") -> str | None:
    """Spark's name for a type of a dialect, in lower case; None where it is none."""
    try:
        found = exp.DataType.build(text, dialect=dialect)
    except (SqlglotError, ValueError, RecursionError):
        return None
    if found.is_type(exp.DataType.Type.UNKNOWN, exp.DataType.Type.USERDEFINED):
        return None
    return text.lower() if dialect == "spark" else found.sql("spark").lower()


def _descriptions(value: Value | None, problems: Problems) -> dict[str, str]:
    pairs = read_options(value.items(), problems) if value is not None else []
    return {key: each.written for key, each in pairs}


def _grains(values: Mapping[str, Value], problems: Problems) -> tuple[tuple[str, ...], ...]:
    """``grain (a, b)`` is one key of two columns; ``grains (a, (b, c))`` are two keys."""
    grains: list[tuple[str, ...]] = []
    if "grain" in values:
        grains.append(read_columns_of(values["grain"], problems))
    if "grains" in values:
        grains += [read_columns_of(item, problems) for item in values["grains"].items()]
    return tuple(grain for grain in grains if grain)


def _references(values: Mapping[str, Value], problems: Problems) -> tuple[tuple[str, ...], ...]:
    """Columns (or groups) by which other models are joined; ``a AS b`` refers to their ``b``."""
    found: list[tuple[str, ...]] = []
    for item in values["references"].items() if "references" in values else ():
        words = [token.text.lower() for token in item.tokens]
        if len(words) == 3 and words[1] == "as":
            found.append((f"{words[0]} as {words[2]}",))
        else:
            found.append(read_columns_of(item, problems))
    return tuple(each for each in found if each)


def _calls(value: Value | None, dialect: str, problems: Problems) -> tuple[Call, ...]:
    """Audits or signals: ``name``, or ``name (argument := value, ...)``."""
    calls: list[Call] = []
    for item in value.items() if value is not None else ():
        group = item.group()
        if item.after_name() is not None and group is None:
            message = f"{item.written!r} is no name with arguments"
            problems.add(item.place, message, "Write `name (argument := value)`.")
            continue
        arguments = [
            (key, sql)
            for key, each in read_options(group or (), problems)
            if (sql := read_sql(each, dialect, problems)) is not None
        ]
        twice = {key for key, _ in arguments if [k for k, _ in arguments].count(key) > 1}
        for key in sorted(twice):
            problems.add(item.place, f"the argument {key!r} is given twice", "Remove one.")
        calls.append(Call(name=item.name.lower(), arguments=tuple(sorted(arguments))))
    return tuple(calls)


def _depends_on(value: Value | None, problems: Problems) -> dict[ModelName, Window | None]:
    """Parents by hand, each perhaps with the window that it is read in (DESIGN.md section 4.1)."""
    found: dict[ModelName, Window | None] = {}
    for item in value.items() if value is not None else ():
        written = item.written if item.is_string else item.name
        try:
            name = ModelName.parse(written)
        except InvalidName as error:
            problems.add(item.place, str(error))
            continue
        group = item.group()
        if not item.is_string and item.after_name() is not None and group is None:
            message = f"{item.written!r} is no parent with a window"
            problems.add(item.place, message, "Write `raw.orders (before '30 days')`.")
            continue
        found[name] = _window(name, group, problems) if group is not None else None
    return found


def _window(name: ModelName, group: tuple[Value, ...], problems: Problems) -> Window:
    pairs = read_options(group, problems)
    options = check_known(pairs, ("before", "after"), f"the window of {name}", problems)
    lengths = {key: read_duration(each, problems) for key, each in options.items()}
    return Window(**{key: each for key, each in lengths.items() if each is not None})


def _check_kind(
    kind: Kind, storage: Storage, values: Mapping[str, Value], place: Place, problems: Problems
) -> None:
    lacks = layout.check_partitions(kind, storage)
    if lacks is not None and "partitioned_by" not in values:
        where = values["kind"].place if "kind" in values else place
        problems.add(where, lacks, "Write `partitioned_by (column)`.")


def _check_policy(
    kind: Kind, policy: LateDataPolicy | None, values: Mapping[str, Value], problems: Problems
) -> None:
    wrong = check_kind(kind, policy) if policy is not None else None
    if wrong is not None:
        problems.add(values["late_data"].place, wrong, "Use that kind, or leave late_data out.")


def build_model(
    source: ModelSource,
    properties: Properties,
    place: Place,
    body: Body,
    parents: tuple[ModelName, ...],
) -> Model:
    """A model of these properties."""
    return Model(
        name=properties.name,
        kind=properties.kind,
        body=body,
        source=source,
        place=place,
        parents=parents,
        windows={name: each for name, each in properties.depends_on.items() if each is not None},
        unit=properties.unit,
        cron=properties.cron,
        cron_tz=properties.cron_tz,
        start=properties.start,
        inherits_start=properties.inherits_start,
        end=properties.end,
        allow_partials=properties.allow_partials,
        columns=properties.columns,
        column_descriptions=properties.column_descriptions,
        owner=properties.owner,
        description=properties.description,
        tags=properties.tags,
        grains=properties.grains,
        references=properties.references,
        storage=properties.storage,
        audits=properties.audits,
        signals=properties.signals,
        stamp=properties.stamp,
        enabled=properties.enabled,
        late_data=properties.late_data,
    )
