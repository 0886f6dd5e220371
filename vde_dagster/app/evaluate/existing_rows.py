"""Rows of an existing table as the first rows of a version (`vde adopt`).

A unit of work as any other, audited, summed and published, whose rows are copied and not computed.
That they are the rows of the query is not taken on trust: some intervals are computed and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from sqlglot import exp

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.cumulative import SequentialBatch
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import recovering, writable
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, input_name, read_whole
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.evaluate.reuse import traces_of
from vde_dagster.app.evaluate.units_of_work import run_unit_of_work
from vde_dagster.app.services import Services
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import LedgerOperation
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.unit_of_work import AsOf, SqlRows
from vde_dagster.core.listing import plural
from vde_dagster.core.model.kinds.full import Full
from vde_dagster.core.model.kinds.incremental_by_time_range import IncrementalByTimeRange
from vde_dagster.core.model.kinds.incremental_by_unique_key import IncrementalByUniqueKey
from vde_dagster.core.model.kinds.incremental_unmanaged import IncrementalUnmanaged
from vde_dagster.core.model.model import Model, PythonFunction
from vde_dagster.core.model.writes import KeepHistory, MergeRows, ReplaceTable
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.sql.text import key_expression
from vde_dagster.core.time.intervals import Interval, due, subtract
from vde_dagster.ports.catalog import TableState
from vde_dagster.ports.physical_layer import STATE
from vde_dagster.ports.state import Lease

_SHOWN: Final = 10
_SIDE: Final = "_of"
_QUERY, _TABLE = "query", "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Rows of an interval that only the model's query returns, or only the table has.

    ``rows`` are the first of them, each with its side (``query`` or ``table``) before the values of
    ``columns``.
    """

    interval: Interval
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What became of a table's rows.

    ``checked`` are the intervals that were computed and compared. ``differences`` are what they
    showed: then nothing was copied. ``left`` are intervals that were loaded before, and stay. The
    table was read at the Iceberg snapshot ``source_snapshot_id``, None if it has no rows.
    """

    checked: tuple[Interval, ...] = ()
    differences: tuple[Difference, ...] = ()
    copied: tuple[Evaluated, ...] = ()
    left: tuple[Interval, ...] = ()
    source_snapshot_id: int | None = None

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """What was copied."""
        return tuple(each.interval for each in self.copied)

    @property
    def rows(self) -> int:
        """How many rows were copied."""
        return sum(each.rows for each in self.copied)


class Taking(Enum):
    """How the rows of a table become a version's."""

    NOTHING = "they are only compared"
    COPY = "they are copied"
    SHALLOW = "the version's table refers to the files that have them"


def adopt(
    services: Services,
    binding: Binding,
    name: ModelName,
    table: TableName,
    asked: Interval,
    *,
    samples: int,
    taking: Taking = Taking.COPY,
) -> Adopted:
    """Give a model's version the rows of a table, for whole intervals that it has not loaded.

    The table is read at one Iceberg snapshot, and never written to. What was loaded before stays,
    so that a call that was stopped is given again. A kind that builds on its own rows gets all rows
    of the table, as those of its intervals up to the end of ``asked``.

    Args:
        services: The ports.
        binding: The versions of the environment that owns the model's.
        name: The model.
        table: Whose rows are taken, by the names of the model's columns.
        asked: Which intervals; of a FULL model all that it has.
        samples: How many intervals are computed and compared first; 0 for none.
        taking: What is done where rows do not differ.

    Raises:
        Refused: The model or the table is not fit for it, or a parent has not loaded what the
            model reads; nothing was written.
        EvaluationFailed: The rows do not fit the model's columns, or an audit refused them. Or the
            files cannot be shared.
    """
    node = writable(services, binding, name)
    _refuse_kind(node, samples, taking)
    state = _table(services, node, table)
    key, kind = binding.key(name), node.model.kind
    with recovering(services, binding, key) as (lease, _):
        whole = _whole(services, node, asked)
        loaded = services.state.holdings([key]).get(key, NOTHING).computed
        missing = subtract([whole], loaded)
        left = subtract([whole], missing)
        if loaded and not kind.is_partitioned:
            missing, left = (), loaded  # it is one table, which is there already
        if loaded and taking is Taking.SHALLOW:
            raise Refused(
                f"{name} already has rows, and only a new table can be a shallow copy. Nothing "
                "was written",
                advice="Pass --copy for the rest.",
            )
        copying = _Copying(services, binding, node, state)
        if missing:
            copying.refuse_repeated_keys(whole)
        checked = _samples(node, missing, samples)
        differences = tuple(each for one in checked for each in copying.differences(one))
        copied = (
            ()
            if differences or taking is Taking.NOTHING
            else tuple(
                copying.copy(each, lease, is_checked=samples > 0, taking=taking)
                for one in missing
                for each in ([one] if taking is Taking.SHALLOW else _batches(node, one))
            )
        )
    return Adopted(
        checked=checked,
        differences=differences,
        copied=copied,
        left=tuple(left),
        source_snapshot_id=state.iceberg_snapshot_id,
    )


