"""Iceberg's types under Spark's names are read again, whatever fields are called."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from pyiceberg import types

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.lakehouse.iceberg.iceberg_types import iceberg_type, spark_type
from vde_dagster.project.properties.table_properties import column_type
from vde_dagster.project.sources.external_entries import SourceTable, canonical_type
from vde_dagster.project.sources.external_models import refresh

PLAIN = [types.IntegerType(), types.StringType(), types.DecimalType(9, 2), types.TimestamptzType()]
ODD = ["User-Agent", "a b", "select", "not", "1x", "x`y", "a,b", "a:b", "a<b>", "AbC", "int", "Ü"]
LETTERS = st.characters(codec="utf-8", exclude_categories=["C", "Z"])
NAMES = st.sampled_from(ODD) | st.text(LETTERS, min_size=1, max_size=6)
TEXT = types.StringType()


def _structs(inner: st.SearchStrategy[types.IcebergType]) -> st.SearchStrategy[types.IcebergType]:
    fields = st.dictionaries(NAMES, inner, min_size=1, max_size=3)
    return fields.map(
        lambda found: types.StructType(
            *[
                types.NestedField(at, name, kind, required=False)
                for at, (name, kind) in enumerate(found.items(), start=1)
            ]
        )
    )


def _nested(inner: st.SearchStrategy[types.IcebergType]) -> st.SearchStrategy[types.IcebergType]:
    lists = inner.map(lambda each: types.ListType(1, each, element_required=False))
    maps = inner.map(lambda each: types.MapType(1, TEXT, 2, each, value_required=False))
    return _structs(inner) | lists | maps


TYPES = st.recursive(st.sampled_from(PLAIN), _nested, max_leaves=5)


@given(kind=TYPES)
def test_the_name_of_a_type_is_read_again(kind: types.IcebergType) -> None:
    written = spark_type(kind)
    assert iceberg_type(written) == kind
    assert canonical_type(written) is not None
    declared = column_type(written)
    assert declared is not None
    assert iceberg_type(declared) == kind


@given(kind=TYPES)
def test_what_is_declared_from_the_catalog_agrees_with_it(kind: types.IcebergType) -> None:
    table = SourceTable(columns=(Column(name="s", type=spark_type(kind)),))
    tables = {ModelName("raw", "t"): table}
    path = Path("external_models.yaml")
    first = refresh("", tables, catalog="lake", path=path).text
    assert refresh(first, tables, catalog="lake", path=path).text == first
