"""The example's modules are scripts of a user's folder: tests import them from there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "nyc_flights"))
