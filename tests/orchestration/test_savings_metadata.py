"""What a materialization says that its step did not compute."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.state.builders import KEY, day
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.ledger.savings import Saved
from vde_dagster.orchestration.assets.metadata import work_metadata

DONE = Evaluated(
    work_id="w",
    key=KEY,
    interval=day(0),
    rows=0,
    entries=(),
    iceberg_snapshot_id=None,
    seconds=0.5,
    reused=True,
)
HOURLY = Saved(intervals=3, time=timedelta(hours=3), rows=40, seconds=1.23456)
WHOLE = Saved(intervals=1, rows=7, seconds=30.0)
VIEW = Saved(intervals=1)


@pytest.mark.parametrize(
    "saved,reported",
    [
        ([None], {}),
        ([HOURLY], {"intervals": 3, "hours": 3.0, "rows": 40, "seconds": 1.235}),
        ([HOURLY, None, HOURLY], {"intervals": 6, "hours": 6.0, "rows": 80, "seconds": 2.469}),
        ([WHOLE], {"intervals": 1, "rows": 7, "seconds": 30.0}),
        ([VIEW], {"intervals": 1, "rows": 0}),
    ],
    ids=["nothing", "by interval", "in several units of work", "as a whole", "a view"],
)
def test_what_was_saved_is_reported_as_far_as_it_is_known(
    saved: list[Saved | None], reported: dict[str, float]
) -> None:
    metadata = work_metadata([replace(DONE, saved=each) for each in saved])
    found = {
        key.removeprefix("vde/saved_"): each for key, each in metadata.items() if "saved" in key
    }
    assert found == reported


def test_warnings_of_all_units_of_work_are_reported() -> None:
    told = [replace(DONE, warnings=each) for each in (("one", "two"), (), ("three",))]
    assert work_metadata(told)["vde/warnings"] == "one\ntwo\nthree"
    assert "vde/warnings" not in work_metadata([DONE])
