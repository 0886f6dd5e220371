"""SEED: the rows of a CSV file, sentence by sentence."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tests.app.memory_world import MemoryWorld
from tests.core.written_project import problems_of
from tests.kinds.sentences.projects import graph_of, node_of, read, refusal
from vde_dagster.core.model.kinds import Seed
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
    return [str(each.key.model) for each in world.build(graph)]


def test_its_rows_are_those_of_a_csv_file() -> None:
    world = MemoryWorld()
    built(world)
    first, second = date(2020, 1, 1), date(2020, 1, 2)
    assert world.rows("demo.seed_example") == [(1, 2, first), (3, 4, second)]


@pytest.mark.full
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


@pytest.mark.parametrize(
    "dialect,declared,expected",
    [
        ("bigquery", "INT64", "bigint"),
        ("bigquery", "STRING", "string"),
        ("bigquery", "FLOAT64", "double"),
        ("bigquery", "BOOL", "boolean"),
        ("bigquery", "DATE", "date"),
        ("bigquery", "TIMESTAMP", "timestamp"),  # an instant there, too
        ("postgres", "TEXT", "string"),
        ("postgres", "DOUBLE PRECISION", "double"),
        ("postgres", "TIMESTAMPTZ", "timestamp"),
        ("spark", "STRING", "string"),
        ("spark", "TIMESTAMP", "timestamp"),
    ],
)
def test_a_declared_type_is_the_one_that_its_dialect_means(
    dialect: str, declared: str, expected: str
) -> None:
    text = UNDECLARED[:-1] + f", dialect {dialect}, columns (x {declared}))"
    (column,) = node_of(text, attachments={PATH: "x\n"}).columns
    assert (column.name, column.type) == ("x", expected)


def reported(rows: str, text: str = EXAMPLE) -> list[tuple[str, int, str]]:
    """File, line and message of each thing that is wrong with a seed's file; all have advice."""
    found = problems_of(lambda: read(text, {PATH: rows}))
    assert all(each.advice for each in found)
    start = "the seed demo.seed_example: "
    return [
        (str(each.place.path), each.place.line, each.message.removeprefix(start)) for each in found
    ]


FILE = "seeds/seed_example.csv"
UNDECLARED = "MODEL (name demo.seed_example, kind SEED (path '../../seeds/seed_example.csv'))"


@pytest.mark.parametrize(
    "rows,expected",
    [
        (
            "id,item_id,event_date\nx,2,2024-13-01\n3,4,2020-01-02\n5,,soon\n",
            [
                (2, "column id: 'x' is not of type bigint"),
                (2, "column event_date: '2024-13-01' is not of type date"),
                (4, "column event_date: 'soon' is not of type date"),
            ],
        ),
        (
            "id,item_id,event_date\n1,2\n1,2,2020-01-01,4\n",
            [
                (2, "there are 2 cells, and the header has 3"),
                (3, "there are 4 cells, and the header has 3"),
            ],
        ),
        (
            'event_date,id,item_id\n2020-01-01,1,"2\n"\n2020-01-01,one,2\n',
            [(4, "column id: 'one' is not of type bigint")],
        ),
        (
            "id,event_date\n1,2020-01-32\n",
            [
                (1, "the header has id, event_date; declared are id, item_id, event_date"),
                (2, "column event_date: '2020-01-32' is not of type date"),
            ],
        ),
        (
            "id,item_id,event_date,ID\n1,2,2020-01-01,4\n",
            [(1, "the header has several columns named 'id'")],
        ),
        ("", [(1, "the file does not name its columns")]),
        ("\nid,item_id,event_date\n1,2,3\n", [(1, "the file does not name its columns")]),
        (
            'id,item_id,event_date\n1,2,"2020',
            [(2, "this is not a valid CSV: unexpected end of data")],
        ),
        (
            "id,item_id,event_date\n1,2,0001-01-01\n" + "9" * 70 + ",2,2020-01-01\n",
            [(3, f"column id: '{'9' * 60}...' is not of type bigint")],
        ),
    ],
)
def test_what_does_not_fit_in_its_file_is_reported_with_its_line(
    rows: str, expected: list[tuple[int, str]]
) -> None:
    assert reported(rows) == [(FILE, line, message) for line, message in expected]


@pytest.mark.parametrize(
    "rows,message",
    [
        ("id,d,ID\n1,2,3\n", "the header has several columns named 'id'"),
        ("id,,d\n1,2,3\n", "a column of the header has no name"),
        ("", "the file does not name its columns"),
    ],
)
def test_a_header_names_each_column_once(rows: str, message: str) -> None:
    assert reported(rows, UNDECLARED) == [(FILE, 1, message)]


def test_of_many_misfits_the_first_are_reported_and_the_others_counted() -> None:
    rows = "id,item_id,event_date\n" + "x,2,2020-01-01\n" * 50
    found = reported(rows)
    assert [line for _, line, _ in found] == list(range(2, 23))
    assert {message for _, _, message in found[:20]} == {"column id: 'x' is not of type bigint"}
    assert found[20][2] == "30 more cells do not fit from here on"


def test_a_column_of_a_type_that_no_text_has_is_reported_where_it_is_declared() -> None:
    text = EXAMPLE.replace("item_id INT64", "item_id ARRAY<INT64>")
    (found,) = reported(ROWS, text)
    line = EXAMPLE[: EXAMPLE.index("columns (")].count("\n") + 1
    assert found[:2] == ("models/m/x.sql", line)
    assert "a CSV cell cannot be read as array<bigint>" in found[2]


def test_names_in_quotes_and_a_byte_order_mark_are_read_like_others() -> None:
    node = node_of(UNDECLARED, attachments={PATH: '\ufeff"id","a, b"\r\n1,2\r\n'})
    assert [each.name for each in node.columns] == ["id", "a, b"]


def test_a_grain_may_have_several_columns() -> None:
    assert read(EXAMPLE, {PATH: ROWS}).grains == (("id", "event_date"),)
