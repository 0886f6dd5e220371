"""Proof by execution: what is declared unaffected returns the same rows before and after.

Projects, edits and tables are random; every query runs on DuckDB as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.core.planning.changes.proof.claims import (
    Comparer,
    Differences,
    FalseClaim,
    compare,
    false_claims,
    unaffected_descendants,
)
from tests.core.planning.changes.proof.execution import Database, NotRun, random_database
from tests.core.planning.changes.proof.projects import Project
from tests.core.planning.changes.proof.revisions import WAYS, Revisions, revisions

EXAMPLES, LONG = 100, 10_000
"""How many pairs of revisions are compared, each of them in both directions."""
LEAST_SHARE = 0.4
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    found = random_database()
    yield found
    found.connection.close()


def proof(examples: int) -> settings:
    """The same examples in every run: what is green here is green elsewhere."""
    return settings(
        max_examples=examples // WAYS,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def claims(database: Database, found: Revisions, comparer: Comparer = compare) -> list[FalseClaim]:
    """What is claimed and not so; nothing of what cannot be found out, or takes too long."""
    try:
        return list(false_claims(found, database, comparer))
    except NotRun:
        return []


@dataclass(slots=True)
class KeepingComparer:
    """The comparison that is proved, and what it found the first time."""

    first: Differences | None = None

    def __call__(self, before: Project, after: Project) -> Differences:
        found = compare(before, after)
        self.first = self.first or found
        return found


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("examples", [EXAMPLES, pytest.param(LONG, marks=pytest.mark.full)])
def test_what_is_declared_unaffected_returns_the_same_rows(
    database: Database, examples: int
) -> None:
    compared = shown = 0

    @proof(examples)
    @given(SEEDS)
    def run(seed: int) -> None:
        nonlocal compared, shown
        for found in revisions(seed):
            comparer = KeepingComparer()
            if wrong := claims(database, found, comparer):
                reported = (each.reported for each in wrong)
                pytest.fail("\n".join([repr(found), *reported]), pytrace=False)
            compared += 1
            there = comparer.first or compare(found.before, found.after)
            shown += bool(unaffected_descendants(there))

    run()
    assert compared >= examples
    assert shown >= compared * LEAST_SHARE, f"{shown} of {compared} have an unaffected descendant"
