"""Rows of Python models without Spark: their functions are given frames of Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

from tests.worlds.frames import Frame, UserRows
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.unit_of_work import PythonRows
from vde_dagster.core.model.module_texts import importable
from vde_dagster.runtime.users_code import run_code, running_users_code, users_module


def python_rows(rows: PythonRows, tables: Mapping[str, Frame]) -> Frame:
    """What a model's function returns for these tables, which has to be a table of Arrow.

    Raises:
        EvaluationFailed: The function failed, or there is none.
    """
    context = SimpleNamespace(
        table=lambda name: UserRows(tables[name]),
        start=rows.interval.start,
        end=rows.interval.end,
        execution_time=rows.execution_time,
        variables=rows.variables,
    )
    with importable(dict(rows.modules)), users_module("model") as module, running_users_code():
        try:
            run_code(rows.source, rows.path, module)
            return Frame.of(module.__dict__[rows.function](context))
        except Exception as error:  # whatever a user's function raises
            raise EvaluationFailed(f"{rows.path}: {error!r}") from error
