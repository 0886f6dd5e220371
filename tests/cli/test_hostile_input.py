"""Whatever files, addresses and arguments say: it is done, or refused with a sentence.

Never a traceback, a text that calls it a bug, a wait without an end, or a write by what is refused.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn

import pytest

from tests.cli.calling import NO_JAVA, call, new_project
from tests.cli.hostile_input import FILES, PLAN, SORTS, STATE, Hostile, hostile, signed_plan
from tests.depth import is_full
from tests.state.rich import fill
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import SetupError
from vde_dagster.lakehouse.spark import session
from vde_dagster.state.sql_state import SqlState
from vde_dagster.state.stored_state import StoredState

PATIENCE: Final = 60
"""Seconds; the longest of these commands takes one."""
_CACHES: Final = re.compile(r"\.vde/parsed_models\.sqlite|.*-(wal|shm)|.*__pycache__.*")
_ACCEPTED: Final = "there is no Java here"
_BEGUN: Final = re.compile(f"{_ACCEPTED}|cannot be evaluated for")
"""What is said of a plan that was taken, and whose computing then ended."""
_UNEXPECTED: Final = re.compile(r"vde: unexpected|This is a bug|Traceback")


_SHORT, _FULL = 6, 600
_COUNTS: Final = {"saved plans": (3, 1500)}
"""How many inputs of a sort are tried in the short and in the full form, where it is not as usual:
a plan that is read is computed, and what a signed one says has many places."""
_NO_TESTS: Final = 5
"""The exit code of `vde test` where there are none."""


class Endless(BaseException):
    """A command did not end."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with each sort of file, a state, a saved plan and an export of the state."""
    folder = tmp_path_factory.mktemp("hostile") / "shop"
    assert call("init", folder).exit_code == 0
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    assert VdeProject.load(folder).state.identity()  # makes the state
    done = call("plan", "dev", "--save", folder / PLAN, "--project", folder)
    assert done.exit_code == 0, done.output
    url = f"sqlite:///{tmp_path_factory.mktemp('state') / 'state.db'}"
    state = SqlState.open(url)
    fill(state)
    state.close()
    StoredState(url).export(folder / STATE)
    return folder


@pytest.fixture
def _no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_to_start(*_: object, **__: object) -> NoReturn:
        raise SetupError(_ACCEPTED)

    for name, value in NO_JAVA.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(session, "open_session", nothing_to_start)


