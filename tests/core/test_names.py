from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.names import (
    MAX_LENGTH,
    PRODUCTION,
    InvalidName,
    ModelName,
    SuffixTarget,
    TableName,
    ViewNaming,
    environment_name,
    environment_view,
    is_another_models,
    model_of,
    physical_table,
    why_ambiguous,
    why_no_suffix,
)

SCHEMA = ViewNaming(target=SuffixTarget.SCHEMA)
TABLE = ViewNaming(target=SuffixTarget.TABLE)
CATALOG = ViewNaming(target=SuffixTarget.CATALOG, catalog="lake")
NAMINGS = [SCHEMA, TABLE, CATALOG]

HOSTILE = [
    "",
    ".",
    "a.",
    "a..b",
    "lake.a.b.c",
    "a b.c",
    "a-b.c",
    "a.b;drop table x",
    "a.b.c;drop table x",
    "`a.b`",
    "`a`b.c",
    "`a``b`.c",
    '`a".b',
    "\"a'.b",
    "`",
    '"a.b".c',
    "a/../b.c",
    "../lake.a.b",
    "a\x00.b",
    "ä.b",
    "a.б",
    "\u212a.b",  # the sign of the kelvin, whose lower case is a plain k
    "${x}.b",
    "a__dev.b",
    "a_.b",
    "vde.b",
    "vde__a.b",
    "lake.vde.b",
    "lake.a__dev.b",
    "a." + "b" * (MAX_LENGTH + 1),
    "a" * (MAX_LENGTH + 1) + ".b",
    "a" * (MAX_LENGTH + 1) + ".a.b",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_model_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        ModelName.parse(text)


@pytest.mark.parametrize(
    "text,catalog,schema,name",
    [
        ("db.model_a", "", "db", "model_a"),
        ("  DB.Model_A ", "", "db", "model_a"),
        ("orders", "", "default", "orders"),
        ("a._b__c_", "", "a", "_b__c_"),
        ("vde_x.y", "", "vde_x", "y"),
        ("Lake.Raw.Orders", "lake", "raw", "orders"),
        ("my__lake_.raw.orders", "my__lake_", "raw", "orders"),
        ("`raw`.`orders`", "", "raw", "orders"),
        ('"Lake" . raw."ORDERS"', "lake", "raw", "orders"),
        ("`orders`", "", "default", "orders"),
    ],
)
def test_a_model_name_has_one_to_three_parts_in_lower_case(
    text: str, catalog: str, schema: str, name: str
) -> None:
    assert ModelName.parse(text) == ModelName(schema, name, catalog)


def test_a_name_is_printed_as_it_is_read_with_and_without_a_catalog() -> None:
    assert str(ModelName.parse("lake.raw.orders")) == "lake.raw.orders"
    assert str(ModelName.parse("raw.orders")) == "raw.orders"
    assert str(ModelName.parse("orders")) == "default.orders"
    assert str(TableName("raw", "orders", "lake")) == "lake.raw.orders"
    assert str(TableName("raw", "orders")) == "raw.orders"


def test_names_are_sorted_by_schema_and_name_before_the_catalog() -> None:
    names = sorted(ModelName.parse(each) for each in ["b.a", "a.b", "z.a.a", "a.a"])
    assert [str(each) for each in names] == ["a.a", "z.a.a", "a.b", "b.a"]


@pytest.mark.parametrize(
    "text,own,known_as",
    [
        ("lake.raw.orders", "lake", "raw.orders"),
        ("LAKE.raw.orders", "Lake", "raw.orders"),
        ("raw.orders", "lake", "raw.orders"),
        ("other.raw.orders", "lake", "other.raw.orders"),
        ("lake.orders", "lake", "lake.orders"),
    ],
)
def test_the_projects_own_catalog_means_the_same_as_leaving_it_out(
    text: str, own: str, known_as: str
) -> None:
    assert str(ModelName.parse(text).within(own)) == known_as


def test_a_part_is_never_split_at_a_dot_inside() -> None:
    assert ModelName.of(["Raw", "Orders"]) == ModelName("raw", "orders")
    with pytest.raises(InvalidName, match="not a plain identifier"):
        ModelName.of(["raw.orders"])
    with pytest.raises(InvalidName, match="4 parts"):
        ModelName.of(["a", "b", "c", "d"])
    with pytest.raises(InvalidName, match="0 parts"):
        ModelName.of([])


PLAIN = re.compile(r"[a-z_][a-z0-9_]{0,99}")
NASTY = st.text("aB_1.`\"'; -/\\$\x00\n\u0130\u212aä", max_size=12)
ANYTHING = st.one_of(st.text(max_size=80), NASTY, st.lists(NASTY, max_size=4).map(".".join))


@given(ANYTHING)
def test_a_model_name_is_refused_or_plain_in_every_part(text: str) -> None:
    try:
        name = ModelName.parse(text)
    except InvalidName:
        return
    assert all(PLAIN.fullmatch(part) for part in (name.schema, name.name, name.catalog or "a"))
    assert ModelName.parse(str(name)) == name


@pytest.mark.parametrize(
    "text,canonical",
    [
        ("prod", "prod"),
        (" Prod ", "prod"),
        ("Feature/ABC-12", "feature_abc_12"),
        ("dev.o'brien", "dev_o_brien"),
        ("a" * 64, "a" * 64),
        ("-prod", "_prod"),
        ("größe", "gr__e"),
        ("dev`; drop table x--", "dev___drop_table_x__"),
        ("../../etc", "______etc"),
    ],
)
def test_an_environment_name_is_made_canonical(text: str, canonical: str) -> None:
    assert environment_name(text) == canonical


@pytest.mark.parametrize("text", ["", "  ", "/", "___", "--", "д", "\x00", "a" * 65])
def test_an_environment_without_letters_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        environment_name(text)


@given(ANYTHING)
def test_an_environment_name_is_refused_or_plain_and_canonical_once(text: str) -> None:
    try:
        name = environment_name(text)
    except InvalidName:
        return
    assert re.fullmatch(r"[a-z0-9_]{1,64}", name)
    assert environment_name(name) == name


@pytest.mark.parametrize(
    "naming,test",
    [(SCHEMA, "db__test.model_a"), (TABLE, "db.model_a__test"), (CATALOG, "lake__test.db.model_a")],
)
def test_the_suffix_stands_where_the_project_says_and_never_in_production(
    naming: ViewNaming, test: str
) -> None:
    model = ModelName.parse("db.model_a")
    assert str(environment_view(model, PRODUCTION, naming)) == "db.model_a"
    assert str(environment_view(model, "test", naming)) == test


def test_a_physical_table_is_named_after_model_and_version() -> None:
    model = ModelName.parse("db.model_a")
    assert str(physical_table(model, "0" * 32)) == f"vde__db.db__model_a__{'0' * 32}"


def test_what_belongs_to_a_model_lies_in_its_catalog() -> None:
    model = ModelName.parse("other.db.a")
    assert physical_table(model, "0" * 32).catalog == "other"
    assert environment_view(model, PRODUCTION, SCHEMA).catalog == "other"
    assert environment_view(model, "dev", CATALOG).catalog == "other__dev"


def test_the_longest_name_of_a_table_fits_a_file_name() -> None:
    longest = ModelName.parse("a" * MAX_LENGTH + "." + "b" * MAX_LENGTH)
    assert len(physical_table(longest, "0" * 32).name.encode()) <= 255
    for naming in NAMINGS:
        view = environment_view(longest, environment_name("e" * 64), naming)
        assert all(len(part) <= 255 for part in (view.catalog, view.namespace, view.name))


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


@pytest.mark.parametrize("naming", NAMINGS, ids=lambda each: each.target.value)
@given(triples=st.lists(TRIPLES, max_size=30))
def test_no_two_models_environments_or_versions_share_a_view_or_a_table(
    naming: ViewNaming, triples: list[tuple[ModelName, str, str] | None]
) -> None:
    owners: dict[TableName, tuple[str, ModelName, str]] = {}
    for triple in triples:
        if triple is None or why_ambiguous(triple[0], naming) is not None:
            continue
        model, environment, version = triple
        view = (environment_view(model, environment, naming), ("view", model, environment))
        table = (physical_table(model, version), ("table", model, version))
        for name, owner in (view, table):
            assert owners.setdefault(name, owner) == owner


@given(triples=st.lists(TRIPLES, max_size=30))
def test_given_its_model_a_view_names_the_environment_under_all_namings_at_once(
    triples: list[tuple[ModelName, str, str] | None],
) -> None:
    owners: dict[tuple[ModelName, TableName], str] = {}
    for model, environment, _ in filter(None, triples):
        for naming in NAMINGS:
            name = (model, environment_view(model, environment, naming))
            assert owners.setdefault(name, environment) == environment


@pytest.mark.parametrize(
    "one,other",
    [
        (("s.m", "a__b"), ("s.m__a", "b")),
        (("s.m", "b"), ("s.m__b", "prod")),
        (("s.m", "_b"), ("s.m_", "b")),
    ],
)
def test_models_that_could_share_a_view_behind_the_model_are_ambiguous_there_alone(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    pairs = [(ModelName.parse(model), environment) for model, environment in (one, other)]
    assert len({environment_view(*pair, TABLE) for pair in pairs}) == 1
    assert [why_ambiguous(model, TABLE) is None for model, _ in pairs] == [True, False]
    for naming in (SCHEMA, CATALOG):
        assert len({environment_view(*pair, naming) for pair in pairs}) == 2
        assert all(why_ambiguous(model, naming) is None for model, _ in pairs)


@pytest.mark.parametrize("catalog", ["my lake", "a.b", "1a", "", "lake__x", "lake_", "läke", "a`b"])
def test_some_catalogs_cannot_have_an_environments_name_behind_theirs(catalog: str) -> None:
    assert why_no_suffix(catalog) is not None


@pytest.mark.parametrize("catalog", ["lake", "Lake2", "_lake"])
def test_a_plain_catalog_can_have_an_environments_name_behind_its_own(catalog: str) -> None:
    assert why_no_suffix(catalog) is None


@given(TRIPLES)
def test_the_model_of_a_physical_table_is_known_and_that_of_a_view_is_not(
    triple: tuple[ModelName, str, str] | None,
) -> None:
    if triple is None:
        return
    model, environment, version = triple
    assert model_of(physical_table(model, version)) == model
    for naming in NAMINGS:
        assert model_of(environment_view(model, environment, naming)) is None


@pytest.mark.parametrize(
    "namespace,name",
    [
        ("vde__a", "a__b__" + "0" * 31),
        ("vde__a", "a__b__" + "G" * 32),
        ("vde__b", "a__b__" + "0" * 32),
        ("a", "a__b__" + "0" * 32),
        ("vde__a", "b"),
        ("vde__", ""),
    ],
)
def test_no_other_table_is_taken_for_a_models(namespace: str, name: str) -> None:
    assert model_of(TableName(namespace, name)) is None


def test_only_physical_tables_of_two_models_are_distinguished() -> None:
    one, two = (physical_table(ModelName("a", "b"), digit * 32) for digit in "01")
    other = physical_table(ModelName("a", "c"), "0" * 32)
    assert is_another_models(one, other)
    assert not is_another_models(one, two)
    assert not is_another_models(one, TableName("raw", "t"))
    assert not is_another_models(TableName("raw", "t"), TableName("raw", "u"))


def test_a_view_never_lies_among_the_physical_tables() -> None:
    with pytest.raises(InvalidName, match="physical"):
        ModelName.parse("vde.a__b")
    for naming in NAMINGS:
        view = environment_view(ModelName.parse("vd.e"), "e", naming)
        assert not view.namespace.startswith("vde__")
