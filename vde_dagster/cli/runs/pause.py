"""`vde pause` and `vde resume`: models that are not evaluated until a person resumes them."""

from __future__ import annotations

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.core.names import ModelName


@options.command("pause")
@click.argument("models", type=options.model, nargs=-1, required=True, metavar="MODEL...")
@click.option("--reason", metavar="TEXT", default="", help="Why, for whoever asks later.")
@options.ENVIRONMENT
def pause_command(
    call: Call, *, models: tuple[ModelName, ...], reason: str, environment: str
) -> None:
    """Pause each MODEL in an environment: runs, automation, sensors and plans leave it out.

    What it has loaded stays, and is read. Models downstream are computed as far as it goes.
    """
    from vde_dagster.app.apply.pausing import pause_models

    names = [each.within(call.catalog) for each in models]
    pauses = pause_models(call.services, environment, names, reason=reason)
    lines = [f"{each.model} is {each}. To go on: {each.resume}" for each in pauses]
    call.answer({"environment": environment, "paused": pauses}, lines)


@options.command("resume")
@click.argument("models", type=options.model, nargs=-1, metavar="[MODEL...]")
@options.ENVIRONMENT
def resume_command(call: Call, *, models: tuple[ModelName, ...], environment: str) -> None:
    """Resume each paused MODEL of an environment, by default all of them.

    Nothing is computed by it: the next run computes what has become due meanwhile.
    """
    from vde_dagster.app.apply.pausing import resume_models

    names = [each.within(call.catalog) for each in models]
    pauses = resume_models(call.services, environment, names)
    lines = [f"{each.model} is resumed. It was {each}" for each in pauses]
    document = {"environment": environment, "resumed": pauses}
    call.answer(document, lines, otherwise=f"No model is paused in {environment}.")
