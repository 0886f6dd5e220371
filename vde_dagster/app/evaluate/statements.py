"""Pre- and post-statements of a query or function, over the evaluation's inputs and result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, pin
from vde_dagster.app.publish.publishing import give_up
from vde_dagster.app.services import Services
from vde_dagster.core.audits.binding import audits_of as bound_audits
from vde_dagster.core.audits.values import Audit, AuditResult
from vde_dagster.core.errors import AuditFailed, Conflict
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import Statements, render_model, render_statements
from vde_dagster.core.ledger.unit_of_work import (
    AddedBetween,
    AsOf,
    Input,
    Intent,
    Publication,
    RowsWithin,
    Staging,
)
from vde_dagster.core.model.model import PythonFunction, Query
from vde_dagster.core.model.snapshot import VersionKey, version_of
from vde_dagster.core.model.writes import OverwriteIntervals, Write
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.ports.state import Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementTexts:
    """Statements as texts of Spark's SQL, and the tables that they read by temporary names.

    ``own_name`` is the one under which they read the model's own rows: the published ones before
    the query, the staged ones after it.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=dict)
    own_name: str = ""


def statements_of(
    services: Services,
    binding: Binding,
    node: Node,
    interval: Interval,
    *,
    readings: Sequence[PinnedReading],
    execution_time: datetime,
    work_id: str,
) -> StatementTexts:
    """The pre- and post-statements of a model for one unit of work; None if it has none.

    They run once, whatever the number of its parts. A model that the evaluation reads is read at
    the same Iceberg snapshot, and others as they are now.

    Args:
        services: The ports.
        binding: Which version of each model is read.
        node: The model.
        interval: What the unit of work evaluates.
        readings: What its parts read.
        execution_time: When it was asked for.
        work_id: Makes the names of inputs unique.

    Raises:
        Refused: A statement cannot be written in Spark's SQL, or reads what does not exist.
    """
    body = node.model.body
    if not isinstance(body, Query | PythonFunction) or not (body.before or body.after):
        return StatementTexts()
    before, after = _rendered(binding, node, interval, execution_time)
    own_name = f"vde_{work_id}_own"
    read = {name for each in (*before, *after) for name in each.tables}
    names = sorted(name for name in read - {node.name} if name in binding.graph)
    tables = [name for name in names if not binding.graph[name].model.kind.is_inlined]
    known = {name: pinned for each in readings for name, pinned in each.pinned.items()}
    sources = {name: state for each in readings for name, state in each.sources.items()}
    inputs = pin(services, binding, tables, known, sources=sources)
    shown = {
        name: TableName("", f"vde_{work_id}_beside_{index}") for index, name in enumerate(tables)
    }
    targets = {name: shown.get(name) or binding.table(name) for name in names}
    targets[node.name] = TableName("", own_name)
    return StatementTexts(
        before=tuple(each.with_tables(targets.get).text for each in before),
        after=tuple(each.with_tables(targets.get).text for each in after),
        inputs={shown[name].name: each for name, each in inputs.items()},
        own_name=own_name,
    )


def _rendered(
    binding: Binding, node: Node, interval: Interval, execution_time: datetime
) -> Statements:
    """The statements for an interval over models' names; views are inlined down to tables."""
    times = TimeRange.of(interval, execution_time=execution_time)
    if isinstance(node.model.body, PythonFunction):
        return render_statements(binding.graph, node.name, times, target=lambda _: None)
    found = render_model(binding.graph, node.name, times, target=lambda _: None)
    return found.before, found.after


def audits_for(
    services: Services,
    binding: Binding,
    node: Node,
    *,
    interval: Interval,
    writes: Sequence[Write],
    readings: Sequence[PinnedReading],
    execution_time: datetime,
) -> tuple[tuple[Audit, ...], Mapping[ModelName, Input]]:
    """The audits of a model for what an evaluation stages, and what they read besides that.

    They read other tables at the Iceberg snapshots at which the evaluation reads them (rule R3).

    Raises:
        Refused: An audit cannot be written in Spark's SQL, or reads what does not exist.
    """
    if not node.model.audits:
        return (), {}
    times = TimeRange.of(interval, execution_time=execution_time)
    processed = () if _adds_rows(readings) else _processed(interval, writes)
    audits = bound_audits(binding.graph, node.name, times, processed=processed)
    known = {name: snapshot for each in readings for name, snapshot in each.pinned.items()}
    names = sorted({name for audit in audits for name in audit.reads})
    sources = {name: state for each in readings for name, state in each.sources.items()}
    return audits, pin(services, binding, names, known, sources=sources)


