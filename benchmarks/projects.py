"""Projects to measure with: N models in layers, and N models in one chain, for two tools.

Every second model is incremental over 30 days, the others are FULL. The queries have the same text
for both tools, except for the time macros' columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LAYERS = 10
SOURCE = "raw.events"
COLUMNS = {"id": "bigint", "ts": "timestamp", "amount": "bigint"}
START, END = "2024-01-01", "2024-01-30"


@dataclass(frozen=True, slots=True)
class Shape:
    """A project: so many models in layers (two parents each), or in one chain."""

    models: int
    chain: bool = False

    def __str__(self) -> str:
        return f"chain {self.models}" if self.chain else str(self.models)

    @property
    def folder(self) -> str:
        return f"{'chain' if self.chain else 'layers'}_{self.models}"

    def parents(self) -> Iterator[tuple[str, str, str]]:
        """Each model's name with the names of the two that it reads, parents first."""
        if self.chain:
            names = [SOURCE, *(f"c{number // 100}.m{number}" for number in range(self.models))]
            for number in range(self.models):
                yield names[number + 1], names[number], names[max(number - 1, 0)]
            return
        width = max(1, self.models // LAYERS)
        for number in range(self.models):
            layer, place = divmod(number, width)
            first, second = (
                SOURCE if layer == 0 else f"l{layer - 1}.m{(place + shift) % width}"
                for shift in (0, 1)
            )
            yield f"l{layer}.m{place}", first, second


def write_ours(folder: Path, shape: Shape) -> None:
    """A project of vde_dagster."""
    settings = f"name: bench\ndefaults:\n  start: {START}\n"
    columns = ", ".join(f"{name}: {kind}" for name, kind in COLUMNS.items())
    _write(folder / "vde.yaml", settings)
    _write(folder / "external_models.yaml", f"- name: {SOURCE}\n  columns: {{{columns}}}\n")
    for number, (name, first, second) in enumerate(shape.parents()):
        head = f"MODEL (name {name}, kind {_kind(number)}, end '{END}');\n"
        _write(_model(folder, name), head + _query(number, first, second))


def write_theirs(folder: Path, shape: Shape) -> None:
    """The same project for SQLMesh, on DuckDB; the dialect is the same."""
    _write(
        folder / "config.yaml",
        "gateways:\n  local:\n"
        f"    connection: {{type: duckdb, database: '{folder}/db.duckdb'}}\n"
        f"    state_connection: {{type: duckdb, database: '{folder}/state.duckdb'}}\n"
        "default_gateway: local\ndisable_anonymized_analytics: true\n"
        f"model_defaults: {{dialect: spark, start: {START}}}\n",
    )
    columns = ", ".join(f"{name}: {kind}" for name, kind in COLUMNS.items())
    _write(folder / "external_models.yaml", f"- name: {SOURCE}\n  columns: {{{columns}}}\n")
    for number, (name, first, second) in enumerate(shape.parents()):
        head = f"MODEL (name {name}, kind {_kind(number)}, end '{END}');\n"
        _write(_model(folder, name), head + _query(number, first, second))


def _kind(number: int) -> str:
    return "INCREMENTAL_BY_TIME_RANGE (time_column ts)" if number % 2 else "FULL"


def _query(number: int, first: str, second: str) -> str:
    timed = "WHERE a.ts BETWEEN @start_dt AND @end_dt\n" if number % 2 else ""
    return (
        f"SELECT a.id AS id, a.ts AS ts, a.amount + COALESCE(b.amount, {number}) AS amount\n"
        f"FROM {first} AS a LEFT JOIN {second} AS b ON a.id = b.id\n{timed}"
    )


def _model(folder: Path, name: str) -> Path:
    return folder / "models" / f"{name.replace('.', '/')}.sql"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
