import typing as t
from datetime import datetime

import pandas as pd
from macros.shared import RANKS
from models.marts.shared import shares
from sqlglot.expressions import to_column

from sqlmesh import ExecutionContext, model
from sqlmesh.core.model.kind import ModelKindName
from sqlmesh.utils.date import to_ds
from sqlmesh.utils.errors import SQLMeshError


@model(
    "marts.ranking",
    kind=dict(name=ModelKindName.FULL),
    owner="ben",
    description="Who buys most.",
    depends_on=["core.people", "core.orders"],
    columns={"region": "text", "share": "decimal(5, 2)"},
    column_descriptions={"region": "where, of course"},
    audits=[("not_null", {"columns": [to_column("region")]}), "whole_shares"],
)
def execute(
    context: ExecutionContext, end: datetime, minimum: int = 0, **kwargs: t.Any
) -> t.Iterator[pd.DataFrame]:
    orders = context.fetchdf(f"SELECT * FROM {context.resolve_table('core.orders')}")
    if orders.empty:
        raise SQLMeshError(f"no orders before {to_ds(end)}")
    for rank in RANKS:
        yield shares(orders, rank)
