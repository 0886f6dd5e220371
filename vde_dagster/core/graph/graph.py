"""The models of a project as a graph, parents first, with canonical forms and fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, TypeVar, cast

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Finding, Place, Problem, ProjectInvalid
from vde_dagster.core.graph.checks import (
    duplicates,
    elsewhere,
    in_order,
    lacks_own_columns,
    missing_parents,
    place_in,
    unknown_own_columns,
    views_as_of,
    written_models,
)
from vde_dagster.core.graph.deriving import Derived, derive
from vde_dagster.core.model.fingerprint import Fingerprint, fingerprint, hash_parts
from vde_dagster.core.model.kinds.external import External
from vde_dagster.core.model.kinds.facts import Evaluation
from vde_dagster.core.model.model import Model, ModelSource, Query
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import TimeAxisSpec, Write
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import (
    CanonicalQuery,
    QueryInvalid,
)
from vde_dagster.core.time.intervals import EPOCH, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A model in its graph. ``columns`` are what its readers see: names, and types where known.

    An undeclared source has none, nor has a model that reads all columns of one: which
    there are is not known (see `vde_dagster.core.sql.canonical.CanonicalQuery`).

    ``bounded_from`` is the instant before which nothing is needed, of the model and of what it
    reads; None for none. Then the model starts no earlier, and ``own_start`` is where it would.
    """

    model: Model
    canonical: CanonicalQuery | None
    columns: tuple[Column, ...]
    fingerprint: Fingerprint
    bounded_from: datetime | None = None
    own_start: datetime | None = None

    @property
    def name(self) -> ModelName:
        """The model's name."""
        return self.model.name

    @property
    def storage(self) -> Storage:
        """The layout of the model's table."""
        model = self.model
        return model.kind.laid_out(model.storage, self.columns, model.unit)

    @property
    def time_axis(self) -> TimeAxisSpec | None:
        """How the model's rows belong to intervals; None for kinds whose rows belong to none."""
        return self.model.kind.time_axis(self.columns, self.model.unit)

    def write(self, interval: Interval, execution_time: datetime) -> Write:
        """What evaluating an interval at ``execution_time`` does to the model's table.

        Raises:
            ValueError: The model's kind has nothing that is written to.
        """
        what = Evaluation(
            interval=interval,
            execution_time=execution_time,
            columns=self.columns,
            unit=self.model.unit,
        )
        return self.model.kind.write(what)


_Derived = TypeVar("_Derived")


@dataclass(frozen=True, slots=True)
class Graph:
    """All models by name, in an order in which parents come before their children.

    ``derived`` has what was found out about models already: see `once`.
    """

    nodes: Mapping[ModelName, Node]
    derived: dict[tuple[str, ModelName], object] = field(
        default_factory=dict, compare=False, repr=False
    )
    _places: dict[ModelName, int] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __getitem__(self, name: ModelName) -> Node:
        return self.nodes[name]

    def __contains__(self, name: ModelName) -> bool:
        return name in self.nodes

    def once(self, what: str, name: ModelName, derive: Callable[[], _Derived]) -> _Derived:
        """Something that follows from a model and those upstream of it, found out once.

        Args:
            what: A name for it.
            name: The model.
            derive: Finds it out. What it returns must not be changed.
        """
        if (what, name) not in self.derived:
            self.derived[what, name] = derive()
        return cast("_Derived", self.derived[what, name])

    def above(self, names: Iterable[ModelName]) -> Graph:
        """These models and those upstream of them, as a graph that shares what is found out."""
        places = self._places
        if len(places) != len(self.nodes):  # or another thread is about to find them
            places = {name: place for place, name in enumerate(self.nodes)}
            self._places.update(places)
        kept = sorted((each.name for each in self.upstream(names)), key=places.__getitem__)
        return Graph({name: self.nodes[name] for name in kept}, self.derived)

    def upstream(
        self, names: Iterable[ModelName], *, through: Callable[[Node], bool] = lambda _: True
    ) -> Iterator[Node]:
        """These models and those upstream of them, each once; in no order to rely on.

        Args:
            names: Where to begin. Names that are not models are left out.
            through: Whether to look at what a model reads, too.
        """
        waiting = [*names]
        seen: set[ModelName] = set()
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self:
                continue
            seen.add(name)
            node = self[name]
            yield node
            if through(node):
                waiting += node.model.parents


