"""Selectors: which models a user means by names, wildcards, tags and the graph around them.

``mart.revenue`` is one model, ``mart.*`` every model whose name is written so, ``tag:nightly``
every model with that tag, ``path:models/mart/*`` every model whose file is written so. A ``+`` in
front adds all that they read, also through others, and one behind adds all that reads them:
``+mart.revenue``, ``tag:nightly+``, ``+mart.*+``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.listing import some
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.patterns import By, ModelPattern
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.unresolved import guess

_LISTED: Final = 10


class SelectionRefused(Refused, ValueError):
    """Selectors that select nothing, or cannot be read; all of them at once."""


def select(
    graphs: Sequence[Graph], selectors: Iterable[str], *, catalog: str
) -> frozenset[ModelName]:
    """The models that at least one selector means.

    Args:
        graphs: The models to choose from; a model of several of them is looked at in the first,
            and read by its readers in any.
        selectors: The texts, see above. Case does not count, but in tags.
        catalog: The project's own, which a name may begin with.

    Raises:
        SelectionRefused: A selector is none, or no model is meant by it.
    """
    models = {node.name: node.model for graph in reversed(graphs) for node in graph}
    problems: list[str] = []
    chosen, upward, downward = set[ModelName](), set[ModelName](), set[ModelName]()
    for text in selectors:
        inner = text.strip()
        name = inner.removeprefix("+").removesuffix("+").strip()
        pattern = ModelPattern.parse(name, catalog=catalog)
        found = _meant(pattern, models) if pattern is not None else ()
        if pattern is None:
            problems.append(_unreadable(text))
        elif not found:
            problems.append(_unknown(pattern, models))
        chosen.update(found)
        upward.update(found if inner.startswith("+") else ())
        downward.update(found if inner.endswith("+") else ())
    if problems:
        raise SelectionRefused("\n".join(problems))
    upstream, downstream = _edges(graphs)
    return frozenset(chosen | _reached(upward, upstream) | _reached(downward, downstream))


def _meant(pattern: ModelPattern, models: Mapping[ModelName, Model]) -> Collection[ModelName]:
    if pattern.by is By.NAME and not pattern.is_wild:
        name = ModelName.parse(pattern.pattern)
        return [name] if name in models else []
    return [
        name for name, model in models.items() if pattern.means(name, model.tags, model.source.path)
    ]


_Edges = dict[ModelName, set[ModelName]]


def _edges(graphs: Iterable[Graph]) -> tuple[_Edges, _Edges]:
    """Who reads what, and who is read by whom, in any of the graphs."""
    upstream: _Edges = defaultdict(set)
    downstream: _Edges = defaultdict(set)
    for node in (each for graph in graphs for each in graph):
        upstream[node.name].update(node.model.parents)
        for parent in node.model.parents:
            downstream[parent].add(node.name)
    return upstream, downstream


def _reached(
    start: Iterable[ModelName], edges: Mapping[ModelName, Iterable[ModelName]]
) -> set[ModelName]:
    reached = set(start)
    waiting = list(reached)
    while waiting:
        further = set(edges.get(waiting.pop(), ())) - reached
        reached |= further
        waiting += further
    return reached


def _unreadable(text: str) -> str:
    return (
        f"{text!r} selects no models: write a name (mart.revenue), a pattern (mart.*), tag:NAME "
        "or path:FILE, with a leading + for all upstream models and a trailing + for all "
        "downstream models."
    )


def _unknown(wanted: ModelPattern, models: Mapping[ModelName, Model]) -> str:
    pattern = wanted.pattern
    if wanted.by is By.NAME and wanted.is_wild:
        return f"no model name matches {pattern!r}."
    every = models.values()
    what, listed, known = {
        By.TAG: (f"no model has the tag {pattern!r}", "Tags", {t for m in every for t in m.tags}),
        By.PATH: (
            f"no model file matches {pattern!r}",
            "Files",
            {each.source.path.as_posix() for each in every},
        ),
        By.NAME: (f"there is no model {pattern}", "Models", set(map(str, models))),
    }[wanted.by]
    names, last = sorted(known), pattern.rpartition(".")[2]
    same = [name for name in names if name.rpartition(".")[2] == last]
    close = guess(pattern, same if wanted.by is By.NAME else []) or guess(pattern, names)
    return f"{what}. {close or _listed(listed, names)}".strip()


def _listed(what: str, names: Sequence[str]) -> str:
    return f"{what}: {some(names, _LISTED)}." if names else ""
