"""Use cases over the ports: what the CLI, Dagster and tests all call."""
