"""What the parents of a model have loaded, and what they lack of the ranges that are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final, TypeVar

from vde_dagster.app.binding import Binding
from vde_dagster.app.services import Services, valid_to_of
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.traces import LedgerTokens
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import (
    WHOLE,
    InputRange,
    WholeTable,
    together,
)
from vde_dagster.core.time.intervals import ALWAYS, Interval, common, due, format_instant, subtract
from vde_dagster.core.time.schedule import lacking
from vde_dagster.ports.catalog import TableState
from vde_dagster.ports.state import State

_MANY: Final = 1_000
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentLedgers:
    """What the ledger says of models, and the Iceberg snapshots at which exactly that is true.

    ``holdings`` has each ledger as a whole, and ``tokens`` those of the requested ranges.
    """

    holdings: Mapping[ModelName, Holding]
    tokens: Mapping[ModelName, LedgerTokens]
    heads: Mapping[ModelName, int | None]


def _with_each_unit(
    binding: Binding, node: Node, interval: Interval, ranges: Mapping[ModelName, InputRange]
) -> dict[ModelName, InputRange]:
    """What is read, with what each unit reads by itself, which its trace records.

    For many units the whole table is taken.
    """
    if not any(isinstance(each, tuple) for each in ranges.values()):
        return dict(ranges)
    unit, is_by_unit = node.model.unit, node.model.kind.is_by_interval
    units = list(islice(unit.cells(unit.widen(interval)), _MANY)) if is_by_unit else [interval]
    if len(units) == _MANY:
        return dict.fromkeys(ranges, WHOLE)
    reads = reads_of(binding.graph, node.name)
    alone = [reads.at(each) for each in units]
    return {
        name: together([each, *(read.get(name, WHOLE) for read in alone)])
        for name, each in ranges.items()
    }


def read_ledgers(
    services: Services, binding: Binding, ranges: Mapping[ModelName, InputRange]
) -> ParentLedgers:
    """What is recorded of ranges of some models; sources among them are skipped."""
    keys = {
        name: binding.key(name) for name in ranges if not binding.graph[name].model.kind.is_source
    }
    times = {
        keys[name]: None if isinstance(each, WholeTable) else each
        for name, each in ranges.items()
        if name in keys
    }

    def read() -> tuple[Mapping[VersionKey, Holding], Mapping[ModelName, LedgerTokens]]:
        holdings = services.state.holdings(times)
        found = {key: services.state.entries_within(key, each) for key, each in times.items()}
        return holdings, {
            name: LedgerTokens(found[key], ranges[name]) for name, key in keys.items()
        }

    (holdings, tokens), heads = with_heads(services.state, tuple(times), read)
    return ParentLedgers(
        holdings={name: holdings.get(key, NOTHING) for name, key in keys.items()},
        tokens=tokens,
        heads={name: heads.get(key) for name, key in keys.items()},
    )


def with_heads(
    state: State, keys: Sequence[VersionKey], read: Callable[[], _Read]
) -> tuple[_Read, Mapping[VersionKey, int]]:
    """What is read of versions, and the Iceberg snapshots at which exactly that is true (rule R3).

    Another commit may be recorded between two reads, so they are repeated until they agree.
    """
    heads = state.heads(keys)
    while True:
        found = read()
        after = state.heads(keys)
        if after == heads:
            return found, heads
        heads = after


def refuse_gaps(
    binding: Binding,
    node: Node,
    interval: Interval,
    *,
    ranges: Mapping[ModelName, InputRange],
    ledgers: ParentLedgers,
    sources: Mapping[ModelName, TableState],
) -> None:
    """Refuse an interval whose inputs are not complete, and name what is missing.

    A model that is bounded needs nothing from before its bound.

    Raises:
        Refused: A model lacks something, or a source is not complete up to there.
    """
    lacking = [
        gap
        for name, holding in sorted(ledgers.holdings.items())
        if name in ranges
        and (gap := _gap(binding.graph[name], ranges[name], holding, interval.end, node))
    ]
    behind = [
        f"the source {name} is complete only up to {format_instant(complete)}, by its property "
        "`vde.valid-to`"
        for name in sorted(ranges)
        if binding.graph[name].model.kind.is_source
        and (complete := valid_to_of(sources[name])) is not None
        and complete < interval.end != ALWAYS.end
    ]
    if lacking or behind:
        first = (
            f"Load or evaluate the missing intervals first; `vde plan {binding.environment}` shows "
            "which can be filled."
        )
        later = "Set the property when the source has more, or remove it."
        raise Refused(
            f"{node.name} cannot be evaluated for {interval}: {'; '.join([*lacking, *behind])}",
            advice=" ".join([*([first] if lacking else []), *([later] if behind else [])]),
        )


def _gap(
    node: Node,
    wanted: InputRange,
    holdings: Holding,
    until: datetime,
    reader: Node,
) -> str:
    """What a parent lacks of a range, for people; empty if all of it is loaded.

    To read a whole table for a time up to ``until``, all that is due of it by then has to be loaded
    and all of its rows have to be computed ones (`vde_dagster.core.ledger.entries.EntryStatus`).
    """
    if not holdings.recorded:
        return f"{node.name} is not loaded yet"
    if isinstance(wanted, WholeTable):
        if holdings.computed != holdings.recorded:
            again = subtract(holdings.recorded, holdings.computed)
            times = f" for {', '.join(map(str, again))}" if node.model.kind.is_by_interval else ""
            return f"{node.name} must be evaluated first{times}"
        due_until = due(node.model.start, until, node.model.unit)
        # what does not depend on time takes what there is
        if until == ALWAYS.end or not node.model.kind.is_by_interval or due_until is None:
            return ""
        wanted = (due_until,)
    missing = common(wanted, lacking(node.model, holdings.computed, since=reader.bounded_from))
    return f"{node.name} is not loaded for {', '.join(map(str, missing))}" if missing else ""
