# ruff: noqa: E501 - rows of tables stay on one line
"""Files of a project as nobody would write them: edited ones, and ones made of random pieces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import yaml
from hypothesis import strategies as st

from vde_dagster.project.properties.known_properties import PROPERTIES, UNSUPPORTED
from vde_dagster.project.properties.late_data_property import OPTIONS as LATE_DATA

Files = Mapping[str, bytes]
SQL: Final = "models/m/x.sql"
PYTHON: Final = "models/m/x.py"
YAML: Final = """\
name: shop
defaults: {dialect: spark, start: 2024-01-01, cron: '@daily'}
catalog: {name: lake, properties: {type: sql}}
variables: {number: 3, names: [a, b], name: orders, yes: true, word: a, ratio: 0.5, none: null}
environments:
  dev: {follow_files: false}
clock: {valid_to: [raw.orders]}
spark: {conf: {spark.ui.enabled: 'false'}, master: 'local[1]'}
"""
SOURCES: Final = """\
- name: raw.orders
  columns: {id: bigint, shop: string, amount: double, ts: timestamp, day: date}
- name: raw.other
  columns:
    id: bigint
    items: 'array<struct<a: int, b: string>>'
"""
MACROS: Final = """\
from vde_dagster.project.macros.files import macro

@macro()
def twice(x):
    return f'{x.sql()} * 2'

@macro('typed')
def _typed(x: int, names: list[str], flag: bool = False, *rest):
    return [f'{each} + {x}' for each in names] if flag else x

@macro()
def nothing(*anything):
    return None

@macro()
def given(what, *others, **named):
    return what
