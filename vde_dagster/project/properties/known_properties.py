"""Which properties a model may have, and which of them a block gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.model.column_rules import ON_ADDITIVE_CHANGE, ON_DESTRUCTIVE_CHANGE
from vde_dagster.core.model.room import CONCURRENCY
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties.model_block import ASSIGNING, CLOSING, OPENING, Value
from vde_dagster.project.properties.table_properties import STORAGE_PROPERTIES

PROPERTIES: Final = (
    "name",
    "kind",
    "cron",
    "cron_tz",
    "start",
    "end",
    "interval_unit",
    "owner",
    "description",
    "tags",
    "grain",
    "grains",
    "references",
    "columns",
    "column_descriptions",
    "dialect",
    *STORAGE_PROPERTIES,
    "audits",
    "signals",
    "depends_on",
    "freshness",
    "updates_on",
    "retries",
    CONCURRENCY,
    ON_DESTRUCTIVE_CHANGE,
    ON_ADDITIVE_CHANGE,
    "allow_partials",
    "enabled",
    "stamp",
    "late_data",
    "deterministic",
    "pre_statements",
    "post_statements",
)
_STATEMENTS: Final = "Write the statements before and after the query, with `;` between them."
_PYTHON_ONLY: Final = {
    "deterministic": "Leave it out: for a query this is derived from its SQL.",
    "pre_statements": _STATEMENTS,
    "post_statements": _STATEMENTS,
}
"""With what to do instead in a SQL model."""
UNSUPPORTED: Final = (
    "default_catalog",
    "formatting",
    "gateway",
    "grants",
    "grants_target_layer",
    "ignored_rules",
    "inline_audits",
    "on_virtual_update",
    "optimize_query",
    "physical_version",
    "project",
    "session_properties",
    "validate_query",
    "virtual_environment_mode",
    "virtual_properties",
)
"""Properties that SQLMesh has and that have no effect here; each is warned of by name."""
BLUEPRINTS: Final = "blueprints"
REFUSED: Final = {
    BLUEPRINTS: (
        "blueprints, which create several models from one file, are not supported",
        "Write a file for each model, and put shared SQL into a function in macros/.",
    ),
    "is_sql": (
        "a function with is_sql returns SQL, but a Python model returns rows",
        "Write it as a model in a .sql file, and build the SQL in a function in macros/.",
    ),
}
"""Properties that SQLMesh has and without which a file means something else, and what to do."""


def known_properties(written: Iterable[tuple[str, Value]], problems: Problems) -> dict[str, Value]:
    """The values of the properties that are known, each once."""
    values: dict[str, Value] = {}
    for key, value in written:
        rest = value.rest()
        if key in REFUSED:
            if rest is None or rest.written.lower() != "false":
                problems.found.append(refused(key, value.place))
        elif key in UNSUPPORTED:
            message = f"the property {key!r} is not supported and has no effect"
            problems.warn(value.place, message, "Remove it.")
        elif key not in PROPERTIES:
            own = [each for each in PROPERTIES if value.in_python or each not in _PYTHON_ONLY]
            problems.add(value.place, f"unknown property {key!r}", suggestion(key, own))
        elif key in _PYTHON_ONLY and not value.in_python:
            message = f"the property {key!r} is only for Python models"
            problems.add(value.place, message, _PYTHON_ONLY[key])
        elif key in values:
            problems.add(value.place, f"the property {key!r} is given twice", "Remove one.")
        elif rest is None:
            problems.add(value.place, f"the property {key!r} has no value", f"Write `{key} ...`.")
        else:
            values[key] = _complete(key, rest, problems)
    return values


def refused(key: str, place: Place) -> Problem:
    """The problem of a property in `REFUSED`."""
    message, advice = REFUSED[key]
    return Problem(place=place, message=message, advice=advice)


def _complete(key: str, value: Value, problems: Problems) -> Value:
    """A value cut before surplus tokens, such as the next property after a forgotten comma."""
    index = _surplus(key, value)
    if index is None:
        return value
    extra = value.after(index) or value
    message = f"{extra.raw} does not belong to the property {key!r}"
    advice = "Put a comma between two properties, and quote a text of several words."
    problems.add(extra.place, message, advice)
    return value.until(index)


def _surplus(key: str, value: Value) -> int | None:
    """Where the surplus tokens of a value begin; None if there are none."""
    tokens, depth = value.tokens, 0
    for index in range(1, len(tokens)):
        token, before = tokens[index], tokens[index - 1]
        depth += (before.token_type in OPENING) - (before.token_type in CLOSING)
        if depth == 0 and token.token_type is TokenType.SEMICOLON:
            return index
        if depth > 0 or index + 1 == len(tokens) or token.token_type in _QUOTED:
            continue
        joined = before.token_type in (*ASSIGNING, TokenType.DOT, TokenType.ALIAS)
        if token.text.lower() in (*PROPERTIES, *UNSUPPORTED, *REFUSED) and not joined:
            return index
    if key != "kind" or value.group() is not None:
        return None
    after = value.after_name()
    return None if after is None else len(tokens) - len(after.tokens)


_QUOTED: Final = (TokenType.STRING, TokenType.IDENTIFIER)
