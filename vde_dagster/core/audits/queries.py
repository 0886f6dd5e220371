"""The queries of audits: the rows that fail, and how many fail of several audits at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from sqlglot import exp

from vde_dagster.core.audits.group_checks import repeated
from vde_dagster.core.audits.values import (
    OWN_PREFIX,
    THIS_MODEL,
    Audit,
    EachRow,
    FailingRows,
    Total,
    Unique,
)
from vde_dagster.core.audits.written import THIS, filled
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.rendering import spark_text


def failing_rows(audit: Audit) -> exp.Query:
    """The rows for which an audit fails; none where it passes.

    It reads the staged rows as ``this_model``, and other tables under their models' names. Columns
    that begin with ``_vde_`` are none of the rows'.
    """
    match audit.check:
        case EachRow(fails=fails):
            return exp.select(exp.Star()).from_(THIS_MODEL).where(fails)
        case Total(figures=figures, fails=fails):
            named = [each.copy().as_(name) for name, each in figures]
            inner = exp.select(*named).from_(THIS_MODEL).subquery(f"{OWN_PREFIX}figures")
            return exp.select(exp.Star()).from_(inner).where(fails)
        case Unique(key=key, condition=condition):
            return repeated([[each.copy() for each in key]], condition)
        case FailingRows(query=query):
            return query.copy()
        case _:
            assert_never(audit.check)


def sql_of(query: exp.Query, *, rows: TableName, tables: Mapping[ModelName, TableName]) -> str:
    """A query in Spark's SQL that reads the staged rows, and other models, under these names.

    Raises:
        KeyError: It reads a model that is not among them.
    """
    renamed = query.copy()
    for table in list(renamed.find_all(exp.Table)):  # all others stand in texts
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(THIS_MODEL)))
        table.set("this", exp.to_identifier(rows.name, quoted=True))
        if rows.namespace:
            table.set("db", exp.to_identifier(rows.namespace, quoted=True))
    return filled(spark_text(renamed), lambda name: rows if name == THIS else tables[name])


def failing_query(
    audit: Audit,
    rows: TableName,
    branch: str,
    tables: Mapping[ModelName, str],
    inside: exp.Expr | None = None,
) -> str:
    """The query of the failing rows of a table, in Spark's SQL, for people to run.

    Args:
        audit: The audit.
        rows: The table that has the rows.
        branch: The branch of that table that has them; empty for the table itself.
        tables: The texts of what it reads of other models.
        inside: A condition for the rows that are audited; None for all.

    Raises:
        KeyError: It reads a model that is not among them.
    """
    return _over(failing_rows(audit), rows, branch, tables, inside)


def held_queries(
    audit: Audit, rows: TableName, tables: Mapping[ModelName, str], inside: exp.Expr | None
) -> tuple[str, str]:
    """The queries of how many rows of a table fail, and of these rows, in Spark's SQL.

    Args:
        audit: The audit.
        rows: The table that has the rows.
        tables: The texts of what it reads of other models.
        inside: A condition for the rows that are audited; None for all.

    Raises:
        KeyError: It reads a model that is not among them.
    """
    failing = failing_rows(audit)
    count = exp.select(_count().as_("failing")).from_(failing.subquery(f"{OWN_PREFIX}failing"))
    number, found = (_over(each, rows, "", tables, inside) for each in (count, failing))
    return number, found


def _over(
    query: exp.Query,
    rows: TableName,
    branch: str,
    tables: Mapping[ModelName, str],
    inside: exp.Expr | None = None,
) -> str:
    """A query that reads a table, or some of its rows, as the audited ones."""
    parts = [each for each in (rows.catalog, rows.namespace, rows.name, branch) if each]
    names = [exp.to_identifier(each, quoted=True) for each in parts]
    place = exp.Table(this=exp.column(*reversed(names)))
    if not branch:
        place = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(names), strict=False)))
    audited = exp.select(exp.Star()).from_(place).where(inside)
    read = query.copy()
    named = exp.CTE(this=audited, alias=exp.TableAlias(this=exp.to_identifier(THIS_MODEL)))
    read.set("with_", exp.With(expressions=[named]))
    own = TableName("", THIS_MODEL)
    return filled(spark_text(read), lambda name: own if name == THIS else tables[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """One query for the number of failing rows of several audits.

    Its rows have a number, ``part``, and ``failing``, an array of counts. ``parts`` says which
    audits these belong to, by their place in the sequence: one tuple for each number.

    Audits of rows and of totals are one part, whatever their number: one aggregate in one pass.
    So are those of one key. Each other audit is a part of its own.
    """

    query: exp.Query
    parts: tuple[tuple[int, ...], ...]

    def counts(self, found: Iterable[tuple[int, Sequence[int]]]) -> tuple[int, ...]:
        """The counts in the order of the audits, from the query's rows in any order."""
        by_audit = {
            index: count
            for part, counts in found
            for index, count in zip(self.parts[part], counts, strict=True)
        }
        return tuple(by_audit[index] for index in range(len(by_audit)))


