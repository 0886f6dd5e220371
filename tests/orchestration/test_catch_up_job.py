"""Catch-up sessions from the launchpad: of one model, of all, and again from the source."""

from __future__ import annotations

import pytest

from tests.app.memory_world import EVENTS, PROJECT, RAW
from tests.orchestration.launchpad import Launchpad, Make, failure, shown, written
from tests.orchestration.test_assets import materialize

OTHER = EVENTS.replace("staging.events", "staging.others").replace("amount AS", "amount + 1 AS")
TWO = {**PROJECT, "others": OTHER}
LOG = """
MODEL (name staging.log, kind INCREMENTAL_UNMANAGED, cron '@hourly',
  late_data (mode stateless, sources (raw.events)));
SELECT id, at, amount FROM raw.events
"""
LATE = "2024-01-01-07:00"


@pytest.fixture
def shop(make: Make) -> Launchpad:
    return make(TWO)


def test_as_it_is_every_model_with_late_data_is_loaded(shop: Launchpad) -> None:
    shop.world.land((7.5, 5), until=48)
    result = shop.start("vde_catch_up")
    assert written(result) == {("staging/events", LATE), ("staging/others", LATE)}
    found = shown(result)
    assert found["vde/rows_written"] == 2
    assert found["vde/sessions"] == "- `staging.events`: 1 rows\n- `staging.others`: 1 rows"
    assert len(shop.world.rows("staging.events")) == 3
    nothing = shown(shop.start("vde_catch_up"))
    assert nothing["vde/rows_written"] == 0
    assert "- `staging.events`: no new snapshot" in nothing["vde/sessions"]


def test_one_model_is_loaded_if_it_is_named(shop: Launchpad) -> None:
    shop.world.land((7.5, 5), until=48)
    result = shop.start("vde_catch_up", {"model": "staging.others"})
    assert written(result) == {("staging/others", LATE)}
    assert shown(result)["vde/late_rows_session"] == 1
    assert len(shop.world.rows("staging.events")) == 2


def test_what_sessions_would_do_is_explained_and_nothing_is_written(shop: Launchpad) -> None:
    shop.world.land((7.5, 5), until=48)
    found = shown(shop.start("vde_catch_up", {"explain": True}))["vde/sessions"].splitlines()
    assert [line.partition(":")[0] for line in found] == ["- staging.events", "- staging.others"]
    assert ": a session would read raw.events from Iceberg snapshot " in found[0]
    assert ": 1 row in 1 partition" in found[0]
    assert len(shop.world.rows("staging.events")) == 2


@pytest.mark.full
def test_a_model_is_loaded_again_as_its_source_is_now(shop: Launchpad) -> None:
    result = shop.start("vde_catch_up", {"model": "staging.events", "reload": True})
    assert ("staging/events", "2024-01-01-05:00") in written(result)
    assert shown(result)["vde/rows_written"] == 2


@pytest.mark.parametrize(
    "config,said",
    [
        ({"reload": True}, "reload needs the model that is to be loaded again."),
        ({"model": "staging.event"}, "Did you mean staging.events? With late data: staging."),
        ({"model": "mart.daily"}, "mart.daily has no late_data property"),
        ({"model": "a.b.c.d"}, "4 parts"),
    ],
)
def test_what_cannot_be_loaded_is_refused(
    shop: Launchpad, config: dict[str, object], said: str
) -> None:
    assert said in failure(shop.start("vde_catch_up", config, fails=True))


@pytest.mark.full
def test_a_model_that_stops_does_not_keep_the_others_from_being_loaded(make: Make) -> None:
    stops = OTHER.replace("sources (raw.events)", "sources (raw.events), on_source_rewrite stop")
    shop = make({**PROJECT, "stops": stops})
    shop.world.land((5.7, 2), until=48)
    shop.start("vde_catch_up")
    table = shop.world.catalog.tables[RAW]
    shop.world.catalog.delete(RAW, [row for row in table.rows_at(table.head) if row[2] != 2])
    result = shop.start("vde_catch_up", fails=True)
    assert failure(result).startswith("staging.others was not loaded: Iceberg snapshot ")
    assert {asset for asset, _ in written(result)} == {"staging/events"}
    assert len(shop.world.rows("staging.events")) == 2
    assert len(shop.world.rows("staging.others")) == 3


@pytest.mark.full
def test_an_environment_that_owns_no_such_version_says_who_loads_it(shop: Launchpad) -> None:
    shop.start("vde_plan", {"apply": True}, environment="dev")
    shop.world.land((7.5, 5), until=48)
    result = shop.start("vde_catch_up", environment="dev")
    assert shown(result)["vde/reason"] == (
        "dev may write no model with late data: the environments that own them load it"
    )


def test_late_rows_of_an_append_only_model_are_of_no_partition(make: Make) -> None:
    shop = make({"log": LOG})
    shop.world.land((7.5, 5), until=48)
    result = shop.start("vde_catch_up")
    assert written(result) == {("staging/log", None)}
    assert shown(result)["vde/rows_written"] == 1
    assert len(shop.world.rows("staging.log")) == 3

    shop.world.land((7.6, 6), until=48)
    materialize(shop.definitions(), shop.instance, "staging/log")
    assert len(shop.world.rows("staging.log")) == 4
    again = materialize(shop.definitions(), shop.instance, "staging/log", fails=True)
    assert "its source has no new rows" in failure(again)
    assert len(shop.world.rows("staging.log")) == 4
