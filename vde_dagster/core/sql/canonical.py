"""The canonical form of a query, which is hashed, with the names and types of its columns.

Two texts with the same canonical form give the same rows. Identifiers are normalized and every
column is bound to the table that it comes from, so formatting, keyword case, comments and the
spelling of columns do not count (seed 000, *Fingerprinting*).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from vde_dagster.core.columns import Column
from vde_dagster.core.deferred import Deferred
from vde_dagster.core.errors import Finding, Refused, as_sentence
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.data_names import keep_data_names, restore_data_names
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.macros import EPOCH_DAY, resolve_time_macros
from vde_dagster.core.sql.meaning.parts import Meaning
from vde_dagster.core.sql.meaning.queries import meaning_of
from vde_dagster.core.sql.meaning.same_writing import note_types
from vde_dagster.core.sql.open_columns import bind_to_open_tables, name_tables
from vde_dagster.core.sql.spark.forms import with_known_forms
from vde_dagster.core.sql.spark.merged_columns import note_merging_joins, with_merged_columns
from vde_dagster.core.sql.spark.names import (
    Unclear,
    unknown_stars,
    with_columns_for_words,
    with_spark_names,
)
from vde_dagster.core.sql.spark.scopes import type_named
from vde_dagster.core.sql.spark.type_spelling import type_text
from vde_dagster.core.sql.star_macro import expand_star_macros, is_star_macro
from vde_dagster.core.sql.types import with_types
from vde_dagster.core.sql.unresolved import line_of, unresolved_columns

UNKNOWN_TYPE = "unknown"
_DIALECT: Final = "spark, normalization_strategy = case_insensitive"
"""The tables are in Spark's catalog, where the case of a name never counts."""


class QueryInvalid(Refused):
    """A query cannot be understood against the known schemas, or does not fit its model.

    Args:
        findings: Everything that is wrong with it, each with its line if that is known.
    """

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings
        super().__init__("\n".join(f"{each.message}. {each.advice}" for each in findings))


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalQuery(Deferred):
    """A qualified query (time macros unresolved) and the columns that it returns, in order.

    If it reads tables whose columns are not known, it may have no ``columns``: what ``*`` stands
    for is not known, either. If ``is_bound`` is False, not every column could be bound to its
    table: then only an equal query is known to give the same rows. A query with ``refusals`` was
    accepted by an earlier release: it is analysed as far as possible, and never runs again.
    """

    expression: exp.Query
    columns: tuple[Column, ...]
    meaning: Meaning
    is_bound: bool = True
    refusals: tuple[Finding, ...] = ()


def understood(
    expression: exp.Query,
    columns: tuple[Column, ...],
    *,
    is_bound: bool = True,
    refusals: tuple[Finding, ...] = (),
) -> CanonicalQuery:
    """A canonical query together with its `Meaning`."""
    return CanonicalQuery(
        expression=expression,
        columns=columns,
        meaning=meaning_of(expression, is_bound=is_bound),
        is_bound=is_bound,
        refusals=refusals,
    )


def canonicalize(
    query: exp.Query,
    *,
    schemas: Mapping[ModelName, Sequence[Column]],
    undeclared: bool = False,
    text: str = "",
    is_stored: bool = False,
) -> CanonicalQuery:
    """Qualify a query against the columns of the models that it reads.

    Args:
        query: As parsed from Spark's SQL, @STAR and @UNION unresolved; it is not changed.
        schemas: The columns of every parent.
        undeclared: Whether there are undeclared sources upstream: then a parent without columns is
            one whose columns are not known, and types need not be known.
        text: The query as it runs.
        is_stored: Whether it may be from an earlier release: then what is refused now is reported
            in the result.

    Raises:
        QueryInvalid: Columns or tables are not known, or names are ambiguous: all of them.
    """
    schema = schema_of(schemas, _DIALECT)
    if undeclared and not all(schemas.values()):
        found, unclear = _open(query, schema=schema, schemas=schemas, text=text)
        if not is_stored:
            _refuse(unclear)
        return replace(found, refusals=_findings(unclear))
    return _closed(query, schema=schema, schemas=schemas, text=text, is_stored=is_stored)


