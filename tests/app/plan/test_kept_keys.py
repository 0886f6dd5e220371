"""A key or time column that is computed in another way, in tables that edits keep, end to end."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.app.memory_world import MemoryWorld, graph_of
from vde_dagster.app.inspect.verify import verify
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName

NAME = ModelName("mart", "h")
STAGED = (
    "MODEL (name staging.e, kind {kind});\n"
    "SELECT {id} AS id, {at} AS at, {amount} AS amount FROM raw.events"
)
FORWARD = "INCREMENTAL_UNMANAGED (forward_only true)"
KEYED = (
    "MODEL (name mart.h, kind {kind});\nSELECT id AS id, at AS at, amount AS amount FROM staging.e"
)
KINDS = {
    "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, forward_only true)": "id",
    "SCD_TYPE_2_BY_COLUMN (unique_key id, columns [amount])": "id",
    "SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at)": "id",
}
OTHERS = {
    "another column": {"amount": "amount * 10"},
    "another column's column": {"amount": "id"},
}


def graph(kind: str, staging: str = "VIEW", **columns: str) -> Graph:
    given = {"id": "id", "at": "at", "amount": "amount", **columns}
    return graph_of(
        {"e": STAGED.format(kind=staging, **given), "h": KEYED.format(kind=kind)},
    )


def loaded(kind: str, staging: str = "VIEW") -> MemoryWorld:
    world = MemoryWorld.landed((1.5, 10), (30.5, 5), (50.5, 7), until=72)
    world.build(graph(kind, staging))
    return world


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("staging", ["VIEW", "EMBEDDED", "FULL", FORWARD])
def test_a_key_that_changes_upstream_is_refused_before_rows_double(kind: str, staging: str) -> None:
    world = loaded(kind, staging)
    edited = graph(kind, staging, id="id + 1000")
    for environment in ("prod", "dev"):
        plan = world.plan(edited, environment)
        with pytest.raises(Refused, match=r"mart\.h keeps its table, and it identifies rows") as no:
            world.apply(plan)
        assert "by an upstream change was raw.events.id and is raw.events.id + 1000" in str(
            no.value
        )
    assert world.plan(graph(kind, staging)).is_up_to_date


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", OTHERS)
@pytest.mark.parametrize("staging", ["VIEW", "FULL"])
def test_an_edit_of_other_columns_goes_through(kind: str, case: str, staging: str) -> None:
    world = loaded(kind, staging)
    services = world.services()
    shown = world.bound().key(NAME)
    world.build(graph(kind, staging, **OTHERS[case]))
    world.land((80.5, 3), until=124)
    world.build(graph(kind, staging, **OTHERS[case]))
    assert world.bound().key(NAME) == shown
    opened = Counter(row[0] for row in world.rows("mart.h") if len(row) < 5 or row[4] is None)
    assert sorted(opened.values()) == [1, 1, 1, 1]
    assert all(each.holds for each in verify(services, world.bound()))


def test_new_values_of_a_key_get_a_column_of_another_name() -> None:
    kind = "SCD_TYPE_2_BY_COLUMN (unique_key id, columns [amount])"
    world = loaded(kind)
    wider = graph_of(
        {
            "e": STAGED.format(kind="VIEW", id="id", at="at", amount="amount"),
            "h": KEYED.format(kind=kind).replace(" FROM", ", id + 1000 AS code FROM"),
        }
    )
    world.build(wider)
    assert sorted(str(row[0]) for row in world.rows("mart.h")) == ["1", "2", "3"]
