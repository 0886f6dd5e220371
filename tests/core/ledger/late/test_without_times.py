"""Decisions of stateless sessions of append-only tables, and the invariant that they keep."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.ledger.late.test_stateless import at, change, loads, mark, policy_of, uri
from tests.depth import examples
from vde_dagster.core.ledger.late.deciding import decide
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad, Stop
from vde_dagster.core.ledger.late.history import SourceHistory, SourceOperation, SourceStatus
from vde_dagster.core.ledger.late.question import StatelessQuestion, WithoutTimes
from vde_dagster.core.ledger.late.stateless import is_rebuilt
from vde_dagster.core.model.late_data import OnSourceRewrite
from vde_dagster.core.time.intervals import Interval, IntervalUnit, common, merge

APPEND, OVERWRITE = SourceOperation.APPEND, SourceOperation.OVERWRITE
LOADED = (Interval(at(0), at(3)),)
ASKED = StatelessQuestion(
    policy=policy_of(OnSourceRewrite.OVERWRITE),
    mark=mark(1),
    history=SourceHistory(
        status=SourceStatus.CHANGED, head=mark(2), changes=(change(APPEND, uri(1)),)
    ),
    loaded=LOADED,
    start=at(0),
    now=at(3),
    unit=IntervalUnit.HOUR,
    without_times=WithoutTimes(by_time=True),
)
REWRITTEN = SourceHistory(
    status=SourceStatus.CHANGED, head=mark(2), changes=(change(OVERWRITE, uri(1)),)
)


def test_new_rows_are_appended_whatever_their_time() -> None:
    found = loads(decide(ASKED))
    assert (found.fill, found.loaded, found.marks) == ((), LOADED, (mark(2),))
    assert not is_rebuilt(found)


def test_new_rows_and_an_interval_that_is_due_are_one_session() -> None:
    found = loads(decide(replace(ASKED, now=at(5))))
    assert (found.fill, found.loaded) == ((Interval(at(3), at(5)),), LOADED)
    assert not is_rebuilt(found)


def test_the_mark_moves_beyond_rows_that_are_read_by_their_time_when_that_is_due() -> None:
    found = decide(replace(ASKED, touched=()))
    assert isinstance(found, NothingToLoad)
    assert found.has_moved


def test_rows_that_are_not_read_by_time_are_taken_whatever_is_known_of_it() -> None:
    found = loads(decide(replace(ASKED, touched=(), without_times=WithoutTimes())))
    assert found.loaded == LOADED


def test_a_compaction_moves_the_mark() -> None:
    history = replace(ASKED.history, changes=(change(SourceOperation.REPLACE, uri(1)),))
    found = decide(replace(ASKED, history=history))
    assert isinstance(found, NothingToLoad)
    assert found.has_moved


REBUILT = {
    "rows of the source were changed": replace(ASKED, history=REWRITTEN),
    "no session has loaded it": replace(ASKED, mark=None),
    "somebody asked for it": replace(ASKED, without_times=WithoutTimes(outdated=True)),
    "the model begins earlier now": replace(
        ASKED, start=at(-2), without_times=WithoutTimes(by_time=False)
    ),
}


@pytest.mark.parametrize("asked", REBUILT.values(), ids=REBUILT.keys())
def test_the_table_is_rebuilt_where_appending_cannot_give_its_rows(
    asked: StatelessQuestion,
) -> None:
    found = loads(decide(asked))
    assert (found.fill, found.loaded) == ((Interval(min(asked.start, at(0)), at(3)),), ())
    assert found.rewrite
    assert is_rebuilt(found)


@pytest.mark.parametrize("asked", REBUILT.values(), ids=REBUILT.keys())
def test_a_model_that_forbids_restatement_is_not_rebuilt(asked: StatelessQuestion) -> None:
    assert asked.without_times is not None
    rules = replace(asked.without_times, may_rebuild=False)
    found = decide(replace(asked, without_times=rules))
    assert isinstance(found, Stop)
    assert "--reload" in found.advice


def test_a_policy_that_stops_is_not_rebuilt_after_a_rewrite() -> None:
    stopping = policy_of(OnSourceRewrite.STOP)
    assert isinstance(decide(replace(ASKED, policy=stopping, history=REWRITTEN)), Stop)
    assert isinstance(decide(replace(ASKED, policy=stopping)), Load)


def test_the_first_session_loads_all_that_is_due() -> None:
    found = loads(decide(replace(ASKED, mark=None, loaded=())))
    assert (found.fill, found.loaded, found.rewrite) == (LOADED, (), "")
    assert is_rebuilt(found)


def test_an_interval_after_one_that_is_held_back_is_begun_only_if_it_is_read_by_time() -> None:
    held = (Interval(at(3), at(4)),)
    asked = replace(ASKED, now=at(6), held_back=held)
    assert loads(decide(replace(asked, without_times=WithoutTimes()))).fill == ()
    assert loads(decide(asked)).fill == (Interval(at(4), at(6)),)  # read by its time


def test_a_rebuilt_table_has_no_interval_that_is_held_back() -> None:
    held = (Interval(at(3), at(4)),)
    found = loads(decide(replace(ASKED, now=at(6), held_back=held, history=REWRITTEN)))
    assert found.fill == (*LOADED, Interval(at(4), at(6)))
    assert is_rebuilt(found)


def test_earlier_intervals_that_are_read_by_time_are_appended() -> None:
    found = loads(decide(replace(ASKED, start=at(-2), now=at(4))))
    assert found.fill == (Interval(at(-2), at(0)), Interval(at(3), at(4)))
    assert found.loaded == LOADED
    assert not is_rebuilt(found)


def test_a_model_that_begins_later_now_goes_on_from_there() -> None:
    found = loads(decide(replace(ASKED, start=at(5), now=at(7))))
    assert found.fill == (Interval(at(5), at(7)),)
    assert not is_rebuilt(found)


def test_a_source_that_was_created_again_is_a_stop() -> None:
    history = replace(ASKED.history, status=SourceStatus.RECREATED)
    assert isinstance(decide(replace(ASKED, history=history)), Stop)


@dataclass
class Log:
    """An append-only table and its source, by hours of rows and the commits that brought them."""

    commits: list[list[int]] = field(default_factory=list)
    rewritten: set[int] = field(default_factory=set)
    mark: int = 0
    held: list[int] = field(default_factory=list)
    loaded: tuple[Interval, ...] = ()

    def session(self, now: int, *, known_times: bool, by_time: bool) -> None:
        new = self.commits[self.mark :]
        changes = tuple(
            change(OVERWRITE if number in self.rewritten else APPEND, uri(0, len(rows)))
            for number, rows in enumerate(new, start=self.mark + 1)
        )
        times = merge(Interval(at(each), at(each + 1)) for rows in new for each in rows)
        decision = decide(
            replace(
                ASKED,
                mark=mark(self.mark) if self.mark else None,
                history=SourceHistory(
                    status=SourceStatus.CHANGED if new else SourceStatus.UNCHANGED,
                    head=mark(len(self.commits)) if self.commits else None,
                    changes=changes,
                ),
                loaded=self.loaded,
                touched=common(self.loaded, times) if known_times else None,
                now=at(now),
                without_times=WithoutTimes(by_time=by_time),
            )
        )
        assert not isinstance(decision, Stop)
        if isinstance(decision, NothingToLoad):
            self.mark = len(self.commits) if decision.has_moved else self.mark
            return
        every = [each for commit in self.commits for each in commit]
        late = [each for commit in new for each in commit]
        if is_rebuilt(decision):
            self.held = [each for each in every if not by_time or _is_in(each, decision.fill)]
        elif by_time:
            self.held += [each for each in late if decision.loaded and _is_in(each, self.loaded)]
            self.held += [each for each in every if _is_in(each, decision.fill)]
        else:
            self.held += late
        self.loaded = merge([*self.loaded, *decision.fill])
        self.mark = len(self.commits)


def _is_in(hour: int, times: tuple[Interval, ...]) -> bool:
    return bool(common(times, [Interval(at(hour), at(hour + 1))]))


@settings(max_examples=examples(300))
@given(
    steps=st.lists(
        st.one_of(
            st.lists(st.integers(0, 9), min_size=1, max_size=3),
            st.just("rewrite"),
            st.integers(0, 9),
        ),
        max_size=12,
    ),
    known_times=st.booleans(),
    by_time=st.booleans(),
)
def test_the_table_has_each_row_of_the_source_up_to_the_mark_once(
    steps: list[list[int] | str | int], known_times: bool, by_time: bool
) -> None:
    log, now = Log(), 0
    for step in steps:
        if isinstance(step, list):
            log.commits.append(step)
        elif isinstance(step, int):
            now = max(now, step)
            log.session(now, known_times=known_times and by_time, by_time=by_time)
        elif log.commits:
            log.commits.append([1])
            log.rewritten.add(len(log.commits))
        covered = [each for commit in log.commits[: log.mark] for each in commit]
        expected = [each for each in covered if not by_time or _is_in(each, log.loaded)]
        assert sorted(log.held) == sorted(expected) if log.loaded else not log.held
        if log.loaded and isinstance(step, int):
            landed = [each for commit in log.commits for each in commit]
            for hour in range(10):
                if at(hour) < log.loaded[-1].end:
                    assert log.held.count(hour) == landed.count(hour)
