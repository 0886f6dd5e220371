"""What is wrong with ``vde.yaml``: each problem with its line, in words that show no secret."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from vde_dagster.core.errors import Problem
from vde_dagster.project.problems import message_and_advice, suggestion
from vde_dagster.project.project_file import FILE_NAME
from vde_dagster.project.written_settings import NAME_ADVICE
from vde_dagster.project.yaml_document import MAPPING_ADVICE, Entry, Reader, unknown_key

T = TypeVar("T")


def validated(schema: type[T], root: Entry, reader: Reader, **read: object) -> T:
    """The settings in a file; what is wrong is reported, and has its default.

    Args:
        schema: A `written_settings.section`, of which only ``name`` has no default.
        root: The file's root.
        reader: Collects problems.
        read: The values of keys that were read already.
    """
    adapter = TypeAdapter(schema)
    texts: Any = root.texts or {}
    try:
        return adapter.validate_python({**texts, **read} if isinstance(texts, dict) else texts)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)
    for each in wrong:
        reader.problems.append(_problem(schema, root, each))
        _remove(texts, each["loc"])
    known = texts if isinstance(texts, dict) else {}
    return adapter.validate_python({"name": FILE_NAME, **known, **read})


def _remove(texts: object, keys: Sequence[str | int]) -> None:
    """Take out the innermost value on the way along keys that is one of a mapping."""
    innermost = None
    for key in keys:
        if not isinstance(texts, dict) or key not in texts:
            break
        innermost, texts = (texts, key), texts[key]
    if innermost is not None:
        del innermost[0][innermost[1]]


def _problem(schema: object, root: Entry, error: ErrorDetails) -> Problem:
    keys = tuple(key for key in error["loc"] if key != "[key]")
    entry = root.at(*keys)
    message, advice = _text(schema, keys, entry, error)
    return Problem(place=entry.place, message=message, advice=advice)


def _text(
    schema: object, keys: tuple[int | str, ...], entry: Entry, error: ErrorDetails
) -> tuple[str, str]:
    """What is wrong, and what to do."""
    where, above = (".".join(map(str, path)) or FILE_NAME for path in (keys, keys[:-1]))
    match error["type"]:
        case "missing":
            said = "the project has no name", NAME_ADVICE
        case "unexpected_keyword_argument":
            said = unknown_key(above, str(keys[-1]), _known(schema, keys[:-1]))
        case "dataclass_type" | "dict_type" | "mapping_type":
            names = ", ".join(_known(schema, keys)) or "names to values"
            said = f"{where} has to be a mapping of {names}", MAPPING_ADVICE
        case "tuple_type":
            said = "a list is expected here", "Write it as `key: [value, ...]`."
        case "value_error":
            said = message_and_advice(error["ctx"]["error"])
        case _ if not isinstance(entry.value, str):
            said = "a single value is expected here", "Write it as `key: value`."
        case "bool_parsing":
            said = (
                f"{where} has to be true or false, not {entry.value!r}",
                ("Write true or false, without quotes."),
            )
        case "enum":
            expected = error["ctx"]["expected"].replace("'", "")
            advice = suggestion(entry.value, re.split(", | or ", expected))
            said = f"{where} has to be {expected}, not {entry.value!r}", advice
        case _:
            bounds = _bounds(schema, keys)
            said = f"{where} has to be {bounds}, not {entry.value!r}", "Write, for example, 4."
    return said


def _bounds(schema: object, keys: tuple[int | str, ...]) -> str:
    """Which whole numbers are taken."""
    settings: Any = _type_at(schema, keys[:-1])
    bounds = settings.__pydantic_fields__[keys[-1]].metadata
    least, most = (
        next((getattr(bound, name) for bound in bounds if hasattr(bound, name)), None)
        for name in ("ge", "le")
    )
    return f"a whole number, at least {least}" + (f" and at most {most}" if most else "")


def _known(schema: object, keys: tuple[int | str, ...]) -> list[str]:
    """The keys of a mapping; none where they are names that people give."""
    below = _type_at(schema, keys)
    return sorted(each.name for each in fields(below)) if is_dataclass(below) else []


def _type_at(schema: object, keys: tuple[int | str, ...]) -> object:
    for key in keys:
        is_section = is_dataclass(schema)
        schema = get_type_hints(schema)[str(key)] if is_section else get_args(schema)[-1]
    return schema
