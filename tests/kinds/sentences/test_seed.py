"""SEED: the rows of a CSV file, sentence by sentence."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from tests.app.memory_world import MemoryWorld, build
from tests.kinds.sentences.projects import graph_of, node_of, read, refusal
from vde_dagster.core.kind import Seed
from vde_dagster.project.loading import load_project

EXAMPLE = """MODEL (
name demo.seed_example,
kind SEED (
path '../../seeds/seed_example.csv'
),
dialect bigquery,
columns (
id INT64,
item_id INT64,
event_date DATE
),
grain (id, event_date)
)"""
PATH = "../../seeds/seed_example.csv"
ROWS = "id,item_id,event_date\n1,2,2020-01-01\n3,4,2020-01-02\n"


def built(world: MemoryWorld, text: str = EXAMPLE, rows: str = ROWS) -> list[str]:
    graph = graph_of(text, attachments={PATH: rows})
    return [str(each.key.model) for each in build(world.services(), graph)]


def test_its_rows_are_those_of_a_csv_file() -> None:
    world = MemoryWorld()
    built(world)
    first, second = date(2020, 1, 1), date(2020, 1, 2)
    assert world.rows("demo.seed_example") == [(1, 2, first), (3, 4, second)]


def test_it_is_loaded_once_unless_the_model_or_the_file_changed() -> None:
    world = MemoryWorld()
    assert built(world) == ["demo.seed_example"]
    world.land(until=24 * 30)
    assert built(world) == []
    assert built(world, rows=ROWS + "5,6,2020-01-03\n") == ["demo.seed_example"]
    assert len(world.rows("demo.seed_example")) == 3
    edited = EXAMPLE.replace("item_id INT64", "item_id STRING")
    assert built(world, text=edited, rows=ROWS + "5,6,2020-01-03\n") == ["demo.seed_example"]
    assert [row[1] for row in world.rows("demo.seed_example")] == ["2", "4", "6"]


def test_a_python_model_cannot_be_one() -> None:
    text = (
        "from vde_dagster import model\n"
        "@model('m.x', columns={'a': 'int'}, kind={'name': 'SEED', 'path': 'a.csv'})\n"
        "def x(context): ..."
    )
    assert refusal(text) == "a Python model cannot be of kind SEED"


def test_its_path_is_relative_to_the_file_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "models" / "demo").mkdir(parents=True)
    (tmp_path / "seeds").mkdir()
    (tmp_path / "vde.yaml").write_text("name: shop\n")
    (tmp_path / "seeds" / "seed_example.csv").write_text(ROWS)
    (tmp_path / "models" / "demo" / "seed_example.sql").write_text(EXAMPLE)
    (found,) = load_project(tmp_path).graph
    assert found.model.kind == Seed(path=PATH)
    assert found.model.source.attachments == {PATH: ROWS}


def test_it_needs_a_path() -> None:
    assert refusal("MODEL (name m.x, kind SEED)") == "the kind SEED needs path"


def test_declared_columns_have_the_types_of_the_dialect() -> None:
    node = node_of(EXAMPLE, attachments={PATH: ROWS})
    assert [(each.name, each.type) for each in node.columns] == [
        ("id", "bigint"),
        ("item_id", "bigint"),
        ("event_date", "date"),
    ]


def test_a_grain_may_have_several_columns() -> None:
    assert read(EXAMPLE, {PATH: ROWS}).grains == (("id", "event_date"),)
