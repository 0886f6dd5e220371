"""A run launcher that knows whether the process of a run lives.

Dagster marks a run as failed whose process ends while its code server looks. That of a run whose
code server ended, too, and that of `vde` itself, stays STARTED for ever: Dagster's own launcher
cannot be asked. This one is, by Dagster's run monitoring (`home.py`), from the daemon.
"""

from __future__ import annotations

import json

import dagster as dg

from vde_dagster.orchestration._unpublished import (
    GRPC_INFO_TAG,
    CheckRunHealthResult,
    WorkerStatus,
    process_of,
)
from vde_dagster.orchestration.keys import RunTag
from vde_dagster.state.processes import from_json, has_ended, has_gone, was_restarted


class VdeRunLauncher(dg.DefaultRunLauncher):
    """Dagster's default launcher, which also sees that the process of a run has ended.

    Only what is known counts: a process of another machine, or container, is taken to be alive.
    """

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Run monitoring may ask `check_run_worker_health`."""
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Whether the process that carries out a run has ended."""
        why = self._why_ended(run)
        if not why:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.NOT_FOUND, why)

    def _why_ended(self, run: dg.DagsterRun) -> str:
        named = run.tags.get(RunTag.PROCESS)
        if named is not None:
            process = from_json(named)
            if has_ended(process):
                return f"{process} has ended"
            return f"the machine of {process} was started again" if was_restarted(process) else ""
        known = process_of(self._instance, run.run_id) if _is_here(run) else None
        return f"process {known[0]} has ended" if known is not None and has_gone(*known) else ""


def _is_here(run: dg.DagsterRun) -> bool:
    """Whether a code server of this machine has started a run."""
    found = json.loads(run.tags.get(GRPC_INFO_TAG, "{}"))
    return bool(found.get("socket")) or found.get("host") in ("localhost", "127.0.0.1", "::1")
