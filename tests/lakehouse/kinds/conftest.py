"""The adapters that the kinds are tried on."""

from __future__ import annotations

import pytest

from tests.lakehouse.kinds.worlds import Worlds, worlds_in_memory, worlds_on_spark


@pytest.fixture(params=["memory", pytest.param("spark", marks=pytest.mark.spark)])
def worlds(request: pytest.FixtureRequest) -> Worlds:
    """Both pairs of adapters, one after the other."""
    if request.param == "memory":
        return worlds_in_memory()
    return worlds_on_spark(request.getfixturevalue("spark"), request.getfixturevalue("spark_lake"))
