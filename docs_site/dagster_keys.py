"""The tables of tags and metadata keys in Dagster, from the sentences of `keys`."""

from __future__ import annotations

import ast
import inspect

from docs_site.tables import table
from vde_dagster.orchestration import keys


def dagster_keys(name: str) -> str:
    """The table of a class of keys: each key, where it is, and its value."""
    (body,) = ast.parse(inspect.getsource(getattr(keys, name))).body
    assert isinstance(body, ast.ClassDef)
    _, *parts = map(ast.unparse, body.body)
    texts = [ast.literal_eval(each.rpartition(" = ")[2]) for each in parts]
    rows = [
        (f"`{key}`", *about.removesuffix(".").split(": ", 1))
        for key, about in zip(texts[::2], texts[1::2], strict=True)
    ]
    return table([("tag" if name.endswith("Tag") else "key"), "on", "value"], rows)
