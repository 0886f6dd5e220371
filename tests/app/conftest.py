"""What all tests with worlds in memory share: models are read once in each process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.app.memory_world import MemoryWorld
from tests.app.read_models import reading_as_fits
from tests.app.shop_world import shop_in_production


@pytest.fixture(autouse=True)
def models_are_read_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """See `reading_as_fits`."""
    with reading_as_fits(request):
        yield


@pytest.fixture
def world() -> MemoryWorld:
    """Production shows three days of the shop, unless a file has another world."""
    return shop_in_production()
