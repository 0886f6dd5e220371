"""What holds for several kinds: what is read, options that change no row, environments."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.app.memory_world import MemoryWorld
from tests.depth import examples
from tests.kinds.sentences.projects import (
    built,
    fill,
    graph_of,
    instant,
    node_of,
    problems,
    read,
    refusal,
    span,
    table_of,
)
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.restatement import restate_all
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.time.schedule import batches, missing

KINDS = {
    "INCREMENTAL_BY_TIME_RANGE": "time_column event_date",
    "INCREMENTAL_BY_UNIQUE_KEY": "unique_key id",
    "INCREMENTAL_BY_PARTITION": "",
    "INCREMENTAL_UNMANAGED": "",
    "FULL": "",
    "VIEW": "",
    "EMBEDDED": "",
    "SCD_TYPE_2_BY_TIME": "unique_key id, updated_at_name event_date",
    "SCD_TYPE_2_BY_COLUMN": "unique_key id, columns *",
    "MANAGED": "",
}
BATCHED = ("lookback 3", "batch_size 7", "forward_only true", "disable_restatement true")


def text_of(keyword: str, option: str = "") -> str:
    options = ", ".join(each for each in (KINDS[keyword], option) if each)
    partitions = ", partitioned_by (region)" if keyword == "INCREMENTAL_BY_PARTITION" else ""
    condition = (
        "WHERE event_date BETWEEN @start_date AND @end_date"
        if keyword == "INCREMENTAL_BY_TIME_RANGE"
        else ""
    )
    return (
        f"MODEL (name demo.x, kind {keyword}{f' ({options})' if options else ''}{partitions}, "
        f"start '2024-01-01'); SELECT id, region, event_date FROM raw.rows {condition}"
    )


ROWS = "raw.rows"
FIRST, SECOND, THIRD = (date(2024, 1, day) for day in (1, 2, 3))


@pytest.mark.full
@pytest.mark.parametrize(
    "text,ids,loads",
    [
        (text_of("INCREMENTAL_BY_TIME_RANGE"), [1, 3, 4], 2),  # the second is late, and made again
        (text_of("FULL"), [3, 4], 2),
        (text_of("VIEW"), [3, 4], 1),  # it was made, and is never loaded
        (text_of("EMBEDDED"), None, 0),
        ("MODEL (name demo.x, kind SEED (path 'x.csv'), columns (id int))", [7], 1),
        (None, [3, 4], 0),  # a source of others
    ],
)
def test_a_kind_says_how_the_rows_of_a_model_are_loaded(
    text: str | None, ids: list[int] | None, loads: int
) -> None:
    """After two days one of their rows is there; a day later the source has other rows."""
    world, done = MemoryWorld(), 0
    fill(world, ROWS, [(1, 0, "", "", FIRST), (2, 0, "", "", SECOND)])
    for until in (48, 72):
        world.land(until=until)
        texts = [each for each in [text] if each]
        done += len(built(world, *texts, attachments={"x.csv": "id\n7\n"}))
        world.catalog.overwrite(
            TableName("raw", "rows"), [(3, 0, "", "", SECOND), (4, 0, "", "", THIRD)]
        )
    assert done == loads
    name = "demo.x" if text else ROWS
    if ids is None:
        assert not world.catalog.views([TableName("demo", "x")])
    else:
        assert [row[0] for row in world.rows(name)] == ids


@pytest.mark.parametrize("keyword", KINDS)
def test_a_kind_is_a_word_in_the_header(keyword: str) -> None:
    model = read(text_of(keyword))
    assert model.kind.keyword == keyword
    assert model.warnings == ()
    assert read(text_of(keyword).replace(keyword, keyword.lower())).kind == model.kind


def test_a_kind_that_nobody_knows_is_refused_with_the_one_that_was_meant() -> None:
    (found,) = problems(text_of("FULL").replace("FULL", "INCREMENTAL_BY_TIME"))
    assert found.message == "unknown kind INCREMENTAL_BY_TIME"
    assert "Did you mean INCREMENTAL_BY_TIME_RANGE?" in found.advice


@pytest.mark.parametrize("keyword", KINDS)
def test_an_option_that_a_kind_does_not_have_is_refused(keyword: str) -> None:
    assert refusal(text_of(keyword, "lokback 2")) == f"the kind {keyword} has no option 'lokback'"


FRAGMENTS = (
    *(
        "(",
        ")",
        "[",
        "]",
        ",",
        "'",
        '"',
        "`",
        "@",
        "*",
        ":",
        "::",
        "->",
        "$$",
        "--",
        "/*",
        "{",
        "}",
    ),
    *("WHEN MATCHED", "NULL", "0", "source.", "SELECT 1", "INTERVAL '1' DAY", "x", "\x00", "é"),
)
OPTIONS = (
    """INCREMENTAL_BY_UNIQUE_KEY (
      unique_key (id, id::text || 'x'),
      when_matched (
        WHEN MATCHED AND source.id IS NULL THEN DELETE
        WHEN MATCHED THEN UPDATE SET target.id = source.id
      ),
      merge_filter target.event_date > @start_date,
      batch_size 3
    )""",
    """INCREMENTAL_BY_UNIQUE_KEY (
      unique_key [id],
      incremental_predicates ['DBT_INTERNAL_DEST.a > 1']
    )""",
    """SCD_TYPE_2_BY_COLUMN (
      unique_key id,
      columns [id, region],
      valid_from_name a,
      time_data_type date,
      invalidate_hard_deletes true
    )""",
    """INCREMENTAL_BY_TIME_RANGE (time_column (event_date, 'yyyyMMdd'), lookback 2),
    partitioned_by (DATE_TRUNC('month', event_date), bucket(16, id))""",
)


@settings(max_examples=examples(400), derandomize=True, deadline=None)
@given(
    written=st.sampled_from(OPTIONS).map(lambda text: re.findall(r"\w+|\s+|.", text)),
    dialect=st.sampled_from(["spark", "postgres", "bigquery"]),
    edits=st.lists(
        st.tuples(st.integers(0, 90), st.sampled_from(FRAGMENTS)), min_size=1, max_size=3
    ),
)
def test_any_text_among_the_options_is_read_or_reported(
    written: list[str], dialect: str, edits: list[tuple[int, str]]
) -> None:
    for where, fragment in edits:
        written[where % len(written)] = f" {fragment} "
    text = (
        f"MODEL (name demo.x, kind {''.join(written)}, dialect {dialect}); SELECT id, region, "
        "event_date FROM raw.rows WHERE event_date BETWEEN @start_date AND @end_date"
    )
    with suppress(ProjectInvalid):  # any other error is one too many
        read(text)


# Options that change no row


@pytest.mark.full
@pytest.mark.parametrize(
    "keyword,option",
    [
        *(("INCREMENTAL_BY_TIME_RANGE", each) for each in BATCHED),
        *(("INCREMENTAL_BY_UNIQUE_KEY", each) for each in BATCHED),
        ("INCREMENTAL_BY_PARTITION", "forward_only false"),
        ("INCREMENTAL_BY_PARTITION", "disable_restatement true"),
        ("INCREMENTAL_UNMANAGED", "forward_only false"),
        ("INCREMENTAL_UNMANAGED", "disable_restatement true"),
        ("SCD_TYPE_2_BY_TIME", "forward_only false"),
        ("SCD_TYPE_2_BY_TIME", "disable_restatement false"),
        ("SCD_TYPE_2_BY_COLUMN", "batch_size 1"),
    ],
)
def test_how_rows_are_loaded_is_metadata(keyword: str, option: str) -> None:
    before = node_of(text_of(keyword)).fingerprint
    after = node_of(text_of(keyword, option)).fingerprint
    assert after.data_version == before.data_version
    assert after.metadata != before.metadata


@pytest.mark.parametrize(
    "keyword,forward_only,disable_restatement",
    [
        ("INCREMENTAL_BY_TIME_RANGE", False, False),
        ("INCREMENTAL_BY_UNIQUE_KEY", False, False),
        ("INCREMENTAL_BY_PARTITION", True, False),
        ("INCREMENTAL_UNMANAGED", True, False),
        ("SCD_TYPE_2_BY_TIME", True, True),
        ("SCD_TYPE_2_BY_COLUMN", True, True),
    ],
)
def test_forward_only_and_disable_restatement_have_the_defaults_of_their_kind(
    keyword: str, forward_only: bool, disable_restatement: bool
) -> None:
    defaults = {"forward_only": forward_only, "disable_restatement": disable_restatement}
    for option, default in defaults.items():
        kind = read(text_of(keyword)).kind
        assert getattr(kind, option) is default
        other = read(text_of(keyword, f"{option} {str(not default).lower()}")).kind
        assert getattr(other, option) is not default


# Batches


def test_a_batch_has_at_most_the_units_of_the_batch_size() -> None:
    model = read(text_of("INCREMENTAL_BY_TIME_RANGE", "batch_size 2"))
    loaded = [span("2024-01-04", "2024-01-05")]
    found = batches(model, missing(model, loaded, instant("2024-01-07")))
    first = instant("2024-01-01")
    expected = [(0, 2), (2, 3), (4, 6)]  # a gap ends a batch
    assert found == tuple(
        Interval(first + timedelta(days=start), first + timedelta(days=end))
        for start, end in expected
    )


@pytest.mark.parametrize("keyword", ["INCREMENTAL_BY_TIME_RANGE", "INCREMENTAL_BY_UNIQUE_KEY"])
def test_batches_are_never_run_at_once(keyword: str) -> None:
    assert read(text_of(keyword, "batch_concurrency 1")).unsupported == ()
    (problem,) = read(text_of(keyword, "batch_concurrency 2")).unsupported
    assert "run one after the other" in problem.message


def test_batches_that_build_on_each_other_are_no_option() -> None:
    found = refusal(text_of("INCREMENTAL_BY_PARTITION", "batch_size 2"))
    assert "the kind INCREMENTAL_BY_PARTITION has no option 'batch_size'" in found


# Restatement, and Python
@pytest.mark.parametrize(
    "keyword", ["INCREMENTAL_BY_PARTITION", "INCREMENTAL_BY_UNIQUE_KEY", "INCREMENTAL_UNMANAGED"]
)
def test_what_builds_on_its_own_rows_is_restated_whole(keyword: str) -> None:
    name, loaded = ModelName("demo", "x"), span("2024-01-01", "2024-03-01")
    asked = span("2024-02-01", "2024-02-02")
    found = restate_all(graph_of(text_of(keyword)), [name], asked, {name: [loaded]})
    assert found.ranges == {name: (loaded,)}


@pytest.mark.parametrize("keyword", ["EMBEDDED", "MANAGED", "SEED", "VIEW"])
def test_a_python_model_cannot_be_of_every_kind(keyword: str) -> None:
    kind = {"name": keyword} | ({"path": "a.csv"} if keyword == "SEED" else {})
    text = (
        "from vde_dagster import model\n"
        f"@model('m.x', columns={{'a': 'int'}}, kind={kind})\n"
        "def x(context): ..."
    )
    assert refusal(text) == f"a Python model cannot be of kind {keyword}"


# Environments

EVENTS = """MODEL (
  name demo.events,
  kind INCREMENTAL_BY_TIME_RANGE (time_column at),
  start '2024-01-01'
);
SELECT id, at, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt"""
SUMS = """MODEL (name demo.sums, kind FULL, start '2024-01-01');
SELECT SUM(amount) AS amount FROM demo.events"""
LARGE = "MODEL (name demo.large, kind VIEW); SELECT id FROM demo.events WHERE amount > 10"


@pytest.mark.parametrize("environment,schema", [("prod", "demo"), ("dev", "demo__dev")])
def test_each_environment_has_a_view_of_the_versioned_table(environment: str, schema: str) -> None:
    world = MemoryWorld.landed((1, 5), (2, 20), until=24)
    built(world, EVENTS, SUMS, LARGE, environment=environment)
    for name in ("events", "sums", "large"):
        view = world.catalog.view(TableName(schema, name))
        assert view is not None
        assert view.target == table_of(world, f"demo.{name}", environment)
    assert world.rows(f"{schema}.sums") == [(25,)]
