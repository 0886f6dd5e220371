"""No action is run twice, on the whole way of an evaluation: what it has Spark do, by kind.

`EVERY` has all numbers. Those of the writes alone, also of other layouts, are explained in
`tests/lakehouse/kinds/test_jobs.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import pyarrow as pa
import pytest

from tests.app.memory_world import DEFAULTS, bound, plan
from tests.depth import is_full
from tests.lakehouse.conftest import Lake
from tests.lakehouse.spark_work import Needed, SparkWork, Watch
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.services import Services
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place, Refused
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.ledger.dsha import MURMUR3_128, XXHASH64X2, RowSum
from vde_dagster.core.ledger.unit_of_work import Staged, Staging
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import ALWAYS, Interval
from vde_dagster.lakehouse.spark_engine import SparkEngine
from vde_dagster.project.model_files import external_source, read_model

if TYPE_CHECKING:
    from tests.conftest import SparkLake

# Which jobs there are is counted in the short form, too: tests/lakehouse/kinds/test_jobs.py
pytestmark = [pytest.mark.spark, pytest.mark.inotify, pytest.mark.full]

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
LANDED: Final = {
    1: [(1, 1, "a"), (2, 1, "b")],
    2: [(3, 2, "a")],
    3: [(1, 3, "b")],
}
"""What lands on each day, in a file of its own: id, day, region."""
SCHEMA: Final = pa.schema(
    [("id", pa.int32()), ("at", pa.timestamp("us", "UTC")), ("region", pa.string())]
)
TYPES: Final = {"id": "int", "at": "timestamp", "region": "string"}
ALL: Final = "SELECT id, at, region FROM {s}.rows"
OF_RANGE: Final = f"{ALL} WHERE at BETWEEN @start_dt AND @end_dt"
SQL: Final = "MODEL (name {s}.NAME, start '2024-01-01', {audits} kind KIND);\nQUERY"
PYTHON: Final = """from vde_dagster import model

@model("{s}.NAME", kind="FULL", depends_on=["{s}.rows"], start="2024-01-01", {audits}
       columns={"id": "int", "at": "timestamp", "region": "string"}, deterministic=True)
def rows(context):
    return context.table("{s}.rows")RETURNED
"""
AUDITS: Final = {
    ".sql": "audits (not_null (columns := (id)), number_of_rows (threshold := 0)),",
    ".py": 'audits=[("not_null", {"columns": "id"})],',
}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A model, and what evaluating it needs.

    Args:
        text: The model's file, with places for its name and schema.
        first: What is needed to load two days, which are in two files of the source.
        later: The same for the day after, of which there is a third file. None if nothing is due
            then, since it was loaded already.
        folders: Where its files are: they are watched before they are written.
    """

    text: str
    first: Needed
    later: Needed | None = None
    folders: tuple[str, ...] = ("",)

    @property
    def suffix(self) -> str:
        return ".py" if self.text.startswith("from") else ".sql"


def sql(kind: str, query: str = ALL) -> str:
    return SQL.replace("KIND", kind).replace("QUERY", query)


