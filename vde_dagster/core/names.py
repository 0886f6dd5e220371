"""Names of models, environments, physical tables and views.

Every name that reaches a catalog is built here, from parts that were checked here, so that no text
of a user's is ever spliced into an identifier. Two rules make the built names unique: a schema
holds no double underscore, and a version is a fixed number of hexadecimal digits. Where an
environment's name stands behind a model's or a catalog's, the same rule holds for these
(`why_ambiguous`, `why_no_suffix`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from vde_dagster.core.errors import Refused

PRODUCTION: Final = "prod"
DEFAULT_SCHEMA: Final = "default"
PHYSICAL_PREFIX: Final = "vde__"
MAX_LENGTH: Final = 100
"""A table's folder (schema, model and version) stays below the 255 bytes of a file name."""
MAX_ENVIRONMENT_LENGTH: Final = 64
_RESERVED: Final = PHYSICAL_PREFIX.rstrip("_")
_PART: Final = re.compile(rf"[a-z_][a-z0-9_]{{0,{MAX_LENGTH - 1}}}")
_CATALOG: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTES: Final = ("`", '"')
VERSION_LENGTH: Final = 32
_VERSION: Final = re.compile(rf"[0-9a-f]{{{VERSION_LENGTH}}}")


class InvalidName(Refused, ValueError):
    """A name cannot be used; the text says why and what a name may look like."""


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table or view: one namespace level and a name, in the project's catalog or another one."""

    namespace: str
    name: str
    catalog: str = ""

    def __str__(self) -> str:
        return ".".join(part for part in (self.catalog, self.namespace, self.name) if part)


@dataclass(frozen=True, slots=True, order=True)
class ModelName:
    """The name under which models read each other, in lower case.

    ``catalog`` is empty for the project's own catalog: see `within`.
    """

    schema: str
    name: str
    catalog: str = ""

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Read ``name``, ``schema.name`` or ``catalog.schema.name``; no schema is ``default``.

        Parts may be written in backquotes or double quotes, as in SQL. That changes nothing about
        what a part may look like.

        Raises:
            InvalidName: More than three parts, or a part that is not a plain identifier.
        """
        return cls.of([_without_quotes(part.strip()) for part in text.split(".")])

    @classmethod
    def of(cls, parts: Sequence[str]) -> ModelName:
        """The name of one to three parts, each without quotes, in any case.

        Raises:
            InvalidName: Another number of parts, or a part that is not a plain identifier.
        """
        written = ".".join(parts)
        if not 1 <= len(parts) <= 3:
            raise InvalidName(
                f"the name {written!r} has {len(parts)} parts",
                advice="write name, schema.name or catalog.schema.name",
            )
        lower = [part.lower() for part in parts]
        for part in parts:
            if not (part.isascii() and _PART.fullmatch(part.lower())):
                shown = repr(part) if part or len(parts) == 1 else "the empty part"
                raise InvalidName(
                    f"{shown} in the name {written!r} is not a plain identifier",
                    advice="use letters, digits and underscores, not starting with a digit, at "
                    f"most {MAX_LENGTH} characters",
                )
        schema = lower[-2] if len(lower) > 1 else DEFAULT_SCHEMA
        _check_schema(schema)
        return cls(schema, lower[-1], lower[0] if len(lower) == 3 else "")

    def within(self, catalog: str) -> ModelName:
        """The name as the project of this catalog knows it: its own catalog is left out."""
        return replace(self, catalog="") if self.catalog == catalog.lower() else self

    def __str__(self) -> str:
        own = f"{self.schema}.{self.name}" if self.schema else self.name
        return f"{self.catalog}.{own}" if self.catalog else own


def _without_quotes(part: str) -> str:
    """A part as it is meant. What has dots or quotes inside stays as it is, and is refused."""
    quoted = len(part) > 1 and part[0] == part[-1] and part[0] in _QUOTES
    return part[1:-1] if quoted else part


def _check_schema(schema: str) -> None:
    if "__" in schema:
        raise InvalidName(
            f"the schema {schema!r} has a double underscore, which separates a schema from an "
            "environment or a model in the names of views and tables",
            advice="use one underscore",
        )
    if schema.endswith("_"):
        raise InvalidName(
            f"the schema {schema!r} ends with an underscore, so its views in an environment "
            "could be confused with another schema's",
            advice="use another name",
        )
    if schema == _RESERVED:
        raise InvalidName(
            f"the schema {schema!r} is reserved for physical tables", advice="use another name"
        )


def environment_name(text: str) -> str:
    """The canonical name of an environment: lower case, every other character as ``_``.

    White space around it does not count. ``Feature/ABC-12`` is ``feature_abc_12``.

    Raises:
        InvalidName: Nothing is left, or the name is too long.
    """
    name = re.sub(r"[^a-z0-9_]", "_", text.strip().lower())
    if not name.strip("_") or len(name) > MAX_ENVIRONMENT_LENGTH:
        raise InvalidName(
            f"{text!r} is not a valid environment name",
            advice=f"use 1 to {MAX_ENVIRONMENT_LENGTH} letters, digits or underscores",
        )
    return name


def env_option(environment: str) -> str:
    """How a command names an environment, with a space in front; empty for production."""
    return "" if environment == PRODUCTION else f" --env {environment}"


def physical_table(model: ModelName, version: str) -> TableName:
    """The table (or physical view) that holds one version of a model, in the model's catalog."""
    return TableName(
        f"{PHYSICAL_PREFIX}{model.schema}",
        f"{model.schema}__{model.name}__{version}",
        model.catalog,
    )


