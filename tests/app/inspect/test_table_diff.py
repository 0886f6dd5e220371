"""What differs between the rows of two environments, and what is not read to know it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from sqlglot import exp

from tests.app.memory_world import MemoryWorld, graph_of, there
from tests.app.shop_world import DAYS, EDITED, SALES, SALES_NAME, SHOP, day, shop_in_production
from vde_dagster.app.inspect.local_answers import LocalAnswer, answer_locally
from vde_dagster.app.inspect.table_diff import TableDiff, diff_table
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.places import placed
from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckDbQueries


class Asking:
    """Asks DuckDB and else the engine, and keeps what was asked."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.asked: list[str] = []
        self.engines: set[str] = set()

    def __call__(
        self, query: exp.Query, views: Mapping[ModelName, TableName], most: int
    ) -> Sequence[tuple[object, ...]]:
        sql = query.sql("spark")
        self.asked.append(sql)
        found = answer_locally(
            self.services,
            DuckDbQueries(),
            sql,
            catalog="lake",
            views=views,
            limit=most,
            whole=self.services.catalog.views(views.values()),
        )
        if isinstance(found, LocalAnswer):
            self.engines.add("duckdb")
            return found.rows
        self.engines.add("engine")
        bound = placed(sql, catalog="lake").with_tables(views.get).text
        return [tuple(each) for each in self.services.engine.fetch(bound, limit=most)[1]]


ONE_DAY = {
    **SHOP,
    "sales": SALES.replace(
        "SUM(amount)",
        "SUM(CASE WHEN CAST(at AS DATE) = DATE '2024-01-02' THEN 0 ELSE amount END)",
    ),
}
"""The shop with other sales on the second day."""


def shown_table(world: MemoryWorld, environment: str) -> TableName:
    return world.bound(environment).key(SALES_NAME).table


def with_dev(project: Mapping[str, str], base: Mapping[str, str] = SHOP) -> MemoryWorld:
    if base is SHOP:
        world = shop_in_production()
    else:
        world = shop_in_production()
        world.build(graph_of(dict(base)))
    world.build(graph_of(dict(project)), "dev")
    return world


def compared(world: MemoryWorld, model: str = "sales", **options: Any) -> tuple[TableDiff, Asking]:
    services = world.services()
    asking = Asking(services)
    name = ModelName("mart", model)
    found = diff_table(services, asking, "prod", "dev", name, **{"limit": 10, **options})
    return found, asking


def test_a_table_that_both_show_is_equal_and_not_read() -> None:
    found, asking = compared(with_dev(SHOP))
    assert (found.is_equal, found.rows, asking.asked) == (True, None, [])


def test_tables_of_equal_d_shas_are_equal_and_not_read() -> None:
    same = {**SHOP, "sales": SALES.replace("SUM(amount)", "SUM(amount * 2) - SUM(amount)")}
    found, asking = compared(with_dev(same))
    assert (found.is_equal, found.why, asking.asked) == (
        True,
        "every interval has the same D-SHA in both",
        [],
    )


def test_rows_of_another_program_are_found_although_all_d_shas_are_equal() -> None:
    same = {**SHOP, "sales": SALES.replace("SUM(amount)", "SUM(amount * 2) - SUM(amount)")}
    world = with_dev(same)
    world.catalog.append(shown_table(world, "dev"), [(DAYS[1], Decimal(1))])
    found, _ = compared(world)
    assert (found.is_equal, found.read) == (False, None)
    assert found.rows is not None
    assert [[*each] for each in found.rows.added_rows] == [[DAYS[1], Decimal(1)]]


@pytest.mark.full
def test_a_changed_row_shows_no_value_that_is_not_changed() -> None:
    text = SALES.replace("AS amount", "AS amount, CAST('NaN' AS DOUBLE) AS ratio")
    base = {**SHOP, "sales": text}
    edited = {**SHOP, "sales": text.replace("SUM(amount)", "SUM(amount * 10)")}
    found, _ = compared(with_dev(edited, base), on=["day"])
    assert found.rows is not None
    assert found.rows.by_column == {"amount": 3}
    assert [[*each.values] for each in found.rows.changed_rows] == [["amount"]] * 3


def test_rows_are_joined_by_the_given_key_and_compared_value_by_value() -> None:
    world = with_dev(EDITED)
    found, asking = compared(world, on=["DAY"])
    rows = there(found.rows)
    assert (rows.keys, rows.before, rows.after) == (("day",), 3, 3)
    assert (rows.added, rows.removed, rows.changed) == (0, 0, 3)
    assert rows.by_column == {"amount": 3}
    # Each amount is ten times what it was.
    for each in rows.changed_rows:
        (old, new) = each.values["amount"]
        assert isinstance(old, Decimal)
        assert new == old * 10
    assert asking.engines == {"duckdb"}
    assert found.read == (day(1, 3),)
    assert not found.is_equal


