"""`vde diff`: what differs between two environments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import console, print_json

if TYPE_CHECKING:
    from rich.text import Text

    from vde_dagster.app.inspect.environment_diff import EnvironmentDiff, ModelDiff

_MOST: Final = 30


@click.command("diff")
@click.argument("before", type=options.environment, metavar="A")
@click.argument("after", type=options.environment, default="prod", metavar="[B]")
@options.shared
def command(before: str, after: str, *, output: str, folder: Path) -> None:
    """Compare what environment A shows with what B shows (prod by default).

    Lists the models whose definition or version differs, why, and whether their rows do: of what
    both have computed, the recorded D-SHAs are compared, so nothing is read and no Spark is
    started.
    """
    from vde_dagster.app.inspect.environment_diff import diff_environments
    from vde_dagster.composition import VdeProject

    found = diff_environments(VdeProject.load(folder).services, before, after)
    if output == "json":
        print_json({"before": found.before, "after": found.after, "models": found.models})
    else:
        _print(found)


def _print(found: EnvironmentDiff) -> None:
    from rich.text import Text
    from rich.tree import Tree

    from vde_dagster.cli.change_text import head

    one, other = found.before, found.after
    title = f"{one.name} (revision {one.revision}) -> {other.name} (revision {other.revision})"
    console().print(Text(title, style="bold"))
    different = [each for each in found.models if not each.is_same]
    for each in different[:_MOST]:
        tree = Tree(head(each.difference, changed=False), guide_style="dim")
        for line in _details(found, each):
            tree.add(line)
        console().print(tree)
    if len(different) > _MOST:
        console().print(f"... and {len(different) - _MOST:,} more (--format json lists all)")
    same = len(found.models) - len(different)
    click.echo(f"{len(different):,} differ, {same:,} are the same.")


def _details(found: EnvironmentDiff, each: ModelDiff) -> Iterator[Text]:
    from rich.text import Text

    from vde_dagster.core.planning.changes.reason_values import sentence
    from vde_dagster.core.planning.plan_text import bound_text, counted_ranges, versions_text

    if each.before is None or each.after is None:
        lacking = found.before if each.before is None else found.after
        yield Text(f"not in {lacking.name}", style="dim")
        return
    for reason in each.difference.reasons:
        yield Text(sentence(reason), style="dim")
    old, new = each.before.version, each.after.version
    yield Text(versions_text(old, new), style="cyan")
    for shown, snapshot in ((found.before, each.before), (found.after, each.after)):
        if snapshot.bounded is not None:
            yield Text(f"{shown.name}: {bound_text(snapshot.bounded)}, and never promoted")
    if old != new:
        where = f" in {counted_ranges(each.node, each.different)}" if each.different else ""
        yield Text(f"{each.rows.value}{where}")
    for shown, alone in ((found.before, each.only_before), (found.after, each.only_after)):
        if alone:
            yield Text(f"only {shown.name} has {counted_ranges(each.node, alone)}")
