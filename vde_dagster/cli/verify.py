"""`vde verify`: the rows in storage against the D-SHAs that were recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.model_choice import chosen, parsed
from vde_dagster.cli.printing import console, note, print_json
from vde_dagster.cli.spelling import there, vde, whole
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from vde_dagster.app.binding import Binding
    from vde_dagster.app.inspect.verify import Verified
    from vde_dagster.core.names import ModelName


@click.command("verify")
@click.argument("models", nargs=-1, metavar="[MODEL ...]")
@options.ENVIRONMENT
@options.shared
@click.pass_context
def command(
    ctx: click.Context, *, models: tuple[str, ...], environment: str, output: str, folder: Path
) -> None:
    """Compute the D-SHAs of an environment's tables from storage again, and compare them.

    A D-SHA is a digest of rows that was recorded when they were published. Without MODEL all models
    that store rows are compared. Differences are listed by interval, as are tables that somebody
    else has written to since, and the exit code is then 1. D-SHAs detect change; they are no
    evidence against somebody who tampers with data on purpose.
    """
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.app.inspect.verify import verify
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    binding = shown_binding(project.services, environment)
    catalog = project.configuration.catalog.name
    names = [_asked(binding, each, catalog=catalog) for each in models] or None
    found: list[Verified] = []
    for each in verify(project.services, binding, names):
        found.append(each)
        if output == "text":
            _print(each, whole(_advice(binding, each), folder), folder)
    if output == "json":
        holds = all(each.holds for each in found)
        verified = [{**fields_of(each), "holds": each.holds} for each in found]
        print_json({"environment": environment, "holds": holds, "models": verified})
    elif not found:
        plan = vde("plan", environment, *there(folder))
        note(f"No model that stores rows has any yet. `{plan}` fills it.")
    if not all(each.holds for each in found):
        ctx.exit(1)


def _asked(binding: Binding, text: str, *, catalog: str) -> ModelName:
    name = parsed(text, catalog=catalog)
    if name is None:
        raise Refused(f"{text!r} is no name of a model", advice="write `schema.model`.")
    return chosen(binding.graph, name, catalog=catalog, where=binding.environment).name


def _advice(binding: Binding, found: Verified) -> str:
    """What to do about rows that are not as recorded."""
    name, environment = found.key.model, binding.environment
    if found.missing_table:
        return f"`vde plan {environment}` computes its rows again, or says why it cannot."
    if binding.node(name).model.kind.disable_restatement:
        return "Restore the table's files: the model sets disable_restatement (docs/kinds.md)."
    again = f"vde plan {environment} --restate-model {name}"
    return f"Restore the table's files, or compute the rows again where they are owned: `{again}`"


def _print(found: Verified, advice: str, folder: Path) -> None:
    table = f"{found.key.model} ({found.key.version[:8]})"
    if found.missing_table:
        console().print(f"{table}: its table does not exist", style="red")
        console().print(f"  {advice}", soft_wrap=True)
    elif found.mismatches:
        console().print(f"{table}: not as recorded", style="red")
        for each in found.mismatches:
            console().print(f"  {each}")
        if not found.foreign_write:
            console().print(f"  {advice}", soft_wrap=True)
    else:
        console().print(f"{table}: {found.rows} rows as recorded")
    if found.foreign_write:
        console().print(f"  {whole(found.foreign_write, folder)}", style="red", soft_wrap=True)
