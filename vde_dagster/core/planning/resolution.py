"""Which snapshot, and so which version, each model of a project gets, given what is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from vde_dagster.core.graph.embedded import embedded_upstream, stored_parents
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.fingerprint import view_version
from vde_dagster.core.model.snapshot import Category, DecidedBy, ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.changes.comparison import DEFAULT_RULES, compare_graphs
from vde_dagster.core.planning.changes.difference import Change, Difference, Rules
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.core.planning.decisions import Stored, decided_rules, earlier_decisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What an environment shows before a plan: its snapshots, and their models as a graph.

    ``drifted`` are versions of models that differ, shown or not, that may hold rows which their
    definitions would not give. Those that are shown by a snapshot that drifted need not be among
    them: they do not hold what this one would compute. ``adopted`` are likewise versions that were
    adopted for another definition (rule R6): what was written to them since need not be what their
    own would give.
    """

    snapshots: Mapping[ModelName, ModelSnapshot]
    graph: Graph
    drifted: Collection[VersionKey] = frozenset()
    adopted: Collection[VersionKey] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A model's snapshot, and how it differs from what is shown.

    ``difference`` says how it differs; the snapshot's own category is the one that it was first
    stored with.
    """

    difference: Difference
    snapshot: ModelSnapshot


def resolve_snapshots(
    graph: Graph,
    shown: Shown,
    stored: Stored,
    rules: Rules = DEFAULT_RULES,
    *,
    production: Mapping[ModelName, ModelSnapshot] | None = None,
    filled: Mapping[ModelName, str] | None = None,
    released: Collection[ModelName] = frozenset(),
    given: Mapping[ModelName, ModelSnapshot] | None = None,
) -> dict[ModelName, Resolved]:
    """The snapshot of each model of a project, and how it differs from what is shown.

    Args:
        graph: The project.
        shown: What the environment shows (for a new environment: what production shows).
        stored: Snapshots of these models that an earlier plan stored; they are used as they are.
            Where the rows that are shown are the same, their version stays all the same.
        rules: How changes are judged. What a person decided about a stored snapshot goes on.
        production: The outcome of `rows_of_production`; None where that is what is shown.
        filled: Versions that hold rows of an equal definition, by model; None for none.
        released: Models that have to give back the version that they adopted (rule R6).
        given: Snapshots that are used with the version that they have, whatever is shown. A view
            reads the versions of the others, and is named after them. None for none.

    Raises:
        DecisionsRefused: The rules decide what there is nothing to decide about.
    """
    rules = decided_rules(rules, before=shown.graph, after=graph, stored=stored)
    production = production or {}
    settled = dict(_settled(graph, shown, stored, production))
    rules = replace(
        rules,
        settled={name: kept for name, (kept, _) in settled.items()},
        equal=frozenset(name for name, (_, is_equal) in settled.items() if is_equal),
        drifted=frozenset(
            name
            for name, each in shown.snapshots.items()
            if each.drifted or each.key in shown.drifted
        ),
    )
    resolution = _Resolution(
        graph=graph,
        shown=shown,
        stored=stored,
        production=production,
        filled=filled or {},
        released=released,
        given=given or {},
        differences=compare_graphs(shown.graph, graph, rules),
    )
    for node in graph:
        resolution.resolve(node)
    return resolution.resolved


def _settled(
    graph: Graph,
    shown: Shown,
    stored: Stored,
    production: Mapping[ModelName, ModelSnapshot],
) -> Iterator[tuple[ModelName, tuple[bool, bool]]]:
    """The models whose rows changed and whose version is known; see `Rules`.

    Said of each is whether that is the one that is shown, and whether it has the rows of both
    definitions. Where it is the one that is shown, it was forward-only where it was stored, or
    what is shown is: then one of both has drifted. If none has, its rows were found to be the same.
    What this environment adopted by itself is compared again.
    """
    for node in graph:
        before = shown.snapshots.get(node.name)
        if before is None or is_of(before, node):
            continue
        known = of_production(production, node, before) or stored.get(
            (node.name, node.fingerprint.digest)
        )
        if known is None:
            continue
        is_kept = known.key == before.key and not before.is_adopted
        drifted = known.drifted or before.drifted or before.key in shown.drifted
        yield node.name, (is_kept, is_kept and not drifted)


_KEEPING = (Category.INDIRECT_NON_BREAKING, Category.FORWARD_ONLY, Category.METADATA)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resolution:
    """The snapshots of a graph's models, parents first: what a view reads names its version."""

    graph: Graph
    shown: Shown
    stored: Stored
    production: Mapping[ModelName, ModelSnapshot]
    filled: Mapping[ModelName, str]
    released: Collection[ModelName]
    given: Mapping[ModelName, ModelSnapshot]
    differences: Mapping[ModelName, Difference]
    resolved: dict[ModelName, Resolved] = field(default_factory=dict)

    def resolve(self, node: Node) -> None:
        """Find the snapshot of a model, those of its parents being known."""
        difference = self.differences[node.name]
        before = self.shown.snapshots.get(node.name)
        known = self.stored.get((node.name, node.fingerprint.digest))
        if known is None and before is not None and difference.change is Change.NONE:
            known = before
        if node.model.kind.is_view:
            version = self._version_of_view(node, difference, before)
            snapshot = replace(known or self._new(node, difference), version=version)
        elif node.name in self.given and node.name not in self.released:
            snapshot = self.given[node.name]
        else:
            snapshot = self._with_version(node, difference, before, known)
        self.resolved[node.name] = Resolved(difference=difference, snapshot=snapshot)

    def snapshot(self, name: ModelName) -> ModelSnapshot:
        """What was found of a model."""
        return self.resolved[name].snapshot

    def _version_of_view(
        self, node: Node, difference: Difference, before: ModelSnapshot | None
    ) -> str:
        """The version of a view: it stays if its query and the versions that it reads stay.

        Also if another release gave it another name.
        """
        same = before is not None and difference.change is Change.NONE
        parents = stored_parents(self.graph, node.name) if same else ()
        shown = self.shown.snapshots
        stays = all(
            name in shown and shown[name].version == self.snapshot(name).version for name in parents
        )
        if before is not None and same and stays:
            return before.version
        return _view_version(self.graph, node.name, self.snapshot)

    def _new(self, node: Node, difference: Difference) -> ModelSnapshot:
        """A snapshot that is not stored yet, with the version that it has by itself."""
        return ModelSnapshot(
            name=node.name,
            fingerprint=node.fingerprint,
            version=node.fingerprint.data_version,
            category=difference.category,
            reasons=sentences(difference.reasons),
            source=node.model.source,
            decided_by=difference.decided_by,
            decided_from=_decided_from(difference, self.shown),
            drifted=difference.drifted,
        )

    def _with_version(
        self,
        node: Node,
        difference: Difference,
        before: ModelSnapshot | None,
        known: ModelSnapshot | None,
    ) -> ModelSnapshot:
        found = known or self._new(node, difference)
        production = of_production(self.production, node, before)
        if production is not None:
            return replace(_decided(found, difference), version=production.version, drifted=False)
        if before is not None and difference.keeps_rows and node.name not in self.released:
            by = before.decided_by if before.is_adopted else _decided(found, difference).decided_by
            drifted = before.drifted if difference.change is Change.NONE else difference.drifted
            return replace(found, version=before.version, drifted=drifted, decided_by=by)
        found = replace(_decided(found, difference), drifted=found.drifted)
        is_kept = difference.category in _KEEPING and node.name not in self.released
        if known is None and before is not None and is_kept:
            return replace(found, version=before.version)
        if known is None:
            found = replace(found, version=self.filled.get(node.name, found.version))
        return self._apart(node, found, before, is_stored=known is not None)

    def _apart(
        self, node: Node, found: ModelSnapshot, before: ModelSnapshot | None, *, is_stored: bool
    ) -> ModelSnapshot:
        """A snapshot with another version than one that holds, or is to hold, other rows."""
        adopted = before is not None and before.is_adopted
        taken = before is not None and found.version == before.version
        if (taken and (adopted or node.name in self.released)) or (
            not is_stored
            and (taken or found.key in self.shown.drifted or found.key in self.shown.adopted)
        ):
            return replace(found, version=node.fingerprint.version_apart, drifted=False)
        return found


