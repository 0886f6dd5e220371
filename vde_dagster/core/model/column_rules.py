"""What a model allows its kept table to lose and to gain (rule R11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

ON_DESTRUCTIVE_CHANGE: Final = "on_destructive_change"
ON_ADDITIVE_CHANGE: Final = "on_additive_change"
"""The names of the properties."""


class OnChange(Enum):
    """What is done about a change of a kept table's columns."""

    ALLOW = "allow"
    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRules:
    """What is done about columns that a model returns no more, and about new or wider ones.

    ``destructive`` is about columns that leave the views, whose values new rows lack; ``additive``
    about columns that older rows have NULL in, and about types that hold more values.
    """

    destructive: OnChange = OnChange.ERROR
    additive: OnChange = OnChange.ALLOW


DEFAULT_COLUMN_RULES: Final = ColumnRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedColumns:
    """Columns that a model wants to be warned of, or refuses, as a text for people."""

    rule: OnChange
    text: str


def judged_columns(
    rules: ColumnRules, *, model: str, table: str, missing: Sequence[str], extra: Sequence[str]
) -> Iterator[JudgedColumns]:
    """What becomes of columns that only an evaluation shows to be others than the table's.

    Which ones a query returns is not known before it is analysed if it uses a function that a
    statement makes, or reads all columns of something like that.

    Args:
        rules: Those of the model.
        model: Its name.
        table: The table that is kept.
        missing: Columns of the table that the result lacks.
        extra: Columns of the result that the table lacks.
    """
    found = (
        (rules.destructive, ON_DESTRUCTIVE_CHANGE, missing, f"lacks {{}}, which {table} has"),
        (rules.additive, ON_ADDITIVE_CHANGE, extra, f"has {{}}, which {table} lacks"),
    )
    for rule, name, columns, said in found:
        if not columns or rule is OnChange.ALLOW:
            continue
        text = f"the result of {model} {said.format(', '.join(columns))} ({name} {rule.value})"
        if rule is OnChange.ERROR:
            text += (
                f". Name the columns in the query as in the table, or write `{name} allow` (or "
                "warn) in the model"
            )
        yield JudgedColumns(rule=rule, text=f"{text}.")
