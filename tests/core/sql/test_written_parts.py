"""What a refusal quotes: the part as its author wrote it, and no translated form."""

from __future__ import annotations

import logging

import pytest
import sqlglot
from sqlglot import exp

from tests.lakehouse.dialects.rows import ONE_TYPES
from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import QueryInvalid, canonicalize
from vde_dagster.core.sql.translation.differences import part_with_spark_meaning

SCHEMAS = {ModelName("s", "t"): [Column(name=name, type=kind) for name, kind in ONE_TYPES.items()]}

# A dialect, what is refused, and what the message says of it.
QUOTED = [
    ("redshift", "CAST(FLOOR(ratio) + 0.5 AS INTEGER)", "`CAST(FLOOR(ratio) + 0.5 AS INTEGER)`"),
    ("mysql", "CAST(CEIL(ratio) + ratio AS SIGNED)", "`CAST(CEIL(ratio) + ratio AS SIGNED)`"),
    ("bigquery", "SUBSTR(s, GREATEST(n, 0), 2)", "`SUBSTR(s, GREATEST(n, 0), 2)`"),
    ("mysql", "s || t", "`s OR t` takes a number or a text for a condition (`||` is OR in MySQL)"),
    ("postgres", "CONCAT(s, ratio)", "`CONCAT(s, ratio)` joins `ratio`, which"),
    ("postgres", "s || CEIL(ratio)", "`s || CEIL(ratio)` joins `CEIL(ratio)`, which"),
    ("snowflake", "TO_CHAR(n, 'YYYY')", "`TO_CHAR(n, 'YYYY')`"),
    ("snowflake", "DATEADD(DAY, 1, F(@start_ds))", "`DATEADD(DAY, 1, F(@start_ds))`"),
    ("postgres", "F(@start_ds) / n", "`F(@start_ds) / n`"),
    ("postgres", "n & total + 1", "`n & total + 1`"),
    ("postgres", "TO_CHAR(n /* a number */, '999')", "`TO_CHAR(n, '999')`"),
]


@pytest.mark.parametrize("dialect,expression,quoted", QUOTED)
def test_a_refusal_quotes_what_the_author_wrote(
    dialect: str, expression: str, quoted: str, caplog: pytest.LogCaptureFixture
) -> None:
    query = sqlglot.parse_one(f"SELECT {expression} AS c FROM s.t", read=dialect)
    assert isinstance(query, exp.Query)
    with caplog.at_level(logging.WARNING), pytest.raises(QueryInvalid) as caught:
        canonicalize(query, dialect=dialect, schemas=SCHEMAS, functions={"f"})
    assert quoted in caught.value.findings[0].message
    assert caplog.records == []


def test_a_refusal_of_a_statement_quotes_what_the_author_wrote() -> None:
    part = sqlglot.parse_one("s = CAST(CEIL(CAST(n AS FLOAT)) + 0.5 AS TEXT)", read="postgres")
    _, [(_, why)] = part_with_spark_meaning(part, dialect="postgres")
    assert str(why).startswith("`CAST(CEIL(CAST(n AS DOUBLE PRECISION)) + 0.5 AS TEXT)` is written")


def test_a_long_part_is_quoted_by_its_beginning() -> None:
    total = " + ".join(["ratio"] * 40)
    query = sqlglot.parse_one(f"SELECT CAST({total} AS TEXT) AS c FROM s.t", read="postgres")
    assert isinstance(query, exp.Query)
    with pytest.raises(QueryInvalid) as caught:
        canonicalize(query, dialect="postgres", schemas=SCHEMAS)
    assert f"`{f'CAST({total}'[:80]}`" in caught.value.findings[0].message
