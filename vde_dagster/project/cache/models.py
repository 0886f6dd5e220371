"""The cache of models as they were read, and of what was derived from them.

An entry's key is a digest of all that it depends on, so an entry is never wrong, only missing:
after any edit, and after any change of the code that reads. Syntax trees stay packed until
they are used. A model with problems is never kept.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Finding
from vde_dagster.core.graph.deriving import Derived
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.losses import losses
from vde_dagster.core.json_forms import Plain
from vde_dagster.core.model.fingerprint import hash_parts
from vde_dagster.core.model.model import (
    SESSION,
    AuthorsText,
    Body,
    Model,
    ModelSource,
    Query,
    SeedRows,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import CanonicalQuery
from vde_dagster.core.sql.meaning.parts import Meaning
from vde_dagster.project.cache.entries import Entries, Parts, opened
from vde_dagster.project.cache.keys import code_digest, is_lasting, source_digest
from vde_dagster.project.cache.values import CODEC, Unkept, pack_trees, unpack_trees
from vde_dagster.project.settings import variables_of

FILE_NAME: Final = "parsed_models.sqlite"

_COLUMNS: Final = tuple[Column, ...]
_RECENT: Final = 16
"""How many graphs are kept in memory: a process looks at a few environments again and again."""

Sources = Mapping[ModelName, ModelSource]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCache:
    """The file in which models are kept. If it cannot be used, all models are read again.

    ``code`` identifies the code that reads them: entries of other code are not found. Models that
    use one of the variables in ``private`` are never kept: their values may be secrets. So may
    settings of Spark's session be, which are part of a key as a digest, and of no entry.
    """

    path: Path
    code: str = field(default_factory=code_digest)
    private: frozenset[str] = frozenset()
    _graphs: list[tuple[Sources, Graph]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def graph(self, sources: Sources, read: Callable[[], Graph]) -> Graph:
        """The graph of these sources: the one that this process has, else as it is read now.

        So what was found out about its models is known, too. Code that runs when a model is read
        may do anything, so a graph with such a model is read each time.
        """
        for known, graph in tuple(self._graphs):
            if known == sources:
                return graph
        graph = read()
        if all(is_lasting(each) for each in sources.values()):
            self._graphs[:] = [(sources, graph), *self._graphs[: _RECENT - 1]]
        return graph

    @contextmanager
    def known(self) -> Iterator[KnownModels]:
        """The kept models; models that are read meanwhile are written at the end."""
        with opened(self.path) as entries:
            yield KnownModels(entries, self.code, self.private)


@contextmanager
def known_models(cache: ModelCache | None) -> Iterator[KnownModels]:
    """The models of a cache; without one nothing is known, and nothing is kept."""
    if cache is None:
        yield KnownModels(None, "")
    else:
        with cache.known() as known:
            yield known


@dataclass(slots=True)
class KnownModels:
    """Looks up models and what was derived from them, and notes new ones (`Derivations`)."""

    entries: Entries | None
    code: str
    private: frozenset[str] = frozenset()
    _columns: dict[ModelName, tuple[tuple[Column, ...], str]] = field(default_factory=dict)

    def model(self, source: ModelSource, read: Callable[[ModelSource], Model]) -> Model:
        """The model of a source: as it was read before, else as it is read now.

        Raises:
            ProjectInvalid: It cannot be read.
        """
        if self.entries is None or source.path.suffix != ".sql":
            return read(source)
        key = f"model {hash_parts(self.code, source_digest(source))}"
        kept = self.entries.get(key)
        if kept is not None:
            return _unpacked_model(kept, source)
        model = read(source)
        if self._may_be_kept(model.source):
            self._put(key, lambda: _packed_model(model, source))
        return model

    def find(
        self, model: Model, upstream: Mapping[ModelName, Node], *, undeclared: bool
    ) -> Derived | None:
        """What was derived from a model and its upstream nodes."""
        key = self._key(model, upstream, undeclared=undeclared)
        return self._get_derived(key) if key is not None else None

    def keep(
        self,
        model: Model,
        upstream: Mapping[ModelName, Node],
        derived: Derived,
        *,
        undeclared: bool,
    ) -> None:
        """Keep what was derived from a model."""
        key = self._key(model, upstream, undeclared=undeclared)
        if key is not None:
            self._put_derived(key, derived)

    def losses(self, graph: Graph, node: Node) -> tuple[Finding, ...]:
        """The time bounds that leave out rows; a query without any is not looked at again."""
        derived = self._key(node.model, graph.nodes, undeclared=False)
        key = None if derived is None else f"bounds of {derived}"
        if key is not None and self.entries is not None and self.entries.get(key) is not None:
            return ()
        found = losses(graph, node)
        if key is not None and not found:
            self._put(key, lambda: [b""])
        return found

    def _get_derived(self, key: str) -> Derived | None:
        kept = self.entries.get(key) if self.entries is not None else None
        return _unpacked_derived(kept) if kept is not None else None

    def _put_derived(self, key: str, derived: Derived) -> None:
        self._put(key, lambda: _packed_derived(derived))

    def _put(self, key: str, packed: Callable[[], Parts]) -> None:
        if self.entries is None:
            return
        try:
            self.entries.put(key, packed())
        except Unkept:
            return

    def _key(
        self, model: Model, upstream: Mapping[ModelName, Node], *, undeclared: bool
    ) -> str | None:
        """A digest of a model and of what it sees upstream; None if that is more than texts."""
        parts = [self.code, str(undeclared)]
        waiting, seen = [model], {model.name}
        while waiting:  # an EMBEDDED parent is a part of the query: what that reads counts, too
            each = waiting.pop()
            if not self._may_be_kept(each.source):
                return None
            parts += [source_digest(each.source), each.start.isoformat()]
            for parent in each.parents:
                parts += [str(parent), self._columns_of(upstream[parent])]
                inner = upstream[parent].model
                if inner.kind.is_embedded and parent not in seen:
                    seen.add(parent)
                    waiting.append(inner)
        return f"derived {hash_parts(*parts)}"

    def _may_be_kept(self, used: ModelSource) -> bool:
        """Whether a source, which has the variables that its model uses, is in no way private."""
        return is_lasting(used) and self.private.isdisjoint(variables_of(used))

    def _columns_of(self, node: Node) -> str:
        """A digest of a node's columns and time column, computed once for all its readers."""
        columns, digest = self._columns.get(node.name, ((), ""))
        if columns is not node.columns or not digest:
            texts = (text for each in node.columns for text in (each.name, each.type))
            digest = hash_parts(*texts, str(node.time_axis))
            self._columns[node.name] = (node.columns, digest)
        return digest


