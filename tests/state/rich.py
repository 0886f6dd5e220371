"""A state with rows in every table, for what is done to a state as a whole."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from tests.state.builders import (
    KEY,
    MINUTE,
    RAW,
    SALES,
    change,
    day,
    intent,
    load,
    mark,
    publication,
    publish,
    session,
    snapshot,
)
from tests.state.test_listing_contract import STATELESS
from tests.state.test_state_contract import AUDITS
from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import EntryStatus, LedgerChange, LedgerOperation, Trace
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.ledger.staleness import LastLook, SeenInput
from vde_dagster.core.model.snapshot import DecidedBy, ModelSnapshot, Revision
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pauses import Pause
from vde_dagster.ports.state import Lease, State

ORDERS = snapshot(ModelName("shop", "orders"), text="SELECT 'ünï\n\"quoted\"'")
SHOWN = snapshot(version=KEY.version, decided_by=DecidedBy.PERSON)
UNUSED = snapshot(ModelName("shop", "unused"), version="unused")
AT = datetime(2024, 1, 7, tzinfo=UTC)
TRACE = Trace(key="k1", inputs={RAW: "t1", SALES: "t2"}, seconds=1.25)
LEFT = Pending(interval=day(5), sources=(SALES,), reason=PendingReason.BEYOND_THRESHOLD)


def fill(state: State) -> None:
    """Environments, work of every sort, late data; one promotion and work are begun."""
    lease = state.acquire_lease("environment:prod", holder="plan p1", ttl=MINUTE)
    state.store_snapshots([ORDERS, SHOWN], environment="prod")
    promote(state, lease, "prod", 0, "p1", ORDERS, SHOWN)
    promote(state, lease, "prod", 1, "p2", SHOWN)
    promote(state, lease, "dev", 0, "p3", replace(SHOWN, drifted=True), taken=Revision("prod", 2))
    state.begin_promotion(
        "dev", expected_revision=1, plan_id="p4", snapshots=[ORDERS], lease=lease, author="ana@ci"
    )
    traced = tuple(replace(change(number), trace=TRACE) for number in range(4))
    load(state, lease, "w1", *traced)
    state.record_audits("w1", AUDITS, lease=lease)
    state.outdate({KEY: [day(1)]}, reason="somebody asked", lease=lease)
    empty = LedgerChange(
        operation=LedgerOperation.REPLACE,
        interval=day(6),
        rows=RowSum(),
        status=EntryStatus.EMPTY,
        reason="nothing was there",
    )
    load(state, lease, "w2", empty)
    late = replace(session(), question=STATELESS)
    staged = replace(publication(change(0), moves=mark(2)), pending=(LEFT,))
    publish(state, lease, intent("s1", late=late), staged)
    state.record_detected(KEY, [mark(3)], (LEFT,), lease=lease)
    state.record_intent(intent("w3"), lease=lease)
    state.abandon("w3", reason="it failed", lease=lease)
    state.record_intent(intent("w4"), lease=lease)
    look = LastLook(definition="d", number=3, inputs={SALES: SeenInput(table="t", number=2**62)})
    state.record_looks({KEY: look})
    state.pause([Pause(environment="prod", model=SALES, paused_at=AT, author="ana", reason="it")])
    state.store_snapshots([UNUSED], environment="qa", shows=[SHOWN.key])
    state.record_sweep((), Times())


def promote(
    state: State,
    lease: Lease,
    name: str,
    revision: int,
    plan_id: str,
    *snapshots: ModelSnapshot,
    taken: Revision | None = None,
) -> None:
    """A promotion that is finished; it hides the first model that it shows."""
    state.begin_promotion(
        name,
        expected_revision=revision,
        plan_id=plan_id,
        snapshots=snapshots,
        lease=lease,
        hidden=[snapshots[0].name],
        author="ana@ci",
        taken=taken,
    )
    state.finish_promotion(name, plan_id=plan_id)
