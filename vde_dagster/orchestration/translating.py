"""Finding a project's translator, and what it calls models and their checks in Dagster.

`vde` reports its runs to Dagster, too, without a code location: so a translator that changes keys
or checks is named in ``vde.yaml``, and both know it.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import ProjectInvalid, Refused
from vde_dagster.core.names import ModelName, ViewNaming
from vde_dagster.orchestration.checks import CheckNames, check_specs
from vde_dagster.orchestration.translator import (
    VdeTranslator,
    VdeTranslatorData,
    asset_key,
    readable_table,
)
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.modules import ModuleFailed, parse_module, run_module

_ADVICE = "Write it like `dagster: {translator: translator.OurTranslator}` for translator.py."


def project_translator(configuration: Configuration) -> VdeTranslator:
    """The translator that ``vde.yaml`` names, else `VdeTranslator`.

    Raises:
        Refused: There is no such class.
        ProjectInvalid: Its file cannot be run.
    """
    named = configuration.translator
    return _loaded(named, configuration.folder) if named is not None else VdeTranslator()


def _loaded(path: str, folder: Path) -> VdeTranslator:
    """An instance of the class that a dotted path names: of a file in the project, else of Python.

    A file of the project is run by itself, and is not put on the import path.
    """
    module, _, name = path.replace(":", ".").rpartition(".")
    if not module:
        raise Refused(f"dagster.translator names no class: {path}", advice=_ADVICE)
    file = Path(*module.split(".")).with_suffix(".py")
    try:
        if (folder / file).is_file():
            tree = parse_module((folder / file).read_text("utf-8"), file)
            found = run_module(tree, file).namespace.get(name)
        else:
            found = getattr(importlib.import_module(module), name, None)
    except ModuleFailed as error:
        raise ProjectInvalid([error.problem]) from error
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # something else is missing, which that module imports
        where = f"neither the project's file {file} nor a module of Python"
        raise Refused(f"dagster.translator: {module} is {where}", advice=_ADVICE) from error
    if not (isinstance(found, type) and issubclass(found, VdeTranslator)):
        message = f"dagster.translator: {name} is no subclass of VdeTranslator in {module}"
        raise Refused(message, advice=_ADVICE)
    return found()


def translated_checks(
    translator: VdeTranslator, data: VdeTranslatorData, key: dg.AssetKey
) -> dict[str, dg.AssetCheckSpec]:
    """The checks of a model's asset, by the names that `check_specs` gives them."""
    found = {
        each.name: translator.get_asset_check_spec(data, each)
        for each in check_specs(data.node, key)
    }
    return {name: spec for name, spec in found.items() if spec is not None}


def asset_keys(
    translator: VdeTranslator, project: VdeProject, binding: Binding, naming: ViewNaming
) -> dict[ModelName, dg.AssetKey]:
    """The keys of an environment's models and sources."""
    environment = binding.environment
    if type(translator) is VdeTranslator:  # a whole specification takes its time
        tables = {node.name: readable_table(node, environment, naming) for node in binding.graph}
        return {name: asset_key(table) for name, table in tables.items()}
    every = translator_data(project, binding, naming)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # code references
        return {name: translator.get_asset_spec(data).key for name, data in every.items()}


def check_names(
    translator: VdeTranslator,
    project: VdeProject,
    binding: Binding,
    naming: ViewNaming,
    keys: Mapping[ModelName, dg.AssetKey],
) -> CheckNames:
    """The names that a translator gives to the checks of models with audits."""
    if type(translator) is VdeTranslator:
        return {}
    return {
        name: {
            ours: spec.name
            for ours, spec in translated_checks(translator, data, keys[name]).items()
        }
        for name, data in translator_data(project, binding, naming).items()
    }


def translator_data(
    project: VdeProject,
    binding: Binding,
    naming: ViewNaming,
    unplanned: Mapping[ModelName, str] | None = None,
) -> dict[ModelName, VdeTranslatorData]:
    """What a translator gets to know of each model and source of an environment.

    Args:
        project: The project.
        binding: What the environment runs.
        naming: How its views are named.
        unplanned: How the files of models differ from that.
    """
    changed = unplanned or {}
    return {
        node.name: VdeTranslatorData(
            environment=binding.environment,
            node=node,
            snapshot=binding.snapshots[node.name],
            folder=project.configuration.folder,
            unplanned_change=changed.get(node.name),
            naming=naming,
        )
        for node in binding.graph
    }
