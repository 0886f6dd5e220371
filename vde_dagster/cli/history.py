"""`vde history`: who promoted what to an environment, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.printing import console, print_json, table
from vde_dagster.core.errors import Refused
from vde_dagster.core.listing import some

if TYPE_CHECKING:
    from vde_dagster.app.inspect.environment_diff import Promoted

_NAMED: Final = 4


@click.command("history")
@click.argument("environment", type=options.environment, default="prod", metavar="[ENV]")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, metavar="N", help="How many, newest first."
)
@options.shared
def command(environment: str, limit: int, *, output: str, folder: Path) -> None:
    """List the promotions of an environment (prod by default): who, when, by which plan, and what.

    `vde rollback ENV --to REVISION` goes back to any of them that is still kept.
    """
    from vde_dagster.app.inspect.environment_diff import history
    from vde_dagster.composition import VdeProject

    services = VdeProject.load(folder).services
    found = list(history(services, environment, limit=limit))
    if not found:
        known = ", ".join(services.state.environments()) or "none"
        raise Refused(f"there is no environment {environment}", advice=f"There are: {known}.")
    if output == "json":
        print_json({"environment": environment, "revisions": [_document(each) for each in found]})
    else:
        _print(found)


def _document(promoted: Promoted) -> dict[str, object]:
    return {
        **fields_of(promoted),
        "bounded": promoted.bounded(previews=False),
        "previews": promoted.bounded(previews=True),
    }


def _print(found: Sequence[Promoted]) -> None:
    whole = ("revision", "promoted at (UTC)", "by", "plan")
    rows = table(*whole, "what changed", right=("revision",), whole=whole)
    for each in found:
        shown = each.shown
        rows.add_row(
            str(shown.revision),
            f"{shown.promoted_at:%Y-%m-%d %H:%M:%S}",
            shown.author or "not known",
            shown.plan_id[:8],
            "; ".join(_changes(each)) or "nothing",
        )
    console().print(rows)


def _changes(each: Promoted) -> Iterator[str]:
    shown = each.shown
    if shown.promoting:
        yield "not finished"
    if shown.is_removed:
        yield "the environment was removed"
    if shown.is_forgotten:
        yield "not kept any more"
    if shown.taken is not None:
        back = shown.taken.environment == shown.name
        yield f"back to revision {shown.taken.number}" if back else f"took {shown.taken}"
    for what, names in (
        ("added", each.added),
        ("removed", each.removed),
        ("another version of", each.versions),
        ("another definition, same rows, of", each.definitions),
        ("bounded:", each.bounded(previews=False)),
        ("preview of", each.bounded(previews=True)),
    ):
        if names:
            yield f"{what} {some(names, _NAMED)}"
