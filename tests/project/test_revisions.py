"""Projects read from git revisions: exact, whole, and without touching anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.repositories import AS_SOMEBODY, commit, git, new_repository, write
from vde_dagster.core.errors import Place, Problem, ProjectInvalid, Refused
from vde_dagster.project.revisions import project_at

ONE = {"vde.yaml": "name: one\n", "models/a.sql": "SELECT 1 AS a\n"}
TWO = {"vde.yaml": "name: two\n", "models/a.sql": None, "models/b.sql": "SELECT 2 AS b\n"}


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AS_SOMEBODY.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits on main; the first one also has a tag and a branch."""
    folder = new_repository(tmp_path / "shop")
    commit(folder, ONE)
    git(folder, "tag", "--annotate", "v1", "--message", "first")
    git(folder, "branch", "feature/first")
    commit(folder, TWO)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        each.relative_to(folder).as_posix(): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


def revision(named: str, project: Path) -> dict[str, bytes]:
    with project_at(named, project) as found:
        return contents(found.folder)


def refusal(named: str, project: Path) -> str:
    with pytest.raises(Refused) as caught, project_at(named, project):
        pass
    return str(caught.value)


def encoded(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files.items()}


@pytest.mark.full
@pytest.mark.parametrize("named", ["v1", "feature/first", "HEAD~1", "main~1", "git:v1", "HEAD^"])
def test_a_revision_has_the_files_that_were_committed(repository: Path, named: str) -> None:
    assert revision(named, repository) == encoded(ONE)


@pytest.mark.parametrize("length", [7, 40])
def test_a_commit_is_named_by_its_hash_whole_or_short(repository: Path, length: int) -> None:
    first = git(repository, "rev-parse", "main~1")
    with project_at(first[:length], repository) as found:
        assert (found.commit, found.root) == (first, f"{first[:length]}:")
        assert found.title == f"{first[:length]} ({first[:8]})"
        assert contents(found.folder) == encoded(ONE)
    assert not found.folder.exists()


def test_what_is_not_committed_is_in_no_revision_and_stays_as_it_is(repository: Path) -> None:
    write(repository, {"models/b.sql": "SELECT 3 AS c\n", "models/c.sql": "SELECT 4 AS d\n"})
    git(repository, "add", "models/b.sql")
    write(repository, {"models/b.sql": "SELECT 5 AS e\n"})
    status = git(repository, "status", "--porcelain")
    before = contents(repository)
    assert revision("HEAD", repository) == {
        "vde.yaml": b"name: two\n",
        "models/b.sql": b"SELECT 2 AS b\n",
    }
    assert contents(repository) == before  # also .git, with its index
    assert git(repository, "status", "--porcelain") == status


def test_a_project_may_be_a_folder_of_a_repository(tmp_path: Path) -> None:
    top = new_repository(tmp_path / "mono")
    commit(top, {"README": "ours", **{f"data/shop/{name}": text for name, text in ONE.items()}})
    write(top, {"data/shop/vde.yaml": "name: later\n"})
    with project_at("main", top / "data" / "shop") as found:
        assert contents(found.folder) == encoded(ONE)
        assert found.root == "main:data/shop/"
        place = Place(path=Path("models/a.sql"), line=3)
        (reported,) = found.problems(ProjectInvalid([Problem(place=place, message="no")]))
    assert str(reported.place) == "main:data/shop/models/a.sql:3"


def test_a_revision_that_lacks_the_folder_has_no_files(tmp_path: Path) -> None:
    top = new_repository(tmp_path / "mono")
    commit(top, {"README": "ours"})
    write(top, {"shop/vde.yaml": "name: x\n"})
    assert revision("HEAD", top / "shop") == {}


