"""The project that `./run demo` built in Dagster, or the flights example as long as there is none.

``VDE_PROJECT`` names another one. The code location's metadata says which folder it serves.
"""

import os
from functools import cache
from pathlib import Path

import dagster as dg

from vde_dagster import build_definitions, personal_environment

HERE = Path(__file__).parent
BUILT, EXAMPLE = HERE / "nyc_flights", HERE / "examples" / "nyc_flights"
PROJECT = Path(os.environ.get("VDE_PROJECT") or (BUILT if BUILT.is_dir() else EXAMPLE))


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
