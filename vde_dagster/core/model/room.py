"""How many models may be evaluated at once: the words for it, and their bounds."""

from __future__ import annotations

from typing import Final

CONCURRENCY: Final = "concurrency"
"""The name of the setting, of the option and of the model's property."""
MOST_MODELS: Final = 64
"""Each model that runs has a thread, a Spark session and now and then a connection to the state."""
DEFAULT_MODELS: Final = 1
"""What fits into memory alone need not fit beside another model: a person says that it does."""