def test_files_are_those_of_the_repository_whatever_a_checkout_makes_of_them(
    repository: Path,
) -> None:
    strange = {
        "with space/ä\tb.sql": b"SELECT 1 AS \xc3\xa4\n",
        "empty.csv": b"",
        "crlf.csv": b"a\r\n1\r\n",
        "lf.csv": b"a\n1\n",
        "binary.bin": bytes(range(256)) * 300,
        "hidden/x.sql": b"SELECT 1 AS x",
        "ident.sql": b"-- $Id$ $Format:%H$\nSELECT 1 AS x",
    }
    attributes = "hidden export-ignore\n*.sql ident export-subst\nlf.csv text eol=crlf\n"
    attributes += "crlf.csv -text\n"
    commit(repository, {".gitattributes": attributes, **strange})
    found = revision("HEAD", repository)
    assert {name: found[name] for name in strange} == strange


def test_links_are_links_also_to_what_is_not_there(repository: Path) -> None:
    write(repository, {"real/data.csv": "a\n1\n"})
    (repository / "seeds").symlink_to("real")
    (repository / "dangling.csv").symlink_to("../nowhere.csv")
    commit(repository)
    with project_at("HEAD", repository) as found:
        assert (found.folder / "seeds" / "data.csv").read_text() == "a\n1\n"
        assert (found.folder / "dangling.csv").readlink() == Path("../nowhere.csv")


def test_a_name_that_is_both_is_the_folder(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "branch", "models", "v1")
    monkeypatch.chdir(repository)
    with project_at("models", repository) as found:
        assert (found.folder, found.commit, found.root) == (Path("models"), None, "models/")
        assert found.title == "models"
    assert revision("git:models", repository) == encoded(ONE)


@pytest.mark.parametrize(
    "named,reported",
    [
        ("mian", "Did you mean main?"),
        ("first", "Did you mean feature/first?"),
        ("main~9", "'main~9' is neither a folder nor a git revision"),
        ("--all", "'--all' is neither a folder nor a git revision"),
        ("main..v1", "vde compare BEFORE AFTER"),
        ("x" * 5000, "neither a folder nor a git revision"),
        ("git:models", "neither a folder nor a git revision"),
        ("git:", "empty name"),
        (" ", "empty name"),
    ],
)
def test_a_name_that_is_nothing_is_refused_with_advice(
    repository: Path, named: str, reported: str
) -> None:
    assert reported in refusal(named, repository)


def test_a_shallow_clone_says_what_brings_its_history(repository: Path, tmp_path: Path) -> None:
    address = repository.as_uri()
    git(tmp_path, "clone", "--quiet", "--depth=1", "--no-tags", address, "shallow")
    assert "git fetch --unshallow" in refusal("HEAD~1", tmp_path / "shallow")


def test_a_branch_of_a_remote_is_offered(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(repository), "clone")
    clone = tmp_path / "clone"
    assert "Did you mean origin/feature/first?" in refusal("feature/first", clone)
    assert revision("origin/feature/first", clone) == encoded(ONE)


def test_a_project_that_is_not_there_has_no_revisions(tmp_path: Path) -> None:
    assert "--project" in refusal("main", tmp_path / "nowhere")


def test_what_git_sets_for_a_hook_does_not_mean_another_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_repository(tmp_path / "other")
    commit(other, {"vde.yaml": "name: other\n"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert revision("v1", repository) == encoded(ONE)


def test_content_that_the_repository_lacks_is_reported(repository: Path) -> None:
    name = git(repository, "rev-parse", "HEAD:models/b.sql")
    (repository / ".git" / "objects" / name[:2] / name[2:]).unlink()
    assert "models/b.sql" in refusal("HEAD", repository)


def test_a_seed_of_which_git_has_only_a_reference_is_reported(repository: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    commit(repository, {"seeds/a.csv": pointer, "picture.png": pointer})
    reported = refusal("HEAD", repository)
    assert "seeds/a.csv" in reported
    assert "Git LFS" in reported


def test_a_submodule_is_left_out(repository: Path, tmp_path: Path) -> None:
    other = new_repository(tmp_path / "other")
    commit(other, {"x": "y"})
    allowed = ("-c", "protocol.file.allow=always")
    git(repository, *allowed, "submodule", "--quiet", "add", str(other), "vendored")
    commit(repository)
    assert set(revision("HEAD", repository)) == {".gitmodules", "vde.yaml", "models/b.sql"}
