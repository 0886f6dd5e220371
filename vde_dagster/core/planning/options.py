"""What a user asks of a plan beyond "make this environment show this project"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from vde_dagster.core.errors import Refused
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.changes.difference import Rules
from vde_dagster.core.sql.unresolved import guess
from vde_dagster.core.time.intervals import END_OF_TIME, Interval, format_instant

DECIDABLE: Final = (Category.BREAKING, Category.NON_BREAKING, Category.FORWARD_ONLY)
"""The categories that a person may choose for a directly modified model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """The options of a plan. Which combinations make no sense, `refuse_senseless` says.

    - ``start`` and ``end`` (exclusive) bound the intervals that are evaluated. In production they
      bound a restatement only, since what production shows is complete. What cannot be without
      what is before the start gets a version that is bounded (`vde_dagster.core.planning.bounds`).
    - ``restate`` selects models to evaluate again where they are loaded, with all that reads them.
    - ``forward_only`` lets every direct change keep the version that there is.
    - ``effective_from`` is when forward-only changes are to count from: what is loaded since then
      is evaluated again. An environment that may not write the table shows them in another one,
      a preview, that begins there (rule R11).
    - ``skip_backfill`` promotes without evaluating anything; physical views are made all the same.
    - ``empty_backfill`` records what is missing as loaded without rows and without evaluating it.
    - ``no_gaps`` refuses versions that hold less than the ones that are shown.
    - ``accept_loss`` shows versions that come back as they are, where what they lack of the ones
      that are shown cannot be computed again (rule R15).
    - ``allow_empty`` computes what is asked for even if rows of it go: if a FULL table or an
      interval that is restated would be left without any, or if the source of one has lost rows of
      its time (rule R8).
    - ``select`` selects the models whose changes are planned; all of them where it is empty. The
      others stay as the environment shows them.
    - ``include_unmodified`` shows every model in the environment, not only those that differ from
      production's.
    - ``strict_columns`` and ``decisions`` are those of `Rules`.

    ``restate`` and ``select`` are texts as `vde_dagster.core.graph.selection` reads them.
    """

    start: datetime | None = None
    end: datetime | None = None
    restate: tuple[str, ...] = ()
    forward_only: bool = False
    effective_from: datetime | None = None
    skip_backfill: bool = False
    empty_backfill: bool = False
    no_gaps: bool = False
    accept_loss: bool = False
    allow_empty: bool = False
    select: tuple[str, ...] = ()
    include_unmodified: bool = True
    strict_columns: bool = False
    decisions: Mapping[ModelName, Category] = field(default_factory=dict)

    @property
    def rules(self) -> Rules:
        """How changes are judged under these options."""
        return Rules(
            strict_columns=self.strict_columns,
            forward_only=self.forward_only,
            decisions=self.decisions,
        )

    @property
    def evaluates_nothing(self) -> str:
        """The option by which nothing is evaluated; empty if something is."""
        if self.skip_backfill:
            return "--skip-backfill"
        return "--empty-backfill" if self.empty_backfill else ""

    @property
    def asked(self) -> Interval:
        """The time between start and end; all time where neither is given."""
        first = self.start or datetime.min.replace(tzinfo=UTC)
        return Interval(first, self.end or END_OF_TIME)

    @property
    def bounds_backfills(self) -> bool:
        """Whether what is missing is evaluated between start and end only."""
        return (self.start, self.end) != (None, None)

    def bounds(self, environment: str) -> Interval | None:
        """The time outside of which nothing that is missing is evaluated; None for no bounds.

        In production only restatements are bounded.
        """
        return self.asked if self.bounds_backfills and environment != PRODUCTION else None


DEFAULT_OPTIONS: Final = PlanOptions()


def chosen_category(text: str) -> Category:
    """The category that a person names for an edited model.

    Raises:
        ValueError: It is none that can be chosen; the text says which can.
    """
    wanted = text.strip().lower().replace("-", "_")
    known = {each.value: each for each in DECIDABLE}
    if wanted not in known:
        raise ValueError(
            f"{wanted!r} is not a category that you can choose. {guess(wanted, [*known])}Choose "
            f"one of {', '.join(known)}."
        )
    return known[wanted]


class OptionsRefused(Refused, ValueError):
    """Options that make no sense together, or not for this environment; all of them at once."""


def refuse_senseless(options: PlanOptions, environment: str) -> None:
    """Refuse a combination of options that makes no sense, before anything is read.

    Args:
        options: What was asked for.
        environment: The canonical name of the environment that the plan is for.

    Raises:
        OptionsRefused: With every reason.
    """
    found = [*_among_themselves(options), *_for_environment(options, environment)]
    if found:
        raise OptionsRefused("\n".join(found))


def _among_themselves(options: PlanOptions) -> Iterator[str]:
    if options.start is not None and options.end is not None and options.end <= options.start:
        yield (
            f"the end, {format_instant(options.end)}, is not after the start, "
            f"{format_instant(options.start)}: there is no interval between them. A date as the "
            "end means the whole day."
        )
    if options.skip_backfill and options.empty_backfill:
        yield (
            "--skip-backfill leaves missing intervals missing and --empty-backfill records them "
            "as loaded without rows: choose one of them."
        )
    evaluates_nothing = options.evaluates_nothing
    if evaluates_nothing and options.restate:
        yield (
            f"--restate-model evaluates intervals again, and {evaluates_nothing} evaluates none: "
            "omit one of them."
        )
    if evaluates_nothing and options.effective_from is not None:
        yield (
            "--effective-from evaluates intervals by a forward-only change, and "
            f"{evaluates_nothing} evaluates none: omit one of them."
        )
    if options.skip_backfill and options.bounds_backfills:
        yield (
            "--start and --end bound what is evaluated, and --skip-backfill evaluates nothing: "
            "omit one of them."
        )
    if options.empty_backfill and options.no_gaps:
        yield (
            "--no-gaps refuses versions without the rows shown now, and --empty-backfill "
            "creates versions without rows: omit one of them."
        )
    for name, category in sorted(options.decisions.items()):
        if category not in DECIDABLE:
            known = ", ".join(each.value for each in DECIDABLE)
            yield f"{name} cannot be decided to be {category.value}: choose one of {known}."


def _for_environment(options: PlanOptions, environment: str) -> Iterator[str]:
    if environment != PRODUCTION:
        return
    if options.bounds_backfills and not options.restate:
        yield (
            f"--start and --end bound what is evaluated, and {PRODUCTION} only shows versions "
            "with all due intervals: use them with --restate-model, or in another environment."
        )
    if options.empty_backfill:
        yield (
            f"--empty-backfill records intervals without rows, and {PRODUCTION} would show them "
            "as if they were complete: use it in another environment."
        )
    if not options.include_unmodified:
        yield (
            f"--no-include-unmodified excludes models that are the same as in {PRODUCTION}, so "
            f"{PRODUCTION} would have none: use it in another environment."
        )
