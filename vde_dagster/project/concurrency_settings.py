"""What ``vde.yaml`` says about evaluating several models at once."""

from __future__ import annotations

from vde_dagster.core.model.room import CONCURRENCY, DEFAULT_MODELS, MOST_MODELS
from vde_dagster.project.yaml_document import Entry, Reader


def read_concurrency(entry: Entry | None, reader: Reader) -> int:
    """At most how many models of a plan or run are evaluated at once.

    Args:
        entry: What is written as ``concurrency``.
        reader: Collects problems.
    """
    text = reader.text(entry, str(DEFAULT_MODELS))
    if text.isascii() and text.isdigit() and len(text) < 7 and 1 <= int(text) <= MOST_MODELS:
        return int(text)
    if entry is not None:
        message = f"{CONCURRENCY} is a number of models from 1 to {MOST_MODELS}, and not {text!r}"
        reader.add(entry.place, message, "Write one, for example 4.")
    return DEFAULT_MODELS
