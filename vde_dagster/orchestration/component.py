"""A project as a component of Dagster: ``type: vde_dagster.VdeProjectComponent`` in a defs.yaml."""

# No `from __future__ import annotations`: Dagster reads the annotations of fields as objects.
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from pydantic import BaseModel, Field

from vde_dagster.core.errors import Refused
from vde_dagster.orchestration._unpublished import TranslationFn, TranslationFnResolver
from vde_dagster.orchestration.assets.translating import project_translator
from vde_dagster.orchestration.assets.translator import VdeTranslator, VdeTranslatorData
from vde_dagster.orchestration.definitions import build_definitions
from vde_dagster.project.configuration import read_configuration


class VdeScaffoldParams(BaseModel):
    """What ``dg scaffold defs vde_dagster.VdeProjectComponent`` asks for."""

    project_path: str = Field(description="The folder of the project's vde.yaml.")


class VdeProjectScaffolder(dg.Scaffolder[VdeScaffoldParams]):
    """Writes a ``defs.yaml`` for a project that is there already."""

    @classmethod
    def get_scaffold_params(cls) -> type[VdeScaffoldParams]:
        """The parameters of the command."""
        return VdeScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[VdeScaffoldParams]) -> None:
        """Write ``defs.yaml`` with the project's folder, relative to it.

        Raises:
            ProjectInvalid: The folder has no ``vde.yaml``, or it is wrong; nothing was written.
        """
        folder = Path(request.params.project_path)
        read_configuration(folder)
        written = request.target_path.parent if request.append else request.target_path
        relative = os.path.relpath(folder.resolve(), written.resolve())
        dg.scaffold_component(request, {"project": Path(relative).as_posix()})


def _project_folder(context: dg.ResolutionContext, value: str) -> Path:
    written = context.resolve_value(value, as_type=str)
    return context.resolve_source_relative_path(written)


def _environment(context: dg.ResolutionContext, value: str | None) -> str | None:
    """The environment that is named, if any is.

    Raises:
        Refused: It is named by what has no value, such as a variable that is not set: that does not
            mean production.
    """
    if value is None:
        return None
    found = context.resolve_value(value, as_type=object)
    if not found:
        raise Refused(
            f"the environment {value} has no value",
            advice="Export the variable, or write `{{ env('NAME', 'dev') }}`.",
        )
    return str(found)


class _VariableNames:
    """Stands for ``env`` in a template: each environment variable by its name, as ``${NAME}``."""

    def __call__(self, key: str, default: str | None = None) -> str:
        """``env('NAME')``; with a default that is a value of the file itself, if it counts."""
        return default if default is not None and key not in os.environ else f"${{{key}}}"

    def __getattr__(self, key: str) -> str:
        """``env.NAME``."""
        if key.startswith(("jinja", "__")):  # what is asked of any object
            raise AttributeError(key)
        return f"${{{key}}}"


def _settings(context: dg.ResolutionContext, value: object) -> object:
    """Settings with environment variables by name: they are read when the project is opened."""
    if isinstance(value, Mapping):
        return {str(key): _settings(context, each) for key, each in value.items()}
    if isinstance(value, str) and ("{{" in value or "{%" in value):
        return context.with_scope(env=_VariableNames()).resolve_value(value, as_type=object)
    return value  # Dagster's templates would take a text for a number where it looks like one


@dg.scaffold_with(VdeProjectScaffolder)
@dataclass
class VdeProjectComponent(dg.Component, dg.Resolvable):
    """One environment of a project as assets, with its checks, jobs, schedules and sensors.

    Example:
        ```yaml
        # defs.yaml
        type: vde_dagster.VdeProjectComponent

        attributes:
          project: ../../../shop
          translation:
            owners: ["team:shop"]
        ```
    """

    project: Annotated[
        Path,
        dg.Resolver(
            _project_folder,
            model_field_type=str,
            description="The folder of the project's vde.yaml, relative to this file.",
            examples=["../../../shop", "{{ context.project_root }}/shop"],
        ),
    ]
    """The folder of the project's vde.yaml, relative to the file of the component."""
    environment: Annotated[
        str | None,
        dg.Resolver(
            _environment,
            model_field_type=str | None,
            inject_before_resolve=False,
            description="The environment to show; by default that of VDE_ENVIRONMENT, else prod.",
            examples=["prod", "dev"],
        ),
    ] = None
    """The environment to show; by default that of VDE_ENVIRONMENT, else prod."""
    translation: Annotated[
        TranslationFn[VdeTranslatorData] | None,
        TranslationFnResolver[VdeTranslatorData](
            lambda data: {"data": data, "model": data.node.model, "environment": data.environment}
        ),
    ] = None
    """How assets look, as in Dagster's own components: keys, groups, owners and so on."""
    settings: Annotated[
        Mapping[str, Any],
        dg.Resolver(
            _settings,
            model_field_type=dict[str, Any],
            description="Locations and credentials that override vde.yaml, in its form. "
            "Environment variables are kept by name.",
            examples=[{"state": {"url": "{{ env.STATE_URL }}"}}],
        ),
    ] = field(default_factory=dict)
    """Locations and credentials that override vde.yaml, in its form."""

    @cached_property
    def translator(self) -> VdeTranslator:
        """The translator that the project's ``vde.yaml`` names, else `VdeTranslator`."""
        return project_translator(read_configuration(self.project, self.settings))

    def get_asset_spec(self, data: VdeTranslatorData) -> dg.AssetSpec:
        """How a model or source looks in Dagster: as the translator says, then ``translation``.

        Override it in a subclass to change that. Keys are better changed by a translator that
        ``vde.yaml`` names, since the runs of ``vde`` know only that one.
        """
        spec = self.translator.get_asset_spec(data)
        return self.translation(spec, data) if self.translation is not None else spec

    def get_asset_check_spec(
        self, data: VdeTranslatorData, spec: dg.AssetCheckSpec
    ) -> dg.AssetCheckSpec | None:
        """The check of an audit, see `VdeTranslator.get_asset_check_spec`."""
        return self.translator.get_asset_check_spec(data, spec)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Everything that Dagster needs to serve the environment; see `build_definitions`."""
        return build_definitions(
            self.project,
            environment=self.environment,
            translator=_ComponentTranslator(self),
            settings=self.settings,
        )


class _ComponentTranslator(VdeTranslator):
    """Asks a component, which a user may have subclassed."""

    def __init__(self, component: VdeProjectComponent) -> None:
        self._component = component

    def get_asset_spec(self, data: VdeTranslatorData) -> dg.AssetSpec:
        return self._component.get_asset_spec(data)

    def get_asset_check_spec(
        self, data: VdeTranslatorData, spec: dg.AssetCheckSpec
    ) -> dg.AssetCheckSpec | None:
        return self._component.get_asset_check_spec(data, spec)