def _decided(found: ModelSnapshot, difference: Difference) -> ModelSnapshot:
    """A snapshot without the decision of data, which was one about another version."""
    return replace(found, decided_by=difference.decided_by) if found.is_adopted else found


def _decided_from(difference: Difference, shown: Shown) -> str:
    if difference.decided_by is not DecidedBy.PERSON:
        return ""
    return shown.graph[difference.name].fingerprint.data_version


def view_versions(
    graph: Graph,
    snapshots: Mapping[ModelName, ModelSnapshot],
    moved: Collection[ModelName] | None = None,
) -> dict[ModelName, ModelSnapshot]:
    """Snapshots in which each VIEW has the version that follows from those of what it reads.

    Only views that read one of these, also through others, if it is said which have ``moved``.
    """
    found = dict(snapshots)
    reached = set(moved or ())
    for node in graph:
        if not node.model.kind.is_view:
            continue
        if moved is None or not reached.isdisjoint(stored_parents(graph, node.name)):
            version = _view_version(graph, node.name, found.__getitem__)
            found[node.name] = replace(found[node.name], version=version)
            reached.add(node.name)
    return found


def _view_version(
    graph: Graph, name: ModelName, snapshot: Callable[[ModelName], ModelSnapshot]
) -> str:
    reads = [_physical(graph[each], snapshot(each)) for each in stored_parents(graph, name)]
    inside = [graph[each].fingerprint.data for each in embedded_upstream(graph, name)]
    return view_version(graph[name].fingerprint.data, reads, embedded=inside)


