"""The properties about when a model is evaluated, how often, and what an edit does to its table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Final

from vde_dagster.core.errors import Place
from vde_dagster.core.graph.freshness import (
    FRESHNESS,
    UPDATES_ON,
    FreshnessInvalid,
    parse_freshness,
)
from vde_dagster.core.model.column_rules import (
    DEFAULT_COLUMN_RULES,
    ON_ADDITIVE_CHANGE,
    ON_DESTRUCTIVE_CHANGE,
    ColumnRules,
    OnChange,
)
from vde_dagster.core.model.kinds import Embedded, Kind, Managed, Seed, View
from vde_dagster.core.model.kinds.managed import TARGET_LAG
from vde_dagster.core.model.model import Model, UpdatesOn
from vde_dagster.core.model.patterns import ModelPattern
from vde_dagster.core.model.retries import MOST_RETRIES, RETRIES
from vde_dagster.core.model.room import CONCURRENCY, MOST_MODELS
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.cron import CronInvalid, unit_of
from vde_dagster.core.time.intervals import Interval, IntervalUnit, format_instant
from vde_dagster.core.time.zones import ZoneUnknown, zone_of
from vde_dagster.project.defaults import FORWARD_ONLY, Defaults
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.values import (
    read_choice,
    read_count,
    read_end,
    read_options,
    read_start,
)

_WITHOUT_ROWS: Final[Mapping[type, str]] = dict.fromkeys(
    (View, Embedded), "has no rows of its own, so it is not computed"
)
_NOT_REFRESHED: Final[Mapping[type, str]] = {
    **_WITHOUT_ROWS,
    Seed: "is loaded only by plans",
    Managed: "is kept fresh by target_lag in its physical_properties",
}
_NOT_KEPT: Final[Mapping[type, str]] = dict.fromkeys(
    (View, Embedded, Seed), "has no table that an edit could keep"
)
USELESS: Final[Mapping[str, Mapping[type, str]]] = {
    RETRIES: _WITHOUT_ROWS,
    CONCURRENCY: _WITHOUT_ROWS,
    FRESHNESS: _NOT_REFRESHED,
    UPDATES_ON: _NOT_REFRESHED,
    ON_ADDITIVE_CHANGE: _NOT_KEPT,
    ON_DESTRUCTIVE_CHANGE: _NOT_KEPT,
}
"""By property: the kinds on which it has no effect, with the reason."""


def _has_effect(name: str, value: Value | None, kind: Kind | None, problems: Problems) -> bool:
    """Whether a property counts for a kind; it is a problem where it is given and does not."""
    why = USELESS[name].get(type(kind))
    if kind is None or why is None:
        return True
    if value is not None:
        message = f"{name} has no effect on a model of kind {kind.keyword}, which {why}"
        problems.reject(value.place, message, "Leave it out.")
    return False


def read_range(
    values: Mapping[str, Value], defaults: Defaults, problems: Problems
) -> tuple[datetime | None, datetime | None]:
    """The start and the exclusive end that a model has."""
    start = read_start(values["start"], problems) if "start" in values else defaults.start
    end = read_end(values["end"], problems) if "end" in values else None
    if start is not None and end is not None and end <= start:
        problems.add(
            values["end"].place, "the model ends before it starts", "Correct `start` or `end`."
        )
    return start, end


def warn_of_borders(values: Mapping[str, Value], model: Model, problems: Problems) -> None:
    """Report a start or an end of the model that is not a border of its intervals.

    A partial interval is never due (`vde_dagster.core.time.schedule.due_interval`).
    """
    for key, instant in (("start", model.start), ("end", model.end)):
        if key not in values or instant is None:
            continue
        with suppress(OverflowError):  # at the ends of the calendar nothing is due
            before, after = model.unit.floor(instant), model.unit.ceil(instant)
            if before == after:
                continue
            message = (
                f"{key} {values[key].written!r} is inside {Interval(before, after)}, which is "
            )
            message += f"skipped; {_counted(model, key, before, after)}"
            borders = " or ".join(f"'{_written(each, key)}'" for each in (before, after))
            advice = f"Write {borders}, so that intervals {key} there."
            problems.warn(values[key].place, message, advice)


def _counted(model: Model, key: str, before: datetime, after: datetime) -> str:
    """The interval that counts beside a border in it."""
    if key == "start":
        return f"the first interval is {Interval(after, model.unit.following(after))}"
    last = model.unit.shifted(before, -1)
    if last < model.start:
        return "no whole interval precedes it"
    return f"the last interval is {Interval(last, before)}"


def _written(border: datetime, key: str) -> str:
    """A border as it is written: an exclusive end at midnight as the last day."""
    is_day = key == "end" and border == IntervalUnit.DAY.floor(border)
    return format_instant(border - timedelta(days=1) if is_day else border)


def read_cron(
    values: Mapping[str, Value], default: str, place: Place, problems: Problems
) -> tuple[str, IntervalUnit]:
    """The cron and the interval unit: the cron's own one, or a finer one that is given."""
    value = values.get("cron")
    written = value.written if value is not None else default
    cron = " ".join(written.lower().split())
    try:
        unit = unit_of(cron)
    except CronInvalid as error:
        problems.refuse(value.place if value is not None else place, error)
        return cron, IntervalUnit.DAY
    given = values.get("interval_unit")
    if given is None:
        return cron, unit
    wanted = read_choice(given, "interval_unit", IntervalUnit, problems) or unit
    order = list(IntervalUnit)
    if order.index(wanted) > order.index(unit):
        message = f"the interval unit {wanted.value} is longer than the time between two cron ticks"
        problems.add(given.place, message, f"Use {unit.value}, a finer unit or another cron.")
        return cron, unit
    return cron, wanted


