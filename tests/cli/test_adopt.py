"""`vde adopt`: what it says, and the same on Spark with a catalog on disk."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.types import DateType, LongType, NestedField, StringType, TimestamptzType

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call, facts, run_vde
from tests.cli.changing import InMemory, write_models
from vde_dagster.composition import VdeProject
from vde_dagster.core.columns import Column
from vde_dagster.core.names import TableName

DAILY = """\
MODEL (name mart.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT CAST(at AS DATE) AS day, CAST(SUM(amount) AS BIGINT) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)
"""
OLD = TableName("old", "daily")
ROWS = [(10, date(2024, 1, 1)), (5, date(2024, 1, 2)), (7, date(2024, 1, 3))]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InMemory:
    """Three days of events, production without rows, and the sums in a table that exists."""
    folder = write_models(tmp_path / "shop", {"daily": DAILY})
    found = InMemory(folder, MemoryWorld()).serve(monkeypatch)
    found.land((1, 10), (30, 5), (50, 7), until=72)
    columns = (Column(name="amount", type="bigint"), Column(name="day", type="date"))
    found.world.catalog.create_table(OLD, columns, properties={})
    found.world.catalog.append(OLD, ROWS)
    planned = call("plan", "prod", "--skip-backfill", "--auto-apply", "--project", folder)
    assert planned.exit_code == 0, planned.stderr
    return found


def test_rows_are_compared_and_then_copied(shop: InMemory) -> None:
    asked = ("adopt", "mart.daily", "--from", "old.daily", "--project", shop.folder)
    seen = call(*asked)
    assert seen.exit_code == 0, seen.stderr
    assert seen.stdout.splitlines() == [
        "3 intervals computed and compared: the same rows as in old.daily.",
        "Nothing was written. Add --copy or --shallow to write.",
    ]
    assert shop.world.catalog.view(TableName("mart", "daily")) is None
    done = call(*asked, "--copy", "--end", "2024-01-02")
    assert done.stdout.splitlines() == [
        "2 intervals computed and compared: the same rows as in old.daily.",
        "Copied 2024-01-01 to 2024-01-03 into mart.daily: 2 rows.",
    ]
    rest = call(*asked, "--copy")
    assert rest.stdout.splitlines() == [
        "1 interval computed and compared: the same rows as in old.daily.",
        "Copied 2024-01-03 to 2024-01-04 into mart.daily: 1 row.",
        "Already loaded, and left unchanged: 2024-01-01 to 2024-01-03.",
    ]
    assert [row[1] for row in shop.rows("mart.daily")] == [10, 5, 7]
    planned = call("plan", "prod", "--no-apply", "--project", shop.folder)
    assert "Nothing" in planned.stdout


def test_other_rows_are_shown_and_nothing_is_copied(shop: InMemory) -> None:
    shop.world.catalog.append(OLD, [(1, date(2024, 1, 3))])
    asked = ("adopt", "mart.daily", "--from", "old.daily", "--copy", "--project", shop.folder)
    done = call(*asked)
    assert done.exit_code == 1
    assert "table" in done.stdout
    assert "2024-01-03" in done.stdout
    assert "nothing was written" in done.stderr
    assert shop.world.catalog.view(TableName("mart", "daily")) is None
    found = facts(*asked, exit_code=1)
    (difference,) = found["differences"]
    assert difference["columns"] == ["side", "day", "amount"]
    assert difference["rows"] == [["table", "2024-01-03", 1]]
    assert (found["copied"], found["rows"]) == ([], 0)


def test_a_shallow_copy_says_how_the_owner_keeps_the_files(shop: InMemory) -> None:
    asked = ("adopt", "mart.daily", "--from", "old.daily", "--project", shop.folder)
    both = call(*asked, "--copy", "--shallow")
    assert both.exit_code == 2
    head = shop.world.catalog.tables[OLD].head
    lines = call(*asked, "--shallow", "--check", "0").stdout.splitlines()
    assert lines[:2] == [
        "Adopted without a copy 2024-01-01 to 2024-01-04 into mart.daily: 3 rows.",
        "Its files belong to old.daily. The owner of that table protects them with this statement:",
    ]
    assert lines[2].startswith("  ALTER TABLE lake.old.daily CREATE TAG vde_")
    assert lines[2].endswith(f" AS OF VERSION {head}")


def test_what_does_not_exist_is_named(shop: InMemory) -> None:
    done = call("adopt", "mart.dayly", "--from", "old.daily", "--project", shop.folder)
    assert "mart.daily" in done.stderr
    done = call("adopt", "mart.daily", "--from", "old.dayly", "--project", shop.folder)
    assert "has no table old.dayly" in done.stderr


@pytest.mark.spark
@pytest.mark.full
@pytest.mark.parametrize("way, said", [("--copy", "Copied"), ("--shallow", "Adopted without")])
def test_on_spark_adopted_rows_have_the_digests_of_computed_ones(
    tmp_path: Path, way: str, said: str
) -> None:
    folder = write_models(tmp_path / "shop", {"daily": DAILY})
    catalog = VdeProject.load(folder).iceberg_catalog()
    _make_events(catalog)
    for name in ("raw.daily", "raw.partly"):
        days = [*ROWS, (9, date(2024, 1, 4))] if name == "raw.partly" else ROWS
        schema = Schema(
            NestedField(1, "note", StringType()),
            NestedField(2, "day", DateType()),
            NestedField(3, "amount", LongType()),
        )
        table = catalog.create_table(name, schema)
        columns = {"note": [None] * len(days), "day": [each[1] for each in days]}
        table.append(pa.table({**columns, "amount": [each[0] for each in days]}, schema.as_arrow()))
    planned = run_vde("plan", "prod", "--skip-backfill", "--auto-apply", "--project", folder)
    assert planned.returncode == 0, planned.stderr
    asked = ("adopt", "mart.daily", way, "--project", folder)
    wrong = run_vde(*asked, "--from", "raw.partly", "--check", "9")
    assert wrong.returncode == 1
    assert "2024-01-04" in wrong.stdout
    done = run_vde(*asked, "--from", "raw.daily", "--end", "2024-01-03")
    assert done.stdout.splitlines()[1].startswith(said), done.stderr
    assert "2024-01-01 to 2024-01-04 into mart.daily: 3 rows." in done.stdout
    verified = run_vde("verify", "mart.daily", "--project", folder)
    assert verified.returncode == 0, verified.stdout
    computed = run_vde(
        "plan", "prod", "--restate-model", "mart.daily", "--explain", "--project", folder
    )
    assert computed.returncode == 0
    ran = run_vde("run", "prod", "--project", folder)
    assert ran.returncode == 0, ran.stderr
    (built,) = (line for line in ran.stderr.splitlines() if "built model=mart.daily" in line)
    assert "start=2024-01-04 end=2024-01-05 intervals=1 rows=1" in built
    rows = facts("query", "SELECT day, amount FROM mart.daily ORDER BY day", "--project", folder)
    assert rows["rows"][:3] == [[str(day), amount] for amount, day in ROWS]


def _make_events(catalog: Catalog) -> None:
    """Four days of events, of which the last is not in the old tables as it should be."""
    catalog.create_namespace_if_not_exists("raw")
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "at", TimestamptzType()),
        NestedField(3, "amount", LongType()),
    )
    table = catalog.create_table(
        "raw.events", schema, properties={"vde.valid-to": "2024-01-05 00:00:00+00:00"}
    )
    start = datetime(2024, 1, 1, tzinfo=UTC)
    amounts = [(1, 10), (30, 5), (50, 7), (80, 4)]
    table.append(
        pa.table(
            {
                "id": list(range(len(amounts))),
                "at": [start + timedelta(hours=hour) for hour, _ in amounts],
                "amount": [amount for _, amount in amounts],
            },
            schema.as_arrow(),
        )
    )
