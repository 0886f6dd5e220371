"""Comparing two states of a project by their files alone: no state, no catalog, no engine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.planning.changes.difference import Difference, Rules
from vde_dagster.core.planning.resolution import Shown, resolve_snapshots
from vde_dagster.project.loading import ProjectFiles, load_for_comparison, models_kept_in
from vde_dagster.project.project_file import FILE_NAME
from vde_dagster.project.revisions import ProjectAt, in_folder, project_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedModel:
    """A model or source on both sides.

    ``before`` is the snapshot that a first plan of the earlier side would make, ``after`` the one
    that a plan of the later side would make then; None if the side lacks the model. ``model`` is
    the later side's, if both have one.
    """

    difference: Difference
    model: Model
    before: ModelSnapshot | None
    after: ModelSnapshot | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two sides with all their models: the later side's parents first, then what it lacks."""

    before: ProjectAt
    after: ProjectAt
    strict_columns: bool
    models: tuple[ComparedModel, ...]


def compare(
    before: str, after: str | None, *, project: Path, strict_columns: bool = False
) -> Comparison:
    """Compare two folders, or two git revisions of a project.

    Args:
        before: A folder or a revision, see `vde_dagster.project.revisions.project_at`.
        after: The same; None for the project's folder as it is.
        project: The project whose revisions are named.
        strict_columns: Whether it is breaking to remove or change a column that no model reads;
            the later side's setting may say so, too.

    Raises:
        ProjectInvalid: A side cannot be loaded; all problems of both, at places that name the side.
        Refused: A side does not exist, or git cannot read it.
        SetupError: A revision was named, and git is not installed.
    """
    with ExitStack() as opened:
        earlier = opened.enter_context(project_at(before, project))
        later = (
            in_folder(project, "the work tree")
            if after is None
            else opened.enter_context(project_at(after, project))
        )
        old, new = _load(project, earlier, later)
    strict = strict_columns or new.configuration.strict_columns
    return Comparison(
        before=earlier,
        after=later,
        strict_columns=strict,
        models=compared(old.graph, new.graph, Rules(strict_columns=strict)),
    )


def compared(before: Graph, after: Graph, rules: Rules) -> tuple[ComparedModel, ...]:
    """Every model of two graphs, with the snapshots of a first plan and of one after it."""
    old = first_snapshots(before)
    new = _snapshots(after, Shown(snapshots=old, graph=before), rules)
    return tuple(
        ComparedModel(
            difference=difference,
            model=(after if name in after else before)[name].model,
            before=old.get(name),
            after=new.get(name),
        )
        for name, difference in compare_graphs(before, after, rules).items()
    )


def first_snapshots(graph: Graph) -> Mapping[ModelName, ModelSnapshot]:
    """The snapshots that a first plan would make, where no environment has anything."""
    return _snapshots(graph, Shown(snapshots={}, graph=build_graph([])), Rules())


def _snapshots(graph: Graph, shown: Shown, rules: Rules) -> Mapping[ModelName, ModelSnapshot]:
    resolved = resolve_snapshots(graph, shown, {}, rules)
    return {name: each.snapshot for name, each in resolved.items()}


def _load(project: Path, *sides: ProjectAt) -> tuple[ProjectFiles, ...]:
    """The files of all sides, or what is wrong with any of them."""
    loaded: list[ProjectFiles] = []
    problems: list[Problem] = []
    for side in sides:
        try:
            loaded.append(_files(side, project))
        except ProjectInvalid as error:
            problems += side.problems(error)
    if problems:
        raise ProjectInvalid(problems)
    return tuple(loaded)


def _files(side: ProjectAt, project: Path) -> ProjectFiles:
    """The files of a side. Parsed models of a revision are cached in the project's folder."""
    if (side.folder / FILE_NAME).is_file():
        lasting = side.folder if side.commit is None else project
        return load_for_comparison(side.folder, models_kept_in(lasting))
    raise ProjectInvalid([_no_project(side)])


def _no_project(side: ProjectAt) -> Problem:
    place = Place(path=Path(FILE_NAME))
    if side.commit is None:
        message = "this folder is not a project: it has no vde.yaml"
        advice = f"Name a project's folder. If you mean a git revision, write git:{side.name}."
    else:
        message = f"there is no vde.yaml at {side.title}, so the project did not exist there"
        advice = "Compare with a revision that has it; --project names the project's folder."
    return Problem(place=place, message=message, advice=advice)
