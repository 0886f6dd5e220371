"""What an engine reads to see a view as it was at a revision."""

from __future__ import annotations

import pytest

from tests.app.evaluate.test_evolution import FIRST, KIND, NAME, loaded, project
from tests.app.memory_world import MemoryWorld, there
from vde_dagster.app.binding import stored_graph
from vde_dagster.app.inspect.local_answers import read_as
from vde_dagster.app.publish.shown_views import views_of
from vde_dagster.app.view_names import shown_naming
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict
from vde_dagster.core.names import TableName
from vde_dagster.ports.catalog import ViewDefinition

TABLE = TableName("vde__m", "m__kept__" + "1" * 32)
LATER = TableName("vde__m", "m__kept__" + "2" * 32)
VIEW = TableName("m", "kept")


def columns(text: str) -> tuple[Column, ...]:
    """Names and types, ``id int, n bigint``."""
    parts = (each.split() for each in text.split(", "))
    return tuple(Column(name=name, type=kind) for name, kind in parts)


def view(text: str, target: TableName = TABLE, comment: str = "") -> ViewDefinition:
    return ViewDefinition(name=VIEW, target=target, columns=columns(text), comment=comment)


def world_of(table: str, *shown: ViewDefinition) -> MemoryWorld:
    world = MemoryWorld()
    for name in (TABLE, LATER):
        world.catalog.create_table(name, columns(table))
    world.catalog.swap_views(shown, [])
    return world


@pytest.mark.parametrize(
    "table, revision",
    [
        pytest.param("id int, n int", "id int, n int", id="as it is"),
        pytest.param("id int, n bigint", "id int, n int", id="the table is wider than recorded"),
        pytest.param("id int, n int", "ID int, N int", id="in other letters"),
        pytest.param("id int, n int", "id tinyint, n integer", id="types in other words"),
    ],
)
def test_a_table_with_the_names_of_a_view_is_read_whatever_is_shown_by_now(
    table: str, revision: str
) -> None:
    world = world_of(table, view(table, LATER))
    assert read_as(world.services(), view(revision)) == TABLE


@pytest.mark.parametrize(
    "table, revision, shown",
    [
        pytest.param("id int, n int, gone int", "id int, n int", "id int, n int", id="fewer"),
        pytest.param("n int, id int", "id int, n int", "id int, n int", id="in another order"),
        pytest.param("id int, n int", "id int, n bigint", "id int, n bigint", id="wider"),
        pytest.param("id int, n int, x int", "id int, n int", "ID int, n bigint", id="widened"),
    ],
)
def test_a_view_that_shows_a_table_otherwise_is_read_itself(
    table: str, revision: str, shown: str
) -> None:
    """An ``int`` that a view shows as ``bigint`` is added and multiplied as that."""
    world = world_of(table, view(shown, comment="other words"))
    assert read_as(world.services(), view(revision)) == VIEW


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param([view("id int, n int", LATER)], id="another version"),
        pytest.param([view("id int, x int")], id="other columns"),
        pytest.param([], id="none"),
    ],
)
def test_a_view_that_is_another_revisions_by_now_is_not_read(shown: list[ViewDefinition]) -> None:
    world = world_of("id int, n int, x int", *shown)
    with pytest.raises(Conflict, match="Run the same command again"):
        read_as(world.services(), view("id int, n int"))


@pytest.mark.full
def test_a_column_that_was_widened_is_read_before_any_row_is_loaded_again() -> None:
    """The state knows the columns of a version as they were when rows were written last."""
    small = f"{KIND}, columns (id bigint, at timestamp, amount int)"
    world, key = loaded(small)
    world.build(project(FIRST, small))  # nothing is due after this
    world.build(project(FIRST, KIND))
    services = world.services()
    shown = there(services.state.environment("prod"))
    graph, naming = stored_graph(shown.snapshots, services.models), shown_naming(services, shown)
    (found,) = views_of(services, shown, [NAME], naming, graph=graph)
    assert [each.type for each in found.columns] == ["bigint", "timestamp", "int"]
    table = there(services.catalog.table(key.table))
    assert [each.type for each in table.columns] == ["bigint", "timestamp", "bigint"]
    assert read_as(services, found) == key.table
