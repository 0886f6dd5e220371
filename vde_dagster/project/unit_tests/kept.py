"""Unit tests that passed, kept next to the parsed models: by all that their results follow from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.ledger.traces import why_nondeterministic
from vde_dagster.core.model.fingerprint import hash_parts
from vde_dagster.core.model.model import PythonFunction
from vde_dagster.project.cache.entries import Entries, opened
from vde_dagster.project.cache.keys import code_digest
from vde_dagster.project.cache.models import ModelCache
from vde_dagster.project.yaml_document import Entry


def key_of(graph: Graph, node: Node, entry: Entry) -> str:
    """What stands for a model with all that is upstream, a test's text and the code that runs it.

    It is empty for a query that may give other rows each time. A function is taken at its word.
    """
    is_query = not isinstance(node.model.body, PythonFunction)
    if is_query and why_nondeterministic(graph, node.name):
        return ""
    return hash_parts("unit test", _engines(), node.fingerprint.data_version, _text_of(entry))


@lru_cache(maxsize=1)
def _engines() -> str:
    return hash_parts(code_digest(), version("pyspark"), version("duckdb"))


def _text_of(entry: Entry) -> str:
    """A digest of an entry, wherever it is written."""
    parts = [_text_of(each) for each in entry.items]
    for name, each in entry.children.items():
        parts += [name, _text_of(each)]
    return hash_parts(entry.tag, repr(entry.value), *parts)


@contextmanager
def kept_results(cache: ModelCache | None) -> Iterator[Entries]:
    """The keys of tests that passed; what is put there is written at the end."""
    if cache is None:
        yield Entries()
        return
    with opened(cache.path) as entries:
        yield entries
