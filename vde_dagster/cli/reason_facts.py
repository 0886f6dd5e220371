"""The reasons of a change in JSON documents."""

from __future__ import annotations

from collections.abc import Sequence

from vde_dagster.core.planning.changes.reason_values import Reason, sentences


def reason_facts(reasons: Sequence[Reason]) -> dict[str, object]:
    """The JSON contract: the reasons as texts, and what each says in fields, in the same order."""
    return {
        "reasons": list(sentences(reasons)),
        "reason_fields": [
            {
                "kind": each.kind.value,
                "columns": list(each.columns),
                "upstream": str(each.upstream) if each.upstream is not None else None,
                "read_by": [str(name) for name in each.read_by],
                "clauses": list(each.clauses),
                "function": each.function or None,
                "before": each.before or None,
                "after": each.after or None,
            }
            for each in reasons
        ],
    }