@contextmanager
def _ending(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> NoReturn:
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def contents(folder: Path) -> Mapping[str, object]:
    """All that a command may not change: files, folders and links, and what is in them."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if _CACHES.fullmatch(name) or path.is_dir():
            continue
        is_file = path.is_file() and not path.is_symlink()
        found[name] = _content(path) if is_file else path.is_symlink() and path.readlink()
    return {name: content for name, content in found.items() if content != ()}


def _content(path: Path) -> object:
    """Bytes; of a whole database its rows: a database without tables is like none."""
    if path.suffix == ".db":
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
            rows = tuple(connection.iterdump())
            return () if rows == ("BEGIN TRANSACTION;", "COMMIT;") else rows
    return path.read_bytes()


def fault(given: Hostile, folder: Path) -> str:
    """What is wrong with how a command takes its input; empty if nothing is."""
    before = contents(folder)
    try:
        with _ending(PATIENCE):
            done = call(*given.arguments, "--project", folder)
    except Endless:
        return "it does not end"
    if done.exit_code not in (0, 1, 2, _NO_TESTS) or not isinstance(
        done.exception, SystemExit | None
    ):
        return f"exit code {done.exit_code}: {done.exception!r}"
    if _UNEXPECTED.search(done.stderr):
        return done.stderr
    if done.exit_code == 0 or _BEGUN.search(done.stderr):
        return ""
    if not (done.stderr.strip() or done.stdout.strip()):
        return "nothing is said"
    after = contents(folder)
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return f"it was refused ({done.stderr:.300}), and {sorted(changed)} changed" if changed else ""


def tried(seed: int, original: Path, scratch: Path, only: str = "") -> str:
    """What is wrong with how the input of a seed is taken, with the input; empty if nothing is."""
    folder = scratch / "shop"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    given = hostile(seed, folder, only)
    wrong = fault(given, folder)
    command = " ".join(given.arguments)
    return wrong and f"seed {seed}: vde {command!r}\n{given.file}: {given.what}\n{wrong}"


@pytest.mark.usefixtures("_no_java")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sort", SORTS)
def test_it_is_done_or_refused(sort: str, original: Path, tmp_path: Path) -> None:
    count = _COUNTS.get(sort, (_SHORT, _FULL))[is_full()]
    found = [wrong for seed in range(count) if (wrong := tried(seed, original, tmp_path, sort))]
    print(f"{sort}: {count} inputs, {len(found)} faults")
    assert not found, "\n\n".join(found)


@pytest.mark.usefixtures("_no_java")
@pytest.mark.parametrize("command", ["apply", "state import", "state export"])
@pytest.mark.parametrize("name", ["pipe", "x" * 300])
def test_what_was_found_is_refused_in_a_sentence(
    original: Path, tmp_path: Path, command: str, name: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    given = Hostile(what=name, arguments=[*command.split(), str(tmp_path / name)])
    assert fault(given, original) == ""


@pytest.mark.parametrize(
    "key, value",
    [
        ("path", ""),
        ("text", "{"),
        ("defaults", {}),
        ("defaults", {"start": "x"}),
        ("attachments", {"signals/ready.py": "def ("}),
    ],
)
def test_a_signed_plan_whose_models_cannot_be_read_is_refused(
    original: Path, tmp_path: Path, key: str, value: object
) -> None:
    plan = json.loads((original / PLAN).read_bytes())
    for snapshot in plan["plan"]["snapshots"].values():
        before = snapshot["source"][key]
        snapshot["source"][key] = before | value if isinstance(value, dict) and value else value
    (tmp_path / PLAN).write_text(json.dumps(plan))
    assert signed_plan(tmp_path / PLAN)
    given = Hostile(what=key, arguments=["apply", str(tmp_path / PLAN)])
    assert fault(given, original) == ""
    done = call(*given.arguments, "--project", original)
    assert (done.exit_code, "cannot be read here" in done.stderr) == (1, True)


def test_a_long_name_is_formatted(original: Path, tmp_path: Path) -> None:
    project = shutil.copytree(original, tmp_path / "shop")
    (project / f"models/mart/{'n' * 240}.sql").write_text("MODEL (name mart.long);\nselect 1 as a")
    done = call("format", "--project", project)
    assert done.exit_code == 0, done.output
    assert call("format", "--check", "--project", project).exit_code == 0


def test_files_of_a_request_that_cannot_be_removed_are_named(original: Path) -> None:
    done = call("ci", "clean", "x", "--files", "/dev/full", "--project", original)
    assert done.exit_code == 1
    assert "the files in /dev/full cannot be removed: Not a directory" in done.stderr


@pytest.mark.parametrize("command", ["invalidate other", "rollback other --give-up"])
def test_an_environment_that_is_not_there_leaves_no_row(original: Path, command: str) -> None:
    assert fault(Hostile(what="other", arguments=command.split()), original) == ""


@pytest.mark.parametrize(
    "command",
    [
        "run dev",
        "status dev",
        "invalidate dev",
        "rollback dev",
        "diff dev prod",
        "verify",
        "repair mart.revenue",
        "late sessions mart.revenue",
        "pause dev",
        "state check",
        "state export {}/exported",
    ],
)
def test_a_refused_command_makes_no_state(tmp_path: Path, command: str) -> None:
    project = new_project(tmp_path / "shop")
    before = contents(project)
    done = call(*command.format(tmp_path).split(), "--project", project)
    assert done.exit_code == 1, done.output
    assert re.search("[Tt]here is no", done.stderr)
    assert contents(project) == before
    assert not (project / ".vde/lake.db").exists()


def test_what_is_only_looked_at_makes_no_state_and_the_first_plan_does(tmp_path: Path) -> None:
    project = new_project(tmp_path / "shop")
    for command in ("environments", "savings", "unlock"):
        assert call(command, "--project", project).exit_code == 0
    assert not (project / ".vde/lake.db").exists()
    assert call("plan", "dev", "--no-apply", "--project", project).exit_code == 0
    assert "there is no state" in call("state", "check", "--project", project).stderr
    state = VdeProject.load(project).state
    assert state.environments() == ()
    identity = state.identity()
    assert VdeProject.load(project).state.identity() == identity
    assert call("state", "check", "--project", project).exit_code == 0
