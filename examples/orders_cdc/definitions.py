"""The project in Dagster: workspace.yaml names `prod` and `dev`, dg.toml lets `dg` load `defs`."""

from functools import cache
from pathlib import Path

import dagster as dg

from vde_dagster import build_definitions, personal_environment

PROJECT = Path(__file__).parent


@cache  # Dagster calls it twice
def prod() -> dg.Definitions:
    """What production shows."""
    return build_definitions(PROJECT, environment="prod")


@cache
def dev() -> dg.Definitions:
    """A person's own environment: the one that VDE_ENVIRONMENT names, else dev; never prod."""
    return build_definitions(PROJECT, environment=personal_environment())


@dg.definitions
@cache
def defs() -> dg.Definitions:
    """For `dg`, which loads one environment: the one that VDE_ENVIRONMENT names, else prod."""
    return build_definitions(PROJECT)
