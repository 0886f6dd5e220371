"""What every catalog promises, on Iceberg and in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.lakehouse.catalog_worlds import (
    AT,
    EVENTS,
    ID,
    KEPT,
    TABLE,
    KeptIceberg,
    MemoryWorld,
    RestWorld,
    World,
    opened,
)
from tests.lakehouse.postgres_worlds import IN_POSTGRES
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.damage import LostMetadata, TableHead
from vde_dagster.core.ledger.late.history import SourceOperation, SourceStatus
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnWidened
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.names import ModelName, TableName, physical_table
from vde_dagster.core.time.intervals import END_OF_TIME, Interval, IntervalUnit
from vde_dagster.ports.catalog import TableMoved, TableState, TableText, ViewDefinition
from vde_dagster.ports.engine import TableRows

START = datetime(2013, 1, 1, tzinfo=UTC)
OTHER = TableName("raw", "other")
MICROSECOND, HOUR = timedelta(microseconds=1), timedelta(hours=1)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptIceberg:
    return KeptIceberg(tmp_path_factory.mktemp("iceberg"), TABLE)


@pytest.fixture(params=["memory", KEPT, "rest", IN_POSTGRES])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with opened(request, tmp_path, TABLE) as found:
        yield found


def state(world: World) -> TableState:
    """The table as it is now."""
    found = world.catalog.table(TABLE)
    assert found is not None
    return found


def newest(world: World) -> HighWaterMark:
    """How far the source is known."""
    head = world.catalog.history(EVENTS, None).head
    assert head is not None
    return head


def view(name: str, target: TableName = TABLE, *columns: Column) -> ViewDefinition:
    return ViewDefinition(name=TableName("dev", name), target=target, columns=columns or (ID, AT))


def test_a_table_is_found_with_its_columns_and_head(world: World) -> None:
    empty = state(world)
    assert (empty.iceberg_snapshot_id, empty.columns) == (None, (ID, AT))
    head = world.append(TABLE, [(1, START)])
    world.set_property(TABLE, "a", "b")
    table = state(world)
    assert (table.iceberg_snapshot_id, table.uuid) == (head, empty.uuid)
    assert table.properties["a"] == "b"
    assert world.catalog.table(OTHER) is None
    assert world.catalog.view(TABLE) is None, "a table is no view"


def test_swapped_views_are_there_and_dropped_ones_are_gone(world: World) -> None:
    world.catalog.swap_views([view("a"), view("b", TABLE, ID)], [TableName("dev", "nothing")])
    assert world.catalog.view(TableName("dev", "a")) == view("a")
    assert world.catalog.view(TableName("dev", "b")) == view("b", TABLE, ID)
    assert world.catalog.table(TableName("dev", "b")) is None, "a view is no table"
    for name in (TableName("dev", "b"), TABLE, OTHER):
        assert world.catalog.view_query(name) is None, "it is no query of an engine"
    world.catalog.swap_views([view("b", TABLE, AT)], [TableName("dev", "a")])
    assert world.catalog.view(TableName("dev", "a")) is None
    assert world.catalog.view(TableName("dev", "b")) == view("b", TABLE, AT)


def test_a_view_may_leave_rows_out_and_says_which(world: World) -> None:
    some = replace(view("a"), visible="`id` IS NULL OR NOT `id` IN (2)")
    world.catalog.swap_views([some], [])
    assert world.catalog.views([some.name]) == {some.name: some}
    assert world.catalog.views([some.name]) != {some.name: view("a")}
    world.catalog.swap_views([view("a")], [])
    assert world.catalog.view(some.name) == view("a")


def test_a_swap_of_several_views_is_all_or_nothing(world: World) -> None:
    world.catalog.swap_views([view("a")], [])
    bad = [
        replace(view("x"), name=TABLE),
        view("x", OTHER),
        view("x", TABLE, Column(name="missing", type="int")),
    ]
    for each in bad:
        with pytest.raises(Refused, match="nothing was changed"):
            world.catalog.swap_views([view("a", TABLE, ID), each], [])
        with pytest.raises(Refused, match="nothing was changed"):
            world.catalog.swap_views([each], [TableName("dev", "a")])
    assert world.catalog.view(TableName("dev", "a")) == view("a")
    assert world.catalog.view(TableName("dev", "x")) is None
    assert world.catalog.table(TABLE) is not None


def test_what_a_swap_did_not_make_is_taken_and_stays(world: World) -> None:
    name, foreign = TableName("dev", "a"), TableName("dev", "theirs")
    world.catalog.swap_views([view("a")], [])
    world.create_view(foreign)
    every = [name, foreign, TABLE, OTHER, TableName("no", "a")]
    assert set(world.catalog.taken(every)) == {foreign, TABLE}
    assert set(world.catalog.present(every)) == {name, foreign, TABLE}
    assert world.catalog.views(every) == {name: view("a")}
    assert (world.catalog.views([]), set(world.catalog.present([]))) == ({}, set())
    with pytest.raises(Refused, match="nothing was changed"):
        world.catalog.swap_views([view("a", TABLE, ID), view("theirs")], [])
    assert world.catalog.view(name) == view("a")
    world.catalog.swap_views([], [foreign, TABLE])
    assert set(world.catalog.taken([name, foreign, TABLE, OTHER])) == {foreign, TABLE}
    assert world.catalog.table(TABLE) is not None


def test_an_environments_catalog_has_views_of_its_own(world: World) -> None:
    ours = view("a")
    theirs = replace(view("a", TABLE, ID), name=TableName("dev", "a", "lake__dev"))
    if isinstance(world, RestWorld):
        with pytest.raises(Refused, match="which only SQL catalogs support; nothing was changed"):
            world.catalog.swap_views([ours, theirs], [])
        assert world.catalog.views([ours.name, theirs.name]) == {}
        return
    world.catalog.swap_views([ours, theirs], [])
    assert world.catalog.views([ours.name, theirs.name]) == {ours.name: ours, theirs.name: theirs}
    assert list(world.catalog.taken([theirs.name, TableName("raw", "events", "lake__dev")])) == []
    assert world.catalog.table(TableName("raw", "events", "lake__dev")) is None
    moved = replace(theirs, columns=(ID, AT))
    world.catalog.swap_views([moved], [ours.name])
    assert world.catalog.views([ours.name, theirs.name]) == {theirs.name: moved}
    world.catalog.swap_views([ours], [theirs.name])
    assert world.catalog.views([ours.name, theirs.name]) == {ours.name: ours}
    bad = replace(view("b", OTHER), name=TableName("dev", "b", "lake__dev"))
    with pytest.raises(Refused, match="nothing was changed"):
        world.catalog.swap_views([theirs, bad], [ours.name])
    assert world.catalog.views([ours.name, theirs.name]) == {ours.name: ours}


def test_a_view_of_another_models_version_is_never_replaced(world: World) -> None:
    one, two = (physical_table(ModelName("s", "m"), digit * 32) for digit in "01")
    other = physical_table(ModelName("s", "m__dev"), "0" * 32)
    for table in (one, two, other):
        world.create(table)
    world.catalog.swap_views([view("a", one)], [])
    with pytest.raises(Refused, match="nothing was changed"):
        world.catalog.swap_views([view("a", other), view("b")], [])
    assert world.catalog.views([TableName("dev", name) for name in "ab"]) == {
        TableName("dev", "a"): view("a", one)
    }
    world.catalog.swap_views([view("a", two)], [])
    assert world.catalog.view(TableName("dev", "a")) == view("a", two)


def test_publishing_what_is_published_changes_nothing(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    world.catalog.publish(TABLE, base=first, staged=first)  # work that changed nothing
    second = world.append(TABLE, [(2, START)])
    with pytest.raises(TableMoved, match="nothing was published"):
        world.catalog.publish(TABLE, base=first, staged=first)
    world.catalog.publish(TABLE, base=first, staged=second)
    world.catalog.publish(TABLE, base=None, staged=first)
    table = state(world)
    assert table.iceberg_snapshot_id == second


def test_what_was_given_up_is_never_published(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    second = world.append(TABLE, [(2, START)])
    world.roll_back(TABLE, first)
    world.branch(TABLE, "ab", second)
    world.catalog.drop_branch(TABLE, "ab")
    with pytest.raises(TableMoved, match="given up; nothing was published"):
        world.catalog.publish(TABLE, base=first, staged=second)
    assert newest(world).iceberg_snapshot_id == first
    world.branch(TABLE, "cd", second)  # what is not given up moves the table
    world.catalog.publish(TABLE, base=first, staged=second)
    assert newest(world).iceberg_snapshot_id == second


def test_a_table_goes_back_to_what_was_recorded_and_nothing_is_lost(world: World) -> None:
    recorded = world.append(TABLE, [(1, START)])
    theirs = world.append(TABLE, [(2, START)])
    world.catalog.restore(TABLE, found=theirs, recorded=recorded)
    world.catalog.restore(TABLE, found=theirs, recorded=recorded)
    assert world.catalog.line(TABLE) in ([recorded], (recorded,))
    assert world.catalog.columns_at(TABLE, theirs) is not None
    again = world.append(TABLE, [(3, START)])
    assert list(world.catalog.line(TABLE)) == [again, recorded]
    world.roll_back(TABLE, recorded)
    world.catalog.restore(TABLE, found=recorded, recorded=again)
    assert list(world.catalog.line(TABLE)) == [again, recorded], "forward, after a rollback"


def test_a_table_that_moved_on_or_forgot_is_not_restored(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    theirs = world.append(TABLE, [(2, START)])
    with pytest.raises(TableMoved, match="nothing was changed"):
        world.catalog.restore(TABLE, found=first + 1, recorded=first)
    world.expire(TABLE)
    with pytest.raises(TableMoved, match="has expired; nothing was changed"):
        world.catalog.restore(TABLE, found=theirs, recorded=first)
    with pytest.raises(TableMoved, match="no longer exists"):
        world.catalog.restore(OTHER, found=1, recorded=2)
    assert list(world.catalog.line(TABLE)) == [theirs]


def head(world: World) -> TableHead:
    found = world.catalog.table_heads([TABLE])[TABLE]
    assert isinstance(found, TableHead)
    return found


def test_the_heads_of_tables_are_found_together_and_nothing_else_is(world: World) -> None:
    world.create_view(TableName("dev", "a"))
    assert head(world).iceberg_snapshot_id is None
    assert not head(world).snapshots
    first = world.append(TABLE, [(1, START)])
    found = world.catalog.table_heads([TABLE, OTHER, TableName("dev", "a")])
    assert set(found) == {TABLE}
    assert head(world).iceberg_snapshot_id == first
    assert set(head(world).snapshots) == {first}
    assert sorted(head(world).fields.values()) == ["at", "id"]
    assert head(world).version == ""
    world.set_property(TABLE, "vde.version", "abc")
    assert head(world).version == "abc"
    assert world.catalog.table_heads([]) == {}


def test_a_head_knows_what_has_the_rows_of_an_earlier_snapshot(world: World) -> None:
    assert head(world).has_rows_of(None)
    first = world.append(TABLE, [(1, START)])
    assert head(world).has_rows_of(first)
    assert not head(world).has_rows_of(None)
    compacted = world.compact(TABLE)
    assert (head(world).origin(compacted), head(world).has_rows_of(first)) == (first, True)
    second = world.append(TABLE, [(2, START)])
    assert not head(world).has_rows_of(first)
    assert not head(world).has_rows_of(compacted)
    world.roll_back(TABLE, first)
    assert head(world).has_rows_of(compacted)
    assert not head(world).has_rows_of(second)


def test_a_compaction_whose_beginning_has_expired_may_have_its_rows(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    world.compact(TABLE)
    world.expire(TABLE)
    assert first not in head(world).snapshots
    assert head(world).has_rows_of(first)
    world.append(TABLE, [(2, START)])
    assert not head(world).has_rows_of(first)


@pytest.mark.full
@pytest.mark.parametrize(
    "change,lost",
    [
        (lambda world: world.rename_column(TABLE, "at", "when"), ("at was renamed to when",)),
        (lambda world: world.drop_column(TABLE, "id"), ("id was dropped",)),
        (lambda world: world.add_again(TABLE, "id"), ("id was dropped and added again",)),
    ],
)
def test_columns_that_others_changed_are_known_and_come_back_with_their_values(
    world: World, change: Callable[[World], None], lost: tuple[str, ...]
) -> None:
    recorded = world.append(TABLE, [(1, START)])
    wanted = TableRows(table=TABLE, iceberg_snapshot_id=None)
    before = world.catalog.read(wanted).to_pylist()
    assert head(world).lost_columns(recorded) == ()
    change(world)
    assert head(world).lost_columns(recorded) == lost
    assert head(world).has_rows_of(recorded)
    world.catalog.restore(TABLE, found=recorded, recorded=recorded)
    world.catalog.restore(TABLE, found=recorded, recorded=recorded)
    assert head(world).lost_columns(recorded) == ()
    assert world.catalog.read(wanted).to_pylist() == before


def test_columns_that_were_added_before_a_change_of_others_stay(world: World) -> None:
    recorded = world.append(TABLE, [(1, START)])
    world.catalog.evolve(TABLE, [ColumnAdded(column="note", type="string")])
    assert head(world).lost_columns(recorded) == ()
    world.rename_column(TABLE, "at", "when")
    theirs = world.append(TABLE, [])
    world.catalog.restore(TABLE, found=theirs, recorded=recorded)
    table = state(world)
    assert [each.name for each in table.columns] == ["id", "at", "note"]
    assert table.iceberg_snapshot_id == recorded


def test_a_table_whose_metadata_file_somebody_deleted_is_lost(world: World) -> None:
    world.append(TABLE, [(1, START)])
    assert isinstance(head(world), TableHead)
    world.lose_metadata(TABLE)
    found = world.catalog.table_heads([TABLE])[TABLE]
    assert isinstance(found, LostMetadata)
    assert found.file or found.said


def test_files_that_somebody_deleted_are_missing_until_their_rows_are_written_again(
    world: World,
) -> None:
    first = world.append(TABLE, [(1, START)])
    assert tuple(world.catalog.missing_files(TABLE, first)) == ()
    second = world.append(TABLE, [(2, START)])
    lost = world.lose_file(TABLE)
    assert tuple(world.catalog.missing_files(TABLE, second)) == (lost,)
    assert tuple(world.catalog.missing_files(TABLE, first)) == ()
    assert tuple(world.catalog.missing_files(OTHER, first)) == ()
    third = world.overwrite(TABLE, [(3, START)])
    assert tuple(world.catalog.missing_files(TABLE, third)) == ()


def test_the_branches_of_work_are_listed(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    second = world.append(TABLE, [(2, START)])
    assert set(world.catalog.branches(TABLE)) == set()
    world.branch(TABLE, "ab", first)
    world.branch(TABLE, "cd", second)
    assert set(world.catalog.branches(TABLE)) == {"ab", "cd"}
    world.catalog.drop_branch(TABLE, "ab")
    assert set(world.catalog.branches(TABLE)) == {"cd"}
    assert set(world.catalog.branches(OTHER)) == set()
    for name in (TABLE, OTHER):
        world.catalog.drop_branch(name, "ab")  # again is no error


def test_publishing_on_a_moved_table_or_a_stranger_is_a_conflict(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    staged = world.append(TABLE, [(2, START)])
    world.roll_back(TABLE, first)
    third = world.append(TABLE, [(3, START)])
    for base, what in [(first, staged), (third, staged), (None, staged), (third, 5)]:
        with pytest.raises(TableMoved, match="nothing was published"):
            world.catalog.publish(TABLE, base=base, staged=what)
    with pytest.raises(TableMoved):
        world.catalog.publish(OTHER, base=None, staged=1)
    assert newest(world).iceberg_snapshot_id == third


def test_without_a_mark_only_the_head_is_reported(world: World) -> None:
    missing = world.catalog.history(ModelName("raw", "none"), None)
    assert (missing.status, missing.head) == (SourceStatus.MISSING, None)
    empty = world.catalog.history(EVENTS, None)
    assert (empty.status, empty.head) == (SourceStatus.INITIAL, None)
    head = world.append(TABLE, [(1, START)])
    world.set_property(TABLE, "vde.valid-to", "2013-01-02T01:00:00+01:00")
    history = world.catalog.history(EVENTS, None)
    assert (history.status, history.changes) == (SourceStatus.INITIAL, ())
    assert history.head is not None
    assert history.head.iceberg_snapshot_id == head
    assert history.head.complete_to == START + timedelta(days=1)


def test_appends_are_reported_by_partition_oldest_first(world: World) -> None:
    world.append(TABLE, [(1, START)])
    mark = newest(world)
    first = world.append(TABLE, [(2, START), (3, START + 2 * HOUR), (4, START + 2 * HOUR)])
    second = world.append(TABLE, [(5, START + HOUR)])
    history = world.catalog.history(EVENTS, mark)
    assert history.status is SourceStatus.CHANGED
    assert [(change.iceberg_snapshot_id, change.operation) for change in history.changes] == [
        (first, SourceOperation.APPEND),
        (second, SourceOperation.APPEND),
    ]
    reported = [
        sorted((uri.as_json(), uri.files, uri.rows) for uri in change.added)
        for change in history.changes
    ]
    assert reported == [
        [('{"at_hour": "2013-01-01-00"}', 1, 1), ('{"at_hour": "2013-01-01-02"}', 1, 2)],
        [('{"at_hour": "2013-01-01-01"}', 1, 1)],
    ]
    assert history.head is not None
    assert history.head.sequence_number > mark.sequence_number


def test_removals_and_overwrites_are_reported_and_nothing_where_nothing_is_new(
    world: World,
) -> None:
    world.append(TABLE, [(1, START)])
    mark = newest(world)
    history = world.catalog.history(EVENTS, mark)
    assert (history.status, history.changes) == (SourceStatus.UNCHANGED, ())
    world.delete_all(TABLE)
    operations = [each.operation for each in world.catalog.history(EVENTS, mark).changes]
    assert operations == [SourceOperation.DELETE]
    world.append(TABLE, [(1, START)])
    mark = newest(world)
    world.overwrite(TABLE, [(2, START)])
    found = {each.operation for each in world.catalog.history(EVENTS, mark).changes}
    assert found & {SourceOperation.OVERWRITE, SourceOperation.DELETE}, "it is no mere append"


def test_a_mark_that_the_head_does_not_descend_from_was_rolled_back(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    world.append(TABLE, [(2, START)])
    mark = newest(world)
    world.roll_back(TABLE, first)
    assert world.catalog.history(EVENTS, mark).status is SourceStatus.ROLLED_BACK
    world.append(TABLE, [(3, START)])
    assert world.catalog.history(EVENTS, mark).status is SourceStatus.ROLLED_BACK


def test_a_mark_whose_history_is_gone_has_expired(world: World) -> None:
    world.append(TABLE, [(1, START)])
    mark = newest(world)
    world.append(TABLE, [(2, START)])
    world.append(TABLE, [(3, START)])
    world.expire(TABLE)
    history = world.catalog.history(EVENTS, mark)
    assert (history.status, history.changes) == (SourceStatus.EXPIRED, ())
    assert history.head is not None


def test_a_table_that_was_made_again_is_another(world: World) -> None:
    world.append(TABLE, [(1, START)])
    mark = newest(world)
    world.drop(TABLE)
    assert world.catalog.history(EVENTS, mark).status is SourceStatus.MISSING
    world.create(TABLE)
    assert world.catalog.history(EVENTS, mark).status is SourceStatus.RECREATED


def test_a_column_that_was_added_again_is_another_one_in_earlier_snapshots(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    mark, before = newest(world), state(world)
    world.add_again(TABLE, "id")
    assert set(state(world).columns) == set(before.columns)
    columns = {each.name: each.former for each in state(world).schemas.columns(first)}
    assert columns == {"id": None, "at": "at"}
    assert state(world).token(first) != before.token(first)
    assert state(world).identity(first) != before.identity(first) == before.uuid
    assert world.catalog.history(EVENTS, mark).status is SourceStatus.OTHER_COLUMNS
    again = newest(world)
    assert world.catalog.history(EVENTS, again).status is SourceStatus.UNCHANGED
    second = world.append(TABLE, [(2, START)])
    assert (state(world).schemas.columns(second), state(world).identity(second)) == (
        (),
        before.uuid,
    )
    assert world.catalog.history(EVENTS, again).status is SourceStatus.CHANGED
    assert world.catalog.history(EVENTS, mark).status is SourceStatus.OTHER_COLUMNS
    assert state(world).may_have_replaced(first, since=state(world).changed_at or START)
    assert not state(world).may_have_replaced(second, since=START)


def test_rows_come_from_the_last_snapshot_that_is_no_compaction(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    assert world.catalog.origin(TABLE, first) == first
    world.compact(TABLE)
    compacted = world.compact(TABLE)
    assert world.catalog.origin(TABLE, compacted) == first
    second = world.append(TABLE, [(2, START)])
    assert world.catalog.origin(TABLE, second) == second
    removed = world.delete_all(TABLE)
    assert world.catalog.origin(TABLE, removed) == removed
    assert world.catalog.origin(TABLE, compacted) == first
    assert (world.catalog.origin(TABLE, 5), world.catalog.origin(OTHER, 5)) == (5, 5)


def test_a_table_can_be_read_at_what_has_not_expired(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    compacted = world.compact(TABLE)
    assert world.catalog.columns_at(TABLE, first) is not None
    world.expire(TABLE)
    assert world.catalog.columns_at(TABLE, first) is None
    assert world.catalog.columns_at(TABLE, compacted) is not None
    # Some writers forget which snapshot was the parent, too.
    assert world.catalog.origin(TABLE, compacted) in (first, compacted)
    assert world.catalog.origin(TABLE, first) == first
    assert world.catalog.columns_at(OTHER, first) is None


def test_columns_are_added_and_widened_and_views_follow_when_they_are_swapped(
    world: World,
) -> None:
    world.append(TABLE, [(1, START)])
    world.catalog.swap_views([view("a")], [])
    n, wide = Column(name="n", type="int"), Column(name="n", type="bigint")
    for _ in range(2):
        world.catalog.evolve(TABLE, [ColumnAdded(column="n", type="int")])
    table = state(world)
    assert table.columns == (ID, AT, n)
    assert world.catalog.view(TableName("dev", "a")) == view("a")
    # A view says that a column is wider before the table has it so.
    world.catalog.swap_views([view("a", TABLE, wide)], [])
    for _ in range(2):
        world.catalog.evolve(TABLE, [ColumnWidened(column="n", before="int", after="bigint")])
    table = state(world)
    assert table.columns == (ID, AT, wide)
    assert world.catalog.view(TableName("dev", "a")) == view("a", TABLE, wide)
    with pytest.raises(Refused, match=r"already has the column N of type bigint.*Nothing was"):
        world.catalog.evolve(TABLE, [ColumnAdded(column="N", type="string")])
    with pytest.raises(Conflict):
        world.catalog.evolve(OTHER, [ColumnAdded(column="n", type="int")])


def test_a_table_has_the_words_that_it_was_given_last(world: World) -> None:
    for comment, reported in (("first", "a key"), ("second", ""), ("", "other")):
        text = TableText(comment=comment, columns={"id": reported, "nowhere": "lost"})
        for _ in range(2):
            world.catalog.describe(TABLE, text)
        table = state(world)
        assert table.properties.get("comment", "") == comment
        assert table.columns == (replace(ID, description=reported), AT)
    with pytest.raises(Conflict):
        world.catalog.describe(OTHER, TableText())


def test_a_view_has_the_comment_that_it_is_given_or_else_its_target_s(world: World) -> None:
    world.catalog.describe(TABLE, TableText(comment="of the table"))
    described = (replace(ID, description='who\'s "it"'), AT)
    own = replace(view("a"), comment="of the view", columns=described)
    for each in (own, own, view("a")):
        world.catalog.swap_views([each], [])
        assert world.catalog.view(each.name) == each


def test_the_weight_of_a_table_is_that_of_its_rows_at_an_iceberg_snapshot(world: World) -> None:
    assert world.catalog.weight(TABLE, None) == 0
    assert world.catalog.weight(OTHER, None) is None
    first = world.append(TABLE, [(1, START)])
    second = world.append(TABLE, [(2, START)])
    lighter, heavier = (world.catalog.weight(TABLE, each) for each in (first, second))
    assert lighter is not None
    assert heavier is not None
    assert 0 < lighter < heavier
    assert world.catalog.weight(TABLE, 12345) is None


def test_the_line_of_a_table_is_its_retained_history_newest_first(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    second = world.append(TABLE, [(2, START)])
    assert list(world.catalog.line(TABLE)) == [second, first]
    world.roll_back(TABLE, first)
    assert list(world.catalog.line(TABLE)) == [first]
    third = world.append(TABLE, [(3, START)])
    assert list(world.catalog.line(TABLE)) == [third, first]
    world.expire(TABLE)
    assert list(world.catalog.line(TABLE)) == [third]
    assert list(world.catalog.line(OTHER)) == []


def touched(world: World, after: int | None, column: str = "at") -> list[datetime] | None:
    """The first and the last time of all that was done after an Iceberg snapshot."""
    changes = world.catalog.row_changes(TABLE, after=after, column=column)
    if any(each.times is None for each in changes):
        return None
    times = [time for each in changes for time in each.times or ()]
    return [min(e.start for e in times), max(e.end for e in times)] if times else []


@pytest.mark.full
def test_what_each_snapshot_did_is_known_by_time(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    second = world.append(TABLE, [(2, START + HOUR), (3, START + 3 * HOUR)])
    world.compact(TABLE)
    third = world.append(TABLE, [(4, START + 9 * HOUR)])
    reported = world.catalog.row_changes(TABLE, after=first, column="AT")
    assert [each.iceberg_snapshot_id for each in reported][::2] == [third, second]
    assert touched(world, third) == []
    assert touched(world, first) == [START + HOUR, START + 9 * HOUR + MICROSECOND]
    assert touched(world, None) == [START, START + 9 * HOUR + MICROSECOND]
    assert world.catalog.row_changes(OTHER, after=None, column="at") in ([], ())


def test_a_change_has_the_time_at_which_it_was_committed(world: World) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    world.append(TABLE, [(1, START)])
    world.append(TABLE, [(2, START)])
    reported = world.catalog.row_changes(TABLE, after=None, column="at")
    second, first = [each.committed_at for each in reported]
    assert first <= second
    if not isinstance(world, MemoryWorld):
        assert before <= first <= second <= datetime.now(UTC)


def test_without_a_column_only_compactions_are_reported(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    world.compact(TABLE)
    world.append(TABLE, [(2, START)])
    reported = world.catalog.row_changes(TABLE, after=first, column="")
    assert [each.times for each in reported] == [None, ()]


def test_what_a_snapshot_did_stays_known_when_a_column_is_dropped(world: World) -> None:
    first = world.append(TABLE, [(1, START + HOUR)])
    world.overwrite(TABLE, [(2, START + HOUR)])  # removes a row, too
    world.drop_column(TABLE, "id")  # in what is left both Iceberg snapshots have the same values
    assert touched(world, first) == [START + HOUR, START + HOUR + MICROSECOND]


def test_times_are_not_known_of_a_column_or_a_row_without_times(world: World) -> None:
    first = world.append(TABLE, [(1, START)])
    world.append(TABLE, [(2, START)])
    assert touched(world, first, "there" if isinstance(world, MemoryWorld) else "id") is None
    assert world.catalog.earliest(TABLE, "there") is None
    world.append(TABLE, [(2, None)])  # type: ignore[list-item]
    assert touched(world, first) is None
    assert world.catalog.earliest(TABLE, "at") is None


def test_the_first_time_of_a_table_is_known(world: World) -> None:
    assert world.catalog.earliest(TABLE, "at") == END_OF_TIME
    world.append(TABLE, [(1, START + HOUR), (2, START + 2 * HOUR)])
    world.append(TABLE, [(3, START)])
    assert world.catalog.earliest(TABLE, "at") == START
    world.delete_all(TABLE)
    assert world.catalog.earliest(TABLE, "at") == END_OF_TIME


HOURLY = TimeAxisSpec(column="at", type="timestamp", unit=IntervalUnit.HOUR)


def read(world: World, wanted: TableRows) -> list[object]:
    return sorted(world.catalog.read(wanted).to_pylist(), key=str)


def test_a_users_code_reads_rows_without_an_engine(world: World) -> None:
    pinned = world.append(TABLE, [(1, START), (2, START + HOUR)])
    world.append(TABLE, [(3, START)])
    rows = TableRows(table=TABLE, iceberg_snapshot_id=pinned)
    first, second = {"id": 1, "at": START}, {"id": 2, "at": START + HOUR}
    assert read(world, rows) == [first, second]
    assert len(read(world, TableRows(table=TABLE))) == 3
    hours = [Interval(START + n * HOUR, START + (n + 1) * HOUR) for n in range(3)]
    some = replace(rows, axis=HOURLY, intervals=(hours[1], hours[2]))
    assert read(world, some) == [second]
    assert read(world, replace(some, intervals=())) == []
    named = replace(some, columns=("AT", "id"))
    assert list(world.catalog.read(named).column_names) == ["at", "id"]
    assert read(world, replace(some, columns=("ID",))) == [{"id": 2}]


@pytest.mark.parametrize(
    "hidden,left",
    [
        (HiddenRows(column="id", values=(1, 3)), [2, None]),
        (HiddenRows(column="id"), [None]),
        (HiddenRows(column="id", values=(7,)), [1, 2, None]),
    ],
)
def test_a_users_code_reads_no_hidden_rows(
    world: World, hidden: HiddenRows, left: list[int | None]
) -> None:
    world.append(TABLE, [(1, START), (2, START), (None, START)])  # type: ignore[list-item] # NULL
    found = read(world, TableRows(table=TABLE, hidden_rows=hidden, columns=("id",)))
    assert found == [{"id": each} for each in left]
    at = read(world, TableRows(table=TABLE, hidden_rows=hidden, columns=("at",)))
    assert at == [{"at": START}] * len(left)
    empty = replace(TableRows(table=TABLE, hidden_rows=hidden), axis=HOURLY)
    assert read(world, empty) == []


def test_a_users_code_reads_an_empty_table_and_no_missing_one(world: World) -> None:
    found = world.catalog.read(TableRows(table=TABLE, columns=("id",)))
    assert (list(found.column_names), found.to_pylist()) == (["id"], [])
    with pytest.raises(Refused, match="does not exist"):
        world.catalog.read(TableRows(table=OTHER))