@pytest.mark.full
def test_without_a_key_each_row_counts_as_a_whole() -> None:
    found, _ = compared(with_dev(EDITED))
    rows = there(found.rows)
    assert (rows.keys, rows.added, rows.removed, rows.changed) == ((), 3, 3, 0)
    assert len(rows.added_rows) == len(rows.removed_rows) == 3


@pytest.mark.full
def test_the_grain_of_the_model_is_its_key() -> None:
    edited = {
        **EDITED,
        "sales": EDITED["sales"].replace("cron '@daily')", "cron '@daily', grain day)"),
    }
    found, _ = compared(with_dev(edited))
    assert found.rows is not None
    assert (found.rows.keys, found.rows.changed) == (("day",), 3)


@pytest.mark.full
def test_only_intervals_with_other_d_shas_are_read() -> None:
    found, asking = compared(with_dev(ONE_DAY), on=["day"])
    assert found.read == (day(2),)
    assert found.rows is not None
    assert (found.rows.before, found.rows.after, found.rows.changed) == (1, 1, 1)
    assert asking.asked
    assert all("2024-01-02" in each for each in asking.asked)


def test_columns_that_only_one_side_has_or_that_changed_their_type_are_named() -> None:
    other = {
        **SHOP,
        "sales": SALES.replace(
            "SUM(amount) AS amount", "CAST(SUM(amount) AS STRING) AS amount, COUNT(*) AS n"
        ),
        "shown": "MODEL (name mart.shown, kind VIEW);\nSELECT day, 1 AS amount FROM mart.sales",
    }
    found, _ = compared(with_dev(other), on=["day"])
    assert [(each.name, each.new) for each in found.columns] == [
        ("amount", "string"),
        ("n", "bigint"),
    ]
    assert found.rows is not None
    assert found.rows.not_compared == ("amount",)
    assert (found.rows.columns, found.rows.changed) == (("day",), 0)
    assert not found.is_equal


@pytest.mark.full
@pytest.mark.parametrize("fields", ["1 AS b, SUM(amount) AS a", "SUM(amount) AS a"])
def test_structs_of_other_fields_or_in_another_order_are_named_and_not_compared(
    fields: str,
) -> None:
    whole = SALES.replace("AS amount FROM", "AS amount, STRUCT(SUM(amount) AS a, 1 AS b) AS s FROM")
    other = whole.replace("SUM(amount) AS a, 1 AS b", fields)
    found, _ = compared(with_dev({**SHOP, "sales": other}, {**SHOP, "sales": whole}))
    assert [each.name for each in found.columns] == ["s"]
    assert found.rows is not None
    assert found.rows.not_compared == ("s",)


def test_rows_that_share_a_key_are_reported_and_not_joined() -> None:
    alike = {**SHOP, "sales": SALES.replace("SUM(amount)", "CAST(MAX(1) AS DECIMAL(38, 0))")}
    found, _ = compared(with_dev(alike), on=["amount"])
    rows = there(found.rows)
    assert (rows.keys, rows.asked_keys) == ((), ("amount",))
    assert [[*each] for each in rows.repeated] == [[], [(1, 3)]]
    assert rows.changed == 0


@pytest.mark.full
def test_rows_of_a_view_are_compared() -> None:
    found, asking = compared(with_dev(EDITED), "shown", on=["day"])
    assert found.rows is not None
    assert (found.rows.changed, found.read) == (3, None)
    assert asking.engines == {"engine"}


def test_an_unknown_model_environment_or_column_is_refused() -> None:
    world = with_dev(EDITED)
    with pytest.raises(Refused, match="has no model mart\\.nothing"):
        compared(world, "nothing")
    with pytest.raises(Refused, match="does not have the column nowhere"):
        compared(world, on=["nowhere"])


@pytest.mark.full
@pytest.mark.parametrize(
    "what, said",
    [("written", "written to in the meantime"), ("promoted", "was promoted in the meantime")],
)
def test_what_changes_meanwhile_is_a_conflict(what: str, said: str) -> None:
    world = with_dev(EDITED)
    services, table = world.services(), shown_table(world, "prod")

    class Disturbed(Asking):
        def __call__(
            self, query: exp.Query, views: Mapping[ModelName, TableName], most: int
        ) -> Sequence[tuple[object, ...]]:
            if not self.asked and what == "written":
                world.catalog.append(table, [])
            elif not self.asked:
                world.build(graph_of(SHOP), "dev")
            return super().__call__(query, views, most)

    with pytest.raises(Conflict, match=said):
        diff_table(services, Disturbed(services), "prod", "dev", SALES_NAME, limit=1)
