"""Unique keys, and what happens to rows whose key exists already (seed 001)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

import sqlglot
from sqlglot import exp

from vde_dagster.core.model.hidden_rows import HiddenRows, read_hidden_rows
from vde_dagster.core.model.kinds import WrittenMerge
from vde_dagster.core.sql.data_names import normalized_names
from vde_dagster.core.sql.dialects import is_spark, read_sql
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.macros import TIME_MACROS, macros_in
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.text import closed
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.values import read_expression

T = TypeVar("T", bound=exp.Expr)
_SIDES: Final = {
    "source": "source",
    "target": "target",
    # What dbt and SQLMesh call them where they write the MERGE statement themselves.
    "dbt_internal_source": "source",
    "dbt_internal_dest": "target",
    "__merge_source__": "source",
    "__merge_target__": "target",
}
_CLAUSES: Final = "MERGE INTO t AS target USING s AS source ON 1 = 1 "


def read_unique_key(value: Value, dialect: str, problems: Problems) -> tuple[str, ...]:
    """Columns or expressions, as SQL in Spark's dialect (seed 001, *Unique Key Expressions*)."""
    keys: list[str] = []
    for item in value.items():
        found = read_expression(item, dialect, problems)
        if found is None:
            continue
        key = _without_quotes(normalized_names(found)).sql("spark")
        if found.find(exp.Column) is None:
            message = f"the unique_key {item.raw} contains no column"
            problems.add(item.place, message, "Name the columns that identify a row.")
        else:
            keys.append(key)
    return tuple(keys)


def read_written_merge(
    given: Mapping[str, Value], key: Sequence[str], dialect: str
) -> WrittenMerge:
    """The options of a merge as they are written, with the sides named source and target.

    Empty for other dialects than Spark's. What is wrong with them is reported elsewhere.
    """
    if not is_spark(dialect):
        return WrittenMerge()
    keys = given["unique_key"].items()
    conditions = [given["merge_filter"]] if "merge_filter" in given else []
    if "incremental_predicates" in given:
        conditions += given["incremental_predicates"].items()
    clauses = given.get("when_matched")
    return WrittenMerge(
        key=tuple(_key_text(*each) for each in zip(keys, key, strict=True))
        if len(keys) == len(key)
        else (),
        when_matched=_sided(_clauses_text(clauses), _CLAUSES) if clauses is not None else "",
        merge_filter=" AND ".join(f"({closed(_sided(each.sql, _BEFORE))})" for each in conditions),
    )


def _key_text(written: Value, key: str) -> str:
    """A key as it is written; a column, or a field of one, by its name."""
    is_name = isinstance(sqlglot.parse_one(key, dialect="spark"), exp.Column | exp.Dot)
    return key if is_name else written.sql


def _sided(text: str, before: str) -> str:
    """A text with its sides named source and target; empty if it is not understood."""
    try:
        columns = list(read_spark(before + text).find_all(exp.Column))
    except SQL_ERRORS:
        return ""
    pieces, at = [], 0
    for table in sorted(
        (each.args["table"] for each in columns if each.table.lower() in _SIDES),
        key=lambda each: int(each.meta["start"]),
    ):
        start, end = table.meta["start"] - len(before), table.meta["end"] + 1 - len(before)
        if start >= 0:
            pieces += [text[at:start], _SIDES[table.name.lower()]]
            at = end
    return "".join([*pieces, text[at:]])


_BEFORE: Final = "SELECT "


def _without_quotes(expression: exp.Expr) -> exp.Expr:
    """Names without quotes where they need none, so that `id` and "id" are one key."""
    for each in expression.find_all(exp.Identifier):
        each.set("quoted", not _is_bare(each.name))
    return expression


def _is_bare(name: str) -> bool:
    """Whether a text is read as the name of a column without quotes."""
    try:
        found = sqlglot.parse_one(name, dialect="spark")
    except SQL_ERRORS:
        return False
    return isinstance(found, exp.Column) and found.sql("spark") == name


