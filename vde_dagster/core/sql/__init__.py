"""Queries as trees: their canonical form, their macros, and how they are written for Spark."""
