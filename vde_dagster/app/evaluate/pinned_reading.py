"""What an evaluation reads: ranges of the rendered query, at pinned Iceberg snapshots (rule R3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.parent_ledgers import (
    ParentLedgers,
    _with_each_unit,
    read_ledgers,
    refuse_gaps,
)
from vde_dagster.app.evaluate.spelled_columns import check_spelling
from vde_dagster.app.publish.foreign_writes import readable
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import reads_of, render_model
from vde_dagster.core.graph.session_reads import tracked_axes
from vde_dagster.core.ledger.traces import LedgerTokens
from vde_dagster.core.ledger.unit_of_work import (
    AsOf,
    CsvRows,
    Input,
    OwnRows,
    PythonRows,
    RowSource,
    RowsWithin,
    SqlRows,
)
from vde_dagster.core.model.model import PythonFunction, Query, SeedRows
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.reads.input_ranges import (
    InputRange,
    WholeTable,
)
from vde_dagster.core.sql.text import SqlText, TablePlace
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.catalog import TableState


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedReading:
    """How one part of an evaluation computes its rows.

    ``pinned`` is the Iceberg snapshot that each model or source is read at, ``tokens`` are those of
    the ledger's entries of each model there. ``sources`` are the tables of sources as they were
    looked at, which say how their columns are read.
    """

    rows: RowSource
    inputs: Mapping[str, Input]
    pinned: Mapping[ModelName, int | None]
    tokens: Mapping[ModelName, LedgerTokens] = field(default_factory=dict)
    sources: Mapping[ModelName, TableState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inputs:
    """The tables that are read, by model or source name, and the tokens of the models."""

    tables: Mapping[ModelName, AsOf]
    tokens: Mapping[ModelName, LedgerTokens]
    sources: Mapping[ModelName, TableState]

    @property
    def pinned(self) -> dict[ModelName, int | None]:
        """The Iceberg snapshot of each table."""
        return {name: each.iceberg_snapshot_id for name, each in self.tables.items()}


def read_whole(
    services: Services,
    binding: Binding,
    node: Node,
    interval: Interval,
    execution_time: datetime,
    *,
    source_pins: Mapping[ModelName, int | None] | None = None,
    sources: Mapping[ModelName, TableState] | None = None,
    ledgers: ParentLedgers | None = None,
    work_id: str,
) -> PinnedReading:
    """What evaluating ``interval`` reads: every parent at one Iceberg snapshot.

    Args:
        services: The ports.
        binding: Which version of each parent is read.
        node: The model.
        interval: The range to evaluate.
        execution_time: When the run was asked for.
        source_pins: Iceberg snapshots to read sources at; others are read as they are now.
        sources: Tables of sources that were looked at for another part, which reads the same.
        ledgers: What is recorded of the models that are read; None reads it now.
        work_id: Makes the names of inputs unique.

    Raises:
        Refused: A parent has not loaded what would be read; the text names what is missing.
    """

    def pinned(ranges: Mapping[ModelName, InputRange]) -> _Inputs:
        return _pinned(
            services,
            binding,
            node,
            interval,
            ranges,
            ledgers=ledgers,
            pins=source_pins or {},
            sources=dict(sources or {}),
        )

    match node.model.body:
        case SeedRows(text=text):
            return PinnedReading(rows=CsvRows(text=text), inputs={}, pinned={})
        case PythonFunction() as body:
            ranges = reads_of(binding.graph, node.name).at(interval)
            read = pinned(ranges)
            return PinnedReading(
                rows=_python_rows(node, body, interval, execution_time),
                inputs=_python_tables(binding, node, ranges, read),
                pinned=read.pinned,
                tokens=read.tokens,
                sources=read.sources,
            )
        case Query() | None:
            query = rendered(binding, node, interval, execution_time)
            known = reads_of(binding.graph, node.name).at(interval)
            ranges = {name: each for name, each in known.items() if name in query.tables}
            read = pinned(ranges)
            check_spelling(binding.graph, node, query.text, read.sources)
            return _sql_reading(query, read, work_id, own=_own_rows(binding, node, interval))


def read_parts(
    services: Services,
    binding: Binding,
    node: Node,
    parts: Iterable[Interval],
    ledgers: ParentLedgers,
    *,
    pins: Mapping[ModelName, int | None] | None = None,
    work_id: str,
) -> tuple[PinnedReading, ...]:
    """What each part of an evaluation reads; all read the same Iceberg snapshots.

    See `read_whole`; ``pins`` are those of sources that are known before.
    """
    known, readings, now = dict(pins or {}), list[PinnedReading](), services.execution_time
    for number, part in enumerate(parts):
        reading = read_whole(
            services,
            binding,
            node,
            part,
            now,
            source_pins=known,
            sources=readings[0].sources if readings else None,
            ledgers=ledgers,
            work_id=f"{work_id}_{number}",
        )
        known |= {name: at for name, at in reading.pinned.items() if name not in ledgers.heads}
        readings.append(reading)
    return tuple(readings)


def _python_rows(
    node: Node, body: PythonFunction, interval: Interval, execution_time: datetime
) -> PythonRows:
    return PythonRows(
        source=body.source,
        function=body.function,
        path=str(node.model.source.path),
        interval=interval,
        execution_time=execution_time,
        variables=body.variables,
        modules=body.modules,
    )


def analysed(
    services: Services, binding: Binding, node: Node
) -> tuple[SqlRows, Mapping[str, Input]]:
    """A model's query over its current inputs, for analysis and not for computing rows.

    Raises:
        Refused: A source does not exist, or the query cannot be written in Spark's SQL.
    """
    first = node.model.unit.floor(node.model.start)
    interval = Interval(first, node.model.unit.following(first))
    query = rendered(binding, node, interval, services.execution_time)
    known = sorted(name for name in query.tables if name in binding.graph)
    read = _Inputs(tables=pin(services, binding, known, {}), tokens={}, sources={})
    found = _sql_reading(query, read, services.ids.new())
    assert isinstance(found.rows, SqlRows), "a query gives rows of SQL"
    return found.rows, found.inputs


def rendered(binding: Binding, node: Node, interval: Interval, execution_time: datetime) -> SqlText:
    """The query of one evaluation over models' names, with views inlined down to tables."""
    times = TimeRange.of(interval, execution_time=execution_time)
    return render_model(binding.graph, node.name, times, target=lambda _: None).query


