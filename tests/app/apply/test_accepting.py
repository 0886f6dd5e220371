"""Publishing what blocking audits refused, in memory: what is shown, recorded, and refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from _pytest.mark import ParameterSet

from tests.app.memory_world import (
    RAW,
    RAW_COLUMNS,
    WRITING,
    Fuse,
    MemoryWorld,
    PowerCut,
    bound,
    graph_of,
    hour_of,
    made_once,
    plan,
    there,
)
from tests.app.read_models import reading_once
from vde_dagster.app.apply.accepting import Accepted, Accepting, publish_refused
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.inspect.interval_report import report_intervals
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.taking import plan_rollback
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import AuditFailed, Conflict, Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.ledger.rows_lost import RowsWouldGo
from vde_dagster.core.ledger.unit_of_work import UnitOfWork, UnitOfWorkState
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.time.intervals import Interval

NAME = ModelName("mart", "kept")
REASON = "one refund too many, looked at with finance"
MOST = "accepted_range (column := amount, max_v := {most})"
LEAST = "number_of_rows (threshold := 9)"
LATE = "late_data (mode {mode}, sources ('raw.events|at')), "
TEXT = (
    "MODEL (name mart.kept, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly', "
    "{more}audits ({audits})); SELECT id AS id, at AS at, amount AS amount{column} "
    "FROM raw.events WHERE at BETWEEN @start_ts AND @end_ts"
)


def project(*audits: str, mode: str = "", column: str = "", most: int = 50) -> Graph:
    more = LATE.format(mode=mode) if mode else ""
    every = ", ".join([MOST.format(most=most), *audits])
    return graph_of({"kept": TEXT.format(more=more, audits=every, column=column)})


GRAPH = project()


def refused(world: MemoryWorld, graph: Graph = GRAPH) -> str:
    """The unit of work that the next plan's audits refuse."""
    with pytest.raises(AuditFailed):
        world.build(graph)
    return newest(world, graph).intent.work_id


def newest(world: MemoryWorld, graph: Graph = GRAPH) -> UnitOfWork:
    key = world.plan(graph).snapshots[NAME].key
    return world.state.audited(key, limit=1)[0]


@made_once
def one_bad_hour() -> MemoryWorld:
    """The first two hours are loaded, and what the third brings is refused."""
    world = MemoryWorld.landed((0.5, 10), (1.5, 20), until=2)
    world.build(GRAPH)
    world.land((2.5, 70), (2.7, 80), until=3)
    refused(world)
    return world


def accept(
    world: MemoryWorld,
    *audits: str,
    work_id: str = "",
    graph: Graph = GRAPH,
    fuse: Fuse | None = None,
    reason: str = REASON,
) -> Accepted:
    wanted = Accepting(
        work_id=work_id or newest(world, graph).intent.work_id,
        audits=audits or ("accepted_range",),
        reason=reason,
    )
    return publish_refused(world.services(fuse), lambda: graph, wanted)


def assert_nothing_is_left_to_do(world: MemoryWorld, graph: Graph = GRAPH) -> None:
    assert world.plan_run().is_empty
    assert world.plan(graph).is_up_to_date
    assert list(world.state.open_work(newest(world, graph).intent.key)) == []


def test_accepted_rows_are_shown_and_nothing_is_computed_for_them() -> None:
    world = one_bad_hour()
    before = newest(world)
    assert world.amounts("mart.kept") == [10, 20]
    done = accept(world).done
    assert world.amounts("mart.kept") == [10, 20, 70, 80]
    assert (done.rows, done.iceberg_snapshot_id) == (
        2,
        before.publication and before.publication.iceberg_snapshot_id,
    )
    assert_nothing_is_left_to_do(world)
    assert world.catalog.branches(done.key.table) == ()


