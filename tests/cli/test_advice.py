"""Every command that a text of ours names can be given as it is written, and helps.

The first part reads all texts of the package, and lets the commands in them be parsed. The second
part brings about what a text is about, on a world in memory, and does what it says. Other files do
so for what they are about: test_status.py, test_repair.py, test_late.py, test_publish.py.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import click
import pytest

from tests.app.memory_world import RAW, bound, hour_of, plan
from tests.cli.calling import call
from tests.cli.changing import serve
from tests.cli.promoted import edit as edit_file
from tests.cli.test_status import Night, advised
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.visitor import applying
from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.services import Services
from vde_dagster.cli.commands import vde
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import Conflict
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.stages import stages_of
from vde_dagster.core.time.intervals import Interval

PACKAGE: Final = Path(__file__).parents[2] / "vde_dagster"

# Commands in texts
STANDS_FOR: Final = {
    "accepts": "--accept a",
    "bounds": "",
    "loses": "",
    "there": "",
    "again": "plan x",
    "at_once": "--concurrency 2",
    "words": "plan x",
    "env_option": "--env x",
    "command": "janitor",
    "number": "1",
    "revision": "1",
    "limit": "1",
}
"""What may stand in place of a value in a text, by the last name in its expression; else ``x``."""


def stand_in(value: ast.expr) -> str:
    """Something of the sort that a value in a text is."""
    while isinstance(value, ast.Call | ast.Starred):
        value = value.func if isinstance(value, ast.Call) else value.value
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return STANDS_FOR.get(name.lstrip("_"), "x")


@dataclass(frozen=True)
class Said:
    """The texts that a module may print, with their lines, and the commands that it puts together.

    Docstrings are for its readers.
    """

    texts: list[tuple[int, str]] = field(default_factory=list)
    commands: list[tuple[int, str]] = field(default_factory=list)


@cache
def said() -> dict[str, Said]:
    """What each module says, by its path in the package; only if it may name a command."""
    files = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
    sources = {name: path.read_text("utf-8") for name, path in files.items()}
    return {
        name: said_in(ast.parse(text))
        for name, text in sources.items()
        if "`vde " in text or "vde(" in text or " --" in text
    }


def said_in(tree: ast.Module) -> Said:
    found, left_out = Said(), set[int]()
    for node in ast.walk(tree):  # what a node consists of comes after it
        match node:
            case ast.Module(body=[ast.Expr(value=first), *_]):
                left_out.add(id(first))
            case ast.ClassDef(body=[ast.Expr(value=first), *_]):
                left_out.add(id(first))
            case ast.FunctionDef(body=[ast.Expr(value=first), *_]):
                left_out.add(id(first))
            case ast.JoinedStr(values=values):
                left_out.update(map(id, values))
                found.texts.append((node.lineno, "".join(map(written, values))))
            case ast.Constant(value=str(text)) if id(node) not in left_out:
                found.texts.append((node.lineno, text))
            case ast.Call(func=ast.Name(id="vde") | ast.Attribute(attr="vde"), args=[_, *_]):
                found.commands.append((node.lineno, " ".join(["vde", *map(word, node.args)])))
    return found


def word(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else stand_in(part)


def written(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        found = stand_in(part.value)
        return f" {found}" if found.startswith("--") else found
    return str(getattr(part, "value", ""))


def commands() -> Iterator[tuple[str, str]]:
    """Each command in a text of the package, with its place."""
    for name, each in said().items():
        yield from ((f"{name}:{line}", command) for line, command in each.commands)
        for line, text in each.texts:
            yield from ((f"{name}:{line}", found) for found in COMMAND.findall(text))


COMMAND: Final = re.compile(r"`(vde [a-z][^`]*)`")


def parsed(words: list[str]) -> click.Context:
    """The command that some words call, as click understands it; nothing is run."""
    command: click.Command | None = vde
    context = click.Context(vde)
    while isinstance(command, click.Group):
        name = words.pop(0)
        command = command.get_command(context, name)
        assert command is not None, f"there is no command {name}"
    assert command is not None
    return command.make_context(command.name, words)


def why_wrong(command: str) -> str:
    """Why a command cannot be passed as it is written; empty if it can.

    A text may name a command without its arguments, as in "`vde repair` mends it".
    """
    words = shlex.split(command)[1:]
    short = len(words) <= 2
    try:
        parsed(words)
    except click.exceptions.MissingParameter as error:
        return "" if short else error.format_message()
    except click.ClickException as error:
        return error.format_message()
    return ""


def test_a_command_in_a_text_is_one_that_there_is() -> None:
    found = sorted(set(commands()))
    names = {shlex.split(command)[1] for _, command in found}
    assert len(found) > 60
    assert {"plan", "run", "repair", "catch-up", "publish", "janitor", "unlock", "ci"} <= names
    wrong = [(*each, why) for each in found if (why := why_wrong(each[1]))]
    assert wrong == []


OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OTHERS: Final = ("lakehouse/", "orchestration/_unpublished.py", "project/revisions.py")
"""Modules whose texts have options of other programs: Spark's, git's."""


def options() -> set[str]:
    """The options of all commands."""
    found: set[str] = {"--help", "--version"}
    waiting: list[click.Command] = [vde]
    while waiting:
        command = waiting.pop()
        context = click.Context(command)
        found |= {opt for each in command.params for opt in (*each.opts, *each.secondary_opts)}
        if isinstance(command, click.Group):
            inner = (command.get_command(context, name) for name in command.list_commands(context))
            waiting += [each for each in inner if each is not None]
    return found


def test_an_option_in_a_text_is_one_that_there_is() -> None:
    known = options()
    unknown = {
        (name, option)
        for name, each in said().items()
        if not name.startswith(OTHERS)
        for _, text in each.texts
        if " " in text
        for option in OPTION.findall(text)
        if option not in known
    }
    assert unknown == set()


# What is advised, carried out
LARGE: Final = """
MODEL (name m.large, kind FULL, cron '@hourly');
SELECT id AS id, amount AS amount FROM raw.events WHERE amount > 15
"""
HOURS: Final = """
MODEL (name m.hours, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
AFTER: Final = """
MODEL (name m.after, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM m.hours
WHERE at BETWEEN @start_dt AND @end_dt
"""
LATE: Final = """
MODEL (name m.late, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
late_data (mode stateless, sources (raw.events), on_source_rewrite stop));
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
APPLIED: Final = ("plan", "promote", "rollback")
"""Commands that only show what they would do, unless somebody agrees."""


Opened = Callable[..., Night]
"""Takes the models' texts by the names of their files."""


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Builds a project in production, on a world in memory that commands work with, too."""

    def build(**texts: str) -> Night:
        night = Night(tmp_path / "night", texts)
        serve(night.world, monkeypatch)
        return night

    return build


def given(night: Night, *words: str) -> str:
    """What a command says that does what it should."""
    acts = ("--auto-apply",) if words[0] in APPLIED else ()
    there = () if "--project" in words else ("--project", str(night.folder))
    done = call(*words, *acts, *there)
    assert done.exit_code == 0, (words, done.output)
    return done.output


def refused(night: Night, *words: str) -> str:
    """What a command says that is refused."""
    acts = ("--auto-apply",) if words[0] in APPLIED else ()
    done = call(*words, *acts, "--project", night.folder)
    assert done.exit_code == 1, (words, done.output)
    assert "unexpected" not in done.output
    return done.output


def follow(night: Night, text: str, number: int = 0) -> str:
    """Carry out one of the commands that a text names."""
    return given(night, *advised(text)[number])


def edit(night: Night, name: str, before: str, after: str) -> None:
    edit_file(night.folder / "models" / f"{name}.sql", before, after)


def keep(night: Night, *amounts: int) -> None:
    """The source loses all rows but these."""
    night.land(until=10)
    kept = [row for row in night.world.rows("raw.events") if row[2] in amounts]
    night.world.catalog.delete(RAW, kept)


def test_rows_go_by_a_promotion_and_by_a_rollback_if_that_is_said(opened: Opened) -> None:
    night = opened(large=LARGE)
    edit(night, "large", "amount AS amount", "amount + 1 AS amount")
    given(night, "plan", "dev")
    keep(night, 10)
    said = refused(night, "promote", "dev")
    assert len(night.world.rows("m.large")) == 4
    assert "--accept-loss" in said
    given(night, "promote", "dev", "--allow-empty")
    assert night.world.rows("m.large") == []
    assert "--accept-loss" in refused(night, "rollback", "prod")
    given(night, "rollback", "prod", "--allow-empty")
    assert night.world.rows("m.large") == []


@pytest.mark.full
def test_a_shared_version_is_restated_by_the_command_for_its_owner(opened: Opened) -> None:
    night = opened(hours=HOURS)
    given(night, "plan", "dev")
    done = call("plan", "dev", "--restate-model", "m.hours", "--project", night.folder)
    assert "prod owns its version, so it is restated there" in done.stdout
    assert "To compute: 10 intervals in 1 model" in follow(night, done.stdout)


def test_a_session_is_repeated_in_the_environment_that_it_is_about(opened: Opened) -> None:
    night = opened(late=LATE)
    edit(night, "late", "amount AS amount", "amount + 1 AS amount")
    given(night, "plan", "dev")
    night.remove(13)
    done = call("catch-up", "--env", "dev", "--project", night.folder)
    assert "`vde catch-up m.late --env dev --reload`" in done.output
    follow(night, done.output)
    assert [row[2] for row in night.world.rows("m__dev.late")] == [
        *(n for n in range(11, 21) if n != 14)
    ]
    assert 13 in [row[2] for row in night.world.rows("m.late")], "production was not asked for"
    said = call("catch-up", "--project", night.folder).output
    assert "`vde catch-up m.late --reload`" in said
    follow(night, said)
    assert 13 not in [row[2] for row in night.world.rows("m.late")]


KEPT: Final = """
MODEL (name m.kept, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@hourly');
SELECT id AS id, amount AS amount FROM m.after WHERE at BETWEEN @start_dt AND @end_dt
"""
HISTORY: Final = """
MODEL (name m.kept, kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at,
disable_restatement false, forward_only false, batch_size 1), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM m.after WHERE at BETWEEN @start_dt AND @end_dt
"""


def applied_meanwhile(night: Night, act: Callable[[Services, Binding], None]) -> str:
    """Why a plan of the files is refused before its views move, if something happens just then."""
    services = night.world.services()
    made = plan(services, VdeProject.load(night.folder).files.graph)
    *before, last = stages_of(made)
    with applying(services, made) as visitor:
        for stage in before:
            list(visitor.visit(stage))
        act(services, visitor.binding)
        with pytest.raises(Conflict) as told:
            list(visitor.visit(last))
    return str(told.value)


@pytest.mark.parametrize("text", [KEPT, HISTORY], ids=["keys", "history"])
def test_what_was_computed_from_what_changed_before_the_views_moved_is_computed_as_advised(
    opened: Opened, text: str
) -> None:
    """The table that it read had been adopted; it is given back once its parent has other rows."""
    night = opened(hours=HOURS, after=AFTER, kept=text)

    def late(services: Services, binding: Binding) -> None:
        night.land((3.5, 500), until=10)
        evaluate(services, binding, ModelName("m", "hours"), hour(3), force=True)

    edit(night, "hours", "@end_dt", "@end_dt AND amount < 1000")
    edit(night, "kept", "amount AS amount", "amount + 1 AS amount")
    said = applied_meanwhile(night, late)
    assert "m.kept was computed from a table that has changed since. No view was moved" in said
    if text == HISTORY:
        assert "It is not computed again: a history keeps the states" in said
        edit(night, "kept", "cron", "stamp 'again', cron")
    follow(night, said)
    amounts = [row[1 if text == KEPT else 2] for row in night.world.rows("m.kept")]
    assert 501 in amounts
    assert "prod is up to date" in given(night, "status")


def test_the_second_of_two_environments_with_one_new_version_plans_again_as_advised(
    opened: Opened,
) -> None:
    """Rule R9: both plans count on computing it, and the one that is applied first does."""
    night = opened(large=LARGE)
    edit(night, "large", "amount AS amount", "amount + 1 AS amount")
    services = night.world.services()
    made = plan(services, VdeProject.load(night.folder).files.graph, "ben")
    given(night, "plan", "ann")
    with pytest.raises(Conflict, match=r"ann was first to create .* m\.large.*computed") as told:
        apply_plan(services, made, lambda _: None)
    assert "ben" not in given(night, "environments")
    (command,) = advised(str(told.value))
    assert command == ["plan", "ben"]
    done = call(*command, "--auto-apply", "--format", "json", "--project", night.folder)
    assert json.loads(done.stdout)["built"] == []
    assert [row[1] for row in night.world.rows("m__ben.large")] == [17, 18, 19, 20]


@pytest.mark.full
def test_a_plan_that_does_not_hold_any_more_is_made_again_by_the_command_that_is_named(
    opened: Opened, tmp_path: Path
) -> None:
    night, saved = opened(large=LARGE), str(tmp_path / "plan.json")
    edit(night, "large", "amount AS amount", "amount + 1 AS amount")
    given(night, "plan", "dev")
    assert call("promote", "dev", "--save", saved, "--project", night.folder).exit_code == 0
    edit(night, "large", "amount + 1 AS amount", "amount + 2 AS amount")
    given(night, "plan", "prod")
    said = refused(night, "apply", saved)
    assert advised(said) == [["promote", "dev", "prod", "--save", "FILE"]]
    assert call(*advised(said)[0][:-1], saved, "--project", night.folder).exit_code == 0
    given(night, "apply", saved)
    assert [row[1] for row in night.world.rows("m.large")] == [17, 18, 19, 20]


def test_a_table_with_rows_of_others_is_repaired_by_the_command_that_maintenance_prints(
    opened: Opened,
) -> None:
    night = opened(hours=HOURS)
    table = bound(night.world.services()).key(ModelName("m", "hours")).table
    night.world.catalog.append(table, [])
    lines = given(night, "maintain", "--dry-run").splitlines()
    assert "  vde repair m.hours" in lines, "no line of a table breaks it"
    given(night, "repair", "m.hours")
    assert "vde repair" not in given(night, "maintain", "--dry-run")


def hour(number: int) -> Interval:
    return Interval(hour_of(number), hour_of(number + 1))
