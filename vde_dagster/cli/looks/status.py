"""`vde status`: what is behind in an environment and what went wrong, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.spelling import there, vde

if TYPE_CHECKING:
    from vde_dagster.app.inspect.status import EnvironmentStatus, Operations
    from vde_dagster.core.graph.graph import Graph
    from vde_dagster.core.ledger.unit_of_work import UnitOfWork
    from vde_dagster.core.model.snapshot import VersionKey
    from vde_dagster.core.names import ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """All that was found, and how commands name the project's folder."""

    status: EnvironmentStatus
    operations: Operations
    graph: Graph
    folder: Path

    @property
    def failed(self) -> tuple[UnitOfWork, ...]:
        """What failed and is still to be done; a model that is fresh by now needs no other try."""
        status, outdated = self.status, {each.name for each in self.operations.outdated}
        paused = {each.pause.model for each in status.pauses}
        left = {each.node.name for each in status.models} | paused | outdated
        return tuple(each for each in self.operations.failed if each.intent.key.model in left)

    @property
    def is_up_to_date(self) -> bool:
        """Whether nothing at all is left to be done or decided."""
        return self.status.is_up_to_date and self.operations.is_calm

    @property
    def refusals(self) -> tuple[UnitOfWork, ...]:
        """Those of what failed that were refused, so that another try alone does not help."""
        return tuple(each for each in self.failed if each.refusal)

    def is_refused(self, name: ModelName) -> bool:
        """Whether a run of the environment was refused a model, and would be again."""
        return any(each.intent.key.model == name for each in self.refusals)

    def command(self, *words: str) -> str:
        """A command that can be copied, on this project."""
        return f"`{vde(*words, *there(self.folder))}`"

    def run(self) -> str:
        """The command that computes what is to be computed."""
        return self.command("run", self.status.environment)

    def filling(self, key: VersionKey) -> str:
        """The command that fills a version: what only its owner may write is left to that one."""
        found = self.operations.fillers.get(key)
        return self.command(*found.words) if found is not None else self.run()


@options.command("status")
@click.argument("environment", type=options.environment, default="prod", metavar="[ENV]")
@click.option(
    "--check", is_flag=True, help="Exit code 1 if anything is unfinished, due, stale or missing."
)
def status_command(call: Call, *, environment: str, check: bool) -> None:
    """Show failures and overdue work in ENV (prod by default), with reasons and next steps.

    It lists failures, rows that failed an audit, tables and views dropped outside vde, and late
    rows that cannot be loaded. Then models that are due, stale (inputs are late or changed), marked
    for recomputation, paused, or waiting for inputs. Then leases and the last promotion.

    It reads the state and Iceberg metadata only: Spark is not started, and nothing is computed or
    written. Long groups are cut; --format json has all entries.

    Exit codes: 0 if the check itself worked, whatever it found; with --check, 1 if something is
    unfinished, due, stale or missing. Models that only wait for their inputs do not count.

    For example:

        vde status prod --check
    """
    from vde_dagster.app.apply.running import look_at_run
    from vde_dagster.app.inspect.status import look_at_operations, status_of
    from vde_dagster.cli.looks.status_view import status_lines

    services = call.services
    plan = look_at_run(services, environment)
    looked = Looked(
        status=status_of(services, plan),
        operations=look_at_operations(services, plan),
        graph=plan.graph,
        folder=call.folder,
    )
    call.answer(lambda: _document(looked), status_lines(looked))
    if check and looked.status.is_behind:
        call.end()


def _document(looked: Looked) -> dict[str, object]:
    found = looked.operations
    return {
        **fields_of(looked.status),
        "is_up_to_date": looked.is_up_to_date,
        "is_behind": looked.status.is_behind,
        "failed": (*looked.failed, *found.refused),
        "stopped": found.stopped,
        "outdated": found.outdated,
        "pending": found.pending,
        "leases": found.leases,
        "bounded": found.bounded,
        "promotion": found.shown,
    }
