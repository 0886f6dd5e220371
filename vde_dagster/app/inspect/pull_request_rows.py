"""How many rows a pull request's environment has of each model, beside the one it is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from vde_dagster.app.inspect.environment_diff import ModelDiff, Rows, diff_environments
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.entries import LedgerSum
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.planning.pull_request import ComparedRows, PullRequest
from vde_dagster.core.planning.work_text import bound_text, counted_ranges


def compared_rows(services: Services, request: PullRequest) -> tuple[ComparedRows, ...]:
    """The models of which both environments show different tables, read from the state alone.

    Raises:
        Refused: There is no such environment.
    """
    if not services.state.revision(request.target):
        return ()  # the request is the first one: there is nothing to compare with
    found = diff_environments(services, request.target, request.environment)
    different = [each for each in found.models if each.rows is not Rows.SAME_TABLE]
    shown = [each for model in different for each in (model.before, model.after) if each]
    totals = services.state.sums({each.key for each in shown})
    return tuple(
        ComparedRows(
            model=str(each.node.name),
            before=_rows(each, each.before, totals),
            after=_rows(each, each.after, totals),
            said=_said(each, request),
        )
        for each in different
    )


def _rows(
    model: ModelDiff, shown: ModelSnapshot | None, totals: Mapping[VersionKey, LedgerSum]
) -> int | None:
    if shown is None or not model.node.model.kind.stores_rows:
        return None
    return totals[shown.key].rows if shown.key in totals else 0


def _said(model: ModelDiff, request: PullRequest) -> str:
    if model.before is None:
        return "new"
    if model.after is None:
        return "removed"
    if not model.node.model.kind.stores_rows:
        return "a view, whose rows are not compared"
    match model.rows:
        case Rows.DIFFERENT:
            said = f"other rows in {counted_ranges(model.node, model.different)}"
        case Rows.EQUAL:
            said = "equal rows"
        case Rows.NOT_COMPARED:
            said = "rows not compared"
        case Rows.SAME_TABLE:
            said = "one table"
        case _:
            assert_never(model.rows)
    lacking = [
        f"only in {name}: {counted_ranges(model.node, ranges)}"
        for name, ranges in (
            (request.target, model.only_before),
            (request.environment, model.only_after),
        )
        if ranges
    ]
    bounded = model.after.bounded
    bound = [f"{bound_text(bounded)}, and never promoted"] if bounded is not None else []
    return "; ".join([said, *bound, *lacking])
