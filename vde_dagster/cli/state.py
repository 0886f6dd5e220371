"""`vde state`: is it whole, which version has it, and copying it to another database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import console, instant, print_json
from vde_dagster.cli.spelling import there, vde
from vde_dagster.core.listing import first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vde_dagster.state.archive import Archived
    from vde_dagster.state.checking import BegunPromotion, StateReport
    from vde_dagster.state.stored_state import StoredState

_LINES: Final = 20
_FILE: Final = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.group("state")
def command() -> None:
    """Check the state, move it forward to this release, and copy it to another database.

    The state is the database at `state.url` in vde.yaml, else a file in the project's .vde. Stop
    what writes to it before it is moved or copied; `vde unlock` lists who does.
    """


def _stored(folder: Path) -> StoredState:
    from vde_dagster.composition import VdeProject

    return VdeProject.load(folder).stored_state()


@command.command("check", short_help="Read every row of the state, and compare what they say.")
@options.shared
@click.pass_context
def check(ctx: click.Context, *, output: str, folder: Path) -> None:
    """Read every row of the state, and compare what rows say of each other. Nothing is written.

    Lists promotions and units of work that were begun and not finished, too; they may be under way.

    Exit codes: 0 if the state is whole, 1 if something is wrong with it.
    """
    from vde_dagster.cli.facts import fields_of
    from vde_dagster.state import schema

    stored = _stored(folder)
    report = stored.check()
    if output == "json":
        about = {"place": stored.place, "schema": schema.VERSION, "whole": not report.findings}
        print_json(about | fields_of(report))
    else:
        _print(stored, report, folder)
    if report.findings:
        ctx.exit(1)


@command.command("migrate", short_help="Move the state of an earlier release forward.")
@options.shared
def migrate(*, output: str, folder: Path) -> None:
    """Move the state of an earlier release forward to this one's version, in one transaction.

    Earlier releases refuse it from then on, so stop them first. A state that has the version
    already is left as it is.
    """
    stored = _stored(folder)
    moved = stored.migrate()
    if output == "json":
        print_json({"place": stored.place, "before": moved.before, "after": moved.after})
    elif moved.before == moved.after:
        click.echo(f"The state {stored.place} has schema version {moved.after} already.")
    else:
        click.echo(
            f"The state {stored.place} had schema version {moved.before} and has {moved.after} now."
        )


@command.command("export", short_help="Write all of the state but leases to FILE.")
@_FILE
@options.shared
def export(file: Path, *, output: str, folder: Path) -> None:
    """Write all of the state but leases to FILE, as of one moment; only you may read it.

    It has models' texts and rows that audits found, and neither addresses nor passwords.
    """
    archived = _stored(folder).export(file)
    _report(archived, file, output, "exported to")


@command.command("import", short_help="Put an exported state into an empty one.")
@_FILE
@options.shared
def import_(file: Path, *, output: str, folder: Path) -> None:
    """Put what `vde state export` wrote to FILE into the state, which must be empty.

    All of it or nothing. A file that is not as it was exported is refused.
    """
    archived = _stored(folder).restore(file)
    _report(archived, file, output, "imported from")


def _report(archived: Archived, file: Path, output: str, done: str) -> None:
    if output == "json":
        print_json({"file": str(file), "rows": dict(archived.rows), "sha256": archived.digest})
    else:
        click.echo(f"{archived.total:,} rows were {done} {file} (SHA-256 {archived.digest}).")


def _print(stored: StoredState, report: StateReport, folder: Path) -> None:
    from vde_dagster.state import schema

    rows = sum(report.rows.values())
    looked = f"{stored.place} (schema version {schema.VERSION}, {rows:,} rows)"
    if report.findings:
        _section(f"Something is wrong with the state {looked}", list(map(str, report.findings)))
        _print_line("  Restore it from a backup, or ask with this list before anything is changed.")
    else:
        _print_line(f"The state {looked} is whole.")
    begun = [_begun(each, folder) for each in report.promotions]
    _section("Promotions that were begun and are not finished", begun)
    work = [
        f"{each.model}, version {each.version[:8]}, work {each.work_id} ({each.state}) of "
        f"{each.environment}, begun at {instant(each.started_at)}"
        for each in report.work
    ]
    _section("Work that was begun and is not done", work)
    if work:
        janitor = vde("janitor", *there(folder))
        _print_line(
            "  The next run of its environment finishes or undoes it; what no environment shows is "
            f"left to `{janitor}`."
        )


def _begun(each: BegunPromotion, folder: Path) -> str:
    """A begun promotion, and how it ends."""
    run = vde("run", each.environment, *there(folder))
    give_up = vde("rollback", each.environment, "--give-up", *there(folder))
    return (
        f"{each.environment}, revision {each.revision}, plan {each.plan_id[:8]}, begun at "
        f"{instant(each.begun_at)}: `{run}` finishes it, or says why it cannot; `{give_up}` gives "
        "it up"
    )


def _section(title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console().print(f"\n{title}", style="bold", soft_wrap=True)
    for line in first(lines, _LINES, "and {:,} more: --format json has all of them."):
        _print_line(f"  {line}")


def _print_line(text: str) -> None:
    console().print(text, soft_wrap=True)
