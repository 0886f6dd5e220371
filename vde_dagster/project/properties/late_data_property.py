"""The property ``late_data`` (docs/reference/models.md), read and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import Final, TypeVar

from vde_dagster.core.errors import Place
from vde_dagster.core.model.kinds import (
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    Kind,
    ScdType2,
)
from vde_dagster.core.model.late_data import (
    LANDING_COLUMN,
    LateDataMode,
    LateDataPolicy,
    LoadType,
    OnSourceRewrite,
    TrackedSource,
)
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.values import (
    check_known,
    read_choice,
    read_column,
    read_duration,
    read_options,
)

E = TypeVar("E", bound=Enum)
OPTIONS: Final = ("mode", "sources", "catchup_threshold", "load_type", "on_source_rewrite")
_TRACKING: Final = ("tracked_by", "offset", "idle_after")
_COLUMN: Final = re.compile(r"[a-z_][a-z0-9_]*")


def read_late_data(
    value: Value | None, problems: Problems, *, catalog: str
) -> LateDataPolicy | None:
    """A policy; None if there is none, or (with problems) if it cannot be read.

    ``catalog`` is the project's own, which the names of sources may leave out.
    """
    if value is None:
        return None
    written = read_options(value.items(), problems)
    options = check_known(written, OPTIONS, "late_data", problems)
    lacking = [key for key in ("mode", "sources") if key not in options]
    if lacking and all(key in OPTIONS for key, _ in written):  # else it may be misspelled
        advice = "Write `late_data (mode stateless, sources (raw.orders))`."
        problems.add(value.place, f"late_data needs {' and '.join(lacking)}", advice)
    mode = _choice(options, "mode", LateDataMode, None, problems)
    stateless = mode is LateDataMode.STATELESS
    sources = options.get("sources")
    tracked = _tracked(sources, problems, catalog, stateless=stateless) if sources else ()
    if stateless and "load_type" in options:
        _reject_stateful("load_type", options["load_type"], problems)
    load_type = _choice(options, "load_type", LoadType, LoadType.CHANGED, problems)
    rewrite = _choice(
        options, "on_source_rewrite", OnSourceRewrite, OnSourceRewrite.OVERWRITE, problems
    )
    given = options.get("catchup_threshold")
    has_one = given is not None and given.written.lower() != "none"
    threshold = _duration(options, "catchup_threshold", problems) if has_one else None
    if mode is None or load_type is None or rewrite is None or not tracked:
        return None
    return LateDataPolicy(
        mode=mode,
        tracked=tracked,
        catchup_threshold=threshold,
        load_type=load_type,
        on_source_rewrite=rewrite,
    )


def _reject_stateful(key: str, value: Value, problems: Problems) -> None:
    """Report an option that decides nothing where new rows are added one by one."""
    if value.written.lower() != "none":
        problems.reject(
            value.place,
            f"{key} decides what stateful sessions load; in stateless mode all new rows are "
            "added, so it has no effect",
            "Leave it out, or write `mode stateful`.",
        )


def check_kind(kind: Kind, policy: LateDataPolicy, place: Place, problems: Problems) -> None:
    """Report a policy that no session can apply to a kind."""
    stateless = policy.mode is LateDataMode.STATELESS
    if isinstance(kind, IncrementalByUniqueKey | ScdType2) and stateless and kind.order is None:
        message = (
            "late_data needs sequence_by: without it a late row would replace a newer "
            "row of its key"
        )
        advice = "Add `sequence_by`, a column that grows with each change of a key, to the kind."
        problems.add(place, message, advice)
    elif stateless and (isinstance(kind, IncrementalUnmanaged) or kind.order is not None):
        if policy.catchup_threshold is not None:
            problems.reject(
                place,
                f"catchup_threshold has no effect in {kind.keyword}: all new rows of the "
                "source are loaded, regardless of their time",
                "Remove it, or use INCREMENTAL_BY_TIME_RANGE.",
            )
    elif not isinstance(kind, IncrementalByTimeRange):
        message = "late_data needs the kind INCREMENTAL_BY_TIME_RANGE"
        problems.add(place, message, "Use that kind, or remove late_data.")


def _choice(
    options: Mapping[str, Value], key: str, choices: type[E], default: E | None, problems: Problems
) -> E | None:
    return read_choice(options[key], key, choices, problems) if key in options else default


def _duration(options: Mapping[str, Value], key: str, problems: Problems) -> timedelta | None:
    return read_duration(options[key], key, problems) if key in options else None


def _tracked(
    value: Value, problems: Problems, catalog: str, *, stateless: bool
) -> tuple[TrackedSource, ...]:
    tracked: dict[ModelName, TrackedSource] = {}
    items = value.items()
    if not items:
        problems.add(value.place, "late_data tracks no source", "Write `sources (raw.orders)`.")
    for item in items:
        found = _tracked_source(item, problems, stateless=stateless)
        name = found.name.within(catalog) if found is not None else None
        if name in tracked:
            problems.add(item.place, f"the source {name} is given twice", "Remove one.")
        elif found is not None and name is not None:
            tracked[name] = found
    if stateless and len(tracked) > 1:
        message = "stateless late_data tracks exactly one source"
        problems.add(value.place, message, "Write one model for each source.")
    return tuple(tracked.values())


def _tracked_source(item: Value, problems: Problems, *, stateless: bool) -> TrackedSource | None:
    """``raw.cancels``, ``raw.cancels (tracked_by ts, ...)`` or the text 'raw.cancels|ts'."""
    written, bar, column = item.written.partition("|") if item.is_string else (item.name, "", "")
    try:
        name = ModelName.parse(written)
    except InvalidName as error:
        problems.refuse(item.place, error)
        return None
    column = column.strip().lower() if bar else LANDING_COLUMN
    if not _COLUMN.fullmatch(column):
        message = f"{item.raw} is not a source with its column"
        problems.add(item.place, message, "Write `'raw.orders|column'`.")
    if item.after_name() is not None and item.group() is None and not item.is_string:
        message = f"{item.raw} is not a source with its options"
        problems.add(item.place, message, "Write `raw.orders (tracked_by column)`.")
        return None
    written_options = read_options(item.group() or (), problems)
    options = check_known(written_options, _TRACKING, f"the source {name}", problems)
    for key in ("offset", "idle_after"):
        if stateless and key in options:
            _reject_stateful(key, options[key], problems)
    if (tracking := options.get("tracked_by")) is not None:
        column = read_column(tracking, "tracked_by", problems) or column
    return TrackedSource(
        name=name,
        tracked_by=column,
        offset=_duration(options, "offset", problems) or timedelta(0),
        idle_after=_duration(options, "idle_after", problems),
        place=item.place,
    )
