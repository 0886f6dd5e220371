"""Virtual data environments on Dagster, Spark and Iceberg."""
