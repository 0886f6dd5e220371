"""`vde unlock`: what processes hold, and what a dead one held."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.state.test_sql_state import start
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import Conflict
from vde_dagster.ports.state import Lease, LeaseLost, State

HELD = "environment:prod"
HOUR = timedelta(hours=1)


@pytest.fixture
def state(project: Path) -> State:
    return VdeProject.load(project).services.state


@pytest.fixture
def lease(state: State) -> Lease:
    """What this process holds."""
    return state.acquire_lease(HELD, holder="plan 12ab", ttl=HOUR)


def me() -> str:
    return f"{os.getpid()}@{socket.gethostname()}"


def test_nobody_holds_anything_in_a_new_project(project: Path) -> None:
    assert call("unlock", "--project", project).stdout == "No process holds a lease.\n"


@pytest.mark.usefixtures("lease")
def test_who_holds_what_is_listed_with_the_process(project: Path) -> None:
    (found,) = json.loads(call("unlock", "--project", project, "--format", "json").stdout)["leases"]
    assert found["runs_here"] is True
    assert (found["resource"], found["holder"], found["is_over"]) == (HELD, "plan 12ab", False)
    assert f"{found['pid']}@{found['host']}" == me()
    assert HELD in call("unlock", "--project", project).stdout


def test_who_is_named_as_gone_loses_it_and_can_write_no_more(
    project: Path, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("vde_dagster.state.processes._machine", lambda: "another boot")
        lease = state.acquire_lease(HELD, holder="plan 12ab", ttl=HOUR)
    done = call("unlock", HELD, "--gone", me(), "--project", project)
    assert (done.exit_code, done.stdout) == (0, f"{HELD} is free.\n")
    with pytest.raises(LeaseLost):
        state.renew_lease(lease, ttl=HOUR)
    assert state.acquire_lease(HELD, holder="another", ttl=HOUR).epoch == lease.epoch + 1


def test_who_runs_on_this_machine_keeps_it_until_it_has_ended(project: Path, state: State) -> None:
    (holder,) = start(
        f"sqlite:///{VdeProject.load(project).configuration.database}", "take_lease", "plan 12ab"
    )
    holder.line.send("go")
    assert holder.line.recv() == "1"
    pid = holder.process.pid
    done = call("unlock", "r", "--gone", f"{pid}@{socket.gethostname()}", "--project", project)
    assert done.exit_code == 1
    assert "which runs on this machine. Nothing was changed" in done.stderr
    (found,) = state.leases()
    assert (found.holder, found.is_over) == ("plan 12ab", False)
    (kill,) = re.findall(rf"`(kill {pid})`", done.stderr)
    subprocess.run(kill.split(), check=True)
    holder.process.join()
    assert state.acquire_lease("r", holder="another", ttl=HOUR).epoch == 2


@pytest.mark.parametrize(
    "resource,gone,said",
    [
        (HELD, "1@elsewhere", "and not by 1@elsewhere. Nothing was changed"),
        ("environment:dev", "1@elsewhere", "no process holds a lease on environment:dev"),
    ],
)
def test_what_is_not_so_is_refused(
    project: Path, state: State, lease: Lease, resource: str, gone: str, said: str
) -> None:
    done = call("unlock", resource, "--gone", gone, "--project", project)
    assert done.exit_code == 1
    assert said in done.stderr
    state.renew_lease(lease, ttl=HOUR)


def test_nothing_is_freed_without_naming_who_is_gone(project: Path) -> None:
    done = call("unlock", HELD, "--project", project)
    assert done.exit_code == 2
    assert "Give RESOURCE and --gone together" in done.stderr


def test_a_lease_that_was_taken_again_meanwhile_is_not_freed(state: State, lease: Lease) -> None:
    (seen,) = state.leases()
    state.release_lease(lease)
    state.acquire_lease(HELD, holder="plan 34cd", ttl=HOUR)
    with pytest.raises(Conflict, match="nothing was changed"):
        state.free_lease(seen)
    assert [each.holder for each in state.leases()] == ["plan 34cd"]
