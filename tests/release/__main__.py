"""`./run release`: builds the wheel and the source distribution, and tries them as a user would.

It neither tags nor publishes. What it has checked is printed line by line; exit code 0 means all.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from vde_dagster.version import __version__

ROOT: Final = Path(__file__).parents[2]
EXAMPLE: Final = "nyc_flights"
_OF_WHEEL: Final = re.compile(
    r"vde_dagster/(?!tests/|docs/|(.+/)?(\.vde|__pycache__)/)|vde_dagster-[^/]+\.dist-info/"
)
_SHOWN: Final = 10
_OURS: Final = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "VDE_RUN")
"""Variables of this environment that would reach into the empty one."""
say: Final = partial(print, flush=True)


class ReleaseError(Exception):
    """A check that failed; its text says which one and why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: the files are built and every check passed; 1: a check failed."""
    parser = argparse.ArgumentParser(prog="./run release", description=__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / "dist", help="the folder (dist)")
    parser.add_argument("--allow-dirty", action="store_true", help="build what is not committed")
    parser.add_argument("--pinned", action="store_true", help="try it with requirements.lock")
    parser.add_argument("--full", action="store_true", help="run a plan and the demo on Spark, too")
    options = parser.parse_args(arguments)
    try:
        if not options.allow_dirty:
            require_clean(_output("git", "status", "--porcelain", cwd=ROOT))
        require_section((ROOT / "CHANGELOG.md").read_text("utf-8"), __version__)
        with tempfile.TemporaryDirectory(prefix="vde-release-") as folder:
            wheel, source = _build(options.to)
            _check_files(wheel, source, Path(folder))
            python = _install(wheel, Path(folder), pinned=options.pinned, full=options.full)
            _try(python, Path(folder), full=options.full)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print("Everything passed. Nothing was tagged or published.")
    return 0


def require_clean(status: str) -> None:
    """Raise `ReleaseError` if `git status --porcelain` lists anything."""
    if status:
        raise ReleaseError(
            f"the working tree has uncommitted files:\n{_shortened(status.splitlines())}\n"
            "Commit or remove them. To try a build with them: ./run release --allow-dirty"
        )


def require_section(changelog: str, version: str) -> None:
    """Raise `ReleaseError` if the changelog's newest section is not that of the version."""
    newest = re.search(r"^## (\S+)(.*)$", changelog, flags=re.MULTILINE)
    if newest is None or newest[1] != version:
        raise ReleaseError(f"CHANGELOG.md does not begin with a section '## {version}'")
    if "unreleased" in newest[2]:
        say(f"note: CHANGELOG.md still says '{newest[0][3:]}'; write the date before you tag")


def foreign(names: Iterable[str]) -> list[str]:
    """The files of a wheel that belong neither to the package nor to its metadata."""
    return sorted(each for each in names if not _OF_WHEEL.match(each))


def differences(one: Mapping[str, int], two: Mapping[str, int]) -> list[str]:
    """The files that two wheels do not share; each wheel is its files' names and checksums."""
    return sorted({name for name, _ in one.items() ^ two.items()})


def _build(folder: Path) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("vde_dagster-*"):
        old.unlink()
    _output(sys.executable, "-m", "hatchling", "build", "-d", str(folder.resolve()), cwd=ROOT)
    wheel = folder.resolve() / f"vde_dagster-{__version__}-py3-none-any.whl"
    source = wheel.with_name(f"vde_dagster-{__version__}.tar.gz")
    for path in (wheel, source):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        say(f"built {path} ({path.stat().st_size / 1e6:.1f} MB, sha256 {digest})")
    return wheel, source


def _check_files(wheel: Path, source: Path, folder: Path) -> None:
    _output(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source), cwd=folder)
    say("twine check --strict: the metadata is complete and the README renders")
    files = _files(wheel)
    if found := foreign(files):
        raise ReleaseError(f"these files do not belong in the wheel:\n{_shortened(found)}")
    say(f"the wheel has {len(files)} files: the package, its examples, no tests, no pages")
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / source.name.removesuffix(".tar.gz")
    again = folder / "again"
    _output(
        sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(again), cwd=unpacked
    )
    if found := differences(files, _files(again / wheel.name)):
        raise ReleaseError(f"the source distribution builds another wheel:\n{_shortened(found)}")
    say("the source distribution builds the same wheel")


def _files(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}


def _install(wheel: Path, folder: Path, *, pinned: bool, full: bool) -> Path:
    """Install the wheel into an empty environment and return its Python."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise ReleaseError("uv is not on the PATH; start this with ./run release")
    python = folder / "venv" / "bin" / "python"
    _output(uv, "venv", "--no-project", "--python", sys.executable, "venv", cwd=folder)
    lock = str(ROOT / "requirements.lock")
    pins = ["--constraints", lock, "--build-constraints", lock] if pinned else []
    what = f"vde-dagster[demo] @ {wheel.as_uri()}" if full else str(wheel)
    _output(uv, "pip", "install", "--python", str(python), *pins, what, cwd=folder)
    say(
        f"installed into an empty environment, with {'pinned' if pinned else 'the newest'} packages"
    )
    return python


def _try(python: Path, folder: Path, *, full: bool) -> None:
    vde = str(python.with_name("vde"))
    if (told := _output(vde, "--version", cwd=folder)) != f"vde {__version__}":
        raise ReleaseError(f"`vde --version` prints {told!r}")
    say(f"vde --version: {told}")
    commands = [
        [vde, "init", "shop"],
        [vde, "test", "--project", "shop"],
        [vde, "init", EXAMPLE, "--example", EXAMPLE],
        [vde, "fingerprint", "--project", EXAMPLE],
        [vde, "doctor", "--no-spark", "--project", "shop"],
    ]
    if full:
        commands += [
            [vde, "plan", "prod", "--auto-apply", "--project", "shop"],
            [vde, "query", "SELECT * FROM mart.revenue", "--project", "shop"],
            [str(python), str(ROOT / "examples" / "demo" / "demo.py"), "demo"],
        ]
    for command in commands:
        _output(*command, cwd=folder)
        say(f"{Path(command[0]).name} {' '.join(Path(each).name for each in command[1:])}: done")


def _output(*command: str, cwd: Path) -> str:
    """What a command prints; `ReleaseError` with all of it where the command fails."""
    environment = {key: value for key, value in os.environ.items() if key not in _OURS}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ReleaseError(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout.rstrip()


def _shortened(lines: Sequence[str]) -> str:
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join(f"  {each}" for each in [*lines[:_SHOWN], *more])


if __name__ == "__main__":
    sys.exit(main())
