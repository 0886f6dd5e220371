"""What is reachable (rule R12): by tables, and compared with a naive model."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.clean_up.references import (
    OpenWork,
    PlannedVersion,
    ReadingView,
    References,
    ShownVersions,
    Times,
    Tombstone,
)
from vde_dagster.core.clean_up.sweeping import by_version, expired, expires_at, readers, sweep
from vde_dagster.core.model.snapshot import Revision, VersionKey
from vde_dagster.core.names import ModelName, TableName

NOW = datetime(2024, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
TIMES = Times(history=7 * DAY, grace=DAY)
V = VersionKey(ModelName("mart", "sales"), "a" * 32)
W = VersionKey(ModelName("mart", "sales"), "b" * 32)
X = VersionKey(ModelName("mart", "shown"), "c" * 32)


def ago(days: float) -> datetime:
    return NOW - days * DAY


def shown(
    *keys: VersionKey, until: datetime | None = None, number: int = 1, of: str = "dev"
) -> ShownVersions:
    return ShownVersions(revision=Revision(of, number), versions=frozenset(keys), until=until)


def found(*keys: VersionKey, **values: object) -> References:
    return References(now=NOW, known=frozenset(keys), **values)  # type: ignore[arg-type]


def planned(at: datetime) -> PlannedVersion:
    return PlannedVersion(environment="dev", key=V, at=at)


def work(began: datetime, key: VersionKey = V) -> OpenWork:
    return OpenWork(environment="dev", key=key, began=began)


@pytest.mark.parametrize(
    "values,why",
    [
        ({"revisions": (shown(V),)}, "dev shows it"),
        ({"revisions": (shown(V, until=ago(6.9)),)}, "dev showed it at revision 1"),
        ({"revisions": (shown(V, until=ago(7)),)}, None),
        ({"planned": (planned(ago(6.9)),)}, "a plan of dev was to show it"),
        ({"planned": (planned(ago(7)),)}, None),
        ({"planned": (planned(ago(9)),), "busy": {"dev"}}, "a plan of dev is being applied"),
        ({"planned": (planned(ago(9)),), "busy": {"other"}}, None),
        ({"written": {V}}, "in use by a process"),
        ({"open_work": (work(ago(6.9)),)}, "a unit of work on it is not finished"),
        ({"open_work": (work(ago(7)),)}, None),
        ({"open_work": (work(ago(9)),), "written": {V}}, "in use by a process"),
    ],
)
def test_what_refers_to_a_version(values: dict[str, object], why: str | None) -> None:
    assert sweep(found(V, **values), (), TIMES).kept.get(V) == why


def test_work_that_runs_keeps_what_its_environment_showed_when_it_began() -> None:
    past = shown(V, until=ago(8))
    running = {"written": {W}}
    before = found(V, W, revisions=(past,), open_work=(work(ago(9), W),), **running)
    assert sweep(before, (), TIMES).kept[V] == "work that dev started reads it"
    later = found(V, W, revisions=(past,), open_work=(work(ago(7.5), W),), **running)
    assert V not in sweep(later, (), TIMES).kept


def test_a_view_keeps_what_it_reads_only_if_it_is_reachable_itself() -> None:
    physical = ReadingView(name=X.table, reads=frozenset({V}), key=X)
    assert sweep(found(V, X), [physical], TIMES).marked == (V, X)
    kept = sweep(found(V, X, revisions=(shown(X),)), [physical], TIMES).kept
    assert kept[V] == f"the view {X.table} reads it"


def test_a_view_over_a_view_keeps_what_both_read() -> None:
    lower = ReadingView(name=W.table, reads=frozenset({V}), key=W)
    upper = ReadingView(name=X.table, reads=frozenset({W}), key=X)
    swept = sweep(found(V, W, X, revisions=(shown(X),)), [lower, upper], TIMES)
    assert swept.kept.keys() == {V, W, X}


@pytest.mark.parametrize("key", [None, VersionKey(X.model, "d" * 32)])
def test_a_view_that_the_state_does_not_know_keeps_what_it_reads(key: VersionKey | None) -> None:
    view = ReadingView(name=TableName("theirs", "view"), reads=frozenset({V}), key=key)
    assert sweep(found(V), [view], TIMES).kept == {V: "the view theirs.view reads it"}


def test_first_a_tombstone_and_after_the_grace_period_the_drop() -> None:
    assert sweep(found(V), (), TIMES).marked == (V,)
    for age, due in ((0.9, ()), (1.0, (V,))):
        stone = Tombstone(key=V, recorded_at=ago(age))
        swept = sweep(found(V, tombstones={V: stone}), (), TIMES)
        assert (swept.marked, swept.due) == ((), due)
        assert swept.waiting == ({} if due else {V: ago(age) + DAY})


def test_what_is_referred_to_again_loses_its_tombstone() -> None:
    stone = Tombstone(key=V, recorded_at=ago(5))
    swept = sweep(found(V, tombstones={V: stone}, revisions=(shown(V),)), (), TIMES)
    assert (swept.cleared, swept.due) == ((V,), ())


def test_a_drop_that_was_begun_keeps_its_note() -> None:
    stone = Tombstone(key=V, recorded_at=ago(5), is_dropping=True)
    swept = sweep(found(tombstones={V: stone}), (), TIMES)
    assert (swept.cleared, swept.due, swept.marked) == ((), (), ())


def test_a_revision_leaves_the_history_with_its_time() -> None:
    revisions = (shown(V, until=ago(7)), shown(V, until=ago(1), number=2), shown(W, number=3))
    assert sweep(found(V, W, revisions=revisions), (), TIMES).forgotten == (Revision("dev", 1),)


def test_environments_expire_except_production_pinned_ones_and_those_that_are_held() -> None:
    times = Times(environment=7 * DAY, environments={"pinned": None, "long": 30 * DAY, "prod": DAY})
    used = dict.fromkeys(("dev", "held", "pinned", "long", "prod"), ago(8)) | {"new": ago(6)}
    references = found(used=used, busy={"held"})
    assert expired(references, used, times) == ("dev",)
    assert expires_at("long", used, times) == ago(8) + 30 * DAY
    assert expires_at("prod", used, times) is None
    assert expires_at("pinned", used, times) is None


KEYS = [VersionKey(ModelName("m", name), char * 32) for name in "xyz" for char in "12"]
keys = st.sampled_from(KEYS)
some = st.frozensets(keys, max_size=3)
ages = st.floats(0, 12).map(ago)
names = st.sampled_from(["dev", "prod"])
references = st.builds(
    References,
    now=st.just(NOW),
    known=st.just(frozenset(KEYS)),
    revisions=st.lists(
        st.builds(
            ShownVersions,
            revision=st.builds(Revision, names, st.integers(1, 9)),
            versions=some,
            until=st.none() | ages,
        ),
        max_size=4,
    ).map(tuple),
    planned=st.lists(
        st.builds(PlannedVersion, environment=names, key=keys, at=ages), max_size=2
    ).map(tuple),
    open_work=st.lists(
        st.builds(OpenWork, environment=names, key=keys, began=ages), max_size=2
    ).map(tuple),
    tombstones=st.dictionaries(keys, ages, max_size=4).map(
        lambda found: {key: Tombstone(key=key, recorded_at=at) for key, at in found.items()}
    ),
    busy=st.frozensets(names, max_size=1),
    written=st.frozensets(keys, max_size=1),
)
views = st.lists(
    st.builds(ReadingView, name=st.just(TableName("v", "v")), reads=some, key=st.none() | keys),
    max_size=4,
).map(lambda found: [replace(v, name=TableName("v", f"v{n}")) for n, v in enumerate(found)])


def naive(found: References, views: list[ReadingView]) -> set[VersionKey]:
    """The same, by going over all there is until nothing is added any more."""
    ttl = TIMES.history
    alive = [w for w in found.open_work if w.key in found.written or NOW - w.began < ttl]
    kept = set(found.written) | {each.key for each in alive}
    for p in found.planned:
        if p.environment in found.busy or NOW - p.at < ttl:
            kept.add(p.key)
    for r in found.revisions:
        own = [w for w in alive if w.environment == r.revision.environment]
        if r.until is None or NOW - r.until < ttl or any(w.began <= r.until for w in own):
            kept |= r.versions
    while True:
        more = {k for v in views if v.key is None or v.key in kept for k in v.reads}
        if more <= kept:
            return kept
        kept |= more


@given(references, views)
def test_it_is_what_a_naive_search_finds(found: References, views: list[ReadingView]) -> None:
    swept = sweep(found, views, TIMES)
    assert set(swept.kept) == naive(found, views)


@given(references, views, keys)
def test_of_the_views_only_its_readers_decide_about_a_version(
    found: References, views: list[ReadingView], key: VersionKey
) -> None:
    own = readers(key, by_version(views))
    assert (key in sweep(found, own, TIMES).kept) == (key in naive(found, views))


@given(references, views)
def test_r12_nothing_reachable_is_ever_due_and_every_other_version_has_one_fate(
    found: References, views: list[ReadingView]
) -> None:
    swept = sweep(found, views, TIMES)
    fates = [*swept.kept, *swept.marked, *swept.waiting, *swept.due]
    assert sorted(fates) == sorted(found.known)
    assert all(NOW - found.tombstones[key].recorded_at >= TIMES.grace for key in swept.due)