@dataclass(frozen=True, slots=True)
class _Copying:
    """A model and the table whose rows it gets."""

    services: Services
    binding: Binding
    node: Node
    table: TableState

    def copy(
        self, interval: Interval, lease: Lease, *, is_checked: bool, taking: Taking
    ) -> Evaluated:
        """One unit of work. Rows count as computed from what the model reads only if checked.

        Those that build on others never do: what they follow from was not looked at.
        """
        node, work_id = self.node, self.services.ids.new()
        reading = self._reading(interval, work_id)
        write = node.write(interval, self.services.execution_time)
        traces = traces_of(self.services, self.binding, node, write, reading) if is_checked else {}
        batches: tuple[SequentialBatch, ...] = ()
        if node.model.kind.is_sequential:
            write = ReplaceTable(interval=interval)
            replaces = LedgerOperation.REPLACE_ALL
            batches = (SequentialBatch(evaluated=interval, recorded=interval, operation=replaces),)
        name, source = input_name(work_id, len(reading.inputs)), self._source()
        prepared = PreparedUnit(
            work_id=work_id,
            interval=interval,
            readings=(
                replace(
                    reading,
                    rows=SqlRows(sql=self._rows(name, interval).sql("spark")),
                    inputs={name: source},
                ),
            ),
            writes=(write,),
            batches=batches,
            reason=f"adopted from {self.table.name} at {self.table.iceberg_snapshot_id}",
            traces=traces,
            shallow_copy_of=source if taking is Taking.SHALLOW else None,
        )
        return run_unit_of_work(self.services, self.binding, self._typed(reading), prepared, lease)

    def _typed(self, reading: PinnedReading) -> Node:
        """The model with the types of its query, which the table's rows have to fit."""
        node, rows = self.node, reading.rows
        if node.model.columns or not isinstance(rows, SqlRows):
            return node
        columns = self.services.engine.columns_of(rows, reading.inputs)
        added = node.model.kind.added_columns.values()
        return replace(node, model=replace(node.model, columns=(*columns, *added)))

    def refuse_repeated_keys(self, interval: Interval) -> None:
        """Refuse rows that share a key, which an evaluation would never have left.

        Raises:
            Refused: With some of the keys.
        """
        write = self.node.write(interval, self.services.execution_time)
        match write:
            case MergeRows(key=key):
                ...
            case KeepHistory(history=history):
                key = history.key
            case _:
                return
        keys = [key_expression(each) for each in key]
        name = input_name(self.services.ids.new(), 0)
        repeated = (
            self._present_rows(name)
            .select(*keys, append=False)
            .group_by(*keys)
            .having("COUNT(*) > 1")
        )
        _, rows = self.services.engine.preview(
            SqlRows(sql=repeated.sql("spark")),
            {name: self._source()},
            (),
            model=str(self.node.name),
            limit=_SHOWN,
        )
        if rows:
            shown = "; ".join(", ".join(map(str, row)) for row in rows)
            raise Refused(
                f"{self.table.name} has several rows with the same key ({', '.join(key)}): "
                f"{shown}. Nothing was written",
                advice=f"{self.node.name} allows one row per key. Add columns to its unique_key, "
                "or copy from a table without duplicates.",
            )

    def differences(self, interval: Interval) -> Iterator[Difference]:
        """What the model's query returns for an interval, against the rows of the table.

        Where rows build on others, the table has more rows than those of one interval.
        """
        work_id = self.services.ids.new()
        reading = self._reading(interval, work_id)
        assert isinstance(reading.rows, SqlRows), "Python models are refused"
        name = input_name(work_id, len(reading.inputs))
        names = ", ".join(each.sql("spark") for each in self._own_columns())
        query = f"SELECT {names} FROM (\n{reading.rows.sql}\n) AS _rows"  # noqa: S608
        sides: tuple[tuple[str, str, str], ...]
        if self.node.model.kind.is_sequential:
            sides = ((_QUERY, query, self._present_rows(name).sql("spark")),)
        else:
            table = self._rows(name, interval).sql("spark")
            sides = ((_QUERY, query, table), (_TABLE, table, query))
        sql = "\nUNION ALL\n".join(
            f"SELECT '{side}' AS {_SIDE}, * FROM ({one} EXCEPT ALL {other}) AS _s"  # noqa: S608
            for side, one, other in sides
        )
        found, rows = self.services.engine.preview(
            SqlRows(sql=sql),
            {**reading.inputs, name: self._source()},
            (),
            model=str(self.node.name),
            limit=_SHOWN,
        )
        if rows:
            yield Difference(interval=interval, columns=found[1:], rows=tuple(map(tuple, rows)))

    def _reading(self, interval: Interval, work_id: str) -> PinnedReading:
        now = self.services.execution_time
        return read_whole(self.services, self.binding, self.node, interval, now, work_id=work_id)

    def _source(self) -> AsOf:
        at = self.table.iceberg_snapshot_id
        return AsOf(
            table=self.table.name, iceberg_snapshot_id=at, columns=self.table.schemas.columns(at)
        )

    def _own_columns(self) -> list[exp.Expr]:
        """The columns that the query returns."""
        added = {each.name.lower() for each in self.node.model.kind.added_columns.values()}
        return _named(each for each in self.node.columns if each.name.lower() not in added)

    def _present_rows(self, name: str) -> exp.Select:
        """The table's rows as the query would return them; of a history those that are open."""
        rows = exp.select(*self._own_columns()).from_(exp.to_identifier(name))
        until = self.node.model.kind.added_columns.get("valid_to_name")
        if until is None:
            return rows
        return rows.where(exp.column(until.name, quoted=True).is_(exp.null()))

    def _rows(self, name: str, interval: Interval) -> exp.Select:
        """The table's rows of an interval, by the model's columns."""
        rows = exp.select(*_named(self.node.columns)).from_(exp.to_identifier(name))
        axis = self.node.time_axis
        if axis is None:
            return rows
        time = exp.column(axis.column, quoted=True)
        return rows.where(within(time, interval, time_type=axis.type, time_format=axis.format))


