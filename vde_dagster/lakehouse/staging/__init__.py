"""One unit of work on Spark: its rows, whether they fit, its branch, and its audits."""
