"""Selectors: which models somebody means by names, wildcards, tags and the graph around them.

``mart.revenue`` is one model, ``mart.*`` every model whose name is written so, ``tag:nightly``
every model with that tag, ``path:models/mart/*`` every model whose file is written so. A ``+`` in
front adds all that they read, also through others, and one behind adds all that reads them:
``+mart.revenue``, ``tag:nightly+``, ``+mart.*+``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Selector:
    """One selector, taken apart."""

    pattern: ModelPattern
    upstream: bool
    downstream: bool


@dataclass(slots=True)
class _Choice:
    """What is chosen so far, and from where to go on upstream and downstream."""

    names: set[ModelName] = field(default_factory=set)
    upward: set[ModelName] = field(default_factory=set)
    downward: set[ModelName] = field(default_factory=set)


def select(
    graphs: Sequence[Graph], selectors: Iterable[str], *, catalog: str
) -> frozenset[ModelName]:
    """The models that at least one selector means.

    Args:
        graphs: The models to choose from; a model of several of them is looked at in the first,
            and read by whoever reads it in any.
        selectors: The texts, see above. Case does not count, but in tags.
        catalog: The project's own, which a name may begin with.

    Raises:
        SelectionRefused: A selector is none, or no model is meant by it.
    """
    models = {node.name: node.model for graph in reversed(graphs) for node in graph}
    problems: list[str] = []
    choice = _Choice()
    for text in selectors:
        selector = _parsed(text, catalog)
        found = _meant(selector.pattern, models) if selector is not None else ()
        if selector is None:
            problems.append(_unreadable(text))
        elif not found:
            problems.append(_unknown(selector.pattern, models))
        else:
            choice.names.update(found)
            choice.upward.update(found if selector.upstream else ())
            choice.downward.update(found if selector.downstream else ())
    if problems:
        raise SelectionRefused("\n".join(problems))
    upstream, downstream = _edges(graphs)
    return frozenset(
        choice.names | _reached(choice.upward, upstream) | _reached(choice.downward, downstream)
    )


def _parsed(text: str, catalog: str) -> _Selector | None:
    """The parts of a selector; None where it is none."""
    inner = text.strip()
    upstream, downstream = inner.startswith("+"), inner.endswith("+")
    inner = inner.removeprefix("+").removesuffix("+").strip()
    pattern = ModelPattern.parse(inner, catalog=catalog)
    if pattern is None:
        return None
    return _Selector(pattern=pattern, upstream=upstream, downstream=downstream)


def _meant(pattern: ModelPattern, models: Mapping[ModelName, Model]) -> Collection[ModelName]:
    if pattern.by is By.NAME and not pattern.is_wild:
        name = ModelName.parse(pattern.pattern)
        return [name] if name in models else []
    return [
        name for name, model in models.items() if pattern.means(name, model.tags, model.source.path)
    ]


def _edges(
    graphs: Iterable[Graph],
) -> tuple[dict[ModelName, set[ModelName]], dict[ModelName, set[ModelName]]]:
    """Who reads what, and who is read by whom, in any of the graphs."""
    upstream: dict[ModelName, set[ModelName]] = {}
    downstream: dict[ModelName, set[ModelName]] = {}
    for graph in graphs:
        for node in graph:
            upstream.setdefault(node.name, set()).update(node.model.parents)
            for parent in node.model.parents:
                downstream.setdefault(parent, set()).add(node.name)
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
        f"{text!r} selects no models: write a name (mart.revenue), a pattern (mart.*), "
        "tag:NAME or path:FILE, with + in front for all that they read and + behind for all that "
        "reads them."
    )


def _unknown(wanted: ModelPattern, models: Mapping[ModelName, Model]) -> str:
    pattern = wanted.pattern
    if wanted.by is By.TAG:
        tags = sorted({tag for model in models.values() for tag in model.tags})
        close = guess(pattern, tags)
        return f"no model has the tag {pattern!r}. {close or _listed('Tags', tags)}".strip()
    if wanted.by is By.PATH:
        paths = sorted({model.source.path.as_posix() for model in models.values()})
        close = guess(pattern, paths)
        return f"no model is in a file like {pattern!r}. {close or _listed('Files', paths)}".strip()
    if wanted.is_wild:
        return f"no model is named like {pattern!r}."
    names = sorted(map(str, models))
    last = pattern.rpartition(".")[2]
    same = [name for name in names if name.rpartition(".")[2] == last]
    close = guess(pattern, same) or guess(pattern, names)
    return f"there is no model {pattern}. {close or _listed('Models', names)}".strip()


def _listed(what: str, names: Sequence[str]) -> str:
    return f"{what}: {some(names, _LISTED)}." if names else ""
