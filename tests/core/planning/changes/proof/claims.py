"""What a comparison of two revisions claims about rows, checked against the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import duckdb

from tests.core.conftest import external, read
from tests.core.planning.changes.proof.execution import Database, Rows, Tables
from tests.core.planning.changes.proof.projects import Project
from tests.core.planning.changes.proof.revisions import Revisions
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.planning.changes.difference import Change, Difference

Differences = Mapping[ModelName, Difference]
Comparer = Callable[[Project, Project], Differences]
"""What is proved to be right, or planted to be found wrong."""

_read: Callable[[str, str], Model] = lru_cache(maxsize=256)(read)


@lru_cache(maxsize=8)
def _graph(
    texts: tuple[tuple[str, str], ...], sources: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
) -> Graph:
    declared = [external(name, dict(columns)) for name, columns in sources]
    return build_graph([*declared, *(_read(name, text) for name, text in texts)])


def graph_of(project: Project) -> Graph:
    """The project as it is loaded."""
    sources = tuple(
        (name, () if name in project.undeclared else tuple(columns.items()))
        for name, columns in project.sources.items()
    )
    return _graph(tuple(project.texts().items()), sources)


def compare(before: Project, after: Project) -> Differences:
    """The comparison that is proved."""
    return compare_graphs(graph_of(before), graph_of(after))


def unaffected_descendants(differences: Differences) -> list[Difference]:
    """The models downstream of a change that are said to keep their rows."""
    return [
        each for each in differences.values() if each.category is Category.INDIRECT_NON_BREAKING
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseClaim:
    """Something that was said of a model's rows and is not so.

    ``spares`` where that was: nothing that was edited reaches the model, which was not edited.
    """

    reported: str
    spares: bool = False


def false_claims(
    revisions: Revisions, database: Database, comparer: Comparer
) -> Iterator[FalseClaim]:
    """What a comparer says of two revisions, and of the way back, and what is not so."""
    database.forget()
    before, after = (
        database.tables(each, revisions.data_set) for each in (revisions.before, revisions.after)
    )
    one, other = revisions.before.texts(), revisions.after.texts()
    edited = {name for name, _ in one.items() ^ other.items()}
    there = _Told(database=database, before=before, after=after, graph=graph_of(revisions.after))
    back = _Told(database=database, before=after, after=before, graph=graph_of(revisions.before))
    for reported, differences in (
        (there, comparer(revisions.before, revisions.after)),
        (back, comparer(revisions.after, revisions.before)),
    ):
        for each in differences.values():
            if wrong := reported.wrong(each):
                spares = _is_unaffected(each) and str(each.name) not in edited
                yield FalseClaim(reported=f"{each.name} {wrong}: {each}", spares=spares)
    yield from _false_hashes(revisions, database, before)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """The rows before and after that differences speak of, and the models as they are after."""

    database: Database
    before: Tables
    after: Tables
    graph: Graph

    def wrong(self, difference: Difference) -> str:
        """What is wrong about a difference, for people; empty where nothing is."""
        name = str(difference.name)
        if name not in self.before or self.before[name] == self.after.get(name, self.before[name]):
            return ""  # nothing to compare, or one table for both
        old = self.database.rows(self.before[name])
        new = self.database.rows(self.after[name])
        kept = self._kept(difference, new)
        missing = [each for each in kept if each not in old.columns]
        if _is_unaffected(difference) and set(old.columns) != set(new.columns):
            return f"is unaffected, and its columns were {old.columns}"
        if missing:
            return f"has {missing} again, and that is not reported"
        if kept and old.of(kept) != new.of(kept):
            return f"keeps {kept}, and {old.of(kept)} became {new.of(kept)}"
        return ""

    def _kept(self, difference: Difference, rows: Rows) -> list[str]:
        """The columns whose values, row by row, are said to stay: of those that are known."""
        if _is_unaffected(difference):
            return list(rows.columns)
        known = {each.name.lower() for each in self.graph[difference.name].columns}
        return [each for each in rows.columns if each in known - {*difference.columns_changed}]


def _is_unaffected(difference: Difference) -> bool:
    if difference.change in (Change.NONE, Change.METADATA):
        return True
    return not difference.rebuild and difference.category is Category.INDIRECT_NON_BREAKING


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
            yield FalseClaim(reported=f"{name} has one data hash for {one} and {other}")
