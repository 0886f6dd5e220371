"""Commands of several processes at once."""

from __future__ import annotations

import threading

import pytest

from tests.app.memory_world import MemoryWorld
from tests.simulator import at_once
from vde_dagster.app.services import Services


def test_a_lock_that_real_processes_would_not_share_stops_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever holds it waits for a turn, and whose turn it is waits for the lock."""
    monkeypatch.setattr(at_once, "_LONGEST", 0.1)
    lock, done = threading.Lock(), list[int]()

    def locked(services: Services) -> None:
        for _ in range(20):
            with lock:
                services.state.environments()
        done.append(1)

    services = MemoryWorld().services()

    def both() -> None:
        at_once.at_once([(services, locked), (services, locked)], seed=1)

    working = threading.Thread(target=both, daemon=True)
    working.start()
    working.join(timeout=60)
    assert done == [1, 1]
