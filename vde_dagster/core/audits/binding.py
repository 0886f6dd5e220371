"""The audits of a model for one range: calls become checks, with nothing left open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from sqlglot import exp

from vde_dagster.core.audits.arguments import (
    Given,
    as_written,
    given_to,
    over_rows,
    parsed,
    suggested,
    table_name,
)
from vde_dagster.core.audits.builtins import (
    BLOCKING,
    BUILTINS,
    COUNT_AUDIT,
    NON_BLOCKING,
    base_name,
    wrong_bounds,
)
from vde_dagster.core.audits.total_checks import rows_of
from vde_dagster.core.audits.values import (
    OWN_PREFIX,
    THIS_MODEL,
    Audit,
    Check,
    EachRow,
    FailingRows,
    Total,
)
from vde_dagster.core.audits.written import condition_text, leaf, rows_of_text, tables_in
from vde_dagster.core.errors import Finding, Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import render_text
from vde_dagster.core.graph.session_reads import input_axis
from vde_dagster.core.model.model import Call, OwnAudit
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TimeRange, resolve_time_macros
from vde_dagster.core.sql.places import placed
from vde_dagster.core.sql.reads.input_ranges import TimeAxis
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.sql.select_clauses import clauses_of
from vde_dagster.core.sql.select_clauses import given as given_parts
from vde_dagster.core.sql.text import SqlText
from vde_dagster.core.time.formats import axis_type
from vde_dagster.core.time.intervals import Interval


def audits_of(
    graph: Graph,
    name: ModelName,
    times: TimeRange,
    *,
    processed: Sequence[Interval] | None = None,
) -> tuple[Audit, ...]:
    """The audits of a model for what an evaluation of a range has staged.

    They read the staged rows as ``this_model``. Other tables that they read, `Audit.reads`, have to
    be there at the Iceberg snapshots at which the evaluation read them (rule R3).

    Args:
        graph: The models.
        name: The one that is audited.
        times: What the time macros stand for.
        processed: The parts of that time whose rows are staged; rows of sources are counted within
            them. None for all of it. Empty where the rows are not those of whole intervals: then
            no source is counted.

    Raises:
        Refused: An audit does not exist or its arguments do not fit, which loading the project
            reports, too; or its query cannot be written in Spark's SQL.
    """
    node = graph[name]
    own = {each.call: each for each in node.model.own_audits}
    audits: list[Audit] = []
    if processed is None and times.end is not None:
        processed = (Interval(times.start, times.end),)
    for call in node.model.audits:
        if _reads_source(call) and processed is not None and not processed:
            continue
        if call in own:
            found = own[call]
            check, read = _own_check(graph, node, found, times)
            audits.append(_audit(call, check, read, blocking=found.blocking))
        else:
            audits.append(_built_in(graph, node, call, times, processed or ()))
    return tuple(audits)


def _reads_source(call: Call) -> bool:
    found = BUILTINS.get(base_name(call.name))
    return found is not None and found.check is None


def is_blocking(name: str, arguments: Mapping[str, exp.Expr], *, default: bool = True) -> bool:
    """Whether an audit stops publication: its name's end, its argument, else its own default."""
    if name.endswith(NON_BLOCKING):
        return False
    given = arguments.get(BLOCKING)
    return bool(given.this) if isinstance(given, exp.Boolean) else default


def blocks(node: Node, call: Call) -> bool:
    """Whether an audit that a model calls stops publication where it finds bad rows."""
    own = {each.call: each for each in node.model.own_audits}
    return own[call].blocking if call in own else is_blocking(call.name, parsed(call))


def wrong_calls(call: Call) -> list[Finding]:
    """What is wrong with the call of a built-in audit, as far as the call alone shows."""
    name = base_name(call.name)
    arguments = parsed(call)
    _, wrong = given_to(name, arguments, BUILTINS[name].parameters)
    contradiction = arguments.get(BLOCKING)
    if call.name != name and isinstance(contradiction, exp.Boolean) and contradiction.this:
        message = f"the audit {call.name} is non-blocking by its name, but has `{BLOCKING} := true`"
        wrong.append(Finding(message=message, advice=f"Write {name}, or remove the argument."))
    return [*wrong, *wrong_bounds(name, arguments)]


def wrong_for(graph: Graph, node: Node) -> Iterator[tuple[Call, Finding]]:
    """What is wrong with the calls of built-in audits of a model among others.

    These are columns that the model does not have, and counts of a source where it is not known
    which rows belong to an interval.
    """
    for call in node.model.audits:
        name = base_name(call.name)
        if name not in BUILTINS:
            continue
        for column in _unknown_columns(node, name, call):
            message = f"the audit {name} names the column {column}, which {node.name} lacks"
            advice = suggested(column, [each.name for each in node.columns])
            yield call, Finding(message=message, advice=advice)
        if _reads_source(call) and not wrong_calls(call):
            yield from ((call, each) for each in _wrong_source(graph, node, name, parsed(call)))


