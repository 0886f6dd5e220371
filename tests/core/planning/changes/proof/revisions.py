"""Two revisions of a generated project, one to three edits apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.core.planning.changes.proof import edits, rewrites
from tests.core.planning.changes.proof.edits import Edit
from tests.core.planning.changes.proof.execution import DATA_SETS
from tests.core.planning.changes.proof.generation import model, project
from tests.core.planning.changes.proof.projects import HIDDEN, KINDS, Project, repaired_project
from tests.core.planning.changes.proof.rewrites import Rewrite
from tests.core.planning.changes.proof.scopes import sites, with_site
from tests.core.planning.changes.proof.terms import Choices

WAYS = 4
"""In so many ways each project is edited: loading a project takes the longest."""
Step = Callable[[Choices, Project, int], Project | None]
"""An edit of a project around one model; None where there is nothing of the kind to edit."""


def select_step(edit: Edit) -> Step:
    """An edit of one SELECT of the model, rather of the last one."""

    def step(choices: Choices, project: Project, index: int) -> Project | None:
        model, relations = project.models[index], project.relations(index)
        found = sites(model.query, relations)
        first = choices.number(len(found) - 1)
        for shift in range(len(found)):
            at = len(found) - 1 - (first + shift) % len(found)
            select = edit(choices, found[at])
            if select is not None:
                query = with_site(model.query, relations, at, select)
                return project.with_model(index, replace(model, query=query))
        return None

    return step


def query_step(rewrite: Rewrite) -> Step:
    """An edit of the model's whole query."""

    def step(choices: Choices, project: Project, index: int) -> Project | None:
        model = project.models[index]
        query = rewrite(choices, model.query, project.relations(index))
        return project.with_model(index, replace(model, query=query)) if query else None

    return step


def change_kind(choices: Choices, project: Project, index: int) -> Project | None:
    """Another kind."""
    kind = choices.pick([each for each in KINDS if each != project.models[index].kind])
    return project.with_model(index, replace(project.models[index], kind=kind))


def describe(choices: Choices, project: Project, index: int) -> Project | None:
    """Words for people."""
    text = f", description '{choices.name()}'"
    return project.with_model(index, replace(project.models[index], properties=text))


def add_source_column(choices: Choices, project: Project, index: int) -> Project | None:
    """One more column of a source, in front or behind; not declared where none are declared."""
    name, column = choices.pick(list(project.sources)), choices.pick(list(HIDDEN))
    if name in project.undeclared:
        return None
    declared, added = dict(project.sources[name]), {column: HIDDEN[column]}
    columns = {**added, **declared} if choices.chance(50) else {**declared, **added}
    return replace(project, sources={**project.sources, name: columns})


def remove_model(choices: Choices, project: Project, index: int) -> Project | None:
    """One model less."""
    if len(project.models) < 3:
        return None
    return replace(project, models=(*project.models[:index], *project.models[index + 1 :]))


def add_model(choices: Choices, project: Project, index: int) -> Project | None:
    """One model more."""
    if "m.z" in project.texts():
        return None
    added = replace(model(choices, project.relations(index), index), name="m.z")
    return replace(project, models=(*project.models[:index], added, *project.models[index:]))


_ADD, _CHANGE, _REMOVE, _PUSH = map(
    select_step,
    (edits.add_column, edits.change_column, edits.remove_column, edits.insert_before_ordinals),
)
COLUMNS: Sequence[Step] = (_ADD, _ADD, _ADD, _CHANGE, _CHANGE, _REMOVE, _PUSH)
"""The commonest edits: they leave something as it was."""
STEPS: Sequence[Step] = (
    *COLUMNS,
    *(
        select_step(each)
        for each in (
            edits.rename_column,
            edits.reorder_columns,
            edits.add_key,
            edits.add_aggregate,
            edits.add_explode,
            edits.toggle_unnest,
            edits.change_filter,
            edits.change_join,
            edits.add_join,
            edits.swap_tables,
            edits.move_condition,
            edits.change_relation,
            edits.change_group,
            edits.change_having,
            edits.change_qualify,
            edits.toggle_distinct,
            edits.change_order,
        )
    ),
    *(
        query_step(each)
        for each in (
            rewrites.change_operation,
            rewrites.add_to_all_sides,
            rewrites.turn_sides,
            rewrites.spell_out_star,
            rewrites.inline_common,
            rewrites.extract_common,
            rewrites.wrap,
            rewrites.lift_condition,
            rewrites.sink_condition,
            rewrites.group_instead,
            rewrites.turn_comparison,
        )
    ),
    change_kind,
    describe,
    add_source_column,
    add_source_column,
    remove_model,
    add_model,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisions:
    """A project before and after some edits, and the set of tables to run both on."""

    before: Project
    after: Project
    data_set: int

    def __repr__(self) -> str:
        """Both as files, for people."""
        reported: list[str] = []
        for title, each in (("before", self.before), ("after", self.after)):
            reported.append(
                f"\n-- {title}: {dict(each.sources)}, undeclared {set(each.undeclared)}"
            )
            reported += each.texts().values()
        return "\n".join(reported)


def revisions(seed: int) -> tuple[Revisions, ...]:
    """A project that is edited in several ways."""
    choices = Choices(Random(seed))
    before = project(choices)
    data_set = choices.number(DATA_SETS - 1)
    return tuple(
        Revisions(before=before, after=_after(choices, before), data_set=data_set)
        for _ in range(WAYS)
    )


def _after(choices: Choices, before: Project) -> Project:
    """A project after one to three edits."""
    steps = choices.pick((*[COLUMNS] * 3, STEPS))
    after = _edited(choices, before, _read_one(choices, before), steps)
    for _ in range(choices.pick((0, 0, 0, 0, 1, 2))):
        after = _edited(choices, after, choices.number(len(after.models) - 1), STEPS)
    return after


def _read_one(choices: Choices, project: Project) -> int:
    """A model that others read, rather an early one."""
    read = [index for index, each in enumerate(project.models) if project.readers(each.name)]
    return min(choices.pick(read), choices.pick(read)) if read else 0


def _edited(choices: Choices, project: Project, index: int, steps: Sequence[Step]) -> Project:
    """A project after one of some edits: the first from a chosen one on that can be made."""
    first = choices.number(len(steps) - 1)
    for step in (*steps[first:], *steps[:first]):
        found = step(choices, project, index)
        if found is not None:
            fixed = repaired_project(found)
            if fixed != project:
                return fixed
    return project
