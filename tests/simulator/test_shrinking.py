"""A history that ends wrongly is shrunk to the steps and models that this takes, and told again."""

from __future__ import annotations

import pytest

from tests.simulator.__main__ import main
from tests.simulator.histories import FIRST, history
from tests.simulator.pairs import KINDS, coverage, pairs_of
from tests.simulator.shrinking import as_numbers, as_text, left_of, shrunk, sort_of
from tests.simulator.steps import Act, Edit, History
from tests.simulator.written import as_test, kind_of
from vde_dagster.app.inputs import input_look

SEED, STEPS = 9, 12


def test_a_history_is_shrunk_to_what_it_takes() -> None:
    whole = history(7, length=60)
    wanted = {whole.steps[at] for at in (5, 31, 58)}

    def ends(what: History) -> str:
        return "prod has 3 rows" if wanted <= {*what.steps} else ""

    found = shrunk(whole, ends, seconds=60)
    assert found is not None
    assert {*found.history.steps[FIRST:]} == wanted
    assert len(found.without) == 60 - len(wanted)
    assert found.history.steps[:FIRST] == whole.steps[:FIRST]
    assert len(found.history.models) == 1
    assert found.tried < 200
    assert left_of(whole, found.without, found.without_models) == found.history


def test_another_sort_of_fault_is_not_taken_for_the_same() -> None:
    whole = history(7, length=20)

    def ends(what: History) -> str:
        return "prod says that gen.m1 is up to date" if what == whole else "prod shows nothing"

    found = shrunk(whole, ends, seconds=60)
    assert found is not None
    assert found.history == whole
    assert sort_of("dev has 12 rows of gen.m3") == sort_of("prod has 7 rows of gen.m0_renamed")
    assert sort_of("dev has 12 rows") != sort_of("dev shows 12 rows")


def test_what_ends_well_is_not_shrunk() -> None:
    assert shrunk(history(7), lambda _: "", seconds=60) is None


def test_steps_are_the_same_in_a_longer_history() -> None:
    assert history(5, length=40).steps == history(5, length=90).steps[: FIRST + 40]


@pytest.mark.parametrize("text", ["3", "3,7-9", "0-2,5", ""])
def test_numbers_are_read_as_they_are_written(text: str) -> None:
    assert as_text(as_numbers(text)) == text


def test_pairs_are_counted_and_those_that_never_came_are_told() -> None:
    steps = (Act(what="plan", environment="prod"), Act(what="run", environment="prod"))
    edit = Edit(model=0, how="add", chance=1)
    found = pairs_of(History(models=(), steps=(*steps, edit)))
    assert found == {("plan", "run"): 1, ("run", "edit: add"): 1}
    lines = [*coverage(found)]
    assert lines[0] == f"Neighbours: 2 of {len(KINDS) ** 2:,} pairs of kinds of steps came."
    assert f"      1 run; {len(KINDS) - 1} kinds never came next" in lines


def test_every_step_is_of_a_known_kind() -> None:
    drawn = {kind_of(step) for seed in range(80) for step in history(seed, length=60).steps}
    assert drawn == {*KINDS}


def test_a_planted_fault_is_found_and_shrunk_and_told_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is ever stale: late rows are not seen."""
    monkeypatch.setattr(input_look, "stale_entries", lambda *_, **__: iter(()))
    asked = ["--seed", f"{SEED}", "--histories", "1", "--steps", f"{STEPS}", "-n", "1"]
    assert main([*asked, "--shrink", "120"]) == 1
    told = capsys.readouterr().out
    again = next(line for line in told.splitlines() if line.startswith("Again: "))
    words = again.removeprefix("Again: ./run sim ").split()
    kept = as_numbers(words[words.index("--only") + 1])
    assert len(kept) <= 3, told
    assert "is up to date, and it has" in told
    assert f"def test_seed_{SEED}() -> None:" in told
    assert main([*words, "-n", "1", "--shrink", "0"]) == 1
    assert "1 of 1 histories ended wrongly" in capsys.readouterr().out


def test_a_test_case_is_the_history_itself() -> None:
    whole = history(9, length=30)
    text = as_test(whole, name="seed_9", why='it says "no"', is_thorough=True)
    found: dict[str, object] = {}
    head = "from tests.simulator.steps import *\nfrom tests.app.generated_models import *\n"
    head += "told = []\ndef tell(what, *, is_thorough): told.append((what, is_thorough))\n"
    exec(head + text + "test_seed_9()\n", found)
    assert found["told"] == [(whole, True)]
