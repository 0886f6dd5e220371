"""Settings of Spark's session: which of them are part of what a model is."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.session_settings import DEFAULTS, HARMLESS, PINNED, changing_results
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.project.configuration import read_configuration
from vde_dagster.project.model_files import external_source, read_model

CHANGING = [
    "spark.sql.ansi.enabled: false",
    "spark.sql.storeAssignmentPolicy: LEGACY",
    "spark.sql.timestampType: TIMESTAMP_NTZ",
    "spark.sql.legacy.timeParserPolicy: LEGACY",
    "spark.sql.settingThatNobodyKnows: 1",
    "spark.sql.optimizer.excludedRules: ''",
    "spark.sql.parquet.binaryAsString: true",
    "spark.sql.execution.arrow.pyspark.enabled: true",  # NaN of pandas: NULL or NaN
    "spark.sql.csv.parser.columnPruning.enabled: false",  # which lines are malformed
    "spark.sql.json.filterPushdown.enabled: false",
    "spark.sql.iceberg.check-nullability: false",
    "spark.sql.parquet.filterPushdownOfNobody: true",  # no group: the name only begins alike
]
KEEPING = [
    "spark.sql.ansi.enabled: true",
    "spark.sql.storeAssignmentPolicy: ansi",
    "spark.sql.shuffle.partitions: 8",
    "spark.sql.parquet.compression.codec: zstd",
    "spark.sql.parquet.filterPushdown: false",
    "spark.sql.parquet.filterPushdown.date: false",
    "spark.sql.windowExec.buffer.spill.threshold: 9",
    "spark.sql.debug.maxToStringFields: 100",
    "spark.sql.codegen.wholeStage: false",
    "spark.sql.execution.arrow.maxRecordsPerBatch: 7",
    "spark.sql.adaptive.enabled: false",
    "spark.sql.catalog.lake.io-impl: org.example.IO",
    "spark.sql.extensions: org.example.Extension",
    "spark.driver.memory: 4g",
    # pinned: they have no effect
    "spark.sql.session.timeZone: Europe/Berlin",
    "spark.sql.caseSensitive: true",
]
TEXTS = {
    "m.x": "MODEL (kind FULL); SELECT a FROM raw.t",
    "m.y": "MODEL (kind VIEW); SELECT a FROM m.x",
}
PYTHON = """
from vde_dagster import model

@model("m.p", columns={"a": "int"}, depends_on=["raw.t"])
def p(context):
    return context.table("raw.t")
"""


def graph_with(setting: str, folder: Path) -> Graph:
    """A project with a line under `spark.conf`."""
    lines = f"spark:\n  conf:\n    {setting}\n" if setting else ""
    (folder / "vde.yaml").write_text(f"name: shop\n{lines}")
    defaults = read_configuration(folder).defaults
    files = {f"models/{name.replace('.', '/')}.sql": text for name, text in TEXTS.items()}
    files["models/m/p.py"] = PYTHON
    place = Place(path=Path("external_models.yaml"))
    source = external_source(ModelName("raw", "t"), {"a": "int"}, place=place, defaults=defaults)
    sources = [
        ModelSource(path=Path(path), text=text, defaults=defaults.as_texts())
        for path, text in files.items()
    ]
    return build_graph(read_model(each) for each in (source, *sources))


def data_of(graph: Graph) -> dict[str, str]:
    return {str(node.name): node.fingerprint.data for node in graph}


@pytest.mark.parametrize("setting", CHANGING)
def test_a_setting_that_may_change_results_is_part_of_all_that_is_computed(
    setting: str, tmp_path: Path
) -> None:
    before, after = graph_with("", tmp_path), graph_with(setting, tmp_path)
    old, new = data_of(before), data_of(after)
    assert {name for name in old if old[name] != new[name]} == {"m.x", "m.y", "m.p"}
    found = compare_graphs(before, after)[ModelName("m", "x")]
    assert found.category is Category.BREAKING
    assert sentences(found.reasons) == ("Spark session settings that may affect results changed",)


@pytest.mark.parametrize("setting", KEEPING)
def test_a_setting_that_changes_no_result_is_no_part_of_a_model(
    setting: str, tmp_path: Path
) -> None:
    assert data_of(graph_with("", tmp_path)) == data_of(graph_with(setting, tmp_path))


def test_what_a_model_was_stored_with_is_what_it_is_read_with_again(tmp_path: Path) -> None:
    graph = graph_with("spark.sql.ansi.enabled: false", tmp_path)
    again = build_graph(read_model(node.model.source) for node in graph)
    assert data_of(again) == data_of(graph)


def test_the_order_of_settings_does_not_count() -> None:
    one = {"spark.sql.ansi.enabled": "false", "spark.sql.timestampType": "TIMESTAMP_NTZ"}
    other = dict(reversed(one.items()))
    assert list(changing_results(one).items()) == list(changing_results(other).items())


def test_no_setting_is_pinned_and_has_a_default_that_may_be_changed() -> None:
    assert not PINNED.keys() & DEFAULTS.keys()
    assert changing_results({**PINNED, **DEFAULTS}) == {}


def test_each_harmless_setting_is_named_once_and_is_no_setting_with_a_meaning() -> None:
    every = [each for group in HARMLESS.values() for each in group]
    assert len(every) == len(set(every))
    groups = tuple(f"spark.sql.{each}" for each in every if each.endswith("."))
    singles = {f"spark.sql.{each}" for each in every if not each.endswith(".")}
    meaning = PINNED.keys() | DEFAULTS.keys()
    assert not meaning & singles
    assert not [each for each in (*meaning, *singles) if each.startswith(groups)]