def physical_query(binding: Binding, node: Node, now: datetime) -> SqlText:
    """A VIEW's query over physical tables and physical views."""
    times = TimeRange(start=now, end=None, execution_time=now)
    graph = binding.graph
    query = render_model(graph, node.name, times, target=lambda _: None, inline_views=False).query
    return over_visible_rows(graph, query).with_tables(
        lambda name: binding.table(name) if name in graph else None
    )


def over_visible_rows(graph: Graph, query: SqlText) -> SqlText:
    """A query over models' names that leaves out hidden rows of their tables."""
    hidden = {name: graph[name].model.kind.hidden_rows for name in query.tables if name in graph}
    visible = {name: SqlText((each.visible.sql("spark"),)) for name, each in hidden.items() if each}
    return query.with_conditions(visible)


def visible_text(graph: Graph, name: ModelName, table: TableName) -> str:
    """What reads those rows of a model's table that readers see, behind FROM in Spark's SQL."""
    query = SqlText((TablePlace(name=name, written=str(name)),))
    return over_visible_rows(graph, query).with_tables(lambda _: table).text


def with_inputs(query: SqlText, names: Mapping[ModelName, str]) -> str:
    """A query's text that reads inputs by their names instead of models."""
    return query.with_tables(
        lambda name: TableName("", names[name]) if name in names else None
    ).text


def input_name(work_id: str, position: int) -> str:
    """The name that one input of a unit of work has in its query, and nothing else has."""
    return f"vde_{work_id}_{position}"


def _own_rows(binding: Binding, node: Node, interval: Interval) -> dict[ModelName, Input]:
    """What a model reads of itself: the unit before the one that is evaluated."""
    axis = node.time_axis
    if not node.model.reads_itself or axis is None:
        return {}
    before = Interval(node.model.unit.shifted(interval.start, -1), interval.start)
    table = binding.key(node.name).table
    return {node.name: OwnRows(table=table, interval=before, axis=axis)}