def _adds_rows(readings: Sequence[PinnedReading]) -> bool:
    """Whether a session adds rows of new files to what is there: then it has not read the rest."""
    inputs = (each for reading in readings for each in reading.inputs.values())
    return any(isinstance(each, AddedBetween) for each in inputs)


def _processed(interval: Interval, writes: Sequence[Write]) -> tuple[Interval, ...]:
    """The time whose rows are staged, without the intervals that are kept."""
    replaced = [each for each in writes if isinstance(each, OverwriteIntervals)]
    return merge(part for each in replaced for part in each.intervals) or (interval,)


def record_audits(
    services: Services,
    intent: Intent,
    results: Sequence[AuditResult],
    publication: Publication,
    *,
    lease: Lease,
) -> None:
    """Record what audits found. If a blocking one found bad rows, the unit of work ends here.

    The branch stays for people to look at, and to publish it all the same; the version's next unit
    of work that is published removes it.

    Raises:
        AuditFailed: A blocking audit found bad rows; the text has the messages of all audits that
            found some.
    """
    if not results:
        return
    model, work_id = intent.key.model, intent.work_id
    services.state.record_audits(work_id, results, lease=lease)
    if not any(each.stops for each in results):
        return
    failed = [each.message for each in results if not each.passed]
    reason = (f"{model}: nothing was published, because its audits found bad rows.\n") + "\n".join(
        f"- {each}" for each in failed
    )
    services.state.abandon(work_id, reason=reason, lease=lease, refused=publication)
    names = dict.fromkeys(each.name for each in results if each.stops)
    accepts = " ".join(f"--accept {name}" for name in names)
    raise AuditFailed(
        reason,
        advice=f"`vde audits {model} --env {intent.environment}` shows the rows. To publish them "
        f"anyway: `vde publish {work_id} {accepts} --reason TEXT`.",
    )


def pinned_beside(staging: Staging) -> tuple[int, ...]:
    """The Iceberg snapshots of versions that audits and statements read, sorted."""
    return tuple(sorted({at for _, _, at in _pinned(_beside(staging))}))


def read_beside(staging: Staging) -> dict[ModelName, int | None]:
    """At which Iceberg snapshot audits and statements read each model and source."""
    return {
        _name_of(each.table): each.iceberg_snapshot_id
        for each in _beside(staging)
        if isinstance(each, AsOf)
    }


def check_pins_stay(services: Services, staging: Staging, *, lease: Lease) -> None:
    """Give a unit of work up, once its intent is recorded, if something that it reads may expire.

    That is only looked up for what is not the recorded head of its version: a head never expires.

    Raises:
        Conflict: It may; nothing was computed.
    """
    every = [input_ for part in staging.parts for input_ in part.inputs.values()]
    pinned = sorted(set(_pinned((*every, *_beside(staging)))))
    heads = services.state.heads({key for key, _, _ in pinned}) if pinned else {}
    for key, table, at in pinned:
        if heads.get(key) != at and not services.catalog.stays(table, at):
            reason = (
                f"the Iceberg snapshot {at} of {table}, which it reads, has expired in the meantime"
            )
            give_up(services, staging.target, staging.work_id, reason=reason, lease=lease)
            raise Conflict(
                f"{staging.target.model} was not computed: {reason}",
                advice=f"Run it again: it then reads the current rows of {key.model}.",
            )


def _beside(staging: Staging) -> tuple[Input, ...]:
    """What audits and statements read."""
    return (*staging.audit_inputs.values(), *staging.statement_inputs.values())


def _name_of(table: TableName) -> ModelName:
    """The model that a table is a version of, or else the source that it is."""
    key = version_of(table)
    return key.model if key is not None else ModelName(table.namespace, table.name, table.catalog)


def _pinned(inputs: Iterable[Input]) -> Iterator[tuple[VersionKey, TableName, int]]:
    """The versions' tables among some inputs, and the Iceberg snapshots at which they are read."""
    for each in inputs:
        if isinstance(each, AsOf | RowsWithin) and each.iceberg_snapshot_id is not None:
            key = version_of(each.table)
            if key is not None:
                yield key, each.table, each.iceberg_snapshot_id
