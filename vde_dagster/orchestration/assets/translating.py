"""Finding a project's translator, and what it calls models and their checks in Dagster.

`vde` reports its runs to Dagster, too, without a code location: so a translator that changes keys
or checks is named in ``vde.yaml``, and both know it.
"""

from __future__ import annotations

import importlib
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import Place, Problem, ProjectInvalid, Refused, VdeError
from vde_dagster.core.names import ModelName, ViewNaming
from vde_dagster.core.planning.pauses import Pause
from vde_dagster.orchestration.assets.translator import (
    VdeTranslator,
    VdeTranslatorData,
    asset_key,
    readable_table,
)
from vde_dagster.orchestration.reporting.checks import CheckNames, check_specs
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.modules import ModuleFailed, line_in, parse_module, run_module
from vde_dagster.runtime.users_code import error_text

_ADVICE = "Write it like `dagster: {translator: translator.OurTranslator}` for translator.py."
_PACKAGE: Final = Path(__file__).parents[2]
_IMPORTING: Final = Path(importlib.__file__)


def project_translator(configuration: Configuration) -> VdeTranslator:
    """The translator that ``vde.yaml`` names, else `VdeTranslator`.

    Raises:
        Refused: There is no such class.
        ProjectInvalid: Its file cannot be run.
    """
    named = configuration.dagster.translator
    return _loaded(named, configuration.folder) if named is not None else VdeTranslator()


def _loaded(path: str, folder: Path) -> VdeTranslator:
    """An instance of the class that a dotted path names: of a file in the project, else of Python.

    A file of the project is run by itself, and is not put on the import path.
    """
    module, _, name = path.replace(":", ".").rpartition(".")
    if not module:
        raise Refused(f"dagster.translator does not name a class: {path}", advice=_ADVICE)
    file = Path(*module.split(".")).with_suffix(".py")
    if (folder / file).is_file():
        found = _of_file(folder, file).get(name)
    else:
        found = getattr(_imported(module, file), name, None)
    if not (isinstance(found, type) and issubclass(found, VdeTranslator)):
        message = f"dagster.translator: {name} is not a subclass of VdeTranslator in {module}"
        raise Refused(message, advice=_ADVICE)
    with _users_code(f"{name} cannot be created without arguments"):
        return found()


def _of_file(folder: Path, file: Path) -> Mapping[str, object]:
    """The names that a file of the project defines.

    Raises:
        ProjectInvalid: It is not text, no Python, or it raised.
    """
    try:
        tree = parse_module((folder / file).read_text("utf-8"), file)
        return run_module(tree, file).namespace
    except ModuleFailed as error:
        raise ProjectInvalid([error.problem]) from error
    except UnicodeDecodeError as error:
        message = f"this is not UTF-8 text: {error_text(error)}"
        raise ProjectInvalid([Problem(place=Place(path=file), message=message)]) from error


def _imported(module: str, file: Path) -> ModuleType:
    """An installed module.

    Raises:
        Refused: There is none.
        ProjectInvalid: It cannot be imported.
    """
    with _users_code(f"{module} cannot be imported"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # something else is missing, which that module imports
            where = f"neither the project's file {file} nor a Python module"
            raise Refused(f"dagster.translator: {module} is {where}", advice=_ADVICE) from error


@contextmanager
def _users_code(what: str) -> Iterator[None]:
    """Turn what a user's translator raises into a problem at its line.

    Raises:
        ProjectInvalid: It raised something that is not an error of ours.
    """
    try:
        yield
    except VdeError:
        raise
    except (Exception, SystemExit) as error:  # whatever a user's code raises is its problem
        message = f"dagster.translator: {what}: {error_text(error)}"
        raise ProjectInvalid([Problem(place=_place_of(error), message=message)]) from error


def _place_of(error: BaseException) -> Place:
    """The last line in the user's file in a traceback; ``vde.yaml`` where there is none."""
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        is_ours = path.is_absolute() and path.is_relative_to(_PACKAGE)
        if not (is_ours or frame.filename.startswith("<") or path == _IMPORTING):
            return Place(path=path, line=line_in(path, error) or 1)
    return Place(path=Path("vde.yaml"))


def translated_spec(translator: VdeTranslator, data: VdeTranslatorData) -> dg.AssetSpec:
    """What a translator makes of a model or source.

    Raises:
        ProjectInvalid: The translator raised.
    """
    with _users_code(f"get_asset_spec of {data.node.name}"):
        found: object = translator.get_asset_spec(data)
        if not isinstance(found, dg.AssetSpec):
            raise TypeError(f"it returned {type(found).__name__}, which is not an AssetSpec")
        return found


def translated_checks(
    translator: VdeTranslator, data: VdeTranslatorData, key: dg.AssetKey
) -> dict[str, dg.AssetCheckSpec]:
    """The checks of a model's asset, by the names that `check_specs` gives them."""
    with _users_code(f"get_asset_check_spec of {data.node.name}"):
        found = {
            each.name: translator.get_asset_check_spec(data, each)
            for each in check_specs(data.node, key)
        }
    return {name: spec for name, spec in found.items() if spec is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What Dagster calls an environment's models and sources, and the checks of models."""

    keys: Mapping[ModelName, dg.AssetKey]
    checks: CheckNames = field(default_factory=dict)


def names_of(
    project: VdeProject,
    binding: Binding,
    naming: ViewNaming,
    translator: VdeTranslator | None = None,
) -> Names:
    """The names that a translator gives, by default the project's own."""
    ours = translator or project_translator(project.configuration)
    if type(ours) is VdeTranslator:  # a whole specification takes its time
        environment = binding.environment
        tables = {node.name: readable_table(node, environment, naming) for node in binding.graph}
        return Names(keys={name: asset_key(table) for name, table in tables.items()})
    every = translator_data(project, binding, naming)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # code references
        keys = {name: translated_spec(ours, data).key for name, data in every.items()}
    checks = {name: translated_checks(ours, data, keys[name]) for name, data in every.items()}
    return Names(
        keys=keys,
        checks={
            name: {known: spec.name for known, spec in specs.items()}
            for name, specs in checks.items()
        },
    )


def translator_data(
    project: VdeProject,
    binding: Binding,
    naming: ViewNaming,
    unplanned: Mapping[ModelName, str] | None = None,
    paused: Mapping[ModelName, Pause] | None = None,
) -> dict[ModelName, VdeTranslatorData]:
    """What a translator gets to know of each model and source of an environment.

    Args:
        project: The project.
        binding: What the environment runs.
        naming: How its views are named.
        unplanned: How the files of models differ from that.
        paused: The models that are paused there.
    """
    changed, pauses = unplanned or {}, paused or {}
    return {
        node.name: VdeTranslatorData(
            environment=binding.environment,
            node=node,
            snapshot=binding.snapshots[node.name],
            folder=project.configuration.folder,
            unplanned_change=changed.get(node.name),
            naming=naming,
            paused=pauses.get(node.name),
        )
        for node in binding.graph
    }
