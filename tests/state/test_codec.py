# ruff: noqa: E501 - texts as they are stored stay on one line
"""What goes into the database comes out the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import ALGORITHMS, MODULUS, RowSum
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerChange,
    LedgerEntry,
    LedgerOperation,
    Trace,
)
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.ledger.late.decision import Load, SourceFound
from vde_dagster.core.ledger.late.history import ProcessingUri
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.ledger.staleness import FreshAt, LastLook, SeenInput
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.state import codec, ledger, schema
from vde_dagster.state.sql_state import SqlState

# Years 2 to 9998: the library makes instants in UTC only there.
INSTANTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC))
PARTS = st.from_regex(r"[a-z_][a-z0-9_]{0,9}", fullmatch=True)
PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
# All other values are made of these, by their annotations.
st.register_type_strategy(datetime, INSTANTS)
st.register_type_strategy(Path, PARTS.map(Path))
st.register_type_strategy(
    Interval,
    st.lists(INSTANTS, min_size=2, max_size=2, unique=True).map(
        lambda pair: Interval(*sorted(pair))
    ),
)
st.register_type_strategy(ModelName, st.builds(ModelName, PARTS, PARTS, st.just("") | PARTS))
st.register_type_strategy(RowSum, st.builds(RowSum, rows=NUMBERS, sum=st.integers(0, MODULUS - 1)))
st.register_type_strategy(Trace, st.builds(Trace, seconds=st.floats(0, 1e9)))
ENTRIES = st.builds(
    LedgerEntry,
    digest=PLAIN,
    work_id=PLAIN,
    iceberg_snapshot_id=st.none() | NUMBERS,
    algorithm=st.sampled_from(["another/1", *ALGORITHMS]),
    status=st.just(EntryStatus.COMPUTED),
    reason=PLAIN,
)


KINDS: dict[str, Any] = {
    "columns": tuple[Column, ...],
    "reasons": tuple[str, ...],
    "source": ModelSource,
    "trace": Trace,
    "holding": Holding,
    "look": LastLook,
    "mark": HighWaterMark,
    "pending": tuple[Pending, ...],
    "publication": Publication,
    "audits": tuple[AuditResult, ...],
}


def encode(what: str, value: object) -> Any:
    own = getattr(codec, f"encode_{what}", None)
    return codec.encode(KINDS[what], value) if own is None else own(value)


def decode(what: str, text: Any, **given: object) -> Any:
    own = getattr(codec, f"decode_{what}", None)
    return codec.decode(KINDS[what], text) if own is None else own(text, **given)


@pytest.mark.parametrize(
    "what,values",
    [
        ("instant", INSTANTS),
        ("model", st.from_type(ModelName)),
        ("columns", st.lists(st.from_type(Column)).map(tuple)),
        ("reasons", st.lists(st.text()).map(tuple)),
        ("source", st.from_type(ModelSource)),
        ("mark", st.from_type(HighWaterMark)),
        pytest.param("intent", st.from_type(Intent), marks=pytest.mark.full),
        pytest.param("publication", st.from_type(Publication), marks=pytest.mark.full),
    ],
)
@given(data=st.data())
def test_what_is_stored_comes_back(
    what: str, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    value = data.draw(values)
    assert decode(what, encode(what, value)) == value


def test_a_name_of_two_parts_is_stored_as_it_was_before_there_were_three() -> None:
    assert codec.encode_model(ModelName("raw", "orders")) == "raw.orders"
    assert codec.decode_model("raw.orders") == ModelName("raw", "orders")
    assert codec.encode_model(ModelName("raw", "orders", "other")) == "other.raw.orders"
    assert codec.decode_model("other.raw.orders") == ModelName("raw", "orders", "other")


def test_json_is_plain_ascii_so_that_every_database_takes_it() -> None:
    source = ModelSource(path=Path("m.sql"), text="nul \0, surrogate \ud800, größer")
    text = codec.encode(ModelSource, source)
    assert text.isascii()
    assert "\0" not in text
    assert codec.decode_source(text) == source


def test_a_ledger_entry_comes_back_from_its_row(sqlite_url: str) -> None:
    state = SqlState.open(sqlite_url)
    number = iter(range(10**6))

    @given(ENTRIES)
    def check(entry: LedgerEntry) -> None:
        key = VersionKey(ModelName("a", "b"), str(next(number)))
        with state._database.write() as connection:
            connection.execute(schema.ledger.insert(), ledger._encode_entry(key, entry, 1))
        assert state.ledger([key]) == {key: (entry,)}

    check()
    state.close()


def test_equal_columns_are_decoded_once() -> None:
    text = codec.encode(tuple[Column, ...], (Column(name="n", type="bigint"),))
    assert codec.decode_columns(text) is codec.decode_columns(text)


# What releases of this schema version stored; these texts are never written again
RAW = ModelName("raw", "orders")
DAY = Interval(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC))
COLUMNS = (Column(name="n", type="bigint"), Column(name="t", type="string", description="why"))
MARK = HighWaterMark(
    source=RAW,
    table_uuid="u",
    iceberg_snapshot_id=7,
    sequence_number=3,
    committed_at=datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    complete_to=None,
)
TRACE = Trace(key="k", inputs={RAW: "t"}, seconds=0.5)
INTENT = Intent(
    work_id="w",
    key=VersionKey(ModelName("mart", "sales", "other"), "v"),
    environment="prod",
    intervals=(DAY,),
    inputs={RAW: 5, ModelName("raw", "late"): None},
    base=None,
    execution_time=DAY.end,
    session=Load(
        sources=(
            SourceFound(
                before=None,
                after=MARK,
                evidence=(
                    ProcessingUri(partition=(("day", "2024-01-01"), ("hour", 3)), files=1, rows=2),
                ),
            ),
        ),
        fill=(),
        loaded=(DAY,),
    ),
    drifted=True,
    definition="d",
    read_beside={ModelName("raw", "limits"): 6, ModelName("raw", "ages"): None},
)
PUBLICATION = Publication(
    iceberg_snapshot_id=9,
    changes=(
        LedgerChange(operation=LedgerOperation.ADD, interval=DAY, rows=RowSum(rows=2, sum=2**64)),
        LedgerChange(
            operation=LedgerOperation.KEEP,
            interval=DAY,
            rows=RowSum(),
            digest="d",
            status=EntryStatus.OUTDATED,
            reason="r",
            trace=TRACE,
            kept=DAY,
        ),
    ),
    columns=COLUMNS,
    marks=(MARK,),
    pending=(Pending(interval=DAY, sources=(RAW,), reason=PendingReason.BEYOND_THRESHOLD),),
    algorithm="murmur3_128",
)
SOURCE = ModelSource(
    path=Path("models/a.sql"),
    text="SELECT 1",
    defaults={"b": "1", "a": "2"},
    attachments={"m": "x"},
)
HOLDING = Holding(number=4, removed=2, computed=(DAY,), empty=(DAY,), columns=COLUMNS[:1])
LOOK = LastLook(
    definition="d",
    number=4,
    inputs={RAW: SeenInput(table="t", number=None)},
    stale=(DAY,),
    fresh=FreshAt(number=3, heads={ModelName("a", "b"): 6}),
)
AUDIT = AuditResult(
    name="not_null",
    arguments=(("columns", "(n)"),),
    failing=1,
    columns=("n", "m"),
    sample=(("x", 1.5), (None, True)),
    message="1 row",
)
STORED: list[tuple[str, Any, str]] = [
    ("columns", COLUMNS, '[["n","bigint",""],["t","string","why"]]'),
    ("source", SOURCE, '{"path":"models/a.sql","text":"SELECT 1","defaults":{"b":"1","a":"2"},"attachments":{"m":"x"}}'),
    ("trace", TRACE, '{"key":"k","inputs":{"raw.orders":"t"},"seconds":0.5}'),
    ("holding", HOLDING, '{"computed":[[1704067200000000,1704153600000000]],"outdated":[],"empty":[[1704067200000000,1704153600000000]],"columns":[["n","bigint",""]]}'),
    ("look", LOOK, '{"definition":"d","number":4,"inputs":{"raw.orders":["t",null]},"stale":[[1704067200000000,1704153600000000]],"fresh":{"number":3,"heads":{"a.b":6}}}'),
    ("mark", MARK, '{"source":"raw.orders","table_uuid":"u","iceberg_snapshot_id":7,"sequence_number":3,"committed_at":1704164645000006,"complete_to":null}'),
    ("intent", INTENT, '{"work_id":"w","model":"other.mart.sales","version":"v","environment":"prod","intervals":[[1704067200000000,1704153600000000]],"inputs":{"raw.orders":5,"raw.late":null},"base":null,"execution_time":1704153600000000,"session":{"mode":"stateless","sources":[{"before":null,"after":{"source":"raw.orders","table_uuid":"u","iceberg_snapshot_id":7,"sequence_number":3,"committed_at":1704164645000006,"complete_to":null},"evidence":[{"partition":[["day","2024-01-01"],["hour",3]],"files":1,"rows":2}]}],"fill":[],"loaded":[[1704067200000000,1704153600000000]],"rewrite":"","late":[],"limit":null,"pending":[]},"drifted":true,"accepted":null,"beside":[],"definition":"d","read_beside":{"raw.limits":6,"raw.ages":null}}'),
    ("publication", PUBLICATION, '{"iceberg_snapshot_id":9,"changes":[{"operation":"add","interval":[1704067200000000,1704153600000000],"rows":[2,"1","0"],"digest":null,"status":"computed","reason":"","trace":null,"kept":null},{"operation":"keep","interval":[1704067200000000,1704153600000000],"rows":[0,"0","0"],"digest":"d","status":"outdated","reason":"r","trace":{"key":"k","inputs":{"raw.orders":"t"},"seconds":0.5},"kept":[1704067200000000,1704153600000000]}],"columns":[["n","bigint",""],["t","string","why"]],"marks":[{"source":"raw.orders","table_uuid":"u","iceberg_snapshot_id":7,"sequence_number":3,"committed_at":1704164645000006,"complete_to":null}],"pending":[{"interval":[1704067200000000,1704153600000000],"sources":["raw.orders"],"reason":"beyond threshold"}],"marks_stay":false,"algorithm":"murmur3_128"}'),
    ("audits", (AUDIT,), '[{"name":"not_null","arguments":[["columns","(n)"]],"blocking":true,"failing":1,"columns":["n","m"],"sample":[["x",1.5],[null,true]],"message":"1 row"}]'),
    ("reasons", ("a", "b"), '["a","b"]'),
]  # fmt: skip


@pytest.mark.parametrize("what,value,text", STORED, ids=[row[0] for row in STORED])
def test_what_is_stored_stays_the_same_text(what: str, value: Any, text: str) -> None:
    given = {"number": 4, "removed": 2} if what == "holding" else {}
    assert encode(what, value) == text
    assert decode(what, text, **given) == value


def test_what_was_written_before_there_was_a_field_is_read() -> None:
    text = '{"definition":"d","number":4,"inputs":{"raw.orders":["t",null]},"stale":[]}'
    assert codec.decode(LastLook, text).fresh is None


def test_what_a_later_release_added_is_passed_over() -> None:
    text = codec.encode(Trace, TRACE)
    assert text is not None
    assert codec.decode_trace(text.replace("{", '{"later":1,', 1)) == TRACE


@pytest.mark.parametrize("text", ['"soon"', "[]", "{}"])
def test_a_length_of_time_that_is_no_number_is_not_read(text: str) -> None:
    with pytest.raises(TypeError):
        codec.decode(timedelta, text)
