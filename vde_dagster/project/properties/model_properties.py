"""Reads the properties of a MODEL block. Python models give the same ones as arguments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.model.kinds import Embedded, Kind, Seed, View
from vde_dagster.core.model.late_data import LateDataPolicy
from vde_dagster.core.model.model import Body, Call, Model, ModelSource, OwnAudit, Query
from vde_dagster.core.model.session_settings import against_translation
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.dialects import is_spark
from vde_dagster.core.time.windows import Window
from vde_dagster.project.defaults import SUPPORTED_DIALECTS, Defaults, is_dialect
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties import layout
from vde_dagster.project.properties.call_properties import (
    read_audits,
    read_depends_on,
    read_signals,
)
from vde_dagster.project.properties.column_properties import (
    read_columns,
    read_descriptions,
    read_grains,
    read_references,
)
from vde_dagster.project.properties.kind_options import read_kind
from vde_dagster.project.properties.late_data_property import check_kind, read_late_data
from vde_dagster.project.properties.model_block import ASSIGNING, CLOSING, OPENING, Value
from vde_dagster.project.properties.retry_properties import read_retries
from vde_dagster.project.properties.schedule_properties import (
    Schedule,
    read_schedule,
    warn_of_borders,
)
from vde_dagster.project.properties.update_properties import Updates, read_updates
from vde_dagster.project.properties.values import read_flag, read_name, read_text, read_words

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
    "freshness",
    "updates_on",
    "retries",
    "allow_partials",
    "enabled",
    "stamp",
    "late_data",
    "deterministic",
    "pre_statements",
    "post_statements",
)
_STATEMENTS: Final = "Write the statements before and behind the query, with `;` between them."
_PYTHON_ONLY: Final = {
    "deterministic": "Leave it out: for a query this is derived from its SQL.",
    "pre_statements": _STATEMENTS,
    "post_statements": _STATEMENTS,
}
"""With what to do instead in a SQL model."""
UNSUPPORTED: Final = (
    "blueprints",
    "default_catalog",
    "formatting",
    "gateway",
    "grants",
    "grants_target_layer",
    "ignored_rules",
    "inline_audits",
    "is_sql",
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
    """A model's properties as values; see `vde_dagster.core.model.model.Model`.

    ``places`` has the place of each. What could not be read has a stand-in, so that the rest can be
    checked. If ``kind_is_known`` is false, ``maybe_columns`` are words of the kind that may be
    columns which it adds. ``before`` and ``after`` are texts of SQL; these and ``deterministic``
    are of Python models alone.
    """

    kind_is_known: bool
    maybe_columns: frozenset[str]
    places: Mapping[str, Place]
    name: ModelName
    kind: Kind
    schedule: Schedule
    owner: str
    description: str
    tags: tuple[str, ...]
    grains: tuple[tuple[str, ...], ...]
    references: tuple[tuple[str, ...], ...]
    columns: tuple[Column, ...]
    column_descriptions: Mapping[str, str]
    dialect: str
    storage: Storage
    audits: tuple[Call, ...]
    signals: tuple[Call, ...]
    depends_on: Mapping[ModelName, Window | None]
    updates: Updates
    retries: int
    enabled: bool
    stamp: str
    late_data: LateDataPolicy | None
    deterministic: bool
    before: tuple[Value, ...]
    after: tuple[Value, ...]


def read_properties(
    written: Iterable[tuple[str, Value]],
    *,
    default_name: ModelName | None,
    defaults: Defaults,
    place: Place,
    problems: Problems,
) -> Properties:
    """The properties of a block; one that cannot be read is a problem, and gets its default."""
    values = _known(written, problems)
    name = _name(values.get("name"), default_name, place, problems)
    dialect = _dialect(values.get("dialect"), defaults.dialect, problems)
    _check_session(dialect, values.get("dialect"), defaults, place, problems)
    kind = read_kind(values.get("kind"), dialect, problems)
    policy = read_late_data(values.get("late_data"), problems, catalog=defaults.catalog)
    storage = layout.read_storage(values, problems)
    parents = read_depends_on(values.get("depends_on"), problems)
    if kind is not None:
        _check_kind(kind, storage, values, place, problems)
        if policy is not None:
            check_kind(kind, policy, values["late_data"].place, problems)
    partial = _flag(values, "allow_partials", problems, default=False)
    schedule = read_schedule(values, defaults, place, problems)
    if not isinstance(kind, View | Embedded | Seed):  # these have no intervals
        if partial:
            _reject_partials(values["allow_partials"], problems)
        warn_of_borders(values, schedule, problems)
    return Properties(
        kind_is_known=kind is not None,
        maybe_columns=_maybe_columns(values["kind"]) if kind is None else frozenset(),
        places={key: value.place for key, value in values.items()},
        name=(name or _NAMELESS).within(defaults.catalog),
        kind=kind or View(),
        schedule=schedule,
        owner=_text(values, "owner", problems),
        description=_text(values, "description", problems),
        tags=read_words(values.get("tags"), "the tag", problems),
        grains=read_grains(values, problems),
        references=read_references(values.get("references"), problems),
        columns=read_columns(values.get("columns"), dialect, problems),
        column_descriptions=read_descriptions(values.get("column_descriptions"), problems),
        dialect=dialect,
        storage=storage,
        audits=read_audits(values.get("audits"), dialect, problems),
        signals=read_signals(values.get("signals"), dialect, problems),
        depends_on={key.within(defaults.catalog): each for key, each in parents.items()},
        updates=read_updates(values, kind, defaults, problems),
        retries=read_retries(values, kind, defaults, problems),
        enabled=_flag(values, "enabled", problems, default=True),
        stamp=_text(values, "stamp", problems),
        late_data=policy.within(defaults.catalog) if policy is not None else None,
        deterministic=_flag(values, "deterministic", problems, default=False),
        before=values["pre_statements"].items() if "pre_statements" in values else (),
        after=values["post_statements"].items() if "post_statements" in values else (),
    )


_NAMELESS: Final = ModelName("default", "nameless")


def _maybe_columns(kind: Value) -> frozenset[str]:
    """What a kind that cannot be read may add as columns, in lower case."""
    return frozenset({"valid_from", "valid_to"} | {each.text.lower() for each in kind.tokens})


def _known(written: Iterable[tuple[str, Value]], problems: Problems) -> dict[str, Value]:
    """The values of the properties that are known, each once."""
    values: dict[str, Value] = {}
    for key, value in written:
        rest = value.rest()
        if key in UNSUPPORTED:
            message = f"the property {key!r} is not supported and has no effect"
            problems.warn(value.place, message, "Take it out.")
        elif key not in PROPERTIES:
            own = [each for each in PROPERTIES if value.in_python or each not in _PYTHON_ONLY]
            problems.add(value.place, f"unknown property {key!r}", suggestion(key, own))
        elif key in _PYTHON_ONLY and not value.in_python:
            message = f"the property {key!r} is for Python models"
            problems.add(value.place, message, _PYTHON_ONLY[key])
        elif key in values:
            problems.add(value.place, f"the property {key!r} is given twice", "Remove one.")
        elif rest is None:
            problems.add(value.place, f"the property {key!r} has no value", f"Write `{key} ...`.")
        else:
            values[key] = _complete(key, rest, problems)
    return values


def _complete(key: str, value: Value, problems: Problems) -> Value:
    """A value cut before surplus tokens, such as the next property after a forgotten comma."""
    index = _surplus(key, value)
    if index is None:
        return value
    extra = value.after(index) or value
    message = f"{extra.raw} does not belong to the property {key!r}"
    advice = "Put a comma between two properties, and a text of several words in quotes."
    problems.add(extra.place, message, advice)
    return value.until(index)


def _surplus(key: str, value: Value) -> int | None:
    """Where the surplus tokens of a value begin; None if there are none."""
    tokens, depth = value.tokens, 0
    for index in range(1, len(tokens)):
        token, before = tokens[index], tokens[index - 1]
        depth += (before.token_type in OPENING) - (before.token_type in CLOSING)
        if depth > 0 or index + 1 == len(tokens) or token.token_type in _QUOTED:
            continue
        joined = before.token_type in (*ASSIGNING, TokenType.DOT, TokenType.ALIAS)
        if token.text.lower() in (*PROPERTIES, *UNSUPPORTED) and not joined:
            return index
    if key in _TEXTS and len(tokens) > 1 and tokens[0].token_type in _QUOTED:
        return 1
    if key in ("kind", "name"):
        after = value.after_name()
        named = len(tokens) - (len(after.tokens) if after is not None else 0)
        if key == "name":  # a token without a space before it is part of the value, right or wrong
            named = max(named, len(value.first_word().tokens))
        elif value.group() is not None:
            named = len(tokens)
        return named if named < len(tokens) else None
    return None


_QUOTED: Final = (TokenType.STRING, TokenType.IDENTIFIER)
_TEXTS: Final = (
    "allow_partials",
    "cron",
    "cron_tz",
    "description",
    "deterministic",
    "dialect",
    "enabled",
    "end",
    "freshness",
    "interval_unit",
    "owner",
    "retries",
    "stamp",
    "start",
    "updates_on",
)


def _text(values: Mapping[str, Value], key: str, problems: Problems) -> str:
    return read_text(values[key], key, problems) if key in values else ""


def _flag(values: Mapping[str, Value], key: str, problems: Problems, *, default: bool) -> bool:
    return read_flag(values[key], key, problems, default=default) if key in values else default


def _name(
    value: Value | None, default: ModelName | None, place: Place, problems: Problems
) -> ModelName | None:
    if value is not None:
        return read_name(value, problems)
    if default is None:
        is_python = place.path.suffix == ".py"
        form = "@model('schema.name', ...)" if is_python else "name schema.name"
        advice = f"Write `{form}`." if is_python else f"Write `{form}` in the MODEL block."
        problems.add(place, "the model has no name, and its path gives none", advice)
    return default


def _dialect(value: Value | None, default: str, problems: Problems) -> str:
    if value is None:
        return default
    dialect = value.written.lower()
    if not is_dialect(dialect):
        advice = SUPPORTED_DIALECTS
        problems.add(value.place, f"unknown dialect {value.written!r}", advice)
        return default
    return dialect


def _check_session(
    dialect: str, value: Value | None, defaults: Defaults, place: Place, problems: Problems
) -> None:
    """Refuse another dialect if the session changes Spark's defaults of casts and numbers."""
    settings = json.loads(defaults.session) if defaults.session else {}
    against = () if is_spark(dialect) else against_translation(settings)
    if against:
        where = value.place if value is not None else place
        what = f"{dialect} is translated for Spark's defaults, and spark.conf sets {against[0]}"
        advice = "Leave the setting out, or write the model in Spark's dialect."
        problems.add(where, what, advice)


