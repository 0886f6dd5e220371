"""How tests run the demo: in this process, or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import demo
from click.testing import CliRunner, Result

from tests.cli.calling import OURS, run


def call_demo(*arguments: str | Path) -> Result:
    """Run the demo in this process."""
    without = {name: None for name in OURS if name != "VDE_DEBUG"}
    return CliRunner(env=without).invoke(demo.command, [str(each) for each in arguments])


def run_demo(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the demo in a process of its own."""
    return run([sys.executable, demo.__file__, *map(str, arguments)])
