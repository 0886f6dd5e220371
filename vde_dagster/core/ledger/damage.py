"""What can be wrong between what was recorded of a version's table and the table itself.

Each kind of damage says for people what it is and which command mends it; a test carries each of
them out (`tests/app/recover/test_repairing.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import PRODUCTION, env_option

MOST_FILES: Final = 3
"""How many missing files a text names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadMoved:
    """Somebody else moved the table from the recorded Iceberg snapshot, which it still has."""

    found: int
    recorded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadExpired:
    """The table has other rows than were recorded, and the recorded ones have expired."""

    found: int | None
    recorded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverRecorded:
    """The table has rows, and none were ever recorded."""

    found: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDropped:
    """The table does not exist any more, and rows of it were recorded."""

    recorded: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesGone:
    """Data files of the recorded Iceberg snapshot are not in storage any more."""

    recorded: int
    files: tuple[str, ...]


Damage = HeadMoved | HeadExpired | NeverRecorded | TableDropped | FilesGone


def described(key: VersionKey, damage: Damage) -> str:
    """What is wrong, for people; it ends without a full stop."""
    what = f"{key.model}: its table {key.table}"
    match damage:
        case HeadMoved(found=found, recorded=recorded):
            return (
                f"{what} is at the Iceberg snapshot {found}, and {recorded} was recorded: somebody "
                "else wrote to it or rolled it back, and nothing is built on unknown rows"
            )
        case HeadExpired(found=found, recorded=recorded):
            at = f"is at the Iceberg snapshot {found}" if found is not None else "has no rows"
            return (
                f"{what} {at}, and {recorded} was recorded, which it does not have any more: "
                "somebody else wrote to it or created it again"
            )
        case NeverRecorded(found=found):
            return (
                f"{what} has rows (Iceberg snapshot {found}) that were never recorded: somebody "
                "else wrote them, or this state is not the one of this warehouse"
            )
        case TableDropped():
            return f"{what} does not exist: somebody dropped it, and its rows with it"
        case FilesGone(files=files):
            more = f" and {len(files) - MOST_FILES:,} more" if len(files) > MOST_FILES else ""
            named = ", ".join(files[:MOST_FILES])
            count = f"{len(files):,} data file{'s' if len(files) != 1 else ''}"
            return f"{what} lacks {count} in storage: {named}{more}"
        case unreachable:
            assert_never(unreachable)


def mended_by(key: VersionKey, damage: Damage, *, owner: str | None) -> str:
    """What mends it, for people; ``owner`` is the environment that may write the version."""
    environment = owner or PRODUCTION
    plan = f"`vde plan {environment}`"
    match damage:
        case HeadMoved():
            return (
                f"Run `vde repair {key.model}{env_option(environment)}`: it makes the recorded "
                "rows current again, without Spark, and keeps the others under a tag of the table."
            )
        case HeadExpired() | NeverRecorded():
            return (
                f"Drop {key.table} if nobody needs what it has; {plan} then computes its rows "
                "again, or says why it cannot."
            )
        case TableDropped():
            return f"The next {plan} computes its rows again, or says why it cannot."
        case FilesGone():
            return (
                "Put them back, or compute their rows again: "
                f"`vde plan {environment} --restate-model {key.model}`."
            )
        case unreachable:
            assert_never(unreachable)
