"""Readers see the old rows while a blocking audit finds bad ones, and afterwards, in any kind.

The readers are this process, by pyiceberg, and a Spark session of another one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from tests.app.faults.every_kind import KINDS
from tests.app.faults.lake import Kept, Lake
from tests.app.faults.processes import Driver

pytestmark = pytest.mark.timeout(900)  # several JVMs, on a machine that may be busy

ONE_DAY: Final = 3
BLOCKING: Final = ", audits (forall (criteria := (amount <> 9)))"
WARNING: Final = BLOCKING.replace("forall", "forall_non_blocking")
OFTEN: Final = ("time_range", "unique_key", "full")


@pytest.mark.parametrize(
    "kinds", [pytest.param(OFTEN, id="often"), pytest.param(tuple(KINDS), marks=pytest.mark.full)]
)
def test_readers_see_the_old_rows_while_an_audit_fails_and_until_the_next_success(
    kinds: tuple[str, ...], tmp_path: Path
) -> None:
    models = {kind: Kept(kind=kind, more=BLOCKING) for kind in kinds}
    models["warned"] = Kept(kind="unmanaged", more=WARNING)
    lake = Lake.make(tmp_path, models)
    run = Driver.start(tmp_path, "run", then="wait", parked=dict.fromkeys(models, "audited"))
    try:
        assert run.line() == "ready"
        ledger = {name: lake.ledger(name) for name in models}
        reader = Driver.start(tmp_path, "reader", then="read")
        try:
            assert_all_is_old(lake, models)
            assert json.loads(reader.line()) == dict.fromkeys(models, ONE_DAY)
            run.tell("go on")
            ended = dict.fromkeys(kinds, "AuditFailed") | {"warned": "done"}
            assert run.outcome() == {"ended": ended}
            lake.assert_rows_are_exact("warned")
            assert_all_is_old(lake, kinds)
            assert {name: lake.ledger(name) for name in kinds} == {
                name: ledger[name] for name in kinds
            }
            for name in kinds:
                (kept,) = lake.refs(name) - {"main"}
                assert lake.rows(name, kept).num_rows > 0, "what was refused can be looked at"
            reader.tell("again")
            seen = json.loads(reader.line())
            assert {name: seen[name] for name in kinds} == dict.fromkeys(kinds, ONE_DAY)
            lake.write(dict.fromkeys(models, ""))
            reader.tell("run")
            verified = {f"kept.{name}": True for name in models}
            assert reader.outcome() == {"verified": verified, "left": []}
        finally:
            reader.end()
    finally:
        run.end()
    for name in models:
        lake.assert_rows_are_exact(name)
        assert lake.refs(name) == {"main"}


def assert_all_is_old(lake: Lake, names: Iterable[str]) -> None:
    assert {name: lake.rows(name).num_rows for name in names} == dict.fromkeys(names, ONE_DAY)
