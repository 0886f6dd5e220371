"""Scenes: steps that follow from each other, as people and schedules do them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tests.simulator.single import ENVIRONMENTS, Drawing
from tests.simulator.steps import Edit, Heed, Jump, Meddle, Signal, Step, Tick

_TRIED: Final = ("dev", "dev", "qa")
"""Where edits are tried."""
_HARMLESS: Final = ("column", "same", "rename")
"""Edits below which production's tables may be shown on."""


def scene(drawing: Drawing) -> Iterator[Step]:
    """The steps of one of the scenes."""
    return drawing.chance.choice(_SCENES)(drawing)


def _tried_and_promoted(d: Drawing) -> Iterator[Step]:
    where = d.chance.choice(_TRIED)
    yield d.edit()
    yield d.act(d.chance.choice(("plan", "plan", "plan", "forward", "skip", "select")), where)
    if d.chance.random() < 0.5:
        yield d.chance.choice((d.late, d.fix, d.hush))()
    if d.chance.random() < 0.5:
        yield d.act("run", d.chance.choice(("prod", where)))
    yield d.act("promote", where, "prod")
    if d.chance.random() < 0.5:
        yield d.chance.choice((d.late, d.fix))()
        yield d.act("run", d.chance.choice(("prod", where)))
    if d.chance.random() < 0.5:
        yield d.act("rollback", "prod")
        yield d.act("run", "prod")


def _edited_in_production(d: Drawing) -> Iterator[Step]:
    yield d.edit()
    yield d.act(d.chance.choice(("plan", "plan", "forward")), "prod")
    if d.chance.random() < 0.4:
        yield d.act("rollback", "prod")


def _late_rows_below_an_edit(d: Drawing) -> Iterator[Step]:
    where = d.chance.choice(("prod", *_TRIED))
    edits = [lambda: d.edit(*_HARMLESS)] * d.chance.choice((1, 1, 3))
    steps: list[Callable[[], Step]] = [d.late, *edits]
    if d.chance.random() < 0.3:
        steps.append(lambda: d.landing(1))
    d.chance.shuffle(steps)
    if d.chance.random() < 0.3:  # one model gets a column, and other times
        column = d.edit("column")
        yield from (column, replace(d.edit("times"), model=column.model))
    yield from (each() for each in steps)
    yield d.act(d.chance.choice(("plan", "decide")), where)
    if d.chance.random() < 0.5:
        yield d.act("promote", where, "prod") if where != "prod" else d.act("plan", "dev")
    yield d.act("run", d.chance.choice(ENVIRONMENTS))


def _late_rows(d: Drawing) -> Iterator[Step]:
    for _ in range(d.chance.randint(1, 3)):
        yield d.chance.choice((d.late, d.fix))()
    where = d.chance.choice(ENVIRONMENTS)
    yield Tick(environment=where) if d.chance.random() < 0.3 else d.act("run", where)


def _gone_rows(d: Drawing) -> Iterator[Step]:
    where = d.chance.choice(ENVIRONMENTS)
    yield d.hush()
    if d.chance.random() < 0.3:
        yield d.late()
    if d.chance.random() < 0.2:
        yield Tick(environment=where)
    else:
        yield d.act(d.chance.choice(("run", "run", "plan", "restate", "evaluate")), where)
    if d.chance.random() < 0.4:
        yield d.late()
        yield d.act("run", where)
    yield Heed(environment=where)


def _hour_by_hour(d: Drawing) -> Iterator[Step]:
    where = d.chance.choice(ENVIRONMENTS)
    for _ in range(d.chance.randint(2, 4)):
        yield d.landing(1)
        yield Tick(environment=where) if d.chance.random() < 0.15 else d.act("run", where)


def _finished_elsewhere(d: Drawing) -> Iterator[Step]:
    """What somebody began and did not finish, or recorded as empty, is planned by another one."""
    first, second = d.chance.sample(ENVIRONMENTS, 2)
    yield d.edit()
    begun = d.act(d.chance.choice(("plan", "plan", "empty", "skip")), first)
    strikes = d.chance.choice(("stage", "record_staged", "publish", "finalize"))
    if begun.what == "plan":
        begun = replace(begun, cut_at=d.chance.choice((1, 2)), fault="dies", strikes=strikes)
    yield begun
    yield d.act("plan", second)
    yield d.act("run", d.chance.choice((first, second)))


def _repaired(d: Drawing) -> Iterator[Step]:
    where = d.chance.choice(("prod", "dev"))
    yield d.meddle(where)
    if d.chance.random() < 0.5:
        yield d.late()
    if d.chance.random() < 0.6:
        yield d.act(d.chance.choice(("run", "run", "plan", "promote", "rollback")), where)
    yield Heed(environment=where)


