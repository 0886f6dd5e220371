"""Names of models, environments, physical tables and views.

Every name that reaches a catalog is built here, from parts that were checked here, so that no text
of a user's is ever spliced into an identifier. Two rules make the built names unique: a schema
holds no double underscore, and a version is a fixed number of hexadecimal digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from vde_dagster.core.errors import Refused

PRODUCTION: Final = "prod"
DEFAULT_SCHEMA: Final = "default"
PHYSICAL_PREFIX: Final = "vde__"
MAX_LENGTH: Final = 100
"""A table's folder (schema, model and version) stays below the 255 bytes of a file name."""
_RESERVED: Final = PHYSICAL_PREFIX.rstrip("_")
_PART: Final = re.compile(rf"[a-z_][a-z0-9_]{{0,{MAX_LENGTH - 1}}}")


class InvalidName(Refused, ValueError):
    """A name cannot be used; the text says why and what a name may look like."""


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table or view in the catalog: one namespace level and a name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class ModelName:
    """The name under which models read each other: ``schema.name``, in lower case."""

    schema: str
    name: str

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Read ``name`` or ``schema.name``; without a schema it is ``default``.

        Raises:
            InvalidName: More than two parts, or a part that is no plain identifier.
        """
        parts = text.strip().lower().split(".")
        if len(parts) > 2:
            raise InvalidName(f"the name {text!r} has {len(parts)} parts; write schema.name")
        schema, name = parts if len(parts) == 2 else (DEFAULT_SCHEMA, parts[0])
        for part in (schema, name):
            if not _PART.fullmatch(part):
                raise InvalidName(
                    f"{part!r} in the name {text!r} is no plain identifier; use letters, digits "
                    f"and underscores, not starting with a digit, at most {MAX_LENGTH} characters"
                )
        if "__" in schema:
            raise InvalidName(
                f"the schema {schema!r} has a double underscore, which separates a schema from "
                "an environment or a model in the names of views and tables; use one underscore"
            )
        if schema.endswith("_"):
            raise InvalidName(
                f"the schema {schema!r} ends with an underscore, so that its views in an "
                "environment could be taken for another schema's; use another name"
            )
        if schema == _RESERVED:
            raise InvalidName(
                f"the schema {schema!r} is where the physical tables live; use another name"
            )
        return cls(schema, name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


def environment_name(text: str) -> str:
    """The canonical name of an environment: lower case, other characters as ``_``.

    Raises:
        InvalidName: Nothing is left, or the name is too long.
    """
    name = re.sub(r"[^a-z0-9_]", "_", text.strip().lower())
    if not name.strip("_") or len(name) > 64:
        raise InvalidName(
            f"{text!r} is no name for an environment; use 1 to 64 letters, digits or underscores"
        )
    return name


def physical_table(model: ModelName, version: str) -> TableName:
    """The table (or physical view) that holds one version of a model."""
    return TableName(f"{PHYSICAL_PREFIX}{model.schema}", f"{model.schema}__{model.name}__{version}")


def environment_view(model: ModelName, environment: str) -> TableName:
    """The view that shows a model in an environment (seed 000: ``db__test.model_a``)."""
    if environment == PRODUCTION:
        return TableName(model.schema, model.name)
    return TableName(f"{model.schema}__{environment}", model.name)