def _own_check(
    graph: Graph, node: Node, audit: OwnAudit, times: TimeRange
) -> tuple[Check, frozenset[ModelName]]:
    """The query of a project's own audit, and the models that it reads besides the staged rows.

    Its author's text is what runs, or sqlglot's translation of it.
    """
    columns = {name: [each.name for each in graph[name].columns] for name in node.model.parents}
    written = placed(audit.text.query, catalog=audit.text.catalog, columns=columns)
    text = render_text(graph, node.name, written, times)
    if _picks_rows(audit.query):
        return EachRow(fails=leaf(SqlText((condition_text(text.text),)))), frozenset()
    rows = rows_of_text(text, f"{OWN_PREFIX}own")
    return FailingRows(query=rows), frozenset(tables_in(rows))


def _picks_rows(query: exp.Query) -> bool:
    """Whether a query only picks rows of ``this_model`` by a condition on each.

    It is asked together with all others of its kind; any other one takes a pass of its own.
    """
    clauses = clauses_of(query) if isinstance(query, exp.Select) else None
    table = clauses.from_.first.node if clauses is not None and clauses.from_.first else None
    if clauses is None or not isinstance(table, exp.Table):
        return False
    return (
        clauses.given <= {"expressions", "from_", "where"}
        and table.name.lower() == THIS_MODEL
        and given_parts(table) <= {"this", "alias"}
        and all(isinstance(each.unalias(), _PLAIN) for each in clauses.projections)
        and (clauses.where is None or over_rows(clauses.where) is None)
    )


_PLAIN: Final = (exp.Star, exp.Column, exp.Literal)


def _audit(call: Call, check: Check, reads: Iterable[ModelName] = (), *, blocking: bool) -> Audit:
    names, shown = tuple(sorted(set(reads))), call.shown_arguments
    return Audit(name=call.name, arguments=shown, blocking=blocking, check=check, reads=names)


def _built_in(
    graph: Graph, node: Node, call: Call, times: TimeRange, processed: Sequence[Interval]
) -> Audit:
    name = base_name(call.name)
    if name not in BUILTINS:
        raise Refused(
            f"{node.name} names the audit {call.name}, which is neither built in nor stored with "
            "the model",
            advice="Plan again.",
        )
    built_in = BUILTINS[name]
    arguments = {key: _resolved(each, times) for key, each in parsed(call).items()}
    given, wrong = given_to(name, arguments, built_in.parameters)
    wrong += wrong_bounds(name, arguments)
    if wrong:
        raise Refused(f"{node.name}: {wrong[0].message}", advice=wrong[0].advice)
    blocking = is_blocking(call.name, arguments)
    given = as_written(given, call, built_in.parameters, times)
    if built_in.check is not None:
        return _audit(call, built_in.check(given), blocking=blocking)
    rows = _source_rows(graph, node, given, processed)
    if name == COUNT_AUDIT:
        every = exp.Count(this=exp.Star(), big_int=True)
        count = leaf(_text(graph, node, rows.select(every), times))
        return _audit(call, _count_check(given, count), tables_in(count), blocking=blocking)
    missing = rows_of_text(
        _text(graph, node, _missing_events(given, rows), times), f"{OWN_PREFIX}missing"
    )
    return _audit(call, FailingRows(query=missing), tables_in(missing), blocking=blocking)


def _resolved(node: exp.Expr, times: TimeRange) -> exp.Expr:
    holder = resolve_time_macros(cast("exp.Query", exp.Paren(this=node.copy())), times)
    return cast("exp.Expr", holder.this)


def _count_check(given: Given, source: exp.Expr) -> Total:
    """All fail where the numbers of rows differ by more than a part of the source's rows."""
    target, rows = exp.column("target_rows"), exp.column("source_rows")
    most = rows * (given.one("tolerance") if "tolerance" in given else 0)
    return Total(
        figures=((target.name, rows_of(given)), (rows.name, source)),
        fails=exp.Abs(this=target - rows) > most,
    )


def _missing_events(given: Given, source: exp.Select) -> exp.Select:
    """The events of a source that no row has; one without an id is none."""
    own, found = given.one("event_id"), exp.column(f"{OWN_PREFIX}event")
    theirs = given.one("source_event_id") if "source_event_id" in given else own.copy()
    there = exp.select("1").from_(THIS_MODEL).where(own.eq(found), given.condition)
    events = source.select(exp.alias_(theirs, found.name)).subquery(f"{OWN_PREFIX}source")
    return (
        exp.select(exp.alias_(found, own.output_name or "event_id", quoted=True))
        .distinct()
        .from_(events)
        .where(exp.not_(found.is_(exp.null())), exp.not_(exp.Exists(this=there)))
    )


