"""What is called fresh equals a build from scratch, in any story of any models."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from tests.app.generated_models import OTHERS, Form, Made
from tests.app.memory_world import SOURCE
from tests.app.staleness.staleness_stories import (
    Correct,
    Edit,
    Land,
    Run,
    Step,
    Story,
    Wrong,
    story,
    tell,
)
from vde_dagster.app.inputs import staying
from vde_dagster.app.inputs.input_moves import InputMoves
from vde_dagster.app.staleness import late_upstream
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.staleness import LastLook
from vde_dagster.core.model.kinds import Full, IncrementalByTimeRange, Kind
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.planning import restatement
from vde_dagster.core.sql.reads.input_ranges import affected
from vde_dagster.state.sql_state import SqlState

EVENTS: Final = str(SOURCE)
SHORT, LONG = (2,), (0, 1, *range(3, 60))


@pytest.mark.full
@pytest.mark.parametrize(
    "seed", [*SHORT, *(pytest.param(each, marks=pytest.mark.full) for each in LONG)]
)
def test_after_each_run_all_is_as_from_scratch_and_nothing_was_computed_for_nothing(
    seed: int,
) -> None:
    tell(story(seed))


# Stories that ended otherwise once
BY_KEY: Final = Made(name="by_key", form=Form.BY_KEY, parents=("gen.copy",), daily=True)
MORE: Final = Land(source=str(SOURCE), rows=(), until=46)


@pytest.mark.parametrize(
    "models, steps",
    [
        pytest.param(
            [Made(name="by_key", form=Form.BY_KEY, parents=(str(SOURCE),), daily=True)],
            [Correct(source=str(SOURCE), at=2, amount=7), Run()],
            id="what builds on itself reads a source by time",
        ),
        pytest.param(
            [Made(name="copy", form=Form.COPY, parents=(str(SOURCE),)), BY_KEY],
            [Edit(model="copy", how="column"), MORE, Run()],
            id="what builds on itself is kept downstream of an edit",
        ),
    ],
)
def test_what_was_found_is_as_from_scratch(models: list[Made], steps: list[Step]) -> None:
    tell(reported(*models, steps=tuple(steps)))


# The checks find what they are there for
def made(form: Form, parent: str, name: str = "", **more: Any) -> Made:
    return Made(name=name or form.name.lower(), form=form, parents=(parent,), **more)


COPY: Final = made(Form.COPY, EVENTS)
FIRST: Final = (
    Land(source=EVENTS, rows=tuple((float(hour), hour + 1) for hour in range(6)), until=26),
    Land(source=str(OTHERS), rows=((0.0, 1), (4.0, 2)), until=26),
)
LATE: Final = Land(source=EVENTS, rows=((2.5, 100),), until=26)


def reported(*models: Made, steps: tuple[Step, ...] = (LATE, Run())) -> Story:
    return Story(models=models, steps=(*FIRST, *steps))


def without_windows(*args: Any, **kwargs: Any) -> Any:
    """The readers of what has changed, as if each interval read its own time only."""
    reads, parent, changed = args
    found = affected(reads, parent, changed, **kwargs)
    own = [kwargs["unit"].widen(each) for each in changed]
    return tuple(part for each in found for time in own if (part := each.intersection(time)))


def without_views(_graph: Any, node: Node) -> Any:
    """The parents of a model as if views had rows."""
    return iter(node.model.parents)


def only(kinds: Callable[[Kind], bool]) -> Callable[[Node], bool]:
    """Whether the rows of a model are computed, as if all other kinds were forgotten."""
    return lambda node: staying_is_computed(node) and kinds(node.model.kind)


staying_is_computed: Final = staying.is_computed


def forgetting(state: SqlState, looks: dict[VersionKey, LastLook]) -> None:
    """Store looks without what they found."""
    record_looks(state, {key: replace(each, stale=()) for key, each in looks.items()})


record_looks: Final = SqlState.record_looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """A planted defect, and a story that ends wrongly with it.

    ``places`` are what is replaced: objects and the names of their attributes.
    """

    places: Collection[tuple[Any, str]]
    by: Any
    story: Story


DEFECTS: Final = {
    "a window is ignored": Defect(
        places=[(staying, "affected"), (restatement, "affected")],
        by=without_windows,
        story=reported(COPY, made(Form.RECENT, "gen.copy", hours=2)),
    ),
    "a window of a source is ignored": Defect(
        places=[(staying, "affected"), (restatement, "affected")],
        by=without_windows,
        story=reported(made(Form.RECENT, EVENTS, hours=2)),
    ),
    "a level is skipped": Defect(
        places=[(staying, "tables_read"), (late_upstream, "tables_read")],
        by=without_views,
        story=reported(COPY, made(Form.VIEW, "gen.copy"), made(Form.SUMS, "gen.view", daily=True)),
    ),
    "changes of a parent are not seen": Defect(
        places=[(staying.StaleLooks, "_changes")],
        by=lambda *_: (),
        story=reported(COPY, made(Form.SUMS, "gen.copy"), steps=(LATE, Run(fails="sums"))),
    ),
    "changes of a source are not seen": Defect(
        places=[(staying.StaleLooks, "_source_changes")], by=lambda *_: (), story=reported(COPY)
    ),
    "kinds whose intervals build on each other are forgotten": Defect(
        places=[(staying, "is_computed"), (late_upstream, "is_computed")],
        by=only(lambda kind: isinstance(kind, IncrementalByTimeRange | Full)),
        story=reported(COPY, made(Form.BY_KEY, "gen.copy", daily=True)),
    ),
    "full tables are forgotten": Defect(
        places=[(staying, "is_computed"), (late_upstream, "is_computed")],
        by=only(lambda kind: not kind.is_whole),
        story=reported(COPY, made(Form.FULL, "gen.copy")),
    ),
    "what a look found is not kept": Defect(
        places=[(SqlState, "record_looks")],
        by=forgetting,
        story=reported(COPY, made(Form.SUMS, "gen.copy"), steps=(LATE, Run(fails="sums"))),
    ),
    "what is stale is never computed": Defect(
        places=[(staying, "affected"), (restatement, "affected")],
        by=lambda *_, **__: (),
        story=reported(COPY),
    ),
    "everything is stale at any time": Defect(
        places=[(InputMoves, "has_changed")],
        by=lambda *_: True,
        story=reported(COPY, steps=(Correct(source=EVENTS, at=2, amount=7), Run())),
    ),
}


ONE_OF_EACH_STORY: Final = {repr(each.story): name for name, each in DEFECTS.items()}.values()
"""Some defects change the end of the same story."""


@pytest.mark.full
@pytest.mark.parametrize("defect", ONE_OF_EACH_STORY)
def test_a_story_whose_end_a_defect_changes_ends_well_without_it(defect: str) -> None:
    tell(DEFECTS[defect].story)


@pytest.mark.full
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_is_found(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = DEFECTS[defect]
    for place, name in planted.places:
        monkeypatch.setattr(place, name, planted.by)
    with pytest.raises(Wrong):
        tell(planted.story)