def _check_kind(
    kind: Kind, storage: Storage, values: Mapping[str, Value], place: Place, problems: Problems
) -> None:
    layout.check_target_lag(kind, values, problems)
    lacks = layout.check_partitions(kind, storage)
    if lacks is not None and "partitioned_by" not in values:
        where = values["kind"].place if "kind" in values else place
        problems.add(where, lacks, "Write `partitioned_by (column)`.")


def _reject_partials(value: Value, problems: Problems) -> None:
    problems.reject(
        value.place,
        "allow_partials has no effect: an interval is evaluated once it has ended, since what is "
        "recorded as loaded must be all of it",
        "Leave it out. For fresher rows give the model a shorter interval_unit and a cron that "
        "runs more often, such as `interval_unit hour, cron '@hourly'`.",
    )


def build_model(
    source: ModelSource,
    properties: Properties,
    place: Place,
    body: Body,
    parents: tuple[ModelName, ...],
    *,
    own_audits: tuple[OwnAudit, ...] = (),
) -> Model:
    """A model of these properties; with stateful sessions it may read its interval before."""
    late, reads_itself = properties.late_data, properties.name in parents
    reads_itself &= late is not None and late.is_stateful and isinstance(body, Query)
    return Model(
        name=properties.name,
        kind=properties.kind,
        body=body,
        source=source,
        place=place,
        parents=tuple(each for each in parents if each != properties.name or not reads_itself),
        reads_itself=reads_itself,
        windows={name: each for name, each in properties.depends_on.items() if each is not None},
        unit=properties.schedule.unit,
        cron=properties.schedule.cron,
        cron_tz=properties.schedule.cron_tz,
        start=properties.schedule.start,
        inherits_start=properties.schedule.inherits_start,
        end=properties.schedule.end,
        columns=properties.columns,
        column_descriptions=properties.column_descriptions,
        owner=properties.owner,
        description=properties.description,
        tags=properties.tags,
        grains=properties.grains,
        references=properties.references,
        storage=properties.storage,
        audits=properties.audits,
        own_audits=own_audits,
        signals=properties.signals,
        freshness=properties.updates.freshness,
        updates_on=properties.updates.updates_on,
        retries=properties.retries,
        stamp=properties.stamp,
        enabled=properties.enabled,
        late_data=properties.late_data,
    )