"""
SEED: Final = "id,name,at\n1,a,2024-01-01\n2,'b',\n3,\"c,d\",2024-02-29\n"
READER: Final = "MODEL (name m.reader, kind FULL); SELECT * FROM m.x"
PLAIN_AUDIT: Final = "AUDIT (name plain); SELECT * FROM @this_model WHERE id < 0"
AUDITS: Final = "audits/a.sql"
AUDIT_FILES: Final = (
    "AUDIT (name above, defaults (bound := 5, names := (id, 1)));\nSELECT * FROM @this_model WHERE @column > @bound",
    "AUDIT (name above, dialect duckdb, blocking false);\nWITH c AS (SELECT id::TEXT AS t FROM @this_model) SELECT t FROM c WHERE @EACH((1, 2), x -> x) > @column",
    "AUDIT (name above);\nSELECT o.* FROM @this_model AS o JOIN raw.orders AS p ON o.id = p.id WHERE p.ts <= @end_dt AND @column = 1;\n\nAUDIT (name other, description 'it''s'); SELECT 1 AS x",
    "-- a\nAUDIT (name above, defaults (column = id)); /* b */ SELECT * FROM @this_model WHERE id IN (SELECT id FROM raw.orders) OR @column IS NULL",
)
AUDIT_CALLS: Final = (
    "above (column := id)", "above_non_blocking (column := id + 1)", "plain (blocking := false)", "number_of_rows",
    "not_null (columns := (id, shop), condition := id > @start_epoch)", "accepted_values (column := shop, is_in := ('a', 'b'))",
    "accepted_range (column := amount, min_v := 0, inclusive := false)", "forall (criteria := (id > 0, shop <> ''))",
    "match_regex_pattern_list (column := shop, patterns := ('^a', 'b$'))", "unique_combination_of_columns (columns := (id, shop))",
    "z_score (column := amount, threshold := 3)", "sequential_values (column := ts, interval := INTERVAL '1' DAY)",
    "mutually_exclusive_ranges (lower_bound_column := id, upper_bound_column := amount, partition_by := (shop))",
    "source_to_target_count (source := raw.orders, time_column := ts, tolerance := 0.1)",
)  # fmt: skip
PROJECT: Final[Files] = {
    name: text.encode()
    for name, text in {
        "vde.yaml": YAML,
        "external_models.yaml": SOURCES,
        "macros/m.py": MACROS,
        "seeds/s.csv": SEED,
        "models/m/reader.sql": READER,
        "audits/plain.sql": PLAIN_AUDIT,
    }.items()
}

QUERY: Final = (
    "SELECT id, shop, amount, ts, day FROM raw.orders WHERE ts BETWEEN @start_dt AND @end_dt"
)
QUERIES: Final = (
    QUERY,
    QUERY,
    QUERY,
    "SELECT * FROM raw.orders -- all",
    "SELECT id, SUM(amount) AS amount, MAX(ts) AS ts /* last */ FROM raw.orders GROUP BY id",
    "WITH o AS (SELECT * FROM raw.orders WHERE day >= @start_ds) SELECT o.id, o.ts FROM o JOIN raw.other AS p ON o.id = p.id AND o.ts <= @end_ts",
    "SET x = 1; SELECT id, 'it''s; (one)' AS shop, ts, day FROM raw.orders; @IF(@yes, DELETE FROM m.x)",
    "SELECT id, items.a AS a, CASE WHEN id > 1 THEN 2 ELSE @number END AS n FROM raw.other",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY ts) AS n FROM raw.orders QUALIFY n = 1",
    "SELECT id FROM raw.orders UNION ALL SELECT id FROM raw.other ORDER BY 1 LIMIT 5",
)
KINDS: Final = (
    "FULL",
    "VIEW (materialized true)",
    "EMBEDDED",
    "MANAGED",
    "SEED (path '../../seeds/s.csv')",
    "INCREMENTAL_BY_TIME_RANGE (time_column ts)",
    "INCREMENTAL_BY_TIME_RANGE (time_column ts, lookback 2, batch_size 3, batch_concurrency 1, forward_only true)",
    "INCREMENTAL_BY_TIME_RANGE (time_column (shop, 'yyyyMMdd'), partition_by_time_column false)",
    "INCREMENTAL_BY_UNIQUE_KEY (unique_key (id, COALESCE(shop, '')), lookback 1)",
    "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (WHEN MATCHED AND source.amount > 0 THEN UPDATE SET target.amount = source.amount))",
    "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, merge_filter source.day > target.day)",
    "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, incremental_predicates ['DBT_INTERNAL_DEST.day > 1'])",
    "INCREMENTAL_BY_PARTITION (disable_restatement true)",
    "INCREMENTAL_UNMANAGED",
    "SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts, valid_from_name a, valid_to_name b)",
    "SCD_TYPE_2_BY_COLUMN (unique_key (id, shop), columns (amount, day), execution_time_as_valid_from true)",
    "SCD_TYPE_2_BY_COLUMN (unique_key id, columns *, updated_at_name ts, time_data_type date)",
)
GOOD: Final = (
    "owner 'me'",
    "description 'two\nlines, (one) text'",
    "tags (a, 'b c')",
    "stamp 'v2'",
    "cron '30 6 * * MON-FRI', interval_unit hour",
    "cron_tz 'Europe/Berlin'",
    "freshness '4 hours', updates_on all",
    "on_destructive_change warn, on_additive_change error",
    "start '2024-01-31', end 2024-02-29",
    "grains (id, (shop, day))",
    "references (shop_id, seller AS shop_id)",
    "columns (id bigint COMMENT 'the key', ts timestamp)",
    "columns (id bigint, shop string, amount decimal(10, 2), ts timestamp, day date)",
    "column_descriptions (id = 'the key')",
    "dialect duckdb",
    "dialect bigquery",
    "partitioned_by (day, bucket(16, id), days(ts))",
    "partitioned_by DATE_TRUNC('month', day)",
    "clustered_by (shop, id)",
    "table_format iceberg, storage_format orc",
    "physical_properties ('write.a' = 'x', b TRUE, c.d := -1.5)",
    "audits (not_null (columns := (id, shop)), plain)",
    "depends_on (raw.other (before '30 days', after '1 day'))",
    "allow_partials true",
    "enabled true",
    "late_data (mode stateful, sources (raw.orders (tracked_by ts, offset '1 hour')), catchup_threshold '7 days')",
    "late_data (mode stateless, sources 'raw.orders|ts', load_type range, on_source_rewrite stop)",
)  # fmt: skip
OPTIONS: Final = (
    "time_column", "lookback", "batch_size", "batch_concurrency", "forward_only",
    "disable_restatement", "partition_by_time_column", "unique_key", "when_matched",
    "merge_filter", "incremental_predicates", "materialized", "path", "valid_from_name",
    "valid_to_name", "time_data_type", "invalidate_hard_deletes", "updated_at_name",
    "updated_at_as_valid_from", "columns", "execution_time_as_valid_from",
)  # fmt: skip
KEYWORDS: Final = sorted({each.split(maxsplit=1)[0] for each in KINDS})

ODD: Final = (
    "'", '"', "`", "''", "$$", "\\", "\\'", "--", "/*", "*/", "//", "#", ";", ",", ".", "..", ":", "::",
    "(", ")", "()", "[", "]", "[]", "{", "}", "<", ">", "=", ":=", "=>", "->", "|", "||", "!", "?", "%", "~", "^", "&",
    "@", "@@", "@{", "@{name}", "@(", "@IF(", "@EACH(", "@start_ds", "{{", "{%", "${X}", "$1", "*", "-", "+",
    "\n", "\r", "\r\n", "\t", "\f", "\v", "\x00", "\x1a", "\x1b[31m", "\x85", "\u2028", "\ufeff", "\u200b", "\u202e",
    "\xa0", "\ud800", "Größe", "数据", "İ", "ß", "ﬁ", "🦆", "e\u0301", "²", "٣", "_", "__", "ns__x", "x_", "0", "-1", "1.5", "1e999",
    "0x", "0xFF", "NaN", "9" * 30, "9" * 5000, "a" * 300, "0001-01-01", "9999-12-31", "2024-02-30", "'9999-12-31'",
    "NULL", "TRUE", "none", "MODEL", "MODEL (", ");", "SELECT", "FROM", "WHERE", "AND", "AS", "IN", "CASE", "END", "UNION",
    "SEED (path '../../seeds/s.csv')", "x AS y", "array<int>", "map<", "struct<a: int>", "interval", "cast(", "b.c.d.e",
    "m.x", "m.reader", "raw.orders", "raw.orders|ts", "r'x'", "b'1'", "X'1F'", "U&'x'", "E'\\n'", "/*+ hint */", "/* a */", "-- b\n",
)  # fmt: skip
DEEP: Final = tuple(
    opening * depth + inside + closing * depth
    for opening, inside, closing in (
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("(", "", ""),
        ("a + ", "a", ""),
        ("NOT ", "a", ""),
        ("- ", "1", ""),
        ("CASE WHEN a THEN ", "1", " END"),
        ("array<", "int", ">"),
        ("f(", "1", ")"),
        ("x -> ", "1", ""),
        ("(SELECT * FROM ", "raw.orders", ")"),
        ("@IF(TRUE, ", "id", ")"),
        ("a OR ", "a", ""),
        ("id, ", "id", ""),
        ("/* ", "", " */"),
        ("SELECT 1 UNION ", "SELECT 1", ""),
    )
    for depth in (7, 60, 1500)
)
SOFT: Final = (
    " ", "\n", "\t", "\r\n", "\f", "\xa0", "\u3000", "/* a */", "-- b\n", "/* a\n b */", "--\n", "-- 'b\n", "/*+ hint */", "#c\n", "id", "ts", "1", "'x'", ", id", ", 'é' AS x",
    "ts, day", "(id)", "day AS ts", "`id`", '"id"', "@start_ds", "@number", "@IF(TRUE, id)", "@{word}", "NULL", "-1", "true", "COUNT(*)", ";", ",", "x", " AS x", "*", "raw.other", "'%'", "' '' '",
    "INTERVAL 1 DAY", "ARRAY(1)", "[1, 2]", "a.b", "items[0].a", "x'1F'", "1e3", ".5", "5.", "1L", "CAST(id AS STRING)", "id::int", "id BETWEEN 1 AND 2", "NOT id IN (1)", "id IS NULL", "DISTINCT",
    "MAX(ts) OVER ()", "CASE id WHEN 1 THEN 2 END", "(SELECT 1)", "EXISTS (SELECT 1)", "DATE '2024-01-31'", "TIMESTAMP '2024-01-31 00:00:00'", "LATERAL VIEW EXPLODE(items) AS i", "TABLESAMPLE (5 ROWS)",
)  # fmt: skip
PIECES: Final = (
    st.sampled_from(SOFT)
    | st.sampled_from(SOFT)
    | st.sampled_from(ODD)
    | st.text(max_size=3)
    | st.sampled_from(DEEP)
)
WORDS: Final = re.compile(r"\w+|\s+|.", re.DOTALL)
EDITS: Final = ("insert", "insert", "replace", "delete", "double", "swap", "cut")
ENCODINGS: Final = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252", "utf-7")


def edited(text: str, edits: Sequence[tuple[str, int, int, str]]) -> str:
    """A text with some of its words lost, doubled, swapped, or with others among them."""
    words = WORDS.findall(text)
    for what, first, second, piece in edits:
        if not words:
            break
        at, other = first % len(words), second % len(words)
        match what:
            case "delete":
                del words[at : at + 1 + second % 3]
            case "double":
                words[other:other] = words[at : at + 1 + second % 5]
            case "swap":
                words[at], words[other] = words[other], words[at]
            case "insert":
                words.insert(at, piece)
            case "replace":
                words[at] = piece
            case _:
                del words[max(at, len(words) // 2) :]
    return "".join(words)


@st.composite
def mutations(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> bytes:
    """A text after some edits, in UTF-8 as a rule."""
    numbers = st.integers(0, 5000)
    most = draw(st.sampled_from((1, 1, 4)))
    edit = st.tuples(st.sampled_from(EDITS), numbers, numbers, PIECES)
    text = edited(draw(texts), draw(st.lists(edit, min_size=1, max_size=most)))
    if draw(st.integers(0, 9)) > 0:
        return text.encode("utf-8", "surrogatepass")
    written = re.sub("\r?\n", draw(st.sampled_from(["\n", "\r\n", "\r"])), text)
    data = written.encode(draw(st.sampled_from(ENCODINGS)), "replace")
    cut = draw(st.none() | st.integers(0, len(data)))
    return data if cut is None else data[:cut] + draw(st.binary(max_size=2)) + data[cut:]


def model_text(kind: str, properties: Sequence[str], query: str) -> str:
    written = ",\n  ".join(["name m.x", f"kind {kind}", *properties])
    return f"MODEL (\n  {written}\n);\n{'' if kind.startswith('SEED') else query}"


AUDITED_MODELS: Final = st.builds(
    lambda calls, behind: (
        f"MODEL (name m.x, kind FULL, audits (\n  {', '.join(calls)}\n));\n{QUERY};\n{behind}"
    ),
    st.lists(st.sampled_from(AUDIT_CALLS), min_size=1, max_size=3),
    st.sampled_from(("", "AUDIT (name beside); SELECT * FROM @this_model WHERE id = 1", ";")),
)
GOOD_MODELS: Final = st.builds(
    model_text,
    st.sampled_from(KINDS),
    st.lists(st.sampled_from(GOOD), max_size=3, unique_by=lambda each: each.split()[0]),
    st.sampled_from(QUERIES),
)

# MODEL blocks of random properties with values of all shapes

NAMES: Final = st.sampled_from(
    ("id", "shop", "amount", "ts", "day", "nope", "ID", "raw.orders", "raw.other", "m.x", "mode", "sources", "tracked_by",
     "before", "after", "'id'", '"ts"', "`day`", "not_null", "plain", *OPTIONS, *LATE_DATA, *PROPERTIES, *KEYWORDS)
)  # fmt: skip
SCALARS: Final = st.sampled_from(
    ("'a text'", "''", "'it''s'", "1", "0", "-1", "1.5", "true", "FALSE", "none", "NULL", "*", "'7 days'", "'1 hour'", "'2024-01-31'",
     "2024-01-31", "'2024-01-31 06:30'", "'@hourly'", "@daily", "'*/15 * * * *'", "'Europe/Berlin'", "hour", "stateful", "stateless", "range",
     "bigint", "string", "array<int>", "decimal(10, 2)", "struct<a: int>", "'raw.orders|ts'", "duckdb", "iceberg", "orc", "'yyyyMMdd'", "'%Y'",
     "days(ts)", "bucket(16, id)", "COALESCE(shop, '')", "source.id > target.id", "WHEN MATCHED THEN UPDATE SET target.id = source.id")
)  # fmt: skip


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(inner, max_size=4).map(", ".join)
    return st.one_of(
        several.map("({})".format),
        several.map("[{}]".format),
        st.builds("{} {}".format, NAMES, inner),
        st.builds("{} {} {}".format, NAMES, st.sampled_from(["=", ":=", "=>", ":"]), inner),
        st.builds("{} ({})".format, NAMES, several),
        st.builds("{}{}{}".format, inner, st.sampled_from([" + ", " AS ", ".", " ", "|", " COMMENT ", " -- c\n"]), inner),
    )  # fmt: skip


VALUES: Final = st.recursive(NAMES | SCALARS | st.sampled_from(ODD), _nested, max_leaves=8)
RANDOM_KIND: Final = st.builds(
    "{} ({})".format,
    st.sampled_from(KEYWORDS),
    st.lists(
        st.builds("{} {}".format, st.sampled_from(OPTIONS), NAMES | SCALARS | VALUES), max_size=4
    ).map(", ".join),
)
PROPERTY: Final = st.builds(
    "{} {}".format, st.sampled_from((*PROPERTIES, *UNSUPPORTED, "", "ownr")), VALUES
)
BLOCKS: Final = st.builds(
    model_text,
    st.sampled_from(KINDS) | RANDOM_KIND,
    st.lists(st.sampled_from(GOOD) | PROPERTY, max_size=3),
    st.sampled_from(QUERIES),
).map(lambda text: text.encode("utf-8", "surrogatepass"))

# Python models

PLAIN: Final = st.one_of(
    st.sampled_from(("id", "ts", "nope", "raw.orders", "7 days", "stateful", "FULL", "bigint", "2024-01-31", "@hourly", "*")),
    st.sampled_from(ODD),
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from((10**30, 1.5, -0.0)),
).map(repr) | st.sampled_from(
    ("float('nan')", "float('inf')", "b'x'", "{1}", "object()", "print", "int", "...", "10**5000", "datetime.date(2024, 1, 31)", "datetime.datetime(1, 1, 1)",
     "datetime.timedelta(1)", "decimal.Decimal('1.5')", "CIRCLE", "'(' * 3000", "range(3)", "iter('ab')", "1j")
)  # fmt: skip
KEYS: Final = st.sampled_from(
    [repr(each) for each in ("name", "id", "ts", "raw.orders", "mode", "sources", "", "a b", "x'", "\x00", "\ud800", *OPTIONS, *LATE_DATA)]
    + ["1", "None", "b'x'", "(1, 2)"]
)  # fmt: skip


def _python(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.builds("{}: {}".format, KEYS, inner), max_size=4).map(", ".join)
    return st.one_of(
        st.lists(inner, max_size=3).map(lambda each: f"[{', '.join(each)}]"),
        st.lists(inner, max_size=3).map(lambda each: f"({''.join(f'{one}, ' for one in each)})"),
        pairs.map(lambda each: f"{{{each}}}"),
        st.builds(
            lambda kind, options: f"{{'name': {kind!r}, {options}}}", st.sampled_from(KEYWORDS), pairs
        ),
    )  # fmt: skip


ARGUMENTS: Final = st.lists(
    st.tuples(
        st.sampled_from((*list(PROPERTIES)[1:], *UNSUPPORTED, "ownr")),
        st.recursive(PLAIN, _python, max_leaves=7),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda each: each[0],
)


def python_model(arguments: Sequence[tuple[str, str]]) -> bytes:
    given = {
        "columns": "{'id': 'bigint', 'ts': 'timestamp'}",
        "depends_on": "['raw.orders']",
        **dict(arguments),
    }
    lines = "".join(f"    {key}={value},\n" for key, value in given.items())
    text = (
        "import datetime\nimport decimal\nfrom vde_dagster import model\n\nCIRCLE = []\nCIRCLE.append(CIRCLE)\n\n"
        f"@model(\n    'm.x',\n{lines})\ndef x(context):\n    return context.table('raw.orders')\n"
    )
    return text.encode()


PYTHON_MODELS: Final = ARGUMENTS.map(python_model)

# Configuration, sources and seeds

_YAML_KEYS: Final = st.sampled_from(
    ("name", "defaults", "catalog", "variables", "environments", "clock", "spark", "state", "columns", "start", "cron", "dialect",
     "properties", "follow_files", "valid_to", "conf", "master", "remote", "url", "environment_suffix_target", "dev", "prod", "", "id", 1, None)
)  # fmt: skip
_YAML_VALUES: Final = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.binary(max_size=2),
        st.dates(),
        st.sampled_from(("raw.orders", "raw.t", "bigint", "array<int>", "wall", "catalog", "table", "@hourly", "spark", "${HOME}", "${NOPE}")),
        st.sampled_from(ODD).map(lambda each: each.replace("\ud800", "?")),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_YAML_KEYS, inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
_TOP: Final = st.dictionaries(_YAML_KEYS, _YAML_VALUES, max_size=4)
CONFIGURATIONS: Final = _TOP.map(
    lambda each: yaml.safe_dump({"name": "shop", **each}).encode()
) | mutations(st.just(YAML))
EXTERNALS: Final = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(("raw.orders", "raw.other", "lake.raw.orders", "`raw`.\"t\"", "T")) | _YAML_VALUES,
            "columns": st.dictionaries(
                st.sampled_from(("id", "ts", "ID", "shop", "a b", "", "`", "é", "a.b", "select")),
                st.sampled_from(("bigint", "timestamp", "STRING", "array<struct<`a b`: int>>", "nope", "array<", "decimal(99, 99)", "interval", "struct<>", "null")),
            )
            | _YAML_VALUES,
        },
        optional={"description": _YAML_VALUES},
    ),
    max_size=3,
).map(lambda each: yaml.safe_dump(each).encode()) | mutations(st.just(SOURCES))  # fmt: skip
SEEDS: Final = mutations(st.just(SEED)) | st.binary(max_size=20)
SEED_MODELS: Final = st.sampled_from(
    ("", ", columns (id bigint, name string, at date)", ", columns (id decimal(3, 1), name boolean, at timestamp)", ", columns (at map<int, int>)",
     ", grain id", ", partitioned_by (id)", ", column_descriptions (name = 'what')")
).map(lambda more: f"MODEL (name m.x, kind SEED (path '../../seeds/s.csv'){more})".encode())  # fmt: skip

# Macros

_ATOMS: Final = st.sampled_from(
    ("id", "o.id", "1", "'a'", "TRUE", "NULL", "*", "raw.orders", "raw.other", "[id, shop]", "[]", "@start_ds", "@end_dt", "@number", "@names", "@none",
     "@yes", "@{word}", "@{word}_x", "id", "shop", "amount", "ts", "@{name}", "x", "'names'", "'all'", "except := [id]", "prefix := 'p_'", "raw.@{name}",
     "id AS @{word}_b", "(SELECT 1 AS a)", "x := 1", "flag := true", "{}", "map('a', 1)", "CAST(@{word} AS INT)", "", "SUM(id)", "AND")
)  # fmt: skip


def _called(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(inner, max_size=3).map(", ".join)
    names = (
        "",
        *[
            "IF",
            "EACH",
            "STAR",
            "UNION",
            "DEF",
            "VAR",
            "twice",
            "typed",
            "nothing",
            "given",
            "x",
            "nope",
        ],
    )
    relations = st.sampled_from(("raw.orders", "o", "raw.other", "c", "raw.@{name}"))
    return st.one_of(
        st.builds("@{}({})".format, st.sampled_from(names), several),
        st.builds("@twice({})".format, inner),
        st.builds("@given({}, {}, key := {})".format, inner, inner, inner),
        st.builds("@typed(1, [{}, b], {})".format, inner, st.sampled_from(("true", "false"))),
        st.builds("@VAR('{}', {})".format, st.sampled_from(("names", "number", "absent", "none")), inner),
        st.builds("@IF(@yes, {}, {})".format, inner, inner),
        st.builds("@EACH(@names, x -> {} AS @{{x}}_f)".format, inner),
        st.builds("@STAR({}{})".format, relations, st.sampled_from(("", ", o", ", except := [id]", ", suffix := '_s'"))),
        st.builds("@UNION({}, {})".format, relations, relations),
        st.builds("@UNION('all', {})".format, relations),
        st.builds("x -> {}".format, inner),
        st.builds("(a, b) -> {}".format, inner),
        st.builds("@EACH([id, {}], x -> {})".format, inner, inner),
        st.builds("@IF({} > 1, {})".format, inner, inner),
        st.builds("{} + {}".format, inner, inner),
    )  # fmt: skip


CALLS: Final = st.recursive(_ATOMS, _called, max_leaves=6)
PLACES: Final = (
    "SELECT id, {} FROM raw.orders AS o WHERE ts BETWEEN @start_dt AND @end_dt",
    "SELECT {} AS n FROM raw.orders AS o",
    "SELECT o.id FROM raw.orders AS o WHERE {}",
    "SELECT id FROM {}",
    "SELECT o.id FROM raw.orders AS o JOIN {} ON o.id = 1",
    "SELECT id FROM raw.orders AS o GROUP BY {} ORDER BY id LIMIT {}",
    "@DEF(x, {}); SELECT id, @x FROM raw.orders AS o",
    "@DEF(self, @self({})); SELECT id, @self(1) FROM raw.orders AS o",
    "@DEF(x, y -> {}); SELECT id, @x(1), {} AS z FROM raw.orders AS o",
    "{}; SELECT id FROM raw.orders",
    "SET x = {}; SELECT id FROM raw.orders; {}",
    "{}",
    "WITH c AS ({}) SELECT * FROM c",
    "SELECT id, CAST({} AS INT) AS n, '{}' AS t FROM raw.orders AS o -- {}",
)
MACRO_MODELS: Final = st.builds(
    lambda kind, place, call: model_text(kind, (), place.replace("{}", call)).encode(),
    st.sampled_from(("FULL", "VIEW", "EMBEDDED", "INCREMENTAL_UNMANAGED")),
    st.sampled_from(PLACES),
    CALLS,
)
