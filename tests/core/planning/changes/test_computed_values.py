"""Which edits of a project compute a key in another way: by tables of projects before and after."""

from __future__ import annotations

import pytest

from tests.app.memory_world import graph_of
from tests.core.tables import rows
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.row_identity import Property
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.computed_values import computed_changes

NAME = ModelName("mart", "people")
KEYED = "MODEL (name mart.people, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id));\n"
PLAIN = "SELECT id AS id, at AS at, amount AS amount FROM raw.events"
STAGED = "SELECT id AS id, at AS at, amount AS amount FROM staging.events"
VIEW = "MODEL (name staging.events, kind VIEW);\n"
LOADED = "MODEL (name staging.events, kind FULL);\n"
EMBEDDED = "MODEL (name staging.events, kind EMBEDDED);\n"


def project(mart: str, staging: str | None = None, **columns: str) -> Graph:
    texts = {"people": mart if mart.startswith("MODEL") else KEYED + mart}
    if staging is not None:
        texts["events"] = staging
    return graph_of(texts, files=None, **columns)


def edits(table: str) -> dict[str, tuple[str, str]]:
    """What is edited, with the query before and after; PLAIN stands for the plain one."""
    return {
        what: (before.replace("PLAIN", PLAIN), after.replace("PLAIN", PLAIN))
        for what, before, after in rows(table)
    }


SAME = edits("""
another column | PLAIN | SELECT id AS id, at AS at, amount * 2 AS amount FROM raw.events
an added column | PLAIN | SELECT id AS id, at AS at, amount AS amount, 1 AS one FROM raw.events
a filter | PLAIN | PLAIN WHERE amount > 3
a join | PLAIN
  | SELECT e.id AS id, e.at AS at, f.amount AS amount FROM raw.events AS e LEFT JOIN raw.events AS
    f ON f.id = e.id + 1
a CTE | PLAIN | WITH e AS (PLAIN) SELECT id AS id, at AS at, amount AS amount FROM e
a sub-query | PLAIN | SELECT s.id AS id, s.at AS at, 1 AS amount FROM (PLAIN) AS s
a row of each key | PLAIN
  | SELECT id AS id, at AS at, amount AS amount FROM (SELECT id, at, amount, ROW_NUMBER() OVER
    (PARTITION BY id ORDER BY at DESC) AS nth FROM raw.events) WHERE nth = 1
groups | PLAIN | SELECT id AS id, MAX(at) AS at, SUM(amount) AS amount FROM raw.events GROUP BY id
a branch more | PLAIN | PLAIN UNION ALL SELECT id + 1000, at, amount FROM raw.events
a branch less | PLAIN UNION ALL SELECT id + 1000, at, amount FROM raw.events | PLAIN
a wider type | PLAIN
  | SELECT CAST(id AS DECIMAL(38, 0)) AS id, at AS at, amount AS amount FROM raw.events
wider than a cast | SELECT CAST(id AS INT) AS id, at AS at, amount AS amount FROM raw.events
  | SELECT CAST(id AS BIGINT) AS id, at AS at, amount AS amount FROM raw.events
other writing | SELECT NVL(id, 0) AS id, at AS at, amount AS amount FROM raw.events
  | SELECT coalesce(id, 0) as id, at AS at, amount AS amount FROM raw.events
CASE for IF | SELECT IF(id > 3, id, 0) AS id, at AS at, amount AS amount FROM raw.events
  | SELECT CASE WHEN id > 3 THEN id ELSE 0 END AS id, at AS at, amount AS amount FROM raw.events
""")
OTHER = edits("""
an expression | PLAIN | SELECT id + 1 AS id, at AS at, amount AS amount FROM raw.events
in a CTE | WITH e AS (PLAIN) SELECT id AS id, at AS at FROM e
  | WITH e AS (SELECT id + 1 AS id, at AS at, amount AS amount FROM raw.events) SELECT id AS id, at
    AS at FROM e
in a sub-query | SELECT s.id AS id, s.at AS at FROM (PLAIN) AS s
  | SELECT s.id AS id, s.at AS at FROM (SELECT -id AS id, at AS at, amount AS amount FROM
    raw.events) AS s
with a join | PLAIN
  | SELECT -e.id AS id, e.at AS at, f.amount AS amount FROM raw.events AS e LEFT JOIN raw.events AS
    f ON f.id = e.id
of the other side
  | SELECT e.id AS id, f.at AS at FROM raw.events AS e JOIN raw.events AS f ON e.at = f.at
  | SELECT f.id AS id, f.at AS at FROM raw.events AS e JOIN raw.events AS f ON e.at = f.at
another column's | PLAIN | SELECT amount AS id, at AS at, amount AS amount FROM raw.events
in every branch | PLAIN UNION ALL SELECT id, at, 1 FROM raw.events
  | SELECT id + 1 AS id, at AS at, amount AS amount FROM raw.events UNION ALL SELECT id + 1, at, 1
    FROM raw.events
in one branch | PLAIN UNION ALL SELECT id * 2, at, 1 FROM raw.events
  | PLAIN UNION ALL SELECT id * 3, at, 1 FROM raw.events
in a window
  | SELECT ROW_NUMBER() OVER (ORDER BY at) AS id, at AS at, amount AS amount FROM raw.events
  | SELECT ROW_NUMBER() OVER (ORDER BY amount) AS id, at AS at, amount AS amount FROM raw.events
unfolded | SELECT t.x AS id, at AS at FROM raw.events LATERAL VIEW EXPLODE(ARRAY(id)) t AS x
  | SELECT t.x AS id, at AS at FROM raw.events LATERAL VIEW EXPLODE(ARRAY(id + 1)) t AS x
a constant | SELECT 1 AS id, at AS at, amount AS amount FROM raw.events
  | SELECT 2 AS id, at AS at, amount AS amount FROM raw.events
""")