def read_zone(value: Value | None, problems: Problems) -> str:
    """The zone of the cron."""
    if value is None:
        return "UTC"
    try:
        return str(zone_of(value.written.strip()))
    except ZoneUnknown as error:
        problems.refuse(value.place, error)
        return "UTC"


def read_retries(
    values: Mapping[str, Value], kind: Kind | None, defaults: Defaults, problems: Problems
) -> int:
    """How often to try again; the project's default where rows are computed and nothing is said."""
    value = values.get(RETRIES)
    if not _has_effect(RETRIES, value, kind, problems):
        return 0
    if value is None:
        return defaults.retries
    return read_count(value, RETRIES, problems, least=0, most=MOST_RETRIES) or 0


def read_concurrency(
    values: Mapping[str, Value], kind: Kind | None, problems: Problems
) -> int | None:
    """How many models may be evaluated while this one is, itself among them; None for any."""
    value = values.get(CONCURRENCY)
    if value is None or not _has_effect(CONCURRENCY, value, kind, problems):
        return None
    return read_count(value, CONCURRENCY, problems, least=1, most=MOST_MODELS)


def read_updates(
    values: Mapping[str, Value],
    kind: Kind | None,
    storage: Storage,
    defaults: Defaults,
    problems: Problems,
) -> tuple[timedelta | None, UpdatesOn]:
    """The freshness and which parents have to change, or the project's defaults.

    The defaults apply to the kinds that are recomputed; another kind that asks for it is refused.
    The freshness of a MANAGED table is called its ``target_lag``.
    """
    counted = [
        _has_effect(each, values.get(each), kind, problems) for each in (FRESHNESS, UPDATES_ON)
    ]
    if not all(counted):
        lag = dict(storage.properties).get(TARGET_LAG) if isinstance(kind, Managed) else None
        if lag is None:
            return None, UpdatesOn.ANY
        place = values["physical_properties"].place
        return _freshness(lag, TARGET_LAG, place, problems), UpdatesOn.ANY
    freshness, updates_on = defaults.freshness, defaults.updates_on
    if (value := values.get(FRESHNESS)) is not None:
        freshness = _freshness(value.written, FRESHNESS, value.place, problems)
    if (value := values.get(UPDATES_ON)) is not None:
        updates_on = read_choice(value, UPDATES_ON, UpdatesOn, problems) or UpdatesOn.ANY
    return freshness, updates_on


def _freshness(text: str, name: str, place: Place, problems: Problems) -> timedelta | None:
    try:
        return parse_freshness(text, name)
    except FreshnessInvalid as error:
        problems.refuse(place, error)
        return None


def read_forward_only(
    values: Mapping[str, Value],
    kind: Kind | None,
    defaults: Defaults,
    *,
    name: ModelName,
    tags: Collection[str],
    path: PurePath,
) -> bool:
    """Whether a pattern of the project makes a model forward-only.

    It is one of a table that is loaded again, and the option of its kind says nothing else.
    """
    if not defaults.forward_only or kind is None or not kind.is_loaded_again:
        return False
    if FORWARD_ONLY in _options_of(values.get("kind")):
        return False  # the kind has what was said
    patterns = (ModelPattern.parse(e, catalog=defaults.catalog) for e in defaults.forward_only)
    return any(each is not None and each.means(name, tags, path) for each in patterns)


def read_column_rules(
    values: Mapping[str, Value], kind: Kind | None, problems: Problems
) -> ColumnRules:
    """What a model says about columns of its table while that is kept.

    They are properties of a model of any kind whose table is loaded again; an incremental kind
    takes them as its options, too, which is where SQLMesh has them.
    """
    usual = DEFAULT_COLUMN_RULES
    return ColumnRules(
        destructive=_rule(ON_DESTRUCTIVE_CHANGE, values, kind, problems) or usual.destructive,
        additive=_rule(ON_ADDITIVE_CHANGE, values, kind, problems) or usual.additive,
    )


def _rule(
    name: str, values: Mapping[str, Value], kind: Kind | None, problems: Problems
) -> OnChange | None:
    own, option = values.get(name), _options_of(values.get("kind")).get(name)
    value = own or option
    if own is not None and option is not None:
        message = f"{name} is given both as a property and as an option of the kind"
        problems.add(own.place, message, "Remove one.")
    if value is None or not _has_effect(name, value, kind, problems):
        return None
    return read_choice(value, name, OnChange, problems)


def _options_of(kind: Value | None) -> Mapping[str, Value]:
    """The options of a kind as they are written; what is wrong with them is reported elsewhere."""
    if kind is None:
        return {}
    return dict(read_options(kind.unquoted().group() or (), Problems()))
