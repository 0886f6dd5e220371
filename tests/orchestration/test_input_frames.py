"""An own asset that reads a model: what it is given, by its annotation and its partitions.

Expected rows are the events that landed, by hand.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of assets as objects.
import sys
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import dagster as dg
import pandas as pd
import pyarrow as pa
import pytest
from pyiceberg.table import Table
from pyspark.sql import DataFrame

from tests.app.memory_world import PROJECT, RAW, bound, hour_of
from tests.orchestration.automated_world import AutomatedWorld, in_production
from tests.orchestration.conftest import applied_on_spark
from tests.orchestration.launchpad import failure
from vde_dagster import merge_definitions
from vde_dagster.app.leases import leased
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import environment_resource

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample

EVENTS = dg.AssetKey(["staging", "events"])
DAILY = dg.AssetKey(["mart", "daily"])
PEOPLE = dg.AssetKey(["mart", "people"])
DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01")
FIRST, SECOND = date(2024, 1, 1), date(2024, 1, 2)


@pytest.fixture
def served(tmp_path: Path, instance: dg.DagsterInstance) -> AutomatedWorld:
    return in_production(tmp_path, instance, PROJECT)


def run(
    served: AutomatedWorld, asset: dg.AssetsDefinition, *days: str, environment: str = "prod"
) -> str:
    """Materialize an own asset; returns why it failed, or an empty text."""
    both = merge_definitions(served.definitions(environment), dg.Definitions(assets=[asset]))
    names = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
    done = both.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=served.instance,
        asset_selection=[asset.key],
        tags=dict(zip(names, (days[0], days[-1]), strict=True)) if days else {},
        raise_on_error=False,
    )
    return failure(done)


def reader(
    form: Any, *, partitions: dg.PartitionsDefinition | None = None, **given_by: Any
) -> tuple[dg.AssetsDefinition, list[Any]]:
    """An own asset that reads the days or another input in a form, and all that it is given."""
    given: list[Any] = []

    def report(rows: object) -> None:
        given.append(rows)

    report.__annotations__["rows"] = form
    read = dg.AssetIn(**{"key": DAILY, **given_by})
    return dg.asset(ins={"rows": read}, partitions_def=partitions)(report), given


def column(tables: list[Any], name: str) -> list[list[Any]]:
    """A column of each of some tables of Arrow."""
    return [each[name].to_pylist() for each in tables]


@pytest.mark.full
def test_an_asset_without_partitions_is_given_all_rows_as_pandas(served: AutomatedWorld) -> None:
    report, given = reader(pd.DataFrame)
    assert run(served, report) == ""
    assert given[0].to_dict("list") == {"day": [FIRST, SECOND], "amount": [10, 1]}


@pytest.mark.full
def test_columns_are_those_that_are_named_in_their_order(served: AutomatedWorld) -> None:
    names = {"columns": ["AMOUNT", "id"]}
    report, given = reader(pa.Table, partitions=DAYS, key=EVENTS, metadata=names)
    assert run(served, report, "2024-01-02") == ""
    assert given[0].to_pylist() == [{"amount": 1, "id": 2}]


@pytest.mark.full
def test_a_partition_mapping_of_yours_decides_what_is_read(served: AutomatedWorld) -> None:
    before = dg.TimeWindowPartitionMapping(
        start_offset=-1, end_offset=-1, allow_nonexistent_upstream_partitions=True
    )
    report, given = reader(pa.Table, partitions=DAYS, partition_mapping=before)
    assert run(served, report, "2024-01-02") == ""
    assert run(served, report, "2024-01-01") == "", "there is nothing before the first day"
    assert column(given, "day") == [[FIRST], []]


def test_a_range_of_partitions_is_given_at_once(served: AutomatedWorld) -> None:
    given: list[list[Any]] = []

    @dg.asset(
        ins={"days": dg.AssetIn(key=DAILY)},
        partitions_def=DAYS,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def report(days: pa.Table) -> None:
        given.append(days["day"].to_pylist())

    assert run(served, report, "2024-01-01", "2024-01-02") == ""
    assert given == [[FIRST, SECOND]]


def test_a_view_and_an_argument_without_annotation_come_from_the_engine(
    served: AutomatedWorld,
) -> None:
    given: list[Any] = []

    @dg.asset(ins={"view": dg.AssetIn(key=PEOPLE), "days": dg.AssetIn(key=DAILY)})
    def report(view: pa.Table, days) -> None:  # type: ignore[no-untyped-def] # that is tested
        given.extend([view["amount"].to_pylist(), sorted(days.collect())])

    assert run(served, report) == ""
    assert given == [[10, 1], [(FIRST, 10), (SECOND, 1)]]


def test_a_source_is_given_as_it_is_now(served: AutomatedWorld) -> None:
    report, given = reader(pd.DataFrame, key=["raw", "events"], metadata={"columns": ["amount"]})
    served.world.land((60, 5), until=72)
    assert run(served, report) == ""
    assert [sorted(each["amount"]) for each in given] == [[1, 5, 10]]
    served.world.catalog.drop_table(RAW)
    assert run(served, report) == "the source raw.events does not exist in the catalog. Load it."


def test_a_source_that_an_own_asset_writes_is_read_by_its_table(served: AutomatedWorld) -> None:
    given: list[int] = []
    key = dg.AssetKey(["raw", "events"])

    @dg.asset(key=key)
    def landed() -> None: ...

    @dg.asset(ins={"landed": dg.AssetIn(key=key, input_manager_key="vde_io_manager")})
    def report(landed: pa.Table) -> None:
        given.append(landed.num_rows)

    own = dg.Definitions(assets=[landed, report])
    job = merge_definitions(served.definitions(), own).resolve_implicit_global_asset_job_def()
    assert job.execute_in_process(instance=served.instance, asset_selection=[report.key]).success
    assert given == [2]


@pytest.mark.full
def test_an_asset_check_of_yours_is_given_the_rows_of_its_model(served: AutomatedWorld) -> None:
    @dg.asset_check(asset=DAILY)
    def positive(days: pd.DataFrame) -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=bool((days["amount"] > 0).all()))

    both = merge_definitions(served.definitions(), dg.Definitions(asset_checks=[positive]))
    job = dg.define_asset_job("checks", selection=dg.AssetSelection.checks(positive))
    with_job = dg.Definitions.merge(both, dg.Definitions(jobs=[job]))
    done = with_job.resolve_job_def("checks").execute_in_process(instance=served.instance)
    assert [each.passed for each in done.get_asset_check_evaluations()] == [True]


def test_polars_is_given_where_it_is_installed(
    served: AutomatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    polars = ModuleType("polars")
    frame = type("DataFrame", (list,), {"__module__": "polars.dataframe.frame"})
    vars(polars)["from_arrow"] = lambda rows: frame(rows.to_pylist())
    monkeypatch.setitem(sys.modules, "polars", polars)
    report, given = reader(frame, metadata={"columns": ["amount"]})
    assert run(served, report) == ""
    assert given == [[{"amount": 10}, {"amount": 1}]]


@pytest.mark.parametrize(
    "annotation, shown",
    [(dict[str, int], "Dict[str, int]"), (pd.Series, "pandas.Series"), (int, "int")],
)
def test_other_annotations_are_refused_with_those_that_work(
    served: AutomatedWorld, annotation: object, shown: str
) -> None:
    report, given = reader(annotation)
    assert run(served, report) == (
        f"the rows of mart/daily cannot be passed as {shown}, which the argument 'rows' is "
        "annotated with. Annotate it with one of pyspark.sql.DataFrame, pandas.DataFrame, "
        "pyarrow.Table, pyiceberg.table.Table, polars.DataFrame."
    )
    assert given == []


@pytest.mark.parametrize(
    "names, said",
    [
        (["day", "amuont"], "mart.daily has no column amuont. Did you mean amount? It has: day, "),
        ("day", "`columns` of the input 'rows' is 'day'. Write a list of names, as in "),
    ],
)
def test_columns_that_are_not_there_are_refused(
    served: AutomatedWorld, names: object, said: str
) -> None:
    report, given = reader(pa.Table, metadata={"columns": names})
    assert run(served, report).startswith(said)
    assert given == []


def restate(served: AutomatedWorld, *numbers: int) -> None:
    """Mark days as to be evaluated again, as a plan does that fails before it evaluates them."""
    services = served.world.services()
    binding = bound(services)
    key = binding.key(ModelName("mart", "daily"))
    days = [Interval(hour_of(24 * (each - 1)), hour_of(24 * each)) for each in numbers]
    resource = environment_resource("prod")
    with leased(services.state, resource, holder="a test", ttl=services.lease_ttl) as lease:
        services.state.outdate({key: days}, reason="restated", lease=lease)


@pytest.mark.full
def test_an_asset_without_partitions_is_given_no_rows_around_a_gap_unless_it_says_so(
    served: AutomatedWorld,
) -> None:
    report, none = reader(pa.Table)
    what_there_is, given = reader(pa.Table, metadata={"with_gaps": True})
    served.world.land((60, 5), until=72)
    served.apply()
    restate(served, 2)
    assert run(served, report) == (
        "mart.daily is not loaded for [2024-01-02, 2024-01-03) in prod. Materialize it first, or "
        'allow missing rows with `dg.AssetIn(metadata={"with_gaps": True})`.'
    )
    assert run(served, what_there_is) == ""
    assert (none, column(given, "day")) == ([], [[FIRST, date(2024, 1, 3)]])


@pytest.mark.full
def test_an_own_asset_of_dev_reads_what_dev_shows(served: AutomatedWorld) -> None:
    report, given = reader(pa.Table, partitions=DAYS, key=["mart__dev", "daily"])
    served.apply("dev")
    assert run(served, report, "2024-01-02", environment="dev") == ""
    assert column(given, "amount") == [[1]]


@applied_on_spark
def test_every_form_has_the_same_rows_and_only_spark_starts_spark(
    applied: "Sample", instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}
    key = dg.AssetIn(key=DAILY)

    @dg.asset(ins={"days": key})
    def without_spark(days: pd.DataFrame) -> None:
        given["pandas"] = days.to_dict("list")

    @dg.asset(ins={"events": dg.AssetIn(key=EVENTS)}, partitions_def=DAYS)
    def by_day(events: pa.Table) -> None:
        given["arrow"] = sorted(events["id"].to_pylist())

    @dg.asset(ins={"days": key})
    def iceberg(days: Table) -> None:
        given["iceberg"] = days.scan().to_arrow()["events"].to_pylist()

    @dg.asset(ins={"days": key, "view": dg.AssetIn(key=PEOPLE)})
    def on_spark(days: DataFrame, view: pd.DataFrame) -> None:
        given["spark"] = [row["events"] for row in days.collect()]
        given["view"] = view["events"].tolist()

    own = dg.Definitions(assets=[without_spark, by_day, iceberg, on_spark])
    job = merge_definitions(applied.definitions(), own).resolve_implicit_global_asset_job_def()

    def materialize(asset: dg.AssetsDefinition, day: str | None = None) -> None:
        selected = [asset.key]
        assert job.execute_in_process(
            instance=instance, asset_selection=selected, partition_key=day
        ).success

    with monkeypatch.context() as without:
        without.setattr("vde_dagster.composition.VdeProject.open_spark", None)
        materialize(without_spark)
        materialize(by_day, "2024-01-01")
        materialize(iceberg)
    materialize(on_spark)
    assert given["pandas"]["events"] == [24]
    assert given["pandas"]["day"] == [FIRST]
    assert given["arrow"] == list(range(24))
    assert given["iceberg"] == given["spark"] == given["view"] == [24]


def test_a_table_of_pyiceberg_is_refused_where_it_would_show_deletes(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    kind = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, sequence_by at, delete_when amount = 0)"
    text = f"MODEL (name mart.daily, kind {kind}, cron '@daily'); "
    keyed = {"daily": text + "SELECT id, at, amount FROM raw.events"}
    served = in_production(tmp_path, instance, keyed)
    report, given = reader(Table)
    assert "has hidden rows" in run(served, report)
    assert given == []