class Derivations(Protocol):
    """What was derived before. Whatever it follows from has to be equal to be found again."""

    def find(
        self, model: Model, upstream: Mapping[ModelName, Node], *, undeclared: bool
    ) -> Derived | None:
        """What was derived from a model and its upstream nodes; None where nothing was."""
        ...

    def keep(
        self,
        model: Model,
        upstream: Mapping[ModelName, Node],
        derived: Derived,
        *,
        undeclared: bool,
    ) -> None:
        """Remember what was derived from a model and its upstream nodes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Models as a graph, as far as they fit together, and all that is wrong with them.

    Where something is wrong, a source without columns stands in the graph for each model that
    others read and that is missing, or is wrong itself; ``undeclared`` are those that depend on it.
    """

    graph: Graph
    problems: tuple[Problem, ...]
    undeclared: Container[ModelName]


def build_graph(
    models: Iterable[Model],
    *,
    disabled: Container[ModelName] = (),
    known: Derivations | None = None,
    are_stored: bool = False,
) -> Graph:
    """The graph of models that fit together; see `resolve` for the arguments.

    Raises:
        ProjectInvalid: They do not; all problems at once.
    """
    resolved = resolve(models, disabled=disabled, known=known, are_stored=are_stored)
    if resolved.problems:
        raise ProjectInvalid(resolved.problems)
    return resolved.graph


def resolve(
    models: Iterable[Model],
    *,
    flawed: Iterable[Model] = (),
    unread: Container[ModelName] = (),
    disabled: Container[ModelName] = (),
    known: Derivations | None = None,
    are_stored: bool = False,
) -> Resolved:
    """Check how models fit together, and resolve each against its parents.

    The problems are names given twice, parents that nothing declares, cycles, and queries that do
    not fit the columns of their parents: all of them at once, and none that follows from another.

    Args:
        models: All of them, in any order. A source without columns is an undeclared one:
            what reads it is resolved as far as that is possible.
        flawed: Models with problems that were reported: only their queries are checked here.
        unread: Models whose files could not be read. That others read them is not reported again.
        disabled: Models that the project has and that are switched off.
        known: What was derived of such models before.
        are_stored: Whether they may be from an earlier release: a query that is refused now is
            understood as far as it can be.
    """
    every = list(models)
    problems = [*duplicates(every), *elsewhere(every), *unknown_own_columns(every)]
    by_name = {model.name: model for model in every}
    with_problems = {each.name: each for each in flawed if each.name not in by_name}
    by_name |= with_problems
    problems += [*missing_parents(by_name, unread, disabled), *written_models(by_name)]
    order, cycles = in_order(by_name)
    problems += cycles
    if not are_stored:
        problems += views_as_of(by_name, order)
    nodes: dict[ModelName, Node] = {}
    starts: dict[ModelName, datetime] = {}
    undeclared = {name for name in order if _is_undeclared(by_name[name])}
    for name in order:
        model = by_name[name]
        start = _start_of(model, starts)
        if start is not None:
            starts[name] = start
            model = model if start == model.start else replace(model, start=start)
        is_flawed = name in with_problems
        if lacks_own_columns(model) or (is_flawed and not isinstance(model.body, Query)):
            continue  # it was reported, and which columns it has is not known
        absent = [parent for parent in model.parents if parent not in nodes]
        nodes |= {parent: _stand_in(parent, model.place) for parent in absent}
        undeclared.update(absent)
        if is_flawed or not undeclared.isdisjoint(model.parents):
            undeclared.add(name)
        with _fitting(model, problems):
            kept = None if is_flawed else known
            node = _node(model, nodes, kept, undeclared=name in undeclared, is_flawed=is_flawed)
            if node.canonical is not None and node.canonical.refusals and not are_stored:
                raise QueryInvalid(*node.canonical.refusals)
            nodes[name] = node
    return Resolved(graph=Graph(nodes), problems=tuple(problems), undeclared=undeclared)


