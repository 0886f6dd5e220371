"""Code of a user that prints, and that tries to end the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from threading import Event, Thread

import pytest

from vde_dagster.runtime import users_code
from vde_dagster.runtime.users_code import (
    ProcessEnded,
    error_text,
    run_code,
    running_users_code,
    users_module,
)


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The codes with which the process would really have ended."""
    codes: list[int] = []
    monkeypatch.setattr(users_code, "_END", codes.append)
    monkeypatch.setattr(os, "_exit", codes.append)
    return codes


def end(code: int) -> None:
    """What a user's code does; for the type checker it may return."""
    os.__dict__["_exit"](code)


def test_a_user_s_code_cannot_end_the_process_without_a_word(ended: list[int]) -> None:
    with pytest.raises(ProcessEnded) as told, running_users_code():
        end(3)
    assert error_text(told.value) == (
        "ProcessEnded: os._exit(3), which would end the whole process"
    )
    assert ended == []
    end(4)
    assert ended == [4], "afterwards it is what it was"


def test_other_threads_and_forked_processes_end_as_always(
    ended: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_users_code():
        thread = Thread(target=lambda: end(5))
        thread.start()
        thread.join()
        with monkeypatch.context() as forked:
            forked.setattr(os, "getpid", lambda: -1)
            end(6)
    assert ended == [5, 6]


def test_code_in_code_is_guarded_to_its_end(ended: list[int]) -> None:
    with running_users_code():
        with running_users_code():
            pass
        with pytest.raises(ProcessEnded):
            end(7)
    assert ended == []


class Part:
    """A user's code in a thread of its own, which begins and ends when that is said."""

    def __init__(self, act: Callable[[], None] = lambda: None) -> None:
        self._begun, self._act, self._may_end = Event(), act, Event()
        self.error: BaseException | None = None
        self._thread = Thread(target=self._run)
        self._thread.start()
        assert self._begun.wait(60)

    def _run(self) -> None:
        try:
            with running_users_code():
                self._begun.set()
                self._may_end.wait(60)
                self._act()
        except ProcessEnded as error:
            self.error = error

    def end(self) -> None:
        self._may_end.set()
        self._thread.join(60)


@pytest.mark.parametrize("first", [0, 1])
def test_what_one_thread_ends_guards_the_other_to_its_end(
    first: int, ended: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    def act() -> None:
        print("loud", file=sys.stdout)
        end(8)

    out, parts, other = sys.stdout, [Part(), Part()], Part(act)
    parts[first].end()
    parts[1 - first].end()
    other.end()
    assert isinstance(other.error, ProcessEnded)
    assert ended == []
    assert capsys.readouterr() == ("", "loud\n")
    assert sys.stdout is out
    end(9)
    assert ended == [9], "afterwards it is what it was"


def test_what_is_printed_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with running_users_code():
        print("loud", file=sys.stdout)
    assert capsys.readouterr() == ("", "loud\n")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "error,text",
    [
        (ValueError("no"), "ValueError: no"),
        (SystemExit(3), "SystemExit: 3, which would end the whole process"),
        (Unprintable(), "Unprintable"),
        (ValueError("\udc80"), "ValueError: \\udc80"),
    ],
)
def test_an_error_of_a_user_s_code_is_printable(error: BaseException, text: str) -> None:
    assert error_text(error) == text


def test_a_module_is_known_as_long_as_its_code_runs_under_a_name_of_its_own() -> None:
    with users_module("a.b") as first, users_module("a.b") as second:
        run_code("import sys\nknown = sys.modules[__name__].__dict__ is globals()", "a.py", first)
        run_code("def f(x: int): ...", "b.py", second)
        assert first.__name__ != second.__name__
        assert first.__dict__["known"]
        assert second.__dict__["f"].__annotations__ == {"x": int}
    assert not {first.__name__, second.__name__} & set(sys.modules)
    with pytest.raises(ZeroDivisionError), users_module("a") as third:
        run_code("1 / 0", "a.py", third)
    assert third.__name__ not in sys.modules
