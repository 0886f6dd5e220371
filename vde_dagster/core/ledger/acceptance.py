"""Whether a person may accept what blocking audits refused, decided from the refused work alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.unit_of_work import Publication, UnitOfWork, UnitOfWorkState


def acceptable(work: UnitOfWork, accepted: Collection[str]) -> tuple[Publication, tuple[str, ...]]:
    """What a unit of work publishes if these audits are accepted, and the audits that refused it.

    All blocking audits that found bad rows have to be accepted, and nothing else.

    Args:
        work: The unit of work.
        accepted: Names of audits; each stands for all calls of it in the model.

    Raises:
        Refused: Nothing of it may be published.
    """
    work_id, before, publication = work.intent.work_id, work.intent.accepted, work.publication
    names = tuple(dict.fromkeys(each.name for each in work.audits if each.stops))
    why, advice = "\n".join(_problems(work, names, accepted)), ""
    if work.state is UnitOfWorkState.DONE:
        why = f"{work_id} has already been published{f', {before}' if before is not None else ''}"
    elif work.state is not UnitOfWorkState.ABANDONED:
        why = (
            f"{work_id} is not finished: a process is writing it, or the next run of "
            f"{work.intent.environment} finishes it"
        )
    elif not names or publication is None:
        why = f"{work_id} has staged no rows that could be published: {work.reason}"
    elif before is not None:
        why = (
            f"{work_id} should have published the rows of {before.work_id}, but did not: "
            f"{work.reason}"
        )
        advice = f"name {before.work_id}."
    elif why:
        wanted = " ".join(f"--accept {name}" for name in names)
        advice = f"To publish the rows of {work_id} anyway: {wanted}"
    else:
        return publication, names
    raise Refused(f"{why}. Nothing was published", advice=advice)


def _problems(work: UnitOfWork, names: Collection[str], accepted: Collection[str]) -> Iterator[str]:
    """The audits that have to be accepted, too, and those that are named in vain."""
    for name in names:
        if name not in accepted:
            failing = sum(each.failing for each in work.audits if each.stops and each.name == name)
            rows = "1 row fails" if failing == 1 else f"{failing:,} rows fail"
            yield f"the rows of {work.intent.work_id} also failed the audit {name}: {rows}"
    for name in sorted(set(accepted) - set(names)):
        yield f"they failed no blocking audit {name}"
