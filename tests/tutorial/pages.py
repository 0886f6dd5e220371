"""Follows a page of the tutorial: what it has in fences, and what it asks for in its sentences."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import dagster as dg
import pytest

from tests.browser.server import served
from tests.cli.calling import call
from tests.depth import is_full
from tests.orchestration.automated_world import launch, tick
from tests.orchestration.served import at_home
from vde_dagster.composition import VdeProject

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = "vde-dagster"
_BLOCK: Final = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
_A_FAILURE: Final = "\n\n```text\nFAILED "
"""What a page shows after commands of which one fails."""
_OTHERWISE_EACH_TIME: Final = {
    r"(?<=[0-9a-f]{12} )( *)\d+\.\d$": " SECONDS",
    r"\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\d(?: \d\d:\d\d)?": "NOW",
    r"\b\d+ months, (?=2024-01-01 to NOW)": "MONTHS, ",
}
"""How long something took, when this was, and how many months there have been until then."""


def pieces(page: str) -> Iterator[re.Match[str] | str]:
    """The blocks of a page, and the text between them with one space for each gap."""
    end = 0
    for block in _BLOCK.finditer(page):
        yield " ".join(page[end : block.start()].split())
        yield block
        end = block.end()
    rest = page[end:]
    assert "```" not in rest, f"a block without a language, or without an end: {rest}"
    yield " ".join(rest.split())


def normal(output: str) -> str:
    """Output without what is otherwise each time."""
    text = "\n".join(line.rstrip() for line in output.strip("\n").splitlines()).strip("\n")
    for pattern, instead in _OTHERWISE_EACH_TIME.items():
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text


@dataclass
class Reader:
    """Somebody who does what a page says, in a folder of their own.

    Models are computed on the session that tests share. What needs the network or never ends is
    in `_INSTEAD`, with what is done in its place.
    """

    start: Path
    monkeypatch: pytest.MonkeyPatch
    folder: Path = field(init=False)
    output: str = ""
    errors: str = ""
    sensor: str = ""
    done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.change_to(self.start)

    def follow(self, page: str) -> None:
        """Do all that a page says, and compare what it shows."""
        for piece in pieces(page):
            if isinstance(piece, str):
                self.read(piece)
                continue
            title, text = piece["title"], piece["text"]
            match piece["language"]:
                case "sh":
                    fails = page[piece.end() :].startswith(_A_FAILURE)
                    self.enter(text.splitlines(), fails=fails)
                case "text":
                    shown = normal(text)
                    assert shown in normal(self.output) or shown in normal(self.errors), (
                        f"shown:\n{shown}\nprinted:\n{normal(self.output)}\n{self.errors}"
                    )
                case "diff":
                    self.edit(self.folder / title, text)
                case _:
                    (self.folder / title).write_text(text, "utf-8")

    def enter(self, lines: list[str], *, fails: bool) -> None:
        """Run commands, one a line."""
        self.output = self.errors = ""
        for line in lines:
            self.done.append(line)
            if line in _INSTEAD:
                _INSTEAD[line](self)
                continue
            program, *arguments = shlex.split(line)
            match program:
                case "cd":
                    self.change_to(self.folder / arguments[0])
                case "python":
                    self.run_script(arguments)
                case "vde":
                    done = call(*arguments)
                    assert (done.exit_code != 0) is fails, f"{line}\n{done.output}"
                    self.output += done.stdout
                    self.errors += done.stderr
                    if arguments[0] == "init":
                        self.take_catalog(self.folder / arguments[1])
                case _:
                    pytest.fail(f"nobody knows how to do {line!r} here")

    def read(self, sentences: str) -> None:
        """Do what sentences ask for that are known here."""
        for asked, do in _ASKED.items():
            for found in re.finditer(asked, sentences):
                self.done.append(found[0])
                do(self, found)

    def change_to(self, folder: Path) -> None:
        """Make a folder the current one."""
        self.folder = folder.resolve()
        self.monkeypatch.chdir(self.folder)

    def take_catalog(self, project: Path) -> None:
        """Give a project a catalog that no other test of this process has."""
        with (project / "vde.yaml").open("a", encoding="utf-8") as settings:
            settings.write(f"catalog: {{name: tutorial_{uuid.uuid4().hex[:8]}}}\n")

    def run_script(self, arguments: list[str]) -> None:
        """Run a script of the folder."""
        with self.monkeypatch.context() as patch:
            patch.setattr(sys, "argv", arguments)
            runpy.run_path(str(self.folder / arguments[0]), run_name="__main__")

    def edit(self, file: Path, change: str) -> None:
        """Replace the lines with a minus by those with a plus."""
        lines = change.splitlines()
        before = "".join(f"{each[1:]}\n" for each in lines if each.startswith("-"))
        after = "".join(f"{each[1:]}\n" for each in lines if each.startswith("+"))
        text = file.read_text("utf-8")
        assert text.count(before) == 1, f"{file} has not these lines once:\n{before}"
        file.write_text(text.replace(before, after), "utf-8")

    @property
    def served(self) -> dg.Definitions:
        """What Dagster is served of production."""
        found = runpy.run_path(str(self.folder / "definitions.py"))["prod"]()
        assert isinstance(found, dg.Definitions)
        return found

    @property
    def instance(self) -> dg.DagsterInstance:
        """The instance that the commands and the UI share."""
        return at_home(VdeProject.load(self.folder))


def _install(reader: Reader) -> None:
    assert f'name = "{PACKAGE}"\n' in (ROOT / "pyproject.toml").read_text("utf-8")
    assert reader.folder == reader.start


def _activate_again(reader: Reader) -> None:
    assert reader.folder.parent == reader.start, "where venv is"


def _open_ui(reader: Reader) -> None:
    """Serve the project, in the full form; in the short one all that is asked for is looked at."""
    if is_full():
        with served(reader.folder, reader.start / "ui.log"):
            return
    started: list[list[str]] = []
    with reader.monkeypatch.context() as patch:
        patch.setattr("os.execv", lambda _, arguments: started.append(arguments))
        patch.setenv("DAGSTER_HOME", "")  # the command sets it
        patch.delenv("DAGSTER_HOME")
        done = call("ui")
    assert "http://127.0.0.1:3000" in done.output
    (arguments,) = started
    assert " -m dagster dev -w workspace.yaml " in " ".join(arguments)
    dg.Definitions.validate_loadable(reader.served)


def _switch_on(reader: Reader, found: re.Match[str]) -> None:
    reader.sensor = found[1]
    answer = tick(reader.served, reader.instance, reader.sensor)
    assert answer == "prod is up to date", "there is nothing to do yet"


def _wait_for_run(reader: Reader, _: re.Match[str]) -> None:
    requested = tick(reader.served, reader.instance, reader.sensor)
    assert not isinstance(requested, str), requested
    (request,) = requested
    assert request.job_name == "vde_automation"
    launch(reader.served, reader.instance, request)


def _look_at_partition(reader: Reader, found: re.Match[str]) -> None:
    (key,) = (
        each
        for each in reader.served.resolve_asset_graph().get_all_asset_keys()
        if each.path[-1] == found[1]
    )
    records = reader.instance.fetch_materializations(key, limit=99).records
    of_hour = [each for each in records if (each.partition_key or "").endswith(f"-{found[2]}")]
    assert len(of_hour) == 2


_INSTEAD: Final[Mapping[str, Callable[[Reader], None]]] = {
    "python3 -m venv venv": _install,
    ". venv/bin/activate": _install,
    f"pip install {PACKAGE}": _install,
    ". ../venv/bin/activate": _activate_again,
    "vde ui": _open_ui,
}
"""Lines that are not run as they are, and what is done instead."""
_ASKED: Final[Mapping[str, Callable[[Reader, re.Match[str]], None]]] = {
    r"switch on `(vde_\w+)`": _switch_on,
    r"the sensor starts a run": _wait_for_run,
    r"Open `(\w+)` again, .* the partition of (\d\d:\d\d)\. It was materialized a second": (
        _look_at_partition
    ),
}
"""What sentences ask for, and how it is done without a browser."""
