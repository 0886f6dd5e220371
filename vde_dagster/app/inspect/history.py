"""The promotions of an environment: who, when, what was taken, and what it changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vde_dagster.app.services import Services
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.ports.state import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """One promotion, compared with the one before it.

    ``versions`` are models that show another version since, ``definitions`` those of the others
    whose definition is another one. Of one that has left the history, and of the first one after
    those, nothing of this is known.
    """

    shown: Environment
    added: tuple[ModelName, ...]
    removed: tuple[ModelName, ...]
    versions: tuple[ModelName, ...]
    definitions: tuple[ModelName, ...]

    def bounded(self, *, previews: bool) -> tuple[ModelName, ...]:
        """The models that show a version since that begins later: previews, or all others."""
        return tuple(
            name
            for name in sorted((*self.added, *self.versions))
            if (bound := self.shown.snapshots[name].bounded) and bound.is_preview == previews
        )


def history(services: Services, environment: str, *, limit: int) -> Iterator[Promoted]:
    """The last promotions of an environment, newest first; none if there is no such environment."""
    newest = services.state.environment(environment)
    if newest is None:
        return
    later = newest
    for number in range(newest.revision - 1, max(newest.revision - limit, 0) - 1, -1):
        before = services.state.environment(environment, revision=number) if number else None
        yield _compared(later, before)
        if before is None:
            return
        later = before


def _compared(later: Environment, before: Environment | None) -> Promoted:
    """A revision and the one before it; None if there is none."""
    is_known = not later.is_forgotten and not (before is not None and before.is_forgotten)
    if not is_known:
        return Promoted(shown=later, added=(), removed=(), versions=(), definitions=())
    return _differences(later, before.snapshots if before is not None else {})


def _differences(shown: Environment, before: Mapping[ModelName, ModelSnapshot]) -> Promoted:
    now = shown.snapshots
    both = sorted(now.keys() & before.keys())
    moved = tuple(name for name in both if now[name].version != before[name].version)
    return Promoted(
        shown=shown,
        added=tuple(sorted(now.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - now.keys())),
        versions=moved,
        definitions=tuple(
            name
            for name in both
            if name not in moved and now[name].fingerprint != before[name].fingerprint
        ),
    )