BY_KEY = (
    "MODEL (name mart.kept, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, batch_size 1, "
    "lookback 2), cron '@hourly', audits ({audits})); SELECT CAST(amount >= 50 AS INT) AS id, "
    "MAX(at) AS at, MAX(amount) AS amount FROM raw.events "
    "WHERE at BETWEEN @start_ts AND @end_ts GROUP BY CAST(amount >= 50 AS INT)"
)
KEPT = TEXT.replace("(time_column at)", "(time_column at, lookback 2, disable_restatement true)")
KINDS = {
    "kept": (KEPT, [3, 4, 10, 20]),
    "by time": (TEXT.replace("(time_column at)", "(time_column at, lookback 2)"), [3, 4, 10, 20]),
    "by key": (BY_KEY, [4]),
}


@pytest.mark.parametrize("text, others", KINDS.values(), ids=KINDS)
def test_no_lookback_asks_for_them_again_until_other_rows_come(
    text: str, others: list[int]
) -> None:
    """They were refused before each new hour, so that nobody could go on by accepting them."""
    graph = graph_of({"kept": text.format(more="", audits=MOST.format(most=50), column="")})
    world = MemoryWorld.landed((0.5, 10), (1.5, 20), until=2)
    world.build(graph)
    world.land((2.5, 70), until=3)
    refused(world, graph)
    accept(world, graph=graph)
    for hour in (3, 4):
        world.clock.advance(timedelta(minutes=1))
        world.land((hour + 0.5, hour), until=hour + 1)
        world.run()
    assert sorted(world.amounts("mart.kept")) == [*others, 70]
    assert_nothing_is_left_to_do(world, graph)
    world.clock.advance(timedelta(minutes=1))
    is_kept = "disable_restatement" in text  # then a lookback alone looks at it
    world.land((2.2, 90), *([(5.5, 5)] if is_kept else []), until=6 if is_kept else 5)
    if is_kept:
        world.run()
        assert sorted(world.amounts("mart.kept")) == [3, 4, 5, 10, 20, 70]
    else:
        with pytest.raises(AuditFailed):
            world.run()


def test_a_lookback_asks_for_them_again_where_late_rows_came() -> None:
    """What is never restated has no other way to get these."""
    graph = graph_of({"kept": KEPT.format(more="", audits=MOST.format(most=50), column="")})
    world = MemoryWorld.landed((0.5, 10), (1.5, 20), until=2)
    world.build(graph)
    world.land((2.5, 70), until=3)
    refused(world, graph)
    accept(world, graph=graph)
    world.clock.advance(timedelta(minutes=1))
    world.land((2.2, 9), (3.5, 3), until=4)
    with pytest.raises(AuditFailed):
        world.run()
    accept(world, graph=graph)
    assert sorted(world.amounts("mart.kept")) == [3, 9, 10, 20, 70]


def test_who_accepted_what_when_and_why_is_recorded_with_the_work() -> None:
    world = one_bad_hour()
    before = newest(world)
    world.clock.advance(timedelta(hours=2))
    work_id = accept(world).done.work_id
    work = newest(world)
    assert (work.intent.work_id, work.state) == (work_id, UnitOfWorkState.DONE)
    accepted = there(work.intent.accepted)
    assert (accepted.work_id, accepted.audits) == (before.intent.work_id, ("accepted_range",))
    assert (accepted.reason, accepted.author) == (REASON, "")
    assert accepted.accepted_at == world.clock.now()
    assert [each.failing for each in work.audits] == [2]
    assert world.state.accepted([work.intent.key]) == {work.intent.key: (work,)}
    entries = world.state.ledger([work.intent.key])[work.intent.key]
    assert [each.work_id == work_id for each in entries] == [False, False, True]


