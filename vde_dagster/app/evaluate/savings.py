"""What was not computed: recorded when it happens, and reported by environment and model.

Everything is derived from the state, so nothing here starts Spark.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.savings import Saved, Saving, SavingKind, SavingTotal, total_saved

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsReport:
    """What was not computed, sorted by environment, model and kind.

    Reused and adopted are counted as recorded since ``since``, or since ``recorded_since`` if that
    is later or ``since`` is None. Shared is what environments show or read now and others computed
    since ``since``, or what they first promoted since then.
    """

    environment: str | None
    since: datetime | None
    recorded_since: datetime
    savings: tuple[SavingTotal, ...]

    @property
    def totals(self) -> Mapping[SavingKind, Saved]:
        """The sum of each kind that occurs. The kinds overlap, so they are not added up."""
        by_kind = {
            kind: [each.saved for each in self.savings if each.kind is kind] for kind in SavingKind
        }
        return {kind: total_saved(each) for kind, each in by_kind.items() if each}


def saved_by(node: Node, entries: Sequence[LedgerEntry]) -> Saved:
    """What is saved by keeping entries of a model with rows."""
    return Saved.by(entries, by_interval=node.model.kind.is_by_interval)


def left_as_it_is(services: Services, binding: Binding, done: Iterable[Evaluated]) -> Saved:
    """What an environment's versions have loaded and a run did not compute."""
    computed = {each.work_id for each in done if not each.reused}
    keys = [binding.key(node.name) for node in binding.graph if node.model.kind.stores_rows]
    loaded = services.state.totals(keys, without=computed)
    return total_saved(each.without_time for each in loaded.values())


def record(
    services: Services,
    environment: str,
    occasion: str,
    done: Evaluated,
    kind: SavingKind = SavingKind.REUSED,
) -> None:
    """Record what an evaluation did not compute; nothing where it computed all of it.

    All other work is done by then, so numbers that cannot be recorded are lost and nothing fails.

    Args:
        services: The ports.
        environment: The evaluation's environment.
        occasion: The id of the evaluation, or of the plan that adopted a version.
        done: What the evaluation did.
        kind: Why it was not computed.
    """
    if done.saved is None or not done.saved.intervals:
        return
    saving = Saving(
        occasion=occasion, key=done.key, environment=environment, kind=kind, saved=done.saved
    )
    try:
        services.state.record_saving(saving)
    except (Conflict, OutcomeUnknown) as error:
        _LOG.warning("what was saved of %s is not recorded: %s", done.key, error)


def report_savings(
    services: Services, environment: str | None = None, *, since: datetime | None = None
) -> SavingsReport:
    """What was not computed in one environment, or in all of them.

    Args:
        services: The ports.
        environment: Its name; None for all of them.
        since: From when on; see `SavingsReport`.

    Raises:
        Refused: There is no such environment, and nothing is recorded of one.
    """
    recorded = services.state.savings(environment=environment, since=since)
    known = services.state.environments()
    if environment is not None and environment not in known and not recorded:
        raise Refused(
            f"there is no environment {environment}", advice="`vde environments` lists them."
        )
    names = known if environment is None else [environment]
    shared = (each for name in names for each in _shared(services, name, since=since))
    return SavingsReport(
        environment=environment,
        since=since,
        recorded_since=services.state.recording_savings_since(),
        savings=_in_order([*recorded, *shared]),
    )


def _shared(
    services: Services, environment: str, *, since: datetime | None
) -> Iterator[SavingTotal]:
    """What an environment shows of others; views have no rows of their own."""
    found = services.state.computed_elsewhere(environment, since=since)
    binding = bind_environment(services, environment) if found else None
    if binding is None:
        return
    for key, saved in found.items():
        model = binding.node(key.model).model
        if model.kind.is_view:
            continue
        yield SavingTotal(
            environment=environment,
            model=key.model,
            kind=SavingKind.SHARED,
            saved=saved if model.kind.is_by_interval else saved.without_time,
        )


def _in_order(savings: Iterable[SavingTotal]) -> tuple[SavingTotal, ...]:
    return tuple(sorted(savings, key=lambda each: each.order))
