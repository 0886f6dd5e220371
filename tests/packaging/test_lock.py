"""requirements.lock: what is pinned, and what may not be in it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def pins() -> dict[str, list[tuple[str, str]]]:
    """Each pinned name with its (version, the rest of its entry); markers may pin a name twice."""
    found: dict[str, list[tuple[str, str]]] = {}
    for entry in re.split(r"^(?=[a-z0-9])", LOCK, flags=re.MULTILINE)[1:]:
        match = re.match(r"([a-z0-9.-]+)==([^ ]+)(.*)", entry, flags=re.DOTALL)
        assert match, entry
        found.setdefault(match[1], []).append((match[2], match[3]))
    return found


def direct() -> list[Requirement]:
    project = PROJECT["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    return [Requirement(each) for each in [*project["dependencies"], *extras]]


def test_no_address_stands_in_it() -> None:
    assert "://" not in LOCK
    assert not re.search(r"^--?(i|f|index|extra-index|find-links|trusted)", LOCK, re.MULTILINE)


def test_each_pin_has_hashes() -> None:
    without = [name for name, all_ in pins().items() for _, rest in all_ if "sha256:" not in rest]
    assert without == []


def test_each_direct_dependency_is_pinned_to_a_version_that_it_allows() -> None:
    backend = [Requirement(each) for each in PROJECT["build-system"]["requires"]]
    pinned = pins()
    for requirement in [*direct(), *backend]:
        versions = [version for version, _ in pinned.get(canonicalize_name(requirement.name), [])]
        assert versions, requirement
        assert all(version in requirement.specifier for version in versions), requirement
