"""`vde lineage`: models, columns, and what is said where there is no such thing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.calling import facts as document

SCORES = """from vde_dagster import model


@model("mart.scores", depends_on=["mart.revenue"], columns={"customer": "string"})
def scores(context):
    return context.table("mart.revenue").select("customer")
"""


def facts(project: Path, *arguments: str) -> dict[str, Any]:
    return document("lineage", *arguments, "--project", project)


def edges(found: dict[str, Any]) -> set[tuple[str, str]]:
    return {(each["from"], each["to"]) for each in found["edges"]}


def test_the_contract_of_a_column(project: Path) -> None:
    (project / "models" / "mart" / "scores.py").write_text(SCORES)
    found = facts(project, "mart.revenue.customer")
    assert list(found) == ["version", "model", "column", "nodes", "edges"]
    assert (found["version"], found["model"], found["column"]) == (1, "mart.revenue", "customer")
    assert edges(found) == {
        ("staging.orders.customer", "mart.revenue.customer"),
        ("mart.revenue.customer", "mart.best_customers.customer"),
        ("mart.revenue.customer", "mart.scores"),
    }
    nodes = {each["id"]: each for each in found["nodes"]}
    assert nodes["staging.orders.customer"] == {
        "id": "staging.orders.customer",
        "model": "staging.orders",
        "column": "customer",
        "kind": "SEED",
        "type": "string",
        "end": "seed",
        "columns_known": True,
    }
    scores = nodes["mart.scores"]
    assert (scores["column"], scores["end"], scores["columns_known"]) == (None, None, False)


def test_trees_for_people(project: Path) -> None:
    (project / "models" / "mart" / "scores.py").write_text(SCORES)
    model = call("lineage", "mart.revenue", "--project", project).stdout
    assert model.splitlines() == [
        "mart.revenue FULL",
        "reads",
        "└── staging.orders SEED",
        "read by",
        "├── mart.best_customers VIEW",
        "└── mart.scores FULL",
    ]
    column = call("lineage", "MART.REVENUE.CUSTOMER", "--project", project).stdout
    assert column.splitlines() == [
        "mart.revenue.customer string",
        "computed from",
        "└── staging.orders.customer string a seed's file",
        "used in",
        "├── mart.best_customers.customer string",
        "└── mart.scores FULL unknown columns: a Python model",
    ]
    every = call("lineage", "--project", project).stdout
    assert "mart.best_customers" in every
    assert "VIEW" in every


@pytest.mark.parametrize("of", ["lake.mart.revenue", "MART.`revenue`", " mart.revenue "])
def test_every_way_to_write_a_name_is_understood(project: Path, of: str) -> None:
    assert facts(project, of)["model"] == "mart.revenue"
    assert facts(project, f"{of.strip()}.customer")["column"] == "customer"


@pytest.mark.parametrize(
    "of, said",
    [
        ("mart.revenu", "this project has no model mart.revenu. Did you mean mart.revenue?"),
        ("revenue", "this project has no model default.revenue. Did you mean mart.revenue?"),
        ("mart.revenue.custmer", "mart.revenue has no column 'custmer'. Did you mean customer?"),
        ("mart.revenue.zzz", "It has ordered_on, customer"),
        ("mart.zzzzzzz.x", "Its models: staging.orders, mart.revenue, mart.best_customers."),
        ("a b; --", "is neither `schema.model` nor `schema.model.column`"),
        ("", "is neither `schema.model` nor `schema.model.column`"),
    ],
)
def test_what_is_not_there_is_refused_with_a_suggestion(project: Path, of: str, said: str) -> None:
    done = call("lineage", of, "--project", project)
    assert (done.exit_code, done.stdout) == (1, "")
    assert said in done.stderr
    assert "unexpected" not in done.stderr


@pytest.mark.full
def test_a_reader_that_stops_reading_is_no_bug(project: Path) -> None:
    code = "from vde_dagster.cli import main; main()"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", code, "lineage", "--project", str(project)],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=600,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
