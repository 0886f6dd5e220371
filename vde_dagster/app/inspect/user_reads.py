"""What a user's own code reads of a model: the recorded rows of its version."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vde_dagster.app.binding import Binding
from vde_dagster.app.publish.foreign_writes import readable
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import naming_of
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import LedgerEntry, loaded_intervals, written_intervals
from vde_dagster.core.names import ModelName, environment_view
from vde_dagster.core.time.intervals import Interval, merge, subtract
from vde_dagster.ports.engine import ArrowRows, TableRows


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRead:
    """Rows that a user's own code may read.

    ``loaded`` is the time that they belong to, as far as it is known: empty for views, sources and
    tables whose rows belong to no interval.
    """

    rows: TableRows
    is_view: bool = False
    loaded: tuple[Interval, ...] = ()


def user_read(
    services: Services,
    binding: Binding,
    name: ModelName,
    intervals: Sequence[Interval] | None = None,
    *,
    columns: Sequence[str] = (),
    with_gaps: bool = False,
) -> UserRead:
    """What is read of a model, or of a source, if all of it is loaded. Reads no rows yet.

    Args:
        services: The ports.
        binding: What the environment runs.
        name: A model of it; of a VIEW the view of the environment is read. A source is read as it
            is now.
        intervals: For a model by interval, only the rows of these times, each of which has to be
            loaded. None for all rows: then everything between the first and the last interval that
            is loaded has to be, since later ones may not be due yet, and an environment may begin
            later than its model.
        columns: The names of those that are read, in order; all if empty.
        with_gaps: Whether all rows may be read though there are gaps between them.

    Raises:
        Refused: The version is not loaded, or has gaps, or lacks a column; the text names them.
    """
    node = binding.node(name)
    table = binding.table(name)
    if node.model.kind.is_source:
        state = services.source(name)
        if state is None:
            raise Refused(f"the source {name} does not exist in the catalog", advice="Load it.")
        chosen = _columns(name, state.columns, columns)
        return UserRead(rows=TableRows(table=table, columns=chosen))
    key = binding.key(name)
    entries = services.state.ledger([key]).get(key, ())
    if not entries:
        raise Refused(f"{name} is not loaded yet in {binding.environment}.")
    chosen = _columns(name, services.state.holdings([key])[key].columns, columns)
    if node.model.kind.is_view:
        view = environment_view(name, binding.environment, naming_of(services, binding.environment))
        return UserRead(rows=TableRows(table=view, columns=chosen), is_view=True)
    loaded = _loaded(binding, node, entries, intervals, with_gaps=with_gaps)
    at = readable(services, key, services.state.heads([key])[key]).iceberg_snapshot_id
    hidden = node.model.kind.hidden_rows
    rows = TableRows(table=table, iceberg_snapshot_id=at, columns=chosen, hidden_rows=hidden)
    if intervals is None and (not loaded or loaded == written_intervals(entries)):
        return UserRead(rows=rows, loaded=loaded)  # there are no other rows in the table
    axis = node.time_axis
    assert axis is not None, f"{name} has intervals"
    return UserRead(rows=replace(rows, axis=axis, intervals=loaded), loaded=loaded)


def arrow_of(services: Services, wanted: UserRead) -> ArrowRows:
    """The rows in memory. No engine is started for a table; a view is computed by one.

    Raises:
        Refused: The table is missing.
        EvaluationFailed: The rows cannot be read.
    """
    if wanted.is_view:
        return services.engine.read(wanted.rows).toArrow()
    return services.catalog.read(wanted.rows)


def _loaded(
    binding: Binding,
    node: Node,
    entries: Sequence[LedgerEntry],
    intervals: Sequence[Interval] | None,
    *,
    with_gaps: bool,
) -> tuple[Interval, ...]:
    """The time whose rows are read.

    Raises:
        Refused: Something of it is not loaded.
    """
    name, environment = node.name, binding.environment
    loaded = loaded_intervals(entries)
    if intervals is not None:
        lacks, advice = subtract(merge(intervals), loaded), "Materialize it first."
        found = merge(intervals)
    elif not loaded:
        lacks, advice = merge(each.interval for each in entries), "Materialize it first."
        found = ()
    elif not node.model.kind.is_partitioned:
        return ()
    else:
        around = Interval(loaded[0].start, loaded[-1].end)
        lacks = () if with_gaps else subtract([around], loaded)
        advice = (
            "Materialize it first, or allow missing rows with "
            '`dg.AssetIn(metadata={"with_gaps": True})`.'
        )
        found = loaded
    if lacks:
        missing = ", ".join(map(str, lacks))
        raise Refused(f"{name} is not loaded for {missing} in {environment}", advice=advice)
    return found


def _columns(name: ModelName, known: Sequence[Column], wanted: Sequence[str]) -> tuple[str, ...]:
    """The wanted columns, as the table spells them.

    Raises:
        Refused: It has no such column.
    """
    spelled = {each.name.lower(): each.name for each in known}
    for each in wanted:
        if each.lower() not in spelled:
            close = difflib.get_close_matches(each.lower(), spelled, n=1)
            guess = f"Did you mean {spelled[close[0]]}? " if close else ""
            raise Refused(
                f"{name} has no column {each}",
                advice=f"{guess}It has: {', '.join(spelled.values())}.",
            )
    return tuple(spelled[each.lower()] for each in wanted)


def source_version(services: Services, binding: Binding, source: str) -> str:
    """The token of a source's rows as they are now, from its table's metadata alone.

    It is the one that decides what is reused (docs/concepts/reuse.md).

    Args:
        services: The ports.
        binding: The models that read sources.
        source: The source's name, with or without the project's catalog.

    Raises:
        InvalidName: That is not a name.
        Refused: It is not a source of the project, or its table does not exist.
    """
    name = ModelName.parse(source).within(services.naming.catalog)
    if name not in binding.graph or not binding.graph[name].model.kind.is_source:
        raise Refused(
            f"{source} is not a source of this project",
            advice="Declare it in external_models.yaml, and plan a model that reads it.",
        )
    state = services.source(name)
    if state is None:
        raise Refused(
            f"the source {name} does not exist in the catalog, so its rows have no version",
            advice="Request it after the table has been written.",
        )
    return state.token(state.rows_of)
