"""Leases of processes that have ended: real processes, killed as the operating system does it."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.forks import Fork
from tests.state.test_sql_state import start
from vde_dagster.core.errors import Conflict
from vde_dagster.ports.state import Lease, LeaseLost
from vde_dagster.state import leases
from vde_dagster.state.processes import (
    from_json,
    has_ended,
    has_gone,
    this_process,
    was_restarted,
)
from vde_dagster.state.sql_state import SqlState

HOUR = timedelta(hours=1)


def holding(url: str) -> Fork:
    """A process that holds the lease for a minute."""
    (actor,) = start(url, "take_lease", "the other")
    actor.line.send("go")
    assert actor.line.recv() == "1"
    return actor


def test_a_lease_of_a_process_that_was_killed_is_taken_over_at_once(sql_url: str) -> None:
    actor, state = holding(sql_url), SqlState.open(sql_url)
    actor.process.kill()
    actor.process.join()
    assert state.lease_holder("r") == ""
    assert state.acquire_lease("r", holder="me", ttl=HOUR).epoch == 2
    with pytest.raises(LeaseLost):
        state.renew_lease(Lease(resource="r", holder="the other", epoch=1), ttl=HOUR)


def test_a_lease_of_an_earlier_release_names_its_holder_alone(
    sql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = SqlState.open(sql_url)
    with monkeypatch.context() as patch:
        patch.setattr(leases, "this_process", Earlier)
        state.acquire_lease("r", holder="the other", ttl=HOUR)
    assert state.lease_holder("r") == "the other"
    with pytest.raises(Conflict, match="held by the other until"):
        state.acquire_lease("r", holder="me", ttl=HOUR)


class Earlier:
    """A release that stored no process."""

    def as_json(self) -> None:
        return None


ours = this_process


def test_this_process_has_not_ended_and_is_stored_whole() -> None:
    assert not has_ended(ours())
    assert from_json(ours().as_json()) == ours()
    assert (ours().pid, from_json(None)) == (os.getpid(), None)


def test_a_number_that_another_process_has_by_now_is_not_the_holder() -> None:
    assert has_ended(replace(ours(), began="1"))


@pytest.mark.parametrize("machine", ["", "another boot"])
def test_what_is_not_known_is_not_taken_for_an_end(machine: str) -> None:
    assert not has_ended(replace(ours(), machine=machine, pid=2**22 + 1))
    assert not has_ended(replace(ours(), began=""))
    assert not has_ended(None)


def test_a_process_that_nobody_has_waited_for_has_ended() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # it is dead, and its number still there
    assert has_ended(replace(ours(), pid=child))
    assert has_gone(child, time.time())
    os.waitpid(child, 0)
    assert has_ended(replace(ours(), pid=child))


def test_a_process_of_somebody_else_is_there() -> None:
    assert not has_ended(replace(ours(), pid=1, began=""))


def test_a_process_that_was_seen_has_gone_once_its_number_is_free_or_anothers() -> None:
    assert not has_gone(os.getpid(), time.time())
    assert not has_gone(1, time.time()), "it belongs to somebody else"
    assert has_gone(2**22 + 1, time.time())
    assert has_gone(os.getpid(), 1.0), "this process began long after it"


FIRST = "pid:[4026531836]"


@pytest.mark.parametrize(
    "machine, host, expected",
    [
        (f"before {FIRST}", None, True),
        (f"now {FIRST}", None, False),
        (f"before {FIRST}", "another", False),
        ("before pid:[7]", None, False),
        ("", None, False),
    ],
)
def test_a_machine_was_restarted_if_it_has_the_same_name_and_no_containers(
    machine: str, host: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vde_dagster.state.processes._machine", lambda: f"now {FIRST}")
    process = replace(ours(), machine=machine)
    if host is not None:
        process = replace(process, host=host)
    assert was_restarted(process) is expected
    assert not was_restarted(None)
