"""Which steps of a diamond compute and which are kept, and what an asset below it is told.

Both sides add up the amounts above a limit, so a new amount changes both, one, or neither of them.
The expected sums are those of the amounts that landed, by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.app.memory_world import MemoryWorld
from tests.kept_folder import KeptFolder
from tests.orchestration.automated_world import AutomatedWorld
from tests.orchestration.served import instance_at
from tests.orchestration.test_status_sensor import not_fresh
from vde_dagster.orchestration.reporting.known_events import Event

if TYPE_CHECKING:
    from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor

DAY = "2024-01-01"
HOME = "dagster_home"


def model(name: str, query: str) -> str:
    return (
        f"MODEL (name core.{name}, kind INCREMENTAL_BY_TIME_RANGE (time_column day), "
        f"cron '@daily');\n{query}"
    )


def side(name: str, limit: str) -> str:
    return model(
        name,
        "SELECT day, SUM(CAST(amount AS BIGINT)) AS amount FROM core.top\n"
        f"WHERE day BETWEEN @start_dt AND @end_dt AND amount {limit} GROUP BY day",
    )


DIAMOND = {
    "top": model(
        "top",
        "SELECT id, CAST(at AS DATE) AS day, amount FROM raw.events\n"
        "WHERE at BETWEEN @start_dt AND @end_dt",
    ),
    "low": side("low", "> 10"),
    "high": side("high", "> 100"),
    "both": model(
        "both",
        "SELECT l.day, l.amount AS low, h.amount AS high\n"
        "FROM core.low AS l JOIN core.high AS h ON l.day = h.day\n"
        "WHERE l.day BETWEEN @start_dt AND @end_dt AND h.day BETWEEN @start_dt AND @end_dt",
    ),
}
ALL = frozenset(DIAMOND)
BOTH = dg.AssetKey(["core", "both"])


@dg.asset(
    deps=[BOTH],
    partitions_def=dg.DailyPartitionsDefinition(DAY, end_date="2024-01-02"),
    automation_condition=dg.AutomationCondition.eager(),
)
def below() -> None:
    """An asset of a user's own."""


class Diamond(AutomatedWorld):
    """The project, with an asset of a user's own below it."""

    cursor: AssetDaemonCursor | None = None

    def run(self, *names: str, environment: str = "prod") -> frozenset[str]:
        """Materialize assets of the day in one run; those that computed."""
        suffix = "" if environment == "prod" else f"__{environment}"
        job = self.definitions(environment).resolve_implicit_global_asset_job_def()
        done = job.execute_in_process(
            instance=self.instance,
            asset_selection=[dg.AssetKey([f"core{suffix}", each]) for each in names or ALL],
            partition_key=DAY,
        )
        materialized = [each.materialization for each in done.get_asset_materialization_events()]
        told: list[Event] = [*materialized, *observed(done)]
        assert {each.asset_key.path[-1] for each in told} == set(names or ALL)
        return frozenset(
            each.asset_key.path[-1]
            for each in told
            if "vde/owner" not in each.metadata and not each.metadata["vde/reused"].value
        )

    def requested(self) -> bool:
        """Whether Dagster's automation requests the asset below since it was asked last."""
        both = dg.Definitions.merge(self.definitions(), dg.Definitions(assets=[below]))
        found = dg.evaluate_automation_conditions(both, self.instance, cursor=self.cursor)
        self.cursor = found.cursor
        return bool(found.get_requested_partitions(below.key))


def observed(done: dg.ExecuteInProcessResult) -> list[dg.AssetObservation]:
    events = [e for e in done.all_events if e.event_type is dg.DagsterEventType.ASSET_OBSERVATION]
    return [each.asset_observation_data.asset_observation for each in events]


@dataclass(frozen=True)
class Made:
    """A diamond that was made once, with its files and its Dagster home."""

    files: KeptFolder
    world: MemoryWorld
    cursor: AssetDaemonCursor | None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("diamond")
    (folder / HOME).mkdir()
    with instance_at(folder / HOME) as instance:
        found = Diamond(folder / "project", instance, MemoryWorld())
        found.write(DIAMOND)
        found.world.land((5.5, 20), (6.5, 200), until=24)
        found.apply()
        found.run()
        found.requested()
    assert found.world.rows("core.both") == [(day(), 220, 200)]
    return Made(KeptFolder.of(folder), found.world, found.cursor)


@pytest.fixture
def diamond(made: Made) -> Iterator[Diamond]:
    """In production, run once in Dagster, and seen by its automation."""
    folder = made.files.put_back()
    with instance_at(folder / HOME) as instance:
        found = Diamond(folder / "project", instance, made.world.copied())
        found.cursor = made.cursor
        yield found


def day() -> object:
    from datetime import date

    return date(2024, 1, 1)


@pytest.mark.full
def test_nothing_changed_so_nothing_is_computed_and_nothing_below_is_requested(
    diamond: Diamond,
) -> None:
    assert diamond.run() == frozenset()
    assert not diamond.requested()
    assert not_fresh(diamond) == {}


@pytest.mark.full
def test_a_change_that_both_sides_leave_out_ends_at_them(diamond: Diamond) -> None:
    diamond.world.land((7.5, 5), until=24)
    assert diamond.run() == {"top", "low", "high"}
    assert not diamond.requested()
    assert not_fresh(diamond) == {}


def test_across_runs_the_sides_compute_what_changed_and_the_join_is_kept(
    diamond: Diamond,
) -> None:
    diamond.world.land((7.5, 5), until=24)
    assert diamond.run("top") == {"top"}
    assert diamond.run("low", "high") == {"low", "high"}
    assert diamond.run("both") == frozenset()
    assert not diamond.requested()
    assert not_fresh(diamond) == {}


def test_another_environment_computes_nothing_that_it_shares(diamond: Diamond) -> None:
    assert diamond.run(environment="dev") == frozenset()
    diamond.write({**DIAMOND, "high": side("high", "> 10")})
    assert diamond.run(environment="dev") == {"high", "both"}
    assert diamond.world.rows("core__dev.both") == [(day(), 220, 220)]
    assert diamond.world.rows("core.both") == [(day(), 220, 200)]
