"""What is reported of files that cannot be loaded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vde_dagster.core.errors import Problem, ProjectInvalid


def problems_of(load: Callable[[], object]) -> tuple[Problem, ...]:
    """What is wrong with what cannot be loaded."""
    with pytest.raises(ProjectInvalid) as caught:
        load()
    return caught.value.problems
