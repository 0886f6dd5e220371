# ruff: noqa: E501 - rows of tables stay on one line
"""What changes a fingerprint, and what does not (seed 000, *Fingerprinting*)."""

from __future__ import annotations

import pytest

from tests.core.conftest import build, read
from vde_dagster.core.model.fingerprint import Fingerprint, fingerprint, view_version
from vde_dagster.core.names import ModelName, TableName

BASE = """MODEL (name m.x, kind FULL, owner 'me', description 'It', cron '@daily', tags (p, q), grain (a));
SELECT t.a AS a, COUNT(*) AS n, foo(t.b) AS f, DATE_TRUNC('DAY', t.ts) AS d
FROM raw.t AS t LEFT JOIN raw.u AS u ON t.a = u.a
WHERE t.ts BETWEEN @start_dt AND @end_dt AND (t.a > 1)
GROUP BY t.a, foo(t.b), DATE_TRUNC('DAY', t.ts)"""


def of(text: str, name: str = "m.x") -> Fingerprint:
    return build({name: text})[ModelName.parse(name)].fingerprint


@pytest.mark.parametrize(
    "old,new",
    [
        ("(t.a > 1)", "(t.a > 2)"),
        ("@start_dt", "@start_date"),
        ("kind FULL", "kind INCREMENTAL_BY_TIME_RANGE (time_column d)"),
        ("cron '@daily'", "cron '@monthly'"),
        ("grain (a)", "grain (a), start '2024-01-01'"),
        ("grain (a)", "grain (a), columns (a bigint)"),
        ("name m.x", "name m.y"),
    ],
)
def test_what_changes_rows_or_their_storage_changes_the_data_hash(old: str, new: str) -> None:
    name = "m.y" if new == "name m.y" else "m.x"
    assert old in BASE
    assert of(BASE.replace(old, new), name).data != of(BASE).data


@pytest.mark.parametrize(
    "old,new",
    [
        ("owner 'me'", "owner 'you'"),
        ("description 'It'", "description 'That'"),
        ("cron '@daily'", "cron '30 6 * * *'"),
        ("tags (p, q)", "tags (p)"),
        ("grain (a)", "grain (a, n)"),
        ("t.a AS a,", "t.a AS a, -- the key\n"),
        ("raw.t AS t", "raw.t AS t /* all of it */"),
    ],
)
def test_what_people_read_changes_the_metadata_hash_alone(old: str, new: str) -> None:
    before, after = of(BASE), of(BASE.replace(old, new))
    assert old in BASE
    assert after.metadata != before.metadata
    assert (after.data, after.data_version) == (before.data, before.data_version)
    assert after.digest != before.digest
    assert after.definition != before.definition


@pytest.mark.parametrize(
    "header,new",
    [
        ("kind FULL, cron '@daily'", "kind FULL, cron '@monthly'"),
        ("kind FULL, cron '@daily'", "kind FULL, cron '@daily', start '2024-01-01'"),
        ("kind INCREMENTAL_BY_TIME_RANGE (time_column ts), cron '@daily'", "kind INCREMENTAL_BY_TIME_RANGE (time_column ts), cron '@daily', start '2024-01-01'"),
    ],
)  # fmt: skip
def test_when_a_model_starts_and_is_due_is_metadata_where_its_rows_do_not_follow_from_it(
    header: str, new: str
) -> None:
    # Nothing in this query depends on the range of its evaluation; an interval of the third model
    # holds the same rows whenever the model starts.
    where = " WHERE t.ts BETWEEN @start_dt AND @end_dt" if "RANGE" in header else ""
    one, two = (
        of(f"MODEL (name m.x, {each}); SELECT t.ts FROM raw.t AS t{where}")
        for each in (header, new)
    )
    assert one.data == two.data
    assert one.metadata != two.metadata


def test_the_order_of_tags_does_not_count() -> None:
    assert of(BASE.replace("(p, q)", "(q, p)")) == of(BASE)


CHAIN = {
    "m.a": "SELECT a, b FROM raw.t WHERE a > 1",
    "m.b": "SELECT a FROM m.a",
    "m.c": "SELECT a FROM m.b",
}


def test_changes_flow_down_to_every_descendant() -> None:
    before = build(CHAIN)
    data = build({**CHAIN, "m.a": "SELECT a, b FROM raw.t WHERE a > 2"})
    metadata = build({**CHAIN, "m.a": CHAIN["m.a"] + " -- why"})
    for name in (ModelName("m", "b"), ModelName("m", "c")):
        old = before[name].fingerprint
        changed, reported = data[name].fingerprint, metadata[name].fingerprint
        assert changed.data == old.data
        assert changed.parent_data != old.parent_data
        assert changed.parent_metadata == old.parent_metadata
        assert changed.data_version != old.data_version
        assert reported.parent_metadata != old.parent_metadata
        assert reported.data_version == old.data_version
        assert changed.definition != old.definition
        assert reported.definition == old.definition
    raw = ModelName("raw", "t")
    assert data[raw] == before[raw]


def test_parents_count_in_any_order() -> None:
    graph = build(CHAIN)
    parents = [graph[ModelName.parse(each)].fingerprint for each in CHAIN]
    model = read("m.s", SEED, {"s.csv": "a\n1\n"})
    assert fingerprint(model, None, parents) == fingerprint(model, None, reversed(parents))
    assert fingerprint(model, None, parents) != fingerprint(model, None, parents[:2])


