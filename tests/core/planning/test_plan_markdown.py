"""A plan as Markdown: one table of what changes, and every word as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.memory_world import PROJECT, MemoryWorld, build, graph_of, plan
from vde_dagster.app.apply.running import plan_run
from vde_dagster.core.planning import plan_markdown as module
from vde_dagster.core.planning.plan_markdown import plan_markdown, run_markdown

NEW = """\
## Plan for prod (new) at 2024-01-03

- 4 new; 1 source.
- To compute: 52 intervals in 4 models.

| model | change | version | work |
| --- | --- | --- | --- |
| `staging.events` | new | VERSION | 48 hours, 2024-01-01 to 2024-01-03 |
| `mart.daily` | new | VERSION | 2 days, 2024-01-01 to 2024-01-03 |
| `mart.people` | new | VERSION | create the view |
| `mart.totals` | new | VERSION | the whole table |
"""


def landed() -> MemoryWorld:
    return MemoryWorld.landed((5.5, 10), (30.5, 1), until=48)


def test_a_new_project_is_a_table_of_its_models() -> None:
    found = plan(landed().services(), graph_of(PROJECT))
    text = plan_markdown(found)
    for change in found.changes:
        text = text.replace((change.version or "?")[:8], "VERSION")
    assert text == NEW


def test_an_edit_says_why_and_what_follows() -> None:
    services = landed().services()
    build(services, graph_of(PROJECT))
    edited = PROJECT["daily"].replace("SUM(amount)", "SUM(amount) * 2")
    text = plan_markdown(plan(services, graph_of({**PROJECT, "daily": edited})))
    assert "| `mart.daily` | changed, breaking |" in text
    assert "| `mart.totals` | changed upstream, indirect breaking |" in text
    assert "`staging.events`" not in text  # unchanged models are only counted
    assert "\n### Why\n\n- `mart.daily`: changes column `amount`" in text


def test_nothing_to_do_is_said_as_such() -> None:
    services = landed().services()
    build(services, graph_of(PROJECT))
    assert plan_markdown(plan(services, graph_of(PROJECT))) == (
        "## Plan for prod at 2024-01-03\n\n- Nothing to do: prod is up to date.\n"
    )
    assert run_markdown(plan_run(services, "prod")) == (
        "## Run of prod at 2024-01-03\n\n- prod is up to date.\n"
    )


def test_a_run_names_what_is_due_and_what_is_late() -> None:
    world = landed()
    world.build(graph_of(PROJECT))
    world.land((7.5, 5), (50.5, 3), until=72)
    text = run_markdown(world.plan_run())
    assert "| `mart.daily` | unchanged |" in text
    assert "1 day, 2024-01-03 to 2024-01-04" in text
    assert "\n### Late or changed upstream\n\n- `staging.events`: " in text


def test_long_lists_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 1)
    text = plan_markdown(plan(landed().services(), graph_of(PROJECT)))
    assert text.endswith("| and 3 more | | | |\n")


@pytest.mark.parametrize(
    "said,shown",
    [
        ("reads *", r"reads \*"),
        ("`a_b | c` and a_b | c", r"`a_b \| c` and a\_b \| c"),
        ("one ` alone_", r"one \` alone\_"),
        ("two\n lines -> <b>", r"two lines -> \<b>"),
    ],
)
def test_text_is_shown_as_it_is(said: str, shown: str) -> None:
    found = plan(landed().services(), graph_of(PROJECT))
    odd = [replace(each, reasons=()) for each in found.changes]
    assert plan_markdown(replace(found, changes=tuple(odd)))
    assert module.escaped(said) == shown


def test_nothing_is_called_up_to_date_that_waits() -> None:
    world = landed()
    world.build(graph_of(PROJECT))
    waits = ["Waits: staging.events: the environment prod fills this version, with `vde run prod`"]
    for text, first in (
        (plan_markdown(world.plan(graph_of(PROJECT)), waits), "Nothing to do in this plan: "),
        (run_markdown(world.plan_run(), waits), "prod has nothing to compute."),
    ):
        assert f"\n- {first}" in text
        assert f"\n- {waits[0]}\n" in text
        assert "up to date" not in text
