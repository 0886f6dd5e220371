"""Tables of each kind whose columns are added and widened between two loads (rule R11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

import pytest

from tests.lakehouse.kinds.models import write_of
from tests.lakehouse.kinds.worlds import (
    START,
    Values,
    Worlds,
    both_worlds,
    days,
    field,
    ordered,
)
from vde_dagster.core.ledger.dsha import DEFAULT_ALGORITHM, total
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnWidened, InPlace
from vde_dagster.core.model.storage import PartitionField
from vde_dagster.core.model.writes import KeepHistory
from vde_dagster.ports.engine import Sought

TYPES: Final = {"id": "int", "at": "timestamp", "amount": "decimal(5,2)"}
WIDER: Final = {"id": "bigint", "at": "timestamp", "amount": "decimal(10,2)", "note": "string"}
GROWTH: Final[Sequence[InPlace]] = (
    ColumnWidened(column="id", before="int", after="bigint"),
    ColumnWidened(column="amount", before="decimal(5,2)", after="decimal(10,2)"),
    ColumnAdded(column="note", type="string"),
)


def hour(number: int) -> datetime:
    return START + timedelta(hours=number)


BIG: Final = 5_000_000_000
FIRST: Final[list[Values]] = [(1, hour(1), Decimal("1.50")), (2, hour(2), Decimal("2.50"))]
THEN: Final[list[Values]] = [
    (2, hour(25), Decimal("99999.75"), "new"),
    (BIG, hour(26), Decimal("3.50"), None),
]
ONE, TWO = [(*row, None) for row in FIRST]
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kind, how its table is partitioned, and its rows in the end."""

    kind: str
    rows: list[Values]
    by: tuple[PartitionField, ...] = ()
    keeps: bool = True


CASES: Final = {
    "by time": Case(
        kind="INCREMENTAL_BY_TIME_RANGE (time_column at)",
        by=(field("at", "days"),),
        rows=[ONE, TWO, *THEN],
    ),
    "by key": Case(kind="INCREMENTAL_BY_UNIQUE_KEY (unique_key id)", rows=[ONE, *THEN]),
    "by partition": Case(kind="INCREMENTAL_BY_PARTITION", by=(field("id"),), rows=[ONE, *THEN]),
    "appended": Case(kind="INCREMENTAL_UNMANAGED", rows=[ONE, TWO, *THEN]),
    "whole": Case(kind="FULL", rows=THEN, keeps=False),
    "history": Case(
        kind="SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at)",
        by=(field("valid_to", "years"),),
        rows=[
            (1, hour(1), Decimal("1.50"), EPOCH, None, None),
            (2, hour(2), Decimal("2.50"), EPOCH, hour(25), None),
            (2, hour(25), Decimal("99999.75"), hour(25), None, "new"),
            (BIG, hour(26), Decimal("3.50"), hour(26), None, None),
        ],
    ),
}


@pytest.mark.parametrize("worlds,case", both_worlds(CASES, short=["by key"]), indirect=["worlds"])
def test_a_table_goes_on_with_columns_that_were_added_and_widened(
    worlds: Worlds, case: Case
) -> None:
    by = "id" if case.kind == "INCREMENTAL_BY_PARTITION" else ""
    table = worlds.table(TYPES, *case.by)
    loading = write_of(case.kind, TYPES, days(0), partitioned_by=by)
    if isinstance(loading, KeepHistory):
        loading = replace(loading, is_first=True)
    first = table.write(FIRST, loading)
    assert total(first.sums[0].values()) == table.sum_of_all()
    table.catalog.evolve(table.key.table, GROWTH)

    before, wider = table.head(), replace(table, types=WIDER)
    then = wider.write(THEN, write_of(case.kind, WIDER, days(1), partitioned_by=by))
    assert wider.rows() == ordered(case.rows)
    kept = Sought(table=table.key.table, iceberg_snapshot_id=before, columns=then.columns)
    sums = table.engine.sums(kept, algorithm=DEFAULT_ALGORITHM) if case.keeps else {}
    changes = total(then.sums[0].values())
    assert total(sums.values()) + changes == wider.sum_of_all()
