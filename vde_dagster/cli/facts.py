"""Results as JSON documents: all of their fields, by the codec that state and plan files have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from vde_dagster.cli.printing import as_json, instant
from vde_dagster.core.json_forms import Form, Plain

if TYPE_CHECKING:
    from vde_dagster.app.unit_tests.running import UnitTestResult
    from vde_dagster.core.codec import Codec
    from vde_dagster.core.model.model import Model
    from vde_dagster.core.planning.plan import Plan


def facts(value: object) -> Plain:
    """A result as JSON; mappings and sequences of results likewise."""
    if isinstance(value, Mapping):
        return {str(key): facts(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [facts(each) for each in value]
    if is_dataclass(value):
        return codec().write(type(value), value)
    return cast("Plain", as_json(value))


def fields_of(value: object) -> dict[str, object]:
    """The fields of a result, as JSON, for a document that has more of them."""
    return cast("dict[str, object]", facts(value))


def union(kind: object, value: object) -> Plain:
    """A value of one of several classes; the field ``is`` names its own."""
    return codec().write(kind, value)


def unit_test_facts(results: Sequence[UnitTestResult]) -> dict[str, object]:
    """How unit tests ended, and how many of each outcome there are."""
    outcomes = Counter(each.outcome.value for each in results)
    return {"outcomes": outcomes, "tests": results}


def plan_facts(plan: Plan, *, explain: bool = False) -> dict[str, Plain]:
    """A plan, with its stages if they are explained; sources are among its changes."""
    from vde_dagster.core.graph.ranges import count
    from vde_dagster.core.planning.kept_tables import column_findings, identity_findings
    from vde_dagster.core.planning.stages import Stage, stages_of

    written = cast("dict[str, Any]", facts(plan))
    for change, plain in zip(plan.changes, written["changes"], strict=True):
        node = plan.graph.nodes.get(change.name)
        plain["kind"] = node.model.kind.keyword if node else None
        plain["intervals"] = count(node, change.to_evaluate) if node else 0
    columns = [*column_findings(plan)]
    written["warnings"] = [str(each) for each in columns if not each.refuses]
    refused = (each for each in columns if each.refuses)
    written["refused"] = [*map(str, refused), *identity_findings(plan)]
    if explain:
        written["stages"] = [union(Stage, each) for each in stages_of(plan)]
    return written


@cache
def codec() -> Codec:
    """How results are written. A model is its name, kind and times, a snapshot its version."""
    from vde_dagster.app.plan.fillers import Filler
    from vde_dagster.app.plan.waiting import Wait
    from vde_dagster.app.unit_tests.running import UnitTestResult
    from vde_dagster.core.audits.values import AuditResult
    from vde_dagster.core.codec import Codec
    from vde_dagster.core.graph.graph import Node
    from vde_dagster.core.ledger.dsha import RowSum
    from vde_dagster.core.ledger.late.decision import Load
    from vde_dagster.core.ledger.unit_of_work import Intent, UnitOfWork
    from vde_dagster.core.model.model import Model
    from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
    from vde_dagster.core.names import TableName
    from vde_dagster.core.planning.changes.reason_values import Reason
    from vde_dagster.core.planning.pauses import Pause
    from vde_dagster.core.planning.plan import Plan
    from vde_dagster.core.unit_tests.definition import UnitTest
    from vde_dagster.ports.state import Environment
    from vde_dagster.project.revisions import ProjectAt

    return Codec(
        forms={
            Node: _writing(lambda node: _model(node.model)),
            Model: _writing(_model),
            TableName: _writing(str),
            timedelta: _writing(timedelta.total_seconds),
            object: _writing(as_json),
        },
        left_out={
            Plan: ("graph", "snapshots", "stored", "shown_heads", "dropped_tables"),
            Environment: ("snapshots",),
            UnitOfWork: ("publication",),
            Intent: ("inputs", "base", "beside", "read_beside", "definition"),
            Pause: ("environment",),
            ModelSnapshot: (
                *("category", "reasons", "source", "decided_by", "decided_from", "drifted"),
            ),
            Load: ("question",),
            RowSum: ("sum",),
            UnitTest: ("inputs", "query", "ctes", "variables"),
            ProjectAt: ("folder", "root"),
        },
        derived={
            Plan: ("is_empty", "rebuilds"),
            Reason: ("sentence",),
            UnitOfWork: ("refusal", "refused_rows"),
            AuditResult: ("passed",),
            VersionKey: ("table",),
            UnitTestResult: ("outcome",),
            Wait: ("text",),
            Filler: ("words",),
        },
    )


def _model(model: Model) -> Plain:
    return {
        "name": str(model.name),
        "kind": model.kind.keyword,
        "unit": model.unit.value,
        "cron": model.cron,
        "cron_tz": model.cron_tz,
        "start": instant(model.start),
        "end": instant(model.end) if model.end else None,
    }


def _writing(write: Callable[[Any], object]) -> Form:
    """The form of a type that documents have and that is not read from them."""
    return Form(write=cast("Callable[[object], Plain]", write), read=_never)


def _never(plain: object) -> object:
    raise TypeError(f"{plain!r} is of a document, which is not read")
