"""A project as it is in a folder or a git revision, without touching the work tree.

A revision's files are read from git's objects (``git ls-tree`` and ``git cat-file``), so neither
the index nor the machine's attributes, filters and line ends matter, and nothing is fetched.
"""

from __future__ import annotations

import difflib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from vde_dagster.core.errors import Problem, ProjectInvalid, Refused, SetupError

FORCED: Final = "git:"
"""The prefix for a revision that has the same name as a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectAt:
    """A project as one side of a comparison.

    ``name`` is the side's name in messages, ``commit`` the whole hash of a revision. ``root`` is
    put before the paths of its files there: a folder, or ``revision:path/in/repository/``.
    """

    folder: Path
    name: str
    root: str
    commit: str | None = None

    @property
    def title(self) -> str:
        """The name, of a revision with its commit."""
        return self.name if self.commit is None else f"{self.name} ({self.commit[:8]})"

    def problems(self, error: ProjectInvalid) -> list[Problem]:
        """What is wrong with the project, at places that name the side."""
        return [
            replace(each, place=replace(each.place, path=Path(f"{self.root}{each.place.path}")))
            for each in error.problems
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The git repository around a project's folder.

    ``prefix`` is the folder's path in it with a slash at its end; empty at its top.
    """

    folder: Path
    prefix: str


@contextmanager
def project_at(named: str, project: Path) -> Iterator[ProjectAt]:
    """A project in a folder or a git revision; a revision's files are removed after the block.

    Args:
        named: A folder, else a git revision of ``project``. After ``git:`` it is a revision always.
        project: The project's folder, which may be below the top of its repository.

    Raises:
        Refused: There is no such folder or revision, or no repository; git's own objection.
        SetupError: Git is not installed.
    """
    if _is_folder(named):
        yield in_folder(Path(named))
        return
    revision = named.removeprefix(FORCED)
    if not revision.strip():
        raise Refused(
            "an empty name is neither a folder nor a git revision. Is a variable not set?"
        )
    repository = repository_of(project, wanted=named)
    commit = commit_of(repository, revision)
    with TemporaryDirectory(prefix="vde-revision-") as made:
        folder = Path(made)
        extract_revision(repository, commit, folder)
        root = f"{revision}:{repository.prefix}"
        yield ProjectAt(folder=folder, name=revision, root=root, commit=commit)


def _is_folder(named: str) -> bool:
    try:
        return bool(named) and not named.startswith(FORCED) and Path(named).is_dir()
    except OSError:  # such as a name that is too long
        return False


def in_folder(folder: Path, name: str = "") -> ProjectAt:
    """A project in a folder; it is called ``name``, or as the folder is."""
    root = "" if folder == Path() else f"{folder.as_posix().rstrip('/')}/"
    return ProjectAt(folder=folder, name=name or str(folder), root=root)


def repository_of(project: Path, *, wanted: str) -> Repository:
    """The repository that contains a project's folder.

    Args:
        project: The folder.
        wanted: What the user named, for the message where there is none.

    Raises:
        Refused: There is no such folder, or it is in no repository that git reads.
        SetupError: Git is not installed.
    """
    if not project.is_dir():
        raise Refused(
            f"the folder {project} does not exist",
            advice="Name the project's folder with --project.",
        )
    done = _git(project, "rev-parse", "--show-prefix")
    if done.returncode == 0:
        return Repository(folder=project, prefix=os.fsdecode(done.stdout).rstrip("\n"))
    if b"not a git repository" in done.stderr:
        raise Refused(
            f"{wanted!r} is not a folder, and not a revision either: {_shown(project)} is "
            "not in a git repository",
            advice="Name two folders, or a project in a repository with --project.",
        )
    raise Refused(f"git cannot read the repository of {_shown(project)}: {_said(done.stderr)}")


def commit_of(repository: Repository, revision: str) -> str:
    """The commit that a revision names, as its whole hash.

    Raises:
        Refused: It names none; the message suggests a branch or tag of a similar name.
        SetupError: Git is not installed.
    """
    question = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    done = _git(repository.folder, *question)
    found = done.stdout.decode().strip()
    if done.returncode == 0 and found:
        return found
    raise Refused(
        f"{revision!r} is neither a folder nor a git revision of {_shown(repository.folder)}",
        advice=_advice(repository, revision),
    )


