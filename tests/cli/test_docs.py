"""Commands in the docs and in help are right, and so is what the docs say of documents and keys."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from tests.cli.calling import call
from tests.cli.promoted import edit, promote
from tests.cli.test_advice import why_wrong
from vde_dagster.cli.commands import COMMANDS, vde
from vde_dagster.composition import spark_conf
from vde_dagster.project.configuration import read_configuration

ROOT = Path(__file__).parents[2]
JSON = (ROOT / "docs" / "reference" / "json.md").read_text("utf-8")
OUTPUT = (ROOT / "docs_site" / "commands.md").read_text("utf-8")
_LAKE = "spark.sql.catalog.lake"
CONFIGURATION = (ROOT / "docs" / "reference" / "configuration.md").read_text("utf-8")


def command(name: str) -> click.Command:
    found = vde.get_command(click.Context(vde), name)
    assert found is not None
    return found


def leaves(found: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    """A command that does something, with its words; of a group those below it."""
    if not isinstance(found, click.Group):
        yield words, found
        return
    for name, below in found.commands.items():
        yield from leaves(below, f"{words} {name}")


def examples() -> dict[str, str]:
    """The example in the help of each command; it is the last paragraph."""
    found: dict[str, str] = {}
    for name in COMMANDS:
        for words, each in leaves(command(name), f"vde {name}"):
            before, _, example = inspect.cleandoc(each.help or "").rpartition("\n\n    ")
            assert before.endswith("\n\nFor example:"), words
            found[words] = example
    return found


def test_every_command_has_an_example_that_can_be_given_as_it_is_written() -> None:
    for words, example in examples().items():
        assert f"{example} ".startswith(f"{words} ")
        assert why_wrong(example.split(" > ")[0]) == ""


def test_the_help_shows_examples_and_wraps_them_at_80_columns_nowhere() -> None:
    for words, example in examples().items():
        done = CliRunner().invoke(vde, [*words.split()[1:], "--help"], terminal_width=80)
        assert f"\n      {example}\n" in done.stdout


FENCED = re.compile(r"^ *```.*?\n(.*?)^ *```", flags=re.MULTILINE | re.DOTALL)
WRITTEN = re.compile(r"^ *(?:- |\$ |\./run )?(?:run: )?(vde .*)$", flags=re.MULTILINE)


def written_commands() -> dict[str, str]:
    """The commands in the docs, with a page that has each; forms with [PARTS] are none."""
    folders = [ROOT / name for name in ("docs", "docs_site", "examples")]
    pages = [ROOT / "README.md", *(page for each in folders for page in each.rglob("*.md"))]
    found: dict[str, str] = {}
    for page in pages:
        text = page.read_text("utf-8")
        commands = [each for block in FENCED.findall(text) for each in WRITTEN.findall(block)]
        rest = FENCED.sub("", text)
        commands += re.findall(r"^ {4}(?:\./run )?(vde .*)$", rest, flags=re.MULTILINE)
        commands += re.findall(r"`(?:\./run )?(vde [^`]+)`", rest)
        found |= {re.split(" # | [|] ", " ".join(each.split()))[0]: page.name for each in commands}
    return {
        each: page for each, page in found.items() if not re.search(r"\[|\.\.\.|\||COMMAND", each)
    }


def test_every_command_in_the_docs_can_be_given_as_it_is_written() -> None:
    found = written_commands()
    assert {'vde ci plan "$REQUEST"', "vde maintain mart.revenue"} <= found.keys()
    groups = {f"vde {each}" for each in COMMANDS if isinstance(command(each), click.Group)}
    wrong = {
        (page, each): why
        for each, page in found.items()
        if each not in {*groups, "vde --version"}
        if (why := why_wrong(each)) and not why.endswith("requires an argument.")
    }
    assert wrong == {}, "a text may end with the name of an option"


def test_the_example_for_github_takes_each_step_of_ci_once() -> None:
    (text,) = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs" / "how-to" / "ci.md").read_text("utf-8"), re.DOTALL
    )
    jobs = yaml.safe_load(text)["jobs"]
    run = {
        job: [each["run"] for each in steps["steps"] if each.get("run", "").startswith("vde ")]
        for job, steps in jobs.items()
    }
    assert {job: [each.split()[2] for each in lines] for job, lines in run.items()} == {
        "plan": ["plan", "comment"],
        "apply": ["apply"],
        "clean": ["clean"],
    }
    assert all(each.split()[1] == "ci" for lines in run.values() for each in lines)
    kept = {
        each["with"]["path"] for job in jobs.values() for each in job["steps"] if "with" in each
    }
    assert kept == {".vde/ci"}, "the folder that `vde ci` writes, unless --files says another one"


def test_the_column_of_the_example_is_in_a_new_project(project: Path) -> None:
    column = examples()["vde lineage"].split()[-1]
    done = call("lineage", column, "--project", project)
    assert done.exit_code == 0, done.stderr
    assert "staging.orders.amount" in done.stdout


def test_the_printed_plan_is_what_a_new_project_prints(project: Path) -> None:
    """Versions are of a release: only that there are some is looked at."""
    (shown,) = re.findall(r"```\n(Changed\n.*?)```", OUTPUT, flags=re.DOTALL)
    best = project / "models" / "mart" / "best_customers.sql"
    edit(best, "AS revenue -- Their sum", "AS revenue, -- Their sum\n  MAX(orders) AS most")
    promote(project)
    edit(project / "models" / "mart" / "revenue.sql", "SUM(amount)", "SUM(amount * 1.2)")
    done = call("plan", "--no-apply", "--project", project)
    assert versionless(shown) in versionless(done.stdout)


def versionless(text: str) -> str:
    return re.sub(r"\b[0-9a-f]{8}\b", "version", text)


def documented(*titles: str) -> set[str]:
    """The fields that sections about JSON name; one of several documents has a row of its own."""
    parts = re.split(r"^#+ (.*)$", JSON, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {field for title in titles for field in re.findall(r"`([a-z_]+)`", sections[title])}


def test_what_the_json_of_a_plan_has_is_documented(project: Path) -> None:
    done = call("plan", "--project", project, "--format", "json")
    facts = json.loads(done.stdout)
    assert set(facts) - {"version"} <= documented("`plan`")
    assert set(facts["changes"][0]) <= documented("Changes")


@pytest.mark.parametrize(
    "title, arguments",
    [
        ("`compare`", ("compare", "{project}", "{project}")),
        ("`fingerprint`", ("fingerprint", "--parts")),
        ("`intervals`", ("intervals",)),
        ("`render`", ("render", "mart.revenue")),
    ],
)
def test_what_the_json_of_commands_has_is_documented(
    project: Path, title: str, arguments: tuple[str, ...]
) -> None:
    words = [each.format(project=project) for each in arguments]
    facts = json.loads(call(*words, "--project", project, "--format", "json").stdout)
    fields = {*facts} | {field for each in facts.get("models", []) for field in each}
    # Of the models, a version is in the table; the first field of all documents is not.
    assert fields - documented(title) <= {"version"}


def test_what_the_json_of_runs_and_of_the_status_has_is_documented(project: Path) -> None:
    promote(project)
    found = {
        name: json.loads(call(*arguments, "--project", project, "--format", "json").stdout)
        for name, arguments in {"run": ("run", "--explain"), "status": ("status",)}.items()
    }
    status = {*found["status"]} | {field for each in found["status"]["models"] for field in each}
    assert "due" in status
    assert status - {"version"} <= documented("`status`")
    assert set(found["run"]) - {"version"} <= documented("`plan`", "`run`")


def test_the_examples_of_the_configuration_are_read_and_show_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example, secrets, rest = re.findall(r"```yaml\n(.*?)```", CONFIGURATION, flags=re.DOTALL)
    (tmp_path / "vde.yaml").write_text(example)
    configuration = read_configuration(tmp_path)  # an unknown key would be refused
    assert configuration.state_url
    for name in re.findall(r"\$\{(\w+)\}", secrets + rest):
        monkeypatch.setenv(name, f"canary-{name}")
    (tmp_path / "vde.yaml").write_text(f"name: shop\n{secrets}")
    assert "canary" not in repr(read_configuration(tmp_path))
    (tmp_path / "vde.yaml").write_text(f"name: shop\n{rest}")
    over_rest = read_configuration(tmp_path)
    assert "canary" not in repr(over_rest)
    told, in_spark = over_rest.catalog.properties, spark_conf(over_rest)
    assert told["type"] == "rest"
    for key in ("type", "uri", "token"):
        assert in_spark[f"{_LAKE}.{key}"] == told[key]
