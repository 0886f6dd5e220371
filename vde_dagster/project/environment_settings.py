"""What ``vde.yaml`` says about environments."""

from __future__ import annotations

import re
from typing import Final

from vde_dagster.core.names import PRODUCTION, InvalidName, environment_name
from vde_dagster.core.planning.decisions import Mode
from vde_dagster.project.machine import user
from vde_dagster.project.problems import message_and_advice, suggestion
from vde_dagster.project.yaml_document import Entry, Reader

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_USER: Final = "user"


def read_default_environment(entry: Entry | None, reader: Reader) -> str:
    """Where a plan goes that names no environment; production if nothing is set.

    ``{user}`` stands for who works here. What a name may not have becomes ``_``.
    """
    written = reader.text(entry, PRODUCTION)
    if entry is None or entry.value != written:
        return PRODUCTION
    unknown = [each for each in _PLACEHOLDER.findall(written) if each != _USER]
    if unknown or re.search(r"[{}]", _PLACEHOLDER.sub("", written)):
        what = ", ".join(f"{{{each}}}" for each in unknown) or "a single brace"
        message = f"{what} stands for nothing in default_environment"
        reader.add(entry.place, message, "Known: {user}, as in `default_environment: dev_{user}`.")
        return PRODUCTION
    try:
        return environment_name(written.replace(f"{{{_USER}}}", user()))
    except InvalidName as error:
        reader.add(entry.place, *message_and_advice(error))
        return PRODUCTION


def read_environments(
    entry: Entry | None, reader: Reader
) -> tuple[dict[str, bool], dict[str, Mode]]:
    """Which environments follow files, and the modes of those that have one of their own."""
    follow: dict[str, bool] = {}
    modes: dict[str, Mode] = {}
    if entry is not None and not entry.is_mapping:
        message = "environments is a mapping of names to settings"
        reader.add(entry.place, message, "Write them like `dev: {follow_files: false}`.")
    for key, child in (entry.children if entry else {}).items():
        reader.known(child, ("categorize", "follow_files", "ttl"), f"the environment {key}")
        try:
            name = environment_name(key)
        except InvalidName as error:
            reader.add(child.place, *message_and_advice(error))
            continue
        follow[name] = reader.flag(child.children.get("follow_files"), default=True)
        mode = read_mode(child.children.get("categorize"), reader)
        if mode is not None:
            modes[name] = mode
    return follow, modes


def read_mode(entry: Entry | None, reader: Reader) -> Mode | None:
    """When a person is asked for categories; None if nothing is set."""
    if entry is None:
        return None
    known = [each.value for each in Mode]
    written = reader.text(entry, Mode.AUTOMATIC.value)
    if written not in known:
        message = f"categorize is {', '.join(known[:-1])} or {known[-1]}, not {written!r}"
        reader.add(entry.place, message, suggestion(written, known))
        return None
    return Mode(written)
