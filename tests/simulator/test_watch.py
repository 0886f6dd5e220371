"""What may not change from one step to the next is seen, whoever did it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.app.generated_models import Form, Made
from tests.app.memory_world import START
from tests.simulator.commands import People, command
from tests.simulator.simulation import Simulation
from tests.simulator.steps import Act, Edit
from tests.simulator.test_simulator import EVENTS, LANDED, PLAN
from tests.simulator.watch import EVERYBODY
from vde_dagster.core.names import TableName

MODELS = (
    Made(name="hours", form=Form.COPY, parents=(EVENTS,)),
    Made(name="whole", form=Form.FULL, parents=(EVENTS,)),
)


@pytest.fixture(name="told")
def _told() -> Iterator[Simulation]:
    """Production shows both models, and has just been looked at."""
    simulation = Simulation(people=People(models=MODELS, shows={}, ever={}))
    for step in (*LANDED, PLAN):
        simulation.tell(step)
    yield simulation
    simulation.close()


def _table(simulation: Simulation, made: Made) -> TableName:
    shown = simulation.world.state.environment("prod")
    assert shown is not None
    return shown.snapshots[made.key].key.table


def _remove_one(simulation: Simulation) -> None:
    """Production shows the first model alone."""
    simulation.tell(Edit(model=1, how="remove", chance=0))
    simulation.tell(PLAN)


def _wrong(simulation: Simulation, *, writer: str = EVERYBODY, cleaned: bool = False) -> list[str]:
    at = simulation.world.clock.now() if cleaned else None
    return [*simulation.watch.wrong(simulation.people.shows, writer=writer, cleaned_at=at)]


@pytest.mark.parametrize(
    "made, taken",
    [(MODELS[0], "hours (COPY)"), (MODELS[1], "whole (FULL)")],
    ids=["an hour", "a whole table"],
)
def test_rows_that_nobody_let_go_are_missed(told: Simulation, made: Made, taken: str) -> None:
    catalog, table = told.world.catalog, _table(told, made)
    kept = catalog.tables[table].rows_at(catalog.tables[table].head)
    catalog.delete(table, kept[1:] if made.form is Form.COPY else ())
    (wrong,) = _wrong(told)
    assert wrong.startswith(f"{taken} has lost all rows")
    assert _wrong(told) == []  # it is told once


def test_rows_that_a_person_lets_go_are_not(told: Simulation) -> None:
    told.watch.permit({"whole"})
    told.world.catalog.delete(_table(told, MODELS[1]), ())
    assert _wrong(told) == []


def test_who_writes_what_another_environment_owns_is_named(told: Simulation) -> None:
    told.world.catalog.append(_table(told, MODELS[0]), [(99, START, 1)])
    assert _wrong(told, writer="dev") == ["dev has written hours, which prod owns"]
    told.world.catalog.append(_table(told, MODELS[0]), [(98, START, 1)])
    assert _wrong(told, writer="prod") == []


def test_what_was_shown_a_moment_ago_is_not_dropped(told: Simulation) -> None:
    _remove_one(told)
    dropped = [name for name in told.world.catalog.tables if "whole" in name.name]
    told.world.catalog.drop_table(dropped[0])
    (wrong,) = _wrong(told)
    assert f"{dropped[0]} was dropped" in wrong
    assert "after it was shown" in wrong


def test_what_was_marked_a_moment_ago_is_not_dropped(told: Simulation) -> None:
    _remove_one(told)
    (dropped,) = (name for name in told.world.catalog.tables if "whole" in name.name)
    told.world.clock.advance(timedelta(hours=1))
    assert _wrong(told, cleaned=True) == []  # the janitor comes by for the first time
    told.world.clock.advance(timedelta(minutes=1))
    told.world.catalog.drop_table(dropped)
    assert _wrong(told, cleaned=True) == [f"{dropped} was dropped without a time of grace"]


def test_the_janitor_may_drop_it_later(told: Simulation) -> None:
    _remove_one(told)
    clean_up = command(told.people, Act(what="clean up", environment="prod"))
    for _ in range(2):
        told.world.clock.advance(timedelta(hours=1))
        clean_up.do(told.world.services())
        assert _wrong(told, cleaned=True) == []
    assert not [name for name in told.world.catalog.tables if "whole" in name.name]
