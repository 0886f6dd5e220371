"""What a Spark session is doing, as its status tracker says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vde_dagster.ports.engine import EngineProgress, StageProgress

if TYPE_CHECKING:
    from pyspark import SparkContext


def progress_of(session: object) -> EngineProgress | None:
    """The stages that run now; None if the session is remote, or is being stopped."""
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    if not isinstance(session, SparkSession):  # that of Spark Connect has no context
        return None
    try:
        context = session.sparkContext
        tracker = context.statusTracker()
        found = [tracker.getStageInfo(each) for each in sorted(tracker.getActiveStageIds())]
        address = context.uiWebUrl or ""
        waits_for = _waits_for(context) if found else ""
    except (Py4JError, OSError, AttributeError):  # the JVM has gone, or a user's code stopped it
        return None
    stages = [
        StageProgress(
            stage=each.stageId,
            tasks=each.numTasks,
            done=each.numCompletedTasks,
            failed=each.numFailedTasks,
        )
        for each in found
        if each is not None
    ]
    return EngineProgress(address=address, waits_for=waits_for, stages=tuple(stages))


def _waits_for(context: SparkContext) -> str:
    """What the stages that run wait for; empty where there is somebody to compute them."""
    master = context.master or ""
    if master.startswith("local"):
        return ""
    tracker = context._jsc.sc().statusTracker()  # noqa: SLF001 - pyspark's own tracker lists none
    present = len(tracker.getExecutorInfos()) - 1  # the driver is among them
    if present > 0:
        return ""
    return (
        f"executors: it has none of {master} now. Perhaps other applications have all of "
        "its cores; its own page shows that"
    )
