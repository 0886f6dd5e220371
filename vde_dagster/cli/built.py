"""What is loaded of versions and what a run built, from the state's ledger, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vde_dagster.cli.printing import as_text, instant
from vde_dagster.core.ledger.dsha import total
from vde_dagster.core.ledger.entries import LedgerEntry, loaded_dsha, loaded_intervals
from vde_dagster.core.time.intervals import Interval

if TYPE_CHECKING:
    from rich.box import Box
    from rich.table import Table

    from vde_dagster.app.binding import Binding
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.app.services import Services
    from vde_dagster.core.graph.graph import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """One model's version.

    ``intervals`` is None for a kind without intervals, ``rows`` for a view, ``digest`` (the D-SHA
    of all that is loaded) for a version without loaded data. ``loaded`` is empty if ``intervals``
    is None. ``seconds`` is None if no unit of work is known. ``kept`` counts the intervals that a
    run did not compute again.
    """

    model: str
    kind: str
    version: str
    intervals: int | None
    rows: int | None
    digest: str | None
    seconds: float | None
    loaded: tuple[Interval, ...] = ()
    kept: int = 0

    def as_json(self) -> dict[str, object]:
        """The fields of the JSON contract."""
        return {
            "model": self.model,
            "kind": self.kind,
            "version": self.version,
            "intervals": self.intervals,
            "rows": self.rows,
            "dsha": self.digest,
            "seconds": None if self.seconds is None else round(self.seconds, 3),
            "kept": self.kept,
            "loaded": [
                {"start": instant(each.start), "end": instant(each.end)} for each in self.loaded
            ],
        }


def built_by_environment(services: Services, binding: Binding) -> tuple[Built, ...]:
    """What is loaded of every model of an environment, and how long computing it took."""
    return _loaded_of(
        services,
        binding,
        [node for node in binding.graph if not node.model.kind.is_source],
    )


def _loaded_of(services: Services, binding: Binding, nodes: Sequence[Node]) -> tuple[Built, ...]:
    ledger = services.state.ledger(binding.key(node.name) for node in nodes)
    return tuple(
        _loaded(services, binding, node, ledger.get(binding.key(node.name), ())) for node in nodes
    )


def built_by(services: Services, binding: Binding, done: Iterable[Evaluated]) -> tuple[Built, ...]:
    """What a run did: intervals, rows and seconds are its own, the D-SHA is of all loaded rows."""
    by_model: dict[str, list[Evaluated]] = {}
    for each in done:
        by_model.setdefault(str(each.key.model), []).append(each)
    nodes = [node for node in binding.graph if str(node.name) in by_model]
    holds = {each.model: each for each in _loaded_of(services, binding, nodes)}
    return tuple(_of_run(holds[name], units) for name, units in by_model.items() if name in holds)


def as_table(models: Sequence[Built], *, title: str) -> Table:
    """The models for people, a row each."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=_box())
    for column in ("model", "version", "intervals", "rows", "D-SHA", "seconds"):
        right = column in ("intervals", "rows", "seconds")
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    for each in models:
        whole = "view" if each.kind == "VIEW" else "whole"
        table.add_row(
            each.model,
            Text(each.version[:8], style="cyan"),
            whole if each.intervals is None else as_text(each.intervals),
            as_text(each.rows),
            Text((each.digest or "")[:12], style="green"),
            "" if each.seconds is None else f"{each.seconds:.1f}",
        )
    return table


def _box() -> Box:
    from rich import box

    return box.SIMPLE_HEAD


def _loaded(
    services: Services, binding: Binding, node: Node, entries: Sequence[LedgerEntry]
) -> Built:
    rules = node.model.kind
    return Built(
        model=str(node.name),
        kind=node.model.kind.keyword,
        version=binding.key(node.name).version,
        intervals=len(entries) if rules.is_partitioned else None,
        rows=total(each.rows for each in entries).rows if rules.stores_rows else None,
        digest=_digest(entries, has_rows=rules.stores_rows),
        seconds=_seconds(services, {each.work_id for each in entries}),
        loaded=loaded_intervals(entries) if rules.is_partitioned else (),
    )


def _of_run(loaded: Built, units: Sequence[Evaluated]) -> Built:
    cells = {entry.interval for unit in units for entry in unit.entries}
    return Built(
        model=loaded.model,
        kind=loaded.kind,
        version=loaded.version,
        intervals=None if loaded.intervals is None else len(cells),
        rows=None if loaded.rows is None else sum(unit.rows for unit in units),
        digest=loaded.digest,
        seconds=sum(unit.seconds for unit in units),
        loaded=loaded.loaded,
        kept=sum(unit.saved.intervals for unit in units if unit.saved is not None),
    )


def _digest(entries: Sequence[LedgerEntry], *, has_rows: bool) -> str | None:
    if not entries:
        return None
    if not has_rows:
        return entries[-1].digest
    return loaded_dsha(entries)


def _seconds(services: Services, work_ids: Iterable[str]) -> float | None:
    """How long the units of work took that wrote these entries last."""
    works = [services.state.work(each) for each in work_ids]
    took = [
        (work.finished_at - work.started_at).total_seconds()
        for work in works
        if work is not None and work.finished_at is not None
    ]
    return sum(took) if took else None
