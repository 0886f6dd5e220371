"""Values of declared types come back from plain JSON as they were, or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.core.planning.test_plan_file import GRAPH, PLAN
from tests.core.typed_values import values_of
from vde_dagster.core.codec import Codec
from vde_dagster.core.json_forms import NotPlain, form
from vde_dagster.core.ledger.schema_changes import SchemaChange
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.reason_values import Reason, ReasonKind
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_file import CODEC
from vde_dagster.core.time.intervals import Interval


class Colour(Enum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    colour: Colour = Colour.RED
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    ends: tuple[Dot, Dot]
    name: str = ""
    labels: Mapping[ModelName, str | int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    path: Path
    drawn: datetime | None
    shapes: tuple[Dot | Line, ...]
    colours: frozenset[Colour] = frozenset()


PICTURE = Picture(
    path=Path("a/b.svg"),
    drawn=datetime(2024, 1, 2, tzinfo=UTC),
    shapes=(Dot(size=1), Line(ends=(Dot(size=2), Dot(size=3)), labels={ModelName("a", "b"): 4})),
    colours=frozenset({Colour.RED, Colour.GREEN}),
)
WRITTEN: Any = {
    "path": "a/b.svg",
    "drawn": "2024-01-02T00:00:00+00:00",
    "shapes": [
        {"is": "Dot", "colour": "red", "size": 1},
        {
            "is": "Line",
            "ends": [{"colour": "red", "size": 2}, {"colour": "red", "size": 3}],
            "name": "",
            "labels": {"a.b": 4},
        },
    ],
    "colours": ["green", "red"],
}


def test_a_value_is_written_field_by_field() -> None:
    written = Codec().write(Picture, PICTURE)
    assert written == WRITTEN
    assert isinstance(written, dict)
    assert list(written) == list(WRITTEN)
    assert Codec().read(Picture, WRITTEN) == PICTURE


@pytest.mark.parametrize("is_checked", [True, False])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_every_value_comes_back(is_checked: bool, is_sparse: bool) -> None:
    codec = Codec(is_checked=is_checked, is_sparse=is_sparse)

    @given(values_of(Picture))
    def holds(picture: Picture) -> None:
        assert codec.read(Picture, codec.write(Picture, picture)) == picture

    holds()


def test_a_sparse_store_has_only_what_is_no_default() -> None:
    assert Codec(is_sparse=True).write(Line, Line(ends=(Dot(size=0), Dot(size=1)))) == {
        "ends": [{"size": 0}, {"size": 1}]
    }


def test_a_registered_form_is_used_wherever_the_type_or_a_subtype_is_declared() -> None:
    def of_size(size: int) -> Dot:
        return Dot(size=size)

    codec = Codec(forms={Dot: form(lambda dot: dot.size, of_size)})
    line = Line(ends=(Dot(size=2), Dot(size=3)))
    assert codec.write(Line, line) == {"ends": [2, 3], "name": "", "labels": {}}
    assert codec.read(Line, {"ends": [2, 3]}) == line

    class Number(int):
        pass

    codec = Codec(forms={int: form(str, Number)})
    assert codec.write(Number, Number(3)) == "3"


def test_what_is_left_out_is_given() -> None:
    codec = Codec(left_out={Line: ("ends",)})
    line = Line(ends=(Dot(size=2), Dot(size=3)), name="x")
    assert codec.write(Line, line) == {"name": "x", "labels": {}}
    assert codec.read(Line, {"name": "x"}, ends=line.ends) == line


def test_what_only_programs_write_may_have_fields_of_a_later_release() -> None:
    later = {"colour": "green", "size": 1, "depth": 2}
    with pytest.raises(NotPlain, match=r"^it has depth, which is unknown here$"):
        Codec().read(Dot, later)
    assert Codec(is_checked=False).read(Dot, later) == Dot(colour=Colour.GREEN, size=1)


@pytest.mark.parametrize(
    "kind,plain",
    [
        (bool, 1),
        (int, True),
        (str, None),
        (str | int, 1.5),
        (datetime, "yesterday"),
        (datetime, "2024-01-01T00:00:00+01:00"),
        (ModelName, "a.b.c.d"),
        (Category, "very_breaking"),
        (tuple[int, ...], {}),
        (tuple[int, str], [1]),
        (Interval, {"start": "2024-01-02T00:00:00+00:00", "end": "2024-01-01T00:00:00+00:00"}),
        (Interval, {"start": "2024-01-02T00:00:00+00:00"}),
        (PlanOptions, {"stat": None}),
        (SchemaChange, {"is": "ColumnLost", "column": "a"}),
        (SchemaChange, {"is": ["ColumnAdded"], "column": "a"}),
        (SchemaChange, {"column": "a", "type": "int"}),
        (Mapping[ModelName, int], {"a b": 1}),
    ],
)
def test_plain_json_of_another_shape_is_no_value(kind: object, plain: object) -> None:
    with pytest.raises(NotPlain):
        CODEC.read(kind, plain)


def test_a_problem_is_reported_with_its_place() -> None:
    plain: Any = CODEC.write(Plan, PLAN)
    plain["changes"][0]["missing"][0]["end"] = "never"
    with pytest.raises(NotPlain, match=r"^changes\[0\]\.missing\[0\]\.end: "):
        CODEC.read(Plan, plain, graph=GRAPH)
    plain = Codec().write(Picture, PICTURE)
    plain["shapes"][1]["labels"]["a.b"] = 1.5
    with pytest.raises(NotPlain, match=r"^shapes\[1\]\.labels\.a\.b is not int or str$"):
        Codec().read(Picture, plain)


def test_a_field_that_was_not_there_yet_has_its_default() -> None:
    assert CODEC.read(PlanOptions, {}) == PlanOptions()


@pytest.mark.parametrize("kind", [Plan, object, list[int], tuple, int | Dot, Mapping[str, object]])
def test_what_has_no_plain_form_is_no_silent_loss(kind: object) -> None:
    with pytest.raises(TypeError, match="no plain form"):
        Codec().form_of(kind)


def test_properties_that_are_asked_for_are_written_like_fields() -> None:
    codec = Codec(derived={Reason: ("sentence",)})
    written = codec.write(Sequence[Reason], [Reason(kind=ReasonKind.STORAGE)])
    assert json.dumps(written).endswith('"sentence": "only how its table is stored changed"}]')
