"""What a unit of work read, wrote and kept, as one line for a log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.late.pending import pending_text
from vde_dagster.core.listing import plural
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import InputRange, WholeTable
from vde_dagster.core.time.intervals import ALWAYS, Interval, format_instant
from vde_dagster.ports.engine import EngineProgress, StageProgress

_RANGES: Final = 3


def unit_text(services: Services, binding: Binding, done: Evaluated) -> str:
    """What a unit of work did: inputs with their ranges, rows, Iceberg snapshots, what was kept.

    Reads the state once, and starts no Spark.
    """
    node = binding.node(done.key.model)
    said = [*_read(services, binding, node, done), *_result(node, done)]
    return f"{_head(node.name, done.interval)}: {'; '.join(said)}"


def unit_to_do(binding: Binding, name: ModelName, interval: Interval) -> str:
    """What an evaluation of a model is about to read for an interval, from the model alone."""
    inputs = ", ".join(_inputs(binding, name, interval, {}))
    return f"{_head(name, interval)}: {f'reads {inputs}' if inputs else 'reads no table'}"


def _head(name: ModelName, interval: Interval) -> str:
    return str(name) if interval == ALWAYS else f"{name}, {_interval(interval)}"


def _read(services: Services, binding: Binding, node: Node, done: Evaluated) -> Iterator[str]:
    if done.session is not None:
        yield from _session(done.session)
        return
    work = None if done.reused else services.state.work(done.work_id)
    pinned = work.intent.inputs if work is not None else {}
    inputs = ", ".join(_inputs(binding, node.name, done.interval, pinned))
    if inputs:
        yield f"{'reads' if done.reused else 'read'} {inputs}"
    elif node.model.kind.is_seed:
        yield "read its file"


def _inputs(
    binding: Binding, name: ModelName, interval: Interval, pinned: Mapping[ModelName, int | None]
) -> Iterator[str]:
    ranges = reads_of(binding.graph, name).at(interval)
    for parent, each in sorted(ranges.items()):
        at = pinned.get(parent)
        is_source = binding.graph[parent].model.kind.is_source  # of these no ranges are known
        what = str(parent) if is_source else _range(parent, each)
        yield f"{what}{f' at Iceberg snapshot {at}' if at is not None else ''}"


def _range(name: ModelName, read: InputRange) -> str:
    if isinstance(read, WholeTable):
        return f"all of {name}"
    if len(read) > _RANGES:
        whole = Interval(read[0].start, read[-1].end)
        return f"{len(read):,} ranges of {name} from {_interval(whole)}"
    return f"{name} {_ranges(read)}" if read else f"nothing of {name}"


def _ranges(times: Sequence[Interval]) -> str:
    if len(times) > _RANGES:
        return f"{len(times):,} ranges from {_interval(Interval(times[0].start, times[-1].end))}"
    return " and ".join(map(_interval, times))


def _session(session: Load) -> Iterator[str]:
    """What a catch-up session found in its sources, and did."""
    for each in session.sources:
        before, rows = each.before, sum(uri.rows for uri in each.evidence)
        since = f"from Iceberg snapshot {before.iceberg_snapshot_id} " if before is not None else ""
        partitions = plural(len(each.evidence), "partition")
        late = f": {plural(rows, 'row')} in {partitions}" if each.evidence else ""
        yield f"read {each.name} {since}to Iceberg snapshot {each.after.iceberg_snapshot_id}{late}"
    if session.rewrite:
        yield f"overwrote loaded rows, because {session.rewrite}"
    if session.fill:
        of = f"{session.only.name} " if len(session.sources) == 1 else ""
        yield f"loaded completely: {of}{_ranges(session.fill)}"
    if session.pending:
        yield f"left pending: {pending_text(session.pending)}"


def _result(node: Node, done: Evaluated) -> Iterator[str]:
    because = f": {done.reason}" if done.reason else ""
    if done.reused:
        yield f"reused, nothing was computed{because}"
    elif node.model.kind.is_view:
        yield f"created the view{because}"
    else:
        at = f" as Iceberg snapshot {done.iceberg_snapshot_id}" * bool(done.iceberg_snapshot_id)
        yield f"wrote {plural(done.rows, 'row')}{at}{because}"
    if done.saved is not None:
        rows = plural(done.saved.rows, "row")
        yield f"kept {plural(done.saved.intervals, 'interval')} with {rows}"
    if not done.reused:
        yield f"took {done.seconds:.1f} s"


def _interval(interval: Interval) -> str:
    return f"{format_instant(interval.start)} to {format_instant(interval.end)}"


LOOK_SECONDS: Final = 1.0
"""How often it is looked what the engine is doing."""
_LAST_LOOK_SECONDS: Final = 5.0
"""How long the end waits for a look that is under way; an engine may hang."""
_MOST_STAGES: Final = 3


@contextmanager
def watched(
    progress: Callable[[], EngineProgress | None],
    seen: Callable[[EngineProgress], None],
    *,
    seconds: float = LOOK_SECONDS,
) -> Iterator[None]:
    """While a ``with`` block lasts, look what the engine is doing, in a thread of its own.

    Args:
        progress: What the engine is doing (`vde_dagster.ports.engine.Engine.progress`).
        seen: Called with each answer, by that thread.
        seconds: How often it is looked.
    """
    over = threading.Event()

    def watch() -> None:
        while not over.wait(seconds):
            found = progress()
            if found is not None:
                seen(found)

    watching = threading.Thread(target=watch, name="what the engine is doing", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join(_LAST_LOOK_SECONDS)


def progress_text(progress: EngineProgress, *, most: int = _MOST_STAGES) -> str:
    """What an engine is doing, in one line that names at most so many stages; empty for nothing."""
    if progress.waits_for:
        return f"Spark waits for {progress.waits_for}"
    if not progress.stages:
        return ""
    shown = progress.stages[:most]
    more = len(progress.stages) - len(shown)
    also = f"; and {more} more stage{'s' if more > 1 else ''}" if more else ""
    return f"Spark: {'; '.join(map(_stage, shown))}{also}"


def _stage(stage: StageProgress) -> str:
    failed = f", {stage.failed} failed" if stage.failed else ""
    return f"stage {stage.stage} has done {stage.done} of {stage.tasks} tasks{failed}"
