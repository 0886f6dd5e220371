"""What a comparison of two revisions claims about rows, held against the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import duckdb

from tests.core.changes.proof.execution import Database, Rows, Tables
from tests.core.changes.proof.projects import Project
from tests.core.changes.proof.revisions import Revisions
from tests.core.conftest import external, read
from vde_dagster.core.changes.comparison import compare_graphs
from vde_dagster.core.changes.difference import Change, Difference
from vde_dagster.core.graph import Graph, build_graph
from vde_dagster.core.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.core.snapshot import Category

Differences = Mapping[ModelName, Difference]
Comparer = Callable[[Project, Project], Differences]
"""What is proved to be right, or planted to be found wrong."""

_read: Callable[[str, str], Model] = lru_cache(maxsize=256)(read)


@lru_cache(maxsize=8)
def _graph(texts: tuple[tuple[str, str], ...], sources: tuple[tuple[str, str], ...]) -> Graph:
    declared = [external(name, dict(_pairs(columns))) for name, columns in sources]
    return build_graph([*declared, *(_read(name, text) for name, text in texts)])


def _pairs(columns: str) -> Iterator[tuple[str, str]]:
    for each in columns.split("; "):
        name, _, kind = each.partition(" ")
        yield name, kind


def graph_of(project: Project) -> Graph:
    """The project as it is loaded."""
    sources = tuple(
        (name, "; ".join(f"{column} {kind}" for column, kind in columns.items()))
        for name, columns in project.sources.items()
    )
    return _graph(tuple(project.texts().items()), sources)


def compare(before: Project, after: Project) -> Differences:
    """The comparison that is proved."""
    return compare_graphs(graph_of(before), graph_of(after))


def unaffected_descendants(differences: Differences) -> list[Difference]:
    """The models below a change that are said to keep their rows."""
    return [
        each for each in differences.values() if each.category is Category.INDIRECT_NON_BREAKING
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseClaim:
    """Something that was said of a model's rows and is not so.

    ``spares`` where that was: nothing that was edited reaches the model, which was not edited.
    """

    told: str
    spares: bool = False


def false_claims(
    revisions: Revisions, database: Database, comparer: Comparer
) -> Iterator[FalseClaim]:
    """What a comparer says of two revisions, and of the way back, and what is not so."""
    there = comparer(revisions.before, revisions.after)
    back = comparer(revisions.after, revisions.before)
    database.forget()
    before, after = (
        database.tables(each, revisions.data_set) for each in (revisions.before, revisions.after)
    )
    told = [_false(each, database, before, after) for each in there.values()]
    told += [_false(each, database, after, before) for each in back.values()]
    edited = {
        name for name, _ in revisions.before.texts().items() ^ revisions.after.texts().items()
    }
    for difference, wrong in zip((*there.values(), *back.values()), told, strict=True):
        if wrong:
            spares = _is_unaffected(difference) and str(difference.name) not in edited
            yield FalseClaim(told=f"{difference.name} {wrong}: {difference}", spares=spares)
    yield from _false_hashes(revisions, database, before)


def _false(difference: Difference, database: Database, before: Tables, after: Tables) -> str:
    """What is wrong about a difference, for people; empty where nothing is."""
    name = str(difference.name)
    if name not in before or before[name] == after.get(name, before[name]):
        return ""  # nothing to compare, or one table for both
    old, new = database.rows(before[name]), database.rows(after[name])
    claimed = _kept(difference, new)
    missing = [each for each in claimed if each not in old.columns]
    if _is_unaffected(difference) and set(old.columns) != set(new.columns):
        return f"is unaffected, and its columns were {old.columns}"
    if missing:
        return f"has {missing} anew, and that is not told"
    if claimed and old.of(claimed) != new.of(claimed):
        return f"keeps {claimed}, and {old.of(claimed)} became {new.of(claimed)}"
    return ""


def _is_unaffected(difference: Difference) -> bool:
    if difference.change in (Change.NONE, Change.METADATA):
        return True
    return not difference.rebuild and difference.category is Category.INDIRECT_NON_BREAKING


def _kept(difference: Difference, rows: Rows) -> list[str]:
    """The columns whose values, row by row, are said to stay."""
    if _is_unaffected(difference):
        return list(rows.columns)
    return [each for each in rows.columns if each not in difference.columns_changed]


def _false_hashes(revisions: Revisions, database: Database, tables: Tables) -> Iterator[FalseClaim]:
    """Queries of one data hash that return different rows from the same tables."""
    before, after = graph_of(revisions.before), graph_of(revisions.after)
    written = {each.name: each for each in revisions.before.models}
    for model in revisions.after.models:
        name = ModelName.parse(model.name)
        if name not in before or written[model.name].text() == model.text():
            continue
        old, new = before[name].fingerprint, after[name].fingerprint
        if old.data != new.data:
            continue
        try:
            one, other = (
                database.rows(database.table(each, tables)) for each in (written[model.name], model)
            )
        except duckdb.BinderException:
            continue  # it names a new column of a parent, where that does not matter to it
        if one.columns != other.columns or one.of(one.columns) != other.of(one.columns):
            yield FalseClaim(told=f"{name} has one data hash for {one} and {other}")
