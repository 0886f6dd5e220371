"""`vde environments` for people."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.calling import call, facts
from tests.cli.promoted import promote


def test_each_column_has_what_its_name_says(project: Path) -> None:
    promote(project)
    promote(project, "dev")
    done = call("environments", "--project", project)
    assert done.exit_code == 0, done.stderr
    lines = [re.split(r"\s{2,}", each.strip()) for each in done.stdout.splitlines() if each.strip()]
    names, _, *rows = lines
    shown = {row[0]: dict(zip(names, row, strict=True)) for row in rows}
    document = facts("environments", "--project", project)
    listed = {each["name"]: each for each in document["environments"]}
    assert shown.keys() == listed.keys() == {"prod", "dev"}
    for name, each in shown.items():
        assert each["plan"] == listed[name]["plan_id"][:8]
        assert (each["revision"], each["models"]) == ("1", "3")
        assert each["promoted at (UTC)"] == listed[name]["promoted_at"][:19].replace("T", " ")
    assert shown["prod"]["expires (UTC)"] == "never"
    assert shown["dev"]["expires (UTC)"] == listed["dev"]["expires_at"][:16].replace("T", " ")
