"""What is loaded of versions and what a run built, from the state's ledger, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vde_dagster.cli.printing import as_text, table
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.time.intervals import Interval

if TYPE_CHECKING:
    from rich.table import Table

    from vde_dagster.app.binding import Binding
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.app.services import Services
    from vde_dagster.core.graph.graph import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """One model's version.

    ``intervals`` is None for a kind without intervals, ``rows`` for a view, ``dsha`` (the D-SHA
    of all that is loaded) for a version without loaded data. ``loaded`` is empty if ``intervals``
    is None. ``seconds`` is None if no unit of work is known. ``kept`` counts the intervals that a
    run did not compute again.
    """

    model: str
    kind: str
    version: str
    intervals: int | None
    rows: int | None
    dsha: str | None
    seconds: float | None
    loaded: tuple[Interval, ...] = ()
    kept: int = 0


def built_by_environment(services: Services, binding: Binding) -> tuple[Built, ...]:
    """What is loaded of every model of an environment, and how long computing it took."""
    nodes = [node for node in binding.graph if not node.model.kind.is_source]
    ledger = services.state.ledger(binding.key(node.name) for node in nodes)
    return tuple(
        replace(each, seconds=_seconds(services, ledger.get(binding.key(node.name), ())))
        for node, each in zip(nodes, _loaded(services, binding, nodes), strict=True)
    )


def built_by(services: Services, binding: Binding, done: Iterable[Evaluated]) -> tuple[Built, ...]:
    """What a run did: intervals, rows and seconds are its own, the D-SHA is of all loaded rows."""
    by_model: dict[str, list[Evaluated]] = {}
    for each in done:
        by_model.setdefault(str(each.key.model), []).append(each)
    nodes = [node for node in binding.graph if str(node.name) in by_model]
    holds = {each.model: each for each in _loaded(services, binding, nodes)}
    return tuple(_of_run(holds[name], units) for name, units in by_model.items() if name in holds)


def as_table(models: Sequence[Built], *, title: str) -> Table:
    """The models for people, a row each."""
    from rich.text import Text

    columns = ("model", "version", "intervals", "rows", "D-SHA", "seconds")
    numbers = ("intervals", "rows", "seconds")
    shown = table(*columns, title=title, right=numbers, whole=columns)
    for each in models:
        whole = "view" if each.kind == "VIEW" else "whole"
        shown.add_row(
            each.model,
            Text(each.version[:8], style="cyan"),
            whole if each.intervals is None else as_text(each.intervals),
            as_text(each.rows),
            Text((each.dsha or "")[:12], style="green"),
            "" if each.seconds is None else f"{each.seconds:.1f}",
        )
    return shown


def _loaded(services: Services, binding: Binding, nodes: Sequence[Node]) -> Iterator[Built]:
    """What is loaded of some models, without how long computing it took."""
    keys = [binding.key(node.name) for node in nodes]
    sums, holdings = services.state.sums(keys), services.state.holdings(keys)
    for node, key in zip(nodes, keys, strict=True):
        kind, found = node.model.kind, sums.get(key)
        digest = None if found is None else found.dsha if kind.stores_rows else found.last.digest
        loaded = holdings.get(key, NOTHING).computed if kind.is_partitioned else ()
        yield Built(
            model=str(node.name),
            kind=kind.keyword,
            version=key.version,
            intervals=(found.entries if found else 0) if kind.is_partitioned else None,
            rows=(found.rows if found else 0) if kind.stores_rows else None,
            dsha=digest,
            seconds=None,
            loaded=loaded,
        )


def _of_run(loaded: Built, units: Sequence[Evaluated]) -> Built:
    cells = {entry.interval for unit in units for entry in unit.entries}
    return replace(
        loaded,
        intervals=None if loaded.intervals is None else len(cells),
        rows=None if loaded.rows is None else sum(unit.rows for unit in units),
        seconds=round(sum(unit.seconds for unit in units), 3),
        kept=sum(unit.saved.intervals for unit in units if unit.saved is not None),
    )


def _seconds(services: Services, entries: Iterable[LedgerEntry]) -> float | None:
    """How long the units of work took that wrote these entries last."""
    works = services.state.works({each.work_id for each in entries}).values()
    took = [
        (work.finished_at - work.started_at).total_seconds()
        for work in works
        if work.finished_at is not None
    ]
    return round(sum(took), 3) if took else None
