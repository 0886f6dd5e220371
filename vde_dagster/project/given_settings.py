"""Settings that code gives to a project it opens: where things are, and with which credentials.

They have the form of ``vde.yaml`` and win over it. What decides about models, rows or names stays
in the file alone, since ``vde`` reads only that, and both are to leave the same state. A credential
is named and never written: as ``${NAME}``, or as Dagster's ``EnvVar``. So these settings can be
kept and shown, and the values are read where a project is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Place
from vde_dagster.core.model.session_settings import changing_results
from vde_dagster.project.yaml_document import VARIABLE, Entry, Reader
from vde_dagster.runtime.secrets import is_secret, secrets_in

_SHOWN: Final = "settings"
"""What problems call these settings."""
_ALLOWED: Final[Mapping[str, tuple[str, ...]]] = {
    "catalog": ("properties",),
    "spark": ("conf", "master", "remote"),
    "state": ("url",),
}


def as_named(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings as plain values, in which ``${NAME}`` stands for Dagster's ``EnvVar("NAME")``.

    That class is known by what it has, since only `vde_dagster.orchestration` imports Dagster.
    """
    return {str(key): _as_named(each) for key, each in settings.items()}


def _as_named(value: object) -> object:
    if isinstance(value, Mapping):
        return as_named(value)
    name = getattr(value, "env_var_name", None)
    return f"${{{name}}}" if isinstance(name, str) else value


def with_given(root: Entry, settings: Mapping[str, object], reader: Reader) -> Entry:
    """What ``vde.yaml`` says, with the settings that code gives in its place or besides.

    Args:
        root: The file's root.
        settings: As `as_named` returns them.
        reader: Collects what is wrong with them.
    """
    given = _entry(settings, (), reader)
    _check_places(given, reader)
    return _over(root, given)


def _entry(value: object, keys: tuple[str, ...], reader: Reader) -> Entry:
    place = Place(path=Path(".".join((_SHOWN, *keys))))
    if isinstance(value, Mapping):
        children = {
            str(key): _entry(each, (*keys, str(key)), reader) for key, each in value.items()
        }
        outside = any(each.from_outside for each in children.values())
        return Entry(value=None, place=place, children=children, tag="map", from_outside=outside)
    if isinstance(value, bool):
        return reader.scalar(str(value).lower(), place)
    if type(value) not in (str, int, float):
        message = f"{type(value).__name__} is not a text, a number, or true or false"
        reader.add(place, message, "Give one of these, or `dagster.EnvVar('NAME')`.")
        return reader.scalar("", place)
    text = str(value)
    if _is_written_out(keys[-1] if keys else "", text):
        reader.add(
            place,
            "a credential is written out in code, where others can read it",
            "Read it from an environment variable: `dagster.EnvVar('NAME')`, or `${NAME}` in "
            "a text.",
        )
    return reader.scalar(text, place)


def _is_written_out(key: str, text: str) -> bool:
    """Whether a value is or has a secret of which no part comes from an environment variable."""
    whole = [text] if is_secret(key) and text.lower() not in ("", "true", "false") else []
    return any(VARIABLE.search(each) is None for each in (*whole, *secrets_in(text)))


def _check_places(given: Entry, reader: Reader) -> None:
    """Report what cannot be given by code."""
    reader.known(given, _ALLOWED, _SHOWN)
    for key, inner in _ALLOWED.items():
        if key in given.children:
            reader.known(given.children[key], inner, f"{_SHOWN}.{key}")
    spark = given.children.get("spark")
    conf = spark.children.get("conf") if spark is not None else None
    values = {key: str(each.value) for key, each in conf.children.items()} if conf else {}
    for key in changing_results(values):
        reader.add(
            conf.children[key].place if conf is not None else given.place,
            f"{key} may change rows, so `vde` has to know it, too",
            "Set it in vde.yaml.",
        )


def _over(known: Entry, given: Entry) -> Entry:
    """One mapping over another one, key by key."""
    if not (known.is_mapping and given.is_mapping):
        return given
    children = dict(known.children)
    for key, each in given.children.items():
        children[key] = _over(children[key], each) if key in children else each
    outside = any(each.from_outside for each in children.values())
    return replace(known, tag="map", children=children, from_outside=outside)
