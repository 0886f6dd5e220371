"""Which tables and views are maintained: those that this state made and something refers to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from vde_dagster.app.catch_up.listing import RESOURCE as LATE_TABLES
from vde_dagster.app.clean_up.looking import Left, Look, look, why_not_ours
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import every_view_name
from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.snapshot import VersionKey, version_of
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.unresolved import guess
from vde_dagster.ports.late_tables import KEPT
from vde_dagster.ports.physical_layer import StoredTable
from vde_dagster.ports.state import version_resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table or view that is maintained.

    ``key`` is the version that it has, or whose rows it shows; None for a table of late data, and
    for a view that is dropped.
    ``lease`` is the name of the lease under which a table is written; empty for a view, whose files
    nobody changes. At least ``newest`` of its Iceberg snapshots stay.
    """

    stored: StoredTable
    key: VersionKey | None
    lease: str = ""
    newest: int = 0

    @property
    def model(self) -> ModelName | None:
        """The model whose rows it has or shows."""
        return None if self.key is None else self.key.model


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What is maintained, in order, and what is not, with the reasons."""

    targets: tuple[Target, ...]
    left: tuple[Left, ...]
    look: Look


def find_targets(services: Services, times: Times, models: Sequence[str] = ()) -> Targets:
    """What there is to maintain. Writes nothing.

    What nothing refers to is left to the janitor, which drops it.

    Args:
        services: The ports.
        times: How long what nobody uses is kept.
        models: Names of models, in which `*` and `?` stand for any text and any character; none for
            all models and the tables of late data.

    Raises:
        Refused: There is no table or view of one of the names.
    """
    found = look(services, times)
    chosen = _chosen(found, models)
    targets, left = list[Target](), list[Left]()
    state = services.state.identity()
    for key in chosen:
        stored = found.stored[key]
        why = why_not_ours(stored, state)
        if key not in found.swept.kept:
            why = "nothing refers to it"
        if why is None:
            lease = "" if stored.is_view else version_resource(key)
            targets.append(Target(stored=stored, key=key, lease=lease))
        else:
            left.append(Left(table=stored.name, reason=why))
    targets += _environment_views(services, found, {key.model for key in chosen})
    if not models:
        targets += _late_tables(services)
        targets += _dropped_views(services, found, state)
    return Targets(targets=tuple(targets), left=tuple(left), look=found)


def _chosen(found: Look, models: Sequence[str]) -> list[VersionKey]:
    """The versions with a table or view that some names mean, sorted."""
    known = sorted(found.stored)
    if not models:
        return known
    names = sorted({str(key.model) for key in known})
    patterns = [each.lower() for each in models]
    unknown = [each for each in patterns if not any(fnmatchcase(name, each) for name in names)]
    if unknown:
        raise Refused(
            f"there is no table or view of {', '.join(unknown)}",
            advice=guess(unknown[0], names) or "`vde environments` lists what there is.",
        )
    return [key for key in known if any(fnmatchcase(str(key.model), each) for each in patterns)]


def _environment_views(
    services: Services, found: Look, models: Collection[ModelName]
) -> Iterator[Target]:
    """The views of environments that show versions of some models."""
    shown = services.catalog.views([each.name for each in found.elsewhere])
    for stored in found.elsewhere:
        key = version_of(shown[stored.name].target) if stored.name in shown else None
        if key is not None and key in found.found.known and key.model in models:
            yield Target(stored=stored, key=key)


def _dropped_views(services: Services, found: Look, state: str) -> Iterator[Target]:
    """The views that no environment shows, or showed in the time for which it can go back.

    So each was dropped as long ago, and nobody reads the files that are left of it.
    """
    dropped = services.catalog.dropped_views(state=state)
    if not dropped:
        return
    forgotten = frozenset(found.swept.forgotten)
    shown = {
        (key.model, each.revision.environment)
        for each in found.found.revisions
        if each.revision not in forgotten
        for key in each.versions
    }
    kept = {name for model, of in shown for name in every_view_name(services, model, of)}
    yield from (Target(stored=each, key=None) for each in dropped if each.name not in kept)


def _late_tables(services: Services) -> Iterator[Target]:
    for name in services.late_tables.names if services.late_tables is not None else ():
        stored = services.catalog.stored(name)
        if stored is not None and not stored.is_view:
            yield Target(stored=stored, key=None, lease=LATE_TABLES, newest=KEPT)
