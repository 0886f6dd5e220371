"""A check that fails stops only those that need it, whatever it fails with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vde_dagster.app.doctor.checking import Check, run_checks
from vde_dagster.core.doctor.results import CheckResult, Outcome, ok, warning
from vde_dagster.core.errors import Refused
from vde_dagster.runtime.secrets import remember


def fails(error: Exception) -> Callable[[], CheckResult]:
    def look() -> CheckResult:
        raise error

    return look


def works(name: str, *needs: str) -> Check:
    return Check(name=name, look=lambda: ok(name, "fine"), needs=needs, advice="look")


def run(*checks: Check) -> list[CheckResult]:
    return list(run_checks(checks, lambda _: None))


def test_independent_checks_go_on_and_dependent_ones_name_what_they_need() -> None:
    checks = [
        works("a"),
        Check(name="b", look=fails(Refused("no", advice="do")), needs=("a",), advice="look"),
        works("c", "a", "b"),
        works("d", "c"),
        works("e", "a"),
    ]
    found = {each.check: (each.outcome, each.message) for each in run(*checks)}
    assert found == {
        "a": (Outcome.OK, "fine"),
        "b": (Outcome.BROKEN, "no"),
        "c": (Outcome.NOT_TRIED, "needs b"),
        "d": (Outcome.NOT_TRIED, "needs c"),
        "e": (Outcome.OK, "fine"),
    }


def test_a_warning_lets_others_be_tried_unless_there_is_nothing_to_use() -> None:
    small = Check(name="a", look=lambda: warning("a", "x", "y"), advice="look")
    absent = Check(name="b", look=lambda: warning("b", "x", "y", usable=False), advice="look")
    found = run(small, absent, works("c", "a"), works("d", "b"))
    assert [each.outcome for each in found[2:]] == [Outcome.OK, Outcome.NOT_TRIED]


@pytest.mark.parametrize(
    "error,message,advice",
    [
        (Refused("it is shut", advice="open it"), "it is shut", "Open it."),
        (Refused("it is shut"), "it is shut", "look"),
        (OSError(28, "No space left on device"), "a disk is full", "Free space on the disks"),
        (ConnectionRefusedError("refused"), "a service does not answer", "Check that the catalog"),
        (KeyError("name"), "KeyError: 'name'", "look"),
        (ValueError("one\ntwo"), "ValueError: one", "look"),
        (ValueError(), "ValueError: no message", "look"),
    ],
)
def test_each_error_has_its_own_advice_or_that_of_the_check(
    error: Exception, message: str, advice: str
) -> None:
    (result,) = run(Check(name="a", look=fails(error), advice="look"))
    assert (result.outcome, result.message) == (Outcome.BROKEN, message)
    assert result.advice.startswith(advice)


def test_only_an_error_that_nobody_knows_is_handed_on() -> None:
    seen: list[Exception] = []
    known, unknown = Refused("no"), ValueError("what")
    checks = [
        Check(name="a", look=fails(known), advice="look"),
        Check(name="b", look=fails(unknown), advice="look"),
    ]
    assert len(list(run_checks(checks, seen.append))) == 2
    assert seen == [unknown]


def test_secrets_are_stars_wherever_they_come_from() -> None:
    remember(["canary-of-the-doctor"])
    said = "postgresql://vde:canary-of-the-doctor@host/db"
    checks = [
        Check(name="a", look=fails(ValueError(said)), advice="look"),
        Check(name="b", look=lambda: ok("b", said), advice="look"),
        Check(name="c", look=lambda: warning("c", said, said), advice="look"),
        Check(name="d", look=fails(Refused(said, advice=said)), advice="look"),
    ]
    text = "".join(each.message + each.advice for each in run(*checks))
    assert "canary" not in text
    assert text.count("*****") == 6
