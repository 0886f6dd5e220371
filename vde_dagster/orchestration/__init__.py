"""Dagster: each function here maps one Dagster object to one use case, and adds no meaning."""
