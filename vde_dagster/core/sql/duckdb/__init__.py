"""Queries in Spark's dialect that DuckDB answers with the same rows."""
