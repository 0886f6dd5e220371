"""Which tables a statement writes, and which names are only its session's."""

from __future__ import annotations

import pytest
import sqlglot

from vde_dagster.core.sql.table_names import temporary_names, written_tables

STATEMENTS = [
    ("INSERT INTO a.b SELECT * FROM c.d", ["a.b"]),
    ("INSERT INTO a.b (x) VALUES (1)", ["a.b"]),
    ("INSERT OVERWRITE TABLE a.b SELECT 1", ["a.b"]),
    ("UPDATE a.b SET x = 1 WHERE y IN (SELECT z FROM c.d)", ["a.b"]),
    ("DELETE FROM a.b WHERE x = 1", ["a.b"]),
    ("MERGE INTO a.b USING c.d ON a.b.x = c.d.x WHEN MATCHED THEN DELETE", ["a.b"]),
    ("CREATE TABLE a.b (x INT)", ["a.b"]),
    ("CREATE OR REPLACE VIEW a.b AS SELECT * FROM c.d", ["a.b"]),
    ("DROP TABLE IF EXISTS a.b", ["a.b"]),
    ("ALTER TABLE a.b ADD COLUMNS (x INT)", ["a.b"]),
    ("TRUNCATE TABLE a.b", ["a.b"]),
    ("CREATE TEMPORARY VIEW v AS SELECT * FROM c.d", []),
    ("CREATE SCHEMA a", []),
    ("SET a.b = 1", []),
    ("SELECT * FROM a.b", []),
]


@pytest.mark.parametrize("sql, written", STATEMENTS)
def test_a_statement_writes_the_tables_that_it_changes_makes_or_drops(
    sql: str, written: list[str]
) -> None:
    statement = sqlglot.parse_one(sql, dialect="spark")
    assert [f"{each.db}.{each.name}" for each in written_tables(statement)] == written


def test_temporary_views_are_found_among_all_statements() -> None:
    text = (
        "CREATE TEMPORARY VIEW One AS SELECT 1; CREATE OR REPLACE TEMPORARY VIEW two AS SELECT 2; "
        "CREATE VIEW a.three AS SELECT 3; INSERT INTO one SELECT 1"
    )
    found = temporary_names(each for each in sqlglot.parse(text, dialect="spark") if each)
    assert found == {"one", "two"}
