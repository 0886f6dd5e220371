"""A saved plan is applied as it was reviewed, or nothing is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.memory_world import (
    DAILY,
    PROJECT,
    TOTALS,
    Fuse,
    MemoryWorld,
    graph_of,
    made_once,
    there,
)
from tests.worlds.state import memory_state
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.saved_plans import is_applied, left_of, read_saved, saved_text
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName, SuffixTarget, ViewNaming
from vde_dagster.core.planning.changes.difference import DecidedBy
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_file import PlanFileInvalid
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import read_model
from vde_dagster.project.settings import texts_of

SHOP = Configuration(folder=Path("/shop"), name="shop")
GRAPH = graph_of(PROJECT)
MORE = {**PROJECT, "daily": DAILY.replace("amount > 0", "amount > 5")}
EDITED = graph_of(MORE)
TOTAL = ModelName("mart", "totals")
WRITES = {
    "store_snapshots",
    "begin_promotion",
    "acquire_lease",
    "record_intent",
    "outdate",
    "swap_views",
    "stage",
    "publish",
}


@pytest.fixture
@made_once
def world() -> MemoryWorld:
    """Production shows the project, complete to the second day."""
    found = MemoryWorld.landed((1, 1), (2, 10), (25, 100), until=48)
    found.build(GRAPH)
    return found


def read(text: str, configuration: Configuration = SHOP) -> Plan:
    return read_saved(configuration, text, name="plan.json")


def apply(services: Services, text: str) -> tuple[Evaluated, ...]:
    """What `vde apply` does."""
    saved = read(text)
    if is_applied(services, saved):
        finish_promotions(services, saved.environment)
        return ()
    return apply_plan(services, left_of(services, saved)[0], lambda _: None)


def save(world: MemoryWorld, environment: str = "prod", texts: dict[str, str] = MORE) -> str:
    return saved_text(SHOP, world.plan(graph_of(texts), environment))


def refused_without_a_write(world: MemoryWorld, text: str, match: str) -> None:
    fuse = Fuse()
    with pytest.raises(Conflict, match=match):
        apply(world.services(fuse), text)
    assert fuse.names
    assert not set(fuse.names) & WRITES


@pytest.mark.full
def test_the_writes_that_are_looked_for_are_what_applying_calls(world: MemoryWorld) -> None:
    fuse = Fuse()
    apply(world.services(fuse), save(world))
    assert len(WRITES & set(fuse.names)) >= 5


@pytest.mark.full
def test_a_saved_plan_does_what_the_plan_does(world: MemoryWorld) -> None:
    other = MemoryWorld.landed((1, 1), (2, 10), (25, 100), until=48)
    other.build(GRAPH)
    other.build(EDITED)
    done = apply(world.services(), save(world))
    assert {str(each.key.model) for each in done} == {"mart.daily", "mart.totals", "mart.people"}
    for view in ("mart.daily", "mart.totals", "mart.people"):
        assert world.rows(view) == other.rows(view)
    assert world.plan(EDITED).is_empty


def test_nothing_of_the_project_but_its_configuration_is_read(world: MemoryWorld) -> None:
    saved = world.plan(EDITED)
    found = read(saved_text(SHOP, saved))
    assert found.snapshots == saved.snapshots
    assert found.changes == saved.changes
    assert {node.name: node.fingerprint for node in found.graph} == {
        node.name: node.fingerprint for node in EDITED
    }


def test_the_plans_options_and_decisions_are_applied_with_it(world: MemoryWorld) -> None:
    name = ModelName("mart", "daily")
    options = PlanOptions(decisions={name: Category.NON_BREAKING})
    text = saved_text(SHOP, plan_environment(world.services(), EDITED, "prod", options))
    done = apply(world.services(), text)
    assert {str(each.key.model) for each in done} == {"mart.daily", "mart.people"}
    shown = there(world.state.environment("prod"))
    decided = shown.snapshots[name]
    assert (decided.category, decided.decided_by) == (Category.NON_BREAKING, DecidedBy.PERSON)


# What moved since
def test_an_environment_that_moved_is_refused_before_anything_is_written(
    world: MemoryWorld,
) -> None:
    text = save(world)
    world.build(graph_of({**PROJECT, "totals": TOTALS.replace("days", "n")}))
    refused_without_a_write(world, text, "prod was changed since .* at revision 2, .* made at 1")


def test_a_plan_for_a_new_environment_is_refused_where_it_would_get_other_versions(
    world: MemoryWorld,
) -> None:
    wider = {**PROJECT, "daily": DAILY.replace("AS amount", "AS amount, COUNT(*) AS n")}
    text = save(world, "dev", wider)
    shown = there(world.state.environment("prod"))
    assert read(text).snapshots[TOTAL].version == shown.snapshots[TOTAL].version
    world.state = memory_state(world.clock)  # what dev would share is not known any more
    refused_without_a_write(world, text, "another version than the reviewed one")


def test_another_version_that_was_stored_meanwhile_is_refused(world: MemoryWorld) -> None:
    name = ModelName("mart", "daily")
    text = save(world)
    options = PlanOptions(decisions={name: Category.FORWARD_ONLY})
    other = plan_environment(world.services(), EDITED, "dev", options)
    world.services().state.store_snapshots(tuple(other.snapshots.values()), environment="dev")
    refused_without_a_write(world, text, "mart.daily.*another version than the reviewed")


def test_views_that_would_move_are_refused_where_the_review_saw_none(world: MemoryWorld) -> None:
    world.build(GRAPH, "dev")
    world.land((49, 7), until=72)
    saved = world.plan(GRAPH)
    assert not saved.promotes
    dev = replace(saved, environment="dev", base_revision=1)
    moved = replace(world.services(), naming=ViewNaming(target=SuffixTarget.TABLE))
    with pytest.raises(Conflict, match="views of dev would change"):
        left_of(moved, read(saved_text(SHOP, dev)))


# Files
def test_a_plan_of_another_project_is_refused(world: MemoryWorld) -> None:
    with pytest.raises(PlanFileInvalid, match=r"project shop, but this is farm\..*--project"):
        read(save(world), replace(SHOP, name="farm"))


SECRET = "hunter2-größer"
USES = """
MODEL (name mart.masked, kind FULL);
SELECT @VAR('salt') AS salt, @VAR('least') AS least
"""


def masked(variables: dict[str, object]) -> Plan:
    source = ModelSource(
        path=Path("models/masked.sql"), text=USES, defaults=texts_of(Defaults(), variables)
    )
    graph = build_graph([read_model(source)])
    return plan_environment(MemoryWorld().services(), graph, "prod")


VALUES: dict[str, object] = {"salt": SECRET, "least": 7}
WITH_SECRET = replace(SHOP, variables=VALUES, outside_variables=frozenset({"salt"}))


def test_values_from_the_environment_of_the_process_are_not_written() -> None:
    saved = masked(VALUES)
    text = saved_text(WITH_SECRET, saved)
    assert SECRET not in json.loads(text)["plan"]["snapshots"]["mart.masked"]["source"]["text"]
    assert "hunter2" not in text
    assert '"least": 7' in json.dumps(json.loads(text)).replace("\\", "")
    found = read(text, WITH_SECRET)
    assert found.snapshots == saved.snapshots


def without(variables: dict[str, object]) -> Configuration:
    return replace(WITH_SECRET, variables=variables)


LAST, FIRST = "spark.sql.a.place", "spark.sql.b.place"
"""Two settings of Spark whose names and values look like no secret."""


def set_to(settings: dict[str, str], outside: frozenset[str] = frozenset({LAST})) -> Configuration:
    """A project with these settings of Spark, the first one's value from outside."""
    defaults = replace(SHOP.defaults, session=json.dumps(settings))
    return replace(SHOP, defaults=defaults, outside_session=outside)


