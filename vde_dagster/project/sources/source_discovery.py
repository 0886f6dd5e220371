"""Which tables a project's models read and none of them writes, declared or not."""

from __future__ import annotations

from vde_dagster.core.errors import Problem, ProjectInvalid
from vde_dagster.core.names import ModelName
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.source_files import model_sources, read_models, read_shared_files
from vde_dagster.project.unread import Unread


def sources_read(configuration: Configuration) -> tuple[ModelName, ...]:
    """The sources that models read, sorted.

    A project whose sources are not declared yet cannot be loaded; its models can be read.

    Raises:
        ProjectInvalid: A file cannot be read, so that what its models read is not known.
    """
    problems: list[Problem] = []
    unread = Unread()
    python = read_shared_files(configuration, problems)
    texts = model_sources(configuration, python, problems, unread)
    models = read_models(texts, python, problems, unread)
    if problems:
        raise ProjectInvalid(problems)
    enabled = [model for model in models if model.enabled]
    written = {model.name for model in enabled}
    return tuple(sorted({parent for model in enabled for parent in model.parents} - written))
