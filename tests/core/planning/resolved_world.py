"""Environments in which plans are resolved, and all that they have stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tests.core.conftest import build
from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import DEFAULT_RULES
from vde_dagster.core.planning.changes.difference import Rules
from vde_dagster.core.planning.resolution import Resolved, Shown, resolve_snapshots

NOTHING: Final = Shown(snapshots={}, graph=build_graph([]))


class World:
    """Environments by name, the snapshots that are stored, and what production drifted with."""

    def __init__(self) -> None:
        self.environments: dict[str, Shown] = {}
        self.stored: dict[tuple[ModelName, str], ModelSnapshot] = {}
        self.drifted: set[VersionKey] = set()

    @property
    def shown(self) -> Shown:
        """What production shows."""
        return self.environments.get("prod", NOTHING)

    def plan(
        self, texts: Mapping[str, str], rules: Rules = DEFAULT_RULES, environment: str = "prod"
    ) -> dict[ModelName, Resolved]:
        """What a project's models would become in an environment."""
        shown = replace(self.environments.get(environment, NOTHING), drifted=self.drifted)
        return resolve_snapshots(build(texts), shown, self.stored, rules)

    def store(self, resolved: Mapping[ModelName, Resolved]) -> None:
        """Keep the snapshots of a plan, as they are reviewed before it is applied."""
        for name, each in resolved.items():
            self.stored.setdefault((name, each.snapshot.fingerprint.digest), each.snapshot)

    def apply(
        self, texts: Mapping[str, str], rules: Rules = DEFAULT_RULES, environment: str = "prod"
    ) -> dict[ModelName, Resolved]:
        """Show what is planned."""
        resolved = self.plan(texts, rules, environment)
        self.store(resolved)
        snapshots = {name: each.snapshot for name, each in resolved.items()}
        if environment == "prod":
            self.drifted |= {each.key for each in snapshots.values() if each.drifted}
        self.environments[environment] = Shown(snapshots=snapshots, graph=build(texts))
        return resolved
