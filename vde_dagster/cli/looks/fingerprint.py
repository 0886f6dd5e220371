"""`vde fingerprint`: the hashes that identify a model, and the values that are hashed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click
from rich.text import Text

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import table

if TYPE_CHECKING:
    from rich.table import Table

    from vde_dagster.core.graph.graph import Node
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.sql.canonical import CanonicalQuery

_SHOWN: Final = 160
"""How much of a part is shown to a person."""


@options.command("fingerprint")
@click.argument("models", nargs=-1, type=options.model, metavar="[MODEL...]")
@click.option("--parts", is_flag=True, help="Show the hashed values by name.")
def fingerprint_command(call: Call, *, models: tuple[ModelName, ...], parts: bool) -> None:
    """Show the fingerprint of each MODEL of the files, by default of all models and sources.

    It has four hashes: data (all that affects the model's own rows), parent data (the same for all
    upstream models), metadata (all that does not affect rows, such as descriptions) and parent
    metadata. The digest is the hash of the four. The layout of a file never counts.

    The version names the model's table or view, and is the one that a first plan gives it. It is
    the hash of the two about data; for a VIEW, of its own data and of the tables that it reads. A
    plan may let a model keep an earlier version, and then a VIEW that reads it also has another
    version.

    Use --parts to see why two fingerprints differ. Only files are read.

    For example:

        vde fingerprint mart.revenue --parts
    """
    from vde_dagster.app.inspect.compare import first_snapshots
    from vde_dagster.project.loading import load_for_comparison, models_kept_in

    graph = load_for_comparison(call.folder, models_kept_in(call.folder)).graph
    wanted = dict.fromkeys(call.model(graph, name).name for name in models)
    nodes = [graph[name] for name in wanted] if models else list(graph)
    versions = {name: each.version for name, each in first_snapshots(graph).items()}
    document = {"models": [_facts(node, versions[node.name], parts=parts) for node in nodes]}
    if parts:
        texts = [line for node in nodes for line in _part_lines(node, versions[node.name])]
        call.answer(document, texts)
    else:
        call.answer(document, [_table(nodes, versions)])


def _facts(node: Node, version: str, *, parts: bool) -> dict[str, object]:
    found = node.fingerprint
    facts: dict[str, object] = {
        "name": str(node.name),
        "kind": node.model.kind.keyword,
        "fingerprint": found,
        "digest": found.digest,
        "version": version,
    }
    if parts:
        facts["parts"] = {
            kind: [{"name": name, "value": value} for name, value in each]
            for kind, each in _parts(node).items()
        }
        facts["query"] = _query(node)
    return facts


def _query(node: Node) -> dict[str, object] | None:
    """The canonical query of a SQL model and the hashes of its parts, which its hash combines."""
    if node.canonical is None:
        return None
    meaning = node.canonical.meaning
    return {
        "sql": node.canonical.expression.sql(comments=False),
        "rows": meaning.rows.part.digest.hex(),
        "columns": [{"name": name, "hash": part.digest.hex()} for name, part in meaning.columns],
        "order": meaning.order.digest.hex() if meaning.order is not None else None,
    }


def _parts(node: Node) -> dict[str, list[tuple[str, str]]]:
    """The canonical values behind a model's own two hashes, by name."""
    from vde_dagster.core.model.fingerprint import data_parts, metadata_parts

    def named(parts: Sequence[str]) -> list[tuple[str, str]]:
        split = (part.partition("=") for part in parts)
        return [(name, value) for name, _, value in split]

    return {
        "data": named(data_parts(node.model, node.canonical)),
        "metadata": named(metadata_parts(node.model, node.canonical)),
    }


def _hashes(node: Node, version: str) -> dict[str, str]:
    found = node.fingerprint
    return {
        "digest": found.digest,
        "version": version,
        "data": found.data,
        "parent data": found.parent_data,
        "metadata": found.metadata,
        "parent metadata": found.parent_metadata,
    }


def _table(nodes: Sequence[Node], versions: Mapping[ModelName, str]) -> Table:
    columns = ("model", "digest", "version", "data", "parent data", "metadata", "parent metadata")
    shown = table(*columns, whole=columns)
    for node in nodes:
        hashes = _hashes(node, versions[node.name]).values()
        shown.add_row(Text(str(node.name), style="bold"), *(each[:8] for each in hashes))
    return shown


def _part_lines(node: Node, version: str) -> Iterator[Text]:
    """A model's full hashes, each of its own two with the values behind it."""
    parts = _parts(node)
    yield Text.assemble((str(node.name), "bold"), f" {node.model.kind.keyword}")
    for name, value in _hashes(node, version).items():
        yield Text.assemble(f"  {name:<18}", (value, "cyan"))
        for part, content in parts.get(name, []):
            if content:
                yield _part(4, 16, part, content)
            if part == "body" and node.canonical is not None:
                yield from _query_lines(node.canonical)


def _query_lines(canonical: CanonicalQuery) -> Iterator[Text]:
    """The hashes that the hash of a query combines, and its canonical SQL."""
    meaning = canonical.meaning
    named = [(f"column {name}", part) for name, part in meaning.columns]
    order = [("order", meaning.order)] if meaning.order is not None else []
    for name, part in (("rows", meaning.rows.part), *named, *order):
        yield _part(6, 24, name, part.digest.hex())
    yield _part(6, 24, "read as", canonical.expression.sql(comments=False))


def _part(indent: int, width: int, name: str, content: str) -> Text:
    return Text.assemble((f"{' ' * indent}{name:<{width}}", "dim"), _shortened(content))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    more = len(line) - _SHOWN
    return f"{line[:_SHOWN]}... and {more:,} characters more" if more > 0 else line
