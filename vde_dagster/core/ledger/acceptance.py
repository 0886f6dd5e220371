"""Whether a person may accept what blocking audits refused, decided from the refused work alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import assert_never

from vde_dagster.core.ledger.unit_of_work import Publication, UnitOfWork, UnitOfWorkState


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptable:
    """What is published if it is accepted, and the names of the audits that refused it."""

    publication: Publication
    audits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAcceptable:
    """Why nothing is published, and what to do, for people."""

    reason: str
    advice: str = ""


def acceptable(work: UnitOfWork, accepted: Collection[str]) -> Acceptable | NotAcceptable:
    """What a unit of work would publish if these audits are accepted.

    All blocking audits that found bad rows have to be accepted, and nothing else.

    Args:
        work: The unit of work.
        accepted: Names of audits; each stands for all calls of it in the model.
    """
    closed = _why_closed(work)
    if closed is not None:
        return closed
    stops = [each for each in work.audits if each.stops]
    names = tuple(dict.fromkeys(each.name for each in stops))
    problems = [*_not_named(work, names, accepted), *_named_in_vain(names, accepted)]
    if problems:
        wanted = " ".join(f"--accept {name}" for name in names)
        return NotAcceptable(
            reason="\n".join(problems),
            advice=f"To publish the rows of {work.intent.work_id} all the same: {wanted}",
        )
    assert work.publication is not None, "what is not closed says what it would publish"
    return Acceptable(publication=work.publication, audits=names)


def _why_closed(work: UnitOfWork) -> NotAcceptable | None:
    work_id, accepted = work.intent.work_id, work.intent.accepted
    match work.state:
        case UnitOfWorkState.DONE:
            by = f", {accepted}" if accepted is not None else ""
            return NotAcceptable(reason=f"{work_id} is published already{by}")
        case UnitOfWorkState.INTENT | UnitOfWorkState.STAGED:
            return NotAcceptable(
                reason=f"{work_id} is not finished: a process writes it, or the next run of "
                f"{work.intent.environment} finishes it",
            )
        case UnitOfWorkState.ABANDONED:
            pass
        case unreachable:
            assert_never(unreachable)
    if not any(each.stops for each in work.audits):
        return NotAcceptable(
            reason=f"{work_id} has staged nothing that could be published: {work.reason}"
        )
    if accepted is not None:
        return NotAcceptable(
            reason=f"{work_id} was to publish the rows of {accepted.work_id}, and did not: "
            f"{work.reason}",
            advice=f"name {accepted.work_id}.",
        )
    return None


def _not_named(
    work: UnitOfWork, names: Collection[str], accepted: Collection[str]
) -> Iterator[str]:
    for name in names:
        if name not in accepted:
            failing = sum(each.failing for each in work.audits if each.stops and each.name == name)
            rows = "1 row fails" if failing == 1 else f"{failing:,} rows fail"
            yield f"the audit {name} refused the rows of {work.intent.work_id}, too: {rows}"


def _named_in_vain(names: Collection[str], accepted: Collection[str]) -> Iterator[str]:
    for name in sorted(set(accepted) - set(names)):
        yield f"no blocking audit {name} refused them"