def test_a_version_that_no_view_shows_yet_is_promoted_by_the_next_plan() -> None:
    world = one_bad_hour()
    accept(world)
    edited = project(column=", amount * 2 AS twice")
    work_id = refused(world, edited)
    assert world.state.work(work_id).intent.key != world.bound().key(NAME)  # type: ignore[union-attr]
    accept(world, graph=edited)
    assert len(world.rows("mart.kept")[0]) == 3, "the view shows the earlier version"
    assert world.build(edited) == ()
    assert sorted(row[3] for row in world.rows("mart.kept")) == [20, 40, 140, 160]  # type: ignore[type-var]


@pytest.mark.parametrize("reload", [False, True], ids=["late", "all again"])
@pytest.mark.parametrize("mode", ["stateless", "stateful"])
def test_a_session_that_is_accepted_moves_marks_and_what_is_pending(
    mode: str, reload: bool
) -> None:
    graph = project(mode=mode)
    world = MemoryWorld.landed((0.5, 10), (1.5, 20), until=2)
    world.build(graph)
    world.land((0.7, 99), (2.5, 30), until=3)
    with pytest.raises(AuditFailed):
        world.catch_up(NAME, reload=reload)
    before = newest(world, graph)
    accept(world, graph=graph)
    assert world.amounts("mart.kept") == [10, 20, 30, 99]
    session = there(before.intent.session)
    assert world.state.marks(before.intent.key) == {each.source: each for each in session.marks}
    assert world.state.pending([before.intent.key]) == {}
    found = detect(world.services(), world.bound(), NAME)
    assert isinstance(found, NothingToLoad)
    assert not found.has_moved
    done, given_up = world.state.sessions(before.intent.key, limit=2)
    assert (done.state.value, given_up.state.value) == ("done", "abandoned")
    question = there(world.state.question(done.intent.work_id))
    assert question == world.state.question(given_up.intent.work_id)
    assert_nothing_is_left_to_do(world, graph)


def created_again(*events: tuple[float, int]) -> MemoryWorld:
    """All of a source that was created again is refused; the commits of it are older than marks."""
    world = MemoryWorld.landed((0.5, 10), until=1)
    world.build(project(mode="stateless"))
    for hour in (1, 2):
        world.land((hour + 0.5, 20), until=hour + 1)
        world.build(project(mode="stateless"))
    world.catalog.drop_table(RAW)
    columns = [Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items()]
    world.catalog.create_table(RAW, columns, properties={})
    world.land(*events, until=3)
    with pytest.raises(AuditFailed):
        world.catch_up(NAME, reload=True)
    return world


def test_all_of_a_source_that_was_created_again_is_accepted() -> None:
    world = created_again((0.5, 10), (1.5, 99))
    accept(world, graph=project(mode="stateless"))
    assert world.amounts("mart.kept") == [10, 99]


def test_what_a_session_loaded_again_is_out_of_date_once_a_later_one_is_done() -> None:
    world = created_again((0.5, 10), (1.5, 99), (2.5, 20))
    work_id = newest(world, project(mode="stateless")).intent.work_id
    world.catalog.overwrite(RAW, [(1, hour_of(0), 10), (2, hour_of(1), 20), (3, hour_of(2), 20)])
    world.catch_up(NAME, reload=True)
    with pytest.raises(Refused, match="out of date"):
        accept(world, work_id=work_id, graph=project(mode="stateless"))


def test_rows_that_come_after_the_session_are_loaded_by_the_next_one() -> None:
    graph = project(mode="stateless")
    world = MemoryWorld.landed((0.5, 10), until=1)
    world.build(graph)
    world.land((0.7, 99), until=1)
    refused(world, graph)
    world.land((0.8, 11), until=1)
    accept(world, graph=graph)
    assert world.amounts("mart.kept") == [10, 99]
    world.build(graph)
    assert world.amounts("mart.kept") == [10, 11, 99]


