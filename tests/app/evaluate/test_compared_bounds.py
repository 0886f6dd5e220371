"""Bounds whose rows are only known when a model is evaluated: nothing is lost in silence."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, declared_source, graph_of
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName, TableName

BETWEEN = "t.ds BETWEEN @start_ds AND @end_ds"
BY_TIME = "INCREMENTAL_BY_TIME_RANGE (time_column day)"
BY_KEY = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"
ALONE = "INCREMENTAL_BY_TIME_RANGE (time_column day, batch_size 1)"
TABLE = TableName("raw", "texts")
TYPES = {"id": "bigint", "ds": "string", "other": "string"}


def built(
    query: str,
    *texts: str,
    kind: str = BY_TIME,
    declared: dict[str, str] | None = None,
    stored: str = "string",
    **models: str,
) -> list[tuple[object, ...]]:
    """The rows of a daily model over three days of a source whose column holds these texts."""
    world = MemoryWorld()
    columns = [Column(name=name, type=kind_) for name, kind_ in {**TYPES, "ds": stored}.items()]
    world.catalog.create_table(TABLE, columns)
    world.catalog.append(TABLE, [(number, text, text) for number, text in enumerate(texts)])
    world.land(until=72)
    source = declared_source(ModelName("raw", "texts"), TYPES if declared is None else declared)
    text = f"MODEL (name m.x, kind {kind}, cron '@daily', start '2024-01-01');\n{query}"
    world.build(graph_of({"x": text, **models}, source))
    return world.rows("m.x")


def where(condition: str) -> str:
    return f"SELECT t.id, CAST(t.ds AS DATE) AS day\nFROM raw.texts AS t\nWHERE {condition}"


DAYS = ("2024-01-01", "2024-01-02", "2024-01-03")
TIMED = ("2024-01-01", "2024-01-02", "2024-01-03T15:00:00")
OTHERS = [
    ("2024-01-03T15:00:00",),
    ("2024-01-03 00:00:00",),
    ("2024-01-01 15:00:00", "2024-01-02 16:00:00", "2024-01-03 17:00:00"),
    ("20240101", "20240102", "20240103"),
    ("2024/01/02",),
    ("2024-01",),
]


@pytest.mark.full
@pytest.mark.parametrize("kind", [BY_TIME, BY_KEY, ALONE])
@pytest.mark.parametrize("others", OTHERS)
def test_texts_that_sort_behind_the_last_day_are_refused_with_one_of_them(
    kind: str, others: tuple[str, ...]
) -> None:
    with pytest.raises(Refused) as caught:
        built(where(BETWEEN), *DAYS, *others, kind=kind)
    assert "models/x.sql:4: `t.ds` is compared with @end_ds letter by letter" in str(caught.value)
    assert "raw.texts has" in str(caught.value)
    assert "DATE_ADD(@end_date, 1)" in str(caught.value)


@pytest.mark.parametrize(
    "condition",
    [
        "t.ds >= @start_ds AND t.ds < CAST(DATE_ADD(@end_date, 1) AS STRING)",
        "CAST(t.ds AS DATE) BETWEEN @start_date AND @end_date",
        "SUBSTR(t.ds, 1, 10) BETWEEN @start_ds AND @end_ds",
        "LEFT(t.ds, 10) BETWEEN @start_ds AND @end_ds",
    ],
)
def test_the_bound_to_write_instead_takes_every_text(condition: str) -> None:
    assert len(built(where(condition), *TIMED)) == 3


def test_a_day_that_is_equal_takes_no_text_with_a_time() -> None:
    assert len(built(where("t.ds = @start_ds"), *DAYS, kind=ALONE)) == 3
    with pytest.raises(Refused, match=r"raw\.texts has '2024-01-02T15:00:00'"):
        built(where("t.ds = @start_ds"), *DAYS, "2024-01-02T15:00:00", kind=ALONE)


BEHIND = [
    (
        "WITH a AS (SELECT id, ds AS moment FROM raw.texts)\n"
        "SELECT id, CAST(moment AS DATE) AS day FROM a WHERE moment BETWEEN @start_ds AND @end_ds"
    ),
    (
        "SELECT id, CAST(moment AS DATE) AS day FROM (SELECT id, ds AS moment FROM raw.texts "
        "UNION SELECT id, other FROM raw.texts) AS u WHERE moment <= @end_ds"
    ),
    "SELECT id, CAST(ds AS DATE) AS day FROM raw.texts WHERE COALESCE(ds, other) <= @end_ds",
    "SELECT id, CAST(ds AS DATE) AS day FROM raw.texts WHERE CONCAT(ds, '') <= @end_ds",
    "SELECT id, CAST(MAX(ds) AS DATE) AS day FROM raw.texts GROUP BY id HAVING MAX(ds) <= @end_ds",
    "SELECT id, CAST(moment AS DATE) AS day FROM m.v WHERE moment BETWEEN @start_ds AND @end_ds",
]
VIEW = "MODEL (name m.v, kind VIEW);\nSELECT id, TRIM(ds) AS moment FROM raw.texts"


@pytest.mark.parametrize("query", BEHIND)
def test_texts_are_followed_to_the_table_that_has_them(query: str) -> None:
    assert built(query, *DAYS, kind=BY_KEY, v=VIEW)
    with pytest.raises(Refused, match=r"raw\.texts has '2024-01-03T15:00:00'"):
        built(query, *TIMED, kind=BY_KEY, v=VIEW)


def test_a_text_that_a_query_writes_as_a_day_is_known() -> None:
    query = (
        "WITH a AS (SELECT id, DATE_FORMAT(CAST(ds AS TIMESTAMP), 'yyyy-MM-dd') AS moment "
        "FROM raw.texts) SELECT id, CAST(moment AS DATE) AS day FROM a "
        "WHERE moment BETWEEN @start_ds AND @end_ds"
    )
    assert len(built(query, *TIMED)) == 3


@pytest.mark.parametrize("declared", [{}, {**TYPES, "ds": "unknown"}, {**TYPES, "ds": "date"}])
def test_types_that_only_the_catalog_knows_are_checked_when_evaluated(
    declared: dict[str, str],
) -> None:
    kinds: dict[str, object] = {"kind": BY_KEY, "declared": declared, "stored": "timestamp"}
    query = "SELECT id, CAST(ds AS DATE) AS day\nFROM raw.texts\nWHERE ds <= @end_date"
    with pytest.raises(Refused) as caught:
        built(query, "2024-01-02 15:00:00", **kinds)  # type: ignore[arg-type]
    assert "models/x.sql:4: @end_date is the first instant of the last day" in str(caught.value)
    assert "<= @end_dt`" in str(caught.value)


def test_an_undeclared_text_is_looked_at_too() -> None:
    query = "SELECT id, CAST(ds AS DATE) AS day\nFROM raw.texts\nWHERE ds <= @end_ds"
    assert len(built(query, *DAYS, declared={})) == 3
    with pytest.raises(Refused, match=r"raw\.texts has '2024-01-03T15:00:00'"):
        built(query, *TIMED, declared={})
