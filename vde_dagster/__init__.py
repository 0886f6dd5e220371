"""Virtual data environments on Dagster, Spark and Iceberg.

The public names stand in ``__all__``. They are loaded when they are first used, so that importing
this package, or its pure core, loads neither Dagster nor Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from vde_dagster.version import __version__

if TYPE_CHECKING:
    from vde_dagster.composition import VdeProject
    from vde_dagster.lakehouse.staging.evaluation import ModelContext
    from vde_dagster.orchestration.assets.conditions import on_changed_data, when_due
    from vde_dagster.orchestration.assets.io_manager import VdeIcebergIOManager
    from vde_dagster.orchestration.assets.translator import VdeTranslator, VdeTranslatorData
    from vde_dagster.orchestration.component import VdeProjectComponent
    from vde_dagster.orchestration.definitions import build_definitions, personal_environment
    from vde_dagster.orchestration.launchers.run_launcher import VdeRunLauncher
    from vde_dagster.orchestration.merging import merge_definitions
    from vde_dagster.project.macros.files import macro
    from vde_dagster.project.macros.user import MacroEvaluator
    from vde_dagster.project.python_models import model
    from vde_dagster.project.signals import signal

_HOMES = {
    "MacroEvaluator": "vde_dagster.project.macros.user",
    "ModelContext": "vde_dagster.lakehouse.staging.evaluation",
    "VdeIcebergIOManager": "vde_dagster.orchestration.assets.io_manager",
    "VdeProject": "vde_dagster.composition",
    "VdeProjectComponent": "vde_dagster.orchestration.component",
    "VdeRunLauncher": "vde_dagster.orchestration.launchers.run_launcher",
    "VdeTranslator": "vde_dagster.orchestration.assets.translator",
    "VdeTranslatorData": "vde_dagster.orchestration.assets.translator",
    "build_definitions": "vde_dagster.orchestration.definitions",
    "personal_environment": "vde_dagster.orchestration.definitions",
    "macro": "vde_dagster.project.macros.files",
    "merge_definitions": "vde_dagster.orchestration.merging",
    "model": "vde_dagster.project.python_models",
    "on_changed_data": "vde_dagster.orchestration.assets.conditions",
    "signal": "vde_dagster.project.signals",
    "when_due": "vde_dagster.orchestration.assets.conditions",
}

__all__ = [
    "MacroEvaluator",
    "ModelContext",
    "VdeIcebergIOManager",
    "VdeProject",
    "VdeProjectComponent",
    "VdeRunLauncher",
    "VdeTranslator",
    "VdeTranslatorData",
    "__version__",
    "build_definitions",
    "macro",
    "merge_definitions",
    "model",
    "on_changed_data",
    "personal_environment",
    "signal",
    "when_due",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]  # Dagster's `dg` looks here for components
