"""Models with a schedule, and intervals as short texts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from vde_dagster.core.errors import Place
from vde_dagster.core.model.kinds import IncrementalByTimeRange, Kind
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, IntervalUnit

BY_TIME = IncrementalByTimeRange(time_column="ts")
ROOT = Path("models")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def span(text: str) -> Interval:
    """``2024-01-01 2024-01-03`` as the instants in between."""
    start, end = text.split()
    return Interval(utc(start), utc(end))


def spans(text: str) -> tuple[Interval, ...]:
    """Intervals as `span` reads them, with commas in between; none in an empty text or ``-``."""
    return tuple(span(each) for each in text.split(",") if each not in ("", "-"))


def model(
    kind: Kind = BY_TIME,
    *,
    unit: str = "day",
    cron: str = "@daily",
    tz: str = "UTC",
    start: str = "2024-01-01",
    end: str = "",
) -> Model:
    return Model(
        name=ModelName("m", "x"),
        kind=kind,
        body=None,
        source=ModelSource(path=ROOT / "x.sql", text=""),
        place=Place(path=ROOT / "x.sql"),
        unit=IntervalUnit(unit),
        cron=cron,
        cron_tz=tz,
        start=utc(start),
        end=utc(end) if end else None,
    )
