"""How punctual each carrier is over everything that `core.flights` holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vde_dagster import model

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vde_dagster import ModelContext


@model(
    "mart.punctuality",
    kind="FULL",
    cron="@daily",
    depends_on=["core.flights"],
    deterministic=True,
    description="Punctuality by carrier over all flights held; on time is up to 15 minutes late",
    columns={
        "carrier": "string",
        "flights": "bigint",
        "departed": "bigint",
        "on_time": "bigint",
        "punctuality": "double",
        "longest_departure_delay_minutes": "int",
    },
)
def punctuality(context: ModelContext) -> DataFrame:
    """One row per carrier; `punctuality` is on_time / departed, null where none departed."""
    from pyspark.sql import functions as F

    on_time_minutes = 15
    delay = F.col("departure_delay_minutes")
    return (
        context.table("core.flights")
        .groupBy("carrier")
        .agg(
            F.count(F.lit(1)).alias("flights"),
            F.count(delay).alias("departed"),
            F.count_if(delay <= on_time_minutes).alias("on_time"),
            F.max(delay).alias("longest_departure_delay_minutes"),
        )
        .select(
            "carrier",
            "flights",
            "departed",
            "on_time",
            F.try_divide(F.col("on_time").cast("double"), F.col("departed")).alias("punctuality"),
            "longest_departure_delay_minutes",
        )
    )
