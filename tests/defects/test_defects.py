"""Defects fit the code as it is, and whoever plants them says truly which were found."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.defects import planting
from tests.defects.catalogue import ROOT, Defect, DefectInvalid, read_defects
from tests.defects.simulating import WrongHistory, first_wrong
from tests.simulator import __main__ as simulator

DEFECTS = list(read_defects())
RULES = [f"R{number}" for number in range(1, 16)]


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda each: each.name)
def test_a_defect_fits_the_code_as_it_is_and_names_tests_that_are_there(defect: Defect) -> None:
    text = (ROOT / defect.file).read_text("utf-8")
    planted = defect.planted(text)
    assert planted != text
    compile(planted, defect.file, "exec")
    assert defect.file.startswith("vde_dagster/")
    assert defect.mistake.endswith(".")
    assert defect.rule in {None, *RULES}
    assert defect.tests
    for test in defect.tests:
        path, _, name = test.partition("::")
        written = (ROOT / path).read_text("utf-8")
        assert re.search(rf"^def {name or 'test_'}", written, re.MULTILINE), test


def test_no_mistake_is_planted_twice() -> None:
    counted = Counter((each.file, each.before, each.after) for each in DEFECTS)
    counted.update((each.mistake, "", "") for each in DEFECTS)
    assert set(counted.values()) == {1}


FILE, TEST = str(Path("vde_dagster", "totals.py")), str(Path("tests", "test_totals.py"))
PRODUCT = "def total(rows):\n    found = sum(rows)\n    return found\n"
TESTS = """from vde_dagster import totals

def test_rows_are_added():
    assert totals.total([1, 2]) == 3

def test_nothing_is_nothing():
    assert totals.total([]) == 0
"""
SIMULATOR = """import sys
from vde_dagster import totals

asked = dict(zip(sys.argv[1::2], sys.argv[2::2]))
first, count = int(asked.get("--seed", 0)), int(asked["--histories"])
for seed in range(first, first + count):
    if seed == 1 or totals.total([1, seed]) != 1 + seed:
        print(f"Seed {seed}: not the sum\\n  of two", flush=True)
print("1 of 3 histories ended wrongly")
"""
"""One of its histories ends wrongly in any case."""
CONFIG = "[tool.pytest.ini_options]\nmarkers = ['full']\npythonpath = ['.']\n"
LOST = Defect(
    name="totals/lost",
    mistake="The last row is lost.",
    file=FILE,
    before="    found = sum(rows)\n",
    after="    found = sum(rows[:-1])\n",
    tests=(TEST,),
)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a small project."""
    project = tmp_path / "project"
    for path, text in {
        "vde_dagster/__init__.py": "",
        FILE: PRODUCT,
        TEST: TESTS,
        "tests/simulator/__main__.py": SIMULATOR,
        "pyproject.toml": CONFIG,
    }.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    monkeypatch.setattr(planting, "ROOT", project)
    monkeypatch.setattr(planting, "COPIED", ("vde_dagster", "tests", "pyproject.toml"))
    return planting.copy_code(tmp_path / "copy")


def test_a_defect_is_found_by_the_test_that_fails_and_is_taken_out_again(copy: Path) -> None:
    outcome = planting.find(LOST, copy)
    assert outcome.finder == f"{TEST}::test_rows_are_added"
    assert (copy / LOST.file).read_text() == PRODUCT
    status, output = planting.run([*planting.PYTEST, *LOST.tests], copy)
    assert (status, "2 passed" in output) == (0, True), output


@pytest.mark.parametrize(
    "defect",
    [
        replace(LOST, tests=(f"{TEST}::test_nothing_is_nothing",)),
        replace(LOST, after="    found = sum(rows\n"),  # nothing of it can be imported
        replace(LOST, tests=(f"{TEST}::test_of_no_such_name",)),
    ],
    ids=["too weak", "cannot be imported", "no test"],
)
def test_a_defect_that_no_test_fails_for_is_not_found(copy: Path, defect: Defect) -> None:
    outcome = planting.find(defect, copy)
    assert outcome.finder is None
    assert outcome.output


def test_a_history_that_is_wrong_through_the_defect_alone_finds_it_before_any_test(
    copy: Path,
) -> None:
    outcome = planting.find(LOST, copy, simulated=60.0)
    assert outcome.finder == "./run sim --seed 2 --histories 1: not the sum"
    assert outcome.by_simulator
    assert (copy / LOST.file).read_text() == PRODUCT


def test_what_the_simulator_prints_is_understood(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended(seed: int, _: object) -> simulator.Ended:
        return simulator.Ended(why="not the sum\nof two" if seed == 2 else "")

    monkeypatch.setattr(simulator, "ended", ended)
    assert simulator.main(["--histories", "3", "-n", "1", "--shrink", "0"]) == 1
    printed = capsys.readouterr().out
    assert first_wrong(printed) == WrongHistory(seed=2, why="not the sum")
    assert "histories ended wrongly" in printed


def test_who_takes_too_long_finds_nothing(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planting, "PATIENCE", 1.0)
    assert planting.run([sys.executable, "-c", "while True: pass"], copy)[0] is None


@pytest.mark.parametrize("text", ["", "other"])
def test_a_defect_that_does_not_fit_is_none(text: str) -> None:
    with pytest.raises(DefectInvalid, match="totals/lost"):
        LOST.planted(text)
    with pytest.raises(DefectInvalid, match="2 times"):
        LOST.planted(LOST.before * 2)


def test_a_file_with_other_keys_is_no_defect(tmp_path: Path) -> None:
    (tmp_path / "area").mkdir()
    (tmp_path / "area" / "one.toml").write_text("mistake = 'x'\ntest = []\n")
    with pytest.raises(DefectInvalid, match=r"area/one: wrong or missing \['after'.*'test'"):
        list(read_defects(tmp_path))


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-m", "tests.defects", *arguments]
    return subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_lists_what_it_would_plant_by_name_area_and_rule() -> None:
    every = command("--list").stdout
    assert all(f"{each.name}\n" in every and each.mistake in every for each in DEFECTS)
    listed = command("--list", "R8", "seeds", DEFECTS[0].name).stdout.splitlines()[::2]
    wanted = [e.name for e in DEFECTS if e.rule == "R8" or e.area == "seeds" or e is DEFECTS[0]]
    assert listed == wanted
    wrong = command("nothing")
    assert (wrong.returncode, "no defect, area or rule 'nothing'" in wrong.stderr) == (2, True)
