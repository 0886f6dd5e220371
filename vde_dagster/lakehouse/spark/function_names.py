"""The names of Spark's functions, without a session."""

from __future__ import annotations


def spark_functions() -> frozenset[str]:
    """Those that `pyspark.sql.functions` has, in lower case; most of SQL's are among them."""
    from pyspark.sql import functions

    return frozenset(name.lower() for name in dir(functions))
