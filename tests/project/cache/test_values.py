"""Values of models in the cache: they are restored whole, also parts that comparisons ignore."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlglot

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.json_forms import NotPlain
from vde_dagster.core.model.kinds import IncrementalByTimeRange, IncrementalByUniqueKey, Kind
from vde_dagster.core.model.late_data import LateDataMode, LateDataPolicy, TrackedSource
from vde_dagster.core.model.model import AuthorsText, Call, Model, ModelSource, OwnAudit
from vde_dagster.core.model.storage import PartitionField, Storage, Transform
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.meaning.parts import Meaning, MeaningPart, Read, RowSet
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.core.time.windows import Window
from vde_dagster.project.cache.values import CODEC, Unkept

NAME = ModelName("mart", "sales")
RAW = ModelName("raw", "orders", "other")
PLACE = Place(path=Path("models/a.sql"), line=3)
QUERY = sqlglot.parse_one("SELECT 1 AS one /* why */", dialect="spark").assert_is(sqlglot.exp.Query)
CALL = Call(name="x", arguments=(("a", "1"),), written=(("a", "01"),), place=PLACE)
SOURCE = ModelSource(path=Path("models/a.sql"), text="SELECT 1")
MODEL = Model(
    name=NAME,
    kind=IncrementalByTimeRange(time_column="ts", written_format="yyyy", batch_size=3),
    body=None,
    source=SOURCE,
    place=PLACE,
    parents=(RAW,),
    windows={RAW: Window(before=timedelta(days=-1, microseconds=5))},
    unit=IntervalUnit.HOUR,
    start=datetime(2024, 1, 1, tzinfo=UTC),
    end=datetime(2025, 1, 1, tzinfo=UTC),
    columns=(Column(name="n", type="bigint"),),
    column_descriptions={"n": "why"},
    grains=(("a", "b"), ()),
    storage=Storage(
        partitioned_by=(PartitionField(column="n", transform=Transform.BUCKET, argument=4),)
    ),
    audits=(CALL,),
    own_audits=(
        OwnAudit(call=CALL, query=QUERY, text=AuthorsText(catalog="lake", query="SELECT 1")),
    ),
    freshness=timedelta(hours=2),
    late_data=LateDataPolicy(
        mode=LateDataMode.STATEFUL, tracked=(TrackedSource(name=RAW, place=PLACE),)
    ),
    warnings=(Problem(place=PLACE, message="m"),),
)


def again(kind: object, value: object, **given: object) -> object:
    return CODEC.read(kind, json.loads(json.dumps(CODEC.write(kind, value))), **given)


def test_a_model_comes_back_with_what_does_not_count_when_compared() -> None:
    found = again(Model, MODEL, source=SOURCE, body=None)
    assert found == MODEL
    assert repr(found) == repr(MODEL)
    assert isinstance(found, Model)
    assert found.audits[0].written == CALL.written
    assert found.audits[0].place == PLACE
    assert found.warnings == MODEL.warnings


def test_trees_among_the_options_of_a_kind_come_back() -> None:
    kind = IncrementalByUniqueKey(
        unique_key=("a",), merge_filter=sqlglot.parse_one("source.a > 1 -- why")
    )
    found = again(Kind, kind)
    assert found == kind
    assert isinstance(found, IncrementalByUniqueKey)
    assert found.merge_filter is not None
    assert found.merge_filter.sql() == "source.a > 1 /* why */"


def test_a_meaning_comes_back() -> None:
    part = MeaningPart(b"\x00\xff" * 8, reads=frozenset({Read(NAME, "n"), Read(RAW, "")}))
    meaning = Meaning(
        rows=RowSet(part, frozenset({part, MeaningPart(b"x" * 16, nondeterministic=True)})),
        columns=(("n", part),),
        written=("N",),
    )
    assert again(Meaning, meaning) == meaning


@pytest.mark.parametrize("name", [ModelName("a.b", "c"), ModelName("", "c"), ModelName("a", "b.c")])
def test_a_name_whose_text_is_another_name_is_not_kept(name: ModelName) -> None:
    with pytest.raises(Unkept):
        CODEC.write(ModelName, name)


@pytest.mark.parametrize("named", ["ModelSource", "os.system", "RowSet", None, ["Full"]])
def test_no_text_makes_anything_but_what_is_declared(named: object) -> None:
    with pytest.raises(NotPlain):
        CODEC.read(Kind, {"is": named})