def read_when_matched(value: Value, dialect: str, problems: Problems) -> tuple[exp.When, ...]:
    """The WHEN MATCHED clauses, in order (seed 001, *When Matched Expression*)."""
    text = _clauses_text(value)
    try:
        merge = read_sql(_CLAUSES + text, dialect)
    except (*SQL_ERRORS, RecursionError):
        merge = None
    whens = merge.args.get("whens") if isinstance(merge, exp.Merge) else None
    if whens is None or not whens.expressions:
        message = "when_matched is not a list of WHEN MATCHED clauses"
        advice = "Write `when_matched (WHEN MATCHED THEN UPDATE SET target.a = source.a)`."
        problems.add(value.place, message, advice)
        return ()
    clauses = []
    for when in whens.expressions:
        if not when.args.get("matched") or when.args.get("source"):
            message = "when_matched has a clause for rows that do not match"
            problems.add(
                value.place, message, "Remove it: rows without a match are inserted automatically."
            )
        clause = _with_sides(when, value, "when_matched", problems)
        if clause is not None:
            _check_action(clause, value, problems)
            clauses.append(clause)
    return tuple(clauses)


def _clauses_text(value: Value) -> str:
    items = value.items()
    is_list = items != (value,) and all(item.is_string for item in items)
    text = ("\n".join(item.sql for item in items) if is_list else value.sql).strip()
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _check_action(clause: exp.When, value: Value, problems: Problems) -> None:
    """Refuse what Spark's MERGE cannot do with rows that match, such as DO NOTHING."""
    action = clause.args["then"]
    if not isinstance(action, exp.Update):
        if clause.args.get("matched") and action.name.upper() != "DELETE":
            said = "INSERT" if isinstance(action, exp.Insert) else action.name.upper()
            message = f"when_matched contains {said}, which Spark's MERGE does not have there"
            advice = "Write UPDATE SET or DELETE; rows that match no clause stay unchanged."
            problems.add(value.place, message, advice)
        return
    for assignment in action.expressions:
        written = assignment.this if isinstance(assignment, exp.EQ) else assignment
        if isinstance(written, exp.Star) or (
            isinstance(written, exp.Column) and written.table != "source"
        ):
            continue  # a column without a side was reported already
        message = f"when_matched sets {written.sql('spark')!r}, which is not a column of the target"
        problems.add(value.place, message, "Write `UPDATE SET target.a = ...`.")


def read_delete_when(value: Value, dialect: str, problems: Problems) -> HiddenRows | None:
    """What marks the change that deletes its key."""
    condition = read_expression(value, dialect, problems)
    if condition is None:
        return None
    found = read_hidden_rows(normalized_names(condition))
    if found is None:
        message = f"delete_when is {value.sql!r}, but it can only compare one column with constants"
        advice = (
            "Write `delete_when (op = 'D')`, `op IN ('D', 'T')`, `deleted_at IS NOT NULL` or "
            "a boolean column, and compute everything else in a column of the query."
        )
        problems.add(value.place, message, advice)
    return found


def read_condition(
    items: Iterable[Value], name: str, dialect: str, problems: Problems
) -> exp.Expr | None:
    """The conditions that bound which rows of the target are looked at (*Merge Filter*)."""
    found: list[exp.Expr] = []
    for item in items:
        condition = read_expression(item, dialect, problems)
        if condition is not None and not isinstance(condition, exp.Condition):
            message = f"{name} has {item.sql!r}, which is not a condition"
            advice = "Write a comparison, such as `target.day > DATE '2024-01-01'`."
            problems.add(item.place, message, advice)
        elif condition is not None:
            sided = _with_sides(condition, item, name, problems)
            found += [] if sided is None else [sided]
    return exp.and_(*found) if found else None


def _with_sides(node: T, value: Value, name: str, problems: Problems) -> T | None:
    """A clause with its sides named source and target; a column that names none is a problem.

    So is a sub-query, for which no clause is returned.
    """
    normalized = normalized_names(node)
    if normalized.find(exp.Query) is not None:
        message = f"{name} has a subquery, which Iceberg's MERGE does not support there"
        advice = "Add the value as a column of the model's query, and use that column here."
        problems.add(value.place, message, advice)
        return None
    for column in list(normalized.find_all(exp.Column)):
        if isinstance(column.this, exp.Star):
            continue
        side = _SIDES.get(column.table.lower())
        if side is None:
            problems.add(
                value.place,
                f"{name} has the column {column.sql()!r}, which may belong to either side",
                f"Write `source.{column.name}` or `target.{column.name}`.",
            )
        else:
            column.set("table", exp.to_identifier(side))
    for macro, _ in macros_in(normalized):
        if macro not in TIME_MACROS:
            message = f"{name} has the macro @{macro}, which is not available there"
            problems.add(value.place, message, suggestion(macro, sorted(TIME_MACROS)))
    return normalized