def model_of(physical: TableName) -> ModelName | None:
    """The model whose version `physical_table` would put here; None where it would put none."""
    schema = physical.namespace.removeprefix(PHYSICAL_PREFIX)
    name, version = physical.name[:-34], physical.name[-32:]
    model = ModelName(schema, name.removeprefix(f"{schema}__"), physical.catalog)
    known = _VERSION.fullmatch(version) is not None and physical_table(model, version) == physical
    return model if known else None


def is_another_models(one: TableName, other: TableName) -> bool:
    """Whether two names are those of physical tables of different models."""
    models = (model_of(one), model_of(other))
    return None not in models and models[0] != models[1]


class SuffixTarget(Enum):
    """Which part of a view's name carries the environment's."""

    SCHEMA = "schema"
    TABLE = "table"
    CATALOG = "catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewNaming:
    """How a project names the views of its environments; ``catalog`` is the project's own."""

    target: SuffixTarget = SuffixTarget.SCHEMA
    catalog: str = "lake"


def environment_view(model: ModelName, environment: str, naming: ViewNaming) -> TableName:
    """The view that shows a model in an environment (seed 000: ``db__test.model_a``).

    Production's views have the models' own names, whatever ``naming`` says.
    """
    if environment == PRODUCTION:
        return TableName(model.schema, model.name, model.catalog)
    match naming.target:
        case SuffixTarget.SCHEMA:
            return TableName(f"{model.schema}__{environment}", model.name, model.catalog)
        case SuffixTarget.TABLE:
            return TableName(model.schema, f"{model.name}__{environment}", model.catalog)
        case SuffixTarget.CATALOG:
            catalog = f"{model.catalog or naming.catalog}__{environment}"
            return TableName(model.schema, model.name, catalog)


def why_ambiguous(model: ModelName, naming: ViewNaming) -> str | None:
    """Why the views of a model could be those of another one in another environment, or None.

    Among models for which this is None no two pairs of model and environment share a view.
    """
    if naming.target is not SuffixTarget.TABLE:
        return None  # `ModelName` allows no such schema, and a project has one catalog
    if "__" in model.name:
        return "has a double underscore, which separates a model from an environment"
    if model.name.endswith("_"):
        return "ends with an underscore, which its views would share with the environment's name"
    return None


def why_no_suffix(catalog: str) -> str | None:
    """Why environments cannot have catalogs that are named after this one, or None."""
    if not _CATALOG.fullmatch(catalog) or len(catalog) > MAX_LENGTH:
        return "is not a plain identifier"
    if "__" in catalog or catalog.endswith("_"):
        return "has a double underscore or ends with one, which separates it from an environment"
    return None
