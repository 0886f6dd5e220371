"""Own assets that return a frame: their tables, views, data versions and audits.

Expected rows are those that the assets return, by hand.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of assets as objects.
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pyarrow as pa
import pytest

from tests.app.memory_world import PROJECT
from tests.orchestration.automated_world import AutomatedWorld, in_production
from tests.orchestration.launchpad import failure
from vde_dagster import merge_definitions
from vde_dagster.core.errors import Refused

DAILY = dg.AssetKey(["mart", "daily"])
DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01")
COLUMNS = {"day": "date", "n": "bigint"}
BY_DAY = {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "day"}
FIRST, SECOND = date(2024, 1, 1), date(2024, 1, 2)


@pytest.fixture
def served(tmp_path: Path, instance: dg.DagsterInstance) -> AutomatedWorld:
    return in_production(tmp_path, instance, PROJECT)


def asset(
    rows: Any,
    version: str | None = "1",
    *,
    key: tuple[str, ...] = ("mart", "report"),
    partitions: dg.PartitionsDefinition | None = None,
    deps: tuple[dg.AssetKey, ...] = (),
    **table: object,
) -> dg.AssetsDefinition:
    """An own asset that returns ``rows``, or what that gives for the days of its partitions."""
    first = {"columns": COLUMNS} | ({"kind": BY_DAY} if partitions is not None else {})

    @dg.asset(
        key=list(key),
        code_version=version,
        partitions_def=partitions,
        deps=list(deps),
        io_manager_key="vde_io_manager",
        metadata={"vde/table": {**first, **table}} if table.get("columns", 1) else {},
    )
    def own(context: dg.AssetExecutionContext) -> object:
        return rows(context.partition_keys) if callable(rows) else rows

    return own


def rows(*values: int, day: date = FIRST) -> pa.Table:
    return pa.table(
        {"day": pa.array([day] * len(values), pa.date32()), "n": pa.array(values, pa.int64())}
    )


def by_day(amounts: Mapping[date, int]) -> Any:
    """The rows of days: one for each, with its amount."""

    def returned(keys: list[str]) -> pa.Table:
        days = [date.fromisoformat(each) for each in keys]
        return pa.concat_tables([rows(amounts[each], day=each) for each in days])

    return returned


def run(
    served: AutomatedWorld,
    *assets: dg.AssetsDefinition,
    day: str | None = None,
    environment: str = "prod",
) -> dict[str, dg.AssetMaterialization] | str:
    """Materialize own assets: their events by key, or why one failed."""
    both = merge_definitions(served.definitions(environment), dg.Definitions(assets=assets))
    done = both.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=served.instance,
        asset_selection=[each.key for each in assets],
        partition_key=day,
        raise_on_error=False,
    )
    if not done.success:
        return failure(done)
    found = done.get_asset_materialization_events()
    return {each.materialization.asset_key.path[-1]: each.materialization for each in found}


def event(served: AutomatedWorld, own: dg.AssetsDefinition, **more: Any) -> dg.AssetMaterialization:
    found = run(served, own, **more)
    assert isinstance(found, dict), found
    (one,) = found.values()
    return one


def version(reported: dg.AssetMaterialization) -> str:
    return (reported.tags or {})["dagster/data_version"]


@pytest.mark.full
def test_what_an_asset_returns_is_its_table_and_its_dsha_the_data_version(
    served: AutomatedWorld,
) -> None:
    first = event(served, asset(rows(1, 2)))
    assert served.world.rows("mart.report") == [(FIRST, 1), (FIRST, 2)]
    assert first.metadata["vde/dsha"].value == version(first)
    assert first.metadata["vde/rows_written"].value == 2
    assert first.metadata["dagster/row_count"].value == 2
    schema = first.metadata["dagster/column_schema"].value
    assert isinstance(schema, dg.TableSchema)
    assert [(each.name, each.type) for each in schema.columns] == list(COLUMNS.items())
    table = str(first.metadata["vde/physical_table"].value)
    assert table.startswith("vde__mart.mart__report__")
    assert served.world.rows(table) == served.world.rows("mart.report")
    frame = pd.DataFrame({"day": [FIRST, FIRST], "n": [2, 1]})
    again = event(served, asset(frame))
    assert version(again) == version(first), "the same rows, but not in the order"
    other = event(served, asset(rows(3)))
    assert version(other) != version(first)
    assert served.world.rows("mart.report") == [(FIRST, 3)]


@pytest.mark.full
def test_other_code_has_a_table_of_its_own(served: AutomatedWorld) -> None:
    first = event(served, asset(rows(1)))
    second = event(served, asset(rows(2), "2"))
    tables = [str(each.metadata["vde/physical_table"].value) for each in (first, second)]
    assert tables[0] != tables[1]
    assert [served.world.rows(each) for each in tables] == [[(FIRST, 1)], [(FIRST, 2)]]
    assert served.world.rows("mart.report") == [(FIRST, 2)]


@pytest.mark.full
def test_a_new_version_of_what_it_reads_gives_it_a_table_of_its_own(
    served: AutomatedWorld,
) -> None:
    before = event(served, asset(rows(1), deps=(DAILY,)))
    text = PROJECT["daily"].replace("SUM(amount)", "SUM(amount) + 1")
    served.write({**PROJECT, "daily": text})
    served.apply()
    after = event(served, asset(rows(1), deps=(DAILY,)))
    assert before.metadata["vde/physical_table"] != after.metadata["vde/physical_table"]


@pytest.mark.full
def test_a_failed_audit_leaves_readers_and_data_version_as_they_were(
    served: AutomatedWorld,
) -> None:
    audits = [["accepted_range", {"column": "n", "min_v": "0"}]]
    event(served, asset(rows(1), audits=audits))
    said = run(served, asset(rows(-1), audits=audits))
    assert isinstance(said, str)
    assert said.startswith("mart.report: nothing was published, because its audits found bad rows.")
    assert served.world.rows("mart.report") == [(FIRST, 1)]
    found = served.instance.fetch_materializations(dg.AssetKey(["mart", "report"]), limit=9)
    assert len(found.records) == 1


@pytest.mark.full
def test_a_partition_replaces_its_own_rows(served: AutomatedWorld) -> None:
    event(served, asset(by_day({FIRST: 1}), partitions=DAYS), day="2024-01-01")
    event(served, asset(by_day({SECOND: 2}), partitions=DAYS), day="2024-01-02")
    event(served, asset(by_day({FIRST: 3}), partitions=DAYS), day="2024-01-01")
    assert served.world.rows("mart.report") == [(FIRST, 3), (SECOND, 2)]


@pytest.mark.full
def test_readers_see_a_new_version_once_it_has_all_that_the_shown_one_has(
    served: AutomatedWorld,
) -> None:
    for number, day in enumerate((FIRST, SECOND)):
        event(served, asset(by_day({day: number}), partitions=DAYS), day=str(day))
    event(served, asset(by_day({FIRST: 7}), "2", partitions=DAYS), day="2024-01-01")
    assert served.world.rows("mart.report") == [(FIRST, 0), (SECOND, 1)]
    event(served, asset(by_day({SECOND: 8}), "2", partitions=DAYS), day="2024-01-02")
    assert served.world.rows("mart.report") == [(FIRST, 7), (SECOND, 8)]


def test_another_own_asset_reads_it_in_the_same_run(served: AutomatedWorld) -> None:
    given: list[Any] = []
    key = dg.AssetKey(["mart", "report"])

    @dg.asset(ins={"report": dg.AssetIn(key=key, metadata={"columns": ["n"]})}, partitions_def=DAYS)
    def mail(report: pa.Table) -> None:
        given.append(report.to_pylist())

    own = asset(by_day({FIRST: 1, SECOND: 2}), partitions=DAYS)
    assert isinstance(run(served, own, mail, day="2024-01-01"), dict)
    assert isinstance(run(served, own, mail, day="2024-01-02"), dict)
    assert given == [[{"n": 1}], [{"n": 2}]]
    newer = asset(by_day({FIRST: 1}), "2", partitions=DAYS)
    both = merge_definitions(served.definitions(), dg.Definitions(assets=[newer, mail]))
    done = both.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=served.instance,
        asset_selection=[mail.key],
        partition_key="2024-01-01",
        raise_on_error=False,
    )
    assert failure(done).startswith("mart.report is not loaded yet in prod")


def test_environments_have_tables_and_views_of_their_own(served: AutomatedWorld) -> None:
    event(served, asset(rows(1)))
    event(served, asset(rows(2), key=("mart__dev", "report")), environment="dev")
    assert served.world.rows("mart.report") == [(FIRST, 1)]
    assert served.world.rows("mart__dev.report") == [(FIRST, 2)]


def test_an_asset_below_a_model_that_has_moved_writes_nothing(served: AutomatedWorld) -> None:
    own = asset(rows(1), deps=(DAILY,))
    both = merge_definitions(served.definitions(), dg.Definitions(assets=[own]))
    text = PROJECT["daily"].replace("SUM(amount)", "SUM(amount) + 1")
    served.write({**PROJECT, "daily": text})
    served.apply()
    done = both.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=served.instance, asset_selection=[own.key], raise_on_error=False
    )
    assert "environment moved, reload" in failure(done)
    assert not any("report" in name.name for name in served.world.catalog.tables)


def test_a_plan_leaves_it_alone(served: AutomatedWorld) -> None:
    event(served, asset(rows(1)))
    served.write({**PROJECT, "total": "MODEL (name mart.total, kind FULL);\nSELECT 1 AS one"})
    served.apply()
    assert served.world.rows("mart.report") == [(FIRST, 1)]


IN_BERLIN = dg.HourlyPartitionsDefinition("2024-01-01-00:00", timezone="Europe/Berlin")
AT_SIX = dg.DailyPartitionsDefinition("2024-01-01-06:00", hour_offset=6)


@pytest.mark.parametrize(
    "own, said",
    [
        (asset(rows(1), columns={}), "does not declare its columns. Add `metadata={"),
        (asset(rows(1), None), "has no code version, which is part of its table's name. Add"),
        (asset(rows(1), key=("report",)), "it needs two parts, schema and name. Give it"),
        (asset(rows(1), key=("raw", "other"), kind="VIEW"), "cannot be of kind VIEW"),
        (asset(rows(1), kind=BY_DAY), "it is loaded by time range, and has no partitions"),
        (asset(rows(1), partitions=DAYS, kind="FULL"), "does not name its time column"),
        (asset(rows(1), partitions=IN_BERLIN), "its partitions are not time windows in UTC"),
        (asset(rows(1), key=("team_a", "mart", "report")), "it needs two parts"),
        (asset(rows(1), partitions=AT_SIX), "(0 6 * * *) do not start at the boundaries of a day"),
        (asset(rows(1), audits=["not_nul"]), "not_nul"),
        (asset(rows(1), depends_on=["a.b"]), "an asset that returns rows cannot have depends_on"),
        (asset(rows(1), columns={"day": "dat"}), "dat"),
    ],
)
def test_what_an_asset_does_not_say_is_refused_when_it_is_loaded(
    served: AutomatedWorld, own: dg.AssetsDefinition, said: str
) -> None:
    with pytest.raises(Refused) as error:
        merge_definitions(served.definitions(), dg.Definitions(assets=[own]))
    assert said in str(error.value)
    assert str(error.value).startswith(f"the asset {own.key.to_user_string()}")


@pytest.mark.full
def test_rows_that_do_not_fit_are_refused(served: AutomatedWorld) -> None:
    said = run(served, asset(pa.table({"n": [1]})))
    assert isinstance(said, str)
    assert "columns" in said


def test_assets_that_would_share_a_table_are_refused_together(served: AutomatedWorld) -> None:
    first, second = asset(rows(1)), asset(rows(2), key=("Mart", "Report"))
    said = r"would write the same table \(Mart/Report, mart/report: mart\.report\)"
    with pytest.raises(Refused, match=said):
        merge_definitions(served.definitions(), dg.Definitions(assets=[first, second]))
    once = merge_definitions(served.definitions(), dg.Definitions(assets=[first]))
    with pytest.raises(Refused, match=said):
        merge_definitions(once, dg.Definitions(assets=[second]))


@pytest.mark.full
def test_old_code_that_ends_after_new_code_does_not_move_the_view_back(
    served: AutomatedWorld,
) -> None:
    event(served, asset(rows(1)))
    old = asset(rows(2))
    loaded = merge_definitions(served.definitions(), dg.Definitions(assets=[old]))
    event(served, asset(rows(3), "2"))
    job = loaded.resolve_implicit_global_asset_job_def()
    assert job.execute_in_process(instance=served.instance, asset_selection=[old.key]).success
    assert served.world.rows("mart.report") == [(FIRST, 3)]
    event(served, old)
    assert served.world.rows("mart.report") == [(FIRST, 2)], "deployed again, on purpose"


@pytest.mark.full
@pytest.mark.parametrize(
    "cron, fmt, key",
    [("0 0 * * 1", "%Y-%m-%d", "2024-01-01"), ("0 0 1 */3 *", "%d.%m.%Y", "01.01.2024")],
)
def test_partitions_longer_than_the_unit_are_read_whole(
    served: AutomatedWorld, cron: str, fmt: str, key: str
) -> None:
    given: list[Any] = []
    long = dg.TimeWindowPartitionsDefinition(cron_schedule=cron, start=FIRST.strftime(fmt), fmt=fmt)
    report = dg.AssetKey(["mart", "report"])

    @dg.asset(ins={"report": dg.AssetIn(key=report)}, partitions_def=long)
    def mail(report: pa.Table) -> None:
        given.extend(report["n"].to_pylist())

    both = pa.concat_tables([rows(1, day=FIRST), rows(2, day=date(2024, 1, 7))])
    assert isinstance(run(served, asset(both, partitions=long), mail, day=key), dict)
    assert sorted(given) == [1, 2]
