"""Shell completion: click's scripts, and answers that come without loading anything heavy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from vde_dagster.cli.commands import COMMANDS

ROOT: Final = Path(__file__).parents[2]
CODE: Final = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from vde_dagster.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
HEAVY: Final = {"dagster", "pyspark", "pyiceberg", "sqlalchemy", "pyarrow", "duckdb"}


def complete(words: str, *unwanted: str, shell: str = "bash") -> list[str]:
    """The answer to words of which the last is completed; nothing unwanted was loaded for it."""
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = answer(f"{shell}_complete", **asked)
    assert {*HEAVY, *unwanted}.isdisjoint(done.stderr.split())
    return done.stdout.splitlines()


def answer(instruction: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | {"_VDE_COMPLETE": instruction} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_are_completed_with_their_summaries() -> None:
    unwanted = ("sqlglot", "rich", "yaml", "vde_dagster.cli.plans.plan")
    assert complete("vde pl", *unwanted) == ["plain,plan"]
    assert complete("vde ", *unwanted) == [f"plain,{each}" for each in COMMANDS]
    assert complete("vde pl", *unwanted, shell="zsh") == ["plain", "plan", COMMANDS["plan"]]
    assert complete("vde --v", *unwanted) == ["plain,--version"]


@pytest.mark.parametrize(
    "words,completed",
    [
        ("vde plan --auto", "--auto-apply"),
        ("vde plan --categorize al", "always"),
        ("vde late st", "status"),
    ],
)
def test_options_values_and_inner_commands_are_completed(words: str, completed: str) -> None:
    assert complete(words) == [f"plain,{completed}"]


@pytest.mark.parametrize(
    "shell,line",
    [
        ("zsh", "compdef _vde_completion vde"),
        ("fish", 'complete --no-files --command vde --arguments "(_vde_completion)"'),
    ],
)
def test_there_is_a_script_for_each_shell(shell: str, line: str) -> None:
    assert line in answer(f"{shell}_source").stdout


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_completes_a_command_by_the_script(tmp_path: Path) -> None:
    vde = tmp_path / "vde"
    vde.write_text(f"#!{sys.executable}\n{CODE}")
    vde.chmod(0o755)
    typed = (
        'eval "$(_VDE_COMPLETE=bash_source vde 2>&-)"\n'
        "complete -p vde\n"
        "COMP_WORDS=(vde pl) COMP_CWORD=1\n"
        "_vde_completion vde 2>&-\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", typed],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "complete -o nosort -F _vde_completion vde\nplan\n"
