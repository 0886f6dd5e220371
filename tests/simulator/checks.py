"""What has to be true of the state and the catalog after each step, beside what is shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from tests.simulator.commands import run
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.binding import bind_environment
from vde_dagster.app.inspect.status import EnvironmentStatus
from vde_dagster.app.inspect.verify import damaged_tables, verify
from vde_dagster.app.plan.adoption import given_back
from vde_dagster.app.services import Services
from vde_dagster.core.errors import VdeError
from vde_dagster.core.ledger.rows_lost import RowsWouldGo
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import Interval

_TIMES: Final = re.compile(r"--start (\S+) --end (\S+)")


def wrong_digests(services: Services, environment: str, lost: Collection[str]) -> Iterator[str]:
    """The versions of an environment whose rows are not those of the D-SHAs in the ledger.

    ``lost`` are the tables that other programs changed.
    """
    binding = bind_environment(services, environment)
    for verified in verify(services, binding) if binding is not None else ():
        if not verified.holds and str(verified.key.table) not in lost:
            why = verified.foreign_write or verified.mismatches or "there is no table"
            yield f"the rows of {verified.key.table} are not as recorded: {why}"


def gone(status: EnvironmentStatus, lost: Collection[str]) -> Iterator[str]:
    """The tables and views that are not there any more, and that no other program dropped."""
    for each in status.models:
        if each.lost is not None and each.lost.table not in lost:
            yield f"{each.lost.table} is gone, and nobody dropped it: {each.lost.damage}"


def unknown_to_the_doctor(services: Services, status: EnvironmentStatus) -> Iterator[str]:
    """The tables that a status calls changed, and the doctor does not."""
    found = [*damaged_tables(services)]
    for each in status.models:
        if each.lost is not None and not any(each.lost.table in text for text in found):
            yield f"the doctor does not know that {each.lost.table} {each.lost.damage}: {found}"


def is_promoting(services: Services, environment: str) -> bool:
    """Whether a promotion was begun and is not finished."""
    shown = services.state.environment(environment)
    return shown is not None and shown.promoting


def begun_work(services: Services) -> frozenset[VersionKey]:
    """The versions on which earlier processes left work.

    Whoever finishes that does not compare it with what came since; the next one does.
    """
    return frozenset(each.key for each in services.state.references().open_work)


def stale_versions(services: Services, environment: str) -> frozenset[VersionKey]:
    """The versions of which a run of an environment would compute something again, or leaves it."""
    return frozenset(
        VersionKey(each.name, each.version)
        for each in plan_run(services, environment).changes
        if each.version and each.staleness is not None
    )


def adopted(
    services: Services, environment: str, of: Collection[VersionKey]
) -> frozenset[VersionKey]:
    """Those of some versions that models of an environment have adopted.

    They stay as late as they were: what their sources got has nothing to do with the edit.
    """
    shown = services.state.environment(environment)
    found = shown.snapshots.values() if shown is not None else ()
    return frozenset(each.key for each in found if each.is_adopted and each.key in of)


def shows_any(services: Services, environment: str, keys: Collection[VersionKey]) -> bool:
    """Whether an environment shows one of some versions."""
    shown = services.state.environment(environment)
    return shown is not None and any(each.key in keys for each in shown.snapshots.values())


def planned_in_vain(what: str, outcome: BaseException | None) -> Iterator[str]:
    """What a plan or run had planned and then refused to compute, with nobody in its way."""
    is_asked = what in ("evaluate", "catch up")
    if not is_asked and "not complete up to that time yet" in str(outcome):
        yield f"a {what} plans what it refuses then: {outcome}"


def wrong_advice(what: str, outcome: BaseException | None) -> Iterator[str]:
    """What is wrong with the commands of a refusal to take rows: they take those that wait."""
    for refused in (outcome, getattr(outcome, "__cause__", None)):
        if isinstance(refused, RowsWouldGo):
            if what.startswith("run") and "`vde plan " in str(refused):
                yield f"a {what} advises to plan files that may not be checked out: {refused}"
            for start, end in _TIMES.findall(str(refused)):
                times = Interval(datetime.fromisoformat(start), datetime.fromisoformat(end))
                if times not in refused.intervals:
                    yield f"{times} is not what waits: {refused}"


def computed_for_nothing(services: Services, environment: str) -> Iterator[str]:
    """What a run computes right after another one that ended well.

    That one may have given a model other rows than production's: who reads it and had adopted
    production's table is given its own one by the next plan.
    """
    plan = plan_run(services, environment)
    if plan.is_empty:
        return
    binding = bind_environment(services, environment)
    assert binding is not None
    back = given_back(services, environment, binding.graph, binding.snapshots)
    own = {
        str(VersionKey(each.name, each.version).table)
        for each in plan.changes
        if each.version and any(of.name in back for of in plan.graph.upstream([each.name]))
    }
    staged: list[str] = []

    class Engine:
        def __getattr__(self, method: str) -> Any:
            found = getattr(services.engine, method)

            def call(*args: Any, **kwargs: Any) -> Any:
                if method == "stage":
                    staged.append(f"{args[0].target.table} {[e.write for e in args[0].parts]}")
                return found(*args, **kwargs)

            return call

    counted: Mapping[str, Any] = {"engine": Engine()}
    try:
        run(replace(services, **counted), environment)
    except VdeError as error:
        yield f"a run was refused right after another one: {error}"
    for each in staged:
        if each.split(maxsplit=1)[0] not in own:
            yield f"{each} is computed once more"
