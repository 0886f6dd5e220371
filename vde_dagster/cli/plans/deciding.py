"""Who decides the category of an edit: the options for it, and asking on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import note
from vde_dagster.core.errors import Refused
from vde_dagster.core.listing import plural, some
from vde_dagster.core.planning.changes.reason_values import sentences

if TYPE_CHECKING:
    from vde_dagster.core.model.snapshot import Category
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.planning.decisions import Mode
    from vde_dagster.core.planning.options import PlanOptions
    from vde_dagster.core.planning.plan import ModelChange, Plan
    from vde_dagster.project.configuration import Configuration

_NAMED: Final = 5


def _decision(text: str) -> tuple[str, str]:
    """A model's name and a category; wrong usage for any other text."""
    name, equals, category = text.partition("=")
    if not equals:
        message = f"write MODEL=CATEGORY, such as mart.revenue=non_breaking, not {text!r}"
        raise click.BadParameter(message)
    options.model(name)
    from vde_dagster.core.planning.options import chosen_category

    try:
        return name, chosen_category(category).value
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


CATEGORIZE: Final = click.option(
    "--categorize",
    type=click.Choice(["automatic", "ask", "always"]),
    default=None,
    help="When to ask for the category of an edit: never, if it cannot be derived, or for "
    "every edit. By default as vde.yaml says, else automatic.",
)
DECIDE: Final = click.option(
    "--decide",
    "decided",
    type=_decision,
    multiple=True,
    metavar="MODEL=CATEGORY",
    help="The category of a model's edit: breaking, non_breaking or forward_only. Later plans of "
    "the same text use it, in every environment. Repeatable.",
)


def decisions_of(decided: Iterable[tuple[str, str]], *, catalog: str) -> dict[ModelName, Category]:
    """The decisions of a command line; whether they can be taken, the plan says.

    Raises:
        UsageError: A model is decided in two ways.
    """
    from vde_dagster.core.model.snapshot import Category

    found: dict[ModelName, Category] = {}
    for text, category in decided:
        name, chosen = options.model(text).within(catalog), Category(category)
        if found.setdefault(name, chosen) is not chosen:
            raise click.UsageError(
                f"{name} is decided to be {found[name].value} and {chosen.value}: choose one."
            )
    return found


def mode_of(configuration: Configuration, environment: str, categorize: str | None) -> Mode:
    """When a person is asked: as the command line says, or else as ``vde.yaml`` does."""
    from vde_dagster.core.planning.decisions import Mode

    return Mode(categorize) if categorize else configuration.mode(environment)


def decided_plan(
    plan_with: Callable[[PlanOptions], Plan], chosen: PlanOptions, mode: Mode, *, asks: bool
) -> tuple[Plan, tuple[ModelChange, ...]]:
    """The plan after all answers, and the models whose question was not asked.

    Args:
        plan_with: Plans with these options.
        chosen: The options, with what is decided already.
        mode: When to ask.
        asks: Whether there is a user to ask.

    Raises:
        Abort: The person stopped it; nothing was written.
    """
    from vde_dagster.core.planning.decisions import open_questions

    plan = plan_with(chosen)
    asked = 0
    while asks and (questions := open_questions(plan, mode)):
        asked += 1
        count = f"{asked} of {asked - 1 + len(questions)}"
        category, plan = _ask(plan_with, chosen, questions[0], count)
        chosen = _deciding(chosen, questions[0].name, category)
    return plan, open_questions(plan, mode)


def report_undecided(questions: Sequence[ModelChange], *, refuse: bool) -> None:
    """Say which decisions are missing if there is no user to ask.

    Raises:
        Refused: The plan is more than shown.
    """
    if not questions:
        return
    from vde_dagster.core.planning.decisions import undecided_text

    if refuse:
        raise Refused(f"{undecided_text(questions)}\nNothing was written.")
    note(f"vde: {undecided_text(questions)}")


def _deciding(chosen: PlanOptions, name: ModelName, category: Category) -> PlanOptions:
    return replace(chosen, decisions={**chosen.decisions, name: category})


def _ask(
    plan_with: Callable[[PlanOptions], Plan], chosen: PlanOptions, change: ModelChange, count: str
) -> tuple[Category, Plan]:
    from vde_dagster.core.planning.options import DECIDABLE

    why = "the effect of this edit is unknown" if change.undecidable else "what is its effect?"
    click.echo(f"\n{click.style(str(change.name), bold=True)} ({count}): {why}")
    for reason in sentences(change.reasons):
        click.echo(f"  {reason}")
    choices: dict[str, tuple[Category, Plan]] = {}
    for each in DECIDABLE:
        follows = plan_with(_deciding(chosen, change.name, each))
        choices[each.value] = each, follows
        click.echo(f"    {each.value:<13} {_effect(follows, change.name)}")

    def choice(text: str) -> tuple[Category, Plan]:
        wanted = text.strip().lower().replace("-", "_")
        found = [each for name, each in choices.items() if wanted and name.startswith(wanted)]
        if len(found) != 1:
            raise click.UsageError(f"{text!r} is not one of {', '.join(choices)}")
        return found[0]

    offered = change.category.value if change.category is not None else None
    answer: tuple[Category, Plan] = click.prompt(
        f"  {', '.join(choices)}", default=offered, value_proc=choice
    )
    return answer


def _effect(plan: Plan, name: ModelName) -> str:
    """What a plan computes of a model and downstream, and how it changes the model's table."""
    from vde_dagster.core.graph.ranges import count
    from vde_dagster.core.graph.selection import select
    from vde_dagster.core.ledger.schema_changes import described

    concerned = select([plan.graph], [f"{name}+"], catalog="")
    reached = [each for each in plan.backfills if each.name in concerned]
    changes = [
        described(it) for each in plan.changes if each.name == name for it in each.schema_changes
    ]
    table = f"; {', '.join(changes)} in place" if changes else ""
    if not reached:
        return f"computes nothing of this model or downstream{table}"
    units = sum(count(plan.graph[each.name], each.to_evaluate) for each in reached)
    names = some((each.name for each in reached), _NAMED)
    return f"computes {plural(units, 'interval')} of {names}{table}"
