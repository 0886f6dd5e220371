"""The project's two Dagster code locations: one environment each, the same files."""

from pathlib import Path

from vde_dagster import build_definitions

PROJECT = Path(__file__).parent

prod = build_definitions(PROJECT, environment="prod")
dev = build_definitions(PROJECT, environment="dev")
