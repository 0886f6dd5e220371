"""How deep a run goes. The short form tries each rule; the full form tries many cases of it, too.

Cases that only the full form runs have the marker ``full``. What is here is for tests of both
forms: how many examples a property is tried on, and at how many calls a process dies.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from typing import Final

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

SHORT: Final = "short"
FULL: Final = "full"
# A deadline would fail a test for what else its machine does.
settings.register_profile(SHORT, deadline=None, max_examples=20)
settings.register_profile(FULL, deadline=None)

_LEAST_EXAMPLES: Final = 20
_FULL_EXAMPLES_PER_SHORT_ONE: Final = 10


def choose_form(markers: str) -> None:
    """Choose the short form where pytest leaves the marker ``full`` out, else the full one.

    Args:
        markers: What pytest was given by ``-m``.
    """
    settings.load_profile(SHORT if "not full" in markers else FULL)


def is_full() -> bool:
    """Whether this is a run of the full form."""
    return settings.get_current_profile_name() == FULL


def examples(full: int) -> int:
    """How many examples a property is tried on.

    Args:
        full: In the full form; in the short one it is a part of that.
    """
    if is_full():
        return full
    return min(full, max(full // _FULL_EXAMPLES_PER_SHORT_ONE, _LEAST_EXAMPLES))


def places(names: Sequence[str], chosen: Container[str]) -> list[int]:
    """The numbers of the calls at which a process dies or sleeps; the first call is 1.

    In the full form these are all calls of the methods in question, in the short one the first
    call of each of them.

    Args:
        names: The methods that were called, in this order.
        chosen: The methods in question.
    """
    found = [number for number, name in enumerate(names, start=1) if name in chosen]
    return found if is_full() else [each for each in found if _is_first(names, each)]


def cuts(names: Sequence[str], calls: Collection[int]) -> list[ParameterSet]:
    """The numbers of calls as parameters; the short form has the first of each method.

    Args:
        names: The methods that were called, in this order.
        calls: The numbers of those calls that are in question; the first call is 1.
    """
    return [
        pytest.param(
            each,
            id=f"{each}-{names[each - 1]}",
            marks=[] if _is_first(names, each) else pytest.mark.full,
        )
        for each in calls
    ]


def _is_first(names: Sequence[str], call: int) -> bool:
    return names[call - 1] not in names[: call - 1]