def found(before: Graph, after: Graph) -> list[str]:
    changes = list(computed_changes(before, after, NAME))
    assert all(each.changed is Property.COMPUTED for each in changes)
    return [each.column for each in changes]


@pytest.mark.parametrize("case", SAME)
def test_a_key_that_is_computed_as_before(case: str) -> None:
    before, after = SAME[case]
    assert found(project(before), project(after)) == []
    assert found(project(after), project(before)) == []


@pytest.mark.parametrize("case", OTHER)
def test_a_key_that_is_computed_in_another_way(case: str) -> None:
    before, after = OTHER[case]
    assert found(project(before), project(after)) == ["id"]
    assert found(project(after), project(before)) == ["id"]


@pytest.mark.parametrize("staging", [VIEW, LOADED, EMBEDDED])
@pytest.mark.parametrize("case", SAME | OTHER)
def test_what_is_edited_upstream_counts_as_much(case: str, staging: str) -> None:
    before, after = (
        project("SELECT id AS id, at AS at FROM staging.events", staging + each)
        for each in (SAME | OTHER)[case]
    )
    assert found(before, after) == (["id"] if case in OTHER else [])


@pytest.mark.parametrize("staging", [VIEW, LOADED, EMBEDDED])
def test_an_expression_that_moves_upstream_computes_the_same(staging: str) -> None:
    minus = PLAIN.replace("id AS", "-id AS")
    before = project(minus)
    after = project(STAGED, staging + minus)
    assert found(before, after) == []
    assert found(before, project(STAGED, staging + PLAIN)) == ["id"]
    both = project(STAGED.replace("id AS", "-id AS"), staging + minus)
    assert found(before, both) == ["id"]


def test_a_key_of_several_branches_is_compared_branch_by_branch() -> None:
    union = f"{PLAIN} UNION ALL SELECT id, at, amount * 2 FROM raw.events"
    more = f"{union} UNION ALL SELECT amount, at, id FROM raw.events"
    key = "SELECT CONCAT(id, '-', amount) AS id, at AS at FROM staging.events"
    before, grown = (project(key, LOADED + each) for each in (union, more))
    assert found(before, grown) == []
    assert found(grown, before) == []
    edited = project(key, LOADED + union.replace("amount * 2", "amount * 3"))
    assert found(before, edited) == ["id"]


def test_what_is_said_is_written_out_down_to_the_sources() -> None:
    before, after = (
        project(STAGED.replace("id AS", "ABS(id) AS"), VIEW + each)
        for each in (PLAIN, PLAIN.replace("id AS", "id + 1 AS"))
    )
    (change,) = computed_changes(before, after, NAME)
    assert (change.before, change.after) == ("ABS(raw.events.id)", "ABS(raw.events.id + 1)")


def test_a_type_of_the_source_that_is_wider_changes_no_key() -> None:
    cast = PLAIN.replace("id AS", "CAST(id AS BIGINT) AS")
    assert found(project(PLAIN, id="int"), project(cast, id="int")) == []
    assert found(project(PLAIN, id="int"), project(PLAIN, id="bigint")) == []


KINDS = {
    "INCREMENTAL_BY_TIME_RANGE (time_column at)": {"at"},
    "INCREMENTAL_BY_UNIQUE_KEY (unique_key (id, COALESCE(amount, 0)))": {"id", "amount"},
    "SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at)": {"id", "at"},
    "SCD_TYPE_2_BY_COLUMN (unique_key id, columns [amount])": {"id"},
    "SCD_TYPE_2_BY_COLUMN (unique_key id, columns *, updated_at_name at)": {"id", "at"},
    "INCREMENTAL_UNMANAGED": set(),
    "FULL": set(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_columns_count_by_which_a_kind_finds_rows(kind: str) -> None:
    where = " WHERE at BETWEEN @start_dt AND @end_dt" if "TIME_RANGE" in kind else ""
    plain = f"MODEL (name mart.people, kind {kind});\n{PLAIN}{where}"
    edited = {
        "id": plain.replace("SELECT id AS", "SELECT id + 1 AS"),
        "at": plain.replace(", at AS", ", at + INTERVAL 1 HOUR AS"),
        "amount": plain.replace(", amount AS", ", amount + 1 AS"),
    }
    counting = {
        column
        for column, text in edited.items()
        if found(project(plain), project(text)) == [column]
    }
    assert counting == KINDS[kind]
    assert all(
        found(project(plain), project(text)) in ([], [column]) for column, text in edited.items()
    )
