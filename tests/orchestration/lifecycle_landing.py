"""The landing of the example customer_lifecycle, under a name that no other example's has."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "customer_lifecycle"


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lifecycle_landing", EXAMPLE / "landing.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


landing: Final = _loaded()
