"""The unit tests of a project as they run before a plan is applied or saved, wherever that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vde_dagster.app.unit_tests.column_types import ColumnTypes
from vde_dagster.app.unit_tests.running import (
    Engines,
    Outcome,
    UnitTestResult,
    result_lines,
    run_tests,
    summary,
)
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.unit_tests.selection import chosen_tests
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.loading import models_kept_in
from vde_dagster.project.unit_tests.kept import kept_results
from vde_dagster.project.unit_tests.loading import load_unit_tests, unit_test_files


def run_project_tests(
    configuration: Configuration,
    graph: Callable[[], Graph],
    engines: Callable[[], Engines],
    wanted: Sequence[str] = (),
    *,
    again: bool = True,
    report: Callable[[UnitTestResult], None] = lambda _: None,
) -> tuple[UnitTestResult, ...]:
    """Run a project's tests, and return how they ended; none where there are none.

    Args:
        configuration: The project's settings.
        graph: Gives its models, which are not read where there are no tests.
        engines: Gives who computes rows, likewise.
        wanted: The tests by file and name; all of them if none is named.
        again: Whether tests run that passed before, and of which nothing has changed since.
        report: Called when a test has ended.

    Raises:
        ProjectInvalid: Something is wrong in the files of models or of tests.
        Refused: There is no test of a name.
        SetupError: A test needs Spark, which is missing.
    """
    if not unit_test_files(configuration.folder) and not wanted:
        return ()
    opened = engines()
    private = configuration.outside_variables
    with kept_results(models_kept_in(configuration.folder, private=private)) as kept:
        loaded = load_unit_tests(
            configuration,
            graph(),
            ColumnTypes(engines=opened).columns,
            passed=lambda key: not again and kept.get(key) is not None,
        )
        chosen = chosen_tests([each.test for each in loaded], wanted)
        identities = {each.identity for each in chosen}
        asked = [each for each in loaded if each.test.identity in identities]
        results = run_tests(asked, opened, report)
        for each, result in zip(asked, results, strict=True):
            if each.key and not each.passed and result.outcome is Outcome.PASSED:
                kept.put(each.key, [b"passed"])
    return results


def not_passed(results: Sequence[UnitTestResult]) -> list[str]:
    """What is said of the tests that did not pass; nothing of those that were not run."""
    bad = [each for each in results if each.outcome in (Outcome.FAILED, Outcome.ERROR)]
    return [line for each in bad for line in result_lines(each)]


def require_passed(
    results: Sequence[UnitTestResult], *, nothing: str, may_skip: bool = True
) -> None:
    """Refuse to go on where a test did not pass.

    Args:
        results: How the tests ended.
        nothing: What was not done, as a sentence.
        may_skip: Whether tests can be skipped here.

    Raises:
        Refused: A test did not pass.
    """
    lines = not_passed(results)
    if lines:
        raise Refused(
            "\n".join([f"{summary(results)} {nothing}", *lines]),
            advice="Correct the models or the tests"
            + ("; --skip-tests plans anyway." if may_skip else "."),
        )
