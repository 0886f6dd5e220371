"""`vde fingerprint` and `vde compare` with models as they were read before: the same, at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

from tests.cli.calling import call
from tests.project.cache.test_models import BASE, EVERY, both, found_again
from tests.project.repositories import AS_SOMEBODY, commit, new_repository, write
from vde_dagster.composition import VdeProject
from vde_dagster.core.graph import deriving
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.sql.canonical import CanonicalQuery, canonicalize
from vde_dagster.project import loading
from vde_dagster.project.model_files import read_model

TOP, UNUSED = "models/m/top.sql", "macros/unused.py"
COMMANDS = {
    "fingerprint": ("fingerprint",),
    "fingerprint --parts": ("fingerprint", "--parts"),
    "compare with a revision": ("compare", "HEAD"),
    "compare revisions": ("compare", "HEAD~1", "HEAD"),
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every kind of file, in a repository of two commits, edited since."""
    for name, value in AS_SOMEBODY.items():
        monkeypatch.setenv(name, value)
    folder = write(new_repository(tmp_path / "shop"), {**BASE, ".gitignore": ".vde/\n"})
    commit(folder)
    commit(folder, {TOP: f"{BASE[TOP]} -- why"})
    return write(folder, {TOP: BASE[TOP].replace("@twice(id)", "(id * 3)")})


def shown(project: Path, *arguments: str | Path) -> str:
    """What a command says of a project, for programs and for people."""
    reported = [
        call(*arguments, "--project", project, "--format", each) for each in ("json", "text")
    ]
    assert [each.exit_code for each in reported] == [0, 0], [each.stderr for each in reported]
    return "".join(each.stdout for each in reported)


def without_kept(project: Path, *arguments: str | Path) -> str:
    """The same where nothing is kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VDE_CACHE", "off")
        return shown(project, *arguments)


@contextmanager
def noting_what_is_read() -> Iterator[list[str]]:
    """Each SQL model that is read, and each query that is resolved, as often as that is done."""
    noted: list[str] = []

    def reading(source: ModelSource, **given: Any) -> Model:
        if source.path.suffix == ".sql":
            noted.append(f"read {source.path.as_posix()}")
        return read_model(source, **given)

    def resolving(query: exp.Query, **given: Any) -> CanonicalQuery:
        noted.append(f"resolved {query.sql()[:40]}")
        return canonicalize(query, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "read_model", reading)
        patch.setattr(deriving, "canonicalize", resolving)
        yield noted


@pytest.mark.full
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_the_second_time_no_model_is_read_or_resolved(
    shop: Path, arguments: tuple[str, ...]
) -> None:
    with noting_what_is_read() as noted:
        call(*arguments, "--project", shop)
    every = len(EVERY.split())
    assert sum(each.startswith("read models/") for each in noted) >= every
    assert sum(each.startswith("resolved ") for each in noted) >= every - 1, "one is a seed"
    with noting_what_is_read() as noted:
        assert call(*arguments, "--project", shop).exit_code == 0
    assert noted == []


def test_what_one_command_has_read_no_other_reads_again(shop: Path) -> None:
    shown(shop, "fingerprint")
    assert found_again(VdeProject.load(shop).files.graph) == both(EVERY)
    with noting_what_is_read() as noted:
        call("compare", shop, "--project", shop)
    assert noted == []


@pytest.mark.full
def test_where_the_work_tree_has_no_project_nothing_is_kept(shop: Path) -> None:
    plain = without_kept(shop, "compare", "HEAD~1", "HEAD")
    write(shop, {"vde.yaml": None})
    assert shown(shop, "compare", "HEAD~1", "HEAD") == plain
    assert call("fingerprint", "--project", shop).exit_code == 1
    assert not (shop / ".vde").exists()
