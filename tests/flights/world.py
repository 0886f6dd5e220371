"""The flights of the example with their real delays, landed hour by hour in memory.

To the example's own stateless models `flight_state.sql` adds a stateful one: what every flight does
at the end of each hour. A flight that leaves late is known when it leaves, and its row belongs to
the hour in which it should have left, since which it was waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import landing
import pyarrow as pa

from tests.app.memory_world import MemoryWorld, bound, build
from tests.app.read_models import read_before
from tests.worlds.clock import ManualClock
from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.project.cache.models import known_models
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model

START: Final = datetime(2013, 1, 1, tzinfo=UTC)
HOUR: Final = timedelta(hours=1)
DEPARTURES: Final = ModelName("staging", "departures")
ARRIVALS: Final = ModelName("staging", "arrivals")
STATE: Final = ModelName("core", "flight_state")
MODELS: Final = (DEPARTURES, ARRIVALS, STATE)

_DEFAULTS: Final = Defaults(start=START)
_STAGING: Final = Path(landing.__file__).parent / "models" / "staging"
_STATE_FILE: Final = Path(__file__).with_name("flight_state.sql")
_TYPES: Final = {"int": "int", "string": "string", "boolean": "boolean", "timestamptz": "timestamp"}
_LEFT_OUT: Final = ("landing_date", "landing_hour", "batch_id")


@cache
def feeds() -> Mapping[str, landing.Feed]:
    """What lands in each raw table, by its name; reading it takes seconds."""
    every = landing._feeds(landing.data_folder())
    return {each.table.removeprefix("raw."): each for each in every}


def columns_of(feed: landing.Feed) -> dict[str, str]:
    """The columns of a raw table here, with their types in Spark."""
    kept = (name for name in feed.columns if name not in _LEFT_OUT)
    return {name: _TYPES[str(feed.columns[name])] for name in kept}


def landed(name: str, first: datetime, end: datetime) -> pa.Table:
    """What lands in a raw table from one whole hour to another."""
    feed = feeds()[name]
    since = first
    batches = []
    while (batch := feed.next_batch(since, end)) is not None:
        batches.append(batch.rows)
        since = batch.hour + HOUR
    empty = feed.rows.slice(0, 0)
    return pa.concat_tables([empty, *batches]).select(list(columns_of(feed)))


def project(*, change: Callable[[str], str] | None = None) -> Graph:
    """The two stateless models of the example with the stateful one; or, changed, they alone."""
    texts = [(_STAGING / f"{name}.sql").read_text("utf-8") for name in ("departures", "arrivals")]
    texts = [*texts, _STATE_FILE.read_text("utf-8")] if change is None else [*map(change, texts)]
    place = Place(path=Path("external_models.yaml"))
    sources = [
        external_source(
            ModelName("raw", name), columns_of(feeds()[name]), place=place, defaults=_DEFAULTS
        )
        for name in ("departures", "arrivals")
    ]
    written = [
        ModelSource(path=Path(f"models/{number}.sql"), text=text, defaults=_DEFAULTS.as_texts())
        for number, text in enumerate(texts)
    ]
    with known_models(read_before()) as known:
        models = [known.model(each, read_model) for each in (*sources, *written)]
        return build_graph(models, known=known)


@dataclass
class FlightsWorld:
    """The lake and the project; `hour` is up to when all is landed."""

    graph: Graph = field(default_factory=project)
    world: MemoryWorld = field(default_factory=lambda: MemoryWorld(clock=ManualClock(START)))
    hour: datetime = START
    binding: Binding | None = None

    def __post_init__(self) -> None:
        for name in ("departures", "arrivals"):
            kinds = columns_of(feeds()[name])
            columns = tuple(Column(name=each, type=kind) for each, kind in kinds.items())
            properties = {VALID_TO: START.isoformat()}
            self.world.catalog.create_table(TableName("raw", name), columns, properties=properties)

    def services(self) -> Services:
        sources = (ModelName("raw", "departures"), ModelName("raw", "arrivals"))
        return replace(self.world.services(), clock_sources=sources)

    def land(self, until: datetime) -> None:
        """Each hour lands as one file, as the example's landing does it."""
        while self.hour < until:
            end = self.hour + HOUR
            for name in ("departures", "arrivals"):
                table = TableName("raw", name)
                rows = landed(name, self.hour, end)
                if rows.num_rows:
                    self.world.catalog.append(table, tuples(rows))
                self.world.catalog.set_property(table, VALID_TO, end.isoformat())
            self.hour = end
            self.world.clock.advance(end - self.world.clock.now())

    def build(self) -> None:
        build(self.services(), self.graph)
        self.binding = bound(self.services())

    def tick(self) -> Mapping[ModelName, Evaluated | NothingToLoad]:
        """One session of each model, facts first."""
        assert self.binding is not None, "it was built before"
        services = self.services()
        return {name: catch_up(services, self.binding, name) for name in MODELS}

    def rows(self, name: ModelName) -> list[tuple[Any, ...]]:
        assert self.binding is not None, "it was built before"
        table = self.world.catalog.tables.get(self.binding.key(name).table)
        return [] if table is None else list(table.rows_at(table.head))


def tuples(rows: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