def _sql_reading(
    query: SqlText, read: _Inputs, work_id: str, *, own: Mapping[ModelName, Input] | None = None
) -> PinnedReading:
    tables: dict[ModelName, Input] = {**read.tables, **(own or {})}
    names = {name: input_name(work_id, index) for index, name in enumerate(sorted(tables))}
    return PinnedReading(
        rows=SqlRows(sql=with_inputs(query, names)),
        inputs={names[name]: each for name, each in tables.items()},
        pinned=read.pinned,
        tokens=read.tokens,
        sources=read.sources,
    )


def _pinned(
    services: Services,
    binding: Binding,
    node: Node,
    interval: Interval,
    ranges: Mapping[ModelName, InputRange],
    *,
    ledgers: ParentLedgers | None,
    pins: Mapping[ModelName, int | None],
    sources: dict[ModelName, TableState],
) -> _Inputs:
    """The tables with these ranges, each at one Iceberg snapshot.

    Raises:
        Refused: A model lacks something of its range, or a source is not complete.
    """
    ledgers = ledgers or read_ledgers(
        services, binding, _with_each_unit(binding, node, interval, ranges)
    )
    tokens = {name: each for name, each in ledgers.tokens.items() if name in ranges}
    for name in ranges:
        if name not in sources and binding.graph[name].model.kind.is_source:
            sources[name] = source_table(services, binding, name)
    refuse_gaps(binding, node, interval, ranges=ranges, ledgers=ledgers, sources=sources)
    tables = pin(services, binding, ranges, {**pins, **ledgers.heads}, sources=sources)
    return _Inputs(tables=tables, tokens=tokens, sources=sources)


def _python_tables(
    binding: Binding, node: Node, ranges: Mapping[ModelName, InputRange], read: _Inputs
) -> dict[str, Input]:
    """What a function is given by name: of a source that sessions track, the rows that count."""
    axes = tracked_axes(binding.graph, node)
    found: dict[str, Input] = {str(name): each for name, each in read.tables.items()}
    for name, axis in axes.items():
        times = ranges[name]
        if not isinstance(times, WholeTable):
            found[str(name)] = RowsWithin(
                table=read.tables[name].table,
                iceberg_snapshot_id=read.tables[name].iceberg_snapshot_id,
                columns=read.tables[name].columns,
                intervals=times,
                axis=TimeAxisSpec(
                    column=axis.column, type=axis.type, unit=axis.unit, format=axis.format
                ),
            )
    return found


def pin(
    services: Services,
    binding: Binding,
    names: Iterable[ModelName],
    known: Mapping[ModelName, int | None],
    *,
    sources: dict[ModelName, TableState] | None = None,
) -> dict[ModelName, AsOf]:
    """Each model at the Iceberg snapshot at which its ledger is true; sources as they are now.

    Inputs in ``known`` are read at the Iceberg snapshot given there, and sources with the columns
    that they have now.

    Args:
        services: The ports.
        binding: Which version of each model is read.
        names: The models and sources.
        known: The Iceberg snapshots of some of them.
        sources: The tables of sources that were looked at already; those that are looked at now are
            added to them.

    Raises:
        Refused: A source does not exist.
    """
    names = tuple(names)
    unknown = [
        name for name in names if name not in known and not binding.graph[name].model.kind.is_source
    ]
    heads = services.state.heads(map(binding.key, unknown)) if unknown else {}
    looked_at = {} if sources is None else sources
    pinned: dict[ModelName, AsOf] = {}
    for name in names:
        if binding.graph[name].model.kind.is_source:
            if name not in looked_at:
                looked_at[name] = source_table(services, binding, name)
            state = looked_at[name]
            at = known.get(name, state.iceberg_snapshot_id)
            pinned[name] = AsOf(
                table=state.name, iceberg_snapshot_id=at, columns=state.schemas.columns(at)
            )
        else:
            key = binding.key(name)
            head = known[name] if name in known else heads.get(key)
            hidden = binding.graph[name].model.kind.hidden_rows
            pinned[name] = replace(readable(services, key, head), hidden_rows=hidden)
    return pinned


def source_table(services: Services, binding: Binding, name: ModelName) -> TableState:
    """The table of a source as it is now.

    Raises:
        Refused: It does not exist.
    """
    state = services.catalog.table(binding.table(name))
    if state is None:
        raise Refused(
            f"the source {name} does not exist in the catalog",
            advice="Load it, or correct its name in external_models.yaml and in the models "
            "that read it.",
        )
    return state