PYTHON = '''"""A module."""
from vde_dagster import model

LIMIT = 15

def few(frame):
    """Those below a limit."""
    return frame.where(f"a < {LIMIT}")

@model("m.x", kind="FULL", depends_on=["raw.t"], columns={"a": "int", "b": "string"}, owner="me")
def x(context):
    """Rows."""
    return few(context.table("raw.t"))
'''


@pytest.mark.parametrize(
    "old,new",
    [
        ("LIMIT = 15", "LIMIT   =   15  # minutes"),
        ('"""A module."""', '"""Another one."""'),
        ('"""A module."""\n', ""),
        ('    """Rows."""\n', ""),
        ("LIMIT = 15\n", "LIMIT = (\n    15\n)\n"),
        ('    """Those below a limit."""\n', ""),
        ("def few(frame)", "def few( frame )"),
        ('@model("m.x", ', '@model(\n    "m.x",\n    '),
        ('"raw.t"))', "'raw.t'))"),
        ('"raw.t"))', 'u"raw.t"))'),
    ],
)
def test_formatting_comments_and_docstrings_of_python_do_not_count(old: str, new: str) -> None:
    assert old in PYTHON
    before = fingerprint(read("m.x", PYTHON), None, [])
    assert fingerprint(read("m.x", PYTHON.replace(old, new)), None, []).data == before.data


@pytest.mark.parametrize(
    "old,new,data,metadata",
    [
        ('owner="me"', 'owner="you"', False, True),
        ('owner="me"', 'owner="me", cron="30 6 * * *"', False, True),
        ('owner="me"', 'owner="me", cron="@hourly"', True, True),
        ('owner="me"', 'owner="me", tags=["t"]', False, True),
        ("LIMIT = 15", "LIMIT = 16", True, False),
        ("a < {LIMIT}", "a <= {LIMIT}", True, False),
        ('"a": "int"', '"a": "bigint"', True, False),
        ('"b": "string"', '"b": "string", "c": "double"', True, False),
        ('"a": "int", "b": "string"', '"b": "string", "a": "int"', True, False),
        ('["raw.t"]', '{"raw.t": {"before": "1 day"}}', True, False),
        ("return few(context", "return (context", True, False),
        ('"raw.t"))', 'b"raw.t"))', True, False),
    ],
)
def test_the_header_of_a_python_model_is_apart_from_its_code(
    old: str, new: str, data: bool, metadata: bool
) -> None:
    assert old in PYTHON
    before = fingerprint(read("m.x", PYTHON), None, [])
    after = fingerprint(read("m.x", PYTHON.replace(old, new)), None, [])
    assert (after.data != before.data, after.metadata != before.metadata) == (data, metadata)


@pytest.mark.parametrize(
    "old,new",
    [
        ('context.table("raw.t")', "context.spark.sql(x.__doc__)"),
        ('context.table("raw.t")', "context.spark.sql(inspect.getdoc(x))"),
    ],
)
def test_docstrings_that_a_function_reads_count(old: str, new: str) -> None:
    reading = PYTHON.replace(old, new)
    edited = reading.replace("Rows.", "Others.")
    assert edited != reading
    before, after = (fingerprint(read("m.x", each), None, []) for each in (reading, edited))
    assert before.data != after.data


SCALING = """
class scaling:
    @staticmethod
    def model(factor):
        return lambda function: function

"""


def test_another_decorator_that_is_called_model_counts() -> None:
    text = PYTHON.replace("\nLIMIT", f"\n{SCALING}LIMIT")
    two, three = (
        text.replace("def x", f"@scaling.model(factor={each})\ndef x") for each in ("2", "3")
    )
    assert two != three
    before, after = (fingerprint(read("m.x", each), None, []) for each in (two, three))
    assert before.data != after.data


def test_the_header_is_no_code_whatever_the_decorator_is_called() -> None:
    text = PYTHON.replace("import model", "import model as header").replace("@model", "@header")
    before, after = (
        fingerprint(read("m.x", each), None, [])
        for each in (text, text.replace('owner="me"', 'owner="you"'))
    )
    assert before.data == after.data


SEED = "MODEL (name m.s, kind SEED (path 's.csv'))"


def test_a_seed_counts_by_its_content_and_not_by_the_name_of_its_file() -> None:
    moved = SEED.replace("s.csv", "other/t.csv")
    first = fingerprint(read("m.s", SEED, {"s.csv": "a\n1\n"}), None, [])
    renamed = fingerprint(read("m.s", moved, {"other/t.csv": "a\n1\n"}), None, [])
    edited = fingerprint(read("m.s", SEED, {"s.csv": "a\n2\n"}), None, [])
    assert renamed == first
    assert edited.data != first.data


def test_r1_a_view_has_another_version_where_it_reads_another_table() -> None:
    one, two = TableName("s", "a"), TableName("s", "b")
    assert view_version("h", [one, two]) == view_version("h", [two, one])
    assert len({view_version("h", [one]), view_version("h", [two]), view_version("g", [one])}) == 3


def test_every_hash_has_32_hexadecimal_digits() -> None:
    found = of(BASE)
    hashes = (found.data, found.parent_data, found.metadata, found.parent_metadata, found.digest)
    assert all(len(each) == 32 and int(each, 16) >= 0 for each in (*hashes, found.data_version))
