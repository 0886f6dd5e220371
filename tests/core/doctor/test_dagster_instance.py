"""What is said of a Dagster instance, for each way in which one can be set up."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from vde_dagster.core.doctor.dagster_instance import (
    DaemonFacts,
    InstanceFacts,
    LocationFacts,
    judge_daemons,
    judge_instigators,
    judge_monitoring,
    judge_storage,
    judge_workspace,
)
from vde_dagster.core.doctor.results import Outcome

OWN = InstanceFacts(
    home="/project/.vde/dagster",
    in_files=True,
    file_system="ext4",
    launcher="VdeRunLauncher",
    elsewhere=False,
    monitored=True,
    sees_ends=True,
)
BEAT = datetime(2024, 1, 1, 12, tzinfo=UTC)
ALIVE = DaemonFacts(name="SENSOR", alive=True, last_heartbeat=BEAT)
SILENT = DaemonFacts(name="SCHEDULER", alive=False, last_heartbeat=BEAT)
NEVER = DaemonFacts(name="SENSOR", alive=False, last_heartbeat=None)


@pytest.mark.parametrize(
    "in_files,file_system,elsewhere,outcome",
    [
        (True, "ext4", False, Outcome.OK),
        (True, "", False, Outcome.OK),  # not known
        (True, "nfs4", False, Outcome.BROKEN),
        (True, "ext4", True, Outcome.BROKEN),
        (False, "nfs4", False, Outcome.OK),  # only logs are there
        (False, "ext4", True, Outcome.OK),
    ],
)
def test_a_shared_folder_matters_where_the_history_is_in_files(
    in_files: bool, file_system: str, elsewhere: bool, outcome: Outcome
) -> None:
    facts = replace(OWN, in_files=in_files, file_system=file_system, elsewhere=elsewhere)
    assert judge_storage("history", facts).outcome is outcome


@pytest.mark.parametrize(
    "monitored,sees_ends,outcome,text",
    [
        (True, True, Outcome.OK, "VdeRunLauncher"),
        (True, False, Outcome.WARNING, "cannot detect that the process of a run has died"),
        (False, True, Outcome.WARNING, "run monitoring is off"),
        (False, False, Outcome.WARNING, "run monitoring is off"),
    ],
)
def test_a_killed_run_ends_only_where_somebody_looks_and_can_see_it(
    monitored: bool, sees_ends: bool, outcome: Outcome, text: str
) -> None:
    result = judge_monitoring("x", replace(OWN, monitored=monitored, sees_ends=sees_ends))
    assert result.outcome is outcome
    assert text in result.message


@pytest.mark.parametrize(
    "daemons,switched_on,outcome,text",
    [
        ([ALIVE], [], Outcome.OK, "is running"),
        ([ALIVE], ["vde_status"], Outcome.OK, "is running"),
        ([NEVER], [], Outcome.WARNING, "no Dagster daemon has ever run here"),
        ([ALIVE, SILENT], [], Outcome.WARNING, "SCHEDULER last seen 2024-01-01 12:00"),
        ([NEVER], ["vde_status"], Outcome.WARNING, "no Dagster daemon has ever run here"),
        (
            [SILENT],
            ["vde_status"],
            Outcome.BROKEN,
            "do nothing although they are switched on: vde_status",
        ),
        ([SILENT], ["vde_status"], Outcome.BROKEN, "SCHEDULER last seen"),
        ([replace(ALIVE, error="no disk")], [], Outcome.WARNING, "SENSOR: no disk"),
        ([], [], Outcome.OK, "is running"),
    ],
)
def test_a_daemon_that_does_not_run_breaks_what_needs_it(
    daemons: list[DaemonFacts], switched_on: list[str], outcome: Outcome, text: str
) -> None:
    result = judge_daemons("daemon", daemons, switched_on)
    assert result.outcome is outcome
    assert text in result.message


def test_a_workspace_is_broken_by_each_code_location_that_does_not_load() -> None:
    prod, dev = LocationFacts(name="prod"), LocationFacts(name="dev", error="no such module")
    assert judge_workspace("x", [prod]).outcome is Outcome.OK
    result = judge_workspace("x", [prod, dev])
    assert result.outcome is Outcome.BROKEN
    assert result.message == "the code location dev does not load: no such module"
    assert judge_workspace("x", []).outcome is Outcome.BROKEN


@pytest.mark.parametrize(
    "location,outcome,text",
    [
        (LocationFacts(name="prod", switched_on=("a",)), Outcome.OK, "switched on: a"),
        (LocationFacts(name="prod", switched_off=("a",)), Outcome.WARNING, "runs automatically"),
        (LocationFacts(name="prod"), Outcome.OK, "there are no sensors"),
        (
            LocationFacts(name="prod", switched_on=("a",), failed=(("a", "no disk"),)),
            Outcome.WARNING,
            "the last tick failed for a: no disk",
        ),
    ],
)
def test_what_runs_by_itself_is_listed_and_what_failed_is_named(
    location: LocationFacts, outcome: Outcome, text: str
) -> None:
    result = judge_instigators("sensors", [location])
    assert result.outcome is outcome
    assert text in result.message
