"""What late_data is proposed for a query and its sources' metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.memory_world import DEFAULTS, graph_of
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place, Refused
from vde_dagster.core.graph.late_data_proposal import Proposal, SourceMetadata, proposed
from vde_dagster.core.model.late_data import LateDataMode
from vde_dagster.core.names import ModelName
from vde_dagster.project.model_files import external_source

OTHERS, MODEL = ModelName("raw", "others"), ModelName("a", "m")
COLUMNS = {"id": "bigint", "at": "timestamp", "landed": "timestamp", "day": "date"}
HEAD = "MODEL (name a.m, kind {kind}, cron '@hourly'); "
BOTH = (
    "FROM raw.others AS o JOIN raw.events AS e ON e.id = o.id "
    "WHERE e.at BETWEEN @start_ts AND @end_ts"
)
BY_TIME = "INCREMENTAL_BY_TIME_RANGE (time_column at)"


def proposal(query: str, *partitions: str, kind: str = BY_TIME) -> Proposal:
    others = external_source(
        OTHERS, COLUMNS, place=Place(path=Path("external_models.yaml")), defaults=DEFAULTS
    )
    graph = graph_of({"m": HEAD.format(kind=kind) + query}, others)
    columns = tuple(Column(name=name, type=type_) for name, type_ in COLUMNS.items())
    known = SourceMetadata(name=OTHERS, columns=columns, partition_columns=partitions)
    return proposed(graph, MODEL, [known])


def test_rows_of_one_source_taken_one_by_one_are_stateless() -> None:
    found = proposal("SELECT id, at FROM raw.others WHERE at BETWEEN @start_ts AND @end_ts")
    assert found.mode is LateDataMode.STATELESS
    assert found.text == "late_data (\n  mode stateless,\n  sources (\n    raw.others\n  )\n)"


@pytest.mark.parametrize(
    "query,partitions,column",
    [
        ("SELECT COUNT(*) AS n, MAX(at) AS at FROM raw.others WHERE day = @start_date", (), "day"),
        (f"SELECT o.landed AS at, COUNT(*) AS n {BOTH} GROUP BY o.landed", ("at",), "landed"),
        (f"SELECT e.at, COUNT(*) AS n {BOTH} GROUP BY e.at", ("id", "landed"), "landed"),
    ],
    ids=[
        "the query bounds it",
        "the time column is derived from it",
        "the table is partitioned by it",
    ],
)
def test_a_source_is_tracked_by_the_time_that_says_which_rows_an_interval_reads(
    query: str, partitions: tuple[str, ...], column: str
) -> None:
    found = proposal(query, *partitions)
    assert found.mode is LateDataMode.STATEFUL
    assert {each.name: each.tracked_by for each in found.sources}[OTHERS] == column


def test_a_source_with_several_times_and_no_reason_for_one_is_left_to_the_author() -> None:
    ((name, why),) = proposal(f"SELECT e.at, COUNT(*) AS n {BOTH} GROUP BY e.at").left_out
    assert name == OTHERS
    assert why == "it has the times at, landed, day; write `tracked_by` with one of them"


def test_a_kind_that_cannot_have_it_is_refused() -> None:
    with pytest.raises(Refused, match="INCREMENTAL_BY_TIME_RANGE"):
        proposal("SELECT id FROM raw.others", kind="FULL")


def test_an_append_only_model_of_rows_taken_one_by_one_is_stateless() -> None:
    found = proposal("SELECT id, at FROM raw.others", kind="INCREMENTAL_UNMANAGED")
    assert found.mode is LateDataMode.STATELESS


KEYED = "INCREMENTAL_BY_UNIQUE_KEY (unique_key {key})"
HISTORY = "SCD_TYPE_2_BY_COLUMN (unique_key {key}, columns (id))"


@pytest.mark.parametrize(
    "kind,key,columns,by",
    [
        (KEYED, "thing", "id AS thing, at, id AS change_id", "(at, change_id)"),
        (KEYED, "id", "id, at, id AS shop_id, id AS lsn, id AS amount", "(at, lsn)"),
        (KEYED, "id", "id, landed, at AS changed_at", "changed_at"),
        (KEYED, "thing", "id AS thing, id, day", "id"),
        (KEYED, "COALESCE(thing, id)", "id AS thing, id, id AS row_version", "row_version"),
        (KEYED, "(id, at)", "id, at, landed", "landed"),
        (HISTORY, "id", "id, at, id AS seq", "(at, seq)"),
    ],
)
def test_an_order_of_changes_is_proposed_from_times_and_numbers_but_not_from_the_key(
    kind: str, key: str, columns: str, by: str
) -> None:
    with pytest.raises(Refused) as refused:
        proposal(f"SELECT {columns} FROM raw.others", kind=kind.format(key=key))
    assert refused.value.advice == (
        f"Add `sequence_by {by}` to its kind, once you have confirmed that it orders the changes "
        "of a key: it is proposed by names and types alone."
    )


@pytest.mark.parametrize(
    "kind,columns,what",
    [
        (KEYED, "id, day", "a column"),
        (KEYED, "id, id AS amount", "a column"),
        (HISTORY, "id, id AS change_id", "a time and any other column"),
    ],
)
def test_no_order_is_proposed_where_no_column_looks_like_one(
    kind: str, columns: str, what: str
) -> None:
    with pytest.raises(Refused) as refused:
        proposal(f"SELECT {columns} FROM raw.others", kind=kind.format(key="id"))
    assert refused.value.advice == (
        f"Add `sequence_by` to its kind, with {what} that grows with each change of a key."
    )


@pytest.mark.parametrize(
    "query,why",
    [
        ("SELECT COUNT(*) AS n FROM raw.others", "its query has an aggregate"),
        ("SELECT id, @end_ds AS day FROM raw.others", "@end_ds does more"),
    ],
)
def test_an_append_only_model_has_no_other_sessions(query: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        proposal(query, kind="INCREMENTAL_UNMANAGED")
