"""What of a unit of work a person may accept, and what not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.state.builders import START, intent, publication
from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.acceptance import acceptable
from vde_dagster.core.ledger.unit_of_work import Acceptance, UnitOfWork, UnitOfWorkState

BAD = AuditResult(name="z_score", failing=3, message="3 rows fail")
AGAIN = AuditResult(name="z_score", arguments=(("column", "b"),), failing=1, message="1 row fails")
OTHER = AuditResult(name="not_null", failing=1, message="1 row fails")
WARNS = AuditResult(name="not_constant", blocking=False, failing=1, message="1 row fails")
PASSED = AuditResult(name="at_least_one", failing=0, message="passed")
SAID = Acceptance(work_id="w0", audits=("z_score",), reason="fine", author="ann", accepted_at=START)


def work(*audits: AuditResult, state: UnitOfWorkState = UnitOfWorkState.ABANDONED) -> UnitOfWork:
    return UnitOfWork(
        intent=intent(),
        state=state,
        publication=publication(),
        started_at=START,
        audits=audits,
        reason="its audits found bad rows",
    )


def refused(work: UnitOfWork, *accepted: str) -> Refused:
    with pytest.raises(Refused) as found:
        acceptable(work, accepted)
    return found.value


def test_a_name_stands_for_all_calls_of_an_audit_and_what_only_warns_needs_none() -> None:
    found = acceptable(work(BAD, AGAIN, WARNS, PASSED), ["z_score"])
    assert found == (publication(), ("z_score",))


def test_all_that_is_missing_and_all_that_is_too_much_is_named_at_once() -> None:
    found = refused(work(BAD, AGAIN, OTHER, WARNS), "not_constant", "at_least_one")
    assert found.message.splitlines() == [
        "the rows of w1 also failed the audit z_score: 4 rows fail",
        "the rows of w1 also failed the audit not_null: 1 row fails",
        "they failed no blocking audit at_least_one",
        "they failed no blocking audit not_constant. Nothing was published",
    ]
    assert found.advice.rstrip(".").endswith("--accept z_score --accept not_null")


CLOSED = {
    "w1 has already been published": work(BAD, state=UnitOfWorkState.DONE),
    "w1 has already been published, accepted by ann at 2024-01-01 00:00 UTC: fine": replace(
        work(BAD, state=UnitOfWorkState.DONE), intent=replace(intent(), accepted=SAID)
    ),
    "w1 is not finished": work(BAD, state=UnitOfWorkState.INTENT),
    "w1 has staged no rows that could be published: its audits found bad rows": work(WARNS, PASSED),
    "w1 should have published the rows of w0, but did not": replace(
        work(BAD), intent=replace(intent(), accepted=SAID)
    ),
}


@pytest.mark.parametrize("said, found", CLOSED.items(), ids=range(len(CLOSED)))
def test_work_that_has_nothing_to_publish_says_why(said: str, found: UnitOfWork) -> None:
    assert refused(found, "z_score").message.startswith(said)


def test_nobody_is_named_where_it_is_not_known_who_accepted() -> None:
    assert str(replace(SAID, author="")).startswith("accepted by a user at 2024-01-01")


def test_the_branch_of_rows_that_were_not_published_is_that_of_the_work_that_staged_them() -> None:
    accepted = replace(work(BAD), intent=replace(intent("w2"), accepted=SAID))
    assert accepted.refused_branch == "branch_w_w0"
    assert work(BAD).refused_branch == "branch_w_w1"
