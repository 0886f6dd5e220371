"""`vde audits`: what audits found, with the rows that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.model_choice import chosen, parsed
from vde_dagster.cli.printing import console, note, print_json, table
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState

if TYPE_CHECKING:
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.audits.values import AuditResult
    from vde_dagster.core.ledger.unit_of_work import UnitOfWork
    from vde_dagster.core.model.snapshot import VersionKey
    from vde_dagster.core.names import ModelName

_OUTCOMES = {"done": "published", "abandoned": "not published"}


@click.command("audits")
@click.argument("model", metavar="MODEL")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Show the audits of this many commits to the table, newest first.",
)
@options.ENVIRONMENT
@options.shared
def command(*, model: str, limit: int, environment: str, output: str, folder: Path) -> None:
    """Show what the audits of MODEL found at its latest evaluation, with failing rows.

    Rows that a blocking audit refused were not published. They stay on a branch of the model's
    table until its next publication; the branch is named, too.
    """
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    catalog = project.configuration.catalog.name
    name = parsed(model, catalog=catalog)
    if name is None:
        raise Refused(f"{model!r} is no name of a model", advice="write `schema.model`.")
    works = _audited(project, name, environment, limit)
    gone = _no_longer_refused(works)
    if output == "json":
        found = [_document(each, gone) for each in works]
        print_json({"model": str(name), "environment": environment, "work": found})
    elif not works:
        note(f"No audit of {name} was run yet in {environment}.")
    for each in works if output == "text" else ():
        _print(each, gone)


def _no_longer_refused(works: Sequence[UnitOfWork]) -> dict[str, UnitOfWork]:
    """What published after each unit of work of these, newest first: a refused branch ends then."""
    later: dict[VersionKey, UnitOfWork] = {}
    gone: dict[str, UnitOfWork] = {}
    for work in works:
        key = work.intent.key
        if key in later:
            gone[work.intent.work_id] = later[key]
        if work.state is UnitOfWorkState.DONE:
            later[key] = work
    return gone


def _audited(
    project: VdeProject, name: ModelName, environment: str, limit: int
) -> list[UnitOfWork]:
    """The units of work of the version that an environment shows, and of the one in the files.

    A new version that its audits refuse is in the files alone.

    Raises:
        Refused: There is no such model.
    """
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.app.inspect.rendering import bind_models

    shown = bind_environment(project.services, environment)
    planned = bind_models(project, None)
    bindings = [each for each in (shown, planned) if each is not None and name in each.graph]
    if not bindings:
        chosen(
            planned.graph, name, catalog=project.configuration.catalog.name, where="this project"
        )
    keys = {each.key(name) for each in bindings if name in each.snapshots}
    works = [work for key in keys for work in project.services.state.audited(key, limit=limit)]
    return sorted(works, key=lambda work: work.started_at, reverse=True)[:limit]


def _document(work: UnitOfWork, gone: Mapping[str, UnitOfWork]) -> dict[str, object]:
    return {
        "work_id": work.intent.work_id,
        "started_at": work.started_at,
        "state": work.state.value,
        "branch": None if work.intent.work_id in gone else work.refused_rows,
        "intervals": work.intent.intervals,
        "audits": work.audits,
        "accepted": work.intent.accepted,
    }


def _print(work: UnitOfWork, gone: Mapping[str, UnitOfWork]) -> None:
    status = _OUTCOMES.get(work.state.value, "not finished")
    times = ", ".join(map(str, work.intent.intervals))
    console().print(f"{work.started_at:%Y-%m-%d %H:%M:%S} UTC, {times}: {status}")
    for result in work.audits:
        print_result(result)
    if work.intent.accepted is not None:
        console().print(f"  {work.intent.accepted}", style="yellow")
    branch, after = work.refused_rows, gone.get(work.intent.work_id)
    accepted = after.intent.accepted if after is not None else None
    if branch and accepted is not None and accepted.work_id == work.intent.work_id:
        console().print("  Its rows were accepted and published.", style="yellow")
    elif branch and after is not None:
        console().print("  The refused rows are gone: others were published since.")
    elif branch:
        where = f"  The refused rows are in {branch} until the next publication."
        console().print(where, soft_wrap=True)
        names = dict.fromkeys(each.name for each in work.audits if each.stops)
        accepts = [word for name in names for word in ("--accept", name)]
        again = vde("publish", work.intent.work_id, *accepts, "--reason", "TEXT")
        console().print(f"  To publish them all the same: {again}", soft_wrap=True)


def print_result(result: AuditResult) -> None:
    """One audit's result for people, with the first of its failing rows."""
    if result.passed:
        console().print(f"  {result.name}: passed")
        return
    console().print(f"  {result.message}", style="red" if result.blocking else "yellow")
    rows = table(*result.columns)
    for row in result.sample:
        rows.add_row(*("NULL" if each is None else str(each) for each in row))
    if result.sample:
        console().print(rows)
