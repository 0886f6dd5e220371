"""What a person reads of a plan, and what a program does; the plans are made by hand here."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from vde_dagster.cli.facts import plan_facts
from vde_dagster.cli.plans.plan_view import print_plan
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnDropped, ColumnWidened
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.row_identity import IdentityChange, Property
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Change, DecidedBy
from vde_dagster.core.planning.changes.reason_values import Reason, ReasonKind
from vde_dagster.core.planning.kept_tables import identity_findings
from vde_dagster.core.planning.plan import (
    Behind,
    ExistingVersion,
    Gap,
    LostTable,
    ModelChange,
    NotRestated,
    Plan,
)
from vde_dagster.core.planning.plan_markdown import plan_markdown
from vde_dagster.core.planning.plan_text import MOST
from vde_dagster.core.planning.stages import ShowFilled, closing_of
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import read_model

NOW = datetime(2024, 1, 5, tzinfo=UTC)
OLD, NEW = "0" * 32, "1" * 32
WHOLE = Interval(EPOCH, END_OF_TIME)
BROKEN, UNAFFECTED = Category.INDIRECT_BREAKING, Category.INDIRECT_NON_BREAKING
ALWAYS = {"start": "1970-01-01T00:00:00+00:00", "end": "9999-01-01T00:00:00+00:00"}


def days(first: int, last: int) -> Interval:
    return Interval(NOW - timedelta(days=first), NOW - timedelta(days=last))


def graph_of(reads: dict[str, str]) -> Graph:
    """Models by name with what each reads, names apart by spaces; all have one column, n."""
    defaults = Defaults(start=NOW - timedelta(days=4)).as_texts()
    models = []
    for name, parents in reads.items():
        tables = parents.split()
        tail = f" FROM {tables[0]} AS t0" if tables else ""
        tail += "".join(f" CROSS JOIN {each} AS t{i}" for i, each in enumerate(tables[1:], 1))
        query = f"SELECT {'t0.n' if tables else '1'} AS n{tail}"
        text = f"MODEL (name {name}, kind FULL);\n{query}"
        models.append(
            read_model(ModelSource(path=Path(f"models/{name}.sql"), text=text, defaults=defaults))
        )
    return build_graph(models)


def reason(given: Reason | str) -> Reason:
    """A reason; a text becomes one whose sentence contains it."""
    return given if isinstance(given, Reason) else Reason(kind=ReasonKind.ROWS, clauses=(given,))


def change(
    name: str, kind: Change, category: Category | None = None, *because: Reason | str
) -> ModelChange:
    kept = kind in (Change.NONE, Change.METADATA) or category is UNAFFECTED
    return ModelChange(
        name=ModelName.parse(name),
        change=kind,
        category=category,
        reasons=tuple(map(reason, because)),
        previous_version=None if kind is Change.ADDED else OLD,
        version=None if kind is Change.REMOVED else OLD if kept else NEW,
        missing=() if kept or kind is Change.REMOVED else (WHOLE,),
        complete_to=NOW,
    )


def plan_of(graph: Graph, changes: Iterable[ModelChange]) -> Plan:
    """A plan with these changes; the other models of the graph are unchanged."""
    given = {each.name: each for each in changes}
    same = {node.name: change(str(node.name), Change.NONE) for node in graph}
    removed = [each for name, each in given.items() if name not in graph]
    return Plan(
        plan_id="p1",
        environment="prod",
        base_revision=3,
        now=NOW,
        graph=graph,
        snapshots={},
        changes=(*(given.get(name, each) for name, each in same.items()), *removed),
        promotes=True,
    )


def printed(plan: Plan, *, width: int = 80, terminal: bool = False, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    console = Console(
        file=file,
        width=width,
        force_terminal=terminal,
        highlight=False,
        color_system="standard" if terminal else "auto",
    )
    print_plan(plan, console)
    file.flush()
    return raw.getvalue().decode(encoding)


ORDERS = {
    "raw.orders": "",
    "staging.orders": "raw.orders",
    "mart.revenue": "staging.orders",
    "mart.customers": "staging.orders",
    "mart.report": "mart.revenue",
}
REVENUE, STAGED = ModelName("mart", "revenue"), ModelName("staging", "orders")
PRICE = Reason(kind=ReasonKind.READ_COLUMN_REMOVED, columns=("price",), read_by=(REVENUE,))
OF_PRICE = Reason(kind=ReasonKind.UPSTREAM_VALUES, columns=("price",), upstream=STAGED)
DESCRIBED = Reason(kind=ReasonKind.METADATA)
UNREAD = Reason(kind=ReasonKind.NOTHING_READ_CHANGED)
FORWARD = Reason(kind=ReasonKind.FORWARD_ONLY_UPSTREAM)
OF_REVENUE = Reason(kind=ReasonKind.UPSTREAM_ROWS, upstream=REVENUE)


def edited() -> list[ModelChange]:
    return [
        change("staging.orders", Change.DIRECT, Category.BREAKING, PRICE),
        change("mart.revenue", Change.INDIRECT, BROKEN, OF_PRICE),
        change("mart.customers", Change.INDIRECT, UNAFFECTED, UNREAD),
        change("mart.report", Change.INDIRECT, BROKEN, OF_REVENUE),
    ]


def test_an_edit_stands_with_its_reasons_above_all_that_it_reaches() -> None:
    text = printed(plan_of(graph_of(ORDERS), edited()))
    assert text.split("\n\n")[1].splitlines() == [
        "Changed",
        "~ staging.orders  changed, breaking",
        "│  removes column `price`, read by mart.revenue",
        "│  00000000 -> 11111111  the whole table",
        "├─ ~ mart.revenue  indirect breaking",
        "│     reads `price` of staging.orders, whose values may change",
        "│     00000000 -> 11111111  the whole table",
        "├─ ~ mart.report  indirect breaking",
        "│     reads mart.revenue, whose rows may change",
        "│     00000000 -> 11111111  the whole table",
        "└─ 1 downstream keeps its version: none of its inputs changed",
    ]
    assert "raw.orders\n" not in text
    assert "1 changed, 3 changed upstream, 1 unchanged; 0 sources." in text
    assert "To compute: 3 intervals in 3 models." in text


def test_a_kept_version_has_the_reason_that_json_has() -> None:
    names = ["a.base", "a.first", "a.second", "a.third", "a.adopted"]
    graph = graph_of({name: "" if name == "a.base" else "a.base" for name in names})
    kept = change("a.third", Change.INDIRECT, UNAFFECTED, UNREAD)
    adopted = replace(kept, name=ModelName("a", "adopted"), decided_by=DecidedBy.DATA)
    changes = [
        change("a.base", Change.DIRECT, Category.FORWARD_ONLY, "edited"),
        replace(
            kept,
            name=ModelName("a", "first"),
            category=Category.FORWARD_ONLY,
            reasons=(OF_PRICE, FORWARD),
        ),
        replace(kept, name=ModelName("a", "second")),
        kept,
        adopted,
    ]
    plan = plan_of(graph, changes)
    facts = json.loads(json.dumps(plan_facts(plan)))["changes"]
    first = next(each for each in facts if each["name"] == "a.first")
    lines = " ".join(printed(plan, width=200).split())
    assert f"1 downstream keeps its version: {first['reasons'][-1]['sentence']}" in lines
    assert "forward-only: it keeps its rows" in lines
    assert "2 downstream keep their versions; of each: none of its inputs changed" in lines
    assert "1 downstream keeps its version: its inputs have equal rows" in lines


def test_a_model_below_two_edits_stands_once_below_the_nearer_one() -> None:
    graph = graph_of({"a.first": "", "a.second": "a.first", "a.third": "a.second a.first"})
    changes = [
        change("a.first", Change.DIRECT, Category.BREAKING, "first"),
        change("a.second", Change.DIRECT, Category.NON_BREAKING, "second"),
        change("a.third", Change.INDIRECT, BROKEN, "third"),
    ]
    text = printed(plan_of(graph, changes))
    assert text.count("a.third") == 1
    assert text.index("a.second") < text.index("└─ ~ a.third")


def test_new_removed_and_metadata_models_have_lists_of_their_own() -> None:
    graph = graph_of({"a.new": "", "a.described": "", "a.late": ""})
    late = replace(change("a.late", Change.NONE), missing=(WHOLE,))
    changes = [
        change("a.new", Change.ADDED, None, "new model"),
        change("a.described", Change.METADATA, Category.METADATA, DESCRIBED),
        change("a.gone", Change.REMOVED, None, "no longer in the project"),
        late,
    ]
    text = printed(plan_of(graph, changes))
    assert [part.splitlines() for part in text.split("\n\n")[1:-1]] == [
        ["New", "+ a.new  11111111  the whole table"],
        ["Removed", "- a.gone  00000000"],
        ["Only metadata", "~ a.described  only metadata changed"],
        ["Unchanged, with intervals to compute", "  a.late  00000000 stays  the whole table"],
    ]
    assert "1 new, 1 removed, 1 metadata, 1 unchanged; 0 sources." in text


@pytest.mark.full
def test_one_change_of_very_many_models_fits_a_few_screens_and_json_has_all() -> None:
    readers = 199
    wide = {f"mart.reader_{number:04}": "core.base" for number in range(readers)}
    graph = graph_of({"core.base": "", **wide})
    changes = [change("core.base", Change.DIRECT, Category.BREAKING, "adds a filter")]
    changes += [change(name, Change.INDIRECT, BROKEN, "reads rows of `core.base`") for name in wide]
    plan = plan_of(graph, changes)
    text = printed(plan)
    assert len(text.splitlines()) < 90
    assert f"└─ ... and {readers - MOST:,} more downstream (--format json lists all)" in text
    assert f"1 changed, {readers:,} changed upstream; 0 sources." in text
    assert len(json.loads(json.dumps(plan_facts(plan)))["changes"]) == readers + 1


@pytest.mark.full
@pytest.mark.parametrize("kind", [Change.ADDED, Change.METADATA, Change.DIRECT, Change.REMOVED])
def test_long_lists_are_cut_and_say_so(kind: Change) -> None:
    names = [f"mart.model_{number:03}" for number in range(300)]
    category = {Change.DIRECT: Category.BREAKING, Change.METADATA: Category.METADATA}.get(kind)
    graph = graph_of({} if kind is Change.REMOVED else dict.fromkeys(names, ""))
    text = printed(plan_of(graph, [change(name, kind, category, "why") for name in names]))
    assert text.count("mart.model_") == MOST
    assert f"... and {300 - MOST} more" in text
    assert "--format json lists all" in text


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    long = "mart." + "very_long_name_" * 6 + "indeed"
    graph = graph_of({"a.base": "", long: "a.base", "a.n": ""})
    reason = "removes column `price`, read by " + ", ".join(f"`mart.m{i}`" for i in range(30))
    changes = [
        change("a.base", Change.DIRECT, Category.BREAKING, reason),
        change(long, Change.INDIRECT, BROKEN, reason),
        change("a.n", Change.ADDED),
    ]
    text = printed(plan_of(graph, changes), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert not any(line != line.rstrip() for line in text.splitlines())
    assert "".join(text.replace("│", " ").split()).count(long) == 1, "nothing is cut off"


def test_colours_are_for_terminals_only() -> None:
    plan = plan_of(graph_of(ORDERS), edited())
    assert "\x1b[" not in printed(plan)
    coloured = printed(plan, terminal=True)
    assert "\x1b[1;33m~ staging.orders" in coloured, "bold yellow"
    assert "removes column" in coloured


def test_a_terminal_without_unicode_gets_a_tree_of_ascii() -> None:
    text = printed(plan_of(graph_of(ORDERS), edited()), encoding="ascii")
    assert "|- ~ mart.revenue  indirect breaking" in text
    assert "`- 1 downstream keeps its version" in text


IS_BEHIND = Behind(intervals=(days(3, 1),), reason="raw.t has changed", lost=(), why_lost="")
IS_LOST = Behind(reason="r", lost=(days(3, 1),), why_lost="it is over")
IN_DEV = ExistingVersion(loaded=(days(3, 1),), owner="dev", shown_by=())
ADDS = ColumnAdded(column="x", type="bigint")
WIDENS = ColumnWidened(column="x", before="int", after="bigint")
DROPS = ColumnDropped(column="x", type="int")
ENDS = IdentityChange(changed=Property.END, before="none", after="2024-01-02")
FOUR = tuple(days(n, n - 1) for n in (9, 7, 5, 3))
TWO_DAYS = "2 days, 2024-01-02 to 2024-01-04"


@pytest.mark.parametrize(
    "fields, text",
    [
        ({"decided_by": DecidedBy.PERSON}, "changed, breaking (decided by a user)"),
        ({"undecidable": True}, "changed, breaking (undecidable)"),
        ({"restated": (days(3, 1),)}, f"again: {TWO_DAYS}"),
        ({"behind": IS_BEHIND}, "behind: raw.t has changed"),
        ({"missing": (), "behind": IS_LOST}, f"as it was: {TWO_DAYS}, because it is over"),
        ({"skipped": (days(2, 1),)}, "left out: 1 day, 2024-01-03 to 2024-01-04"),
        ({"missing": (days(3, 1),)}, f"00000000 -> 11111111  {TWO_DAYS}"),
        ({"missing": FOUR}, "4 intervals in 4 ranges, 2023-12-27 to 2024-01-03"),
        ({"reuse": IN_DEV}, f"reuses {TWO_DAYS} of dev"),
        ({"may_adopt": True}, "at most, because the upstream rows may turn out to be equal"),
        ({"missing": (), "complete_to": None}, "waits: its inputs have no data yet"),
        ({"version": OLD, "schema_changes": (ADDS,)}, "in place: adds x (bigint)"),
        ({"schema_changes": (WIDENS,)}, "in place: widens x from int to bigint"),
        ({"schema_changes": (DROPS,)}, "in place: drops x (int)"),
        ({"identity_changes": (ENDS,)}, "on rows that stay: another `end` (none to 2024-01-02)"),
        ({"version": OLD, "missing": ()}, "00000000 stays"),
        ({"reasons": tuple(reason(f"clause {n}") for n in range(8))}, "... and 3 more reasons"),
    ],
)
def test_what_is_said_of_a_model(fields: dict[str, Any], text: str) -> None:
    settings = Defaults(start=NOW - timedelta(days=30)).as_texts()
    source = ModelSource(
        path=Path("models/a.sql"),
        text="MODEL (name a.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column d));\n"
        "SELECT CURRENT_DATE AS d",
        defaults=settings,
    )
    made = replace(change("a.daily", Change.DIRECT, Category.BREAKING), missing=(days(2, 0),))
    made = replace(made, **fields)
    assert text in printed(plan_of(build_graph([read_model(source)]), [made]), width=120)


def test_what_a_plan_leaves_undone_is_said_with_its_reason() -> None:
    graph = graph_of({"a.one": "", "a.two": ""})
    one, two = ModelName("a", "one"), ModelName("a", "two")
    plan = replace(
        plan_of(graph, [change("a.one", Change.ADDED)]),
        left_out=(two,),
        hidden=frozenset({two}),
        not_restated=(NotRestated(name=two, reason="it appends"),),
        gaps=(Gap(name=one, intervals=(WHOLE,)),),
    )
    text = printed(plan)
    assert "Unchanged, because not selected: a.two." in text
    assert "Without a view in prod, as in prod: 1." in text
    assert "Not computed again: a.two: it appends" in text
    assert "Fewer intervals than shown now will be loaded of a.one." in text
    facts = plan_facts(plan)
    assert (facts["left_out"], facts["hidden"]) == (["a.two"], ["a.two"])
    assert facts["not_restated"] == [{"name": "a.two", "reason": "it appends"}]
    (gap,) = json.loads(json.dumps(facts["gaps"]))
    assert (gap["name"], gap["intervals"]) == ("a.one", [ALWAYS])


@pytest.mark.parametrize("width", [20, 40, 65, 80])
def test_a_command_is_not_broken_however_narrow_the_terminal_is(width: int) -> None:
    name = ModelName("staging", "events_of_all_shops")
    reason = f"prod owns it, so it is restated there: `vde plan prod --restate-model {name}`"
    plan = replace(
        plan_of(graph_of({"a.one": ""}), [change("a.one", Change.ADDED)]),
        not_restated=(NotRestated(name=name, reason=reason),),
    )
    text = printed(plan, width=width)
    assert f"`vde plan prod --restate-model {name}`" in text
    assert " ".join(text.split()).endswith(f"Not computed again: {name}: {reason}")


def test_what_was_found_in_the_catalog_and_the_state_is_said() -> None:
    graph = graph_of({"a.one": "", "a.two": ""})
    one, two = ModelName("a", "one"), ModelName("a", "two")
    plan = replace(
        plan_of(graph, [change("a.one", Change.NONE)]),
        promotes=False,
        dropped_views=(one,),
        unfinished=(two,),
        lost_tables=(LostTable(name=two, table="vde__a.a__two__1"),),
    )
    assert not plan.is_empty
    text = printed(plan)
    assert "Views missing or replaced by another program, to be rebuilt: a.one." in text
    assert (
        "Started by another process: a.two. If that process has ended, its work is finished or "
        "reverted first."
    ) in " ".join(text.split())
    assert "The table of a.two (vde__a.a__two__1) is missing and must be restored." in text
    facts = plan_facts(plan)
    assert (facts["dropped_views"], facts["unfinished"]) == (["a.one"], ["a.two"])
    (lost,) = json.loads(json.dumps(facts["lost_tables"]))
    assert (lost["name"], lost["table"]) == ("a.two", "vde__a.a__two__1")
    assert (lost["damage"], lost["why"]) == ("", "")
    closing = closing_of(plan)
    assert isinstance(closing, ShowFilled)
    assert closing.models == (one,)


def test_the_json_of_a_change_says_what_it_does_to_rows_that_stay() -> None:
    graph = graph_of({"a.one": ""})
    base = change("a.one", Change.DIRECT, Category.FORWARD_ONLY)
    edits = (
        IdentityChange(changed=Property.CRON, before="@daily UTC", after="0 3 * * * UTC"),
        IdentityChange(changed=Property.KIND, before="FULL", after="SEED"),
    )
    plan = plan_of(graph, [replace(base, identity_changes=edits)])
    facts = json.loads(json.dumps(plan_facts(plan)))
    kept, kind = facts["changes"][0]["identity_changes"]
    assert (kept["column"], kept["before"], kept["after"]) == ("", "@daily UTC", "0 3 * * * UTC")
    assert (kind["before"], kind["after"]) == ("FULL", "SEED")
    (refused,) = facts["refused"]
    assert refused == "".join(identity_findings(plan))
    assert "a.one keeps its table, and its kind was FULL and is SEED" in refused
    assert "on rows that stay: another `cron`" in plan_markdown(plan)
