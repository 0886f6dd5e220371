"""`vde fingerprint`: the hashes that identify a model, and the values that are hashed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.cli.calling import call
from tests.cli.promoted import edit
from vde_dagster.core.model.fingerprint import Fingerprint

REVENUE = Path("models", "mart", "revenue.sql")
FOUR = ("data", "parent_data", "metadata", "parent_metadata")


def shown(project: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    done = call("fingerprint", *arguments, "--project", project, "--format", "json")
    assert done.exit_code == 0, done.stderr
    return {each["name"]: each for each in json.loads(done.stdout)["models"]}


def test_the_contract_of_the_json_document(project: Path) -> None:
    (project / "external_models.yaml").write_text("- name: raw.t\n  columns: {a: int}\n")
    done = call("fingerprint", "--project", project, "--format", "json")
    document = json.loads(done.stdout)
    assert list(document) == ["version", "models"]
    assert document["version"] == 1
    assert {each["name"]: each["kind"] for each in document["models"]} == {
        "raw.t": "EXTERNAL",
        "staging.orders": "SEED",
        "mart.revenue": "FULL",
        "mart.best_customers": "VIEW",
    }
    for each in document["models"]:
        assert list(each) == ["name", "kind", "fingerprint", "digest", "version"]
        assert list(each["fingerprint"]) == list(FOUR)
        hashes = [*each["fingerprint"].values(), each["digest"], each["version"]]
        assert all(re.fullmatch("[0-9a-f]{32}", each) for each in hashes)
        identity = Fingerprint(**each["fingerprint"])
        assert each["digest"] == identity.digest
        if each["kind"] != "VIEW":  # whose version is that of the tables that it reads, too
            assert each["version"] == identity.data_version


def test_the_contract_of_the_parts(project: Path) -> None:
    (found,) = shown(project, "mart.revenue", "--parts").values()
    assert list(found)[-2:] == ["parts", "query"]
    parts = found["parts"]
    assert list(parts) == ["data", "metadata"]
    assert all(set(part) == {"name", "value"} for kind in parts.values() for part in kind)
    values = {part["name"]: part["value"] for kind in parts.values() for part in kind}
    assert values["description"] == "Revenue by day and customer"
    assert values["kind"].startswith("FULL")
    query = found["query"]
    assert list(query) == ["sql", "rows", "columns", "order"]
    names = [each["name"] for each in query["columns"]]
    assert names == ["ordered_on", "customer", "orders", "revenue"]
    assert "SUM(orders.amount) AS revenue" in query["sql"]
    assert shown(project, "staging.orders", "--parts")["staging.orders"]["query"] is None


def test_the_parts_show_why_two_fingerprints_differ(project: Path) -> None:
    before = shown(project, "mart.revenue", "--parts")["mart.revenue"]
    edit(project / REVENUE, "SUM(amount)", "MAX(amount)")
    edit(project / REVENUE, "'@daily'", "'@hourly'")
    after = shown(project, "mart.revenue", "--parts")["mart.revenue"]
    for kind, expected in (("data", {"body"}), ("metadata", {"cron", "unit"})):
        old, new = (
            {(part["name"], part["value"]) for part in each["parts"][kind]}
            for each in (before, after)
        )
        assert {name for name, _ in old ^ new} == expected
    assert before["query"]["rows"] == after["query"]["rows"]
    pairs = zip(before["query"]["columns"], after["query"]["columns"], strict=True)
    assert [old["name"] for old, new in pairs if old != new] == ["revenue"]


def test_what_a_person_sees(project: Path) -> None:
    found = shown(project)
    done = call("fingerprint", "--project", project)
    for name, each in found.items():
        (line,) = [line for line in done.stdout.splitlines() if line.split()[:1] == [name]]
        hashes = [each["digest"], each["version"], *each["fingerprint"].values()]
        assert line.split()[1:] == [text[:8] for text in hashes]


def test_long_parts_are_shortened_for_people_only(project: Path) -> None:
    words = " ".join(f"word{number}" for number in range(100))
    edit(project / REVENUE, "Revenue by day and customer", words)
    text = call("fingerprint", "mart.revenue", "--parts", "--project", project).stdout
    assert "word1 " in text
    assert "word99" not in text
    assert f"... and {len(words) - 160} characters more" in " ".join(text.split())
    parts = shown(project, "mart.revenue", "--parts")["mart.revenue"]["parts"]["metadata"]
    assert {"name": "description", "value": words} in parts


def test_hashes_stand_whole_above_their_parts(project: Path) -> None:
    found = shown(project, "mart.revenue")["mart.revenue"]
    text = call("fingerprint", "mart.revenue", "--parts", "--project", project).stdout
    for each in (*found["fingerprint"].values(), found["digest"], found["version"]):
        assert each in text
    assert "column revenue" in text


def test_versions_are_those_of_a_first_plan(project: Path) -> None:
    """Of views over tables and views, too, and of what reads them (rule R1)."""
    models = {
        "mart/over.sql": "MODEL (name mart.over);\nSELECT * FROM mart.best_customers",
        "mart/nested.sql": "MODEL (name mart.nested, kind EMBEDDED);\nSELECT * FROM mart.over",
        "mart/last.sql": "MODEL (name mart.last, kind FULL);\nSELECT * FROM mart.nested",
    }
    for path, text in models.items():
        (project / "models" / path).write_text(text)
    shown_here = {name: each["version"] for name, each in shown(project).items()}
    done = call("plan", "dev", "--no-apply", "--project", project, "--format", "json")
    assert done.exit_code == 0, done.stderr
    planned = {each["name"]: each["version"] for each in json.loads(done.stdout)["changes"]}
    assert {"mart.best_customers", "mart.over", "mart.last"} <= set(planned)
    assert {name: shown_here[name] for name in planned} == planned
    (again,) = shown(project, "mart.over").values()
    assert again["version"] == planned["mart.over"]
    for output in ((), ("--parts",)):
        text = call("fingerprint", "mart.over", *output, "--project", project).stdout
        assert planned["mart.over"][:8] in text
