"""Adapter: Spark and Iceberg. The only room that imports pyspark."""
