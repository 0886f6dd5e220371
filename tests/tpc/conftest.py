"""The benchmarks, made once for a process of pytest."""

from __future__ import annotations

import pytest

from tests.tpc.texts import Benchmarks, generate


@pytest.fixture(scope="session")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> Benchmarks:
    """TPC-H and TPC-DS at a small scale."""
    return generate(tmp_path_factory.mktemp("tpc"))
