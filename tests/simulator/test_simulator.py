"""Generated histories of a project: what is shown and told is true after each step."""

from __future__ import annotations

import pytest

from tests.app.generated_models import Form, Made
from tests.simulator.histories import history
from tests.simulator.projects import SOURCES
from tests.simulator.simulation import tell
from tests.simulator.steps import Act, Correct, Edit, History, Land, Step

SHORT, LONG = range(20), range(20, 160)
EVENTS, OTHERS = SOURCES


@pytest.mark.parametrize(
    "seed", [*SHORT, *(pytest.param(each, marks=pytest.mark.full) for each in LONG)]
)
def test_what_is_shown_and_told_is_true_after_each_step(seed: int) -> None:
    tell(history(seed, length=40))


LANDED = (
    Land(source=EVENTS, rows=tuple((float(hour), hour + 1) for hour in range(6)), hours=26),
    Land(source=OTHERS, rows=((0.0, 1), (4.0, 2))),
)
PLAN, RUN = (Act(what=each, environment="prod") for each in ("plan", "run"))


@pytest.mark.parametrize(
    "parents, steps",
    [
        pytest.param(
            (), [Correct(source=EVENTS, at=2, amount=7), RUN], id="it reads a source by time"
        ),
        pytest.param(
            ("copy",),
            [
                Edit(model=0, how="column", chance=1),
                PLAN,
                Land(source=EVENTS, rows=(), hours=20),
                RUN,
            ],
            id="it is kept downstream of an edit",
        ),
    ],
)
def test_what_builds_on_itself_has_the_rows_of_its_sources(
    parents: tuple[str, ...], steps: list[Step]
) -> None:
    """Each ended with other rows once."""
    copies = [Made(name=each, form=Form.COPY, parents=(EVENTS,)) for each in parents]
    read = tuple(f"gen.{each}" for each in parents) or (EVENTS,)
    by_key = Made(name="by_key", form=Form.BY_KEY, parents=read, daily=True)
    tell(History(models=(*copies, by_key), steps=(*LANDED, PLAN, *steps)))


def test_what_is_stale_waits_for_what_it_reads() -> None:
    """A plan promised to compute hours that read a day which is not over, and was refused."""
    read = Made(name="read", form=Form.LOOKUP, parents=(OTHERS, EVENTS))
    reader = Made(name="reader", form=Form.BY_PARTITION, parents=("gen.read",))
    refused = Made(name="refused", form=Form.HISTORY, parents=(OTHERS,), most=97)
    many = Land(source=OTHERS, rows=((5.0, 99),))
    late = Land(source=OTHERS, rows=((3.0, 73), (11.0, 75)))
    skip, plan = (Act(what=each, environment="dev") for each in ("skip", "plan"))
    daily = Edit(model=0, how="cadence", chance=540427)
    steps = (*LANDED, many, PLAN, skip, daily, late, plan)
    tell(History(models=(read, reader, refused), steps=steps), is_thorough=True)


def test_a_signal_that_is_gone_for_a_while_fills_what_it_held_back() -> None:
    """The day that it holds back was looked for up to the hour: right rows were called wrong."""
    sums = Made(name="sums", form=Form.SUMS, parents=(OTHERS,), daily=True, lookback=1, waits=True)
    rollback = Act(what="rollback", environment="prod")
    to_form = Edit(model=0, how="form", chance=21280)  # without the signal, and the same version
    late = Land(source=EVENTS, rows=(), hours=30)
    tell(History(models=(sums,), steps=(*LANDED, late, PLAN, to_form, PLAN, rollback)))
