"""The story of a platform, in a process of its own: ``python -m tests.platform.told FOLDER``.

FOLDER is the folder of the flights example, whose vde.yaml names the platform. After each step what
readers see is compared with what DuckDB computes from the CSV files, by code that knows nothing of
the project. `tests/flights/test_environments_story.py` tells more of the same, on one machine.
"""

from __future__ import annotations

import csv
import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.cli.calling import call
from tests.flights.lakes import OnSpark, unordered
from tests.flights.test_environments_story import (
    FIRST,
    Meaning,
    a_non_breaking_edit,
    built_and_shared,
    moved,
)
from tests.flights.world import DEPARTURES, HOUR
from tests.platform.processes import started_vde
from vde_dagster.core.doctor.results import Outcome
from vde_dagster.core.names import ModelName

COMMAND_LINES: Final = "command_lines"
"""The file beside the project's folder with what other users of the machine saw of a run."""
_PATIENCE_SECONDS: Final = 900
_LOOK_SECONDS: Final = 0.05
_PLAIN_NAMES: Final = ModelName("mart", "plain_names")
_PARTS: Final = (
    *("project", "Java", "jars", "state", "catalog", "views", "Spark", "Python in Spark"),
    *("catalog in Spark", "clock"),
)
"""What the doctor looks at of a platform; no Dagster daemon runs during the story."""
_HELPERS: Final = {
    "airline_words/__init__.py": "",
    "airline_words/shown.py": """\
def shown(name):
    return name.upper()
""",
    "airline_words/endings.py": """\
ENDING = " Inc."


def without(name):
    return name.removesuffix(ENDING)
""",
    "models/mart/plain_names.py": '''\
"""Names of airlines as a sign has them."""

from airline_words.shown import shown
from vde_dagster import model


def in_short(name):
    from airline_words.endings import without  # on the worker

    return shown(without(name))


@model(
    "mart.plain_names",
    kind="FULL",
    cron="@daily",
    depends_on=["staging.airlines"],
    columns={"carrier": "string", "name": "string"},
)
def plain_names(context):
    from pyspark.sql import functions as F

    names = context.table("staging.airlines").repartition(4)
    return names.select("carrier", F.udf(in_short, "string")("name").alias("name"))
''',
}
"""A Python model with a function for workers, and what that imports at the top and later."""


def story(lake: OnSpark) -> None:
    """Build, a dev environment, an edit, promotion, rollback, late data, kill and recover.

    At the end a model is added whose function runs on workers, and all that is not used any more
    goes.
    """
    meaning = a_non_breaking_edit(lake, built_and_shared(lake))
    late_data(lake, meaning)
    killed(lake, meaning)
    helped(lake)
    looked_at(lake)
    cleaned_up(lake)


def late_data(lake: OnSpark, meaning: Meaning) -> None:
    """Three hours land, with flights of earlier hours in them; just what they touch is computed."""
    now = FIRST + 3 * HOUR
    lake.land(now)
    assert lake.run("prod") == moved(FIRST, now, meaning)
    assert lake.shown("prod") == meaning.rows(now)
    assert lake.run("prod") == {}


def killed(lake: OnSpark, meaning: Meaning) -> None:
    """A run dies once it has published something; the next one does the rest, and nothing twice.

    What had been published before it died is not computed again.
    """
    before, now = FIRST + 3 * HOUR, FIRST + 6 * HOUR
    lake.land(now)
    due = moved(before, now, meaning)
    kill_once_published(lake)
    rest = lake.run("prod")
    assert rest, "something was left"
    assert all(count <= due.get(name, 0) for name, count in rest.items()), (rest, due)
    assert rest.get(str(DEPARTURES), 0) < due[str(DEPARTURES)], (rest, due)
    assert lake.shown("prod") == meaning.rows(now)
    assert lake.run("prod") == {}


def kill_once_published(lake: OnSpark) -> None:
    """Start a run, and kill it as soon as the first of its tables has new rows.

    Other models are still to be computed then, each of which takes Spark a second at least.
    """
    head = head_of(lake, DEPARTURES)
    before, end = head(), time.monotonic() + _PATIENCE_SECONDS
    log = lake.folder.parent / "killed.log"
    with started_vde(log, "run", "prod", "--project", lake.folder) as vde:
        while head() == before:
            code = vde.process.poll()
            assert code is None, f"it published nothing, and ended with {code}:\n{vde.said()}"
            assert time.monotonic() < end, f"nothing was published:\n{vde.said()}"
            time.sleep(_LOOK_SECONDS)
        lines = "\n".join(vde.command_lines())
        vde.process.kill()
        code = vde.process.wait()
        assert code == -signal.SIGKILL, f"it had ended before, with {code}:\n{vde.said()}"
    (lake.folder.parent / COMMAND_LINES).write_text(lines, encoding="utf-8")


def head_of(lake: OnSpark, name: ModelName) -> Callable[[], int | None]:
    """Looks at the Iceberg snapshot of a model's table in production, as often as it is asked.

    The project is opened once: a database has only so many connections, and whoever opened it again
    for each look would soon have all of them (Postgres: 100), and none would be left for the run.
    """
    services = lake.services
    shown = services.state.environment("prod")
    assert shown is not None
    table = shown.snapshots[name].key.table

    def head() -> int | None:
        found = services.catalog.table(table)
        return found.iceberg_snapshot_id if found is not None else None

    return head


def helped(lake: OnSpark) -> None:
    """A model's function that runs on workers finds the modules of the project there."""
    for path, text in _HELPERS.items():
        helper = lake.folder / path
        helper.parent.mkdir(parents=True, exist_ok=True)
        helper.write_text(text, encoding="utf-8")
    assert lake.plan("dev") == {str(_PLAIN_NAMES): 1}
    with (lake.folder / "seeds" / "airlines.csv").open(encoding="utf-8", newline="") as file:
        wanted = [
            [each["carrier"], each["name"].removesuffix(" Inc.").upper()]
            for each in csv.DictReader(file)
        ]
    assert lake.rows("dev", _PLAIN_NAMES) == unordered(wanted)


def looked_at(lake: OnSpark) -> None:
    """The doctor finds all parts well."""
    found = {each["check"]: each for each in said(lake, "doctor")["checks"]}
    unwell = [found[part] for part in _PARTS if found[part]["outcome"] != Outcome.OK.value]
    assert unwell == []


def said(lake: OnSpark, *words: str) -> dict[str, Any]:
    """What a command says in JSON, whether or not it finds something broken."""
    done = call(*words, "--project", lake.folder, "--format", "json")
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def cleaned_up(lake: OnSpark) -> None:
    """The janitor and the upkeep of tables take nothing away that somebody reads."""
    environments = {each: lake.shown(each) for each in ("prod", "dev")}
    used = lake.tables("prod") | lake.tables("dev")
    assert {each.name for each in lake.services.catalog.physical_layer()} > used
    lake.clean_up()
    assert {each.name for each in lake.services.catalog.physical_layer()} == used
    assert {each: lake.shown(each) for each in environments} == environments
    lake.maintain()
    assert {each: lake.shown(each) for each in environments} == environments
    assert lake.run("prod") == {}


if __name__ == "__main__":
    story(OnSpark(folder=Path(sys.argv[1])))
