"""Views over tables whose structs get fields, as Spark reads them all the while (rule R11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest

from tests.lakehouse.conftest import Lake
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.schema_changes import ColumnWidened
from vde_dagster.core.ledger.stored_types import grown
from vde_dagster.core.names import TableName
from vde_dagster.ports.catalog import ViewDefinition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.spark


@dataclass(frozen=True, kw_only=True)
class Case:
    """A column's type, a value, and both as JSON before and after it became another type."""

    before: str
    after: str
    value: str
    then: str
    now: str


CASES: Final = {
    "s": Case(
        before="struct<a:int>",
        after="struct<a:int,b:int>",
        value="named_struct('a', 1)",
        then='{"a":1}',
        now='{"a":1,"b":null}',
    ),
    "in the middle": Case(
        before="struct<a:int,z:int>",
        after="struct<a:int,b:string,z:bigint>",
        value="named_struct('a', 1, 'z', 2)",
        then='{"a":1,"z":2}',
        now='{"a":1,"z":2,"b":null}',
    ),
    "vde_rows": Case(
        before="struct<vde_rows:struct<a:int>>",
        after="struct<vde_rows:struct<a:int,b:date>>",
        value="named_struct('vde_rows', named_struct('a', 1))",
        then='{"vde_rows":{"a":1}}',
        now='{"vde_rows":{"a":1,"b":null}}',
    ),
    "inside.null": Case(
        before="struct<s:struct<a:int>>",
        after="struct<s:struct<a:int,b:date>,c:int>",
        value="named_struct('s', CAST(NULL AS STRUCT<a: INT>))",
        then='{"s":null}',
        now='{"s":null,"c":null}',
    ),
    "e0": Case(
        before="array<struct<e0:int>>",
        after="array<struct<e0:int,b:int>>",
        value="array(named_struct('e0', 1), NULL)",
        then='[{"e0":1},null]',
        now='[{"e0":1,"b":null},null]',
    ),
    "k0": Case(
        before="map<string,struct<a:int>>",
        after="map<string,struct<a:bigint,b:int>>",
        value="map('k', named_struct('a', 1), 'l', NULL)",
        then='{"k":{"a":1},"l":null}',
        now='{"k":{"a":1,"b":null},"l":null}',
    ),
    "arrays": Case(
        before="array<array<struct<q:int>>>",
        after="array<array<struct<q:int,r:array<int>>>>",
        value="array(array(named_struct('q', 1)), array(), NULL)",
        then='[[{"q":1}],[],null]',
        now='[[{"q":1,"r":null}],[],null]',
    ),
    "deep": Case(
        before="map<string,array<struct<m:map<int,struct<a:int>>>>>",
        after="map<string,array<struct<m:map<int,struct<a:int,b:int>>>>>",
        value="map('x', array(named_struct('m', map(7, named_struct('a', 1)))))",
        then='{"x":[{"m":{"7":{"a":1}}}]}',
        now='{"x":[{"m":{"7":{"a":1,"b":null}}}]}',
    ),
    "names": Case(
        before="struct<`x.y`:int,`b``c`:int,`it's`:int>",
        after="struct<`x.y`:int,`b``c`:int,`it's`:int,`new.one`:int,`w o`:int>",
        value="named_struct('x.y', 1, 'b`c', 2, 'it\\'s', 3)",
        then='{"x.y":1,"b`c":2,"it\'s":3}',
        now='{"x.y":1,"b`c":2,"it\'s":3,"new.one":null,"w o":null}',
    ),
    "Case": Case(
        before="struct<userId:int>",
        after="STRUCT<USERID: BIGINT, Extra: STRING>",
        value="named_struct('userId', 1)",
        then='{"userId":1}',
        now='{"userId":1,"Extra":null}',
    ),
    "widened": Case(
        before="array<int>",
        after="array<bigint>",
        value="array(1, NULL)",
        then="[1,null]",
        now="[1,null]",
    ),
    "digits": Case(
        before="struct<a:decimal(5,2)>",
        after="struct<c:array<struct<d:int>>,a:decimal(9,2)>",
        value="named_struct('a', CAST(1.5 AS DECIMAL(5,2)))",
        then='{"a":1.50}',
        now='{"a":1.50,"c":null}',
    ),
}
"""By the names of their columns, which may be those that a query needs for itself."""
GROWTH: Final = tuple(
    ColumnWidened(column=name, before=each.before, after=each.after) for name, each in CASES.items()
)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A table of all cases with a row of values and one of NULL, and a view of it."""

    lake: Lake

    @property
    def table(self) -> TableName:
        return TableName(self.lake.schema, "rows")

    def create(self) -> None:
        columns = ", ".join(f"`{name}` {each.before}" for name, each in CASES.items())
        values = ", ".join(each.value for each in CASES.values())
        nothing = ", ".join(["NULL"] * len(CASES))
        sql = self.lake.spark.sql
        sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{self.lake.schema}")
        sql(f"CREATE TABLE lake.{self.table} (id INT, {columns}) USING iceberg")
        sql(f"INSERT INTO lake.{self.table} VALUES (1, {values}), (2, {nothing})")

    def show(self, types: dict[str, str], *, by_field: bool = False) -> None:
        columns = [Column(name=name, type=each) for name, each in types.items()]
        view = ViewDefinition(
            name=TableName(self.lake.schema, "shown"),
            target=self.table,
            columns=(Column(name="id", type="int"), *columns),
            by_field=by_field,
        )
        self.lake.catalog.swap_views([view], ())

    def read(self) -> list[tuple[object, ...]]:
        """Both rows as a reader sees them whose session knows nothing of the view yet."""
        reader = self.lake.spark.newSession()
        return texts(reader.table(f"lake.{self.lake.schema}.shown"))


def texts(rows: DataFrame) -> list[tuple[object, ...]]:
    """All rows, what is nested as JSON with its NULLs."""
    options = "map('ignoreNullFields', 'false')"
    nested = [f"to_json(`{name}`, {options}) AS `{name}`" for name in CASES]
    return [tuple(each) for each in rows.orderBy("id").selectExpr("id", *nested).collect()]


THEN: Final = [(1, *(each.then for each in CASES.values())), (2, *[None] * len(CASES))]
NOW: Final = [(1, *(each.now for each in CASES.values())), (2, *[None] * len(CASES))]
BEFORE: Final = {name: each.before for name, each in CASES.items()}
AFTER: Final = {name: each.after for name, each in CASES.items()}
WIDER: Final = {name: grown(each.before, each.after, adds=False) for name, each in CASES.items()}


def test_a_view_is_read_before_and_after_its_structs_get_fields(lake: Lake) -> None:
    shown = Shown(lake=lake)
    shown.create()
    shown.show(BEFORE)
    assert shown.read() == THEN
    shown.show(WIDER, by_field=True)
    assert shown.read() == THEN
    shown.show(AFTER)  # fields that the table does not have yet
    assert shown.read() == THEN
    shown.show(WIDER, by_field=True)
    lake.catalog.evolve(shown.table, GROWTH)
    assert shown.read() == THEN
    first = lake.table(shown.table).metadata_location
    lake.catalog.evolve(shown.table, GROWTH)
    assert lake.table(shown.table).metadata_location == first
    shown.show(BEFORE)  # an environment whose models do not return the fields
    assert shown.read() == THEN
    shown.show(AFTER)
    assert shown.read() == NOW
    shown.show(dict.fromkeys(CASES, ""))  # types that are not known: all that the table has
    assert shown.read() == NOW
