"""`./run demo --example customer_lifecycle`: late events, up to the state of each account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from demo_sources import module_of

from vde_dagster.cli.printing import note, print_all, print_json
from vde_dagster.cli.projects.examples import copied_example
from vde_dagster.cli.spelling import vde

if TYPE_CHECKING:
    from vde_dagster.app.binding import Binding
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.names import ModelName

EXAMPLE: Final = "customer_lifecycle"
_ENVIRONMENT: Final = "prod"
_STATES: Final = """
SELECT DATE_FORMAT(hour, 'HH') AS hour, state, COUNT(*) AS accounts
FROM lifecycle.account_state GROUP BY hour, state ORDER BY hour, state
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One delivery of events, and what is to be seen."""

    delivery: str
    text: str


CHAPTERS: Final = (
    Chapter(delivery="first", text="The events of the hours 0 to 5 have landed."),
    Chapter(
        delivery="late",
        text="Hour 6 lands, with signups and plans of the hours 2 and 3 that were held up. Cancels "
        "reach hour 7, so that hour 7 of the account states is pending.",
    ),
    Chapter(
        delivery="rest",
        text="Signups and plans of hour 7 land: what was pending is loaded, without a new cancel.",
    ),
    Chapter(
        delivery="converging",
        text="A plan of hour 3 comes late, and hour 8. From hour 4 on the states come out as they "
        "were, so that the repair stops there and goes on with hour 8.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a session of one model wrote in a chapter: its intervals as texts, and rows."""

    model: str
    intervals: tuple[str, ...]
    rows: int


def tell(folder: Path, output: str) -> None:
    """Copy the example, land its deliveries one after the other, and load each."""
    from vde_dagster.composition import VdeProject

    for kept in copied_example(EXAMPLE, folder).kept:
        note(f"Kept your edit of {folder / kept}.")
    project = VdeProject.load(folder)
    landing = module_of(folder / "landing.py")
    told: list[tuple[Chapter, Sequence[Told]]] = []
    for chapter in CHAPTERS:
        landing.land(project.iceberg_catalog(), chapter.delivery)
        done = _loaded(project)
        told.append((chapter, done))
        if output == "text":
            click.echo(f"{chapter.text}\n")
            click.echo("\n".join(map(_line, done)) or "  nothing to load")
            click.echo()
    if output == "json":
        chapters = [{"delivery": each.delivery, "sessions": done} for each, done in told]
        print_json({"project": str(folder), "environment": _ENVIRONMENT, "chapters": chapters})
    else:
        _print_end(project, folder)


def _loaded(project: VdeProject) -> Sequence[Told]:
    """Plan where nothing is shown yet, else run the sessions that have something to load."""
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.app.catch_up.detecting import late_models
    from vde_dagster.cli.plans.plan import apply, make_plan

    binding = bind_environment(project.services, _ENVIRONMENT)
    if binding is None:
        apply(project, make_plan(project, _ENVIRONMENT))
        binding = bind_environment(project.services, _ENVIRONMENT)
        assert binding is not None, "it was just promoted"
        return [_last_session(project, binding, name) for name in late_models(binding)]
    told = [(name, _session(project, binding, name)) for name in late_models(binding)]
    return [_last_session(project, binding, name) for name, done in told if done is not None]


def _session(project: VdeProject, binding: Binding, name: ModelName) -> Evaluated | None:
    from vde_dagster.core.ledger.late.decision import NothingToLoad
    from vde_dagster.orchestration.jobs.runs import run_catch_up

    done = run_catch_up(project, binding, name, reload=False)
    return None if isinstance(done, NothingToLoad) else done


def _last_session(project: VdeProject, binding: Binding, name: ModelName) -> Told:
    from vde_dagster.app.inspect.late_report import past_sessions
    from vde_dagster.core.time.intervals import merge

    (last,) = past_sessions(project.services, binding, name, limit=1)
    changes = last.publication.changes if last.publication is not None else ()
    return Told(
        model=str(name),
        intervals=tuple(map(str, merge(each.interval for each in changes))),
        rows=sum(each.rows.rows for each in changes),
    )


def _line(told: Told) -> str:
    return f"  {told.model}: {told.rows} rows in {', '.join(told.intervals)}"


def _print_end(project: VdeProject, folder: Path) -> None:
    from vde_dagster.cli.looks.query import as_table, ask

    answer = ask(project, _STATES, environment=_ENVIRONMENT, limit=100)
    print_all([as_table(answer, title="The accounts at the end of each hour")])
    click.echo(f"What is pending:  {vde('late', 'status', '--project', folder)}")
    click.echo(f"Past sessions:    {vde('late', 'sessions', 'lifecycle.account_state')}")
    click.echo(f"See it in Dagster: {vde('ui', '--project', folder)}")
