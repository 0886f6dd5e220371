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
        problem
        for node in graph
        if node.model.late_data is not None
        for source in node.model.late_data.tracked
        for problem in _wrong(graph, node, node.model.late_data, source)
    ]


def _wrong(
    graph: Graph, node: Node, policy: LateDataPolicy, source: TrackedSource
) -> Iterator[Problem]:
    place = source.place or node.model.place
    is_model = source.name in graph and not graph[source.name].model.kind.is_source
    if policy.mode is LateDataMode.STATELESS:
        if is_model:
            yield Problem(
                place=place,
                message="late_data in stateless mode follows a table that others write, but "
                f"{source.name} is a model of this project",
                advice=f"Follow the source of {source.name} in its own late_data, and leave "
                "late_data out here, or write `mode stateful`.",
            )
        return
    if source.name not in set(tables_read(graph, node)):
        what = "is a view of this project" if is_model else "is not read by the model"
        yield Problem(
            place=place,
            message=f"late_data tracks {source.name}, which {what}",
            advice="Track the tables that the model reads, also through views.",
        )
    elif is_model and (source.offset != timedelta(0) or source.idle_after is not None):
        yield Problem(
            place=place,
            message=f"{source.name} is a model of this project, so that it is known how far it is "
            "complete",
            advice="Take offset and idle_after out; its own sources may have them.",
        )
    else:
        yield from _untracked(graph, node, source, is_model=is_model)


def _untracked(
    graph: Graph, node: Node, source: TrackedSource, *, is_model: bool
) -> Iterator[Problem]:
    """A column that a session would read a source by, and that the source does not have."""
    is_function = isinstance(node.model.body, PythonFunction)
    restricted = restricted_sources(graph, node)
    column = source.tracked_by if is_function and not is_model else restricted.get(source.name)
    if column is None:
        return
    known = {each.name.lower(): each.type for each in graph[source.name].columns}
    kind = known.get(column.lower(), "")
    if kind and axis_type(kind) not in _TIMES:
        yield Problem(
            place=source.place or node.model.place,
            message=f"late_data tracks {source.name} by {column}, a {kind}: which of its values "
            "are in an interval is not known",
            advice="Bound the time in the query, or track it by a date or timestamp.",
        )
    elif known and column.lower() not in known:
        yield Problem(
            place=source.place or node.model.place,
            message=f"late_data tracks {source.name} by {column}, which is none of its columns",
            advice="Write `tracked_by` with the column of its landing, processing or event time, "
            "or bound the time in the query.",
        )


def ambiguous_names(models: Sequence[Model], naming: ViewNaming) -> Iterator[Problem]:
    """The models that cannot have views of their own, and the sources that have a view's name."""
    if naming.target is not SuffixTarget.TABLE:
        return
    shown = [each for each in models if each.kind.is_physical]
    for model in shown:
        if (why := why_ambiguous(model.name, naming)) is not None:
            yield Problem(
                place=model.place,
                message=f"{model.name} {why}, but its views are named like "
                f"{model.name}__dev (environment_suffix_target: table)",
                advice="Rename the model, or set environment_suffix_target to schema.",
            )
    names = {(each.name.schema, each.name.name): each.name for each in shown}
    for source in models:
        head, _, rest = source.name.name.partition("__")
        shadowed = names.get((source.name.schema, head))
        if source.kind.is_source and rest and shadowed is not None:
            yield Problem(
                place=source.place,
                message=f"the source {source.name} has the name of a view of {shadowed} in the "
                f"environment {rest} (environment_suffix_target: table)",
                advice="Rename the model, or set environment_suffix_target to schema.",
            )


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
            message = f"{text!r} in forward_only means only models of kind {kinds}"
            advice = "They have no table that an edit keeps, so take it out."
        else:
            message = f"{text!r} in forward_only means no model of this project"
            advice = f"{guess(text, _names(own))}Correct it, or take it out."
        yield Problem(place=place, message=message, advice=advice)


def _names(models: Sequence[Model]) -> list[str]:
    """Everything that a pattern may name."""
    return [
        *(str(each.name) for each in models),
        *dict.fromkeys(f"tag:{tag}" for each in models for tag in each.tags),
        *(f"path:{each.source.path.as_posix()}" for each in models),
    ]
