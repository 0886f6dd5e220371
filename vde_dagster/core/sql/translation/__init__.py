"""Translation from other dialects to Spark's: only parts that were run on Spark and compared."""
