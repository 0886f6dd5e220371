"""What a Spark session is doing, as its status tracker says."""

from __future__ import annotations

from vde_dagster.ports.engine import EngineProgress, StageProgress


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
    except Py4JError:  # the JVM has gone
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
    return EngineProgress(address=address, stages=tuple(stages))
