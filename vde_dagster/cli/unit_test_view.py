"""Unit tests as programs read how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vde_dagster.cli.printing import as_json

if TYPE_CHECKING:
    from vde_dagster.app.unit_tests.running import UnitTestResult
    from vde_dagster.core.unit_tests.comparison import Difference


def facts(results: Sequence[UnitTestResult]) -> dict[str, object]:
    """The fields of the JSON contract."""
    from vde_dagster.app.unit_tests.running import Outcome

    outcomes = Counter(each.outcome for each in results)
    return {
        "passed": outcomes[Outcome.PASSED],
        "failed": outcomes[Outcome.FAILED],
        "errors": outcomes[Outcome.ERROR],
        "not_run": outcomes[Outcome.NOT_RUN],
        "tests": [_facts(each) for each in results],
    }


def _facts(result: UnitTestResult) -> dict[str, object]:
    test = result.test
    return {
        "name": test.name,
        "file": test.place.path.as_posix(),
        "line": test.place.line,
        "model": str(test.model),
        "description": test.description,
        "engine": result.answered_by.value,
        "outcome": result.outcome.value.replace(" ", "_"),
        "error": result.error or None,
        "differences": [_difference(what, each) for what, each in result.differences],
    }


def _difference(what: str, found: Difference) -> dict[str, object]:
    """One difference; a common table expression is named, the whole query is ``query``."""
    return {
        "of": what,
        "rows_expected": found.expected,
        "rows_actual": found.actual,
        "columns_missing": list(found.absent),
        "reordered": found.reordered,
        "changed": [
            {
                "line": row.place.line,
                "columns": [
                    {
                        "column": each.column,
                        "expected": as_json(each.expected),
                        "actual": as_json(each.actual),
                    }
                    for each in row.cells
                ],
            }
            for row in found.changed
        ],
        "missing": [
            {"line": row.place.line, "row": as_json(dict(row.values))} for row in found.missing
        ],
        "unexpected": [as_json(dict(row)) for row in found.unexpected],
    }
