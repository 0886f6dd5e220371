"""Versions that others have of a project's models already, with the rows that these would have.

An environment that went another way than production would get a version of its own for what
production holds, and production would get that one with the next promotion. So production's is
taken wherever it has the same rows, and what others have filled is not filled again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.snapshot import Category, ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.planning.changes.difference import Rules
from vde_dagster.core.planning.decisions import Stored, earlier_decisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """What others have of a project's models.

    - ``production`` has production's snapshots of those models whose rows it has.
    - ``filled`` has versions that hold rows of an equal definition, by model.
    """

    production: Mapping[ModelName, ModelSnapshot] = field(default_factory=dict)
    filled: Mapping[ModelName, str] = field(default_factory=dict)

    def of_production(self, node: Node, own: ModelSnapshot | None) -> ModelSnapshot | None:
        """Production's snapshot of a model, where its version is the one to take.

        Args:
            node: The model.
            own: What its environment shows of it. Where that is of an equal definition, it stays,
                unless production's is of that definition, too.
        """
        found = self.production.get(node.name)
        if found is None or own is None or not _is_equal(own, node):
            return found
        return found if _is_equal(found, node) and not own.drifted else None


NOWHERE: Final = Elsewhere()
"""Nobody has anything."""


def rows_of_production(
    production: Mapping[ModelName, ModelSnapshot],
    before: Graph,
    after: Graph,
    stored: Stored,
    rules: Rules,
    *,
    drifted: Collection[VersionKey],
) -> dict[ModelName, ModelSnapshot]:
    """Production's snapshots of those models whose rows it has, whoever asks.

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


def _is_equal(snapshot: ModelSnapshot, node: Node) -> bool:
    return snapshot.fingerprint.data_version == node.fingerprint.data_version
