"""What is to be said of a Dagster instance: its storage, its daemon, and what runs by itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from vde_dagster.core.doctor.file_systems import is_shared
from vde_dagster.core.doctor.results import CheckResult, broken, ok, warning
from vde_dagster.core.listing import some
from vde_dagster.core.time.intervals import format_instant

_POSTGRES: Final = (
    "Move Dagster's storage to Postgres in dagster.yaml (reference/dagster in the docs), or use a "
    "DAGSTER_HOME on a local disk."
)
_MONITORING: Final = (
    "Write `run_monitoring: {enabled: true}` and `run_launcher: {module: vde_dagster, class: "
    "VdeRunLauncher}` into dagster.yaml, as reference/dagster in the docs shows."
)
_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFacts:
    """What a Dagster instance is made of.

    ``in_files`` says whether its storage is SQLite files in its home, ``file_system`` of what type
    the file system of the home is (empty where that is not known). ``launcher`` is the class that
    starts runs, ``elsewhere`` whether that starts them outside of this machine's own processes.
    ``monitored`` is whether run monitoring is on, ``sees_ends`` whether the launcher can say that a
    run's process has ended.
    """

    home: str
    in_files: bool
    file_system: str
    launcher: str
    elsewhere: bool
    monitored: bool
    sees_ends: bool


def judge_storage(check: str, facts: InstanceFacts) -> CheckResult:
    """Whether all who need Dagster's history have the same one."""
    if not facts.in_files:
        return ok(check, "Dagster's history is in a separate database")
    if facts.elsewhere:
        return broken(
            check,
            f"{facts.launcher} starts runs elsewhere, and Dagster's history is in SQLite files in "
            f"{facts.home}, which they do not have",
            _POSTGRES,
        )
    if is_shared(facts.file_system):
        return broken(
            check,
            f"Dagster's history is in SQLite files in {facts.home}, which is on "
            f"{facts.file_system}: SQLite cannot lock files that several machines share",
            _POSTGRES,
        )
    return ok(check, f"Dagster's history is in SQLite files in {facts.home}, for one machine")


def judge_monitoring(check: str, facts: InstanceFacts) -> CheckResult:
    """Whether a run whose process was killed ends."""
    if not facts.monitored:
        return warning(
            check, "run monitoring is off: a run whose process is killed never ends", _MONITORING
        )
    if not facts.sees_ends:
        return warning(
            check,
            f"run monitoring is on, but {facts.launcher} cannot detect that the process of a run "
            "has died: such a run never ends",
            _MONITORING,
        )
    return ok(check, f"runs whose process is killed end while the daemon runs ({facts.launcher})")


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonFacts:
    """One of the daemons that an instance needs: its last heartbeat, and its last error if any."""

    name: str
    alive: bool
    last_heartbeat: datetime | None
    error: str = ""


def judge_daemons(
    check: str, daemons: Sequence[DaemonFacts], switched_on: Collection[str]
) -> CheckResult:
    """Whether a daemon evaluates sensors and schedules, and starts queued runs.

    One that has never run breaks nothing: the project may be used without Dagster, and some sensors
    are switched on by default.

    Args:
        check: The name of the check.
        daemons: Those that the instance needs.
        switched_on: The names of sensors and schedules that are switched on, and need one.
    """
    dead = [each for each in daemons if not each.alive]
    failing = [each for each in daemons if each.alive and each.error]
    if dead:
        said = _silent(dead)
        advice = (
            "`vde ui` starts one while it runs; on a server, keep `dagster-daemon run` running "
            "with the same DAGSTER_HOME."
        )
        has_run = any(each.last_heartbeat is not None for each in dead)
        if switched_on and has_run:
            return broken(
                check,
                    f"{said}, so these do nothing although they are switched on: "
                    f"{_few(switched_on)}",
                advice,
            )  # fmt: skip
        return warning(check, f"{said}: no sensor, schedule or queued run starts", advice)
    if failing:
        errors = "; ".join(f"{each.name}: {each.error}" for each in failing)
        return warning(
            check, f"the daemon reports errors: {errors}", "See its log for the whole error."
        )
    return ok(check, f"the daemon is running ({len(daemons)} of its parts are needed)")


def _silent(dead: Sequence[DaemonFacts]) -> str:
    beats = [each.last_heartbeat for each in dead if each.last_heartbeat is not None]
    if not beats:
        return "no Dagster daemon has ever run here"
    names = ", ".join(each.name for each in dead)
    return f"Dagster's daemon is not running: {names} last seen {format_instant(max(beats))} UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationFacts:
    """A code location: why it does not load, and what of it may run by itself.

    ``switched_on`` are its sensors and schedules that run, ``switched_off`` the others, and
    ``failed`` the errors of those whose last tick failed, by name.
    """

    name: str
    error: str = ""
    switched_on: tuple[str, ...] = ()
    switched_off: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


def judge_workspace(check: str, locations: Sequence[LocationFacts]) -> CheckResult:
    """Whether Dagster can load what it is to serve."""
    wrong = [each for each in locations if each.error]
    if not locations:
        return broken(
            check,
            "workspace.yaml names no code location",
            "`vde init DIR` shows one, with its definitions.py.",
        )
    if wrong:
        said = "; ".join(
            f"the code location {each.name} does not load: {each.error}" for each in wrong
        )
        return broken(check, said, "Fix the error, then try again.")
    return ok(check, f"code locations load: {', '.join(each.name for each in locations)}")


def judge_instigators(check: str, locations: Sequence[LocationFacts]) -> CheckResult:
    """Whether anything runs by itself, and did so the last time."""
    on = [name for each in locations for name in each.switched_on]
    failed: Mapping[str, str] = dict(pair for each in locations for pair in each.failed)
    if failed:
        errors = "; ".join(f"{name}: {error}" for name, error in failed.items())
        return warning(
            check,
            f"the last tick failed for {errors}",
            "The tick's page in the UI, under Automation, has the whole error.",
        )
    if on:
        return ok(check, f"switched on: {_few(on)}")
    off = [name for each in locations for name in each.switched_off]
    if not off:
        return ok(check, "there are no sensors or schedules")
    return warning(
        check,
        "no sensor and no schedule is switched on: nothing runs automatically",
        f"Switch on what should run in the UI, under Automation: {_few(off)}.",
    )


def _few(names: Collection[str]) -> str:
    return some(sorted(names), _NAMED)
