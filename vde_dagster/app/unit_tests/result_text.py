"""Unit tests as people read how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from vde_dagster.app.unit_tests.running import AnsweredBy, Outcome, UnitTestResult
from vde_dagster.core.listing import plural
from vde_dagster.core.unit_tests.difference_text import difference_lines


def result_lines(result: UnitTestResult) -> Iterator[str]:
    """How a test ended, and of one that did not pass what differs."""
    test = result.test
    yield f"{result.outcome.value.upper():6}  {test.identity}  ({test.model})"
    if result.differences or result.error:
        yield from (f"    {line}" for line in test.description.splitlines())
    yield from (f"    {line}" for line in result.error.splitlines())
    for what, found in result.differences:
        first, *others = difference_lines(found)
        yield f"    {what}: {first}"
        yield from (f"      {line}" for line in others)


def summary(results: Sequence[UnitTestResult]) -> str:
    """How many tests passed, and on which engine they ran."""
    outcomes = Counter(each.outcome for each in results)
    engines = Counter(each.answered_by for each in results)
    names = {AnsweredBy.DUCKDB: "on DuckDB", AnsweredBy.SPARK: "on Spark"}
    words = {Outcome.PASSED: "passed", Outcome.FAILED: "failed", Outcome.ERROR: "with an error"}
    words[Outcome.NOT_RUN] = "not run, which Spark is needed for"
    counts = ", ".join(f"{outcomes[each]} {words[each]}" for each in Outcome if outcomes[each])
    before = sum(each.before for each in results)
    places = [f"{engines[each]} {names[each]}" for each in names if engines[each]]
    where = ", ".join([*places, *([f"{before} unchanged since then"] if before else [])])
    tests = plural(len(results), "unit test")
    return f"{tests}: {counts}{f' ({where})' if where else ''}."