# Grouping the rows of a key, or sorting rows into partitions, is a job before that of the write.
# Sums are taken as rows are written, unless they are read again for several intervals, or for what
# was replaced.
EVERY: Final = {
    "full": Kind(text=sql("FULL"), first=Needed(jobs=1, source=2), later=Needed(jobs=1, source=3)),
    # A plan makes it once; `test_what_is_asked_for` asks for it again.
    "managed": Kind(text=sql("MANAGED"), first=Needed(jobs=1, source=2)),
    "seed": Kind(text=sql("SEED (path 'seed.csv'), columns (id int)", ""), first=Needed(jobs=1)),
    # It has no rows of its own, and stays as long as its query does.
    "view": Kind(
        text=sql("VIEW", "SELECT id FROM {s}.ranged"),
        first=Needed(jobs=0, audited=0, audit_jobs=0),
    ),
    "frame": Kind(
        text=PYTHON.replace("RETURNED", ""),
        first=Needed(jobs=1, source=2),
        later=Needed(jobs=1, source=3),
    ),
    # The function itself asks Spark for the rows, of which one file has one.
    "pandas": Kind(
        text=PYTHON.replace("RETURNED", ".where('id = 3').toPandas()"),
        first=Needed(jobs=1 + 1, source=1),
        later=Needed(jobs=1 + 1, source=1),
    ),
    # Two days at once have sums of their own.
    "ranged": Kind(
        text=sql("INCREMENTAL_BY_TIME_RANGE (time_column at)", OF_RANGE),
        first=Needed(jobs=2, source=2, summed=2, audited=2),
        later=Needed(jobs=2, source=1),
        folders=tuple(f"at_day=2024-01-0{number}" for number in LANDED),
    ),
    # MERGE looks for keys in its one file, and writes it again; without partitions to sort rows
    # into that is a job less than in `test_jobs`.
    "keyed": Kind(
        text=sql("INCREMENTAL_BY_UNIQUE_KEY (unique_key id)", OF_RANGE),
        first=Needed(jobs=2, source=2),
        later=Needed(jobs=2 + 6, source=1, own=1 + 1, summed=2, audit_jobs=3),
    ),
    "parted": Kind(
        text=sql("INCREMENTAL_BY_PARTITION, partitioned_by region", OF_RANGE),
        first=Needed(jobs=2, source=2, audited=2),
        later=Needed(jobs=2, source=1, summed=2, audited=2),
        folders=("region=a", "region=b"),
    ),
    "added": Kind(
        text=sql("INCREMENTAL_UNMANAGED", OF_RANGE),
        first=Needed(jobs=1, source=2),
        later=Needed(jobs=1, source=1),
    ),
    "by_time": Kind(
        text=sql("SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at)", OF_RANGE),
        first=Needed(jobs=3, source=2),
        later=Needed(jobs=3, source=1, own=1, summed=1, audited=2),
        folders=("valid_to_year=null", "valid_to_year=2024"),
    ),
    "by_column": Kind(
        text=sql("SCD_TYPE_2_BY_COLUMN (unique_key id, columns [region])", OF_RANGE),
        first=Needed(jobs=3, source=2),
        later=Needed(jobs=3, source=1, own=1, summed=1, audited=2),
        folders=("valid_to_year=null", "valid_to_year=2024"),
    ),
}
MODELS: Final = {name: kind for name, kind in EVERY.items() if is_full() or name != "by_column"}
"""Those of this form: the short one has the other history, and this one in `test_jobs`."""
WITHOUT_CHANGE: Final = Needed(jobs=3, own=1, summed=1)
"""A history whose source has no row: that nothing changes is known when all is compared."""
THREE_DAYS: Final = Interval(START, START + timedelta(days=3))
REUSED: Final = {
    "full": ALWAYS,
    "managed": ALWAYS,
    "seed": ALWAYS,
    "view": ALWAYS,
    "frame": THREE_DAYS,  # a function may look at the time that it is called for
    "pandas": THREE_DAYS,
    "ranged": Interval(START + timedelta(days=2), START + timedelta(days=3)),  # the newest source
}
"""What is asked for again, and was computed from just what is there now."""

_Result = TypeVar("_Result")


class Counted:
    """An engine; what its calls have Spark do is counted by the model that they are for."""

    def __init__(self, engine: SparkEngine, watch: Watch) -> None:
        self._engine, self._watch = engine, watch
        self.work: dict[str, SparkWork] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def stage(self, staging: Staging) -> Staged:
        return self._counted(staging.target.model.name, lambda: self._engine.stage(staging))

    def create_view(self, name: TableName, sql: str, *, comment: str = "") -> tuple[Column, ...]:
        return self._counted(
            name.name.split("__")[1], lambda: self._engine.create_view(name, sql, comment=comment)
        )

    def _counted(self, name: str, act: Callable[[], _Result]) -> _Result:
        results: list[_Result] = []
        assert name not in self.work, f"{name} was evaluated twice"
        self.work[name] = self._watch.during(lambda: results.append(act()))
        return results[0]


@dataclass(frozen=True, kw_only=True)
class Project:
    """A model of each kind over one source."""

    lake: Lake
    watch: Watch
    warehouse: Path
    graph: Graph
    algorithm: str
    audited: bool

    def land(self, number: int) -> None:
        """What comes on a day lands, and the next one begins."""
        rows = [
            (key, START + timedelta(days=day - 1), region) for key, day, region in LANDED[number]
        ]
        columns = [pa.array(each) for each in zip(*rows, strict=True)]
        table = self.lake.table(TableName(self.lake.schema, "rows"))
        table.append(pa.Table.from_arrays(columns, schema=SCHEMA))
        passed = START + timedelta(days=number) - self.lake.clock.now()
        self.lake.clock.advance(max(passed, timedelta()))

    def services(self) -> Services:
        return replace(self.lake.services(), algorithm=self.algorithm)

    def without_session(self) -> Services:
        """A process that fails where it asks for a session."""

        def refuse() -> NoReturn:
            raise AssertionError("a session was asked for")

        engine = SparkEngine(refuse, "lake", lambda: self.lake.iceberg)
        return replace(self.services(), engine=engine)

    def apply(self) -> dict[str, SparkWork]:
        """What planning and applying has Spark do: all of it in calls of the engine."""
        counted = Counted(self.lake.engine, self.watch)
        services = replace(self.services(), engine=counted)  # type: ignore[arg-type]

        def act() -> None:
            made = plan(services, self.graph)
            self._look_at(made)
            apply_plan(services, made, lambda _: None)

        assert self.watch.during(act) == SparkWork()
        return counted.work

    def key(self, name: str) -> VersionKey:
        return bound(self.services()).key(ModelName(self.lake.schema, name))

    def evaluate(self, services: Services, name: str, interval: Interval) -> Evaluated:
        return evaluate(services, bound(services), self.key(name).model, interval)

    def needed(self, needed: Needed) -> SparkWork:
        return needed.work(self.algorithm, audited=self.audited)

    def _look_at(self, made: Plan) -> None:
        """Watch the files of all versions of a plan, before there are any."""
        for name, snapshot in made.snapshots.items():
            if name.name in MODELS:
                table = VersionKey(name, snapshot.version).table
                folder = self.warehouse / table.namespace / table.name / "data"
                self.watch.add("own", folder, *MODELS[name.name].folders)


