"""Reading Spark's SQL as Spark does."""