def _closed(
    query: exp.Query,
    *,
    schema: MappingSchema,
    schemas: Mapping[ModelName, Sequence[Column]],
    text: str,
    is_stored: bool,
) -> CanonicalQuery:
    """A query over tables whose columns are known."""
    refused: Sequence[Unclear] = ()
    documented = _described(query)
    formed = with_known_forms(_prepared(query), schemas)
    try:
        starred = expand_star_macros(formed, schemas=schemas)
        expanded = note_merging_joins(with_columns_for_words(starred, schemas))
        refused = with_spark_names(expanded, schemas)
        qualified = qualify(expanded, dialect=_DIALECT, schema=schema, quote_identifiers=False)
        assert isinstance(qualified, exp.Query)
        with_merged_columns(qualified, schema=schema)
        refused = refused or tuple(unknown_stars(qualified))
        if not is_stored:
            _refuse(refused)
        timed = resolve_time_macros(qualified, EPOCH_DAY)
        typed = with_types(timed, schema=schema, dialect=_DIALECT)
        columns = tuple(_columns(typed, documented))
        note_types(qualified, schema=schema, dialect=_DIALECT)
        restore_data_names(qualified, schema=schema, dialect=_DIALECT, text=text, tables=schemas)
    except (Refused, *SQL_ERRORS) as error:
        if refused:
            raise QueryInvalid(*_findings(refused)) from error
        if isinstance(error, QueryInvalid):
            raise
        if isinstance(error, Refused):
            raise QueryInvalid(_finding(error)) from error
        findings = _unresolved(query, schemas, schema)
        raise QueryInvalid(*(findings or [_misunderstood(error, query)])) from error
    return understood(qualified, columns, refusals=_findings(refused))


def _open(
    query: exp.Query,
    *,
    schema: MappingSchema,
    schemas: Mapping[ModelName, Sequence[Column]],
    text: str,
) -> tuple[CanonicalQuery, Sequence[Unclear]]:
    """A query over tables whose columns are not known: bound as far as names are unambiguous.

    Returned with its ambiguous parts. What depends on types that are not known is not an error.
    """
    unclear: Sequence[Unclear] = ()
    documented = _described(query)
    formed = with_known_forms(_prepared(query), schemas)
    try:
        starred = expand_star_macros(formed, schemas=schemas)
        expanded = note_merging_joins(with_columns_for_words(starred, schemas))
        unclear = with_spark_names(expanded, schemas)
        bound = with_merged_columns(_bound(expanded, schema), schema=schema)
        timed = resolve_time_macros(bound, EPOCH_DAY)
        typed = with_types(timed, schema=schema, dialect=_DIALECT)
        columns = _known_columns(typed, documented)
        note_types(bound, schema=schema, dialect=_DIALECT)
        restore_data_names(bound, schema=schema, dialect=_DIALECT, text=text, tables=schemas)
        return understood(bound, columns), unclear
    except QueryInvalid:
        if not unclear:
            raise
    except (Refused, *SQL_ERRORS):
        pass  # a column that may come from several places, or @STAR of a source
    try:
        plain = with_columns_for_words(formed, schemas)
        loose = name_tables(plain, schema=schema, dialect=_DIALECT)
    except SQL_ERRORS as error:
        raise QueryInvalid(_misunderstood(error, query)) from error
    columns = _known_columns(loose, documented)
    restore_data_names(loose, schema=schema, dialect=_DIALECT, text=text, tables=schemas)
    return understood(loose, columns, is_bound=False), unclear


def _bound(query: exp.Query, schema: MappingSchema) -> exp.Query:
    """A query with all its columns bound; unknown columns of known tables are reported."""
    named = bind_to_open_tables(query, schema=schema, dialect=_DIALECT)
    try:
        return qualify(named, dialect=_DIALECT, schema=schema, quote_identifiers=False)
    except SQL_ERRORS:
        again = bind_to_open_tables(query, schema=schema, dialect=_DIALECT)
        findings = list(unresolved_columns(again, schema=schema, dialect=_DIALECT))
        if findings:
            raise QueryInvalid(*findings) from None
        raise


def _known_columns(query: exp.Query, documented: Mapping[str, str]) -> tuple[Column, ...]:
    """The columns of a query; none if ``*`` or a macro stands for some that are not known."""
    open_ended = any(each.is_star or is_star_macro(each) for each in query.selects)
    return () if open_ended else tuple(_columns(query, documented))