def test_every_audit_that_refused_them_has_to_be_accepted() -> None:
    world = one_bad_hour()
    both = project(LEAST)
    build_with(world, both)
    with pytest.raises(Refused) as caught:
        accept(world, graph=both)
    assert "also failed the audit number_of_rows" in str(caught.value)
    assert "--accept accepted_range --accept number_of_rows" in caught.value.advice
    with pytest.raises(Refused, match="they failed no blocking audit not_null"):
        accept(world, "accepted_range", "number_of_rows", "not_null", graph=both)
    accept(world, "accepted_range", "number_of_rows", graph=both)
    assert world.amounts("mart.kept") == [10, 20, 70, 80]


def build_with(world: MemoryWorld, graph: Graph) -> None:
    with pytest.raises(AuditFailed):
        world.build(graph)


def test_a_name_that_is_not_known_and_work_that_has_nothing_staged_are_refused() -> None:
    world = one_bad_hour()
    with pytest.raises(Refused, match="no unit of work w-none is recorded") as caught:
        accept(world, work_id="w-none")
    assert caught.value.advice.startswith("`vde audits MODEL`")
    key = newest(world).intent.key
    loaded = world.state.ledger([key])[key][0].work_id
    with pytest.raises(Refused, match=f"{loaded} has already been published"):
        accept(world, work_id=loaded)
    with pytest.raises(Refused, match="no reason was given"):
        accept(world, reason=" ")
    work_id = newest(world).intent.work_id
    accept(world)
    with pytest.raises(Refused, match=r"have already been published by .*: accepted by a user at "):
        accept(world, work_id=work_id)


def test_rows_are_refused_once_their_input_has_others_in_their_time() -> None:
    world = one_bad_hour()
    world.land((1.2, 5), until=3)
    world.land((2.1, 5), until=3)
    with pytest.raises(Refused, match=r"its inputs from raw.events have changed since") as caught:
        accept(world)
    assert caught.value.advice == (
        "`vde run prod` computes what mart.kept still lacks. If rows fail again, publish those."
    )
    with pytest.raises(AuditFailed):
        world.run()
    accept(world)
    assert world.amounts("mart.kept") == [5, 5, 10, 20, 70, 80]


def test_rows_of_other_times_of_an_input_are_no_reason_to_refuse() -> None:
    world = one_bad_hour()
    world.land((5.5, 7), until=3)
    accept(world)
    assert world.amounts("mart.kept") == [10, 20, 70, 80]


def test_rows_are_refused_once_their_table_has_others() -> None:
    world = one_bad_hour()
    work_id = newest(world).intent.work_id
    evaluate(world.services(), world.bound(), NAME, Interval(hour_of(0), hour_of(1)), force=True)
    with pytest.raises(
        Refused, match=r"was at the Iceberg snapshot \d+ when they were staged, and is at \d+ now"
    ):
        accept(world, work_id=work_id)


def test_rows_are_refused_once_their_branch_is_gone() -> None:
    world = one_bad_hour()
    work = newest(world)
    world.catalog.drop_branch(work.intent.key.table, work.intent.work_id)
    with pytest.raises(Refused, match="is missing"):
        accept(world)


def test_a_version_that_was_never_shown_and_is_no_longer_in_the_files_is_refused() -> None:
    world = one_bad_hour()
    work_id = refused(world, project(column=", 1 AS one"))
    with pytest.raises(Refused, match="which no revision of prod shows"):
        accept(world, work_id=work_id)


def test_a_refused_plan_says_that_its_new_audit_is_shown_all_the_same() -> None:
    world = one_bad_hour()
    revision = world.state.revision("prod")
    with pytest.raises(AuditFailed, match="prod shows this plan"):
        world.build(project(most=60))
    assert world.state.revision("prod") == revision + 1
    with pytest.raises(AuditFailed) as again:
        world.run()
    assert "shows this plan" not in str(again.value)


