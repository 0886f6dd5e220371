"""Audits as Dagster's asset checks: what an asset is checked for, and what was found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.pinned_reading import visible_text
from vde_dagster.app.services import Services
from vde_dagster.core.audits.binding import audits_of, blocks
from vde_dagster.core.audits.queries import failing_query
from vde_dagster.core.audits.values import AuditResult, Scalar
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.time.intervals import Interval
from vde_dagster.orchestration.assets.metadata import Metadata
from vde_dagster.orchestration.keys import CheckKey, EventKey

_Called = tuple[str, tuple[tuple[str, str], ...]]
"""An audit as a model calls it: its name and its arguments."""

CheckNames = Mapping[ModelName, Mapping[str, str]]
"""What a translator calls the checks of models, by our names for them; it leaves out all others.

A model that is not in it has its checks by our names.
"""

_OTHER: Final = re.compile(r"\W+", re.ASCII)
_LONGEST: Final = 60
_MOST_WORKS: Final = 100
"""How many units of work of one step are looked through for rows that failed."""


def check_specs(node: Node, key: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """The checks of a model's asset: its audits, in their order.

    A VIEW stores no rows, so its audits do not run, and are not checks.
    """
    if not _is_audited(node):
        return []
    names = check_names(node)
    calls = {(each.name, each.shown_arguments): each for each in node.model.audits}
    return [
        dg.AssetCheckSpec(
            name=name,
            asset=key,
            blocking=blocks(node, calls[called]),
            description=_description(called),
        )
        for called, name in names.items()
    ]


def _is_audited(node: Node) -> bool:
    return bool(node.model.audits) and node.model.kind.stores_rows


def check_names(node: Node) -> dict[_Called, str]:
    """The name of the check of each audit that a model calls.

    It is the audit's name. Where a model calls an audit more than once, the arguments follow, and
    a number where they are too much alike.
    """
    called = list(dict.fromkeys((each.name, each.shown_arguments) for each in node.model.audits))
    times = Counter(name for name, _ in called)
    names: dict[_Called, str] = {}
    for name, arguments in called:
        texts = [value for _, value in arguments] if times[name] > 1 else []
        wanted = _identifier("_".join([name, *texts]))
        numbered = (wanted, *(f"{wanted}_{number}" for number in range(2, len(called) + 2)))
        names[name, arguments] = next(each for each in numbered if each not in names.values())
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What one check found, by its name; ``text`` is for people."""

    check: str
    passed: bool
    text: str
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.WARN
    blocking: bool | None = None
    metadata: Metadata = field(default_factory=dict)

    def for_step(self, key: dg.AssetKey) -> dg.AssetCheckResult:
        """The event for the step of the asset, or of the check."""
        return dg.AssetCheckResult(
            asset_key=key,
            check_name=str(self.check),
            passed=self.passed,
            severity=self.severity,
            description=self.text,
            metadata=self.metadata,
        )

    def for_job(self, key: dg.AssetKey) -> dg.AssetCheckEvaluation:
        """The event for an op of a job, which is not a step of the asset, or outside of any run."""
        return dg.AssetCheckEvaluation(
            asset_key=key,
            check_name=str(self.check),
            passed=self.passed,
            severity=self.severity,
            description=self.text,
            metadata=self.metadata,
            blocking=self.blocking,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditWatch:
    """What the audits of one model's version find from its beginning on.

    ``last`` is the newest unit of work then that was audited.
    """

    services: Services
    binding: Binding
    node: Node
    last: str | None

    @classmethod
    def begin(cls, services: Services, binding: Binding, name: ModelName) -> AuditWatch:
        """Watch the version of a model that an environment runs."""
        node, key = binding.node(name), binding.key(name)
        newest = services.state.audited(key, limit=1) if _is_audited(node) else ()
        last = newest[0].intent.work_id if newest else None
        return cls(services=services, binding=binding, node=node, last=last)

    @property
    def key(self) -> VersionKey:
        """The version that is watched."""
        return self.binding.key(self.node.name)

    def checked(self, entries: Iterable[LedgerEntry] = ()) -> list[Checked]:
        """What was found until now, and what was found before in rows that were kept.

        Args:
            entries: The entries of the intervals that were asked for. The audits of those that were
                kept are those of the unit of work that wrote them.
        """
        if not _is_audited(self.node):
            return []
        newest_first = self.services.state.audited(self.key, limit=_MOST_WORKS)
        since = [*takewhile(lambda each: each.intent.work_id != self.last, newest_first)]
        works = [*since, *works_of(self.services, entries)]
        return shown_results(self.binding, self.node, works)


def works_of(services: Services, entries: Iterable[LedgerEntry]) -> list[UnitOfWork]:
    """The units of work that wrote these entries, newest first."""
    ids = [*dict.fromkeys(each.work_id for each in entries)][-_MOST_WORKS:]
    return sorted(services.state.works(ids).values(), key=lambda w: w.started_at, reverse=True)


def shown_results(
    binding: Binding, node: Node, newest_first: Iterable[UnitOfWork]
) -> list[Checked]:
    """What audits found in units of work, once for each check.

    A check shows one result. If rows failed in one of several units of work, it is that one.
    """
    names = check_names(node)
    found: dict[str, tuple[UnitOfWork, AuditResult]] = {}
    for work in newest_first if _is_audited(node) else ():
        for result in work.audits:
            check = names.get((result.name, result.arguments))
            newer = found.get(check) if check is not None else None
            if check is not None and (newer is None or (newer[1].passed and not result.passed)):
                found[check] = (work, result)
    return [_checked(check, *each, binding, node) for check, each in found.items()]


def _checked(
    check: str, work: UnitOfWork, result: AuditResult, binding: Binding, node: Node
) -> Checked:
    """The result of an audit of a unit of work. What a person accepted only warns."""
    stops = result.blocking and work.intent.accepted is None
    return Checked(
        check=check,
        passed=result.passed,
        text=result.message,
        severity=dg.AssetCheckSeverity.ERROR if stops else dg.AssetCheckSeverity.WARN,
        blocking=result.blocking,
        metadata=_metadata(work, result, _failing(work, result, binding, node)),
    )


def _failing(work: UnitOfWork, result: AuditResult, binding: Binding, node: Node) -> str:
    """The query of the failing rows, in the branch of refused rows or in the table, for people."""
    if result.passed:
        return ""
    first, last = work.intent.intervals[0], work.intent.intervals[-1]
    times = TimeRange.of(Interval(first.start, last.end), execution_time=work.intent.execution_time)
    for audit in audits_of(binding.graph, node.name, times, processed=work.intent.intervals):
        if (audit.name, audit.arguments) == (result.name, result.arguments):
            graph, hidden = binding.graph, node.model.kind.hidden_rows
            tables = {each: visible_text(graph, each, binding.table(each)) for each in audit.reads}
            seen = hidden.visible if hidden is not None else None
            own = work.intent.key.table
            return failing_query(audit, own, work.refused_branch, tables, seen)
    return ""


def check_events(
    audits: Iterable[AuditWatch],
    keys: Mapping[ModelName, dg.AssetKey],
    done: Iterable[Evaluated] = (),
    names: CheckNames | None = None,
) -> Iterator[dg.AssetCheckEvaluation]:
    """What audits found, for an op of a job, which is not a step of an asset."""
    entries: dict[VersionKey, list[LedgerEntry]] = {}
    for unit in done:
        entries.setdefault(unit.key, []).extend(unit.entries)
    for each in audits:
        for found in named(each.checked(entries.get(each.key, ())), each.node.name, names or {}):
            yield found.for_job(keys[each.node.name])


def named(found: Iterable[Checked], model: ModelName, names: CheckNames) -> Iterator[Checked]:
    """What checks of a model found, by their translated names; without those left out."""
    known = names.get(model)
    for each in found:
        if known is None:
            yield each
        elif each.check in known:
            yield replace(each, check=known[each.check])


def _metadata(work: UnitOfWork, result: AuditResult, query: str) -> Metadata:
    metadata: Metadata = {
        CheckKey.FAILING_ROWS: result.failing,
        EventKey.WORK_ID: work.intent.work_id,
        EventKey.INTERVALS: ", ".join(map(str, work.intent.intervals)),
    }
    if result.sample:
        rows = [_record(result.columns, each) for each in result.sample]
        metadata[CheckKey.SAMPLE] = dg.MetadataValue.table(rows)
    if query:
        metadata[CheckKey.QUERY] = dg.MetadataValue.md(f"```sql\n{query}\n```")
    if work.refused_rows is not None:
        metadata[CheckKey.REFUSED_ROWS] = work.refused_rows
    if work.intent.accepted is not None and not result.passed:
        metadata[CheckKey.ACCEPTED] = str(work.intent.accepted)
    return metadata


def _record(columns: tuple[str, ...], row: tuple[Scalar, ...]) -> dg.TableRecord:
    """A row as Dagster has it, which knows no NULL."""
    values = ("NULL" if each is None else each for each in row)
    return dg.TableRecord(dict(zip(columns, values, strict=True)))


def _description(called: _Called) -> str:
    name, arguments = called
    given = ", ".join(f"{key} := {value}" for key, value in arguments)
    return f"{name} ({given})" if given else name


def _identifier(text: str) -> str:
    return _OTHER.sub("_", text).strip("_")[:_LONGEST] or "audit"
