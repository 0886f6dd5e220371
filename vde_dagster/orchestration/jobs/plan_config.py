"""The launchpad's configuration of plans: the options of `vde plan`, with `_` for `-`."""

# No `from __future__ import annotations`: Dagster reads the fields of a configuration as objects.
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, assert_never, cast

import dagster as dg
from pydantic import Field

from vde_dagster.core.errors import Refused
from vde_dagster.core.model.room import MOST_MODELS
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.planning.decisions import Mode
from vde_dagster.core.planning.option_table import FAIL_FAST as FAIL_FAST_HELP
from vde_dagster.core.planning.option_table import PLAN_OPTIONS, PlanOption, Sort
from vde_dagster.core.planning.option_table import SKIP_TESTS as SKIP_TESTS_HELP
from vde_dagster.core.planning.options import (
    OptionsRefused,
    PlanOptions,
    chosen_category,
    refuse_senseless,
)
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.core.sql.unresolved import guess
from vde_dagster.core.time.written import written_end, written_instant
from vde_dagster.project.configuration import Configuration

_Read = TypeVar("_Read")


class AtOnceConfig(dg.Config):
    """What `vde plan`, `vde apply` and `vde run` take about concurrency."""

    concurrency: int | None = Field(
        default=None,
        description="Evaluate up to this many models concurrently; by default as vde.yaml says.",
    )
    fail_fast: bool = Field(default=False, description=FAIL_FAST_HELP)

    def at_once(self, configuration: Configuration) -> Concurrency:
        """How many models are evaluated at once, and what a failure ends.

        Raises:
            Refused: So many cannot be evaluated at once.
        """
        for problem in self.wrong_concurrency():
            raise Refused(problem)
        models = configuration.concurrency if self.concurrency is None else self.concurrency
        return Concurrency(models=models, fail_fast=self.fail_fast)

    def wrong_concurrency(self) -> Iterator[str]:
        """What is wrong with the number of models."""
        if self.concurrency is not None and not 1 <= self.concurrency <= MOST_MODELS:
            yield f"concurrency: {self.concurrency} is not in the range 1<=x<={MOST_MODELS}."


def _of_plan(name: str, default: object) -> Any:  # noqa: ANN401 - as pydantic's own `Field`
    return Field(default=default, description=PLAN_OPTIONS[name].help)


class PlanConfig(AtOnceConfig):
    """What `vde plan` takes. As it is, the plan is only shown."""

    apply: bool = Field(default=False, description="Apply the plan. Otherwise it is only shown.")
    save: str | None = Field(
        default=None,
        description="Write the plan to this file, for vde_apply, and apply nothing now. Relative "
        "paths start at the project's folder.",
    )
    skip_tests: bool = Field(default=False, description=SKIP_TESTS_HELP)
    select_model: list[str] = _of_plan("select_model", [])
    restate_model: list[str] = _of_plan("restate_model", [])
    start: str | None = _of_plan("start", None)
    end: str | None = _of_plan("end", None)
    forward_only: bool = _of_plan("forward_only", False)
    effective_from: str | None = _of_plan("effective_from", None)
    skip_backfill: bool = _of_plan("skip_backfill", False)
    empty_backfill: bool = _of_plan("empty_backfill", False)
    no_gaps: bool = _of_plan("no_gaps", False)
    accept_loss: bool = _of_plan("accept_loss", False)
    allow_empty: bool = _of_plan("allow_empty", False)
    include_unmodified: bool = _of_plan("include_unmodified", True)
    categorize: str | None = Field(
        default=None,
        description="When a user has to choose the category of an edit (`decide`): automatic "
        "(never), ask (if it cannot be derived) or always. By default as vde.yaml says.",
    )
    decide: dict[str, str] = Field(
        default={},
        description="The category of a model's edit: breaking, non_breaking or forward_only.",
    )

    @property
    def acts(self) -> bool:
        """Whether anything is done with the plan but to show it."""
        return self.apply or self.save is not None

    def options(self, configuration: Configuration, environment: str) -> PlanOptions:
        """The options of the plan.

        Raises:
            OptionsRefused: A value is wrong, or they make no sense together or in this environment;
                all problems at once.
        """
        problems: list[str] = []
        given: dict[str, Any] = {
            row.field: _value(problems, row, getattr(self, row.name))
            for row in PLAN_OPTIONS.values()
        }
        options = PlanOptions(
            **given,
            strict_columns=configuration.strict_columns,
            decisions=self._decisions(configuration.catalog.name, problems),
        )
        problems += self._other_problems()
        try:
            refuse_senseless(options, environment)
        except OptionsRefused as error:
            problems.append(str(error))
        if problems:
            raise OptionsRefused("\n".join(problems))
        return options

    def mode(self, configuration: Configuration, environment: str) -> Mode:
        """When a person is asked: as was said here, or else as ``vde.yaml`` does."""
        return Mode(self.categorize) if self.categorize else configuration.mode(environment)

    def _decisions(self, catalog: str, problems: list[str]) -> dict[ModelName, Category]:
        taken: dict[ModelName, Category] = {}
        for text, category in self.decide.items():
            name = _read(problems, "decide", text, ModelName.parse)
            chosen = _read(problems, f"decide {text}", category, chosen_category)
            if name is None or chosen is None:
                continue
            name = name.within(catalog)
            if (known := taken.setdefault(name, chosen)) is not chosen:
                problems.append(
                    f"{name} is decided to be {known.value} and {chosen.value}: choose one."
                )
        return taken

    def _other_problems(self) -> Iterator[str]:
        yield from self.wrong_concurrency()
        if self.apply and self.save is not None:
            yield "apply and save cannot be combined."
        known = [each.value for each in Mode]
        if self.categorize is not None and self.categorize not in known:
            close = guess(self.categorize, known)
            choices = ", ".join(known)
            yield f"categorize: {self.categorize!r} is not one of {choices}. {close}".rstrip()


def _read(
    problems: list[str], option: str, text: str | None, read: Callable[[str], _Read]
) -> _Read | None:
    """What an option says; None if it is missing or wrong, which is a problem then."""
    if text is None:
        return None
    try:
        return read(text)
    except (ValueError, InvalidName) as error:
        problems.append(f"{option}: {error}")
        return None


def _value(problems: list[str], row: PlanOption, given: object) -> object:
    """What an option of a plan says, as `PlanOptions` has it."""
    match row.sort:
        case Sort.INSTANT:
            return _read(problems, row.name, cast("str | None", given), written_instant)
        case Sort.END:
            return _read(problems, row.name, cast("str | None", given), written_end)
        case Sort.SELECTORS:
            return tuple(cast("list[str]", given))
        case Sort.FLAG | Sort.SWITCH:
            return given
        case unreachable:
            assert_never(unreachable)
