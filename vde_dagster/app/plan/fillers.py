"""Who fills the versions that an environment may not write (rule R9), and with which command.

The owner of a version need not show it: a plan stores its versions before it computes, and where an
audit refuses the rows, nothing is promoted. Then runs of the owner do not compute it, since a run
computes what its environment shows, and only another plan does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from vde_dagster.app.services import Services
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import format_instant
from vde_dagster.ports.state import Environment

_REASON: Final = 160  # how much of a reason is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """The environment that fills a version that others may not write.

    ``shows`` says whether it shows the version, so that its runs compute what is due of it. ``why``
    is what became of the last try there, of a version that it does not show; empty for none.
    """

    environment: str
    shows: bool = True
    why: str = ""

    @property
    def words(self) -> tuple[str, str]:
        """The words of the command of `vde` that fills the version."""
        return "run" if self.shows else "plan", self.environment

    @property
    def command(self) -> str:
        """The command that fills the version, in a text."""
        name = self.environment
        return f"`vde run {name}`" if self.shows else f"`vde plan {name}`"

    @property
    def computes(self) -> str:
        """The command, and whose version it is, in a text."""
        shown = "" if self.shows else " and does not show it"
        return f"{self.command} computes it, which owns this version{shown}"


def fillers(
    services: Services,
    environment: str,
    keys: Iterable[VersionKey],
    owners: Mapping[VersionKey, str] | None = None,
) -> dict[VersionKey, Filler]:
    """Who fills those of these versions that an environment may not write; others are absent.

    Args:
        services: The ports.
        environment: The environment that shows the versions, or is about to.
        keys: The versions.
        owners: Who owns them, if that was just read.
    """
    asked = set(keys)
    owned = services.state.owners(asked) if owners is None else owners
    theirs = {
        key: owned[key] for key in asked & owned.keys() if not may_write(environment, owned[key])
    }
    shown = {owner: services.state.environment(owner) for owner in sorted({*theirs.values()})}
    unshown = [key for key, owner in theirs.items() if not _shows(shown[owner], key)]
    failed = services.state.failed(unshown) if unshown else {}
    found = {key: Filler(environment=owner) for key, owner in theirs.items()}
    for key in unshown:
        why = _became(failed[key]) if key in failed else ""
        found[key] = Filler(environment=theirs[key], shows=False, why=why)
    return found


def _shows(shown: Environment | None, key: VersionKey) -> bool:
    snapshot = shown.snapshots.get(key.model) if shown is not None else None
    return snapshot is not None and snapshot.key == key


def _became(work: UnitOfWork) -> str:
    """What became of a unit of work that was given up."""
    ended = (work.finished_at or work.started_at).replace(second=0, microsecond=0)
    names = dict.fromkeys(each.name for each in work.audits if each.stops)
    if work.refused_branch and names:
        audits = f"the audit{'s' if len(names) > 1 else ''} {', '.join(names)}"
        return f"{audits} refused its rows there at {format_instant(ended)}"
    first = next(iter(work.reason.strip().splitlines()), "no reason is recorded")
    return f"it failed there at {format_instant(ended)}: {first[:_REASON].rstrip(' .:')}"
