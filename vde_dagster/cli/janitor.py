"""`vde janitor`: drop what nothing refers to any more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.clean_up_view import print_work
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.printing import print_json

if TYPE_CHECKING:
    from vde_dagster.app.clean_up.janitor import Cleaned
    from vde_dagster.app.clean_up.looking import Look
    from vde_dagster.core.model.snapshot import VersionKey
    from vde_dagster.ports.physical_layer import StoredFiles


@click.command("janitor")
@click.option("--dry-run", is_flag=True, help="Only list what would be done, and why.")
@options.shared
@click.pass_context
def command(ctx: click.Context, *, dry_run: bool, output: str, folder: Path) -> None:
    """Remove environments whose time is over, and drop versions to which nothing refers.

    A version that nothing refers to gets a tombstone first. A later run drops it with its files, if
    nothing has referred to it for the whole grace period. What this project's state did not make is
    listed and left. The times are in vde.yaml.
    """
    from vde_dagster.app.clean_up.janitor import clean_up
    from vde_dagster.app.clean_up.lines import (
        cleaned_lines,
        cleaned_summary,
        look_lines,
        look_summary,
    )
    from vde_dagster.app.clean_up.looking import look
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    times, services = project.configuration.times, project.services
    if dry_run:
        seen = look(services, times)
        files = seen.sizes(services)
        if output == "json":
            print_json(_facts_of_look(seen, files))
        else:
            print_work(look_lines(seen, files))
            click.echo(look_summary(seen, files))
        return
    done = clean_up(services, times)
    if output == "json":
        print_json(_facts_of_work(done))
    else:
        print_work(cleaned_lines(done))
        click.echo(cleaned_summary(done))
    if done.failed:
        ctx.exit(1)


def _facts_of_look(seen: Look, files: Mapping[VersionKey, StoredFiles]) -> dict[str, object]:
    swept = seen.swept
    dropping = [each.key for each in seen.found.tombstones.values() if each.is_dropping]
    return {
        "dry_run": True,
        "expired_environments": seen.expired,
        "forgotten_revisions": swept.forgotten,
        "marked": [_version(key, files[key]) for key in swept.marked],
        "waiting": [
            {**_version(key, files[key]), "until": at} for key, at in swept.waiting.items()
        ],
        "dropped": [_version(key, files[key]) for key in seen.droppable(swept.due)],
        "finished": sorted(dropping),
        "kept": [{**_version(key), "reason": why} for key, why in sorted(swept.kept.items())],
        "left": seen.left,
    }


def _facts_of_work(done: Cleaned) -> dict[str, object]:
    swept = done.swept
    return {
        "dry_run": False,
        "expired_environments": done.removed,
        "forgotten_revisions": swept.forgotten,
        "marked": swept.marked,
        "waiting": [{**_version(key), "until": at} for key, at in swept.waiting.items()],
        "dropped": [_version(each.key, each.files) for each in done.dropped],
        "finished": done.finished,
        "kept": [{**_version(key), "reason": why} for key, why in sorted(swept.kept.items())],
        "left": done.left,
        "busy": done.busy,
        "failed": done.failed,
        "branches_removed": done.branches,
        "records_removed": done.records,
    }


def _version(key: VersionKey, files: StoredFiles | None = None) -> dict[str, object]:
    sizes = {} if files is None else {"files": files.count, "bytes": files.size}
    return {**fields_of(key), **sizes}