def counting(audits: Sequence[Audit]) -> Counting:
    """The query for what fails of some audits, at least one. It reads as `failing_rows` do."""
    plain: list[tuple[int, exp.Expr]] = []
    keys: dict[tuple[exp.Expr, ...], list[tuple[int, Unique]]] = {}
    alone: list[tuple[int, exp.Query]] = []
    for index, audit in enumerate(audits):
        match audit.check:
            case EachRow(fails=fails):
                plain.append((index, exp.CountIf(this=fails.copy())))
            case Total() as check:
                plain.append((index, exp.case().when(_over_figures(check), "1").else_("0")))
            case Unique() as check:
                keys.setdefault(check.key, []).append((index, check))
            case FailingRows():
                alone.append((index, failing_rows(audit)))
            case _:
                assert_never(audit.check)
    groups: list[tuple[list[int], list[exp.Expr], exp.Expr]] = []
    if plain:
        counted = [each for _, each in plain]
        groups.append(([index for index, _ in plain], counted, exp.to_table(THIS_MODEL)))
    groups += [
        ([index for index, _ in each], *_repeats([check for _, check in each]))
        for each in keys.values()
    ]
    groups += [
        ([index], [_count()], query.subquery(f"{OWN_PREFIX}failing")) for index, query in alone
    ]
    selects = [
        exp.select(
            exp.Literal.number(number).as_("part"),
            exp.Array(expressions=[exp.cast(each, "bigint") for each in counts]).as_("failing"),
        ).from_(rows)
        for number, (_, counts, rows) in enumerate(groups)
    ]
    query = exp.union(*selects, distinct=False) if len(selects) > 1 else selects[0]
    return Counting(query=query, parts=tuple(tuple(indexes) for indexes, _, _ in groups))


def _repeats(checks: Sequence[Unique]) -> tuple[list[exp.Expr], exp.Subquery]:
    """How many rows share a key with another one, for checks of the same key, and of what rows."""
    times = [exp.column(f"{OWN_PREFIX}times_{index}") for index in range(len(checks))]
    counts = [
        (_count() if each.condition is None else exp.CountIf(this=each.condition.copy())).as_(
            column.name
        )
        for each, column in zip(checks, times, strict=True)
    ]
    key = [each.copy() for each in checks[0].key]
    groups = exp.select(*counts).from_(THIS_MODEL).group_by(*key).subquery(f"{OWN_PREFIX}keys")
    several = (exp.case().when(each > 1, each).else_("0") for each in times)
    return [exp.func("coalesce", exp.Sum(this=each), 0) for each in several], groups


def _over_figures(check: Total) -> exp.Expr:
    """When totals fail, in terms of the aggregates themselves."""
    figures = dict(check.figures)

    def aggregate(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name in figures:
            return figures[node.name].copy()
        return node

    return check.fails.copy().transform(aggregate)


def _count() -> exp.Expr:
    return exp.Count(this=exp.Star(), big_int=True)