def _named(columns: Iterable[Column]) -> list[exp.Expr]:
    names = [exp.to_identifier(each.name, quoted=True) for each in columns]
    return [exp.column(each).as_(each) for each in names]


_SHARES: Final = (IncrementalByTimeRange, Full, IncrementalByUniqueKey, IncrementalUnmanaged)
"""Kinds whose writes are right whatever partitions and files a table has."""


def _refuse_kind(node: Node, samples: int, taking: Taking) -> None:
    model, kind = node.model, node.model.kind
    why = advice = ""
    if not (kind.is_by_interval or kind.is_whole):
        why, advice = f"is {kind.keyword}, which has no intervals to load", _PLAN
    elif kind.order is not None:
        why, advice = (
            ("has sequence_by, and it is unknown which changes produced a table's rows"),
            _PLAN,
        )
    elif model.late_data is not None:
        why, advice = (
            "has late_data, whose sessions need to know what its rows were loaded from",
            _PLAN,
        )
    elif taking is Taking.SHALLOW and not isinstance(kind, _SHARES):
        why = f"is {kind.keyword}, whose rows must be in its own partitions"
        advice = "Pass --copy instead of --shallow."
    elif samples and (rows := _incomparable(model)):
        why = f"{rows}, so its rows cannot be compared with those of a table"
        advice = "Pass --check 0 to copy them without a comparison."
    if why:
        raise Refused(f"{node.name} {why}. Nothing was written", advice=advice)


