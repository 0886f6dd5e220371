"""The flights example as two Dagster code locations; ``VDE_PROJECT`` names another project."""

import os
from pathlib import Path

from vde_dagster import build_definitions

PROJECT = Path(os.environ.get("VDE_PROJECT") or Path(__file__).parent / "examples" / "nyc_flights")

prod = build_definitions(PROJECT, environment="prod")
dev = build_definitions(PROJECT, environment="dev")
