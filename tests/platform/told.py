"""The story of a platform, in a process of its own: ``python -m tests.platform.told FOLDER``.

FOLDER is the folder of the flights example, whose vde.yaml names the platform. The story is
that of the environments, shorter, and goes on with late data.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.flights.lakes import OnSpark
from tests.flights.test_environments_story import (
    FIRST,
    Meaning,
    a_non_breaking_edit,
    built_and_shared,
    moved,
)
from tests.flights.world import HOUR


def story(lake: OnSpark) -> None:
    """Build, a dev environment, an edit, its promotion, rollback, and late data."""
    meaning = a_non_breaking_edit(lake, built_and_shared(lake))
    late_data(lake, meaning)


def late_data(lake: OnSpark, meaning: Meaning) -> None:
    """Three hours land, with flights of earlier hours in them; just what they touch is computed."""
    now = FIRST + 3 * HOUR
    lake.land(now)
    assert lake.run("prod") == moved(FIRST, now, meaning)
    assert lake.shown("prod") == meaning.rows(now)
    assert lake.run("prod") == {}


if __name__ == "__main__":
    story(OnSpark(folder=Path(sys.argv[1])))
