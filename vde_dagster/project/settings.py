"""The settings of a project that a model's text alone does not hold, as they are stored with it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from vde_dagster.core.model import ModelSource
from vde_dagster.project.configuration import Defaults

_VARIABLES: Final = "variables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A model's source with its settings: what a model has that says nothing itself, and variables.

    Only the variables and files that a model uses are stored with it, so that another model's
    setting is no part of it.
    """

    source: ModelSource
    defaults: Defaults
    variables: Mapping[str, object]

    @classmethod
    def of(cls, source: ModelSource) -> Settings:
        """The settings in a source."""
        found = json.loads(source.defaults.get(_VARIABLES, "{}"))
        return cls(
            source=source, defaults=Defaults.from_texts(source.defaults), variables=dict(found)
        )

    def used(self, variables: Collection[str], files: Collection[str]) -> ModelSource:
        """The source with no more than these variables and attached files."""
        kept = {key: value for key, value in self.variables.items() if key in variables}
        attached = {path: text for path, text in self.source.attachments.items() if path in files}
        return replace(self.source, defaults=texts_of(self.defaults, kept), attachments=attached)


def texts_of(defaults: Defaults, variables: Mapping[str, object]) -> dict[str, str]:
    """Settings as they are stored beside a model's source."""
    stored = {_VARIABLES: json.dumps(variables, sort_keys=True)} if variables else {}
    return {**defaults.as_texts(), **stored}