def _physical(node: Node, snapshot: ModelSnapshot) -> TableName:
    """The name under which a query finds a model's rows: a source keeps its own."""
    if node.model.kind.is_source:
        return TableName(node.name.schema, node.name.name)
    return snapshot.key.table


def of_production(
    production: Mapping[ModelName, ModelSnapshot], node: Node, own: ModelSnapshot | None
) -> ModelSnapshot | None:
    """Production's snapshot of a model, where its version is the one to take.

    An environment that went another way than production would get a version of its own for what
    production holds, and production would get that one with the next promotion. So production's is
    taken wherever it has the same rows.

    Args:
        production: The outcome of `rows_of_production`.
        node: The model.
        own: What its environment shows of it. Where that is of an equal definition, it stays,
            unless production's is of that definition, too.
    """
    found = production.get(node.name)
    if found is None or own is None or not is_of(own, node):
        return found
    return found if is_of(found, node) and not own.drifted else None


def rows_of_production(
    production: Mapping[ModelName, ModelSnapshot],
    before: Graph,
    after: Graph,
    stored: Stored,
    rules: Rules,
    *,
    drifted: Collection[VersionKey],
) -> dict[ModelName, ModelSnapshot]:
    """Production's snapshots of those models whose rows it has, for any environment.

    Their definitions are equal, with all upstream, or nothing that they follow from has changed.
    What has drifted has rows of other definitions, so it is none of them.

    Args:
        production: What production shows.
        before: Its models.
        after: The models of the project.
        stored: The snapshots of the project's models that an earlier plan stored.
        rules: How changes are judged, with what is decided now.
        drifted: Versions that may hold rows of another definition than their own.
    """
    edited = {
        name: category
        for name, category in rules.decisions.items()
        if name in before
        and name in after
        and before[name].fingerprint.data != after[name].fingerprint.data
    }
    apart = frozenset(
        name for name, each in production.items() if each.drifted or each.key in drifted
    )
    judged = Rules(
        strict_columns=rules.strict_columns,
        decisions={**dict(earlier_decisions(before, after, stored)), **edited},
        drifted=apart,
    )
    differences = compare_graphs(before, after, judged)
    forward = {n for n, each in rules.decisions.items() if each is Category.FORWARD_ONLY}
    return {
        node.name: production[node.name]
        for node in after
        if node.name in production
        and node.name not in apart
        and node.name not in forward
        and differences[node.name].keeps_rows
    }


def is_of(snapshot: ModelSnapshot, node: Node) -> bool:
    """Whether a snapshot is one of a model as it is, whatever its metadata."""
    return snapshot.fingerprint.data_version == node.fingerprint.data_version
