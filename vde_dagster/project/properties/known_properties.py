"""Which properties a model may have, and which of them a block gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.model.column_rules import ON_ADDITIVE_CHANGE, ON_DESTRUCTIVE_CHANGE
from vde_dagster.core.model.room import CONCURRENCY
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties.model_block import ASSIGNING, CLOSING, OPENING, Value


class Property(NamedTuple):
    """What the reference says of a property: a sentence, its default, and how it is written."""

    about: str
    default: str = ""
    example: str = ""


PROPERTIES: Final[Mapping[str, Property]] = {
    "name": Property(
        "Name: `name`, `schema.name` or `catalog.schema.name`; without a schema it is in "
        "`default`.",
        "from the path",
    ),
    "kind": Property(
        "[Kind](kinds.md): how rows are loaded, with its options.", "`VIEW`; Python: `FULL`"
    ),
    "cron": Property(
        "When the model is due: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, "
        "`@yearly`.",
        "the project's",
    ),
    "cron_tz": Property("Time zone of the cron. Borders of intervals stay in UTC.", "`UTC`"),
    "start": Property(
        "Instant from which [intervals are loaded](#start-and-end).",
        "the project's, else the earliest of the parents",
    ),
    "end": Property("Last day, inclusive, or an exclusive end with a time of day."),
    "interval_unit": Property(
        "Length of an interval: `five_minute`, `quarter_hour`, `half_hour`, `hour`, `day`, "
        "`month` or `year`; at most the time between two ticks.",
        "from the cron",
    ),
    "owner": Property("Owner, for people."),
    "description": Property("Comment of the table and its views."),
    "tags": Property("Words by which models are selected."),
    "grain": Property("Key of a row.", "", "grain (day, shop)"),
    "grains": Property("Several keys.", "", "grains (id, (day, shop))"),
    "references": Property(
        "Columns by which other models join this one.",
        "",
        "references (shop_id, seller AS shop_id)",
    ),
    "columns": Property(
        "Names and types, which override inferred types. Required in Python.",
        "inferred",
        "columns (id bigint COMMENT 'the key', tags array<string>)",
    ),
    "column_descriptions": Property(
        "Comments of columns. A comment on a projection does the same.",
        "",
        "column_descriptions (id = 'the key')",
    ),
    "dialect": Property("[Dialect](#dialects) of the SQL, its types and formats.", "the project's"),
    "partitioned_by": Property(
        "Partitions: columns, `years`, `months`, `days`, `hours(column)`, `bucket(16, "
        "column)`, `truncate(10, column)` or `DATE_TRUNC('month', column)`.",
        "the time column",
    ),
    "clustered_by": Property("Columns by which rows are sorted within each file."),
    "table_format": Property("Only `iceberg`.", "`iceberg`"),
    "storage_format": Property("`parquet`, `orc` or `avro`.", "`parquet`"),
    "physical_properties": Property(
        "Properties of the Iceberg table.",
        "",
        "physical_properties ('write.target-file-size-bytes' = 134217728)",
    ),
    "audits": Property(
        "[Audits](audits.md) with their arguments.",
        "",
        "audits (not_null (columns := (day, shop)))",
    ),
    "signals": Property(
        "[Signals](#signals): conditions that hold intervals back.",
        "",
        "signals (exported (folder := '/exports'))",
    ),
    "depends_on": Property(
        "Parents that the query does not name, with windows of time.",
        "from the query",
        "depends_on (raw.orders (before '30 days'))",
    ),
    "freshness": Property(
        "Least age of the table before a change upstream [recomputes "
        "it](../reference/automation.md#freshness-and-updates_on).",
        "the project's, else each change counts",
        "freshness '4 hours'",
    ),
    "updates_on": Property(
        "`any` or `all`: how many parents must have changed for that.", "the project's, else `any`"
    ),
    "retries": Property(
        "How often a failed evaluation is [retried](../reference/automation.md#retries), up to "
        "10 times.",
        "the project's, else 0",
    ),
    CONCURRENCY: Property(
        "Most models that may run [at the same time](../how-to/concurrency.md) as this one, "
        "itself included; 1 lets it run alone.",
        "the project's",
    ),
    ON_DESTRUCTIVE_CHANGE: Property(
        "`allow`, `warn` or `error`: what a plan does if an edit that keeps the table drops "
        "columns.",
        "`error`",
    ),
    ON_ADDITIVE_CHANGE: Property("The same for new columns and wider types.", "`allow`"),
    "allow_partials": Property(
        "Only `false`: an interval is evaluated after it has ended. Kinds without intervals "
        "accept `true`.",
        "`false`",
    ),
    "enabled": Property("`false` removes the model from the project.", "`true`"),
    "stamp": Property("Any text. Another text makes another version."),
    "late_data": Property(
        "[Late data](late-data.md): tracked sources, and how their late rows are loaded.",
        "",
        "late_data (mode stateless, sources (raw.orders))",
    ),
    "deterministic": Property(
        "Python only: equal inputs and intervals give equal rows, so results can be "
        "[reused](reuse.md).",
        "`false`",
    ),
    "pre_statements": Property(
        "Python only: [SQL](#pre--and-post-statements) that runs before the function."
    ),
    "post_statements": Property("Python only: SQL that runs after the function."),
}
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
