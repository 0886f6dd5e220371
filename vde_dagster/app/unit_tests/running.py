"""Running unit tests: each question goes to an engine without a JVM, if it can answer as Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from vde_dagster.app.unit_tests.asking import asked_by
from vde_dagster.core.errors import EvaluationFailed, Refused, SetupError
from vde_dagster.core.listing import plural
from vde_dagster.core.unit_tests.comparison import Answer, Difference, difference
from vde_dagster.core.unit_tests.definition import UnitTest
from vde_dagster.core.unit_tests.difference_text import difference_lines
from vde_dagster.core.unit_tests.question import Question
from vde_dagster.ports.engine import Answering, Engine
from vde_dagster.project.unit_tests.loading import LoadedTest


class Outcome(Enum):
    """How a test ended.

    ``ERROR``: a query or function failed, so not all was compared. ``NOT_RUN``: it needs an engine
    that was not to be started, and nothing that was compared without it differs.
    """

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    NOT_RUN = "not run"


class AnsweredBy(Enum):
    """Which engine computed the rows of a test; Spark where any of its questions needed it."""

    DUCKDB = "duckdb"
    SPARK = "spark"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTestResult:
    """How a test ended: what differs, by what was compared, or why nothing could be compared.

    ``before`` if it passed before, and nothing has changed since.
    """

    test: UnitTest
    answered_by: AnsweredBy
    differences: tuple[tuple[str, Difference], ...] = ()
    error: str = ""
    not_run: bool = False
    before: bool = False

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        if self.error or self.not_run:
            return Outcome.ERROR if self.error else Outcome.NOT_RUN
        return Outcome.FAILED if self.differences else Outcome.PASSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """Who answers: ``quick``, if there is one and it can; else the engine, if it may be started."""

    engine: Engine | None
    quick: Answering | None = None

    def answer(self, question: Question, *, subject: str) -> tuple[Answer | None, AnsweredBy]:
        """The rows of a question, and who computed them; None if neither may.

        Raises:
            EvaluationFailed: The query or function failed.
            SetupError: The engine is needed, and cannot be started.
        """
        found = self.quick.answer(question, subject=subject) if self.quick is not None else None
        if found is not None:
            return found, AnsweredBy.DUCKDB
        if self.engine is None:
            return None, AnsweredBy.NONE
        return self.engine.answer(question, subject=subject), AnsweredBy.SPARK


def run_tests(
    tests: Sequence[LoadedTest],
    engines: Engines,
    report: Callable[[UnitTestResult], None] = lambda _: None,
) -> tuple[UnitTestResult, ...]:
    """Run tests one by one; nothing is written.

    Args:
        tests: The tests, which fit their models.
        engines: Who computes rows.
        report: Called when a test has ended.

    Raises:
        SetupError: A test needs an engine that cannot be started.
    """
    results = []
    for each in tests:
        results.append(_run(each, engines))
        report(results[-1])
    return tuple(results)


def _run(loaded: LoadedTest, engines: Engines) -> UnitTestResult:
    test = loaded.test
    if loaded.passed or loaded.waits:
        return UnitTestResult(
            test=test, answered_by=AnsweredBy.NONE, not_run=loaded.waits, before=loaded.passed
        )
    by, error, not_run = AnsweredBy.NONE, "", False
    differences: list[tuple[str, Difference]] = []
    try:
        for asked in asked_by(test, loaded.graph):
            answer, answered_by = engines.answer(asked.question, subject=str(test.model))
            if answer is None:  # others may show that the test fails
                not_run = True
                continue
            by = AnsweredBy.SPARK if AnsweredBy.SPARK in (by, answered_by) else answered_by
            found = difference(asked.expected, answer, ordered=asked.ordered)
            if found is not None:
                differences.append((asked.what, found))
    except SetupError:
        raise
    except (EvaluationFailed, Refused) as raised:
        error = str(raised)
    is_unknown = not_run and not differences
    return UnitTestResult(
        test=test,
        answered_by=AnsweredBy.NONE if is_unknown else by,
        differences=tuple(differences),
        error=error,
        not_run=is_unknown,
    )


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
    words[Outcome.NOT_RUN] = "not run, because Spark is needed"
    counts = ", ".join(f"{outcomes[each]} {words[each]}" for each in Outcome if outcomes[each])
    before = sum(each.before for each in results)
    places = [f"{engines[each]} {names[each]}" for each in names if engines[each]]
    where = ", ".join([*places, *([f"{before} unchanged since then"] if before else [])])
    tests = plural(len(results), "unit test")
    return f"{tests}: {counts}{f' ({where})' if where else ''}."
