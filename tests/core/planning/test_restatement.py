"""Restatements: of one model, and of all downstream (seed 001; docs/inside/architecture.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.conftest import build
from tests.core.time.scheduled_models import BY_TIME, model, span, spans, utc
from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.kinds import (
    External,
    Full,
    IncrementalByPartition,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    Kind,
    ScdType2ByColumn,
    ScdType2ByTime,
    Seed,
    View,
)
from vde_dagster.core.model.model import Model, PythonFunction
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.restatement import (
    RestatementRefused,
    never_again,
    restate_all,
    restated_ranges,
    why_never_again,
)
from vde_dagster.core.time.intervals import (
    END_OF_TIME,
    EPOCH,
    Interval,
    IntervalUnit,
    common,
    subtract,
)
from vde_dagster.core.time.windows import Window

ALWAYS = Interval(EPOCH, END_OF_TIME)
HELD = "2024-01-01 2024-02-01"
BODY = PythonFunction(source="def rows(context):\n    return None\n", function="rows")
SCD = ScdType2ByTime(unique_key=("id",), disable_restatement=False)


@pytest.mark.parametrize(
    "unit,loaded,wanted,expected",
    [
        ("day", HELD, "2024-01-10 2024-01-12", "2024-01-10 2024-01-12"),
        ("day", HELD, "2024-01-10T05:00 2024-01-10T06:00", "2024-01-10 2024-01-11"),
        ("day", HELD, "2024-01-10T23:59 2024-01-11T00:01", "2024-01-10 2024-01-12"),
        ("day", HELD, "2023-12-01 2024-01-02", "2024-01-01 2024-01-02"),
        ("day", HELD, "2024-01-31 2024-03-01", "2024-01-31 2024-02-01"),
        ("day", HELD, "2024-02-01 2024-03-01", ""),
        ("day", "", "2024-01-10 2024-01-12", ""),
        (
            "day",
            "2024-01-01 2024-01-05,2024-01-08 2024-01-10",
            "2024-01-04 2024-01-09",
            "2024-01-04 2024-01-05,2024-01-08 2024-01-09",
        ),
        ("month", "2024-01-01 2024-04-01", "2024-02-29 2024-03-01", "2024-02-01 2024-03-01"),
        ("year", "2020-01-01 2024-01-01", "2021-06-01 2021-06-02", "2021-01-01 2022-01-01"),
        ("hour", HELD, "2024-01-10T05:30 2024-01-10T05:31", "2024-01-10T05:00 2024-01-10T06:00"),
        ("day", HELD, "0001-01-01 9999-12-31", HELD),
    ],
)
def test_a_range_is_widened_to_whole_units_that_are_loaded(
    unit: str, loaded: str, wanted: str, expected: str
) -> None:
    found = restated_ranges(model(unit=unit), spans(wanted), spans(loaded))
    assert found == spans(expected)


def test_what_is_restated_as_a_whole_is_everything_loaded_or_nothing() -> None:
    loaded = spans("2024-01-01 2024-01-05,2024-01-08 2024-01-10")
    assert restated_ranges(model(Full()), spans("2024-01-04 2024-01-09"), loaded) == loaded
    assert restated_ranges(model(Full()), spans("2024-02-01 2024-02-02"), loaded) == ()
    assert restated_ranges(model(View()), spans("2024-02-01 2024-02-02"), [ALWAYS]) == (ALWAYS,)


@pytest.mark.parametrize(
    "kind,forbids",
    [
        (BY_TIME, False),
        (IncrementalByTimeRange(time_column="ts", disable_restatement=True), True),
        (IncrementalByUniqueKey(unique_key=("id",)), False),
        (IncrementalByUniqueKey(unique_key=("id",), disable_restatement=True), True),
        (IncrementalByPartition(), False),
        (IncrementalByPartition(disable_restatement=True), True),
        (IncrementalUnmanaged(disable_restatement=True), True),
        (ScdType2ByTime(unique_key=("id",)), True),  # seed 001: disabled by default
        (ScdType2ByColumn(unique_key=("id",), columns=("*",)), True),
        (SCD, False),
        (Full(), False),
        (View(), False),
    ],
)
def test_which_models_forbid_a_restatement(kind: Kind, forbids: bool) -> None:
    assert model(kind).kind.disable_restatement is forbids


def days(before: int, after: int = 0) -> Window:
    return Window(before=timedelta(days=before), after=timedelta(days=after))


SAME = days(0)


def named(
    name: str,
    kind: Kind = BY_TIME,
    reads: Mapping[str, Window | None] | None = None,
    unit: str = "day",
) -> Model:
    """A Python model that declares what it reads; None for all of a parent."""
    windows = {ModelName("m", each): window for each, window in (reads or {}).items()}
    return replace(
        model(kind, unit=unit),
        name=ModelName("m", name),
        body=None if kind.is_source else BODY,
        columns=(Column(name="ts", type="timestamp"),),
        parents=tuple(windows),
        windows={each: window for each, window in windows.items() if window is not None},
    )


def restated(
    graph: Graph, name: str, wanted: str, loaded: str = HELD
) -> tuple[dict[str, tuple[Interval, ...]], list[str]]:
    holds = {
        node.name: (ALWAYS,) if isinstance(node.model.kind, View | Seed) else spans(loaded)
        for node in graph
    }
    done = restate_all(
        graph,
        [ModelName.parse(name)],
        span(wanted),
        holds,
    )
    ranges = {each.name: found for each, found in done.ranges.items()}
    return ranges, [each.name for each in done.kept]


def test_children_follow_through_their_windows_and_beyond() -> None:
    graph = build_graph(
        [
            named("a"),
            named("b", reads={"a": days(2)}),
            named("c", reads={"b": SAME}, unit="hour"),
            named("d", reads={"c": days(0, 1)}),
            named("other"),
        ]
    )
    found, kept = restated(graph, "m.a", "2024-01-10 2024-01-11")
    assert found == {
        "a": spans("2024-01-10 2024-01-11"),
        "b": spans("2024-01-10 2024-01-13"),  # the 11th and the 12th look back at the 10th
        "c": spans("2024-01-10 2024-01-13"),
        "d": spans("2024-01-09 2024-01-13"),  # the 9th looks ahead at the 10th
    }
    assert list(found) == ["a", "b", "c", "d"]
    assert kept == []


def test_who_reads_a_whole_parent_is_restated_as_far_as_it_is_loaded() -> None:
    graph = build_graph([named("a"), named("b", reads={"a": None}), named("c", reads={"b": SAME})])
    found, _ = restated(graph, "m.a", "2024-01-10 2024-01-11")
    assert found == {"a": spans("2024-01-10 2024-01-11"), "b": spans(HELD), "c": spans(HELD)}


@pytest.mark.parametrize(
    "kind", [Full(), IncrementalByUniqueKey(unique_key=("id",)), IncrementalByPartition(), SCD]
)
def test_kinds_without_partial_restatement_are_rebuilt_whole(kind: Kind) -> None:
    graph = build_graph([named("a"), named("b", kind, {"a": None}), named("c", reads={"b": SAME})])
    found, _ = restated(graph, "m.a", "2024-01-10 2024-01-11")
    assert found == {"a": spans("2024-01-10 2024-01-11"), "b": spans(HELD), "c": spans(HELD)}


def test_a_child_that_disables_restatement_is_kept_with_all_that_reads_only_it() -> None:
    graph = build_graph(
        [
            named("a"),
            named("history", ScdType2ByTime(unique_key=("id",)), {"a": None}),
            named("current", reads={"history": None}),
            named("both", reads={"history": None, "a": SAME}),
        ]
    )
    found, kept = restated(graph, "m.a", "2024-01-10 2024-01-11")
    day = spans("2024-01-10 2024-01-11")
    assert found == {"a": day, "both": day}
    assert kept == ["history"]


def test_asking_for_a_model_that_disables_restatement_names_the_property() -> None:
    graph = build_graph([named("history", ScdType2ByTime(unique_key=("id",)))])
    with pytest.raises(
        RestatementRefused, match=r"m\.history \(.*\) sets disable_restatement.*SCD_TYPE_2_BY_TIME"
    ):
        restated(graph, "m.history", "2024-01-10 2024-01-11")


VIEWS = {
    "m.shown": "SELECT a, ts FROM raw.t WHERE a > 1",
    "m.inline": "MODEL (kind EMBEDDED); SELECT a, ts FROM m.shown",
    "m.reader": "MODEL (kind INCREMENTAL_BY_TIME_RANGE (time_column ts)); SELECT a, ts FROM "
    "m.inline WHERE ts BETWEEN @start_dt - INTERVAL '1' DAY AND @end_dt",
    "m.beside": "MODEL (kind INCREMENTAL_BY_TIME_RANGE (time_column ts)); SELECT a, ts FROM raw.t "
    "WHERE ts BETWEEN @start_dt AND @end_dt",
    "m.below": "MODEL (kind INCREMENTAL_BY_TIME_RANGE (time_column ts)); SELECT COUNT(*) AS a, "
    "@start_dt AS ts FROM m.beside_shown WHERE ts BETWEEN @start_dt - INTERVAL '1' DAY AND @end_dt",
    "m.beside_shown": "SELECT a, ts FROM m.beside",
}


def test_a_source_and_a_view_are_restated_in_their_readers() -> None:
    graph = build(VIEWS)
    whole = spans(HELD)  # a source has no time axis of its own, so all of it is read
    for name in ("m.shown", "m.inline"):
        assert restated(graph, name, "2024-01-10 2024-01-11")[0] == {"reader": whole}
    assert restated(graph, "raw.t", "2024-01-10 2024-01-11")[0] == {
        "reader": whole,
        "beside": whole,
        "below": whole,
    }


def test_a_view_is_looked_through() -> None:
    graph = build(VIEWS)
    day, two = spans("2024-01-10 2024-01-11"), spans("2024-01-10 2024-01-12")
    assert restated(graph, "m.beside", "2024-01-10 2024-01-11")[0] == {"beside": day, "below": two}
    assert restated(graph, "m.beside_shown", "2024-01-10 2024-01-11")[0] == {"below": two}


def test_what_nobody_holds_is_not_restated_and_moves_nobody() -> None:
    graph = build_graph([named("a"), named("b", reads={"a": None})])
    assert restated(graph, "m.a", "2025-01-10 2025-01-11") == ({}, [])
    assert restated(graph, "m.a", "2024-01-10 2024-01-11", loaded="") == ({}, [])


@given(
    st.integers(0, 30),
    st.integers(1, 5),
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from(["hour", "day", "month"]),
)
def test_whoever_reads_a_restated_instant_is_restated_and_nobody_else(
    first: int, length: int, before: int, after: int, unit: str
) -> None:
    window = days(before, after)
    graph = build_graph([named("a"), named("b", reads={"a": window}, unit=unit)])
    start = utc("2024-01-01") + timedelta(days=first)
    wanted = Interval(start, start + timedelta(days=length))
    done = restate_all(
        graph,
        [ModelName("m", "a")],
        wanted,
        {node.name: spans("2023-06-01 2024-06-01") for node in graph},
    )
    changed = done.ranges[ModelName("m", "a")]
    found = done.ranges.get(ModelName("m", "b"), ())
    for cell in IntervalUnit(unit).cells(span("2023-10-01 2024-04-01")):
        read = Interval(cell.start - window.before, cell.end + window.after)
        assert (subtract([cell], found) == ()) is bool(common(changed, [read]))


# Where neither a model nor the project gives a start, it is that of the parents.
def undated(name: str, reads: Iterable[str] = (), kind: Kind = BY_TIME) -> Model:
    upstream = dict.fromkeys(reads)
    return replace(named(name, kind, upstream), start=EPOCH, inherits_start=True)


def starting(name: str, start: str, reads: Iterable[str] = (), kind: Kind = BY_TIME) -> Model:
    return replace(named(name, kind, dict.fromkeys(reads)), start=utc(start))


@pytest.mark.parametrize(
    "models,expected",
    [
        ([undated("x")], "1970-01-01"),
        ([starting("a", "2024-03-01"), undated("x", ["a"])], "2024-03-01"),
        (
            [
                starting("a", "2024-03-01"),
                starting("b", "2023-07-01"),
                undated("x", ["a", "b"]),
            ],
            "2023-07-01",
        ),
        (
            [starting("a", "2024-03-01"), undated("b", ["a"]), undated("x", ["b"])],
            "2024-03-01",
        ),
        (  # a parent without a start says nothing
            [starting("a", "2024-03-01"), undated("b", kind=Seed(path="b.csv")),
             undated("x", ["a", "b"])],
            "2024-03-01",
        ),
        (  # nor does a source
            [starting("a", "2024-03-01"), starting("raw", "2020-01-01", kind=External()),
             undated("x", ["a", "raw"])],
            "2024-03-01",
        ),
        ([starting("raw", "2020-01-01", kind=External()), undated("x", ["raw"])], "1970-01-01"),
        (  # its own start wins
            [starting("a", "2024-03-01"), starting("x", "2024-05-01", ["a"])],
            "2024-05-01",
        ),
        ([starting("a", "2024-03-01"), starting("x", "2022-05-01", ["a"])], "2022-05-01"),
        ([starting("a", "1970-01-01"), undated("x", ["a"])], "1970-01-01"),
        (  # through a view
            [starting("a", "2024-03-01"), undated("v", ["a"], View()), undated("x", ["v"])],
            "2024-03-01",
        ),
    ],
)  # fmt: skip
def test_a_model_without_a_start_begins_with_its_parents(
    models: list[Model], expected: str
) -> None:
    assert build_graph(models)[ModelName("m", "x")].model.start == utc(expected)


# Several models at once, and versions that others write
def restated_of(
    graph: Graph, names: Iterable[str], wanted: str, writes: Iterable[str] | None = None
) -> tuple[dict[str, tuple[Interval, ...]], list[str]]:
    done = restate_all(
        graph,
        [ModelName("m", name) for name in names],
        span(wanted),
        {node.name: spans(HELD) for node in graph},
        writes=None if writes is None else {ModelName("m", name) for name in writes},
    )
    return {each.name: found for each, found in done.ranges.items()}, [
        each.name for each in done.foreign
    ]


CHAIN = [
    named("a"),
    named("b", reads={"a": days(2)}),
    named("c", reads={"b": SAME}),
    named("other"),
]
TENTH = "2024-01-10 2024-01-11"


def test_several_models_are_restated_as_each_of_them_and_what_they_do_to_each_other() -> None:
    graph = build_graph(CHAIN)
    found, _ = restated_of(graph, ["a", "c", "other"], TENTH)
    assert found == {
        "a": spans(TENTH),
        "b": spans("2024-01-10 2024-01-13"),
        "c": spans("2024-01-10 2024-01-13"),
        "other": spans(TENTH),
    }
    found, _ = restated_of(graph, ["b", "c"], TENTH)
    assert found == {"b": spans(TENTH), "c": spans(TENTH)}
    looking_back = build_graph([*CHAIN[:2], named("c", reads={"b": days(0, 1)})])
    found, _ = restated_of(looking_back, ["b", "c"], TENTH)
    assert found == {"b": spans(TENTH), "c": spans("2024-01-09 2024-01-11")}


def test_r9_what_others_write_is_named_and_moves_nobody() -> None:
    graph = build_graph(CHAIN)
    assert restated_of(graph, ["a"], TENTH, writes=["b", "c"]) == ({}, ["a"])
    assert restated_of(graph, ["a"], TENTH, writes=["a", "c"]) == ({"a": spans(TENTH)}, ["b"])
    found, foreign = restated_of(graph, ["a", "c"], TENTH, writes=["a", "c"])
    assert (found, foreign) == ({"a": spans(TENTH), "c": spans(TENTH)}, ["b"])


def test_all_models_that_disable_restatement_are_named_at_once() -> None:
    history = ScdType2ByTime(unique_key=("id",))
    graph = build_graph([named("one", history), named("two", history), named("a")])
    with pytest.raises(RestatementRefused, match=r"m\.one .*, m\.two .* sets disable_restatement"):
        restated_of(graph, ["a", "two", "one"], TENTH)


def test_many_views_over_views_are_looked_through_once() -> None:
    upstream = [named("a"), *(named(f"v0_{side}", View(), {"a": None}) for side in "xy")]
    for layer in range(1, 40):  # 2**40 ways from the last view to the model
        reads: dict[str, Window | None] = dict.fromkeys([f"v{layer - 1}_x", f"v{layer - 1}_y"])
        upstream += [named(f"v{layer}_{side}", View(), reads) for side in "xy"]
    graph = build_graph(upstream)
    found, _ = restated_of(graph, ["v39_x"], TENTH)
    assert found == {}


@pytest.mark.parametrize(
    "lookback,computed,expected",
    [
        (0, HELD, HELD),
        (2, HELD, "2024-01-01 2024-01-30"),
        # each end of what is loaded is a border that the next new range may have
        (
            2,
            "2024-01-01 2024-01-10, 2024-01-12 2024-01-20",
            "2024-01-01 2024-01-08, 2024-01-12 2024-01-18",
        ),
        (9, "2024-01-01 2024-01-05", ""),
        (2, "", ""),
    ],
)
def test_what_is_never_computed_again_is_all_that_is_loaded_but_its_lookback(
    lookback: int, computed: str, expected: str
) -> None:
    kind = IncrementalByTimeRange(time_column="at", lookback=lookback, disable_restatement=True)
    assert never_again(model(kind), spans(computed)) == spans(expected)


def test_what_may_be_restated_may_be_computed_again() -> None:
    assert never_again(model(BY_TIME), spans(HELD)) == ()


def test_a_history_of_changes_follows_from_them_and_any_other_one_from_what_was_seen() -> None:
    seen, changes = (
        ScdType2ByTime(unique_key=("id",), sequence_by=by, disable_restatement=False)
        for by in ((), ("at",))
    )
    assert "the states observed at the time" in why_never_again(model(seen))
    assert not why_never_again(model(changes))
    never = replace(changes, disable_restatement=True)
    assert why_never_again(model(never)).startswith("it sets disable_restatement")
