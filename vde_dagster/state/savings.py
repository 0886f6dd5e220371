"""What was not computed: recorded as it happens, and summed up by the database alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Float, Row, Select, exists, func, or_, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from vde_dagster.core.ledger.entries import EntryStatus
from vde_dagster.core.ledger.savings import Saved, Saving, SavingKind, SavingTotal
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.state import codec, schema
from vde_dagster.state.database import chunks, insert_absent, now
from vde_dagster.state.pairs import of_pairs, pairs

_savings = schema.savings
_ledger = schema.ledger
_work = schema.work
_promoted = schema.promoted_snapshots
_promotions = schema.promotions


class TraceSeconds(FunctionElement[float]):
    """The seconds in a trace's JSON text; NULL if there is no trace."""

    type = Float()
    inherit_cache = True


@compiles(TraceSeconds, "sqlite")
def _sqlite_seconds(element: TraceSeconds, compiler: SQLCompiler, **options: object) -> str:
    return f"json_extract({compiler.process(element.clauses, **options)}, '$.seconds')"


@compiles(TraceSeconds, "postgresql")
def _postgres_seconds(element: TraceSeconds, compiler: SQLCompiler, **options: object) -> str:
    trace = compiler.process(element.clauses, **options)
    return f"CAST(CAST({trace} AS JSON) ->> 'seconds' AS DOUBLE PRECISION)"


def record(connection: Connection, saving: Saving) -> None:
    """Record what was not computed. The same occasion of a model again changes nothing."""
    saved = saving.saved
    row = {
        "occasion": saving.occasion,
        "model": codec.encode_model(saving.key.model),
        "version": saving.key.version,
        "environment": saving.environment,
        "kind": saving.kind.value,
        "saved_at": now(connection),
        "intervals": saved.intervals,
        "time_covered": None if saved.time is None else saved.time // _MICROSECOND,
        "row_count": saved.rows,
        "seconds": saved.seconds,
        "untimed": saved.untimed,
    }
    insert_absent(connection, _savings, [row])


def totals(
    connection: Connection, *, environment: str | None, since: datetime | None
) -> tuple[SavingTotal, ...]:
    """What was recorded, by environment, model and kind."""
    by = (_savings.c.environment, _savings.c.model, _savings.c.kind)
    query: Select[Any] = select(
        *by,
        func.sum(_savings.c.intervals).label("intervals"),
        func.sum(_savings.c.time_covered).label("time_covered"),
        func.sum(_savings.c.row_count).label("row_count"),
        func.sum(_savings.c.seconds).label("seconds"),
        func.sum(_savings.c.untimed).label("untimed"),
    ).group_by(*by)
    if environment is not None:
        query = query.where(_savings.c.environment == environment)
    if since is not None:
        query = query.where(_savings.c.saved_at >= codec.encode_instant(since))
    found = (
        SavingTotal(
            environment=row.environment,
            model=codec.decode_model(row.model),
            kind=SavingKind(row.kind),
            saved=_saved(row),
        )
        for row in connection.execute(query)
    )
    return tuple(sorted(found, key=lambda each: each.order))


def loaded(
    connection: Connection, keys: Iterable[VersionKey], *, without: Collection[str]
) -> dict[VersionKey, Saved]:
    """The rows of these versions, without those that some units of work wrote."""
    wanted = list(keys)
    found = _loaded(connection, wanted)
    for chunk in chunks(without):
        for key, part in _loaded(connection, wanted, of=chunk).items():
            found[key] -= part
    return {key: each for key, each in found.items() if each.intervals}


def _loaded(
    connection: Connection, keys: Iterable[VersionKey], *, of: Sequence[str] | None = None
) -> dict[VersionKey, Saved]:
    """The rows of these versions; only those of some units of work, if these are given."""
    found: dict[VersionKey, Saved] = {}
    query = (
        select(_ledger.c.model, _ledger.c.version, *_sums())
        .where(pairs(_ledger.c.model, _ledger.c.version))
        .group_by(_ledger.c.model, _ledger.c.version)
    )
    if of is not None:
        query = query.where(_ledger.c.work_id.in_(of))
    for row in of_pairs(connection, query, codec.encode_keys(keys)):
        found[VersionKey(codec.decode_model(row.model), row.version)] = _saved(row)
    return found


def recording_since(connection: Connection) -> datetime:
    """When the state was made."""
    query = select(func.min(schema.state_version.c.applied_at))
    return codec.decode_instant(connection.execute(query).scalar_one())


def computed_elsewhere(
    connection: Connection, environment: str, *, since: datetime | None
) -> dict[VersionKey, Saved]:
    """What other environments computed of the versions that an environment has now."""
    by = (_promoted.c.model, _promoted.c.version)
    query: Select[Any] = (
        select(*by, *_sums())
        .join_from(
            _promoted,
            _ledger,
            (_ledger.c.model == _promoted.c.model) & (_ledger.c.version == _promoted.c.version),
        )
        .join(_work, _work.c.work_id == _ledger.c.work_id)
        .where(
            _promoted.c.environment == environment,
            _promoted.c.revision == _latest(environment),
            _has_work_of_others(environment),
            _ledger.c.status == EntryStatus.COMPUTED.value,
            _work.c.environment != environment,
        )
        .group_by(*by)
    )
    if since is not None:
        query = _only_since(query, environment, codec.encode_instant(since))
    return {
        VersionKey(codec.decode_model(row.model), row.version): _saved(row)
        for row in connection.execute(query)
    }


def _sums() -> tuple[ColumnElement[Any], ...]:
    """The totals of entries of the ledger."""
    seconds = TraceSeconds(_ledger.c.trace_json)
    return (
        func.count().label("intervals"),
        func.sum(_ledger.c.interval_end - _ledger.c.interval_start).label("time_covered"),
        func.sum(_ledger.c.row_count).label("row_count"),
        func.sum(seconds).label("seconds"),
        (func.count() - func.count(seconds)).label("untimed"),
    )


def _only_since(query: Select[Any], environment: str, since: int) -> Select[Any]:
    """Only what was computed, or first promoted to this environment, since then."""
    once = _promoted.alias()
    first = (
        select(once.c.model, once.c.version, func.min(_promotions.c.promoted_at).label("at"))
        .join(
            _promotions,
            (_promotions.c.environment == once.c.environment)
            & (_promotions.c.revision == once.c.revision),
        )
        .where(once.c.environment == environment)
        .group_by(once.c.model, once.c.version)
        .subquery()
    )
    return query.join(
        first, (first.c.model == _promoted.c.model) & (first.c.version == _promoted.c.version)
    ).where(or_(_work.c.finished_at >= since, first.c.at >= since))


def _latest(environment: str) -> Any:  # noqa: ANN401 - a scalar subquery is typed by its value
    return (
        select(func.max(_promotions.c.revision))
        .where(_promotions.c.environment == environment)
        .scalar_subquery()
    )


def _has_work_of_others(environment: str) -> ColumnElement[bool]:
    """Whether other environments worked on a version; if not, its entries need not be read."""
    others = _work.alias()
    return exists().where(
        others.c.model == _promoted.c.model,
        others.c.version == _promoted.c.version,
        others.c.environment != environment,
    )


def _saved(row: Row[Any]) -> Saved:
    """The sums of a row; Postgres gives those of integers as decimals."""
    time = row.time_covered
    return Saved(
        intervals=int(row.intervals),
        time=None if time is None else int(time) * _MICROSECOND,
        rows=int(row.row_count),
        seconds=None if row.seconds is None else float(row.seconds),
        untimed=int(row.untimed),
    )


_MICROSECOND: Final = timedelta(microseconds=1)
