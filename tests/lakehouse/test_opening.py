"""Adapters that the first use of them opens."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest

from vde_dagster.core.errors import SetupError
from vde_dagster.lakehouse.opening import opened_when_used


class Opened:
    """Something to open that counts how often it was."""

    times = 0

    def __init__(self) -> None:
        type(self).times += 1
        self.name = "lake"

    def called(self, word: str) -> str:
        return f"{self.name}: {word}"


def test_threads_share_what_one_of_them_opens() -> None:
    Opened.times = 0
    ready, late = Barrier(8), opened_when_used(Opened)
    assert Opened.times == 0

    def use() -> None:
        ready.wait(timeout=60)
        assert late.called("a") == "lake: a"

    threads = [Thread(target=use) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (Opened.times, late.name) == (1, "lake")
    with pytest.raises(AttributeError, match="'Opened' object has no attribute 'other'"):
        _ = late.other  # type: ignore[attr-defined]


def test_what_cannot_be_opened_is_reported_by_each_use_until_it_can() -> None:
    answers = iter([SetupError("no catalog"), None])

    def opens() -> Opened:
        if error := next(answers):
            raise error
        return Opened()

    late = opened_when_used(opens)
    with pytest.raises(SetupError, match="no catalog"):
        late.called("a")
    assert late.called("b") == "lake: b"
