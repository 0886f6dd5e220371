"""What an audit found, as values that can be kept and as a text for people."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from vde_dagster.core.audits.values import (
    MOST_CHARACTERS,
    OWN_PREFIX,
    Audit,
    AuditResult,
    Scalar,
    Total,
)

_SHOWN_ROWS: Final = 3
_SHOWN_COLUMNS: Final = 8
_NAME: Final = re.compile(r"\w+")
_LARGEST_INTEGER: Final = 2**53
"""Larger ones lose digits in some readers of JSON, so they are kept as texts."""
_REFUSES: Final = (
    "Nothing is published, and readers see the same rows as before. Correct the source rows or "
    "the query, then evaluate again. To make the audit only warn, give it the argument `blocking "
    ":= false`."
)
"""How the message of a blocking audit ends whose rows are refused."""
_WARNS: Final = "It is non-blocking, so the rows are published. Check them."


def passed(audit: Audit) -> AuditResult:
    """An audit for which no row fails."""
    return AuditResult(
        name=audit.name,
        arguments=audit.arguments,
        blocking=audit.blocking,
        failing=0,
        message=f"the audit {audit} passed",
    )


def failed(
    audit: Audit, failing: int, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> AuditResult:
    """An audit for which rows fail.

    Args:
        audit: The audit.
        failing: How many rows fail, at least one.
        columns: Those of ``rows``, which the query of failing rows gave.
        rows: The first of the failing rows, as an engine has them in Python.
    """
    kept = [index for index, name in enumerate(columns) if not name.startswith(OWN_PREFIX)]
    names = tuple(columns[index] for index in kept)
    sample = tuple(tuple(scalar(row[index]) for index in kept) for row in rows)
    return AuditResult(
        name=audit.name,
        arguments=audit.arguments,
        blocking=audit.blocking,
        failing=failing,
        columns=names,
        sample=sample,
        message=_message(audit, failing, names, sample),
    )


def outside(place: str, column: str, intervals: str, *, first: object, last: object) -> AuditResult:
    """What is found of a function's rows, none of which is in the intervals that it is asked for.

    Args:
        place: The function.
        column: The time column.
        intervals: They are loaded without rows.
        first: The first time of the rows, as text is ordered.
        last: The last one.
    """
    return AuditResult(
        name="rows_in_interval",
        blocking=False,
        failing=1,
        columns=("first", "last"),
        sample=((scalar(first), scalar(last)),),
        message=f"{place} returns rows for {intervals}, but none of them is in it: {column} "
        f"ranges from {first} to {last}. The interval is loaded without rows.",
    )


def as_accepted(result: AuditResult) -> AuditResult:
    """What an audit found among rows that a person accepted against it: they are published."""
    if not result.stops:
        return result
    found = result.message.removesuffix(_REFUSES).rstrip()
    return replace(result, message=f"{found} A person accepted that, so the rows are published.")


def scalar(value: object) -> Scalar:
    """A value as JSON has it, of bounded length: what is not a number or boolean is a text.

    Instants are written in UTC, bytes in hexadecimal digits.
    """
    match value:
        case None | bool():
            return value
        case int() if abs(value) <= _LARGEST_INTEGER:
            return value
        case float() if math.isfinite(value):
            return value
        case bytes() | bytearray():
            text = value.hex()
        case datetime():
            utc = value.astimezone(UTC) if value.tzinfo is not None else value
            text = utc.replace(tzinfo=None).isoformat(sep=" ")
        case _:
            text = str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _message(
    audit: Audit, failing: int, columns: Sequence[str], sample: Sequence[Sequence[Scalar]]
) -> str:
    named = set(_NAME.findall(" ".join(value for _, value in audit.arguments)))
    if isinstance(audit.check, Total):
        found = _row(columns, sample[0], named) if sample else "its figures are bad"
        message = f"the audit {audit} failed: {found}"
    else:
        rows = "1 row fails" if failing == 1 else f"{failing} rows fail"
        first = "; ".join(_row(columns, each, named) for each in sample[:_SHOWN_ROWS])
        shown = f"{', such as' if failing > _SHOWN_ROWS else ':'} {first}" if first else ""
        message = f"the audit {audit} failed: {rows}{shown}"
    return f"{message}. {_REFUSES if audit.blocking else _WARNS}"


def _row(columns: Sequence[str], row: Sequence[Scalar], named: Container[str]) -> str:
    """The first columns of a row; those that the audit names come before all others."""
    pairs = list(zip(columns, row, strict=True))
    if len(pairs) > _SHOWN_COLUMNS:
        pairs.sort(key=lambda pair: pair[0] not in named)
    message = ", ".join(f"{name} = {_shown(value)}" for name, value in pairs[:_SHOWN_COLUMNS])
    return f"({message}{', ...' if len(pairs) > _SHOWN_COLUMNS else ''})"


def _shown(value: Scalar) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return f"'{value}'"
        case _:
            return str(value)
