"""Rule R9: nobody owns a version that a plan was to show, could not fill, and does not show."""

from __future__ import annotations

import pytest

from tests.app.memory_world import Fuse, MemoryWorld, PowerCut, graph_of, there
from tests.app.shop_world import SALES, SHOP, done, shop_in_production
from vde_dagster.app.apply.accepting import Accepted, Accepting, publish_refused
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.promote.taking import plan_rollback
from vde_dagster.core.errors import AuditFailed, Conflict, EvaluationFailed, Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName

SALES_NAME, TOTAL_NAME = ModelName("mart", "sales"), ModelName("mart", "total")
FAILS = graph_of({**SHOP, "sales": SALES.replace("SUM(amount)", "SUM(CAST('x' AS BIGINT))")})
LATER_FAILS = graph_of(
    {
        **SHOP,
        "sales": SALES.replace("SUM(amount)", "SUM(amount * 2)"),
        "total": SHOP["total"].replace("SUM(amount)", "SUM(amount + CAST('x' AS BIGINT))"),
    }
)

TWICE = graph_of({**SHOP, "sales": SALES.replace("SUM(amount)", "SUM(amount * 2)")})


def owner(world: MemoryWorld, name: ModelName, graph: Graph) -> str | None:
    key = VersionKey(name, graph[name].fingerprint.data_version)
    return world.state.owners([key]).get(key)


@pytest.mark.parametrize("first,other", [("prod", "dev"), ("dev", "prod"), ("dev", "ann")])
def test_what_a_plan_could_not_fill_may_be_filled_elsewhere(first: str, other: str) -> None:
    world = shop_in_production()
    with pytest.raises(EvaluationFailed):
        world.build(FAILS, first)
    assert owner(world, SALES_NAME, FAILS) is None
    missing = {str(each.name): each.missing for each in world.plan(FAILS, other).changes}
    assert missing["mart.sales"]


def test_what_was_filled_keeps_its_owner() -> None:
    world = shop_in_production()
    with pytest.raises(EvaluationFailed):
        world.build(LATER_FAILS)
    assert owner(world, SALES_NAME, LATER_FAILS) == "prod"
    assert owner(world, TOTAL_NAME, LATER_FAILS) is None


def test_what_is_shown_keeps_its_owner() -> None:
    world = shop_in_production()
    shown = there(world.services().state.environment("prod"))
    world.land((80, 1), until=96)
    world.run()
    keys = [each.key for each in shown.snapshots.values() if not each.is_source]
    assert set(world.state.owners(keys).values()) == {"prod"}
    assert len(world.state.owners(keys)) == len(keys)


def test_what_a_plan_left_that_was_killed_is_released_by_the_next_run() -> None:
    world = shop_in_production()
    with pytest.raises(PowerCut):
        done(world.services(Fuse(cut_name="stage")), TWICE, "prod")
    world.reboot()
    assert owner(world, TOTAL_NAME, TWICE) == "prod"
    world.land((80, 1), until=96)
    world.run()
    assert owner(world, TOTAL_NAME, TWICE) is None
    assert owner(world, SALES_NAME, TWICE) == "prod", "work on it is open"
    world.build(TWICE)
    assert world.rows("mart.total") == [(3 * 2 * 23,)]


def test_a_plan_that_promotes_keeps_what_it_shows_unfilled() -> None:
    """Nothing is due of a model yet, and its environment shows it all the same."""
    world = shop_in_production()
    later = SALES.replace("mart.sales", "mart.later").replace("cron", "start '2024-02-01', cron")
    graph = graph_of({**SHOP, "later": later})
    world.build(graph)
    assert owner(world, ModelName("mart", "later"), graph) == "prod"


def test_what_was_shown_unfilled_and_is_not_any_more_may_be_filled_elsewhere() -> None:
    world = shop_in_production()
    services = world.services()
    world.build(graph_of(SHOP), "dev")
    done(services, TWICE, "dev", skip_backfill=True)
    assert owner(world, SALES_NAME, TWICE) == "dev"
    apply_plan(services, plan_rollback(services, "dev"), lambda _: None)
    assert owner(world, SALES_NAME, TWICE) is None
    world.build(TWICE, "ann")
    assert world.rows("mart__ann.total") == [(3 * 2 * 22,)]


def test_it_is_not_released_while_a_process_writes_it() -> None:
    world = shop_in_production()
    key = VersionKey(SALES_NAME, FAILS[SALES_NAME].fingerprint.data_version)
    services = world.services()
    lease = services.state.acquire_lease(
        f"version:{key.model}:{key.version}", holder="x", ttl=services.lease_ttl
    )
    with pytest.raises(Conflict, match="is held by x"):
        world.build(FAILS)
    assert owner(world, SALES_NAME, FAILS) == "prod"
    services.state.release_lease(lease)


def audited(most: int) -> Graph:
    """The sales doubled, of which an audit refuses what is more than ``most``."""
    audit = f"audits (accepted_range (column := amount, max_v := {most})), cron"
    sales = SALES.replace("SUM(amount)", "SUM(amount * 2)").replace("cron", audit, 1)
    return graph_of({**SHOP, "sales": sales})


REFUSES, ALLOWS = audited(19), audited(20)
"""On the best day 10 are sold."""


def refused(world: MemoryWorld, environment: str) -> str:
    """The unit of work of a plan whose rows its audit refuses."""
    with pytest.raises(AuditFailed):
        world.build(REFUSES, environment)
    assert owner(world, SALES_NAME, REFUSES) is None
    return world.state.audited(key_of(REFUSES), limit=1)[0].intent.work_id


def key_of(graph: Graph) -> VersionKey:
    return VersionKey(SALES_NAME, graph[SALES_NAME].fingerprint.data_version)


def accepted(world: MemoryWorld, work_id: str) -> Accepted:
    wanted = Accepting(work_id=work_id, audits=("accepted_range",), reason="looked at")
    return publish_refused(world.services(), lambda: REFUSES, wanted)


@pytest.mark.parametrize("first,other", [("prod", "dev"), ("dev", "prod"), ("dev", "ann")])
def test_what_an_audit_refused_may_be_filled_elsewhere(first: str, other: str) -> None:
    """The audit is corrected, which makes no other version."""
    world = shop_in_production()
    work_id = refused(world, first)
    assert key_of(REFUSES) == key_of(ALLOWS)
    world.build(ALLOWS, other)
    assert owner(world, SALES_NAME, ALLOWS) == other
    schema = "mart" if other == "prod" else f"mart__{other}"
    assert world.rows(f"{schema}.total") == [(3 * 2 * 22,)]
    with pytest.raises(Refused):
        accepted(world, work_id)
    assert world.rows(f"{schema}.total") == [(3 * 2 * 22,)]


def test_whoever_is_refused_too_leaves_it_and_either_may_be_accepted() -> None:
    world = shop_in_production()
    of_prod = refused(world, "prod")
    of_dev = refused(world, "dev")
    assert accepted(world, of_prod).done.rows == 3
    assert owner(world, SALES_NAME, REFUSES) == "prod"
    with pytest.raises(Refused):
        accepted(world, of_dev)
    world.build(REFUSES)
    assert world.rows("mart.total") == [(3 * 2 * 22,)]
    world.build(REFUSES, "dev")
    assert world.rows("mart__dev.total") == [(3 * 2 * 22,)]
    assert owner(world, SALES_NAME, REFUSES) == "prod"
