"""What is pending is loaded by a session, or by the command that is printed."""

from __future__ import annotations

import pytest

from tests.state.builders import RAW, day
from vde_dagster.core.ledger.late.pending import Pending, PendingReason, loading_arguments
from vde_dagster.core.names import ModelName

TIMES = ("--start", day(0).start.isoformat(), "--end", day(0).end.isoformat())


@pytest.mark.parametrize("environment, does", [("prod", "run"), ("dev", "plan")])
@pytest.mark.parametrize("reason", PendingReason)
def test_production_loads_it_as_it_is_whatever_is_checked_out(
    reason: PendingReason, environment: str, does: str
) -> None:
    """A run of another environment takes no bounds."""
    left = Pending(interval=day(0), sources=(RAW,), reason=reason)
    words = loading_arguments(ModelName("staging", "events"), environment, left)
    if reason is PendingReason.INCOMPLETE:
        assert words is None
        return
    flag = ("--allow-empty",) if reason is PendingReason.REMOVED else ()
    assert words == (does, environment, "--restate-model", "staging.events", *TIMES, *flag)