def _incomparable(model: Model) -> str:
    """What makes the rows that an evaluation returns others than those that a table has."""
    if isinstance(model.body, PythonFunction):
        return "is a Python model"
    kind = model.kind
    if isinstance(kind, IncrementalByUniqueKey) and (kind.when_matched or kind.merge_filter):
        return "merges rows by when_matched or merge_filter"
    return ""


_PLAN: Final = "Fill it with `vde plan`."


def _table(services: Services, node: Node, name: TableName) -> TableState:
    """The table as it is now, fit for the model."""
    found = services.catalog.table(name)
    if found is None:
        raise Refused(
            f"the project's catalog has no table {name}",
            advice="Name an Iceberg table as `schema.table`.",
        )
    if STATE in found.properties:
        raise Refused(
            f"{name} is a table that vde created for a version",
            advice="Name a table that another program has filled.",
        )
    has = {each.name.lower() for each in found.columns}
    missing = [each.name for each in node.columns if each.name.lower() not in has]
    if missing:
        raise Refused(
            f"{name} lacks {plural(len(missing), 'column')} of {node.name}: "
            f"{', '.join(missing)}. It has {', '.join(sorted(has))}",
            advice="Create a table with these columns first, or change the model.",
        )
    return found


def _whole(services: Services, node: Node, asked: Interval) -> Interval:
    """The whole intervals among those asked for, as far as they have ended and are the model's."""
    model, now = node.model, services.project_now() or asked.start
    until = now if model.end is None else min(now, model.end)
    if not model.kind.is_whole:
        until = min(until, asked.end)
    start = max(model.start, asked.start) if model.kind.is_partitioned else model.start
    found = due(start, until, model.unit)
    if found is None:
        raise Refused(
            f"{node.name} has no complete interval in {asked} that has ended",
            advice=f"It starts at {model.start:%Y-%m-%d}, and its interval unit is "
            f"{model.unit.value}.",
        )
    return found


def _samples(node: Node, missing: Sequence[Interval], samples: int) -> tuple[Interval, ...]:
    """Some intervals, the first and the last among them; the last one where rows build on others.

    Later intervals may have changed the rows of all but that.
    """
    if node.model.kind.is_whole:
        return tuple(missing[: min(samples, 1)])
    units = [each for one in missing for each in node.model.unit.cells(one)]
    if node.model.kind.is_sequential:
        return tuple(units[-1:] if samples else ())
    if samples >= len(units):
        return tuple(units)
    places = {round(n * (len(units) - 1) / max(samples - 1, 1)) for n in range(samples)}
    return tuple(units[place] for place in sorted(places))


def _batches(node: Node, interval: Interval) -> Iterator[Interval]:
    """The parts of a range that are copied in a commit each."""
    kind = node.model.kind
    size = kind.batch_size if kind.is_partitioned else None
    if size is None:
        yield interval
        return
    units = list(node.model.unit.cells(interval))
    for first in range(0, len(units), size):
        part = units[first : first + size]
        yield Interval(part[0].start, part[-1].end)
