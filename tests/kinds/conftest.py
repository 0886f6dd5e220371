"""What the tests of sentences share: models are read once in each process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.app.read_models import reading_as_fits


@pytest.fixture(autouse=True)
def models_are_read_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """See `reading_as_fits`."""
    with reading_as_fits(request):
        yield
