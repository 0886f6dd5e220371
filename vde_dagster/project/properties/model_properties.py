"""Reads the properties of a MODEL block. Python models give the same ones as arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.model.column_rules import ColumnRules
from vde_dagster.core.model.kinds import Embedded, Kind, Seed, View
from vde_dagster.core.model.late_data import LateDataPolicy
from vde_dagster.core.model.model import Body, Call, Model, ModelSource, OwnAudit, Query
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.windows import Window
from vde_dagster.project.defaults import SUPPORTED_DIALECTS, Defaults, is_dialect
from vde_dagster.project.problems import Problems
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
from vde_dagster.project.properties.keeping_properties import read_column_rules, read_forward_only
from vde_dagster.project.properties.kind_options import read_kind
from vde_dagster.project.properties.known_properties import BLUEPRINTS, known_properties, refused
from vde_dagster.project.properties.late_data_property import check_kind, read_late_data
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.retry_properties import read_concurrency, read_retries
from vde_dagster.project.properties.schedule_properties import (
    Schedule,
    read_schedule,
    warn_of_borders,
)
from vde_dagster.project.properties.update_properties import Updates, read_updates
from vde_dagster.project.properties.values import read_flag, read_name, read_text, read_words


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
    concurrency: int | None
    forward_only: bool
    column_rules: ColumnRules
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
    values = known_properties(written, problems)
    name = _name(values.get("name"), default_name, place, problems)
    dialect = _dialect(values.get("dialect"), defaults.dialect, problems)
    kind = read_kind(values.get("kind"), dialect, problems)
    policy = read_late_data(values.get("late_data"), problems, catalog=defaults.catalog)
    storage = layout.read_storage(values, problems)
    parents = read_depends_on(values.get("depends_on"), problems)
    if kind is not None:
        _check_kind(kind, storage, values, place, problems)
        if policy is not None:
            check_kind(kind, policy, values["late_data"].place, problems)
    schedule = read_schedule(values, defaults, place, problems)
    named = (name or _NAMELESS).within(defaults.catalog)
    tags = read_words(values.get("tags"), "the tag", problems)
    _check_intervals(kind, schedule, values, problems)
    columns = read_columns(values.get("columns"), dialect, problems)
    names = {each.name.lower() for each in columns}
    return Properties(
        kind_is_known=kind is not None,
        maybe_columns=_maybe_columns(values["kind"]) if kind is None else frozenset(),
        places={key: value.place for key, value in values.items()},
        name=named,
        kind=kind or View(),
        schedule=schedule,
        owner=_text(values, "owner", problems),
        description=_text(values, "description", problems),
        tags=tags,
        grains=read_grains(values, problems),
        references=read_references(values.get("references"), problems),
        columns=columns,
        column_descriptions=read_descriptions(values.get("column_descriptions"), problems),
        dialect=dialect,
        storage=storage,
        audits=read_audits(values.get("audits"), dialect, names, problems),
        signals=read_signals(values.get("signals"), dialect, problems),
        depends_on={key.within(defaults.catalog): each for key, each in parents.items()},
        updates=read_updates(values, kind, defaults, problems),
        retries=read_retries(values, kind, defaults, problems),
        concurrency=read_concurrency(values, kind, problems),
        forward_only=read_forward_only(
            values, kind, defaults, name=named, tags=tags, path=place.path
        ),
        column_rules=read_column_rules(values, kind, problems),
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


def _text(values: Mapping[str, Value], key: str, problems: Problems) -> str:
    return read_text(values[key], key, problems) if key in values else ""


def _flag(values: Mapping[str, Value], key: str, problems: Problems, *, default: bool) -> bool:
    return read_flag(values[key], key, problems, default=default) if key in values else default


def _name(
    value: Value | None, default: ModelName | None, place: Place, problems: Problems
) -> ModelName | None:
    if value is not None and "@" in value.written:  # it would be filled in
        problem = refused(BLUEPRINTS, value.place)
        known = {each.message for each in problems.found}
        problems.found += [] if problem.message in known else [problem]
        return default
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


def _check_kind(
    kind: Kind, storage: Storage, values: Mapping[str, Value], place: Place, problems: Problems
) -> None:
    lacks = layout.check_partitions(kind, storage)
    if lacks is not None and "partitioned_by" not in values:
        where = values["kind"].place if "kind" in values else place
        problems.add(where, lacks, "Write `partitioned_by (column)`.")


def _check_intervals(
    kind: Kind | None,
    schedule: Schedule,
    values: Mapping[str, Value],
    problems: Problems,
) -> None:
    partial = _flag(values, "allow_partials", problems, default=False)
    if isinstance(kind, View | Embedded | Seed):  # these have no intervals
        return
    if partial:
        _reject_partials(values["allow_partials"], problems)
    warn_of_borders(values, schedule, problems)


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
        concurrency=properties.concurrency,
        forward_only=properties.forward_only,
        column_rules=properties.column_rules,
        stamp=properties.stamp,
        enabled=properties.enabled,
        late_data=properties.late_data,
    )