def graph_of(schema: str, *, audited: bool) -> Graph:
    """The models over their source."""
    place = Place(path=Path("external_models.yaml"))
    source = external_source(ModelName(schema, "rows"), TYPES, place=place, defaults=DEFAULTS)
    written = [
        ModelSource(
            path=Path(f"models/{name}{kind.suffix}"),
            text=kind.text.replace("NAME", name)
            .replace("{s}", schema)
            .replace("{audits}", AUDITS[kind.suffix] if audited else ""),
            defaults=DEFAULTS.as_texts(),
            attachments={"seed.csv": "id\n7\n"} if name == "seed" else {},
        )
        for name, kind in MODELS.items()
    ]
    return build_graph([read_model(each) for each in (source, *written)])


@pytest.fixture(
    params=[
        pytest.param((XXHASH64X2, False), id="xxhash64x2"),
        pytest.param((XXHASH64X2, True), id="xxhash64x2, audited", marks=pytest.mark.full),
        pytest.param((MURMUR3_128, True), id="murmur3_128, audited", marks=pytest.mark.full),
    ]
)
def project(request: pytest.FixtureRequest, lake: Lake, spark_lake: SparkLake) -> Iterator[Project]:
    algorithm, audited = request.param
    lake.iceberg.create_namespace(lake.schema)
    lake.iceberg.create_table((lake.schema, "rows"), SCHEMA)
    watch = Watch(lake.spark)
    watch.add("source", spark_lake.warehouse / lake.schema / "rows", "data")
    yield Project(
        lake=lake,
        watch=watch,
        warehouse=spark_lake.warehouse,
        graph=graph_of(lake.schema, audited=audited),
        algorithm=algorithm,
        audited=audited,
    )
    watch.close()


def test_an_evaluation_has_spark_do_what_it_needs_and_nothing_twice(project: Project) -> None:
    project.land(1)
    project.land(2)
    assert project.apply() == {name: project.needed(kind.first) for name, kind in MODELS.items()}
    project.land(3)
    later = {name: kind.later for name, kind in MODELS.items()}
    assert project.apply() == {
        name: project.needed(needed) for name, needed in later.items() if needed is not None
    }
    services = project.services()
    did = project.watch.during(lambda: project.evaluate(services, "managed", ALWAYS))
    assert did == project.needed(Needed(jobs=1, source=3))
    nothing_to_do(project)
    nothing_changes(project)


def nothing_to_do(project: Project) -> None:
    """Loaded rows that would not change are neither planned nor computed."""
    services = project.without_session()
    made = plan(services, project.graph)
    assert apply_plan(services, made, lambda _: None) == ()
    for name, interval in REUSED.items():
        assert project.evaluate(services, name, interval).reused, name
    for name in MODELS.keys() - REUSED.keys():
        with pytest.raises(Refused):  # it builds on its own rows
            project.evaluate(services, name, Interval(START, START + timedelta(days=1)))


def nothing_changes(project: Project) -> None:
    """A history without changes stays at its Iceberg snapshot."""
    key, services = project.key("by_time"), project.services()
    before = project.lake.catalog.table(key.table)
    day = Interval(START + timedelta(days=3), START + timedelta(days=4))
    done: list[Evaluated] = []
    did = project.watch.during(lambda: done.append(project.evaluate(services, "by_time", day)))
    assert did == project.needed(WITHOUT_CHANGE)
    assert before is not None
    assert project.lake.catalog.table(key.table) == before
    assert done[0].iceberg_snapshot_id == before.iceberg_snapshot_id
    assert [each.rows for each in done[0].entries] == [RowSum()]
