"""What all tests with worlds in memory share: models are read once in each process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import counting
from tests.app.read_models import reading_once


@pytest.fixture(autouse=True)
def models_are_read_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Models are read once, unless a test replaces code of the product or counts its calls.

    Such a test would get what the other code made, or count what others have done for it.
    """
    counts = getattr(request.module, "calls_of", None) is counting.calls_of
    if counts or "monkeypatch" in request.fixturenames:
        yield
    else:
        with reading_once():
            yield
