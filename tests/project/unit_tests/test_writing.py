"""What is written as a unit test is read as the same values."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import examples
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.unit_tests.comparison import Answer, difference
from vde_dagster.core.unit_tests.definition import GivenRows
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model
from vde_dagster.project.unit_tests.loading import declared_of
from vde_dagster.project.unit_tests.loading import tests_in as read_tests
from vde_dagster.project.unit_tests.writing import text_of_test

DEFAULTS: Final = Defaults(start=datetime(2024, 1, 1, tzinfo=UTC))
SOURCE: Final = ModelName("raw", "facts")
MODEL: Final = ModelName("mart", "copy")
TEXTS: Final = st.one_of(
    st.text(st.characters(exclude_characters="$", exclude_categories=["Cs", "Cc"]), max_size=8),
    st.sampled_from(["null", "~", "7", "1e3", "true", "no", "2024-01-01", " a: b", "- x", "#", ""]),
)
INSTANTS: Final = st.datetimes(
    datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)
).map(lambda each: each.replace(fold=0))
STRUCTS: Final = st.tuples(
    st.integers(0, 9), st.lists(st.decimals(0, 999, places=1), max_size=2)
).map(lambda each: {"u": each[0], "v": each[1]})
VALUES: Final = {
    "b": ("boolean", st.booleans()),
    "i": ("int", st.integers(-(2**31), 2**31 - 1)),
    "n": ("bigint", st.integers(-(2**63), 2**63 - 1)),
    "x": ("double", st.floats()),
    "c": ("decimal(12,3)", st.decimals(-999_999_999, 999_999_999, places=3)),
    "s": ("string", TEXTS),
    "y": ("binary", st.binary(max_size=4)),
    "d": ("date", st.dates()),
    "t": ("timestamp", INSTANTS),
    "l": ("timestamp_ntz", INSTANTS.map(lambda each: each.replace(tzinfo=None))),
    "a": ("array<string>", st.lists(st.none() | TEXTS, max_size=3)),
    "m": ("map<string,date>", st.dictionaries(TEXTS, st.dates(), max_size=3)),
    "r": ("struct<u:int,v:array<decimal(5,1)>>", STRUCTS),
}
COLUMNS: Final = tuple(Column(name=name, type=kind) for name, (kind, _) in VALUES.items())
ROWS: Final = st.lists(
    st.tuples(*(st.none() | strategy for _, strategy in VALUES.values())), max_size=4
)


@cache
def graph() -> Graph:
    """A source with a column of each type, and a model that returns its rows."""
    source = external_source(
        SOURCE,
        {each.name: each.type for each in COLUMNS},
        place=Place(path=Path("external_models.yaml")),
        defaults=DEFAULTS,
    )
    names = ", ".join(f"{each.name} AS {each.name}" for each in COLUMNS)
    text = f"MODEL (name mart.copy, kind FULL); SELECT {names} FROM raw.facts"
    written = ModelSource(path=Path("models/copy.sql"), text=text, defaults=DEFAULTS.as_texts())
    return build_graph([read_model(source), read_model(written)])


@settings(max_examples=examples(100))
@given(ROWS)
def test_values_are_read_as_they_were_written(rows: list[tuple[object, ...]]) -> None:
    written = GivenRows(columns=COLUMNS, rows=tuple(rows))
    answer = Answer(columns=COLUMNS, rows=tuple(rows))
    text = text_of_test("it", MODEL, inputs={SOURCE: written}, answer=answer)
    configuration = Configuration(folder=Path("/nowhere"), name="shop")
    (found,) = read_tests(configuration, graph(), text, Path("tests/it.yaml"), declared_of)
    read = found.test.inputs[SOURCE]
    assert isinstance(read, GivenRows)
    assert read.columns == written.columns
    assert list(map(repr, read.rows)) == list(map(repr, rows))
    assert found.test.query is not None
    assert difference(found.test.query, answer, ordered=True) is None


def test_times_are_written_as_people_write_them() -> None:
    day = Interval(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 3, tzinfo=UTC))
    hour = Interval(datetime(2024, 1, 1, 5, tzinfo=UTC), datetime(2024, 1, 1, 6, tzinfo=UTC))
    for interval, lines in (
        (day, ["start: 2024-01-01", "end: 2024-01-02"]),
        (hour, ["start: 2024-01-01 05:00:00", "end: 2024-01-01 06:00:00"]),
    ):
        text = text_of_test(
            "it", MODEL, inputs={}, answer=None, interval=interval, execution_time=day.end
        )
        times = [line.strip() for line in text.partition("vars:\n")[2].splitlines()]
        assert times == [*lines, "execution_time: 2024-01-03"]
