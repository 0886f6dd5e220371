"""`vde maintain`: compaction, expiry of Iceberg snapshots, and files of nobody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.clean_up_view import print_work
from vde_dagster.cli.printing import console, note, print_json

if TYPE_CHECKING:
    from vde_dagster.app.clean_up.maintaining import Maintained, Maintenance, Progress, Report


@click.command("maintain")
@click.argument("models", nargs=-1, metavar="[MODEL ...]")
@click.option("--dry-run", is_flag=True, help="Only list what would be done, and why.")
@options.shared
def command(*, models: tuple[str, ...], dry_run: bool, output: str, folder: Path) -> None:
    """Maintain the tables and views of this project's state.

    Small files are rewritten where that makes fewer of them. Iceberg snapshots that nothing names
    any more expire with the files that only they have. Files in the folders of our tables that
    nothing names, and earlier metadata files of our views, also of dropped ones, are removed once
    they are old enough. No row changes, and nobody computes anything again. Spark starts only if
    files are rewritten.

    Without MODEL these are all tables and views, and the tables of late data; `*` and `?` in a name
    stand for any text and any character. A table that cannot be maintained is listed with the
    reason, and stops no other. The times are in vde.yaml.
    """
    from vde_dagster.app.clean_up.lines import maintenance_lines, maintenance_summary
    from vde_dagster.app.clean_up.maintaining import look_at_upkeep, maintain
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    configuration, services = project.configuration, project.services
    times, upkeep = configuration.times, configuration.maintain
    if dry_run:
        found = look_at_upkeep(services, times, upkeep, models=models)
    else:
        with _progress() as report:
            found = maintain(services, times, upkeep, models=models, report=report)
    if output == "json":
        print_json(_facts(found, dry_run=dry_run))
    else:
        print_work(maintenance_lines(found, dry_run=dry_run))
        click.echo(maintenance_summary(found, dry_run=dry_run))


@contextmanager
def _progress() -> Iterator[Report]:
    """A bar on a terminal; else a line for each table of which something was removed."""
    screen = console(err=True)
    if not screen.is_terminal:
        yield _line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, TimeElapsedColumn(), console=screen, transient=True) as bar:
        task = bar.add_task("looking at tables", total=None)

        def report(turn: Progress) -> None:
            name = str(turn.target.stored.name)
            bar.update(task, total=turn.count, completed=turn.number - 1, description=name)

        yield report


def _line(turn: Progress) -> None:
    if turn.done is not None and turn.done.is_changed:
        note(f"maintained table={turn.target.stored.name} number={turn.number} of={turn.count}")


def _facts(found: Maintenance, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "tables": [_table(each) for each in found.done],
        "left": found.left,
        "busy": found.busy,
    }


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