def _packed_model(model: Model, source: ModelSource) -> Parts:
    body = model.body
    trees = [*body.before, body.expression, *body.after] if isinstance(body, Query) else []
    text = body.text if isinstance(body, Query) else None
    facts: dict[str, object] = {
        "model": CODEC.write(Model, model),
        "query": [
            body.dialect,
            body.is_timed,
            body.reads_as_of,
            len(body.before),
            len(body.after),
        ]
        if isinstance(body, Query)
        else None,
        "text": [text.catalog, text.original, text.query, text.before, text.after]
        if text is not None
        else None,
        "seed": _name_of(body.text, source) if isinstance(body, SeedRows) else None,
        "defaults": {k: text for k, text in model.source.defaults.items() if k != SESSION},
        "attachments": sorted(model.source.attachments),
    }
    return [json.dumps(facts, separators=(",", ":")).encode(), pack_trees(trees)]


def _name_of(text: str, source: ModelSource) -> str:
    found = (path for path, each in source.attachments.items() if each == text)
    name = next(found, None)
    if name is None:
        raise Unkept("a seed without a file")
    return name


def _unpacked_model(kept: Parts, source: ModelSource) -> Model:
    facts = json.loads(kept[0])
    attached = {path: source.attachments[path] for path in facts["attachments"]}
    session = {SESSION: source.defaults[SESSION]} if SESSION in source.defaults else {}
    own = ModelSource(
        path=source.path,
        text=source.text,
        defaults={**facts["defaults"], **session},
        attachments=attached,
    )
    body = _unpacked_body(facts, kept[1], source)
    return CODEC.read(Model, facts["model"], source=own, body=body)


def _unpacked_body(facts: Mapping[str, Plain], trees: bytes, source: ModelSource) -> Body:
    seed = facts["seed"]
    if facts["query"] is None:
        return SeedRows(text=source.attachments[cast("str", seed)]) if seed is not None else None
    dialect, timed, as_of, before, after = cast("tuple[str, bool, bool, int, int]", facts["query"])
    last = before + 1 + after
    makers: dict[str, Callable[[], object]] = {"expression": lambda: unpack_trees(trees)[before]}
    known: dict[str, object] = {"dialect": dialect, "timed": timed, "as_of": as_of}
    if before:
        makers["before"] = lambda: tuple(unpack_trees(trees)[:before])
    else:
        known["before"] = ()
    if after:
        makers["after"] = lambda: tuple(unpack_trees(trees)[before + 1 : last])
    else:
        known["after"] = ()
    catalog, original, query, first, behind = cast(
        "tuple[str, str, str, list[str], list[str]]", facts["text"]
    )
    known["text"] = AuthorsText(
        catalog=catalog, original=original, query=query, before=tuple(first), after=tuple(behind)
    )
    return Query.deferred(makers, **known)


def _packed_derived(derived: Derived) -> Parts:
    canonical = derived.canonical
    facts = {
        "columns": CODEC.write(_COLUMNS, derived.columns),
        "own": CODEC.write(_COLUMNS, canonical.columns) if canonical is not None else None,
        "is_bound": canonical.is_bound if canonical is not None else None,
        "data": derived.data,
        "metadata": derived.metadata,
    }
    text = json.dumps(facts, separators=(",", ":")).encode()
    if canonical is None:
        return [text]
    meaning = json.dumps(CODEC.write(Meaning, canonical.meaning), separators=(",", ":")).encode()
    return [text, pack_trees([canonical.expression]), zlib.compress(meaning, 1)]


def _unpacked_derived(kept: Parts) -> Derived:
    facts = json.loads(kept[0])
    return Derived(
        canonical=_unpacked_query(facts, kept[1:]) if facts["own"] is not None else None,
        columns=CODEC.read(_COLUMNS, facts["columns"]),
        data=facts["data"],
        metadata=facts["metadata"],
    )


def _unpacked_query(facts: Mapping[str, Plain], packed: Sequence[bytes]) -> CanonicalQuery:
    tree, meaning = packed
    return CanonicalQuery.deferred(
        {
            "expression": lambda: cast("exp.Query", unpack_trees(tree)[0]),
            "meaning": lambda: CODEC.read(Meaning, json.loads(zlib.decompress(meaning))),
        },
        columns=CODEC.read(_COLUMNS, facts["own"]),
        is_bound=facts["is_bound"],
        refusals=(),
    )