@contextmanager
def _fitting(model: Model, problems: list[Problem]) -> Iterator[None]:
    """Add what shows that a model's query does not fit what it reads to the problems."""
    try:
        yield
    except QueryInvalid as error:
        problems += [_problem(model, finding) for finding in error.findings]
    except RecursionError:
        problems.append(too_deep(model))


def _stand_in(name: ModelName, place: Place) -> Node:
    """A source without columns for what is missing, so that the rest of its readers is checked."""
    source = ModelSource(path=place.path, text="", defaults={})
    model = Model(
        name=name, kind=External(), body=None, source=source, place=place, start=EPOCH, columns=()
    )
    return Node(model=model, canonical=None, columns=(), fingerprint=fingerprint(model, None, ()))


def too_deep(model: Model) -> Problem:
    """What is said of a model whose query is too deep for a look at it."""
    message = f"{model.name}: its query or code is nested too deeply"
    advice = (
        "Split it into several models, or split a long chain of operators into several columns."
    )
    return Problem(place=model.place, message=message, advice=advice)


def _problem(model: Model, finding: Finding) -> Problem:
    place = place_in(model, finding.line)
    return Problem(place=place, message=f"{model.name}: {finding.message}", advice=finding.advice)


def _start_of(model: Model, starts: Mapping[ModelName, datetime]) -> datetime | None:
    """A model's own start, or else the earliest of its parents; None where there is none.

    ``starts`` are those of the upstream models, as far as they have one. Sources have none.
    """
    if model.kind.is_source:
        return None
    if not model.inherits_start:
        return model.start
    return min((starts[parent] for parent in model.parents if parent in starts), default=None)


def _is_undeclared(model: Model) -> bool:
    """Whether a model is a source without declared columns."""
    return model.kind.is_source and not model.columns


def _node(
    model: Model,
    nodes: Mapping[ModelName, Node],
    known: Derivations | None,
    *,
    undeclared: bool,
    is_flawed: bool,
) -> Node:
    """A model, resolved against its parents; ``undeclared``: a source upstream has no columns."""
    derived = known.find(model, nodes, undeclared=undeclared) if known is not None else None
    if derived is None:
        derived = derive(model, nodes, undeclared=undeclared, is_flawed=is_flawed)
        if known is not None and derived.is_sound:
            known.keep(model, nodes, derived, undeclared=undeclared)
    return Node(
        model=model,
        canonical=derived.canonical,
        columns=derived.columns,
        fingerprint=_fingerprint(derived, [nodes[parent].fingerprint for parent in model.parents]),
    )


def _fingerprint(derived: Derived, parents: Sequence[Fingerprint]) -> Fingerprint:
    """As `vde_dagster.core.model.fingerprint.fingerprint` makes it, of hashes that are known."""
    data, metadata = derived.data, derived.metadata
    return Fingerprint(
        data=data,
        parent_data=hash_parts(*sorted(each.data + each.parent_data for each in parents)),
        metadata=metadata,
        parent_metadata=hash_parts(
            *sorted(each.metadata + each.parent_metadata for each in parents)
        ),
    )


def sources(graph: Graph) -> tuple[ModelName, ...]:
    """The tables that the models read and that none of them writes."""
    return tuple(node.name for node in graph if node.model.kind.is_source)


def bounded_graph(graph: Graph, since: Mapping[ModelName, datetime]) -> Graph:
    """A graph in which exactly these of its models are bounded, each from an instant on."""
    if all(since.get(node.name) == node.bounded_from for node in graph):
        return graph
    return Graph({node.name: _bounded(node, since.get(node.name)) for node in graph})


def _bounded(node: Node, since: datetime | None) -> Node:
    if node.bounded_from == since:
        return node
    start = node.own_start or node.model.start
    if since is None:
        model = replace(node.model, start=start)
        return replace(node, model=model, bounded_from=None, own_start=None)
    model = replace(node.model, start=max(start, since))
    return replace(node, model=model, bounded_from=since, own_start=start)
