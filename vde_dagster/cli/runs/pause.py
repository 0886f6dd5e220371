"""`vde pause` and `vde resume`: models that are not evaluated until a person resumes them."""

from __future__ import annotations

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.core.names import ModelName


@options.command("pause")
@click.argument("models", type=options.model, nargs=-1, required=True, metavar="MODEL...")
@click.option("--reason", metavar="TEXT", default="", help="The reason, for later readers.")
@options.ENVIRONMENT
def pause_command(
    call: Call, *, models: tuple[ModelName, ...], reason: str, environment: str
) -> None:
    """Pause each MODEL in an environment: runs, automation, sensors and plans skip it.

    Its loaded rows stay, and are read. Downstream models are computed as far as its data reaches,
    and `vde intervals` names the pause. Work that is running is finished. While a model is paused,
    production shows no other version of it or of models that wait for it. Views and embedded models
    cannot be paused.

    For example:

        vde pause mart.revenue --reason "the source is under repair"
    """
    from vde_dagster.app.apply.pausing import pause_models

    names = [each.within(call.catalog) for each in models]
    pauses = pause_models(call.services, environment, names, reason=reason)
    lines = [f"{each.model} is {each}. To resume: {each.resume}" for each in pauses]
    call.answer({"environment": environment, "paused": pauses}, lines)


@options.command("resume")
@click.argument("models", type=options.model, nargs=-1, metavar="[MODEL...]")
@options.ENVIRONMENT
def resume_command(call: Call, *, models: tuple[ModelName, ...], environment: str) -> None:
    """Resume each paused MODEL of an environment, by default all of them.

    It computes nothing: the next run computes intervals that have become due in the meantime.

    For example:

        vde resume mart.revenue
    """
    from vde_dagster.app.apply.pausing import resume_models

    names = [each.within(call.catalog) for each in models]
    pauses = resume_models(call.services, environment, names)
    lines = [f"{each.model} is resumed. It was {each}" for each in pauses]
    document = {"environment": environment, "resumed": pauses}
    call.answer(document, lines, otherwise=f"No model is paused in {environment}.")
