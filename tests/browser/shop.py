"""The small project that the scenes are played on, and what lands in its sources.

It is built with `vde` in processes of its own, as a person does: real Spark, and a state, a catalog
and a Dagster home in its folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, TimestamptzType

from tests.cli.calling import run_vde
from vde_dagster.app.services import VALID_TO
from vde_dagster.composition import VdeProject

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
LANDED_HOURS: Final = 48

FILES: Final = {
    "vde.yaml": """\
name: shop
defaults:
  start: 2024-01-01
clock:
  valid_to: [raw.orders]
""",
    "external_models.yaml": """\
- name: raw.orders
  columns: {id: bigint, ordered_at: timestamp, amount: int}
- name: raw.prices
  columns: {article: string, price: int}
""",
    "models/staging/orders.sql": """\
MODEL (
  name staging.orders,
  kind INCREMENTAL_BY_TIME_RANGE (time_column ordered_at),
  cron '@hourly',
  owner 'shop',
  description 'Orders by the hour in which they were made',
  late_data (mode stateless, sources (raw.orders))
);
SELECT
  id AS id, -- Number of the order
  ordered_at AS ordered_at, -- When it was made
  amount AS amount -- In cents
FROM raw.orders
WHERE ordered_at BETWEEN @start_dt AND @end_dt
""",
    "models/mart/revenue.sql": """\
MODEL (
  name mart.revenue,
  kind INCREMENTAL_BY_TIME_RANGE (time_column day),
  cron '@daily',
  owner 'shop',
  description 'Revenue by day',
  audits (not_null (columns := (day, revenue)))
);
SELECT
  CAST(ordered_at AS DATE) AS day, -- Day, UTC
  SUM(amount) AS revenue -- In cents
FROM staging.orders
WHERE ordered_at BETWEEN @start_dt AND @end_dt
GROUP BY CAST(ordered_at AS DATE)
""",
    "models/mart/best_days.sql": """\
MODEL (name mart.best_days, kind VIEW, owner 'shop', description 'Days of much revenue');
SELECT day, revenue FROM mart.revenue WHERE revenue > 100
""",
    "models/mart/articles.sql": """\
MODEL (name mart.articles, kind FULL, owner 'shop', description 'All articles');
SELECT article AS article FROM raw.prices
""",
    "models/mart/prices.sql": """\
MODEL (
  name mart.prices,
  kind FULL,
  owner 'shop',
  description 'Prices of articles',
  audits (accepted_range (column := price, min_v := 0))
);
SELECT article AS article, price AS price FROM raw.prices
""",
    "definitions.py": """\
from vde_dagster import build_definitions

prod = build_definitions(".", environment="prod")
dev = build_definitions(".", environment="dev")
""",
    "workspace.yaml": """\
load_from:
  - python_file: {relative_path: definitions.py, attribute: prod, location_name: prod}
  - python_file: {relative_path: definitions.py, attribute: dev, location_name: dev}
""",
}


@dataclass(frozen=True, slots=True)
class Shop:
    """The project's folder."""

    folder: Path

    @classmethod
    def build(cls, folder: Path) -> Shop:
        """Two days of orders and two prices, built in production and shared with dev."""
        made = cls(folder)
        for name, text in FILES.items():
            made.write(name, text)
        made._create_sources()
        hours = range(LANDED_HOURS)
        made.land_orders([(hour, hour + 0.5, 10) for hour in hours], until=LANDED_HOURS)
        made.land_prices(("bread", 310), ("milk", 120))
        made.vde("plan", "prod", "--auto-apply")
        made.vde("plan", "dev", "--auto-apply")
        return made

    def write(self, path: str, text: str) -> None:
        """Write a file of the project."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def vde(self, *arguments: str) -> str:
        """What a command prints; it has to succeed."""
        done = run_vde(*arguments, "--project", self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def land_orders(self, orders: list[tuple[int, float, int]], *, until: float) -> None:
        """Land (id, hour in which it was made, amount); the source is complete to an hour."""
        rows = [
            {"id": number, "ordered_at": START + timedelta(hours=hour), "amount": amount}
            for number, hour, amount in orders
        ]
        self._land("raw.orders", rows, {VALID_TO: (START + timedelta(hours=until)).isoformat()})

    def land_prices(self, *prices: tuple[str, int]) -> None:
        """Land prices of articles."""
        self._land("raw.prices", [{"article": each, "price": cents} for each, cents in prices])

    def _land(
        self, name: str, rows: list[dict[str, object]], properties: dict[str, str] | None = None
    ) -> None:
        table = VdeProject.load(self.folder).iceberg_catalog().load_table(name)
        with table.transaction() as change:
            change.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
            if properties:
                change.set_properties(properties)

    def _create_sources(self) -> None:
        catalog = VdeProject.load(self.folder).iceberg_catalog()
        catalog.create_namespace("raw")
        orders = Schema(
            NestedField(1, "id", LongType()),
            NestedField(2, "ordered_at", TimestamptzType()),
            NestedField(3, "amount", IntegerType()),
        )
        prices = Schema(
            NestedField(1, "article", StringType()), NestedField(2, "price", IntegerType())
        )
        for name, schema in (("raw.orders", orders), ("raw.prices", prices)):
            catalog.create_table(name, schema, properties={"format-version": "2"})
