"""The story of a platform, in a process of its own: ``python -m tests.platform.told FOLDER``.

FOLDER is the folder of the flights example, whose vde.yaml names the platform. The story is
that of the environments, shorter, and goes on with late data and a killed process.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

from tests.flights.lakes import OnSpark
from tests.flights.test_environments_story import (
    FIRST,
    Meaning,
    a_non_breaking_edit,
    built_and_shared,
    moved,
)
from tests.flights.world import DEPARTURES, HOUR
from tests.platform.processes import started_vde

_PATIENCE_SECONDS: Final = 300


def story(lake: OnSpark) -> None:
    """Build, a dev environment, an edit, its promotion, rollback, late data, kill and recover."""
    meaning = a_non_breaking_edit(lake, built_and_shared(lake))
    late_data(lake, meaning)
    killed(lake, meaning)


def late_data(lake: OnSpark, meaning: Meaning) -> None:
    """Three hours land, with flights of earlier hours in them; just what they touch is computed."""
    now = FIRST + 3 * HOUR
    lake.land(now)
    assert lake.run("prod") == moved(FIRST, now, meaning)
    assert lake.shown("prod") == meaning.rows(now)
    assert lake.run("prod") == {}


def killed(lake: OnSpark, meaning: Meaning) -> None:
    """A run dies once it has published something; the next one does the rest, and nothing twice."""
    now = FIRST + 6 * HOUR
    lake.land(now)
    before = lake.heads("prod")[str(DEPARTURES)]
    end = time.monotonic() + _PATIENCE_SECONDS
    log = lake.folder.parent / "killed.log"
    with started_vde(log, "run", "prod", "--project", lake.folder) as process:
        while lake.heads("prod")[str(DEPARTURES)] == before:
            assert process.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < end, "nothing was published"
            time.sleep(0.05)
        process.kill()
    lake.run("prod")
    assert lake.shown("prod") == meaning.rows(now)
    assert lake.run("prod") == {}


if __name__ == "__main__":
    story(OnSpark(folder=Path(sys.argv[1])))
