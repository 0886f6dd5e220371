"""What a stateful model reads of the sources that it tracks: its own bounds, or the interval."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.app.memory_world import DEFAULTS, graph_of, hour_of
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.render_model import reads_of, render_model, restricted_sources
from vde_dagster.core.ledger.staleness import source_times
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.input_ranges import WHOLE, covers
from vde_dagster.core.time.intervals import Interval
from vde_dagster.project.model_files import external_source

OTHERS: Final = ModelName("raw", "others")
FACT: Final = ModelName("a", "fact")
MODEL: Final = ModelName("a", "m")
HOUR: Final = Interval(hour_of(5), hour_of(6))
FACT_TEXT: Final = """
MODEL (name a.fact, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at FROM raw.others WHERE at BETWEEN @start_ts AND @end_ts
"""


def graph(query: str, sources: str, **more: str) -> Graph:
    text = (
        "MODEL (name a.m, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly', "
        f"late_data (mode stateful, sources ({sources}))); {query}"
    )
    others = external_source(
        OTHERS,
        {"id": "bigint", "at": "timestamp", "landed": "timestamp"},
        place=Place(path=Path("external_models.yaml")),
        defaults=DEFAULTS,
    )
    return graph_of({"m": text, "fact": FACT_TEXT, **more}, others)


def sql(found: Graph) -> str:
    times = TimeRange.of(HOUR, execution_time=hour_of(9))
    return " ".join(render_model(found, MODEL, times, target=lambda _: None).query.text.split())


def test_a_source_whose_rows_go_to_their_own_interval_is_read_as_it_is_written() -> None:
    found = graph("SELECT id AS id, at AS at FROM raw.events", "raw.events (tracked_by at)")
    assert restricted_sources(found, found[MODEL]) == {}


def test_a_window_of_the_query_counts_instead_of_the_interval() -> None:
    query = (
        "SELECT e.id AS id, e.at AS at FROM raw.events AS e JOIN raw.others AS o ON o.id = e.id "
        "WHERE o.at BETWEEN @start_dt - INTERVAL '3' HOUR AND @end_dt"
    )
    found = graph(query, "raw.events (tracked_by at), raw.others (tracked_by at)")
    assert restricted_sources(found, found[MODEL]) == {}
    bounds = source_times(found, found[MODEL])
    read = bounds[OTHERS].reads.ranges(Moments.between(HOUR, HOUR))[OTHERS]
    assert read != WHOLE
    assert covers(read, (Interval(hour_of(2), hour_of(6)),))


def test_a_source_without_a_bound_is_read_for_the_interval_by_its_tracked_time() -> None:
    query = "SELECT e.id AS id, e.at AS at FROM raw.events AS e JOIN raw.others AS o ON o.id = e.id"
    found = graph(query, "raw.events (tracked_by at), raw.others (tracked_by landed)")
    assert restricted_sources(found, found[MODEL]) == {OTHERS: "landed"}
    joined = "FROM raw.events AS e JOIN (SELECT * FROM raw.others WHERE `landed` BETWEEN"
    assert joined in sql(found)
    assert "2024-01-01 05:00:00" in sql(found)
    read = source_times(found, found[MODEL])[OTHERS]
    assert read.column == "landed"
    assert read.reads.ranges(Moments.between(HOUR, HOUR))[OTHERS] == (HOUR,)


def test_a_model_is_tracked_by_its_own_time_column() -> None:
    query = "SELECT f.id AS id, CAST(@start_ts AS TIMESTAMP) AS at FROM a.fact AS f"
    found = graph(query, "a.fact")
    assert restricted_sources(found, found[MODEL]) == {FACT: "at"}
    assert reads_of(found, MODEL).ranges(Moments.between(HOUR, HOUR)) == {FACT: (HOUR,)}


def test_a_source_that_is_not_tracked_is_read_as_the_query_says() -> None:
    query = "SELECT e.id AS id, e.at AS at FROM raw.events AS e JOIN a.fact AS f ON f.id = e.id"
    found = graph(query, "raw.events (tracked_by at)")
    assert restricted_sources(found, found[MODEL]) == {}
    assert reads_of(found, MODEL).ranges(Moments.between(HOUR, HOUR))[FACT] == WHOLE


@pytest.mark.parametrize("kind", ["VIEW", "EMBEDDED"])
def test_a_source_below_a_view_is_read_for_the_interval_too(kind: str) -> None:
    view = f"MODEL (name a.v, kind {kind}); SELECT id AS id, at AS at FROM raw.others"
    query = "SELECT v.id AS id, CAST(@start_ts AS TIMESTAMP) AS at FROM a.v AS v"
    found = graph(query, "raw.others (tracked_by at)", v=view)
    assert restricted_sources(found, found[MODEL]) == {OTHERS: "at"}
    assert "(SELECT * FROM raw.others WHERE `at` BETWEEN" in sql(found)


def test_a_model_that_reads_itself_reads_nothing_of_itself_as_an_input() -> None:
    query = (
        "SELECT id AS id, CAST(@start_ts AS TIMESTAMP) AS at FROM a.m "
        "UNION ALL SELECT id AS id, CAST(@start_ts AS TIMESTAMP) AS at FROM a.fact"
    )
    text = (
        "MODEL (name a.m, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly', "
        f"columns (id bigint, at timestamp), late_data (mode stateful, sources (a.fact))); {query}"
    )
    found = graph(query, "a.fact", m=text)
    assert found[MODEL].model.parents == (FACT,)
    assert set(reads_of(found, MODEL).demands) == {FACT}
