"""`vde state`: is it whole, which version has it, and copying it to another database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.text import Text

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import Printed, instant
from vde_dagster.core.listing import first

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vde_dagster.state.archive import Archived
    from vde_dagster.state.checking import BegunPromotion, StateReport
    from vde_dagster.state.stored_state import StoredState

_LINES: Final = 20
_FILE: Final = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.group("state")
def state_command() -> None:
    """Check the state, migrate it to this release, and export or import it.

    The state is the database at `state.url` in vde.yaml, else a file in the project's .vde. Stop
    programs that write to it before you move or copy it; `vde unlock` lists them.
    """


@options.command("check", state_command, "Check every row of the state for consistency.")
def check(call: Call) -> None:
    """Check every row of the state for consistency. Nothing is written.

    Each row is read, and rows are compared with each other: snapshots of environments, records of
    versions, overlapping ledger entries, and sums. On SQLite the file is checked, too. Unfinished
    promotions and units of work are listed; they may still be running.

    Exit codes: 0 if the state is consistent, 1 if something is wrong with it.

    For example:

        vde state check
    """
    from vde_dagster.cli.facts import fields_of
    from vde_dagster.state import schema

    stored = call.project.stored_state()
    report = stored.check()
    about = {"place": stored.place, "schema": schema.VERSION, "whole": not report.findings}
    call.answer(about | fields_of(report), _texts(call, stored, report))
    if report.findings:
        call.end()


@options.command("migrate", state_command, "Migrate the state of an earlier release.")
def migrate(call: Call) -> None:
    """Migrate the state of an earlier release to this one's version, in one transaction.

    Earlier releases refuse the state from then on. Stop them first, and keep a copy: use the
    earlier release's `vde state export`, or copy the SQLite file with its `-wal` and `-shm` files.
    It waits up to a minute for running transactions. A state that already has the version is
    unchanged, and a newer state is refused. The first plan creates a missing state without this
    command.

    For example:

        vde state migrate
    """
    stored = call.project.stored_state()
    moved = stored.migrate()
    said = (
        f"has schema version {moved.after} already"
        if moved.before == moved.after
        else f"had schema version {moved.before} and has {moved.after} now"
    )
    document = {"place": stored.place, "before": moved.before, "after": moved.after}
    call.answer(document, [f"The state {stored.place} {said}."])


@options.command("export", state_command, "Write the state, without leases, to FILE.")
@_FILE
def export(call: Call, *, file: Path) -> None:
    """Write the state, without leases, to FILE, as of one moment; only you may read it.

    FILE must not exist. It has models' texts and rows that audits found, and neither addresses nor
    passwords. Each line is a JSON document; the last one has a SHA-256 of the others.

    For example:

        vde state export state.jsonl
    """
    _report(call, call.project.stored_state().export(file), file, "exported to")


@options.command("import", state_command, "Import an exported state into an empty one.")
@_FILE
def import_(call: Call, *, file: Path) -> None:
    """Import FILE of `vde state export` into the state, which must be empty.

    Use it to move a state from SQLite to Postgres, after you changed `state.url` in vde.yaml. All
    rows or none are imported. A file that was changed since the export, is of another schema
    version, or has inconsistent rows is refused.

    For example:

        vde state import state.jsonl
    """
    _report(call, call.project.stored_state().restore(file), file, "imported from")


def _report(call: Call, archived: Archived, file: Path, done: str) -> None:
    document = {"file": str(file), "rows": dict(archived.rows), "sha256": archived.digest}
    said = f"{archived.total:,} rows were {done} {file} (SHA-256 {archived.digest})."
    call.answer(document, [said])


def _texts(call: Call, stored: StoredState, report: StateReport) -> Iterator[Printed]:
    from vde_dagster.state import schema

    rows = sum(report.rows.values())
    looked = f"{stored.place} (schema version {schema.VERSION}, {rows:,} rows)"
    if report.findings:
        yield from _section(f"Something is wrong with the state {looked}", report.findings)
        yield "  Restore it from a backup, or report this list before you change anything."
    else:
        yield f"The state {looked} is consistent."
    begun = [_begun(each, call) for each in report.promotions]
    yield from _section("Unfinished promotions", begun)
    work = [
        f"{each.model}, version {each.version[:8]}, work {each.work_id} ({each.state}) of "
        f"{each.environment}, started at {instant(each.started_at)}"
        for each in report.work
    ]
    yield from _section("Unfinished work", work)
    if work:
        yield (
            "  The next run of its environment finishes or reverts it. Versions that no "
            f"environment shows are left to `{call.vde('janitor')}`."
        )


def _begun(each: BegunPromotion, call: Call) -> str:
    """An unfinished promotion, and how it ends."""
    run = call.vde("run", each.environment)
    give_up = call.vde("rollback", each.environment, "--give-up")
    return (
        f"{each.environment}, revision {each.revision}, plan {each.plan_id[:8]}, started at "
        f"{instant(each.started_at)}: `{run}` finishes it, or reports why it cannot; `{give_up}` "
        "gives it up"
    )


def _section(title: str, lines: Sequence[object]) -> Iterator[Printed]:
    if lines:
        yield Text(f"\n{title}", style="bold")
        more = "and {:,} more: --format json has all of them."
        yield from (f"  {line}" for line in first([*map(str, lines)], _LINES, more))