def extract_revision(repository: Repository, commit: str, into: Path) -> None:
    """Write the files of a project's folder at a commit into an empty folder.

    Raises:
        Refused: The repository lacks a file's content, or has only a reference to it (Git LFS).
        SetupError: Git is not installed.
    """
    listed = _git(repository.folder, "ls-tree", "-r", "-z", commit)
    if listed.returncode != 0:
        raise Refused(f"git cannot list the files of {commit}: {_said(listed.stderr)}")
    entries = [_Entry.of(line) for line in listed.stdout.split(b"\0") if line]
    # Links come last, so that no file is written through one.
    kept = sorted(
        (each for each in entries if each.is_file or each.is_link), key=lambda each: each.is_link
    )
    names = "".join(f"{each.name}\n" for each in kept).encode()
    rest = _git(repository.folder, "cat-file", "--batch", given=names).stdout
    for each in kept:
        said, _, rest = rest.partition(b"\n")
        if len(said.split()) != 3:
            raise Refused(
                f"the repository lacks the content of {each.path} at this revision",
                advice="If it is a partial clone, fetch everything with `git fetch --refetch "
                "--no-filter`.",
            )
        size = int(said.split()[2])
        each.write(rest[:size], into)
        rest = rest[size + 1 :]  # behind the line's end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A line of ``git ls-tree``: the mode, the object's name, and the path below the project."""

    mode: str
    name: str
    path: str

    @classmethod
    def of(cls, line: bytes) -> _Entry:
        facts, _, path = line.partition(b"\t")
        mode, _, name = facts.decode().split(" ")
        return cls(mode=mode, name=name, path=os.fsdecode(path))

    @property
    def is_link(self) -> bool:
        return self.mode == "120000"

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")

    def write(self, content: bytes, into: Path) -> None:
        parts = PurePosixPath(self.path)
        if parts.is_absolute() or ".." in parts.parts:
            raise Refused(f"the repository has a file {self.path!r}, whose path leads out of it")
        if parts.suffix == ".csv" and content.startswith(_LFS):
            raise Refused(
                f"{self.path} is stored with Git LFS, so its rows are not in the repository",
                advice="Compare folders: `git worktree add` creates one from a revision.",
            )
        target = into / parts
        target.parent.mkdir(parents=True, exist_ok=True)
        if self.is_link:
            target.symlink_to(os.fsdecode(content))
        else:
            target.write_bytes(content)


_LFS: Final = b"version https://git-lfs.github.com/spec/"


def _git(
    folder: Path, *arguments: str, given: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(
            command, env=_environment(), capture_output=True, check=False, input=given
        )
    except OSError as error:
        raise SetupError(
            f"git cannot be run ({error.strerror}), but revisions are read with it",
            advice="Install git (Debian, Ubuntu: apt-get install git; macOS: xcode-select "
            "--install), or compare two folders.",
        ) from error


def _environment() -> dict[str, str]:
    """This process's environment without variables by which git's hooks name a repository."""
    kept = {key: each for key, each in os.environ.items() if key not in _OF_HOOKS}
    return kept | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}


_OF_HOOKS: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})


def _advice(repository: Repository, revision: str) -> str:
    """Advice for a revision that does not exist."""
    if ".." in revision:
        return "Write two revisions as two arguments: `vde compare BEFORE AFTER`."
    done = _git(repository.folder, "for-each-ref", "--format=%(refname:short)")
    known = done.stdout.decode(errors="replace").split()
    close = [each for each in known if each.endswith(f"/{revision}")]
    close += difflib.get_close_matches(revision, known, n=1)
    if close:
        return f"Did you mean {close[0]}?"
    shallow = _git(repository.folder, "rev-parse", "--is-shallow-repository").stdout
    if shallow.strip() == b"true":
        return "This is a shallow clone: `git fetch --unshallow` fetches the missing history."
    return "Name a folder, or a branch, tag or commit; `git log --oneline --all` lists commits."


def _said(stderr: bytes) -> str:
    """The first line of git's message, and what it says to do."""
    lines = [line.strip() for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    return " ".join(lines).removeprefix("fatal: ") or "git gives no reason"


def _shown(folder: Path) -> str:
    return "this folder" if folder == Path() else str(folder)
