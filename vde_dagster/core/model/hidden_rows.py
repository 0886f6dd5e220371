"""Rows of a keyed table that are kept for what comes late, and never shown.

A change that comes late must not bring back a key that a later change has deleted, so the change
that deleted it stays in the table. So do changes of a history that make no version of their own.
Reads for a person or a model leave such rows out, and D-SHAs do not count them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenRows:
    """Which rows these are: those whose ``column`` has one of some ``values``.

    Without values they are those where the column is not NULL, or is with ``is_null``. It is as
    simple as that because Spark, DuckDB and pyiceberg all leave these rows out.
    """

    column: str
    values: tuple[str | int | bool, ...] = ()
    is_null: bool = False

    def __str__(self) -> str:
        """The condition as people read it."""
        return self.condition.sql("spark")

    @property
    def condition(self) -> exp.Expr:
        """That a row is one; it may be NULL."""
        column = exp.column(self.column, quoted=True)
        if self.values:
            return exp.In(this=column, expressions=[exp.convert(each) for each in self.values])
        missing = column.is_(exp.null())
        return missing if self.is_null else missing.not_()

    @property
    def visible(self) -> exp.Expr:
        """That a row is none of them; never NULL."""
        if not self.values:
            return HiddenRows(column=self.column, is_null=not self.is_null).condition
        missing = exp.column(self.column, quoted=True).is_(exp.null())
        return exp.or_(missing, self.condition.not_())


def read_hidden_rows(condition: exp.Expr) -> HiddenRows | None:
    """What a condition says: a column, compared with constants; None where it says more."""
    match condition.unnest():
        case exp.Column() as column:
            return _of(column, [exp.true()])
        case (
            exp.EQ(this=exp.Column() as column, expression=value)
            | exp.EQ(this=value, expression=exp.Column() as column)
        ):
            return _of(column, [value])
        case exp.In(this=exp.Column() as column, args={"expressions": [*values]}) if values:
            return _of(column, values)
        case exp.Not(this=exp.Is(this=exp.Column() as column, expression=exp.Null())):
            return _of(column, [])
        case _:
            return None


def _of(column: exp.Column, values: list[exp.Expr]) -> HiddenRows | None:
    read = [_constant(each) for each in values]
    known = tuple(each for each in read if each is not None)
    is_field = len(column.parts) > 1
    if is_field or len(known) < len(read) or len({type(each) for each in known}) > 1:
        return None
    return HiddenRows(column=column.name.lower(), values=known)


def _constant(value: exp.Expr) -> str | int | bool | None:
    match value:
        case exp.Boolean(this=found):
            return bool(found)
        case exp.Literal(is_string=True):
            return str(value.this)
        case exp.Literal() if value.is_int:
            return int(value.this)
        case exp.Neg(this=exp.Literal() as inner) if inner.is_int:
            return -int(inner.this)
        case _:
            return None
