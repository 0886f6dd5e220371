from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.names import (
    MAX_LENGTH,
    PRODUCTION,
    InvalidName,
    ModelName,
    TableName,
    environment_name,
    environment_view,
    physical_table,
)

HOSTILE = [
    "",
    " ",
    ".",
    "a.",
    ".b",
    "a.b.c",
    "a b.c",
    "1a.b",
    "a-b.c",
    "a.b;drop table x",
    "a.b`",
    'a."b"',
    "a.b'--",
    "a/../b.c",
    "a\x00.b",
    "a\nb.c",
    "ä.b",
    "a.б",
    "${x}.b",
    "a__dev.b",
    "a_.b",
    "_.b",
    "vde.b",
    "VDE.b",
    "vde__a.b",
    "a." + "b" * (MAX_LENGTH + 1),
    "a" * (MAX_LENGTH + 1) + ".b",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_model_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        ModelName.parse(text)


@pytest.mark.parametrize(
    "text,schema,name",
    [
        ("db.model_a", "db", "model_a"),
        ("  DB.Model_A ", "db", "model_a"),
        ("orders", "default", "orders"),
        ("a._b__c_", "a", "_b__c_"),
        ("vde_x.y", "vde_x", "y"),
    ],
)
def test_a_model_name_is_schema_and_name_in_lower_case(text: str, schema: str, name: str) -> None:
    assert ModelName.parse(text) == ModelName(schema, name)


@pytest.mark.parametrize(
    "text,canonical",
    [
        ("prod", "prod"),
        ("PROD", "prod"),
        (" Prod ", "prod"),
        ("Feature/ABC-12", "feature_abc_12"),
        ("dev.o'brien", "dev_o_brien"),
        ("a" * 64, "a" * 64),
    ],
)
def test_an_environment_name_is_made_canonical(text: str, canonical: str) -> None:
    assert environment_name(text) == canonical


@pytest.mark.parametrize("text", ["", "  ", "/", "___", "--", "a" * 65])
def test_an_environment_without_letters_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        environment_name(text)


@given(st.text(max_size=80))
def test_an_environment_name_is_plain_and_canonical_once(text: str) -> None:
    try:
        name = environment_name(text)
    except InvalidName:
        return
    assert name.isascii()
    assert name.replace("_", "a").isalnum()
    assert environment_name(name) == name


def test_views_are_named_as_in_the_seed() -> None:
    model = ModelName.parse("db.model_a")
    assert environment_view(model, PRODUCTION) == TableName("db", "model_a")
    assert environment_view(model, "test") == TableName("db__test", "model_a")
    assert str(physical_table(model, "0" * 32)) == f"vde__db.db__model_a__{'0' * 32}"


def test_the_longest_name_of_a_table_fits_a_file_name() -> None:
    longest = ModelName.parse("a" * MAX_LENGTH + "." + "b" * MAX_LENGTH)
    assert len(physical_table(longest, "0" * 32).name.encode()) <= 255


PARTS = st.text("ab_", min_size=1, max_size=6)
MODELS = st.one_of(
    st.tuples(PARTS | st.just("vde"), PARTS).map(".".join),
    # names built to look like those that the product builds
    st.sampled_from(["a.a__b__" + "0" * 32, "b.a__b__" + "0" * 32, "vde.a__b__" + "0" * 32]),
)
ENVIRONMENTS = st.sampled_from(["prod", "Prod", "a", "b", "_a", "a_", "__a", "a__b", "b__a", "vde"])


def _names(model: str, environment: str, version: str) -> tuple[ModelName, str, str] | None:
    try:
        return ModelName.parse(model), environment_name(environment), version
    except InvalidName:
        return None


TRIPLES = st.builds(_names, MODELS, ENVIRONMENTS, st.sampled_from(["0" * 32, "a" * 32]))


@given(st.lists(TRIPLES, max_size=30))
def test_no_two_models_environments_or_versions_share_a_view_or_a_table(
    triples: list[tuple[ModelName, str, str] | None],
) -> None:
    owners: dict[TableName, tuple[str, ModelName, str]] = {}
    for triple in triples:
        if triple is None:
            continue
        model, environment, version = triple
        view = (environment_view(model, environment), ("view", model, environment))
        table = (physical_table(model, version), ("table", model, version))
        for name, owner in (view, table):
            assert owners.setdefault(name, owner) == owner


def test_a_view_never_lies_among_the_physical_tables() -> None:
    with pytest.raises(InvalidName, match="physical"):
        ModelName.parse("vde.a__b")
    assert not environment_view(ModelName.parse("vd.e"), "e").namespace.startswith("vde__")
