"""From other dialects to Spark's: what was run on Spark and compared, and nothing else."""
