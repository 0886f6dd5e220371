"""`vde janitor`: drop what nothing refers to any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.clean_up_view import bytes_text, print_work, size_of
from vde_dagster.cli.printing import instant, print_json

if TYPE_CHECKING:
    from datetime import datetime

    from vde_dagster.app.clean_up.janitor import Cleaned
    from vde_dagster.app.clean_up.looking import Left, Look
    from vde_dagster.core.model.snapshot import Revision, VersionKey
    from vde_dagster.ports.physical_layer import StoredFiles

_BEGUN: Final = "its removal was begun"


@click.command("janitor", short_help="Drop what nothing refers to any more.")
@click.option("--dry-run", is_flag=True, help="Only list what would be done, and why.")
@options.FORMAT
@options.PROJECT
@options.WITH_DEBUG
@click.pass_context
def command(ctx: click.Context, *, dry_run: bool, output: str, folder: Path) -> None:
    """Remove environments whose time is over, and drop versions to which nothing refers.

    A version that nothing refers to gets a tombstone first. A later run drops it with its files, if
    nothing has referred to it for the whole grace period. What this project's state did not make is
    listed and left. The times are in vde.yaml.
    """
    from vde_dagster.app.clean_up.janitor import clean_up
    from vde_dagster.app.clean_up.looking import look
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    times, services = project.configuration.clean_up, project.services
    if dry_run:
        seen = look(services, times)
        keys = (*seen.swept.due, *seen.swept.waiting, *seen.swept.marked)
        files = {key: seen.files(services, key) for key in keys}
        if output == "json":
            print_json(_facts_of_look(seen, files))
        else:
            _print_look(seen, files)
        return
    done = clean_up(services, times)
    if output == "json":
        print_json(_facts_of_work(done))
    else:
        _print_work(done)
    if done.failed:
        ctx.exit(1)


def _facts_of_look(seen: Look, files: Mapping[VersionKey, StoredFiles]) -> dict[str, object]:
    swept = seen.swept
    dropping = [each.key for each in seen.found.tombstones.values() if each.is_dropping]
    return {
        "dry_run": True,
        "expired_environments": list(seen.expired),
        "forgotten_revisions": [_revision(each) for each in swept.forgotten],
        "marked": [_version(key, files[key]) for key in swept.marked],
        "waiting": [
            {**_version(key, files[key]), "until": instant(at)} for key, at in swept.waiting.items()
        ],
        "dropped": [_version(key, files[key]) for key in swept.due if seen.may_drop(key)],
        "finished": [_version(key) for key in sorted(dropping)],
        "kept": [{**_version(key), "reason": why} for key, why in sorted(swept.kept.items())],
        "left": [_left(each) for each in seen.left],
    }


def _facts_of_work(done: Cleaned) -> dict[str, object]:
    swept = done.swept
    return {
        "dry_run": False,
        "expired_environments": list(done.removed),
        "forgotten_revisions": [_revision(each) for each in swept.forgotten],
        "marked": [_version(key) for key in swept.marked],
        "waiting": [{**_version(key), "until": instant(at)} for key, at in swept.waiting.items()],
        "dropped": [_version(each.key, each.files) for each in done.dropped],
        "finished": [_version(key) for key in done.finished],
        "kept": [{**_version(key), "reason": why} for key, why in sorted(swept.kept.items())],
        "left": [_left(each) for each in done.left],
        "busy": list(done.busy),
        "failed": [_left(each) for each in done.failed],
        "branches_removed": list(done.branches),
        "records_removed": done.records,
    }


def _version(key: VersionKey, files: StoredFiles | None = None) -> dict[str, object]:
    facts: dict[str, object] = {
        "model": str(key.model),
        "version": key.version,
        "table": str(key.table),
    }
    return facts if files is None else {**facts, "files": files.count, "bytes": files.size}


def _revision(each: Revision) -> dict[str, object]:
    return {"environment": each.environment, "revision": each.number}


def _left(each: Left) -> dict[str, object]:
    return {"table": str(each.table), "reason": each.reason}


def _print_look(seen: Look, files: Mapping[VersionKey, StoredFiles]) -> None:
    swept = seen.swept
    begun = seen.found.removing
    rows = [
        ("remove", f"environment {name}", _BEGUN if name in begun else "its time is over", "")
        for name in seen.expired
    ]
    rows += [("forget", str(each), "its time is over", "") for each in swept.forgotten]
    for what, keys in (
        ("drop", [key for key in swept.due if seen.may_drop(key)]),
        ("mark", swept.marked),
    ):
        rows += [
            (what, str(key.table), "nothing refers to it", size_of(files[key])) for key in keys
        ]
    rows += [
        ("wait", str(key.table), f"nothing refers to it; until {_time(at)}", size_of(files[key]))
        for key, at in swept.waiting.items()
    ]
    dropping = sorted(each.key for each in seen.found.tombstones.values() if each.is_dropping)
    rows += [("finish", str(key.table), "its drop was begun", "") for key in dropping]
    rows += [("leave", str(each.table), each.reason, "") for each in seen.left]
    print_work(rows)
    total = sum(files[key].size for key in swept.due if seen.may_drop(key))
    click.echo(f"Nothing was changed. {bytes_text(total)} would be free now.")


def _print_work(done: Cleaned) -> None:
    swept = done.swept
    rows = [
        ("removed", f"environment {name}", f"its time was over, or {_BEGUN}", "")
        for name in done.removed
    ]
    rows += [("forgot", str(each), "its time was over", "") for each in swept.forgotten]
    rows += [
        ("dropped", str(each.key.table), "nothing referred to it", size_of(each.files))
        for each in done.dropped
    ]
    rows += [("finished", str(key.table), "its drop was begun", "") for key in done.finished]
    rows += [("marked", str(key.table), "nothing refers to it", "") for key in swept.marked]
    rows += [
        ("waits", str(key.table), f"nothing refers to it; until {_time(at)}", "")
        for key, at in swept.waiting.items()
    ]
    rows += [
        ("busy", each, "a process holds it; the next run looks again", "") for each in done.busy
    ]
    rows += [("left", str(each.table), each.reason, "") for each in done.left]
    rows += [("failed", str(each.table), each.reason, "") for each in done.failed]
    print_work(rows)
    click.echo("\n".join(_summary(done)))


def _summary(done: Cleaned) -> Iterator[str]:
    total = sum(each.files.size for each in done.dropped)
    yield f"{len(done.dropped):,} versions were dropped: {bytes_text(total)}."
    if done.branches or done.records:
        yield (
            f"{len(done.branches):,} branches of closed work and {done.records:,} old records were "
            "removed."
        )


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
