"""Tokens of a plan's work: an equal token means that the same work would be tried again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from vde_dagster.app.services import Services
from vde_dagster.core.graph.render_model import tables_read
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.model.fingerprint import hash_parts
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.time.intervals import Interval, merge

_LENGTH: Final = 16


def work_tokens(
    services: Services, plan: Plan, left: Mapping[ModelName, Sequence[Interval]] | None = None
) -> dict[ModelName, str]:
    """A token for the work on each model that a plan fills.

    It depends on the version, the intervals and the state of the tables that are read (the number
    of the last change of a model's ledger, the Iceberg snapshot of a source), and on the work on
    models that are filled first. So new data is new work. The version's own rows are not part of
    it: if work leaves as much to do as before, the token stays the same.

    With what is ``left`` of some models' work, once that of the models upstream is done, the tokens
    are those of this work, which a later plan would have again.
    """
    work = {each.name: work_of(each) for each in plan.backfills} if left is None else left
    read = {name: sorted(tables_read(plan.graph, plan.graph[name])) for name in work}
    inputs = _input_tokens(services, plan, {name for each in read.values() for name in each})
    tokens: dict[ModelName, str] = {}
    for name, intervals in work.items():
        upstream = read[name]
        first = [tokens[each] for each in upstream if each in tokens and left is None]
        parts = (str(name), plan.snapshots[name].key.version, *map(str, intervals))
        tokens[name] = _short(*parts, *(inputs[each] for each in upstream), *first)
    return tokens


def plan_token(plan: Plan, tokens: Mapping[ModelName, str]) -> str:
    """A token for all that a plan does, from the `work_tokens` of the models that it fills."""
    return _short(
        plan.environment,
        str(plan.base_revision),
        *(text for each in plan.backfills for text in (str(each.name), tokens[each.name])),
        "views",
        *map(str, plan.dropped_views),
        "unfinished",
        *map(str, plan.unfinished),
    )


def work_of(change: ModelChange) -> tuple[Interval, ...]:
    """The intervals that a plan fills, or adds late rows to; for whatever reason."""
    late = change.staleness.intervals if change.staleness is not None else ()
    return merge((*change.to_evaluate, *late))


def _input_tokens(
    services: Services, plan: Plan, names: Iterable[ModelName]
) -> dict[ModelName, str]:
    loaded = services.state.holdings(each.key for each in plan.snapshots.values())
    found: dict[ModelName, str] = {}
    for name in names:
        if plan.graph[name].model.kind.is_source:
            table = services.source(name)
            last = None if table is None else table.iceberg_snapshot_id
            found[name] = f"{name} {'' if table is None else table.identity(last)} {last}"
        else:
            key = plan.snapshots[name].key
            found[name] = f"{name} {key.version} {loaded.get(key, NOTHING).number}"
    return found


def _short(*parts: str) -> str:
    return hash_parts(*parts)[:_LENGTH]
