"""The recipe for a new kind in CONTRIBUTING.md, applied to a copy of the package.

The toy kind is FULL under another keyword. Nothing but the files of the recipe is changed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "vde_dagster"
KINDS: Final = "vde_dagster/core/model/kinds"
PATTERN: Final = f"{KINDS}/full.py"
KIND: Final = f"{KINDS}/rebuilt.py"
UNION: Final = f"{KINDS}/__init__.py"
COLUMNS: Final = "vde_dagster/core/model/named_columns.py"
ROWS: Final = "vde_dagster/core/model/row_identity.py"

Edit = Callable[[str], str]


def renamed(text: str) -> str:
    """What is about FULL, about the toy kind."""
    for old, new in (("full", "rebuilt"), ("Full", "Rebuilt"), ('"FULL"', '"REBUILT"')):
        text = text.replace(old, new)
    return text


def adding(*edits: tuple[str, str]) -> Edit:
    """An edit that inserts a text after each of some other texts."""

    def edit(text: str) -> str:
        for place, added in edits:
            assert text.count(place) == 1, f"{place!r} is there {text.count(place)} times"
            text = text.replace(place, place + added)
        return text

    return edit


IMPORTED: Final = ("    Full,\n", "    Rebuilt,\n")
IMPORT: Final = "from vde_dagster.core.model.kinds.full import Full\n"
EDITS: Final[Mapping[str, Edit]] = {
    UNION: adding(
        (IMPORT, renamed(IMPORT)),
        ('    "Full",\n', '    "Rebuilt",\n'),
        ("    | Full\n", "    | Rebuilt\n"),
    ),
    COLUMNS: adding(IMPORTED, (" Full()", " | Rebuilt()")),
    ROWS: adding(IMPORTED, (" Full()", " | Rebuilt()")),
}

BELOW: Final = "MODEL (name m.below, kind VIEW); SELECT id, name FROM m.toy"
LOOK: Final = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path

from vde_dagster.app.inspect.compare import compare
from vde_dagster.app.inspect.rendering import bind_models, render
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

before, after = map(Path, sys.argv[1:])
project, name = VdeProject.load(after), ModelName("m", "toy")
graph = project.files.graph
plan = plan_environment(project.services, graph, "prod")
(change,) = (each for each in plan.changes if each.name == name)
binding = bind_models(project, None)
day = Interval(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC))
rendered = render(binding, binding.node(name), day, day.end)
compared = compare(str(before), None, project=after).models
(edited,) = (each for each in compared if each.difference.name == name)
again = VdeProject.load(after).files.graph  # as it was kept
print(json.dumps({
    "package": sys.modules["vde_dagster"].__file__,
    "kind": graph[name].model.kind.keyword,
    "again": again[name].model.kind == graph[name].model.kind,
    "missing": [[each.start.isoformat(), each.end.isoformat()] for each in change.missing],
    "fingerprint": graph[name].fingerprint.digest,
    "before": edited.before.fingerprint.digest,
    "category": edited.difference.category.value,
    "sql": rendered.query.text,
}))
"""


def copied(root: Path, *, without: str = "") -> Path:
    """The package with the recipe applied, without its step in one file."""
    shutil.copytree(PACKAGE, root / "vde_dagster")
    (root / KIND).write_text(renamed((root / PATTERN).read_text("utf-8")), "utf-8")
    for name, edit in EDITS.items():
        if name != without:
            (root / name).write_text(edit((root / name).read_text("utf-8")), "utf-8")
    return root


def project(folder: Path, kind: str, query: str) -> Path:
    (folder / "models/m").mkdir(parents=True)
    (folder / "vde.yaml").write_text("name: toys\ndefaults:\n  start: 2024-01-01\n")
    (folder / "models/m/toy.sql").write_text(f"MODEL (name m.toy, kind {kind}); {query}")
    (folder / "models/m/below.sql").write_text(BELOW)
    return folder


def looked(tmp_path: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """What the copy says of a project with a model of the toy kind."""
    query = "SELECT 1 AS id, 'a' AS name"
    before = project(tmp_path / "before", "FULL", query)
    after = project(tmp_path / "after", "REBUILT", query.replace("'a'", "'b'"))
    return subprocess.run(
        [sys.executable, "-c", LOOK, before, after],
        cwd=root,  # the first place that modules are sought in
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_recipe_names_the_files_that_a_new_kind_needs_and_no_others() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    recipe = page.partition("## How to add a kind\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^\d\. `([\w/.]+)`", recipe, flags=re.MULTILINE)
    assert steps == [PATTERN, *EDITS]
    assert len(steps) <= 6


def test_a_model_of_a_new_kind_is_read_planned_compared_and_rendered(tmp_path: Path) -> None:
    root = copied(tmp_path / "copy")
    done = looked(tmp_path, root)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["package"]) == root / "vde_dagster/__init__.py"
    assert (found["kind"], found["again"]) == ("REBUILT", True)
    (missing,) = found["missing"]
    assert missing[0] == "2024-01-01T00:00:00+00:00"
    assert found["fingerprint"] != found["before"]
    assert found["category"] == "breaking"
    assert found["sql"] == "SELECT 1 AS id, 'b' AS name"


@pytest.mark.parametrize("forgotten", [COLUMNS, pytest.param(ROWS, marks=pytest.mark.full)])
def test_a_place_that_did_not_decide_is_named_when_it_is_run(
    tmp_path: Path, forgotten: str
) -> None:
    done = looked(tmp_path, copied(tmp_path / "copy", without=forgotten))
    assert "Expected code to be unreachable, but got: Rebuilt()" in done.stderr
    *_, called = re.findall(r'File "[^"]*/copy/([^"]+)", line', done.stderr)
    assert called == forgotten
