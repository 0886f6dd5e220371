"""Reads the properties of a MODEL block. Python models give the same ones as arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from vde_dagster.core.errors import Place
from vde_dagster.core.model.kinds import Embedded, IncrementalByPartition, Kind, Seed, View
from vde_dagster.core.model.model import Body, Model, ModelSource, OwnAudit, Query
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH
from vde_dagster.core.time.windows import Window
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.call_properties import (
    read_audits,
    read_depends_on,
    read_signals,
)
from vde_dagster.project.properties.evaluation_properties import (
    read_column_rules,
    read_concurrency,
    read_cron,
    read_forward_only,
    read_range,
    read_retries,
    read_updates,
    read_zone,
    warn_of_borders,
)
from vde_dagster.project.properties.kind_options import read_kind
from vde_dagster.project.properties.known_properties import BLUEPRINTS, known_properties, refused
from vde_dagster.project.properties.late_data_property import check_kind, read_late_data
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.table_properties import (
    read_columns,
    read_descriptions,
    read_grains,
    read_references,
    read_storage,
)
from vde_dagster.project.properties.values import (
    read_dialect,
    read_flag,
    read_name,
    read_text,
    read_words,
)
from vde_dagster.project.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """A model's properties as values, in ``model``, whose body is not read yet.

    ``places`` has the place of each. What could not be read has a stand-in, so that the rest can be
    checked. If ``kind_is_known`` is false, ``maybe_columns`` are words of the kind that may be
    columns which it adds. ``before`` and ``after`` are texts of SQL; these and ``deterministic``
    are of Python models alone.
    """

    model: Model
    kind_is_known: bool
    maybe_columns: frozenset[str]
    places: Mapping[str, Place]
    dialect: str
    depends_on: Mapping[ModelName, Window | None]
    deterministic: bool
    before: tuple[Value, ...]
    after: tuple[Value, ...]


def read_properties(
    written: Iterable[tuple[str, Value]],
    *,
    default_name: ModelName | None,
    settings: Settings,
    place: Place,
    problems: Problems,
) -> Properties:
    """The properties of a block; one that cannot be read is a problem, and gets its default."""
    values, catalog = known_properties(written, problems), settings.defaults.catalog
    name = _name(values.get("name"), default_name, place, problems)
    dialect = read_dialect(values.get("dialect"), settings.defaults.dialect, problems)
    kind = read_kind(values.get("kind"), dialect, problems)
    parents = read_depends_on(values.get("depends_on"), problems)
    depends_on = {parent.within(catalog): window for parent, window in parents.items()}
    model = _model(
        values,
        problems,
        name=name or _NAMELESS,
        kind=kind,
        depends_on=depends_on,
        dialect=dialect,
        settings=settings,
        place=place,
    )
    if kind is not None:
        _check_kind(model, values, problems)
    return Properties(
        model=model,
        kind_is_known=kind is not None,
        maybe_columns=_maybe_columns(values["kind"]) if kind is None else frozenset(),
        places={key: value.place for key, value in values.items()},
        dialect=dialect,
        depends_on=depends_on,
        deterministic=_flag(values, "deterministic", problems, default=False),
        before=values["pre_statements"].items() if "pre_statements" in values else (),
        after=values["post_statements"].items() if "post_statements" in values else (),
    )


def _model(
    values: Mapping[str, Value],
    problems: Problems,
    *,
    name: ModelName,
    kind: Kind | None,
    depends_on: Mapping[ModelName, Window | None],
    dialect: str,
    settings: Settings,
    place: Place,
) -> Model:
    defaults = settings.defaults
    name = name.within(defaults.catalog)
    policy = read_late_data(values.get("late_data"), problems, catalog=defaults.catalog)
    storage = read_storage(values, problems)
    cron, unit = read_cron(values, defaults.cron, place, problems)
    start, end = read_range(values, defaults, problems)
    tags = read_words(values.get("tags"), "the tag", problems)
    columns = read_columns(values.get("columns"), dialect, problems)
    names = {each.name.lower() for each in columns}
    freshness, updates_on = read_updates(values, kind, storage, defaults, problems)
    return Model(
        name=name,
        kind=kind or View(),
        body=None,
        source=settings.source,
        place=place,
        windows={parent: window for parent, window in depends_on.items() if window is not None},
        unit=unit,
        cron=cron,
        cron_tz=read_zone(values.get("cron_tz"), problems),
        start=start or EPOCH,
        inherits_start=start is None and "start" not in values,
        end=end,
        columns=columns,
        column_descriptions=read_descriptions(values.get("column_descriptions"), problems),
        owner=_text(values, "owner", problems),
        description=_text(values, "description", problems),
        tags=tags,
        grains=read_grains(values, problems),
        references=read_references(values.get("references"), problems),
        storage=storage,
        audits=read_audits(values.get("audits"), dialect, names, problems),
        signals=read_signals(values.get("signals"), dialect, problems),
        freshness=freshness,
        updates_on=updates_on,
        retries=read_retries(values, kind, defaults, problems),
        concurrency=read_concurrency(values, kind, problems),
        forward_only=read_forward_only(
            values, kind, defaults, name=name, tags=tags, path=place.path
        ),
        column_rules=read_column_rules(values, kind, problems),
        stamp=_text(values, "stamp", problems),
        enabled=_flag(values, "enabled", problems, default=True),
        late_data=policy.within(defaults.catalog) if policy is not None else None,
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
        problems.add(place, "the model has no name, and its path does not provide one", advice)
    return default


def _check_kind(model: Model, values: Mapping[str, Value], problems: Problems) -> None:
    """Report properties that do not fit the kind of a model."""
    kind = model.kind
    if isinstance(kind, IncrementalByPartition) and "partitioned_by" not in values:
        message = "INCREMENTAL_BY_PARTITION replaces the partitions that its rows belong to, so it "
        place = values["kind"].place
        problems.add(place, f"{message}needs partitioned_by", "Write `partitioned_by (column)`.")
    if model.late_data is not None:
        check_kind(kind, model.late_data, values["late_data"].place, problems)
    partial = _flag(values, "allow_partials", problems, default=False)
    if isinstance(kind, View | Embedded | Seed):  # these have no intervals
        return
    warn_of_borders(values, model, problems)
    if partial:
        problems.reject(
            values["allow_partials"].place,
            "allow_partials has no effect: only intervals that have ended are computed, so "
            "that each recorded interval is complete",
            "Leave it out. For fresher rows, give the model a shorter interval_unit and a "
            "cron that runs more often, such as `interval_unit hour, cron '@hourly'`.",
        )


def build_model(
    source: ModelSource,
    properties: Properties,
    body: Body,
    parents: Collection[ModelName],
    *,
    own_audits: tuple[OwnAudit, ...] = (),
) -> Model:
    """A model of these properties; with stateful sessions it may read its interval before."""
    model = properties.model
    late, reads_itself = model.late_data, model.name in parents
    reads_itself &= late is not None and late.is_stateful and isinstance(body, Query)
    return replace(
        model,
        source=source,
        body=body,
        parents=tuple(each for each in sorted(parents) if each != model.name or not reads_itself),
        reads_itself=reads_itself,
        own_audits=own_audits,
    )
