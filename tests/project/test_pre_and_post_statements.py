"""Statements, keys and merge options: names, translations, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.written_project import problems_of
from vde_dagster.core.errors import Place, ProjectInvalid
from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.model.kinds import IncrementalByUniqueKey
from vde_dagster.core.model.model import Model, ModelSource, Query
from vde_dagster.core.names import ModelName
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model

DEFAULTS = Defaults().as_texts()


def read(text: str, path: str = "models/m.sql") -> Model:
    return read_model(ModelSource(path=Path(path), text=text, defaults=DEFAULTS))


def refused(text: str) -> list[tuple[int | None, str]]:
    return [(each.place.line, each.message) for each in problems_of(lambda: read(text))]


TRANSLATED = [
    # (dialect, as it is written, what sqlglot makes of it)
    ("postgres", "x::TEXT", "CAST(x AS STRING)"),
    ("snowflake", "IFF(x > 1, y, 0)", "IF(x > 1, y, 0)"),
    ("spark", "x / y", "x / y"),
]


@pytest.mark.parametrize("dialect, written, meant", TRANSLATED)
def test_a_statement_is_translated(dialect: str, written: str, meant: str) -> None:
    model = read(
        f"MODEL (name m.x, kind FULL, dialect {dialect});\n"
        f"INSERT INTO a.log SELECT {written} AS n FROM a.t;\nSELECT 1 AS id"
    )
    assert isinstance(model.body, Query)
    found = model.body.before[0].sql("spark").replace("`", "")
    assert found == f"INSERT INTO a.log SELECT {meant} AS n FROM a.t"


@pytest.mark.parametrize("dialect, written, meant", TRANSLATED)
def test_keys_and_merge_options_are_translated(dialect: str, written: str, meant: str) -> None:
    sided = written.replace("x", "source.x").replace("y", "source.y")
    kind = read(
        f"MODEL (name m.x, dialect {dialect}, start '2024-01-01', "
        f"kind INCREMENTAL_BY_UNIQUE_KEY (unique_key {written}, "
        f"when_matched (WHEN MATCHED THEN UPDATE SET target.x = {sided}), "
        f"merge_filter target.x > {sided}));\nSELECT x, y FROM a.t"
    ).kind
    assert isinstance(kind, IncrementalByUniqueKey)
    reported = meant.replace("x", "source.x").replace("y", "source.y")
    assert kind.unique_key == (meant,)
    assert reported in kind.when_matched[0].sql("spark").replace("`", "")
    assert kind.merge_filter is not None
    assert kind.merge_filter.sql("spark").replace("`", "") == f"target.x > {reported}"


def test_a_statement_that_sqlglot_does_not_understand_is_refused_at_its_line() -> None:
    found = refused(
        "MODEL (name m.x, kind FULL, dialect postgres);\n"
        "INSERT INTO a.log SELECT 1;\nVACUUM a.log;\nSELECT 1 AS id"
    )
    assert [line for line, _ in found] == [3]
    assert "cannot translate this from postgres to Spark SQL: `VACUUM a.log`" in found[0][1]


def test_a_key_without_a_form_in_spark_is_refused_where_it_stands() -> None:
    (found,) = refused(
        "MODEL (name m.x, dialect snowflake, start '2024-01-01',\n"
        "kind INCREMENTAL_BY_UNIQUE_KEY (\n"
        "unique_key TO_CHAR(x, '999')));\nSELECT x FROM a.t"
    )
    assert found[0] == 3
    assert "not a SQL expression" in found[1]


def test_temporary_views_keep_their_names_in_later_statements() -> None:
    model = read(
        "MODEL (name m.x, kind FULL);\nCREATE TEMPORARY VIEW seen AS SELECT * FROM t;\n"
        "SELECT 1 AS id;\nINSERT INTO a.log SELECT * FROM Seen"
    )
    assert isinstance(model.body, Query)
    before, after = model.body.before[0].sql("spark"), model.body.after[0].sql("spark")
    assert before == "CREATE TEMPORARY VIEW seen AS SELECT * FROM default.t"
    assert after == "INSERT INTO a.log SELECT * FROM Seen"


def test_a_statement_that_writes_a_model_is_refused() -> None:
    other = read("MODEL (name m.other, kind FULL); SELECT 1 AS id", "models/other.sql")
    own = read(
        "MODEL (name m.x, kind FULL);\nINSERT INTO raw.log SELECT 1;\nSELECT 1 AS id;\n"
        "DELETE FROM m.other;\nUPDATE m.x SET id = 2"
    )
    source = external_source(
        ModelName("raw", "log"),
        {"n": "int"},
        place=Place(path=Path("external_models.yaml")),
        defaults=Defaults(),
    )
    assert [
        (each.place.line, each.message)
        for each in problems_of(lambda: build_graph([own, other, read_model(source)]))
    ] == [
        (4, "a pre- or post-statement of m.x changes the model m.other"),
        (5, "a pre- or post-statement of m.x changes its own rows"),
    ]


@pytest.mark.parametrize(
    "properties, message",
    [
        ("'format-version' = 3", "the table property 'format-version' cannot be set by a model"),
        ("location = 's3://x'", "the table property 'location' cannot be set by a model"),
    ],
)
def test_properties_that_are_ours_are_not_set_by_models(properties: str, message: str) -> None:
    text = f"MODEL (name m.x, kind FULL, physical_properties ({properties}));\nSELECT 1 AS id"
    assert [reported for _, reported in refused(text)] == [message]


@pytest.mark.parametrize(
    "lag, message",
    [
        ("'downstream'", "target_lag 'downstream' is not a valid duration"),
    ],
)
def test_a_target_lag_is_a_length_of_time(lag: str, message: str) -> None:
    text = f"MODEL (name m.x, kind MANAGED, physical_properties (target_lag = {lag}));\nSELECT 1 AS id"  # fmt: skip  # noqa: E501
    (found,) = refused(text)
    assert message in found[1]


def test_time_macros_mean_nothing_in_a_managed_table() -> None:
    text = "MODEL (name m.x, kind MANAGED);\nSELECT id FROM raw.t WHERE d < @start_date"
    (found,) = refused(text)
    assert found[1] == "a MANAGED is refreshed at any time, so @start_date has no meaning in it"


def test_a_partition_that_iceberg_has_not_is_reported_when_a_project_is_read() -> None:
    model = read(
        "MODEL (name m.x, kind FULL, partitioned_by hours(day), columns (day date));\n"
        "SELECT CAST('2024-01-01' AS DATE) AS day"
    )
    with pytest.raises(ProjectInvalid, match="hours\\(day\\), because day is of type date"):
        build_graph([model])
