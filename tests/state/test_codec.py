"""What goes into the database comes out the same."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import ALGORITHMS, FIRST_ALGORITHM, MODULUS, RowSum
from vde_dagster.core.ledger.entries import (
    LedgerChange,
    LedgerEntry,
    LedgerOperation,
    Standing,
    Trace,
)
from vde_dagster.core.ledger.late_data import HighWaterMark, Load, ProcessingUri
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.state import codec, ledger, schema
from vde_dagster.state.sql_state import SqlState

ids = st.integers(-(2**63), 2**63 - 1)
# Years 2 to 9998: the library makes instants in UTC only there.
instants = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC))
intervals = (
    st.tuples(instants, instants)
    .filter(lambda pair: pair[0] != pair[1])
    .map(lambda pair: Interval(min(pair), max(pair)))
)
several = st.lists(intervals, max_size=4).map(tuple)
texts = st.text(max_size=20)
parts = st.from_regex(r"[a-z_][a-z0-9_]{0,9}", fullmatch=True)
names = st.builds(ModelName, parts, parts, st.just("") | parts)
sums = st.builds(RowSum, rows=ids, sum=st.integers(0, MODULUS - 1) | st.just(MODULUS - 1))
algorithms = st.sampled_from([FIRST_ALGORITHM, *ALGORITHMS])
columns = st.lists(st.builds(Column, name=texts, type=texts, description=texts), max_size=3).map(
    tuple
)
marks = st.builds(
    HighWaterMark,
    source=names,
    table_uuid=texts,
    iceberg_snapshot_id=ids,
    sequence_number=ids,
    committed_at=instants,
    complete_to=st.none() | instants,
)
uris = st.builds(
    ProcessingUri,
    partition=st.lists(st.tuples(texts, st.none() | texts | ids), max_size=3).map(tuple),
    files=ids,
    rows=ids,
)
loads = st.builds(
    Load,
    before=st.none() | marks,
    after=marks,
    fill=several,
    held=several,
    evidence=st.lists(uris, max_size=2).map(tuple),
    rewrite=texts,
)
intents = st.builds(
    Intent,
    work_id=texts,
    key=st.builds(VersionKey, names, texts),
    environment=texts,
    intervals=several,
    inputs=st.dictionaries(names, st.none() | ids, max_size=3),
    base=st.none() | ids,
    execution_time=instants,
    session=st.none() | loads,
)
traces = st.builds(
    Trace,
    key=texts,
    inputs=st.dictionaries(names, texts, max_size=3),
    seconds=st.floats(0, 1e9),
)
changes = st.builds(
    LedgerChange,
    operation=st.sampled_from(LedgerOperation),
    interval=intervals,
    rows=sums,
    digest=st.none() | texts,
    standing=st.sampled_from(Standing),
    reason=texts,
    trace=st.none() | traces,
    kept=st.none() | intervals,
)
publications = st.builds(
    Publication,
    iceberg_snapshot_id=st.none() | ids,
    changes=st.lists(changes, max_size=3).map(tuple),
    columns=columns,
    mark=st.none() | marks,
    algorithm=algorithms,
)
sources = st.builds(
    ModelSource,
    path=st.lists(parts, min_size=1, max_size=3).map(lambda each: Path(*each)),
    text=st.text(),
    defaults=st.dictionaries(texts, texts, max_size=2),
    attachments=st.dictionaries(texts, st.text(), max_size=2),
)
plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
entries = st.builds(
    LedgerEntry,
    interval=intervals,
    rows=sums,
    columns=columns,
    digest=plain,
    work_id=plain,
    iceberg_snapshot_id=st.none() | ids,
    algorithm=algorithms,
    trace=st.none() | traces,
)


@given(instants)
def test_an_instant_comes_back_aware_and_exact(instant: datetime) -> None:
    found = codec.decode_instant(codec.encode_instant(instant))
    assert (found, found.tzinfo) == (instant, UTC)


@given(names)
def test_a_name_comes_back(name: ModelName) -> None:
    assert codec.decode_model(codec.encode_model(name)) == name


def test_a_name_of_two_parts_is_stored_as_it_was_before_there_were_three() -> None:
    assert codec.encode_model(ModelName("raw", "orders")) == "raw.orders"
    assert codec.decode_model("raw.orders") == ModelName("raw", "orders")
    assert codec.encode_model(ModelName("raw", "orders", "other")) == "other.raw.orders"
    assert codec.decode_model("other.raw.orders") == ModelName("raw", "orders", "other")


@given(columns)
def test_columns_come_back(given_columns: tuple[Column, ...]) -> None:
    assert codec.decode_columns(codec.encode_columns(given_columns)) == given_columns


@given(st.lists(texts).map(tuple))
def test_reasons_come_back(reasons: tuple[str, ...]) -> None:
    assert codec.decode_reasons(codec.encode_reasons(reasons)) == reasons


@given(sources)
def test_a_source_comes_back(source: ModelSource) -> None:
    assert codec.decode_source(codec.encode_source(source)) == source


@given(marks)
def test_a_mark_comes_back(mark: HighWaterMark) -> None:
    assert codec.decode_mark(codec.encode_mark(mark)) == mark


@given(intents)
def test_an_intent_comes_back(intent: Intent) -> None:
    assert codec.decode_intent(codec.encode_intent(intent)) == intent


@given(publications)
def test_a_publication_comes_back(publication: Publication) -> None:
    assert codec.decode_publication(codec.encode_publication(publication)) == publication


def test_json_is_plain_ascii_so_that_every_database_takes_it() -> None:
    source = ModelSource(path=Path("m.sql"), text="nul \0, surrogate \ud800, größer")
    text = codec.encode_source(source)
    assert text.isascii()
    assert "\0" not in text
    assert codec.decode_source(text) == source


def test_a_ledger_entry_comes_back_from_its_row(sqlite_url: str) -> None:
    state = SqlState.open(sqlite_url)
    number = iter(range(10**6))

    @given(entries)
    def check(entry: LedgerEntry) -> None:
        key = VersionKey(ModelName("a", "b"), str(next(number)))
        with state._database.write() as connection:
            connection.execute(schema.ledger.insert(), ledger._encode_entry(key, entry, 1))
        assert state.ledger([key]) == {key: (entry,)}

    check()
    state.close()


def test_equal_columns_are_decoded_once() -> None:
    text = codec.encode_columns((Column(name="n", type="bigint"),))
    assert codec.decode_columns(text) is codec.decode_columns(text)
