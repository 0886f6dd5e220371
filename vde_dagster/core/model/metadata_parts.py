"""What a model's metadata is hashed from: what changes none of its rows."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from sqlglot import exp

from vde_dagster.core.model.column_rules import (
    DEFAULT_COLUMN_RULES,
    ON_ADDITIVE_CHANGE,
    ON_DESTRUCTIVE_CHANGE,
)
from vde_dagster.core.model.model import (
    SIGNALS_FOLDER,
    Model,
    PythonFunction,
    Query,
    UpdatesOn,
)
from vde_dagster.core.model.python_form import python_form
from vde_dagster.core.sql.canonical import CanonicalQuery
from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.time.intervals import format_instant

LOADING_OPTIONS: Final = (
    "lookback",
    "batch_size",
    "forward_only",
    "disable_restatement",
)
"""Options of a kind that decide when and in which pieces rows are made, and not which."""


def described_parts(model: Model, canonical: CanonicalQuery | None) -> tuple[str, ...]:
    """What people read about a model, when it is due and how it is loaded: ``name=value`` each."""
    columns = canonical.columns if canonical is not None else ()
    described = ((column.name, column.description) for column in (*model.columns, *columns))
    return (
        f"owner={model.owner}",
        f"description={model.description}",
        f"cron={model.cron} {model.cron_tz}",
        f"unit={model.unit.value if not model.kind.is_by_interval else ''}",
        f"start={format_instant(model.start)}",
        f"end={format_instant(model.end) if model.end is not None else ''}",
        f"loading={_loading_part(model)}",
        *(f"tag={tag}" for tag in sorted(model.tags)),
        *(f"grain={', '.join(grain)}" for grain in model.grains),
        *(f"reference={', '.join(each)}" for each in model.references),
        *(f"audit={each}" for each in model.audits),
        *(f"audit_query={each}" for each in _audit_queries(model)),
        *(f"signal={each}" for each in model.signals),
        *(f"signal_code={each}" for each in _signal_code(model)),
        *_promise_parts(model),
        *_update_parts(model),
        *_column_rule_parts(model),
        *(f"comment={name.lower()} {text}" for name, text in described if text),
        *(f"comment={name} {text}" for name, text in sorted(model.column_descriptions.items())),
        *(f"hint={hint}" for hint in _hints(canonical)),
        *(f"sql_comment={comment}" for comment in _sql_comments(model)),
    )


def _loading_part(model: Model) -> str:
    policy = model.late_data
    late = (
        (
            policy.catchup_threshold,
            policy.load_type.value,
            policy.on_source_rewrite.value,
            *sorted(f"{each.name} {each.offset} {each.idle_after}" for each in policy.tracked),
        )
        if policy is not None
        else ()
    )
    given = {option.name: getattr(model.kind, option.name) for option in fields(model.kind)}
    given |= {"forward_only": True} if model.forward_only else {}
    options = (f"{name}={given.get(name)}" for name in LOADING_OPTIONS)
    return " ".join([*options, *map(str, late)])


def _signal_code(model: Model) -> list[str]:
    """The predicates that hold intervals back: an environment asks those that it was planned with.

    They decide when rows are made, and not which.
    """
    files = sorted(model.source.attachments.items())
    return [python_form(text) for path, text in files if path.startswith(SIGNALS_FOLDER)]


def _audit_queries(model: Model) -> list[str]:
    """The audits of the project's own: an environment asks those that it was planned with."""
    return [f"{each.blocking} {canonical_form(each.query)}" for each in model.own_audits]


def _promise_parts(model: Model) -> list[str]:
    """What an author says of what need not be computed again; no row follows from that."""
    body, kind = model.body, model.kind
    is_independent = kind.independent
    return [
        *(["deterministic"] if isinstance(body, PythonFunction) and body.deterministic else []),
        *(["independent"] if is_independent else []),
    ]


def _update_parts(model: Model) -> list[str]:
    """How often a model is computed by itself, and beside what; defaults are left out."""
    parts = (
        [f"updates_on={model.updates_on.value}"] if model.updates_on is not UpdatesOn.ANY else []
    )
    if model.freshness is not None:
        parts.append(f"freshness={model.freshness.total_seconds():.0f}")
    if model.retries:
        parts.append(f"retries={model.retries}")
    if model.concurrency is not None:
        parts.append(f"concurrency={model.concurrency}")
    return parts


def _column_rule_parts(model: Model) -> list[str]:
    """What a kept table may lose and gain; defaults are left out."""
    rules, usual = model.column_rules, DEFAULT_COLUMN_RULES
    parts = (
        (ON_DESTRUCTIVE_CHANGE, rules.destructive, usual.destructive),
        (ON_ADDITIVE_CHANGE, rules.additive, usual.additive),
    )
    return [f"{name}={rule.value}" for name, rule, default in parts if rule is not default]


def _hints(canonical: CanonicalQuery | None) -> list[str]:
    """How a query asks to be run; what it returns stays the same."""
    if canonical is None:
        return []
    return [canonical_form(hint) for hint in canonical.expression.find_all(exp.Hint)]


def _sql_comments(model: Model) -> list[str]:
    if not isinstance(model.body, Query | PythonFunction):
        return []
    query = (model.body.expression,) if isinstance(model.body, Query) else ()
    statements = (*model.body.before, *query, *model.body.after)
    return [
        comment.strip()
        for statement in statements
        for node in statement.walk()
        for comment in node.comments or []
    ]