def schema_of(schemas: Mapping[ModelName, Sequence[Column]], dialect: str) -> MappingSchema:
    """The columns of tables for the optimizer: names in lower case, which it need not parse again.

    A header of a CSV file may have names that no dialect can parse.
    """
    mapping: dict[str, dict[str, dict[str, exp.DataType]]] = {}
    for name, columns in schemas.items():
        typed = {column.name.lower(): type_named(column.type) for column in columns}
        mapping.setdefault(name.schema.lower(), {})[name.name.lower()] = typed
    return MappingSchema(dict(mapping), dialect=dialect, normalize=False)


def _refuse(unclear: Sequence[Unclear]) -> None:
    if unclear:
        raise QueryInvalid(*_findings(unclear))


def _findings(unclear: Iterable[Unclear]) -> tuple[Finding, ...]:
    return tuple(_finding(why, line=line_of(node)) for node, why in unclear)


def _unresolved(
    query: exp.Query,
    schemas: Mapping[ModelName, Sequence[Column]],
    schema: MappingSchema,
) -> list[Finding]:
    """The columns that cannot be bound; none if another error hides them."""
    try:
        expanded = expand_star_macros(query.copy(), schemas=schemas)
        return list(unresolved_columns(expanded, schema=schema, dialect=_DIALECT))
    except SQL_ERRORS:
        return []


def _finding(error: Refused, line: int | None = None) -> Finding:
    """An error as a finding about a query."""
    advice = as_sentence(error.advice) or "Use the names of the tables as this SELECT reads them."
    return Finding(message=error.message, advice=advice, line=line)


def _misunderstood(error: Exception, query: exp.Query) -> Finding:
    """The optimizer's message in one line; its last word is mostly a name in the query."""
    message = first_line(error)
    word = message.rstrip(".").rsplit(maxsplit=1)[-1].strip("'`\"").lower()
    named = [each for each in query.find_all(exp.Identifier) if each.name.lower() == word]
    lines = [line for each in named if (line := line_of(each)) is not None]
    advice = next(
        (advice_text for start, advice_text in _ADVICE.items() if message.startswith(start)), _CHECK
    )
    return Finding(message=message, advice=advice, line=max(lines, default=None))


_CHECK: Final = "Check the names in the query against the columns of its inputs."
_ADVICE: Final = {
    "Alias already used": "Give each table of a SELECT its own alias.",
    "Unknown table": "Use an alias from FROM or JOIN of the same SELECT.",
    "Cannot automatically join": "A column of USING must be in both tables; otherwise write ON.",
    "Unknown output column": "Numbers in ORDER BY and GROUP BY count the columns from 1.",
}
"""What to do, by how a message of sqlglot's optimizer begins."""


def _prepared(query: exp.Query) -> exp.Query:
    """A copy without comments, in which names that are data keep their case."""
    copy = query.copy()
    for node in copy.walk():
        node.comments = None
    keep_data_names(copy)
    return copy


def _described(query: exp.Query) -> dict[str, str]:
    """Column comments next to the top projections of a query as written."""
    return {
        projection.alias_or_name.lower(): " ".join(comment.strip() for comment in found)
        for projection in query.selects
        if (found := _comments_of(projection)) and projection.alias_or_name
    }


def _comments_of(projection: exp.Expr) -> list[str]:
    comments = list(projection.comments or [])
    alias = projection.args.get("alias")
    if isinstance(alias, exp.Identifier):
        comments += alias.comments or []
    elif isinstance(projection, exp.Column):
        comments += projection.this.comments or []
    return comments


def _columns(typed: exp.Query, documented: Mapping[str, str]) -> Iterator[Column]:
    """Names and types of the result; a type that is not known is ``unknown``."""
    for projection in typed.selects:
        kind = projection.type
        known = kind is not None and not kind.is_type(
            exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL
        )
        yield Column(
            name=projection.alias_or_name,
            type=_name_of_type(kind) if known and kind is not None else UNKNOWN_TYPE,
            description=documented.get(projection.alias_or_name.lower(), ""),
        )


def _name_of_type(kind: exp.DataType) -> str:
    plain = not any(value for key, value in kind.args.items() if key != "this")
    return _plain_type(kind.this) if plain else type_text(kind)


@lru_cache(maxsize=256)
def _plain_type(kind: exp.DType) -> str:
    return exp.DataType(this=kind).sql("spark").lower()
