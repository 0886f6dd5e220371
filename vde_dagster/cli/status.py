"""`vde status`: what is behind in an environment and what went wrong, and what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import instant, print_json

if TYPE_CHECKING:
    from vde_dagster.app.inspect.status import ModelStatus
    from vde_dagster.cli.status_view import Looked
    from vde_dagster.core.ledger.unit_of_work import UnitOfWork
    from vde_dagster.ports.state import Environment


@click.command("status", short_help="Show what is behind or went wrong in an environment, and why.")
@click.argument("environment", type=options.environment, default="prod", metavar="[ENV]")
@click.option("--check", is_flag=True, help="Exit code 1 if something is due, stale or gone.")
@options.FORMAT
@options.PROJECT
@options.WITH_DEBUG
@click.pass_context
def command(
    ctx: click.Context, environment: str, *, check: bool, output: str, folder: Path
) -> None:
    """Show what is behind or went wrong in ENV (prod by default), why, and what to do next.

    Lists what failed, what an audit refused, what is gone (somebody dropped the table or view),
    late rows that no session can load, and the models that are due, stale (inputs are late or
    changed), marked to be computed again, or waiting for their inputs; then who holds what, and who
    promoted last. It is found from the state and from Iceberg metadata: no Spark is started, and
    nothing is computed.

    Exit codes: 0 if the check itself worked, whatever it found; with --check, 1 if something is
    due, stale or gone. Models that only wait for their inputs do not count.
    """
    from vde_dagster.app.apply.running import plan_run
    from vde_dagster.app.inspect.operations import look_at_operations
    from vde_dagster.app.inspect.status import status_of
    from vde_dagster.cli.status_view import Looked, print_status
    from vde_dagster.composition import VdeProject

    services = VdeProject.load(folder).services
    plan = plan_run(services, environment)
    looked = Looked(
        status=status_of(services, plan),
        operations=look_at_operations(services, plan),
        graph=plan.graph,
        folder=folder,
    )
    if output == "json":
        print_json(_facts(looked))
    else:
        print_status(looked)
    if check and looked.status.is_behind:
        ctx.exit(1)


def _facts(looked: Looked) -> dict[str, object]:
    from vde_dagster.cli.late_facts import pending_facts
    from vde_dagster.cli.plan_facts import bound_facts, paused_facts, ranges_facts
    from vde_dagster.cli.unlock import lease_facts

    status, found = looked.status, looked.operations
    return {
        "environment": status.environment,
        "now": instant(status.now) if status.now else None,
        "looked_at": instant(status.at),
        "looked_at_models": status.looked_at,
        "up_to_date": looked.is_up_to_date,
        "behind": status.is_behind,
        "dropped_views": [str(name) for name in status.dropped_views],
        "models": [_model_facts(each) for each in status.models],
        "pauses": [paused_facts(each) for each in status.pauses],
        "failed": [_work_facts(looked, each) for each in (*looked.failed, *found.refused)],
        "stopped": [
            {"model": str(each.name), "reason": each.stop.reason, "advice": each.stop.advice}
            for each in found.stopped
        ],
        "outdated": [
            {
                "model": str(each.name),
                "owner": each.owner,
                "intervals": ranges_facts(looked.graph[each.name], each.intervals),
            }
            for each in found.outdated
        ],
        "pending": [
            {
                "model": str(each.name),
                "owner": each.owner,
                "pending": pending_facts(each.pending),
            }
            for each in found.pending
        ],
        "leases": [lease_facts(each) for each in found.leases],
        "bounded": [
            {"model": str(each.name), "version": each.version, **bound_facts(each.bounded)}
            for each in found.bounded
        ],
        "promotion": _promotion_facts(found.shown),
    }


def _model_facts(each: ModelStatus) -> dict[str, object]:
    from vde_dagster.cli.intervals import wait_facts
    from vde_dagster.cli.plan_facts import ranges_facts, stale_facts

    lost = each.lost
    return {
        "model": str(each.node.name),
        "kind": each.node.model.kind.keyword,
        "version": each.version,
        "owner": each.owner,
        "due": ranges_facts(each.node, each.due),
        "stale": stale_facts(each.node, each.staleness),
        "waits": "; ".join(map(str, each.waits)) or None,
        "waits_for": [wait_facts(wait) for wait in each.waits],
        "managed": each.managed.reason if each.managed is not None else None,
        "unfinished": each.is_unfinished,
        "lost_table": lost.table if lost is not None and not lost.damage else None,
        "damage": (lost.damage or None) if lost is not None else None,
        "advice": (lost.advice or None) if lost is not None else None,
    }


def _work_facts(looked: Looked, work: UnitOfWork) -> dict[str, object]:
    from vde_dagster.cli.plan_facts import ranges_facts

    intent = work.intent
    return {
        "model": str(intent.key.model),
        "version": intent.key.version,
        "environment": intent.environment,
        "work_id": intent.work_id,
        "session": intent.session is not None,
        "intervals": ranges_facts(looked.graph[intent.key.model], intent.intervals),
        "started_at": instant(work.started_at),
        "ended_at": instant(work.finished_at) if work.finished_at else None,
        "reason": work.reason,
        "refused": bool(work.refusal),
        "refused_by": [each.name for each in work.audits if each.stops],
        "branch": work.refused_rows,
    }


def _promotion_facts(shown: Environment) -> dict[str, object]:
    taken = shown.taken
    return {
        "revision": shown.revision,
        "promoted_at": instant(shown.promoted_at),
        "author": shown.author,
        "plan_id": shown.plan_id,
        "taken": {"environment": taken.environment, "revision": taken.number} if taken else None,
    }
