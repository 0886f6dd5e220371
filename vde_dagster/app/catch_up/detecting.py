"""Whether a version with late data is behind its source (seed 003), from metadata and state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.stateful import stateful_question
from vde_dagster.app.inputs.input_look import input_look
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import query_over_tables
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.late.deciding import decide
from vde_dagster.core.ledger.late.decision import Decision, NothingToLoad, addressed
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.question import Question, StatelessQuestion, WithoutTimes
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.readiness import held_back
from vde_dagster.core.sql.reads.input_ranges import affected
from vde_dagster.core.sql.row_local import is_by_time
from vde_dagster.core.time.intervals import Interval, due, subtract
from vde_dagster.project.signals import ready_intervals


def late_models(binding: Binding) -> tuple[ModelName, ...]:
    """The models of an environment that load late data by sessions."""
    return tuple(node.name for node in binding.graph if node.model.late_data is not None)


def detect(
    services: Services,
    binding: Binding,
    name: ModelName,
    *,
    reload: bool = False,
    within: Interval | None = None,
    asked: Interval | None = None,
    seen: Seen | None = None,
) -> Decision:
    """What a session of this model would do now. Starts no Spark and writes nothing.

    See `question` for the arguments and for what is raised.
    """
    found = question(services, binding, name, reload=reload, within=within, asked=asked, seen=seen)
    if isinstance(found, NothingToLoad):
        return found
    return addressed(decide(found), name, binding.environment)


def question(
    services: Services,
    binding: Binding,
    name: ModelName,
    *,
    reload: bool = False,
    within: Interval | None = None,
    asked: Interval | None = None,
    seen: Seen | None = None,
) -> Question | NothingToLoad:
    """All that a session of this model is decided from, by metadata and state.

    There is none yet if the project's clock has no time.

    With ``reload`` it is decided as if there was no high-water mark: everything is overwritten from
    the source as it is now, and its current state becomes the mark. With ``within`` no interval
    outside of this time is started; loaded intervals are brought up to date all the same. An
    interval that the model's signals hold back is not started either, unless it is ``asked`` for.

    Raises:
        Refused: The model has no late data, or a signal does not exist.
        EvaluationFailed: A signal raised, or returned something other than intervals.
    """
    node = binding.node(name)
    if node.model.late_data is None:
        raise Refused(f"{name} has no late_data property, so it has no sessions.")
    seen = seen or Seen.above(services, binding, [name])
    now = seen.now
    if now is None:
        reason = (
            "the project's clock is not set yet: one of its sources is missing, or does not say "
            "up to when it is complete"
        )
        return NothingToLoad(reason=reason, pending=seen.pending.get(binding.key(name), ()))
    if node.model.stateless is None:
        return stateful_question(seen, node, now, reload=reload, within=within, asked=asked)
    return _stateless(seen, node, now, reload=reload, within=within, asked=asked)


def _stateless(
    seen: Seen,
    node: Node,
    now: datetime,
    *,
    reload: bool,
    within: Interval | None,
    asked: Interval | None,
) -> StatelessQuestion:
    services, binding = seen.services, seen.binding
    policy, key = node.model.stateless, binding.key(node.name)
    assert policy is not None, f"{node.name} has sessions in stateless mode"
    source = policy.sources[0]
    mark = None if reload else services.state.marks(key).get(source)
    history = services.catalog.history(source, mark)
    ends = [each for each in (now, node.model.end, within.end if within else None) if each]
    first = within.start if within is not None and node.time_axis is not None else None
    start = max(node.model.start, first) if first is not None else node.model.start
    holding = seen.holding(key)
    loaded = holding.written
    return StatelessQuestion(
        policy=replace(policy, catchup_threshold=None) if reload else policy,
        mark=mark,
        history=history,
        loaded=loaded,
        touched=_touched(services, binding, node, mark, loaded) if history.changes else None,
        pending=seen.pending.get(key, ()),
        start=start,
        now=min(ends),
        unit=node.model.unit,
        held_back=_held_back(
            services, node, start, min(ends), [*loaded, *([asked] if asked else [])]
        ),
        without_times=(
            None
            if node.time_axis is not None
            else _without_times(binding, node, holding, reload=reload)
        ),
    )


def _without_times(binding: Binding, node: Node, holding: Holding, *, reload: bool) -> WithoutTimes:
    query = query_over_tables(binding.graph, node.name)
    return WithoutTimes(
        by_time=query is not None and is_by_time(query),
        outdated=reload or bool(holding.outdated),
        may_rebuild=reload or not node.model.kind.disable_restatement,
    )


def _touched(
    services: Services,
    binding: Binding,
    node: Node,
    mark: HighWaterMark | None,
    loaded: Sequence[Interval],
) -> tuple[Interval, ...] | None:
    """The loaded time that rows of the source's new files can belong to; None if not known."""
    if mark is None or not loaded:
        return None
    states = InputStates(services=services, graph=binding.graph, snapshots=binding.snapshots)
    look = input_look(binding.graph, states, node, ()).by_times()
    if mark.source not in look.bounds:
        return None
    column = look.bounds[mark.source].column
    changed = states.changed_since(mark.source, mark.iceberg_snapshot_id, column=column)
    if changed is None:
        return None
    within = Interval(loaded[0].start, loaded[-1].end)
    return affected(look.reads, mark.source, changed, unit=node.model.unit, within=within)


def _held_back(
    services: Services, node: Node, start: datetime, now: datetime, let_pass: Sequence[Interval]
) -> tuple[Interval, ...]:
    """The due intervals that the signals of a model hold back."""
    whole = due(start, now, node.model.unit) if node.model.signals else None
    if whole is None:
        return ()
    execution_time = services.execution_time
    return held_back(
        node.model,
        subtract([whole], let_pass),
        lambda model, units: ready_intervals(model, units, execution_time=execution_time),
    )


def loaded_late(services: Services, key: VersionKey) -> tuple[Interval, ...]:
    """The intervals that no session begins any more: with rows, or recorded without any."""
    return services.state.holdings([key]).get(key, NOTHING).recorded
