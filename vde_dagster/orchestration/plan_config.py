"""The launchpad's configuration of plans: the options of `vde plan` in the same words."""

# No `from __future__ import annotations`: Dagster reads the fields of a configuration as objects.
import re
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import dagster as dg
from pydantic import Field

from vde_dagster.core.errors import Refused
from vde_dagster.core.model.room import MOST_MODELS
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.planning.decisions import Mode
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
_DECIDE: Final = re.compile(r"--decide ([^\s=`]+)=([a-z_|]+)")
_COMMAND: Final = "`vde "
_COMMANDS: Final = re.compile(rf"({_COMMAND}[^`]*`)")
_OPTION: Final = re.compile(r"--([a-z][a-z-]*[a-z])")


class AtOnceConfig(dg.Config):
    """What `vde plan`, `vde apply` and `vde run` take about evaluating several models at once."""

    concurrency: int | None = Field(
        default=None,
        description="Evaluate up to so many models at once; by default as vde.yaml says.",
    )
    fail_fast: bool = Field(
        default=False,
        description="Begin no model after the first one that failed. Otherwise all that does not "
        "wait for it is computed.",
    )

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


class PlanConfig(AtOnceConfig):
    """What `vde plan` takes. As it is, the plan is only shown."""

    apply: bool = Field(default=False, description="Apply the plan. Otherwise it is only shown.")
    save: str | None = Field(
        default=None,
        description="Write the plan to this file, for vde_apply, and apply nothing now. A relative "
        "path is one in the project's folder.",
    )
    skip_tests: bool = Field(
        default=False,
        description="Run no unit tests before the plan, and apply it whatever they would say.",
    )
    select_model: list[str] = Field(
        default=[],
        description="Plan the changes of these models only: mart.revenue, mart.*, tag:nightly; a + "
        "in front adds everything upstream, a + behind everything downstream.",
    )
    restate_model: list[str] = Field(
        default=[],
        description="Compute the loaded intervals of these models again, and what reads them.",
    )
    start: str | None = Field(
        default=None,
        description="Compute nothing before this instant, in UTC: what needs more begins there, in "
        "a table that is never promoted. In production only with restate_model.",
    )
    end: str | None = Field(
        default=None,
        description="Compute no interval after this instant: a date means the whole day, a time is "
        "the exclusive end.",
    )
    forward_only: bool = Field(
        default=False,
        description="Let every edited model keep its table: only new intervals are computed with "
        "the edit.",
    )
    effective_from: str | None = Field(
        default=None,
        description="From when on forward-only changes count, in UTC. Outside of production they "
        "are shown in tables of their own, which are never promoted.",
    )
    skip_backfill: bool = Field(
        default=False,
        description="Compute nothing, and show what is loaded. Production never shows less than "
        "before.",
    )
    empty_backfill: bool = Field(
        default=False,
        description="Record missing intervals as loaded without rows, and compute nothing. Not in "
        "production.",
    )
    no_gaps: bool = Field(
        default=False,
        description="Refuse versions with fewer loaded intervals than those shown now.",
    )
    accept_loss: bool = Field(
        default=False,
        description="Return to an earlier version even if it lacks data that the current one has "
        "loaded since, and that cannot be computed again.",
    )
    allow_empty: bool = Field(
        default=False,
        description="Compute FULL tables and restated intervals even if they lose all of their "
        "rows, or if their source has lost some of that time.",
    )
    include_unmodified: bool = Field(
        default=True,
        description="Whether the environment also gets views of models that are the same in "
        "production, or only of the others.",
    )
    categorize: str | None = Field(
        default=None,
        description="When a person has to decide the category of an edit (`decide`): automatic "
        "(never), ask (if it cannot be derived) or always. By default as vde.yaml says.",
    )
    decide: dict[str, str] = Field(
        default={},
        description="What the edit of a model means: breaking, non_breaking or forward_only.",
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
        options = PlanOptions(
            start=_read(problems, "start", self.start, written_instant),
            end=_read(problems, "end", self.end, written_end),
            restate=tuple(self.restate_model),
            forward_only=self.forward_only,
            effective_from=_read(problems, "effective_from", self.effective_from, written_instant),
            skip_backfill=self.skip_backfill,
            empty_backfill=self.empty_backfill,
            no_gaps=self.no_gaps,
            accept_loss=self.accept_loss,
            allow_empty=self.allow_empty,
            select=tuple(self.select_model),
            include_unmodified=self.include_unmodified,
            strict_columns=configuration.strict_columns,
            decisions=dict(self._decisions(configuration.catalog.name, problems)),
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

    def _decisions(self, catalog: str, problems: list[str]) -> Iterator[tuple[ModelName, Category]]:
        taken: dict[ModelName, Category] = {}
        for text, category in self.decide.items():
            name = _read(problems, "decide", text, ModelName.parse)
            chosen = _read(problems, f"decide {text}", category, chosen_category)
            if name is None or chosen is None:
                continue
            name = name.within(catalog)
            if taken.setdefault(name, chosen) is not chosen:
                problems.append(
                    f"{name} is decided to be {taken[name].value} and {chosen.value}: choose one."
                )
            yield name, chosen

    def _other_problems(self) -> Iterator[str]:
        yield from self.wrong_concurrency()
        if self.apply and self.save is not None:
            yield "apply and save exclude each other."
        known = [each.value for each in Mode]
        if self.categorize is not None and self.categorize not in known:
            close = guess(self.categorize, known)
            yield f"categorize: {self.categorize!r} is none of {', '.join(known)}. {close}".rstrip()


def launchpad_words(text: str) -> str:
    """A text about options of the command line, about those of the launchpad.

    Example: ``--skip-backfill`` is ``skip_backfill``. Whole commands, as `vde plan dev --save FILE`
    is one, stay as they are: a terminal is where they are given.
    """
    return "".join(
        each if each.startswith(_COMMAND) else _launchpad_options(each)
        for each in _COMMANDS.split(text)
    )


def _launchpad_options(text: str) -> str:
    text = text.replace("--no-include-unmodified", "include_unmodified: false")
    text = text.replace("--categorize automatic", "categorize: automatic")
    text = _DECIDE.sub(r"decide: {\1: \2}", text)
    return _OPTION.sub(lambda found: found[1].replace("-", "_"), text)


def _read(
    problems: list[str], option: str, text: str | None, read: Callable[[str], _Read]
) -> _Read | None:
    """What an option says; None if it is not there or wrong, which is a problem then."""
    if text is None:
        return None
    try:
        return read(text)
    except (ValueError, InvalidName) as error:
        problems.append(f"{option}: {error}")
        return None
