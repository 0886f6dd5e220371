"""One step of SQLMesh in a process of its own; run by its Python, so nothing of ours is imported.

`python -P peer_steps.py FOLDER fill|measure`.
"""

import json
import logging
import resource
import sys
import warnings
from pathlib import Path


def cpu_seconds() -> float:
    """What this process and those that it has waited for have used: it reads files in several."""
    used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def peak_megabytes() -> float:
    """The most memory that this process has had, without what its parent had."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def main(folder: str, step: str) -> None:
    """Print what was measured as JSON."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    started = cpu_seconds()
    from sqlmesh import Context
    from sqlmesh.core.console import configure_console

    configure_console(ignore_warnings=True)
    imported = cpu_seconds()
    context = Context(paths=[folder])
    loaded = cpu_seconds()
    if step == "fill":
        context.engine_adapter.execute("CREATE SCHEMA raw")
        context.engine_adapter.execute(
            "CREATE TABLE raw.events (id BIGINT, ts TIMESTAMP, amount BIGINT)"
        )
        # Tables are made and intervals recorded; no rows are computed, which nobody measures here.
        context.plan("prod", auto_apply=True, no_prompts=True, empty_backfill=True, skip_tests=True)
        print(json.dumps({}))
        return
    plan = context.plan_builder("prod", skip_tests=True).build()
    planned = cpu_seconds()
    assert not plan.has_changes, "nothing has changed"
    assert not plan.requires_backfill, "nothing is missing"
    print(
        json.dumps(
            {
                "import": imported - started,
                "load": loaded - imported,
                "plan": planned - loaded,
                "MB": peak_megabytes(),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
