"""The environment variables that are read; the texts are those of the reference."""

from __future__ import annotations

from enum import StrEnum


class Variable(StrEnum):
    """An environment variable, by its name."""

    USER = "VDE_USER"
    """Your name, in `default_environment` and as author. By default the operating system's user."""
    AUTHOR = "VDE_AUTHOR"
    """Author of promotions. By default `user@machine`."""
    ENVIRONMENT = "VDE_ENVIRONMENT"
    """[Your own environment](#a-persons-own-environment) in Dagster."""
    DEBUG = "VDE_DEBUG"
    """`1` prints tracebacks, as `--debug` does."""
    CACHE = "VDE_CACHE"
    """`off` switches the [cache of parsed models](#what-is-kept-between-commands) off."""
    JARS = "VDE_JARS"
    """Paths of Spark's jars, separated as in PATH, instead of downloads."""
    JARS_CACHE = "VDE_JARS_CACHE"
    """Folder of downloaded jars. By default one in your cache folder."""
    CLASS_ARCHIVE = "VDE_CLASS_ARCHIVE"
    """`off` starts Spark without an archive of its classes."""
    DAGSTER_HOME = "DAGSTER_HOME"
    """Dagster's folder. By default `.vde/dagster` in the project."""
    JAVA_HOME = "JAVA_HOME"
    """The [Java](#java) of Spark."""
