"""Queries as syntax trees: their canonical form, their time macros, and Spark's SQL for them."""
