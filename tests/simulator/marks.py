"""High-water marks never pass what is neither loaded nor pending (rule R7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.app.generated_models import ORDERED, VERSIONED, Form, Made
from tests.app.memory_world import START
from tests.simulator.reference import FOREVER, Row, Shown, expected
from tests.simulator.shown import SHOWN_COLUMNS, Comparison, differing, fetched, whole
from tests.simulator.sources import TABLES
from tests.worlds.tables import Snapshot
from vde_dagster.app.inspect.status import EnvironmentStatus
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.entries import EntryStatus
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval

Marks = Mapping[ModelName, HighWaterMark]
Rows = dict[datetime, list[Any]]
"""Rows of a model by where their intervals begin."""


def wrong_marks(
    services: Services, status: EnvironmentStatus, models: Sequence[Made], comparison: Comparison
) -> Iterator[str]:
    """Models whose tables do not have what their marks say is known, be they behind or paused.

    What is loaded and not pending has the rows of the sources as of the marks; where intervals are
    overwritten, by hand too, those as of the marks or of a time since. Rows that other programs
    wrote do not count, nor work that is unfinished or refused. Where intervals are overwritten, nor
    does what the status calls behind: traces tell that, whatever the marks are.
    """
    following = [made for made in models if _follows(made) and made.name not in comparison.loose]
    environment = services.state.environment(status.environment) if following else None
    if environment is None:
        return
    unsure = {e.node.name for e in status.models if e.lost or e.refused}
    paused = {each.pause.model for each in status.pauses}
    behind = {
        e.node.name: (*e.staleness.intervals, *e.staleness.kept)
        for e in status.models
        if e.staleness is not None
    }
    for made in following:
        key = environment.snapshots[made.key].key
        table = comparison.world.catalog.tables.get(key.table)
        is_others = str(key.table) in comparison.meddled and made.key in paused
        is_begun = bool(services.state.unfinished([key]))
        if table is None or is_others or is_begun or made.key in unsure:
            continue
        now = _by_interval(made, _seen(comparison, made, key.table))
        known = [*_known(comparison, made, services.state.marks(key))]
        settled = [*_settled(services, key)] if known else []
        wrong, wanted = {*_by_interval(made, ((0, each.start) for each in settled))}, Rows()
        for sources in known:
            shows = expected([made], _counting(made, sources, settled))[f"gen.{made.name}"]
            wanted = _by_interval(made, shows.rows or ())
            wrong = {start for start in wrong if shows.certain[0] <= start < shows.certain[1]}
            wrong = {start for start in wrong if now[start] != wanted[start]}
            told = behind.get(made.key, ()) if made.late else ()
            wrong = {start for start in wrong if not any(e.start <= start < e.end for e in told)}
            if not wrong:
                break
        for start in sorted(wrong)[:1]:
            yield (
                f"{status.environment}: the mark of {made.name} ({made.form.name}) is beyond what "
                f"it has of {start}: {differing(now[start], wanted[start])}"
            )


def _follows(made: Made) -> bool:
    is_alone = made.form is not Form.RUNNING  # the others of what it sums may be of another time
    is_known = TABLES.keys() >= {*made.parents}
    return made.has_sessions and is_alone and is_known


def _seen(comparison: Comparison, made: Made, table: TableName) -> list[Any]:
    """The rows of a table, without those that readers are not shown."""
    if made.form not in ORDERED:
        return whole(comparison.world.catalog.tables[table])
    is_seen = "valid_from IS NOT NULL" if made.form in VERSIONED else "NOT gone"
    return fetched(comparison.world, table, made, is_seen)


def _counting(
    made: Made, sources: Mapping[str, Shown], loaded: Sequence[Interval]
) -> Mapping[str, Shown]:
    """What the rows of loaded intervals depend on: of changes on no later ones."""
    if made.form not in ORDERED or made.any_time:
        return sources

    def counts(row: Row) -> bool:
        return any(each.start <= row[1] < each.end for each in loaded)

    return {
        name: replace(of, rows=(*filter(counts, of.rows or ()),)) for name, of in sources.items()
    }


def _by_interval(made: Made, rows: Iterable[Any]) -> Rows:
    by_interval: Rows = defaultdict(list)
    for row in sorted(rows):
        is_one = made.form in ORDERED  # whatever its time, a change counts for a key
        by_interval[START if is_one else made.unit.floor(row[1])].append(row)
    return by_interval


def _known(comparison: Comparison, made: Made, marks: Marks) -> Iterator[Mapping[str, Shown]]:
    """The sources of a model as of its marks, and where intervals are overwritten after each commit
    since.

    Nothing where there are no marks, or their Iceberg snapshots have expired.
    """
    by_name = {str(source): mark.iceberg_snapshot_id for source, mark in marks.items()}
    lines = {}
    for source in made.parents:
        table = comparison.world.catalog.tables[TABLES[source]]
        line = table.line(table.head)[::-1]
        at = [snapshot.id for snapshot in line]
        if by_name.get(source) not in at:
            return
        lines[source] = line[at.index(by_name[source]) :]
    times = {snapshot.committed_at for line in lines.values() for snapshot in line[1:]}
    yield {name: _shown_by(line[0]) for name, line in lines.items()}
    for time in sorted(times) if made.late else ():
        yield {
            name: _shown_by([line[0], *(e for e in line[1:] if e.committed_at <= time)][-1])
            for name, line in lines.items()
        }


def _shown_by(snapshot: Snapshot) -> Shown:
    """What a source shows at an Iceberg snapshot; a column that nobody reads may be behind."""
    rows = (row[: len(SHOWN_COLUMNS)] for row in snapshot.rows)
    return Shown(tuple(rows), FOREVER)


def _settled(services: Services, key: VersionKey) -> Iterator[Interval]:
    """The intervals that are loaded, and of which nothing is pending."""
    pending = [each.interval for each in services.state.pending([key]).get(key, ())]
    for entry in services.state.ledger([key]).get(key, ()):
        is_pending = any(entry.interval.intersection(each) for each in pending)
        if entry.status is EntryStatus.COMPUTED and not is_pending:
            yield entry.interval
