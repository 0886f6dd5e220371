"""`vde status` for people: one screen, in groups, each with its next command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.text import Text

from vde_dagster.cli.printing import Printed
from vde_dagster.cli.spelling import whole
from vde_dagster.cli.upkeep.unlock import process_text
from vde_dagster.core.ledger.late.decision import reloading
from vde_dagster.core.ledger.late.pending import pending_text
from vde_dagster.core.listing import plural
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.planning.plan_text import bound_text, counted_ranges, kept_text, stale_text
from vde_dagster.core.time.intervals import format_instant, subtract
from vde_dagster.ports.state import version_resource

if TYPE_CHECKING:
    from datetime import datetime

    from vde_dagster.app.inspect.status import EnvironmentStatus
    from vde_dagster.cli.looks.status import Looked
    from vde_dagster.core.ledger.unit_of_work import UnitOfWork
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.planning.plan import LostTable
    from vde_dagster.core.time.intervals import Interval

Line = tuple[str, str]
"""A name, and what is said about it."""

_NAME: Final = 40
"""Names up to this length make a column."""
_LINES: Final = 12
"""How many lines of a group are shown."""
_REASON: Final = 160  # how much of a reason is shown


@dataclass(frozen=True, slots=True)
class _Group:
    """Lines below a title; ``end`` is what to do about all of them. Bad news is red."""

    title: str
    lines: Iterable[Line]
    end: str = ""
    is_bad: bool = False


def status_lines(looked: Looked) -> Iterator[Printed]:
    """What was found; groups without lines are left out. What matters most at night comes first."""
    status = looked.status
    if looked.is_up_to_date:
        at = _clock(status) if status.now and _time(status.now) != _time(status.at) else ""
        found = f"nothing due, nothing stale {_looked(status)}"
        yield f"{status.environment} is up to date{at}: {found}."
    else:
        yield f"Status of {status.environment}{_clock(status)} {_looked(status)}"
    for group in (*_wrong(looked), *_behind(looked), *_known(looked)):
        yield from _group_lines(looked, group)
    if not (status.is_behind or status.is_up_to_date or status.pauses):
        yield f"\nNothing is stale, and {status.environment} can compute nothing yet."
    if not status.is_promoting:
        yield _promotion(looked)


def _group_lines(looked: Looked, group: _Group) -> Iterator[Printed]:
    lines = list(group.lines)
    if not lines:
        return
    count = f" ({len(lines):,})" if len(lines) > _LINES else ""
    yield Text(f"\n{group.title}{count}", style="bold red" if group.is_bad else "bold")
    width = min(_NAME, max(len(name) for name, _ in lines[:_LINES]))
    for name, text in lines[:_LINES]:
        yield f"  {name.ljust(width)}  {whole(text, looked.folder)}".rstrip()
    if len(lines) > _LINES:
        every = looked.command("status", looked.status.environment, "--format", "json")
        yield f"  and {len(lines) - _LINES:,} more: {every} has all of them."
    if group.end:
        yield f"  {group.end}"


def _promotion(looked: Looked) -> str:
    promoted = looked.operations.shown
    by = f" by {promoted.author}" if promoted.author else ""
    taken = f", taken from {promoted.taken}" if promoted.taken is not None else ""
    return (
        f"\nShows revision {promoted.revision}, promoted at {_time(promoted.promoted_at)}{by} "
        f"(plan {promoted.plan_id[:8]}{taken}). "
        f"{looked.command('history', promoted.name)} lists all promotions."
    )


def _wrong(looked: Looked) -> Iterator[_Group]:
    """What went wrong, or is missing any more."""
    status, found, run = looked.status, looked.operations, looked.run()
    failed = [each for each in looked.failed if not each.refusal]
    lost = [(each.node.name, each.lost) for each in status.models if each.lost is not None]
    yield _Group(
        "Unfinished promotion",
        _begun(looked),
        f"{run} finishes it, or reports what blocks it.",
        is_bad=True,
    )
    yield _Group(
        "Failed",
        [
            (str(each.intent.key.model), f"{_worked_on(looked, each)}: {_short(each.reason)}")
            for each in failed
        ],
        f"{_retried(looked, failed)} retries the intervals that are still missing.",
        is_bad=True,
    )
    yield _Group(
        "Refused, and not computed",
        [  # with all of the advice: it is what helps, and a run is not
            (
                str(each.intent.key.model),
                f"{_worked_on(looked, each)}: {' '.join(each.refusal.split())}",
            )
            for each in looked.refusals
        ],
        f"After that, retry with {_retried(looked, looked.refusals)}.",
        is_bad=True,
    )
    yield _Group(
        "Failed an audit, and not published",
        _refused(looked),
        f"After correcting source rows, retry with {_retried(looked, found.refused)}. "
        f"After correcting the model or its audit, {looked.command('plan', status.environment)}.",
        is_bad=True,
    )
    gone = [(str(name), _gone(looked, each)) for name, each in lost if not each.damage]
    yield _Group("Missing tables and views", gone, is_bad=True)
    damaged = [(str(name), each.told) for name, each in lost if each.damage]
    yield _Group("Not as recorded", damaged, is_bad=True)
    yield _Group(
        "Missing or replaced views",
        [(str(name), "") for name in status.dropped_views],
        f"{run} creates them. First drop anything that another program created under their names.",
        is_bad=True,
    )
    yield _Group("Late rows that cannot be loaded", _stopped(looked), is_bad=True)


def _behind(looked: Looked) -> Iterator[_Group]:
    """What is to be computed, and what runs leave as it is."""
    run, environment, models = looked.run(), looked.status.environment, looked.status.models
    following = [
        (str(each.node.name), counted_ranges(each.node, each.staleness.following))
        for each in models
        if each.staleness is not None and each.staleness.following
    ]
    running, ended = _unfinished(looked)
    yield _Group("Running", running)
    yield _Group("Started by an earlier process", ended, f"{run} finishes or reverts it.")
    yield _Group("Late or changed inputs", _stale(looked), f"{run} computes them.")
    late = _late_status(looked) if _has_unrecorded_late_rows(looked) else ""
    yield _Group("Behind, and not computed", _kept(looked, elsewhere=False), late)
    yield _Group("Behind, and left to the owning environment", _kept(looked, elsewhere=True))
    yield _Group(
        "Downstream models to check",
        following,
        f"{run} checks them after their upstream models.",
    )
    yield _Group(
        "Marked for recomputation",
        _outdated(looked),
        f"{run} computes those that {environment} owns.",
    )
    yield _Group("Due", _due(looked), f"{run} computes them.")
    waits = [(str(each.node.name), "; ".join(map(str, each.waits))) for each in models]
    yield _Group("Waits", [(name, text) for name, text in waits if text])


def _known(looked: Looked) -> Iterator[_Group]:
    """What a user has to know, and a run does not change."""
    yield _Group("Paused: not computed, and not checked", _paused(looked))
    yield _Group(
        "Pending late rows",
        [(str(each.name), pending_text(each.pending)) for each in looked.operations.pending],
        _late_status(looked),
    )
    yield _Group("Starts later, and is never promoted", _bounded(looked))
    lists = f"{looked.command('unlock')} lists all leases."
    yield _Group("Leases of processes", _held(looked), lists)


def _late_status(looked: Looked) -> str:
    command = looked.command("late", "status", "--env", looked.status.environment)
    return f"{command} shows the sources, and what a session would do."


def _looked(status: EnvironmentStatus) -> str:
    models = plural(status.looked_at, "model")
    return f"(checked {models} at {_time(status.at)})"


def _clock(status: EnvironmentStatus) -> str:
    return f" at {_time(status.now)}" if status.now else ", whose clock is not set yet"


def _time(when: datetime) -> str:
    return format_instant(when.replace(second=0, microsecond=0))


def _begun(looked: Looked) -> Iterator[Line]:
    if looked.status.is_promoting:
        shown = looked.operations.shown
        began = f"started at {_time(shown.promoted_at)} and not finished"
        yield f"revision {shown.revision}", f"{began}: views may still be those of the previous one"


def _refused(looked: Looked) -> Iterator[Line]:
    for work in looked.operations.refused:
        name = str(work.intent.key.model)
        audits = tuple(dict.fromkeys(each.name for each in work.audits if each.stops))
        rows = looked.command("audits", name, "--env", work.intent.environment)
        accepted = [word for each in audits for word in ("--accept", each)]
        anyway = looked.command("publish", work.intent.work_id, *accepted, "--reason", "TEXT")
        what = f"{_worked_on(looked, work)}, by {', '.join(audits)} (work {work.intent.work_id})"
        yield name, f"{what}: {rows} shows the rows, and {anyway} publishes them anyway"


def _refused_intervals(looked: Looked) -> dict[ModelName, list[Interval]]:
    """What audits refused, which has a group of its own."""
    found: dict[ModelName, list[Interval]] = {}
    for work in looked.operations.refused:
        found.setdefault(work.intent.key.model, []).extend(work.intent.intervals)
    return found


def _worked_on(looked: Looked, work: UnitOfWork) -> str:
    """The intervals of a unit of work, and when and where it was given up."""
    intent = work.intent
    what = counted_ranges(looked.graph[intent.key.model], intent.intervals)
    what = f"a session, {what}" if intent.session is not None else what
    other = f" by {intent.environment}" if intent.environment != looked.status.environment else ""
    at = f"at {_time(work.finished_at or work.started_at)}"
    return f"{what}{other}, {at}" if what or other else at


def _short(reason: str) -> str:
    """The first line of a reason; JSON has all of it."""
    lines = reason.strip().splitlines() or ["no reason is recorded"]
    is_cut = len(lines) > 1 or len(lines[0]) > _REASON
    return lines[0][:_REASON].rstrip(" .:") + (" ..." if is_cut else "")


def _retried(looked: Looked, works: Iterable[UnitOfWork]) -> str:
    """The commands that try again what was given up: one for each environment that computes it."""
    commands = dict.fromkeys(looked.filling(work.intent.key) for work in works)
    return " and ".join(commands)


def _gone(looked: Looked, lost: LostTable) -> str:
    how = f"{looked.run()} recomputes its rows"
    if lost.why:
        how = f"{lost.why}: restore it, or write another `stamp`"
    elif lost.owner:
        how = f"{looked.command('plan', lost.owner, '--auto-apply')} rebuilds it"
    return f"its {lost.what} {lost.table} is missing: {how}"


def _unfinished(looked: Looked) -> tuple[list[Line], list[Line]]:
    """What a process is working on, and what one has left."""
    live = {e.resource: e for e in looked.operations.leases if not e.is_over}
    running: list[Line] = []
    ended: list[Line] = []
    for each in looked.status.models:
        if each.is_unfinished:
            held = live.get(version_resource(VersionKey(each.node.name, each.version)))
            if held is not None:
                running.append((str(each.node.name), f"{process_text(held)} is working on it"))
            else:
                ended.append((str(each.node.name), "work was started and not finished"))
    return running, ended


def _stopped(looked: Looked) -> Iterator[Line]:
    for each in looked.operations.stopped:
        name = str(each.name)
        reload = looked.command("catch-up", name, "--env", looked.status.environment, "--reload")
        environment = looked.status.environment
        advice = each.stop.advice.replace(reloading(each.name, environment), reload)
        yield name, f"{each.stop.reason}. {advice}"


def _stale(looked: Looked) -> Iterator[Line]:
    """The stale intervals that are computed for themselves, not only since others are."""
    refused = _refused_intervals(looked)
    for each in looked.status.models:
        found = each.staleness
        named = refused.get(each.node.name, ())
        own = subtract(found.intervals, [*found.following, *named]) if found is not None else ()
        if found is not None and own and not looked.is_refused(each.node.name):
            yield str(each.node.name), stale_text(each.node, found, own)


def _kept(looked: Looked, *, elsewhere: bool) -> Iterator[Line]:
    """What is behind, and is computed by no run of this environment."""
    for each in looked.status.models:
        found = each.staleness
        is_kept = found is not None and (bool(found.kept) or not found.intervals)
        if found is not None and is_kept and (each.owner is not None) == elsewhere:
            yield str(each.node.name), kept_text(each.node, found)


def _has_unrecorded_late_rows(looked: Looked) -> bool:
    """Whether late rows are among what is behind that no session has recorded as pending yet."""
    recorded = {each.name for each in looked.operations.pending}
    return any(
        each.owner is None and each.staleness is not None and each.staleness.kept
        for each in looked.status.models
        if each.node.model.late_data is not None and each.node.name not in recorded
    )


def _outdated(looked: Looked) -> Iterator[Line]:
    for each in looked.operations.outdated:
        if looked.is_refused(each.name):
            continue
        text = counted_ranges(looked.graph[each.name], each.intervals)
        filler = looked.operations.fillers.get(each.key)
        by = f": {looked.command(*filler.words)} computes it" if filler is not None else ""
        yield str(each.name), f"{text}{by}"


def _due(looked: Looked) -> Iterator[Line]:
    """What is due, without what is named as marked, or as refused by an audit, already."""
    marked = {each.name: each.intervals for each in looked.operations.outdated}
    refused = _refused_intervals(looked)
    for each in looked.status.models:
        name = each.node.name
        due = subtract(each.due, [*marked.get(name, ()), *refused.get(name, ())])
        if due and not looked.is_refused(each.node.name):
            yield str(each.node.name), counted_ranges(each.node, due)


def _paused(looked: Looked) -> Iterator[Line]:
    for each in looked.status.pauses:
        pause, environment = each.pause, looked.status.environment
        resume = looked.command("resume", str(pause.model), "--env", environment)
        does = "waits" if len(each.waiting) == 1 else "wait"
        waits = f"; {', '.join(map(str, each.waiting))} {does} for it" if each.waiting else ""
        yield str(pause.model), f"{pause}{waits}. {resume} resumes it"


def _bounded(looked: Looked) -> Iterator[Line]:
    """What begins later than its model, and what shows all of it."""
    name = looked.status.environment
    for each in looked.operations.bounded:
        if each.bounded is not None:
            whole = f"{looked.command('plan', name)} computes it from its start"
            taken = f"{looked.command('promote', name)} applies the change in prod from then on"
            yield (
                str(each.name),
                f"{bound_text(each.bounded)}: {taken if each.bounded.is_preview else whole}",
            )


def _held(looked: Looked) -> Iterator[Line]:
    for each in looked.operations.leases:
        who = f"{each.holder}, {process_text(each)}"
        until = f"until {each.expires_at:%H:%M:%S} UTC unless renewed"
        if each.is_over:
            yield each.resource, f"{who}: ended or expired, so another process can take it"
        elif each.runs_here:
            yield each.resource, f"{who}, {until}; it runs on this machine"
        else:
            free = looked.command("unlock", each.resource, "--gone", process_text(each))
            yield each.resource, f"{who}, {until}; if that process has ended, run {free}"
