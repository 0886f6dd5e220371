"""Audits of one unit of work: what they check before publishing, and how findings are recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, pin
from vde_dagster.app.services import Services
from vde_dagster.core.audits.binding import audits_of as bound_audits
from vde_dagster.core.audits.values import Audit, AuditResult
from vde_dagster.core.errors import AuditFailed
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.unit_of_work import Input, Publication
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.writes import AppendToIntervals, OverwriteIntervals, Write
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.ports.state import Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """The audits of a unit of work, and the tables that they read besides the staged rows."""

    audits: tuple[Audit, ...] = ()
    inputs: Mapping[ModelName, Input] = field(default_factory=dict)


def audits_for(
    services: Services,
    binding: Binding,
    node: Node,
    *,
    interval: Interval,
    writes: Sequence[Write],
    readings: Sequence[PinnedReading],
    execution_time: datetime,
) -> Audited:
    """The audits of a model for what an evaluation stages.

    They read other tables at the Iceberg snapshots at which the evaluation reads them (rule R3).

    Raises:
        Refused: An audit cannot be written in Spark's SQL, or reads what does not exist.
    """
    if not node.model.audits:
        return Audited()
    times = TimeRange.of(interval, execution_time=execution_time)
    audits = bound_audits(binding.graph, node.name, times, processed=_processed(interval, writes))
    known = {name: snapshot for each in readings for name, snapshot in each.pinned.items()}
    names = sorted({name for audit in audits for name in audit.reads})
    sources = {name: state for each in readings for name, state in each.sources.items()}
    return Audited(audits=audits, inputs=pin(services, binding, names, known, sources=sources))


def _processed(interval: Interval, writes: Sequence[Write]) -> tuple[Interval, ...]:
    """The time whose rows are staged, without the intervals that are kept.

    Nothing if rows are added to intervals that have some: the staged rows are not all of theirs.
    """
    if any(isinstance(each, AppendToIntervals) for each in writes):
        return ()
    replaced = [each for each in writes if isinstance(each, OverwriteIntervals)]
    return merge(part for each in replaced for part in each.intervals) or (interval,)


def record_audits(
    services: Services,
    key: VersionKey,
    work_id: str,
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
    services.state.record_audits(work_id, results, lease=lease)
    if not any(each.stops for each in results):
        return
    failed = [each.message for each in results if not each.passed]
    reason = f"{key.model}: nothing was published, since its audits found bad rows.\n" + "\n".join(
        f"- {each}" for each in failed
    )
    services.state.abandon(work_id, reason=reason, lease=lease, refused=publication)
    names = dict.fromkeys(each.name for each in results if each.stops)
    accepts = " ".join(f"--accept {name}" for name in names)
    raise AuditFailed(
        reason,
        advice="To publish the rows all the same: "
        f"`vde publish {work_id} {accepts} --reason TEXT`.",
    )
