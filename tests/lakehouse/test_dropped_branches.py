"""A branch that somebody drops while a unit of work writes to it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.staging.branch import Branch


def test_a_write_to_a_branch_that_is_gone_is_no_write_without_rows() -> None:
    target = SimpleNamespace(table=TableName("vde_mart", "t"))
    staging: Any = SimpleNamespace(base=7, work_id="work", target=target)
    without: Any = SimpleNamespace(metadata=SimpleNamespace(refs={}))
    spark: Any = None
    branch = Branch(spark, "lake", staging, lambda _: without)
    with pytest.raises(EvaluationFailed, match="nothing was published"):
        branch.committed()
