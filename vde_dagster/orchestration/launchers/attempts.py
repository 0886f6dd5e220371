"""Runs that a sensor requested for the same work: how many ended, and when the next may start.

A run key only keeps the same work from being requested twice while its run is under way. If a run
ended and left the work undone, another one is requested, after a pause that grows. Run keys end in
the number of the attempt; those before count also once their runs are deleted, since Dagster starts
nothing for a key that a run has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.evaluate.refusals import still_refused
from vde_dagster.app.plan.work_tokens import work_of, work_tokens
from vde_dagster.app.services import Services
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval, format_instant, subtract
from vde_dagster.orchestration._unpublished import RUN_KEY_TAG
from vde_dagster.orchestration.jobs.plan_events import PlanEvents
from vde_dagster.orchestration.keys import RunTag

SECONDS: Final = 30
"""How often a sensor looks."""
LONGEST_PAUSE: Final = timedelta(hours=1)
STARTING: Final = timedelta(minutes=10)
"""How long a run may take from its start until it has its lease."""
ENDED: Final = (
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """The runs for one piece of work so far.

    ``ended`` counts those that ended, the last one at ``last_end`` (UTC; None for none).
    """

    ended: int = 0
    last_end: datetime | None = None

    @property
    def not_before(self) -> datetime | None:
        """When the next one may start; None for at once.

        The first failure is tried again at once; then the pause doubles, up to an hour.
        """
        if self.last_end is None or self.ended <= 1:
            return None
        pause = timedelta(seconds=SECONDS * 2 ** min(self.ended - 1, 10))
        return self.last_end + min(pause, LONGEST_PAUSE)

    def pause(self, now: datetime) -> str:
        """For people, until when the next one waits; empty where it does not."""
        again = self.not_before
        if again is None or again <= now:
            return ""
        return f"after {format_instant(again.replace(microsecond=0))} UTC"


def is_alive(run: dg.RunRecord, *, is_held: bool) -> bool:
    """Whether a run waits to be started, or works.

    Dagster does not learn that a process was killed. A run that works has its lease.
    """
    status = run.dagster_run.status
    if status in ENDED or is_held or status not in _STARTED:
        return status not in ENDED
    began = datetime.fromtimestamp(run.start_time, UTC) if run.start_time else run.create_timestamp
    return datetime.now(UTC) < began + STARTING


_STARTED: Final = (
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)


def ended_attempts(records: Sequence[dg.RunRecord], *, work: str = "") -> Attempts:
    """These runs, which ended or were killed, as attempts at the same work.

    ``work`` is what their run keys name it, before the number of the attempt; empty if that is not
    asked for.
    """
    numbers = [_number(each, work) for each in records] if work else []
    ended = max(len(records), *numbers, 0)
    return Attempts(ended=ended, last_end=max(map(_ended_at, records), default=None))


def _number(record: dg.RunRecord, work: str) -> int:
    """The number of an attempt by its run key; 0 if it has none."""
    key, _, number = record.dagster_run.tags.get(RUN_KEY_TAG, "").rpartition(":")
    return int(number) if number.isdecimal() and key.endswith(f":{work}") else 0


def _ended_at(record: dg.RunRecord) -> datetime:
    """When a run ended, or if that is not known, when it was requested (UTC)."""
    if record.end_time is None:
        return record.create_timestamp
    return datetime.fromtimestamp(record.end_time, UTC)


def pauses_of(
    services: Services,
    environment: str,
    runs: Sequence[dg.RunRecord],
    tokens: Mapping[ModelName, str],
) -> Iterator[tuple[ModelName, str]]:
    """The models whose work earlier runs have left undone, and when the same is tried again."""
    undone = [(each, _undone(each)) for each in runs if RunTag.UNDONE in each.dagster_run.tags]
    failed = {name for _, left in undone for name in left}
    binding = bind_environment(services, environment) if failed else None
    for name, token in tokens.items():
        if str(name) not in failed:
            continue
        tried = ended_attempts([run for run, left in undone if left.get(str(name)) == token])
        refused = _refused(services, binding, name)
        pause = tried.pause(datetime.now(UTC))
        if refused:
            yield name, f"{refused}; `vde run {environment}` retries it anyway"
        elif pause:
            yield name, f"{tried.ended} runs did not compute it; it is retried {pause}"


def _refused(services: Services, binding: Binding | None, name: ModelName) -> str:
    is_shown = binding is not None and name in binding.graph
    return still_refused(services, binding, name) if binding is not None and is_shown else ""


def note_undone(
    services: Services, context: dg.OpExecutionContext, plan: Plan, events: PlanEvents
) -> None:
    """Tag a run with those of its models that it began and that still have work.

    What is noted is what the next run would do: the work is the same only if no input changes.
    """
    done: dict[ModelName, list[Interval]] = {}
    for each in events.done:
        done.setdefault(each.key.model, []).extend(entry.interval for entry in each.entries)
    begun = (each for each in plan.backfills if each.name in events.begun)
    left = {each.name: subtract(work_of(each), done.get(each.name, ())) for each in begun}
    left = {name: intervals for name, intervals in left.items() if intervals}
    with suppress(VdeError):  # then the run counts as an attempt at all of its work
        tokens = work_tokens(services, plan, left)
        if tokens:
            written = json.dumps({str(name): tokens[name] for name in sorted(tokens)})
            context.instance.add_run_tags(context.run_id, {RunTag.UNDONE: written})


def _undone(run: dg.RunRecord) -> Mapping[str, str]:
    found: dict[str, str] = json.loads(run.dagster_run.tags[RunTag.UNDONE])
    return found