def _cleaned_up(d: Drawing) -> Iterator[Step]:
    """What nobody shows any more is dropped in time, and not what somebody shows again."""
    where = d.chance.choice(_TRIED)
    yield d.edit("breaking")
    yield d.act("plan", where)
    yield d.chance.choice((d.act("remove", where), d.edit("breaking")))
    yield d.act("plan", where)
    yield Jump(minutes=d.chance.choice((1, 20, 60)))
    yield d.act("clean up")
    yield Jump(minutes=d.chance.choice((1, 2, 25)))
    back = Edit(model=0, how="back", chance=0)
    if d.chance.random() < 0.5:
        yield back
        yield d.at_once(d.act("clean up"), d.act("plan", where))
    elif d.chance.random() < 0.5:
        yield back
        yield d.act("plan", where)
        yield Jump(minutes=25)
    yield d.act("clean up")


def _half_promoted(d: Drawing) -> Iterator[Step]:
    """A promotion stays begun, and somebody comes by; a name may be taken by another program."""
    where = d.chance.choice(ENVIRONMENTS)
    yield d.edit()
    begun = d.act(d.chance.choice(("plan", "plan", "promote", "rollback")), where, where)
    strikes = d.chance.choice(("begin_promotion", "swap_views", "finish_promotion"))
    is_done = strikes == "begin_promotion" or d.chance.random() < 0.5
    fault = d.chance.choice(("dies", "has no space"))
    yield replace(begun, cut_at=1, after=is_done, fault=fault, strikes=strikes, leaves=True)
    for _ in range(d.chance.randint(0, 2)):
        what = d.chance.choice(("plan", "run", "give up", "promote", "rollback", "clean up"))
        yield d.chance.choice((d.edit, d.late, lambda: d.act(what, where, where)))()  # noqa: B023
    yield d.act("give up", where) if d.chance.random() < 0.5 else Heed(environment=where)


def _taken_name(d: Drawing) -> Iterator[Step]:
    where = d.chance.choice(ENVIRONMENTS)
    yield d.edit("add", "rename")
    yield Meddle(environment=where, model=d.chance.randrange(99), how="take a name")
    yield d.act(d.chance.choice(("plan", "promote")), where, where)
    if d.chance.random() < 0.5:
        yield d.act("give up", where)
    yield Meddle(environment=where, model=0, how="free names")
    yield d.act("plan", where)


def _paused(d: Drawing) -> Iterator[Step]:
    where = d.chance.choice(("prod", "dev"))
    yield d.act("pause", where)
    yield d.late()
    if d.chance.random() < 0.5:
        yield d.edit(*_HARMLESS)
        yield d.act("plan", where)
    yield d.act("run", where)
    if d.chance.random() < 0.5:
        yield d.landing(1)
        yield d.act("run", where)
    yield d.act("resume", where)
    yield d.act("run", where)


def _maintained(d: Drawing) -> Iterator[Step]:
    """Iceberg snapshots and files of tables go while somebody reads them."""
    where = d.chance.choice(("prod", "dev"))
    yield d.chance.choice((d.late, d.fix))()
    upkeep = d.act("maintain")
    if d.chance.random() < 0.3:
        strikes = d.chance.choice(("announce_expiry", "expire_announced", "settle_expiry"))
        yield replace(upkeep, cut_at=1, after=True, fault="dies", strikes=strikes)
        yield d.act("run", where)
    else:
        yield d.at_once(d.act(d.chance.choice(("run", "run", "plan", "restate")), where), upkeep)
    yield d.act("run", where)


def _saved(d: Drawing) -> Iterator[Step]:
    yield d.edit()
    yield d.act("save")
    yield d.chance.choice((d.late, d.edit, d.act))()
    yield d.act("apply saved")


def _audited(d: Drawing) -> Iterator[Step]:
    where = d.chance.choice(ENVIRONMENTS)
    yield d.edit("audit")
    yield d.act("plan", where)
    yield d.late()
    yield d.act("run", where)
    yield d.act("publish", where) if d.chance.random() < 0.5 else Heed(environment=where)


def _held_back(d: Drawing) -> Iterator[Step]:
    yield d.landing(d.chance.choice((1, 24)))
    yield d.act("run")
    yield Signal()
    yield d.act("run")


_SCENES: Final = (
    *(_tried_and_promoted,) * 4,
    *(_late_rows_below_an_edit, _late_rows, _gone_rows, _finished_elsewhere, _cleaned_up) * 2,
    *(
        _half_promoted,
        _taken_name,
        _edited_in_production,
        _hour_by_hour,
        _repaired,
        _paused,
        _saved,
        _audited,
        _held_back,
    ),
)
