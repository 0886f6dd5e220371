"""Values some of whose fields are made when they are first read."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from vde_dagster.core.deferred import Deferred


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair(Deferred):
    left: int
    right: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Maker:
    """Makes the right side, and counts how often."""

    made: int = 0

    def __call__(self) -> list[int]:
        self.made += 1
        return [2]


def deferred() -> tuple[Pair, Maker]:
    maker = Maker()
    return Pair.deferred({"right": maker}, left=1), maker


def test_a_field_is_made_when_it_is_read_and_once() -> None:
    pair, maker = deferred()
    assert (pair.left, maker.made) == (1, 0)
    assert pair.right is pair.right
    assert maker.made == 1


def test_a_deferred_value_is_like_any_other() -> None:
    plain = Pair(left=1, right=[2])
    for reported in (
        lambda each: each == plain and plain == each,
        lambda each: repr(each) == repr(plain),
        lambda each: replace(each, left=3) == Pair(left=3, right=[2]),
        lambda each: copy.deepcopy(each) == plain,
        lambda each: pickle.loads(pickle.dumps(each)) == plain,
        lambda each: copy.copy(each) == plain,
    ):
        assert reported(deferred()[0])
    match deferred()[0]:
        case Pair(left=1, right=[two]):
            assert two == 2
        case _:
            pytest.fail("a pattern sees its fields, too")


def test_it_is_frozen_and_has_no_other_attributes() -> None:
    pair, _ = deferred()
    with pytest.raises(FrozenInstanceError):
        pair.right = []  # type: ignore[misc]
    with pytest.raises(AttributeError, match="'Pair' has no attribute 'middle'"):
        pair.middle  # type: ignore[attr-defined]  # noqa: B018 - reading it is the test
    with pytest.raises(AttributeError, match="'Pair' has no attribute 'middle'"):
        Pair(left=1).middle  # type: ignore[attr-defined]  # noqa: B018


def test_what_goes_wrong_in_making_is_raised_and_tried_again() -> None:
    answers = iter([ValueError("not yet"), [2]])

    def make() -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    pair = Pair.deferred({"right": make}, left=1)
    with pytest.raises(ValueError, match="not yet"):
        pair.right  # noqa: B018 - reading it is the test
    assert pair.right == [2]
