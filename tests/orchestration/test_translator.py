"""What readers of a catalog see of a model: its author's words, its source text, its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg
import pytest

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.spark


def spec(sample: Sample, *key: str) -> dg.AssetSpec:
    found = {each.key: each for each in sample.definitions().resolve_all_asset_specs()}
    return found[dg.AssetKey([*key])]


def test_the_description_is_the_authors_and_the_text_of_the_model_is_metadata(
    sample: Sample,
) -> None:
    events, daily = spec(sample, "staging", "events"), spec(sample, "mart", "daily")
    assert events.description == "Events by the hour in which they happened"
    assert daily.description is None
    text = (sample.folder / "models" / "mart" / "daily.sql").read_text("utf-8").strip()
    assert daily.metadata["vde/source"] == dg.MetadataValue.md(f"```sql\n{text}\n```")


def test_a_view_a_seed_and_a_history_are_shown_as_such(sample: Sample) -> None:
    sample.write("models/mart/names.csv", "id,name\n1,a\n")
    sample.write(
        "models/mart/names.sql",
        "MODEL (name mart.names, kind SEED (path 'names.csv'), columns (id int, name string));\n",
    )
    history = "SCD_TYPE_2_BY_COLUMN (unique_key id, columns [name])"
    sample.write(
        "models/mart/history.sql",
        f"MODEL (name mart.history, kind {history});\nSELECT id, name FROM mart.names\n",
    )
    assert spec(sample, "mart", "people").kinds == {"pyspark", "iceberg", "sql", "view"}
    assert spec(sample, "mart", "names").kinds == {"pyspark", "iceberg", "csv", "seed"}
    assert spec(sample, "mart", "history").kinds == {"pyspark", "iceberg", "sql", "scd2"}
    assert spec(sample, "mart", "daily").kinds == {"pyspark", "iceberg", "sql"}