def _text(graph: Graph, node: Node, query: exp.Select, times: TimeRange) -> SqlText:
    return render_text(graph, node.name, placed(query.sql("spark"), catalog=""), times)


def _source_rows(
    graph: Graph, node: Node, given: Given, processed: Sequence[Interval]
) -> exp.Select:
    """The rows of a parent that belong to what was evaluated, without any columns yet."""
    parent = _parent(node, given.one("source"))
    if parent is None:
        raise Refused(
            f"{node.name} does not read {given.one('source').sql('spark')}", advice="Plan again."
        )
    table = exp.table_(parent.name, db=parent.schema, catalog=parent.catalog or None)
    query = exp.select().from_(table)
    if _reads_its_interval(node) and processed:
        time_column = given.one("time_column") if "time_column" in given else None
        axis = _source_axis(graph[parent], time_column)
        if axis is None:
            raise Refused(
                f"{node.name}: it is unknown which rows of {parent} belong to an interval."
            )
        column = cast("exp.Column", time_column or exp.column(axis.column))
        kind, form = axis_type(axis.type), axis.format
        ranges = (within(column, each, time_type=kind, time_format=form) for each in processed)
        query = query.where(exp.or_(*ranges))
    return query.where(given.one("source_condition") if "source_condition" in given else None)


def _source_axis(parent: Node, time_column: exp.Expr | None) -> TimeAxis | None:
    """How rows of a source belong to intervals; None where that is not known."""
    own = input_axis(parent)
    if time_column is None or (own is not None and own.column == time_column.name):
        return own
    types = {each.name.lower(): each.type for each in parent.columns}
    known = types.get(time_column.name.lower(), "timestamp")
    return TimeAxis(column=time_column.name, unit=parent.model.unit, type=known)


def _parent(node: Node, named: exp.Expr) -> ModelName | None:
    """The parent that an argument names, with or without the project's catalog."""
    name = table_name(named)
    names = (name, ModelName(name.schema, name.name))
    return next((each for each in names if each in node.model.parents), None)


def _wrong_source(
    graph: Graph, node: Node, name: str, arguments: Mapping[str, exp.Expr]
) -> Iterator[Finding]:
    parent = _parent(node, arguments["source"])
    does = "counts" if name == COUNT_AUDIT else "looks for events of"
    if parent is None:
        written = arguments["source"].sql("spark")
        message = f"the audit {name} {does} {written}, which {node.name} does not read"
        parents = suggested(written, map(str, node.model.parents)) if node.model.parents else ""
        yield Finding(message=message, advice=parents or "Name a table that the query reads.")
    elif node.model.kind.order is not None:
        message = f"the audit {name} {does} {parent}, but {node.name} does not show all its changes"
        advice = "Remove it: the check `vde_not_stale` reports whether all of a feed is loaded."
        yield Finding(message=message, advice=advice)
    elif (
        parent in graph
        and _reads_its_interval(node)
        and _source_axis(graph[parent], arguments.get("time_column")) is None
    ):
        message = f"the audit {name} cannot tell which rows of {parent} belong to an interval"
        advice = "Set the argument `time_column := ...` to the column of the source."
        yield Finding(message=message, advice=advice)


def _unknown_columns(node: Node, name: str, call: Call) -> Iterator[str]:
    known = {each.name.lower() for each in node.columns}
    of_source = {each.name for each in BUILTINS[name].parameters if each.of_source}
    # Nothing is parsed where every word is a column: this is asked whenever a project is loaded.
    strange = {
        key
        for key, sql in call.arguments
        if key not in of_source and not known.issuperset(_WORD.findall(_TEXT.sub("", sql.lower())))
    }
    checked = [each for key, each in parsed(call).items() if key in strange] if strange else []
    for argument in checked if known else ():
        if argument.find(exp.Lambda) is not None:
            continue  # the names of its parameters look like columns
        for column in argument.find_all(exp.Column):
            parts = [each.name.lower() for each in column.parts]
            first = parts[1] if parts[0] == THIS_MODEL and len(parts) > 1 else parts[0]
            if first not in known and isinstance(column.this, exp.Identifier):
                yield first


_TEXT: Final = re.compile(r"'(?:[^'\\]|\\.)*'")
_WORD: Final = re.compile(r"[^\W\d]\w*")


def _reads_its_interval(node: Node) -> bool:
    """Whether an evaluation reads what its interval needs; the others read whole tables."""
    return node.model.kind.is_by_interval and not node.model.kind.keeps_history