HERE = {FIRST: "east", LAST: "attic"}
PLACED = set_to(HERE)


def placed(configuration: Configuration) -> Plan:
    text = "MODEL (name mart.one, kind FULL);\nSELECT 1 AS n"
    defaults = texts_of(configuration.defaults, {})
    source = ModelSource(path=Path("models/one.sql"), text=text, defaults=defaults)
    graph = build_graph([read_model(source)])
    return plan_environment(MemoryWorld().services(), graph, "prod")


def test_settings_of_spark_from_the_environment_of_the_process_are_not_written() -> None:
    saved = placed(PLACED)
    text = saved_text(PLACED, saved)
    assert "attic" not in text
    assert all(each in text for each in ("east", FIRST, LAST))
    found = read(text, PLACED)
    assert (found.snapshots, found.graph) == (saved.snapshots, saved.graph)
    assert saved_text(PLACED, found) == text


@pytest.mark.parametrize(
    "settings,reported",
    [
        ({FIRST: "east"}, rf"one.sql was planned with {LAST}, which is no longer among"),
        (
            {**HERE, LAST: "cellar"},
            "mart.one.*the outside value of a variable or a Spark setting in vde.yaml",
        ),
    ],
)
def test_a_setting_of_spark_that_is_gone_or_another_one_is_refused(
    settings: dict[str, str], reported: str
) -> None:
    with pytest.raises(Refused, match=reported):
        read(saved_text(PLACED, placed(PLACED)), set_to(settings))


def test_where_a_setting_of_spark_comes_from_makes_no_other_version() -> None:
    """It is written in vde.yaml by now, and has the value that the plan was saved with."""
    found = read(saved_text(PLACED, placed(PLACED)), set_to(HERE, frozenset()))
    assert found.snapshots == placed(set_to(HERE, frozenset())).snapshots


@pytest.mark.parametrize(
    "configuration,reported",
    [
        (
            without({"least": 7}),
            "masked.sql was planned with salt, which is no longer among the variables",
        ),
        (without({"salt": "other", "least": 7}), "mart.masked.*outside value"),
    ],
)
def test_a_secret_that_is_gone_or_another_one_is_refused(
    configuration: Configuration, reported: str
) -> None:
    with pytest.raises(Refused, match=reported):
        read(saved_text(WITH_SECRET, masked(VALUES)), configuration)


def test_a_plain_variable_is_applied_as_it_was_reviewed() -> None:
    text = saved_text(WITH_SECRET, masked(VALUES))
    found = read(text, without({"salt": SECRET, "least": 8}))
    assert found.snapshots == masked(VALUES).snapshots
