"""The options of a plan that people give: one row for each, on a command line and in Dagster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vde_dagster.core.planning.options import PlanOptions


class Sort(Enum):
    """What is given with an option: an instant, the end of a time, selectors, or only its name.

    A ``SWITCH`` is on by itself and can be switched off.
    """

    INSTANT = auto()
    END = auto()
    SELECTORS = auto()
    FLAG = auto()
    SWITCH = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOption:
    """An option: its name in Dagster's launchpad, and what its help says of it.

    ``field`` is that of `PlanOptions`.
    """

    name: str
    sort: Sort
    help: str
    field: str

    @property
    def flag(self) -> str:
        """Its name on a command line."""
        return f"--{self.name.replace('_', '-')}"


def _option(name: str, sort: Sort, said: str, field: str = "") -> PlanOption:
    return PlanOption(name=name, sort=sort, help=said, field=field or name)


_ROWS: Final = (
    _option(
        "start",
        Sort.INSTANT,
        "Compute nothing before this instant, in UTC: models that need more start there, in a "
        "table that is never promoted. In production only with --restate-model.",
    ),
    _option(
        "end",
        Sort.END,
        "Compute no interval after this instant: a date means the whole day, a time is the "
        "exclusive end.",
    ),
    _option(
        "restate_model",
        Sort.SELECTORS,
        "Compute the loaded intervals of these models and their downstream models again. FULL "
        "tables are rebuilt as a whole.",
        "restate",
    ),
    _option(
        "forward_only",
        Sort.FLAG,
        "Keep the table of every edited model: only new intervals are computed with the edit.",
    ),
    _option(
        "effective_from",
        Sort.INSTANT,
        "From when on forward-only changes apply, in UTC. Outside production they are shown in "
        "separate tables, which are never promoted.",
    ),
    _option(
        "skip_backfill",
        Sort.FLAG,
        "Compute nothing, and show what is loaded. Production never shows less than before.",
    ),
    _option(
        "empty_backfill",
        Sort.FLAG,
        "Record missing intervals as loaded without rows, and compute nothing. Not in production.",
    ),
    _option(
        "no_gaps",
        Sort.FLAG,
        "Refuse versions with fewer loaded intervals than those shown now. Production always does.",
    ),
    _option(
        "accept_loss",
        Sort.FLAG,
        "Return to an earlier version even if it lacks data that the current one has loaded "
        "since and that cannot be computed again.",
    ),
    _option(
        "allow_empty",
        Sort.FLAG,
        "Compute FULL tables and restated intervals even if they lose all of their rows, or if "
        "their source has lost some of that time.",
    ),
    _option(
        "select_model",
        Sort.SELECTORS,
        "Plan the changes of these models only: mart.revenue, mart.*, tag:nightly, path:PATTERN; "
        "a leading + adds everything upstream, a trailing + everything downstream.",
        "select",
    ),
    _option(
        "include_unmodified",
        Sort.SWITCH,
        "Whether the environment also gets views of models that are the same in production "
        "(default), or only of the others. Not for production.",
    ),
)
PLAN_OPTIONS: Final = {row.name: row for row in _ROWS}
"""The options by name, in the order in which help lists them."""

SKIP_TESTS: Final = "Skip the unit tests before the plan."
"""What the option ``skip_tests`` says."""
FAIL_FAST: Final = (
    "Start no more models after the first failure. Otherwise all models that do not depend on "
    "it are computed."
)
"""What the option ``fail_fast`` says."""


def words_of(options: PlanOptions) -> list[str]:
    """The words on a command line that ask for a plan with these options."""
    decided = sorted(options.decisions.items())
    said = [word for row in _ROWS for word in _words(row, getattr(options, row.field))]
    return [*said, *(word for n, each in decided for word in ("--decide", f"{n}={each.value}"))]


def _words(row: PlanOption, value: object) -> Iterator[str]:
    match value:
        case bool():
            if value and row.sort is Sort.FLAG:
                yield row.flag
            elif not value and row.sort is Sort.SWITCH:
                yield f"--no-{row.flag.removeprefix('--')}"
        case tuple():
            yield from (word for each in value for word in (row.flag, each))
        case datetime():
            yield from (row.flag, value.isoformat())
        case _:
            pass
