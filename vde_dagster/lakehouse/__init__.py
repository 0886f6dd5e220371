"""Adapter: Spark and Iceberg. The only package that imports pyspark."""