def test_a_rollback_goes_on_once_the_rows_that_it_needs_are_accepted() -> None:
    world = one_bad_hour()
    world.build(project(column=", 1 AS one", most=90))
    with pytest.raises(AuditFailed):
        world.apply(plan_rollback(world.services(), "prod"))
    work_id = newest(world).intent.work_id
    accept(world, work_id=work_id, graph=project(column=", 2 AS two", most=90))
    assert world.rows("mart.kept")[0][3:] == (1,)
    world.apply(plan_rollback(world.services(), "prod"))
    assert world.amounts("mart.kept") == [10, 20, 70, 80]
    assert world.rows("mart.kept")[0][3:] == ()


def test_a_version_that_is_written_right_now_is_left_alone() -> None:
    world = one_bad_hour()
    key = newest(world).intent.key
    resource = f"version:{key.model}:{key.version}"
    world.state.acquire_lease(resource, holder="a run", ttl=timedelta(minutes=5))
    with pytest.raises(Conflict):
        accept(world)


def test_r8_an_hour_with_rows_is_left_without_any_only_if_that_is_said_before_an_audit_looks() -> (
    None
):
    graph = project("number_of_rows")
    world = MemoryWorld.landed((0.5, 10), (1.5, 20), until=2)
    world.build(graph)
    world.catalog.delete(RAW, [row for row in world.rows("raw.events") if row[2] == 10])
    services = world.services()
    with pytest.raises(RowsWouldGo, match="have no rows left"):
        evaluate(services, world.bound(), NAME, Interval(hour_of(1), hour_of(2)))
    allowed = PlanOptions(restate=(str(NAME),), start=hour_of(1), end=hour_of(2), allow_empty=True)
    with pytest.raises(AuditFailed):
        world.apply(plan_environment(services, graph, "prod", allowed))
    accept(world, "number_of_rows", graph=graph)
    assert world.amounts("mart.kept") == [10]


def cuts(names: Sequence[str]) -> list[ParameterSet]:
    """Before and after each call. What is durable after a write stays so until the next one, so the
    short form cuts after the first call of each method that writes.
    """
    first = {names.index(name) + 1 for name in WRITING if name in names}
    return [
        pytest.param(
            call,
            after,
            id=f"{'after' if after else 'before'}-{call}-{name}",
            marks=[] if after and call in first else pytest.mark.full,
        )
        for call, name in enumerate(names, start=1)
        for after in (False, True)
    ]


def calls_of_an_acceptance() -> list[str]:
    fuse = Fuse()
    with reading_once():
        accept(one_bad_hour(), fuse=fuse)
    return fuse.names


@pytest.mark.parametrize("call, after", cuts(calls_of_an_acceptance()))
def test_an_acceptance_that_dies_at_any_call_is_done_or_can_be_said_again(
    call: int, after: bool
) -> None:
    world = one_bad_hour()
    work_id = newest(world).intent.work_id
    with pytest.raises(PowerCut):
        accept(world, work_id=work_id, fuse=Fuse(cut_at=call, after=after))
    assert world.amounts("mart.kept") in ([10, 20], [10, 20, 70, 80]), "all of it or nothing"
    world.reboot()
    try:
        world.build(GRAPH)
    except AuditFailed:
        accept(world)
    assert world.amounts("mart.kept") == [10, 20, 70, 80]
    accepted = there(newest(world).intent.accepted)
    assert accepted.reason == REASON
    assert_nothing_is_left_to_do(world)


def test_the_report_of_intervals_says_which_rows_a_person_accepted() -> None:
    world = one_bad_hour()
    accept(world)
    services = world.services()

    def reported() -> list[tuple[Interval, str]]:
        (found,) = report_intervals(services, plan(services, GRAPH))
        return [(i, each.acceptance.reason) for each in found.accepted for i in each.intervals]

    assert reported() == [(Interval(hour_of(2), hour_of(3)), REASON)]
    world.build(project(most=99))
    hour = Interval(hour_of(2), hour_of(3))
    evaluate(services, bound(services), NAME, hour, force=True)
    assert reported() == [], "other rows are there by now"
