"""Sources that ``late_data`` names and no session can follow, in view of the whole graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import restricted_sources, tables_read
from vde_dagster.core.model.late_data import LateDataMode, LateDataPolicy, TrackedSource
from vde_dagster.core.model.model import Model, PythonFunction
from vde_dagster.core.model.patterns import ModelPattern
from vde_dagster.core.names import SuffixTarget, ViewNaming, why_ambiguous
from vde_dagster.core.sql.unresolved import guess
from vde_dagster.core.time.formats import axis_type

_TIMES: Final = ("date", "timestamp", "timestamp_ntz", "unknown")


def wrong_sessions(graph: Graph) -> list[Problem]:
    """The tracked sources that sessions of a model cannot follow, and why."""
    return [
        Problem(place=source.place or node.model.place, message=why[0], advice=why[1])
        for node in graph
        if (policy := node.model.late_data) is not None
        for source in policy.tracked
        if (why := _why_not(graph, node, policy, source)) is not None
    ]


def _why_not(
    graph: Graph, node: Node, policy: LateDataPolicy, source: TrackedSource
) -> tuple[str, str] | None:
    """Why a session cannot follow a source, and what to do."""
    name, tracks = source.name, f"late_data tracks {source.name}"
    is_model = name in graph and not graph[name].model.kind.is_source
    if policy.mode is LateDataMode.STATELESS:
        message = (
            "stateless late_data follows a table that is written outside the project, "
            f"but {name} is a "
        )
        advice = (
            f"Track the source of {name} in the late_data of {name} and remove late_data here, "
        )
        whole = f"{message}model of this project", f"{advice}or write `mode stateful`."
        return whole if is_model else None
    if name not in set(tables_read(graph, node)):
        what = "is a view of this project" if is_model else "is not read by the model"
        return (
            f"{tracks}, which {what}",
            "Track tables that the model reads, directly or through views.",
        )
    if is_model and (source.offset != timedelta(0) or source.idle_after is not None):
        message = f"{name} is a model of this project, so its completeness is known"
        return message, (
            "Remove offset and idle_after here; the sources of that model may have them."
        )
    is_function = isinstance(node.model.body, PythonFunction)
    restricted = restricted_sources(graph, node)
    column = source.tracked_by if is_function and not is_model else restricted.get(name)
    known = {each.name.lower(): each.type for each in graph[name].columns}
    kind = known.get(column.lower()) if column is not None else ""
    if not known or kind == "" or (kind is not None and axis_type(kind) in _TIMES):
        return None
    if kind is None:
        message = f"{tracks} by {column}, which is not one of its columns"
        advice = "Set `tracked_by` to the column of its landing, processing or event time, or "
        return message, f"{advice}filter by time in the query."
    message = f"{tracks} by {column}, a {kind}, which cannot be compared with an interval"
    return message, "Filter by time in the query, or track a date or timestamp column."


def ambiguous_names(models: Sequence[Model], naming: ViewNaming) -> Iterator[Problem]:
    """The models that cannot have views of their own, and the sources that have a view's name."""
    if naming.target is not SuffixTarget.TABLE:
        return
    shown = [each for each in models if each.kind.is_physical]
    target = "(environment_suffix_target: table)"
    advice = "Rename the model, or set environment_suffix_target to schema."
    for model in shown:
        if (why := why_ambiguous(model.name, naming)) is not None:
            message = f"{model.name} {why}, but its views are named like {model.name}__dev {target}"
            yield Problem(place=model.place, message=message, advice=advice)
    names = {(each.name.schema, each.name.name): each.name for each in shown}
    for source in models:
        head, _, rest = source.name.name.partition("__")
        shadowed = names.get((source.name.schema, head))
        if source.kind.is_source and rest and shadowed is not None:
            message = f"the source {source.name} has the name of a view of {shadowed} in the "
            message += f"environment {rest} {target}"
            yield Problem(place=source.place, message=message, advice=advice)


def unused_patterns(
    patterns: Mapping[str, Place], models: Sequence[Model], catalog: str
) -> Iterator[Problem]:
    """The patterns that make no model forward-only, with why.

    Args:
        patterns: Those in ``vde.yaml``, each with its place.
        models: All models of the project.
        catalog: The project's own.
    """
    own = [each for each in models if not each.kind.is_source]
    for text, place in patterns.items():
        pattern = ModelPattern.parse(text, catalog=catalog)
        assert pattern is not None, "it was read before"
        meant = [each for each in own if pattern.means(each.name, each.tags, each.source.path)]
        if any(each.kind.is_loaded_again for each in meant):
            continue
        if meant:
            kinds = ", ".join(sorted({each.kind.keyword for each in meant}))
            message = f"{text!r} in forward_only matches only models of kind {kinds}"
            advice = "Remove it: these models have no table that an edit could keep."
        else:
            message = f"{text!r} in forward_only matches no model of this project"
            advice = f"{guess(text, _names(own))}Correct or remove it."
        yield Problem(place=place, message=message, advice=advice)


def _names(models: Sequence[Model]) -> list[str]:
    """Everything that a pattern may name."""
    return [
        *(str(each.name) for each in models),
        *dict.fromkeys(f"tag:{tag}" for each in models for tag in each.tags),
        *(f"path:{each.source.path.as_posix()}" for each in models),
    ]
