"""`vde janitor`, `vde maintain` and `vde invalidate`: removing what is not needed any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.printing import Printed, console, named_commands, note, table
from vde_dagster.cli.spelling import vde

if TYPE_CHECKING:
    from vde_dagster.app.clean_up.janitor import Cleaned
    from vde_dagster.app.clean_up.lines import Line
    from vde_dagster.app.clean_up.looking import Look
    from vde_dagster.app.clean_up.maintaining import Maintained, Progress, Report
    from vde_dagster.core.clean_up.sweeping import Sweep
    from vde_dagster.core.model.snapshot import VersionKey
    from vde_dagster.ports.physical_layer import StoredFiles


@options.command("invalidate")
@click.argument("environment", type=options.environment, metavar="ENV")
def invalidate_command(call: Call, *, environment: str) -> None:
    """Remove an environment with its views.

    Versions that another environment shows are owned by that one from then on. The tables stay
    until `vde janitor` finds that nothing else refers to them. Production is refused, and so is an
    environment with a running plan. A plan for ENV creates it again.

    For example:

        vde invalidate dev
    """
    from vde_dagster.app.promote.promotion import remove_environment

    remove_environment(call.services, environment)
    goes = f"`{vde('janitor')}` drops its unused versions after the grace period."
    call.answer({"removed": environment}, [f"{environment} is removed. {goes}"])


@options.command("janitor")
@click.option("--dry-run", is_flag=True, help="Only list the actions, and why.")
def janitor_command(call: Call, *, dry_run: bool) -> None:
    """Remove expired environments, and drop versions that nothing refers to.

    A version that nothing refers to gets a tombstone first. A later run drops it with its files, if
    nothing has referred to it for the whole grace period. Old records are deleted, too. Tables that
    this project's state did not create are listed and left. The times are in vde.yaml.

    You can stop it at any point and run it beside plans and runs; a second janitor is refused. It
    reads and writes metadata only.

    For example:

        vde janitor --dry-run
    """
    from vde_dagster.app.clean_up import lines
    from vde_dagster.app.clean_up.janitor import clean_up
    from vde_dagster.app.clean_up.looking import look

    times, services = call.project.configuration.times, call.services
    if dry_run:
        seen = look(services, times)
        files = seen.sizes(services)
        said = lines.look_summary(seen, files)
        call.answer(_facts_of_look(seen, files), _work(lines.look_lines(seen, files), said))
        return
    done = clean_up(services, times)
    said = lines.cleaned_summary(done)
    call.answer(_facts_of_work(done), _work(lines.cleaned_lines(done), said))
    if done.failed:
        call.end()


def _facts_of_look(seen: Look, files: Mapping[VersionKey, StoredFiles]) -> dict[str, object]:
    dropping = [each.key for each in seen.found.tombstones.values() if each.is_dropping]
    return {
        "dry_run": True,
        "expired_environments": seen.expired,
        "marked": [_version(key, files[key]) for key in seen.swept.marked],
        "dropped": [_version(key, files[key]) for key in seen.droppable(seen.swept.due)],
        "finished": sorted(dropping),
        "left": seen.left,
        **_swept(seen.swept, files),
    }


def _facts_of_work(done: Cleaned) -> dict[str, object]:
    return {
        "dry_run": False,
        "expired_environments": done.removed,
        "marked": done.swept.marked,
        "dropped": [_version(each.key, each.files) for each in done.dropped],
        "finished": done.finished,
        "left": done.left,
        "busy": done.busy,
        "failed": done.failed,
        "branches_removed": done.branches,
        "records_removed": done.records,
        **_swept(done.swept, {}),
    }


def _swept(swept: Sweep, files: Mapping[VersionKey, StoredFiles]) -> dict[str, object]:
    """What stays of what was looked at, and why."""
    return {
        "forgotten_revisions": swept.forgotten,
        "waiting": [
            {**_version(key, files.get(key)), "until": at} for key, at in swept.waiting.items()
        ],
        "kept": [{**_version(key), "reason": why} for key, why in sorted(swept.kept.items())],
    }


def _version(key: VersionKey, files: StoredFiles | None = None) -> dict[str, object]:
    sizes = {} if files is None else {"files": files.count, "bytes": files.size}
    return {**fields_of(key), **sizes}


@options.command("maintain")
@click.argument("models", nargs=-1, metavar="[MODEL ...]")
@click.option("--dry-run", is_flag=True, help="Only list the actions, and why.")
def maintain_command(call: Call, *, models: tuple[str, ...], dry_run: bool) -> None:
    """Maintain the tables and views of this project's state.

    Small files are rewritten where that makes fewer of them. Iceberg snapshots that nothing refers
    to expire, with the files that only they use. Orphan files in the folders of our tables, and old
    metadata files of our views, including dropped ones, are removed once they are old enough. No
    row changes, and nothing is recomputed. Spark starts only if files are rewritten.

    Without MODEL these are all tables and views, and the tables of late data; `*` and `?` in a name
    stand for any text and any character. Tables in use are listed as busy, and tables that cannot
    be maintained with the reason; the others continue. The times are in vde.yaml.

    For example:

        vde maintain "mart.*" --dry-run
    """
    from vde_dagster.app.clean_up.lines import maintenance_lines, maintenance_summary
    from vde_dagster.app.clean_up.maintaining import look_at_upkeep, maintain

    configuration, services = call.project.configuration, call.services
    times, upkeep = configuration.times, configuration.maintain
    if dry_run:
        found = look_at_upkeep(services, times, upkeep, models=models)
    else:
        with _progress() as report:
            found = maintain(services, times, upkeep, models=models, report=report)
    document = {
        "dry_run": dry_run,
        "tables": [_table(each) for each in found.done],
        "left": found.left,
        "busy": found.busy,
    }
    said = maintenance_summary(found, dry_run=dry_run)
    call.answer(document, _work(maintenance_lines(found, dry_run=dry_run), said))


@contextmanager
def _progress() -> Iterator[Report]:
    """A bar on a terminal; else a line for each table of which something was removed."""
    screen = console(err=True)
    if not screen.is_terminal:
        yield _line
        return
    from vde_dagster.cli.plans.progress import bar_on

    with bar_on(screen) as bar:
        task = bar.add_task("looking at tables", total=None)

        def report(turn: Progress) -> None:
            name = str(turn.target.stored.name)
            bar.update(task, total=turn.count, completed=turn.number - 1, description=name)

        yield report


def _line(turn: Progress) -> None:
    if turn.done is not None and turn.done.is_changed:
        note(f"maintained table={turn.target.stored.name} number={turn.number} of={turn.count}")


def _table(each: Maintained) -> dict[str, object]:
    key, compacted = each.target.key, each.compacted
    return {
        "table": each.target.stored.name,
        "model": None if key is None else key.model,
        "version": None if key is None else key.version,
        "is_view": each.target.stored.is_view,
        "files_rewritten": 0 if compacted is None else compacted.files,
        "files_written": 0 if compacted is None else compacted.files_after,
        "not_rewritten": each.not_compacted or None,
        "tags_removed": each.tags,
        "expired": each.expired,
        "expired_files": each.expired_files,
        "kept": [
            {"iceberg_snapshot_id": at, "reason": why} for at, why in sorted(each.kept.items())
        ],
        "stray_files": each.strays,
    }


def _work(lines: Iterable[Line], summary: str) -> Iterator[Printed]:
    """What was done, with what, why, and the size.

    The commands that the reasons name stand below, each on a line of its own: cells break lines.
    """
    listed = list(lines)
    if listed:
        rows = ((line.what, line.name, line.why, line.size) for line in listed)
        columns = ("", "what", "why", "size")
        yield table(*columns, right=("size",), whole=("", "size"), rows=rows)
        yield from named_commands(line.why for line in listed)
    yield summary
