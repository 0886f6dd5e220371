"""The docs name every command, option and key, and nothing that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest

from tests.cli.calling import call
from tests.cli.promoted import edit, promote
from vde_dagster.cli.commands import COMMANDS, vde
from vde_dagster.project.configuration import read_configuration

ROOT = Path(__file__).parents[2]
CLI = (ROOT / "docs" / "cli.md").read_text("utf-8")
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text("utf-8")


def sections() -> dict[str, str]:
    parts = re.split(r"^## `vde ([a-z-]+)`.*$", CLI, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def command(name: str) -> click.Command:
    found = vde.get_command(click.Context(vde), name)
    assert found is not None
    return found


def parameters(name: str) -> list[click.Parameter]:
    """Those of a command, and of the commands below it."""
    found = command(name)
    below = found.commands.values() if isinstance(found, click.Group) else ()
    return [*found.params, *(each for inner in below for each in inner.params)]


def test_every_command_has_a_section_and_a_summary_that_is_its_own() -> None:
    assert list(sections()) == list(COMMANDS)
    for name, listed in COMMANDS.items():
        assert command(name).get_short_help_str(limit=200) == listed.summary


def test_every_option_is_in_its_commands_section() -> None:
    shared = CLI.split("## `vde")[0]
    for name, text in sections().items():
        for parameter in parameters(name):
            for option in parameter.opts:
                if option.startswith("--"):
                    assert f"`{option}" in text + shared, f"vde {name} {option}"


def test_no_option_is_made_up() -> None:
    every = [each for name in COMMANDS for each in parameters(name)]
    known = {option for each in every for option in (*each.opts, *each.secondary_opts)}
    known |= {"--version", "--help"}
    assert set(re.findall(r"`(--[a-z-]+)", CLI)) <= known


def test_no_text_names_a_command_that_does_not_exist() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    code = [*(ROOT / "vde_dagster").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]
    written = re.compile(r"(?:`|run )vde ([a-z][a-z-]*)|\bvde\(\s*[\"']([a-z-]+)[\"']")
    named = {
        (first or second, path.name)
        for path in (*pages, *code)
        for first, second in written.findall(path.read_text("utf-8"))
    }
    assert {"plan", "init", "ui"} <= {name for name, _ in named}
    assert [each for each in sorted(named) if each[0] not in COMMANDS] == []


def test_the_column_of_the_example_is_in_a_new_project(project: Path) -> None:
    (column,) = re.findall(r"With a column, such as `([a-z_.]+)`", sections()["lineage"])
    done = call("lineage", column, "--project", project)
    assert done.exit_code == 0, done.stderr
    assert "staging.orders.amount" in done.stdout


def test_the_printed_plan_is_what_a_new_project_prints(project: Path) -> None:
    """Versions are of a release: only that there are some is looked at."""
    (shown,) = re.findall(r"```\n(Changed\n.*?)```", sections()["plan"], flags=re.DOTALL)
    best = project / "models" / "mart" / "best_customers.sql"
    edit(best, "AS revenue -- Their sum", "AS revenue, -- Their sum\n  MAX(orders) AS most")
    promote(project)
    edit(project / "models" / "mart" / "revenue.sql", "SUM(amount)", "SUM(amount * 1.2)")
    done = call("plan", "--no-apply", "--project", project)
    assert versionless(shown) in versionless(done.stdout)


def versionless(text: str) -> str:
    return re.sub(r"\b[0-9a-f]{8}\b", "version", text)


def test_what_the_json_of_a_plan_has_is_documented(project: Path) -> None:
    done = call("plan", "--project", project, "--format", "json")
    facts = json.loads(done.stdout)
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (`.*) \|$", CLI, flags=re.MULTILINE))
    assert set(facts) - {"version"} <= set(re.findall(r"`([a-z_]+)`", rows["plan"]))
    reported = CLI.split("A change has")[1].split("An entry of")[0]
    assert set(facts["changes"][0]) <= set(re.findall(r"`([a-z_]+)`", reported))


def test_what_the_json_of_commands_has_is_in_the_table(project: Path) -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (`.*) \|$", CLI, flags=re.MULTILINE))
    called: dict[str, tuple[str | Path, ...]] = {
        "compare": (project, project),
        "fingerprint": ("--parts",),
        "intervals": (),
        "render": ("mart.revenue",),
    }
    for name, arguments in called.items():
        done = call(name, *arguments, "--project", project, "--format", "json")
        facts = json.loads(done.stdout)
        models = facts.get("models", [])
        fields = {*facts} | {field for each in models for field in each}
        named = set(re.findall(r"`([a-z_]+)`", rows[name]))
        # Of the models, a version is in the table; the first field of all documents is not.
        assert fields - named <= ({"version"} if name in ("compare", "render") else set())


def test_what_the_json_of_runs_and_of_the_status_has_is_in_the_table(project: Path) -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", CLI, flags=re.MULTILINE))
    promote(project)
    found = {
        name: json.loads(call(*arguments, "--project", project, "--format", "json").stdout)
        for name, arguments in {"run": ("run", "--explain"), "status": ("status",)}.items()
    }
    status = {*found["status"]} | {field for each in found["status"]["models"] for field in each}
    assert "due" in status
    assert status - {"version"} <= set(re.findall(r"`([a-z_]+)`", rows["status"]))
    planned = rows["plan"].split("`missing_clock_sources`")[0]
    reported = set(re.findall(r"`([a-z_]+)`", planned + rows["run"]))
    assert set(found["run"]) - {"version"} <= reported


def test_every_key_of_the_configuration_is_documented_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example, secrets = re.findall(r"```yaml\n(.*?)```", CONFIGURATION, flags=re.DOTALL)
    (tmp_path / "vde.yaml").write_text(example)
    configuration = read_configuration(tmp_path)  # an unknown key would be refused
    assert configuration.state_url
    for name in re.findall(r"\$\{(\w+)\}", secrets):
        monkeypatch.setenv(name, f"canary-{name}")
    (tmp_path / "vde.yaml").write_text(f"name: shop\n{secrets}")
    assert "canary" not in repr(read_configuration(tmp_path))
    files = (
        "configuration.py",
        "environment_settings.py",
        "clean_up_settings.py",
        "maintain_settings.py",
    )
    source = "".join((ROOT / "vde_dagster" / "project" / each).read_text() for each in files)
    lists = re.findall(r"reader\.known\(\w+, \((.*?)\)|_KEYS: Final = \((.*?)\)", source, re.DOTALL)
    keys = {key for found in lists for key in re.findall(r'"(\w+)"', "".join(found))}
    assert {"name", "conf", "follow_files", "valid_to"} <= keys
    for key in keys:
        assert re.search(rf"`(\w+\.|environments\.<name>\.)?{key}`", CONFIGURATION), key
